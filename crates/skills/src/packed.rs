//! Reads the data that `build.rs` packed into the program.

use std::io::Read as _;

use flate2::read::ZlibDecoder;

/// Unpacks data. The build wrote it, so that it can always be read; a test of each use reads all of it.
pub(crate) fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    if let Err(error) = ZlibDecoder::new(packed).read_to_end(&mut data) {
        unreachable!("data of the program is damaged: {error}");
    }
    data
}

/// Unpacks a text.
pub(crate) fn unpack_text(packed: &[u8]) -> String {
    match String::from_utf8(unpack(packed)) {
        Ok(text) => text,
        Err(error) => unreachable!("a text of the program is damaged: {error}"),
    }
}
