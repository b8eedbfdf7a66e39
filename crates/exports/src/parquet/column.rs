//! One column of a group of rows: its values with their levels.

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

use super::schema::{Kind, Levels};

/// A value of a leaf.
#[derive(Clone, Copy)]
pub(super) enum LeafValue<'a> {
    Integer(i64),
    Number(f64),
    Bytes(&'a [u8]),
}

#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// A column under way.
#[derive(Debug)]
pub(super) struct Column {
    repetition: Vec<i16>,
    definition: Vec<i16>,
    values: Values,
    /// The bytes that wait to be written.
    pub(super) size: usize,
}

impl Column {
    pub(super) fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Integer => Values::Integers(Vec::new()),
            Kind::Number => Values::Numbers(Vec::new()),
            Kind::Text | Kind::Json | Kind::Bytes => Values::Bytes(Vec::new()),
        };
        Self { repetition: Vec::new(), definition: Vec::new(), values, size: 0 }
    }

    /// Adds a value, or the levels of one that is missing; `None` if it is of another kind.
    pub(super) fn push(&mut self, levels: Levels, value: Option<LeafValue<'_>>) -> Option<()> {
        match (&mut self.values, value) {
            (_, None) => {}
            (Values::Integers(values), Some(LeafValue::Integer(value))) => values.push(value),
            (Values::Numbers(values), Some(LeafValue::Number(value))) => values.push(value),
            (Values::Bytes(values), Some(LeafValue::Bytes(bytes))) => {
                values.push(bytes.to_vec().into());
                self.size += bytes.len();
            }
            _ => return None,
        }
        self.repetition.push(levels.repetition);
        self.definition.push(levels.definition);
        self.size += size_of::<i64>();
        Some(())
    }

    /// Writes what waits.
    pub(super) fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let (definition, repetition) = (Some(&*self.definition), Some(&*self.repetition));
        match &self.values {
            Values::Integers(values) => {
                writer.typed::<Int64Type>().write_batch(values, definition, repetition)?;
            }
            Values::Numbers(values) => {
                writer.typed::<DoubleType>().write_batch(values, definition, repetition)?;
            }
            Values::Bytes(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, definition, repetition)?;
            }
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.repetition.clear();
        self.definition.clear();
        match &mut self.values {
            Values::Integers(values) => values.clear(),
            Values::Numbers(values) => values.clear(),
            Values::Bytes(values) => values.clear(),
        }
        self.size = 0;
    }

    #[cfg(test)]
    pub(super) fn levels(&self) -> Vec<(i16, i16)> {
        self.repetition.iter().copied().zip(self.definition.iter().copied()).collect()
    }
}
