//! CBOR as Chromium writes and reads it on its debugging pipe.
//!
//! Chromium's own processes exchange this form, so that on the pipe nothing is turned into text. It is a part of CBOR (RFC 8949)
//! with two additions, which Chromium describes in `third_party/inspector_protocol/crdtp/cbor.h`: each map and each array of its encoder
//! stands in an *envelope*, a byte string whose length lets a reader step over it, and a string that is not Latin-1 is a byte string of
//! UTF-16. A reader of plain CBOR takes the first for a tag and the second for bytes, where the types of messages have objects and texts:
//! hence readers of our own.

mod decode;
mod encode;

pub(crate) use decode::{from_slice, members};
pub(crate) use encode::message;

/// The initial byte of a tag with a number of one byte.
const TAG: u8 = 0xd8;
/// The number of the tag of encoded CBOR (RFC 8949, section 3.4.5.1).
const ENCODED_CBOR: u8 = 24;
/// The initial byte of a byte string whose length has four bytes.
const BYTES_32: u8 = 0x5a;
/// The tag of a byte string that is Base64 where it is text (RFC 8949, section 3.4.5.2): what is no text, such as a picture.
const BINARY: u8 = 0xd6;
const MAP: u8 = 0xbf;
const ARRAY: u8 = 0x9f;
const STOP: u8 = 0xff;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const DOUBLE: u8 = 0xfb;

/// Bytes before the contents of an envelope.
pub(crate) const ENVELOPE_HEAD: usize = 7;

/// The length of an envelope with its head, by its first [`ENVELOPE_HEAD`] bytes. `None` if they begin no envelope.
pub(crate) fn envelope_length(head: [u8; ENVELOPE_HEAD]) -> Option<usize> {
    let [TAG, ENCODED_CBOR, BYTES_32, a, b, c, d] = head else { return None };
    usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?.checked_add(ENVELOPE_HEAD)
}

#[cfg(test)]
mod tests;
