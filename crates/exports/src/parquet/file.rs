//! A Parquet file under way: takes records, and writes them in groups of rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use serde_json::Value;

use super::column::{Column, LeafValue};
use super::schema::{Field, Kind, Levels, Shape, leaves, schema};
use crate::folder::{FolderError, OutFile};

/// A group of rows ends with the record that makes it this large. Readers hold a group in memory.
const GROUP_BYTES: usize = 64 << 20;

/// A record: its values, and the byte strings that they name by their place.
pub(crate) struct Record<'a> {
    pub(crate) value: &'a Value,
    pub(crate) bytes: &'a [Vec<u8>],
}

/// A record that does not have the form of the schema.
#[derive(Debug, thiserror::Error)]
#[error("a record has no {0} of the right kind")]
pub(crate) struct RecordError(&'static str);

/// A file under way.
pub(crate) struct ParquetFile {
    writer: SerializedFileWriter<OutFile>,
    path: PathBuf,
    fields: &'static [Field],
    columns: Vec<Column>,
    /// Rows that wait to be written.
    rows: usize,
}

/// Where the next value of a field stands.
#[derive(Clone, Copy)]
struct Place {
    levels: Levels,
    /// The lists around it.
    depth: i16,
    /// Whether a field around it is missing, so that nothing can be here.
    is_absent: bool,
}

/// Takes a record apart into the values of its columns.
struct Values<'a> {
    columns: &'a mut [Column],
    bytes: &'a [Vec<u8>],
    /// The column of the next leaf.
    next: usize,
}

impl Values<'_> {
    fn add(&mut self, field: &Field, value: Option<&Value>, place: Place) -> Result<(), RecordError> {
        let value = value.filter(|value| !value.is_null());
        if value.is_none() && !field.is_optional && !place.is_absent {
            return Err(RecordError(field.name));
        }
        let is_there = value.is_some();
        let definition = place.levels.definition + i16::from(is_there);
        let here = Place { levels: Levels { definition, ..place.levels }, is_absent: !is_there, ..place };
        match field.shape {
            Shape::Leaf(kind) => self.leaf(kind, value, here.levels).ok_or(RecordError(field.name)),
            Shape::List(element) => {
                let none = Vec::new();
                let items = value.map_or(Some(&none), Value::as_array).ok_or(RecordError(field.name))?;
                self.list(element, items, here)
            }
            Shape::Group(fields) => {
                let below = |field: &Field| value.and_then(|value| value.get(field.name));
                fields.iter().try_for_each(|field| self.add(field, below(field), here))
            }
        }
    }

    fn list(&mut self, element: &Field, items: &[Value], place: Place) -> Result<(), RecordError> {
        if items.is_empty() {
            return self.add(element, None, Place { is_absent: true, ..place });
        }
        let first = self.next;
        let depth = place.depth + 1;
        for (index, item) in items.iter().enumerate() {
            self.next = first;
            let repetition = if index == 0 { place.levels.repetition } else { depth };
            let levels = Levels { repetition, definition: place.levels.definition + 1 };
            self.add(element, Some(item), Place { levels, depth, is_absent: false })?;
        }
        Ok(())
    }

    /// Adds a value to the next column; `None` if it is of another kind.
    fn leaf(&mut self, kind: Kind, value: Option<&Value>, levels: Levels) -> Option<()> {
        let found = match value {
            None => None,
            Some(value) => Some(match kind {
                Kind::Integer => LeafValue::Integer(value.as_i64()?),
                Kind::Number => LeafValue::Number(value.as_f64()?),
                Kind::Text | Kind::Json => LeafValue::Bytes(value.as_str()?.as_bytes()),
                Kind::Bytes => {
                    let place = usize::try_from(value.as_u64()?).ok()?;
                    LeafValue::Bytes(self.bytes.get(place)?)
                }
            }),
        };
        self.columns.get_mut(self.next)?.push(levels, found)?;
        self.next += 1;
        Some(())
    }
}

