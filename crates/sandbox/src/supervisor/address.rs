//! What an object is on the accessibility bus.

use atspi::zbus::zvariant::OwnedObjectPath;

/// A reference to an object as the bus sends it: the program's bus name and the object's path.
pub(super) type Reference = (String, OwnedObjectPath);

/// The bus address of an object. Neither part is reused for another object while the bus lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) name: String,
    pub(super) path: String,
}

impl Address {
    /// Parses a reference received from the bus. `None` for the null object.
    pub(super) fn of(reference: Reference) -> Option<Self> {
        let (name, path) = reference;
        let path = path.as_str().to_owned();
        (!name.is_empty() && path != "/org/a11y/atspi/null").then_some(Self { name, path })
    }
}
