//! The cell's accessibility bus, and the references given out for objects on it.

use std::cell::RefCell;
use std::collections::HashMap;

use apprentice_protocol::{Capability, NodeRef};
use atspi::Role as BusRole;
use atspi::zbus::Connection;

use super::node::Address;
use crate::wire::OperationError;

/// The cell's accessibility bus, once it is connected.
#[derive(Default)]
pub(super) struct Bus {
    connection: RefCell<Option<Connection>>,
    pub(super) refs: RefCell<Refs>,
}

impl Bus {
    /// Uses this connection from now on.
    pub(super) fn attach(&self, connection: Option<Connection>) {
        *self.connection.borrow_mut() = connection;
    }

    /// Returns the connection.
    pub(super) fn connection(&self) -> Result<Connection, OperationError> {
        self.connection.borrow().clone().ok_or(OperationError::Unsupported(Capability::Tree))
    }
}

/// References given out during the life of the cell.
#[derive(Default)]
pub(super) struct Refs {
    /// Roles of objects, which never change.
    pub(super) roles: HashMap<Address, BusRole>,
    /// Vertical corrections in pixels, for objects that report a position above their real one.
    lower: HashMap<Address, i32>,
    given: HashMap<Address, u64>,
    known: HashMap<u64, Address>,
    count: u64,
}

impl Refs {
    /// Returns the reference of an address, the same one each time.
    pub(super) fn give(&mut self, address: &Address) -> NodeRef {
        let number = self.given.get(address).copied().unwrap_or_else(|| {
            self.count += 1;
            self.given.insert(address.clone(), self.count);
            self.known.insert(self.count, address.clone());
            self.count
        });
        NodeRef(format!("n{number}"))
    }

    /// Records that an object lies lower than it reports, by this many pixels.
    pub(super) fn set_vertical_correction(&mut self, address: &Address, by: i32) {
        if by == 0 {
            self.lower.remove(address);
        } else {
            self.lower.insert(address.clone(), by);
        }
    }

    /// How much lower an object lies than it reports, in pixels.
    pub(super) fn vertical_correction(&self, address: &Address) -> i32 {
        self.lower.get(address).copied().unwrap_or_default()
    }

    /// The address behind a reference given out earlier.
    pub(super) fn find(&self, node: &NodeRef) -> Option<&Address> {
        self.known.get(&node.0.strip_prefix('n')?.parse().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::NodeRef;

    use super::super::node::Address;
    use super::Refs;

    #[test]
    fn a_reference_names_one_object_for_good() {
        let address = |path: &str| Address { name: ":1.7".into(), path: path.into() };
        let mut refs = Refs::default();
        let first = refs.give(&address("/a"));
        assert_eq!((first.0.as_str(), refs.give(&address("/b")).0.as_str()), ("n1", "n2"));
        assert_eq!(refs.give(&address("/a")), first);
        assert_eq!(refs.find(&first), Some(&address("/a")));
        for unknown in ["n3", "n", "", "1", "n-1", "nn1"] {
            assert_eq!(refs.find(&NodeRef(unknown.into())), None, "{unknown}");
        }
    }
}