impl ParquetFile {
    /// Begins a file; `notes` are metadata for its readers.
    pub(crate) fn begin(
        file: OutFile,
        fields: &'static [Field],
        notes: &[(&'static str, String)],
        program: &str,
    ) -> Result<Self, FolderError> {
        let note = |(name, value): &(&str, String)| KeyValue::new((*name).to_owned(), value.clone());
        // Pictures are compressed already, and each value stands once.
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_created_by(program.to_owned())
            .set_key_value_metadata(Some(notes.iter().map(note).collect()));
        let path = file.path().to_owned();
        let failed = |error| refused(&path, error);
        let schema = schema(fields).map_err(failed)?;
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).map_err(failed)?;
        let columns = leaves(fields).into_iter().map(Column::new).collect();
        Ok(Self { writer, path, fields, columns, rows: 0 })
    }

    /// Adds a record. One that is refused may stand in the file in part, so that the file must not be used.
    pub(crate) fn add(&mut self, record: &Record<'_>) -> Result<(), RecordError> {
        let place = Place { levels: Levels::default(), depth: 0, is_absent: false };
        let mut values = Values { columns: &mut self.columns, bytes: record.bytes, next: 0 };
        for field in self.fields {
            values.add(field, record.value.get(field.name), place)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes the rows that wait, once they are many.
    pub(crate) fn settle(&mut self) -> Result<(), FolderError> {
        let waiting: usize = self.columns.iter().map(|column| column.size).sum();
        if waiting >= GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), FolderError> {
        if self.rows > 0 {
            self.rows = 0;
            self.write_group().map_err(|error| refused(&self.path, error))?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn end(mut self) -> Result<(), FolderError> {
        self.end_group()?;
        let Self { writer, path, .. } = self;
        writer.into_inner().map_err(|error| refused(&path, error))?.end()
    }
}

fn refused(path: &Path, error: ParquetError) -> FolderError {
    FolderError::invalid(&path.to_string_lossy(), error)
}

#[cfg(test)]
mod tests {
    use parquet::schema::types::SchemaDescriptor;
    use serde_json::json;

    use super::{Column, Field, Kind, Place, Shape, Values};
    use crate::parquet::schema::{Levels, leaves, schema};

    const TEXT: Shape = Shape::Leaf(Kind::Text);
    /// The schema of the paper on Dremel: a name has languages, and a country is missing here and there.
    const LANGUAGE: Field = Field::required(
        "element",
        Shape::Group(&[Field::required("code", TEXT), Field::optional("country", TEXT)]),
    );
    const NAME: Field = Field::required(
        "element",
        Shape::Group(&[Field::required("languages", Shape::List(&LANGUAGE)), Field::optional("url", TEXT)]),
    );
    static FIELDS: [Field; 2] =
        [Field::required("id", Shape::Leaf(Kind::Integer)), Field::required("names", Shape::List(&NAME))];

    #[test]
    fn a_value_says_how_deep_it_repeats_and_how_much_around_it_is_there() {
        let mut columns: Vec<Column> = leaves(&FIELDS).into_iter().map(Column::new).collect();
        let schema = SchemaDescriptor::new(schema(&FIELDS).expect("a schema"));
        let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
        assert_eq!(
            names,
            [
                "id",
                "names.list.element.languages.list.element.code",
                "names.list.element.languages.list.element.country",
                "names.list.element.url"
            ]
        );
        let record = json!({ "id": 10, "names": [
            { "languages": [{ "code": "en-us", "country": "us" }, { "code": "en" }], "url": "http://A" },
            { "languages": [], "url": "http://B" },
            { "languages": [{ "code": "en-gb", "country": "gb" }] },
        ] });
        for record in [&record, &json!({ "id": 20, "names": [] })] {
            let mut values = Values { columns: &mut columns, bytes: &[], next: 0 };
            let place = Place { levels: Levels::default(), depth: 0, is_absent: false };
            for field in &FIELDS {
                values.add(field, record.get(field.name), place).expect("a record");
            }
        }
        assert_eq!(columns[0].levels(), [(0, 1), (0, 1)]);
        assert_eq!(columns[1].levels(), [(0, 7), (2, 7), (1, 4), (1, 7), (0, 1)]);
        assert_eq!(columns[2].levels(), [(0, 7), (2, 6), (1, 4), (1, 7), (0, 1)]);
        assert_eq!(columns[3].levels(), [(0, 4), (1, 4), (1, 3), (0, 1)]);
    }

    #[test]
    fn a_record_of_another_form_is_refused() {
        for (record, missing) in [
            (json!({ "names": [] }), "id"),
            (json!({ "id": "one", "names": [] }), "id"),
            (json!({ "id": 1, "names": 2 }), "names"),
        ] {
            let mut columns: Vec<Column> = leaves(&FIELDS).into_iter().map(Column::new).collect();
            let mut values = Values { columns: &mut columns, bytes: &[], next: 0 };
            let place = Place { levels: Levels::default(), depth: 0, is_absent: false };
            let refused =
                FIELDS.iter().try_for_each(|field| values.add(field, record.get(field.name), place));
            assert_eq!(
                refused.expect_err("refused").to_string(),
                format!("a record has no {missing} of the right kind")
            );
        }
    }
}
