//! The schema of a Parquet file: a tree of fields whose leaves are its columns.

/// What a leaf holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Number,
    Text,
    /// Bytes: in a record, the place in its list of byte strings.
    Bytes,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Leaf(Kind),
    Group(&'static [Field]),
    List(&'static Field),
}

/// A field: a column, or columns below it. In the file each may be missing, as in all files that Arrow writes: readers that
/// compare types would take a field that must be there for another type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Whether a record may lack it. One that lacks another field is refused.
    pub(crate) is_optional: bool,
    pub(crate) shape: Shape,
}

impl Field {
    /// A field that every record has.
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        Self { name, is_optional: false, shape }
    }

    /// A field that a record may lack.
    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, is_optional: true, shape }
    }
}

/// The levels of a value: how deep it repeats, and how many of the fields and lists around it are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) repetition: u8,
    pub(super) definition: u8,
}

/// A leaf with its place in the tree.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) path: Vec<&'static str>,
    pub(super) kind: Kind,
    /// The levels of a value that is there.
    pub(super) most: Levels,
}

/// Lists the leaves in the order of the tree.
pub(super) fn leaves(fields: &[Field]) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    fields.iter().for_each(|field| collect(field, Levels::default(), &mut path, &mut found));
    found
}

fn collect(field: &Field, above: Levels, path: &mut Vec<&'static str>, found: &mut Vec<Leaf>) {
    let length = path.len();
    path.push(field.name);
    let here = Levels { definition: above.definition + 1, ..above };
    match field.shape {
        Shape::Leaf(kind) => found.push(Leaf { path: path.clone(), kind, most: here }),
        Shape::Group(fields) => fields.iter().for_each(|field| collect(field, here, path, found)),
        Shape::List(element) => {
            path.push(LIST);
            let below = Levels { repetition: here.repetition + 1, definition: here.definition + 1 };
            collect(element, below, path, found);
        }
    }
    path.truncate(length);
}

/// The name of the repeated group of a list; its field is named `element`.
pub(super) const LIST: &str = "list";
