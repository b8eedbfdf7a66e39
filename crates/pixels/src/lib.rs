//! Picture codecs, frame comparison and shared memory.
//!
//! The crate has no generic functions, so it is compiled once, with optimisation. It is the only crate with `unsafe`.
//! Malformed input is an error: all sizes are checked before any data is read.

#![warn(clippy::missing_errors_doc)]

mod codec;
mod frame;
mod segment;

pub use codec::{Kind, crop, decode, decode_png, encode_jpeg, encode_png, resize};
pub use frame::{Area, Frame, PixelError, changed_areas, diff};
pub use segment::{Segment, SegmentError};
