//! Zip reading with limits on the number of entries, the size of one entry, and the total size.

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};

use zip::ZipArchive;

const ENTRIES: usize = 20_000;
/// Maximum unpacked size of one entry in bytes.
const ENTRY_LIMIT: u64 = 48 << 20;
/// Maximum total of all bytes unpacked from one archive.
const TOTAL_LIMIT: u64 = 96 << 20;
/// Maximum compression ratio of entries above 16 MiB.
const RATIO: u64 = 400;

/// An open zip archive.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("not a zip archive: {error}"))?;
        if zip.len() > ENTRIES {
            return Err(format!("{} entries, more than the limit of {ENTRIES}", zip.len()));
        }
        Ok(Self { zip, left: TOTAL_LIMIT })
    }

    /// Returns the names of all entries; folders end with a slash.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.zip.file_names().flatten().map(std::borrow::Cow::into_owned).collect()
    }

    /// Returns an entry's bytes, if an entry of this name exists.
    pub(crate) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
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
                "{name} unpacks beyond the size limit: a bomb, or far larger than any document"
            ));
        }
        self.left -= size;
        Ok(Some(bytes))
    }

    /// Returns an entry's XML text, if an entry of this name exists.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        super::xml::decode(&bytes).map(Some).map_err(|why| format!("{name}: {why}"))
    }
}
