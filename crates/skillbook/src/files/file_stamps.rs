//! File metadata with the hash of the content. A file with unchanged metadata is not read again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::path::Path;

#[cfg(unix)]
use jiff::Timestamp;

/// A file that changed this shortly before the stamps were written may have changed again with the same timestamp,
/// because file system clocks are coarse.
const TICK_NS: i128 = 100_000_000;

/// Metadata of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    changed_ns: i128,
    inode: u64,
    length: u64,
    /// Hash of the content.
    pub(crate) hash: String,
}

/// Stamps by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamps {
    files: HashMap<String, Stamp>,
    written_ns: i128,
}

impl Stamp {
    /// Returns the metadata of a file, without its hash.
    pub(crate) fn of(meta: &Metadata) -> Self {
        let (changed_ns, inode) = outside(meta);
        Self { changed_ns, inode, length: meta.len(), hash: String::new() }
    }
}

/// Returns the inode change time, which programs cannot set, and the inode number.
#[cfg(unix)]
fn outside(meta: &Metadata) -> (i128, u64) {
    use std::os::unix::fs::MetadataExt as _;
    let nanoseconds = i32::try_from(meta.ctime_nsec()).ok();
    let changed = nanoseconds.and_then(|part| Timestamp::new(meta.ctime(), part).ok());
    // A file whose time cannot be told is read every time.
    (changed.map_or(i128::MAX, Timestamp::as_nanosecond), meta.ino())
}

/// On other systems every file is read every time.
#[cfg(not(unix))]
fn outside(_: &Metadata) -> (i128, u64) {
    (i128::MAX, 0)
}

impl Stamps {
    /// Loads stamps. Ignores entries that cannot be parsed.
    pub(crate) fn load(path: &Path) -> Self {
        let Ok(meta) = fs::metadata(path) else { return Self::default() };
        let text = apprentice_files::read_to_string(path).unwrap_or_default();
        let read = |line: &str| {
            let mut parts = line.split('\t');
            let name = parts.next()?.to_owned();
            let (changed, inode, length) = (parts.next()?, parts.next()?, parts.next()?);
            let hash = parts.next().filter(|hash| hash.len() == 64)?.to_owned();
            let stamp = Stamp {
                changed_ns: changed.parse().ok()?,
                inode: inode.parse().ok()?,
                length: length.parse().ok()?,
                hash,
            };
            Some((name, stamp))
        };
        Self { files: text.lines().filter_map(read).collect(), written_ns: outside(&meta).0 }
    }

    /// Returns the remembered hash of a file if its metadata is unchanged.
    pub(crate) fn hash_of(&self, path: &str, now: &Stamp) -> Option<&str> {
        let recorded = self.files.get(path)?;
        let same =
            (recorded.changed_ns, recorded.inode, recorded.length) == (now.changed_ns, now.inode, now.length);
        let settled = recorded.changed_ns.saturating_add(TICK_NS) < self.written_ns;
        (same && settled).then_some(recorded.hash.as_str())
    }

    pub(crate) fn put(&mut self, path: String, stamp: Stamp) {
        self.files.insert(path, stamp);
    }

    /// Renders the stamps as text, one file per line.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for (path, Stamp { changed_ns, inode, length, hash }) in &self.files {
            let _ = writeln!(text, "{path}\t{changed_ns}\t{inode}\t{length}\t{hash}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Stamp, Stamps};

    #[test]
    fn a_page_that_was_written_within_a_tenth_of_a_second_of_its_stamp_is_read_again() {
        let stamp = Stamp { changed_ns: 1_000, inode: 1, length: 1, hash: "h".into() };
        let trusted = |written_ns| {
            let files = [("os/a.md".to_owned(), stamp.clone())].into();
            Stamps { files, written_ns }.hash_of("os/a.md", &stamp).is_some()
        };
        assert!(!trusted(100_001_000), "a later change may have the same time");
        assert!(trusted(100_001_001));
    }

    #[test]
    fn a_stamp_without_a_whole_hash_is_left_out() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let place = folder.path().join("stamps");
        let line = |length| format!("n{length}\t1\t1\t1\t{}\n", "a".repeat(length));
        fs::write(&place, [63, 64, 65].map(line).concat()).expect("writes");
        let read = Stamps::load(&place);
        assert_eq!(read.files.keys().collect::<Vec<_>>(), ["n64"]);
    }
}
