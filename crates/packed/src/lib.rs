//! Data that the program carries: build scripts pack it, and the program unpacks what it needs. Texts are a third as large so.

#![warn(clippy::missing_errors_doc)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// Writes the content of `parts`, files of the folder `from`, one after the other into the file `to`, packed.
///
/// # Errors
///
/// Fails if a part cannot be read or the file cannot be written.
pub fn pack(from: &Path, parts: &[&str], to: &Path) -> io::Result<()> {
    let mut packed = ZlibEncoder::new(File::create(to)?, Compression::best());
    for part in parts {
        let part = from.join(part);
        let data = apprentice_files::read(&part)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", part.display())))?;
        packed.write_all(&data)?;
    }
    packed.finish()?.sync_all()
}

/// Unpacks data. The build packed it, so that it can always be read; a test of each use reads all of it.
pub fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    if let Err(error) = ZlibDecoder::new(packed).read_to_end(&mut data) {
        unreachable!("data of the program is damaged: {error}");
    }
    data
}

/// Unpacks a text.
pub fn unpack_text(packed: &[u8]) -> String {
    match String::from_utf8(unpack(packed)) {
        Ok(text) => text,
        Err(error) => unreachable!("a text of the program is damaged: {error}"),
    }
}

/// What a build script does: packs files below its crate's folder `src`, each from its parts, into `place`, the folder of what is
/// built. A source file includes one by `include_bytes!(concat!(env!("OUT_DIR"), "/NAME"))`.
///
/// # Errors
///
/// Fails if the folder is not given, if a part cannot be read, or if a file cannot be written.
pub fn pack_all(files: &[(&str, &[&str])], place: Option<OsString>) -> io::Result<()> {
    let place = place.ok_or_else(|| io::Error::other("cargo sets OUT_DIR for build scripts"))?;
    for (name, parts) in files {
        pack(Path::new("src"), parts, &Path::new(&place).join(name))?;
    }
    Ok(())
}
