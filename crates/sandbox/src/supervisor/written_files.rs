//! Knows which of the user's files were written: many programs tell of a saved document by an icon alone.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// Most folders that are watched, and most levels of them below the home.
const FOLDERS: usize = 400;
const LEVELS: usize = 6;
/// Room for the events of one reading.
const BUFFER: usize = 16 << 10;

/// The files of a home that were written since the last call, hidden ones aside.
pub(super) struct WrittenFiles {
    events: OwnedFd,
    home: PathBuf,
    folders: HashMap<i32, PathBuf>,
    written: BTreeSet<PathBuf>,
}

impl WrittenFiles {
    /// Begins to watch a home. `None` where the kernel does not let it.
    pub(super) fn watch(home: &Path) -> Option<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mut files =
            Self { events, home: home.to_owned(), folders: HashMap::new(), written: BTreeSet::new() };
        files.add_folder(home);
        files.written.clear();
        Some(files)
    }

    /// The files that were written since the last call and are still there.
    pub(super) fn take(&mut self) -> Vec<PathBuf> {
        self.read_events();
        let written = std::mem::take(&mut self.written);
        let is_file = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        written.into_iter().filter(is_file).collect()
    }

    fn read_events(&mut self) {
        let mut new_folders = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.events, &mut buffer);
        // The queue is empty, or cannot be read: then nothing is told.
        while let Ok(event) = reader.next() {
            let folder = self.folders.get(&event.wd());
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let Some((folder, name)) = folder.zip(name.filter(|name| !is_hidden(name))) else { continue };
            let path = folder.join(name);
            if event.events().contains(ReadFlags::ISDIR) {
                new_folders.push(path);
            } else if event.events().intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO) {
                self.written.insert(path);
            }
        }
        for folder in new_folders {
            self.add_folder(&folder);
        }
    }

    /// Watches a folder and those in it. What stands in it already was written before it was watched.
    fn add_folder(&mut self, folder: &Path) {
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let level = folder.strip_prefix(&self.home).map_or(LEVELS, |below| below.components().count());
            if self.folders.len() >= FOLDERS || level >= LEVELS {
                continue;
            }
            let what = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
            let how = WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW | WatchFlags::EXCL_UNLINK;
            let Ok(number) = inotify::add_watch(&self.events, &folder, what | how) else { continue };
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    _ if is_hidden(&entry.file_name()) => {}
                    Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        self.written.insert(entry.path());
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            self.folders.insert(number, folder);
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::WrittenFiles;

    #[test]
    fn written_and_moved_files_are_told_once_and_hidden_ones_never() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("Documents/old")).expect("made");
        fs::write(at("before.txt"), "1").expect("written");
        let mut files = WrittenFiles::watch(home.path()).expect("watched");
        assert!(files.take().is_empty(), "what was there was not written now");
        fs::write(at("a.txt"), "1").expect("written");
        fs::write(at(".~lock.a.txt#"), "1").expect("written");
        // Saved as many programs do: to another name first.
        fs::write(at("Documents/old/lu1.tmp"), "2").expect("written");
        fs::rename(at("Documents/old/lu1.tmp"), at("Documents/old/b.ods")).expect("moved");
        assert_eq!(files.take(), [at("Documents/old/b.ods"), at("a.txt")]);
        assert!(files.take().is_empty(), "it was told");
        fs::create_dir_all(at("new/deep")).expect("made");
        fs::write(at("new/deep/c.png"), "3").expect("written");
        assert_eq!(files.take(), [at("new/deep/c.png")], "in a folder that was not watched yet");
        fs::write(at("new/deep/d.png"), "3").expect("written");
        fs::write(at("gone.txt"), "3").expect("written");
        fs::remove_file(at("gone.txt")).expect("removed");
        assert_eq!(files.take(), [at("new/deep/d.png")]);
    }
}
