//! Archives read within bounds: a cap on entries, on the size of one and of all.

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};

use zip::ZipArchive;

const ENTRIES: usize = 20_000;
/// Bytes of one unpacked entry.
const ENTRY_LIMIT: u64 = 48 << 20;
/// Bytes of everything that is unpacked from one archive.
const TOTAL_LIMIT: u64 = 96 << 20;
/// How many times larger than packed a large entry may be.
const RATIO: u64 = 400;

/// An open archive.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive; the error says why not.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("it is no zip archive: {error}"))?;
        if zip.len() > ENTRIES {
            return Err(format!("it has {} entries, more than the {ENTRIES} that are read", zip.len()));
        }
        Ok(Self { zip, left: TOTAL_LIMIT })
    }

    /// The names of all entries, folders with a slash at their end.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.zip.file_names().flatten().map(std::borrow::Cow::into_owned).collect()
    }

    /// An entry's bytes, if there is one of this name.
    pub(super) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(at) = self.zip.index_for_name(name) else { return Ok(None) };
        let entry = self.zip.by_index(at).map_err(|error| format!("{name} cannot be read: {error}"))?;
        let limit = ENTRY_LIMIT.min(self.left);
        let packed = entry.compressed_size().max(1);
        let mut bytes = Vec::new();
        entry
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name} cannot be unpacked: {error}"))?;
        let size = bytes.len() as u64;
        if size > limit || size > 16 << 20 && size / packed > RATIO {
            return Err(format!(
                "{name} unpacks to more than is read: a bomb, or far larger than any document"
            ));
        }
        self.left -= size;
        Ok(Some(bytes))
    }

    /// An entry's text, if there is one of this name.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        super::xml::decode(&bytes).map(Some).map_err(|why| format!("{name}: {why}"))
    }
}
