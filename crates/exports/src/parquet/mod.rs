//! Writes Parquet files: records in the form of JSON with a fixed schema, nested lists among them, and bytes.
//!
//! The crate `parquet` would add 0.8 MB to a program of 30 MB, for a dozen encodings that nothing here uses. What is written is
//! format version 1, plain values, uncompressed: pictures are compressed already.

mod column;
mod file;
mod metadata;
mod schema;
mod thrift;

pub(crate) use file::{ParquetFile, Record, RecordError};
pub(crate) use schema::{Field, Kind, Shape};
