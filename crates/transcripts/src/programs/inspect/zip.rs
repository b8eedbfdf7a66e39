//! The members of a packed log. Inspect packs them by Zstandard (method 93), which few readers of ZIP know.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::error::ReadError;

/// Maximum number of bytes of a member, unpacked.
const MAX_MEMBER_BYTES: u64 = 64 << 20;
/// Maximum number of samples.
const MAX_SAMPLES: usize = 10_000;
/// The number of Zstandard in ZIP (APPNOTE 6.3.8, 4.4.5).
const ZSTANDARD: u16 = 93;

/// A packed log.
pub(super) struct Archive {
    path: PathBuf,
    zip: ZipArchive<File>,
}

/// Returns whether a ZIP file holds a log.
pub(crate) fn is_log(path: &Path) -> Result<bool, ReadError> {
    let archive = Archive::open(path)?;
    let holds = |name: &str| archive.zip.index_for_name(name).is_some();
    Ok(holds("header.json") || holds("_journal/start.json"))
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let file = apprentice_files::open(path).map_err(|error| ReadError::file(path, error))?;
        let zip = ZipArchive::new(file).map_err(|error| ReadError::Other {
            path: path.to_owned(),
            seems: format!("is a ZIP file that cannot be read ({error})"),
        })?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// The names of the samples, in the order of the archive.
    pub(super) fn samples(&self) -> Result<Vec<String>, ReadError> {
        let names: Result<Vec<_>, _> = self.zip.file_names().collect();
        let names = names.map_err(|error| self.damaged(error.to_string()))?;
        let samples = names.iter().filter(|name| name.starts_with("samples/") && name.ends_with(".json"));
        let samples: Vec<String> = samples.map(|name| name.clone().into_owned()).collect();
        if samples.len() > MAX_SAMPLES {
            let (what, most) = (format!("{} samples", samples.len()), MAX_SAMPLES.to_string());
            return Err(ReadError::TooLarge { path: self.path.clone(), what, most });
        }
        Ok(samples)
    }

    fn damaged(&self, why: String) -> ReadError {
        ReadError::Damaged { path: self.path.clone(), program: super::PROGRAM, line: None, why }
    }

    /// Reads a member, if there is one of this name.
    pub(super) fn member(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(place) = self.zip.index_for_name(name) else { return Ok(None) };
        let path = self.path.clone();
        let failed = |why: String| ReadError::Damaged {
            path: path.clone(),
            program: super::PROGRAM,
            line: None,
            why: format!("{name}: {why}"),
        };
        let raw = self.zip.by_index_raw(place).map_err(|error| failed(error.to_string()))?;
        let method = raw.compression();
        #[expect(
            deprecated,
            reason = "the only way to the number of a method that the library does not unpack"
        )]
        let zstandard = method == CompressionMethod::Unsupported(ZSTANDARD);
        let bytes = if zstandard {
            unpacked(raw)
        } else {
            drop(raw);
            let member = self.zip.by_index(place).map_err(|error| failed(error.to_string()))?;
            bounded(member)
        };
        bytes.map(Some).map_err(|error| failed(error.to_string()))
    }
}

/// Unpacks one frame after the other.
fn unpacked(mut packed: impl Read) -> io::Result<Vec<u8>> {
    let mut source = Vec::new();
    packed.by_ref().take(MAX_MEMBER_BYTES).read_to_end(&mut source)?;
    let mut rest = source.as_slice();
    let mut bytes = Vec::new();
    while !rest.is_empty() {
        let decoder =
            StreamingDecoder::new(&mut rest).map_err(|error| io::Error::other(error.to_string()))?;
        bytes.append(&mut bounded(decoder)?);
        if bytes.len() as u64 > MAX_MEMBER_BYTES {
            return Err(too_large());
        }
    }
    Ok(bytes)
}

fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_MEMBER_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MEMBER_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn too_large() -> io::Error {
    io::Error::other(format!("it has more than the {MAX_MEMBER_BYTES} bytes that are read"))
}
