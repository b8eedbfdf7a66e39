//! The metadata of a Parquet file: headers of pages, and the footer. The numbers of fields are those of `parquet.thrift`.

use super::schema::{Field, Kind, LIST, Leaf, Shape};
use super::thrift::{Structure, structure};

/// Values stand one after the other.
const PLAIN: i32 = 0;
/// Levels stand as runs.
const RUNS: i32 = 3;
const UNCOMPRESSED: i32 = 0;
/// `converted_type` of texts and lists, for older readers.
const CONVERTED: [i32; 2] = [0, 3];
/// The same in the union `logicalType`.
const LOGICAL: [u8; 2] = [1, 3];

/// A column of a group of rows, as it stands in the file.
pub(super) struct ColumnPlace {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    pub(super) count: usize,
}

/// A group of rows, as it stands in the file.
pub(super) struct RowGroup {
    pub(super) columns: Vec<ColumnPlace>,
    pub(super) rows: usize,
}

/// Writes the header of a page of values.
pub(super) fn page_header(out: &mut Vec<u8>, count: usize, bytes: usize) {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    structure(out, |page| {
        page.i32(1, 0);
        page.i32(2, bytes);
        page.i32(3, bytes);
        page.structure(5, |header| {
            header.i32(1, i32::try_from(count).unwrap_or(i32::MAX));
            header.i32(2, PLAIN);
            header.i32(3, RUNS);
            header.i32(4, RUNS);
        });
    });
}

/// What the footer says.
pub(super) struct Footer<'a> {
    pub(super) fields: &'static [Field],
    pub(super) leaves: &'a [&'a Leaf],
    pub(super) groups: &'a [RowGroup],
    /// Metadata for readers, by name.
    pub(super) notes: &'a [(&'static str, String)],
    /// The program that wrote the file.
    pub(super) program: &'a str,
}

impl Footer<'_> {
    /// Writes the footer.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let elements = elements(self.fields);
        let rows: usize = self.groups.iter().map(|group| group.rows).sum();
        structure(out, |file| {
            file.i32(1, 1);
            file.structures(2, &elements, write_element);
            file.i64(3, signed(rows));
            file.structures(4, self.groups, |group, fields| self.row_group(group, fields));
            file.structures(5, self.notes, |(name, value), note| {
                note.text(1, name);
                note.text(2, value);
            });
            file.text(6, self.program);
        });
    }

    fn row_group(&self, group: &RowGroup, fields: &mut Structure<'_>) {
        let columns: Vec<(&Leaf, &ColumnPlace)> = self.leaves.iter().copied().zip(&group.columns).collect();
        fields.structures(1, &columns, |(leaf, place), chunk| {
            let offset = i64::try_from(place.offset).unwrap_or(i64::MAX);
            chunk.i64(2, offset);
            chunk.structure(3, |column| {
                column.i32(1, physical(leaf.kind));
                column.i32s(2, &[PLAIN, RUNS]);
                column.texts(3, &leaf.path);
                column.i32(4, UNCOMPRESSED);
                column.i64(5, signed(place.count));
                column.i64(6, signed(place.bytes));
                column.i64(7, signed(place.bytes));
                column.i64(9, offset);
            });
        });
        fields.i64(2, signed(group.columns.iter().map(|column| column.bytes).sum()));
        fields.i64(3, signed(group.rows));
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Integer => 2,
        Kind::Number => 5,
        Kind::Text | Kind::Bytes => 6,
    }
}

/// How often a field occurs in the one above it.
#[derive(Clone, Copy)]
enum Repetition {
    Optional = 1,
    Repeated = 2,
}

/// An element of the schema: the tree stands as a list, each field before those below it.
struct Element {
    name: &'static str,
    repetition: Option<Repetition>,
    kind: Option<Kind>,
    children: usize,
    is_list: bool,
}

fn elements(fields: &[Field]) -> Vec<Element> {
    let group =
        |name, repetition, children| Element { name, repetition, kind: None, children, is_list: false };
    let mut found = vec![group("schema", None, fields.len())];
    let mut waiting: Vec<Option<&Field>> = fields.iter().rev().map(Some).collect();
    // `None` stands for the repeated group between a list and its element.
    while let Some(next) = waiting.pop() {
        let Some(field) = next else {
            found.push(group(LIST, Some(Repetition::Repeated), 1));
            continue;
        };
        let repetition = Some(Repetition::Optional);
        match field.shape {
            Shape::Leaf(kind) => found.push(Element { kind: Some(kind), ..group(field.name, repetition, 0) }),
            Shape::Group(below) => {
                found.push(group(field.name, repetition, below.len()));
                waiting.extend(below.iter().rev().map(Some));
            }
            Shape::List(element) => {
                found.push(Element { is_list: true, ..group(field.name, repetition, 1) });
                waiting.extend([Some(element), None]);
            }
        }
    }
    found
}

fn write_element(element: &Element, fields: &mut Structure<'_>) {
    if let Some(kind) = element.kind {
        fields.i32(1, physical(kind));
    }
    if let Some(repetition) = element.repetition {
        fields.i32(3, repetition as i32);
    }
    fields.text(4, element.name);
    if element.kind.is_none() {
        fields.i32(5, i32::try_from(element.children).unwrap_or(i32::MAX));
    }
    let meaning = match (element.kind, element.is_list) {
        (Some(Kind::Text), _) => Some(0),
        (_, true) => Some(1),
        _ => None,
    };
    if let Some(place) = meaning {
        fields.i32(6, CONVERTED[place]);
        fields.structure(10, |union| union.structure(LOGICAL[place], |_| {}));
    }
}
