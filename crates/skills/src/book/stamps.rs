//! What files look like from outside, with the hash of their content: a file that looks the same is not read again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::path::Path;

/// A file changed so shortly before the stamps were written may have been changed once more without looking
/// different: clocks of file systems tick slowly.
const TICK_NS: i128 = 100_000_000;

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    changed_ns: i128,
    inode: u64,
    length: u64,
    /// The hash of its content.
    pub(super) hash: String,
}

/// Files by path.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    files: HashMap<String, Stamp>,
    written_ns: i128,
}

impl Stamp {
    /// A file as it looks, without its hash.
    pub(super) fn of(meta: &Metadata) -> Self {
        let (changed_ns, inode) = outside(meta);
        Self { changed_ns, inode, length: meta.len(), hash: String::new() }
    }
}

/// The time of the last change, which no program can set, and the file's number.
#[cfg(unix)]
fn outside(meta: &Metadata) -> (i128, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()), meta.ino())
}

/// Elsewhere every file is read every time.
#[cfg(not(unix))]
fn outside(_: &Metadata) -> (i128, u64) {
    (i128::MAX, 0)
}

impl Stamps {
    /// Reads stamps; what cannot be read is forgotten.
    pub(super) fn load(path: &Path) -> Self {
        let Ok(meta) = fs::metadata(path) else { return Self::default() };
        let text = fs::read_to_string(path).unwrap_or_default();
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

    /// The remembered hash of a file that looks as it did.
    pub(super) fn hash_of(&self, path: &str, now: &Stamp) -> Option<&str> {
        let known = self.files.get(path)?;
        let same = (known.changed_ns, known.inode, known.length) == (now.changed_ns, now.inode, now.length);
        let settled = known.changed_ns.saturating_add(TICK_NS) < self.written_ns;
        (same && settled).then_some(known.hash.as_str())
    }

    pub(super) fn put(&mut self, path: String, stamp: Stamp) {
        self.files.insert(path, stamp);
    }

    /// As text, one file a line.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for (path, Stamp { changed_ns, inode, length, hash }) in &self.files {
            let _ = writeln!(text, "{path}\t{changed_ns}\t{inode}\t{length}\t{hash}");
        }
        text
    }
}
