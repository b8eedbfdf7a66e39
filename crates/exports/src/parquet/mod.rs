//! Writes Parquet files by the crate `parquet`: records in the form of JSON with a fixed schema, nested lists among them, and bytes.

mod column;
mod file;
mod schema;

pub(crate) use file::{ParquetFile, Record, RecordError};
pub(crate) use schema::{Field, Kind, Shape};
