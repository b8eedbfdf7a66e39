//! The schema of a Parquet file: a tree of fields whose leaves are its columns.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

/// What a leaf holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Number,
    Text,
    /// A text that is JSON: readers hand out what it says.
    Json,
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

impl Field {
    fn in_file(&self) -> Result<TypePtr, ParquetError> {
        let made = match self.shape {
            Shape::Leaf(kind) => leaf(self.name, kind)?,
            Shape::Group(fields) => Type::group_type_builder(self.name)
                .with_repetition(Repetition::OPTIONAL)
                .with_fields(in_file(fields)?)
                .build()?,
            Shape::List(element) => {
                let items = Type::group_type_builder(LIST)
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![element.in_file()?])
                    .build()?;
                Type::group_type_builder(self.name)
                    .with_repetition(Repetition::OPTIONAL)
                    .with_logical_type(Some(LogicalType::List))
                    .with_fields(vec![Arc::new(items)])
                    .build()?
            }
        };
        Ok(Arc::new(made))
    }
}

fn leaf(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Kind::Bytes => (Physical::BYTE_ARRAY, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn in_file(fields: &[Field]) -> Result<Vec<TypePtr>, ParquetError> {
    fields.iter().map(Field::in_file).collect()
}

/// Returns the schema as it stands in the file.
pub(super) fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(in_file(fields)?).build()?))
}

/// Lists the kinds of the leaves in the order of the tree.
pub(super) fn leaves(fields: &[Field]) -> Vec<Kind> {
    let of = |field: &Field| match field.shape {
        Shape::Leaf(kind) => vec![kind],
        Shape::Group(fields) => leaves(fields),
        Shape::List(element) => leaves(std::slice::from_ref(element)),
    };
    fields.iter().flat_map(of).collect()
}

/// The name of the repeated group of a list; its field is named `element`.
const LIST: &str = "list";

/// The levels of a value: how deep it repeats, and how many of the fields and lists around it are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) repetition: i16,
    pub(super) definition: i16,
}
