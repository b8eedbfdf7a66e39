//! A machine backed by a folder: files and folders only. Every answer is ready at the second poll, so that tests can
//! drop a caller in between.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fs, io};

use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, EntryKind, Image, Machine, MachineError,
    MachineInfo, Output, PortForward, TreeBudget, UiTree, Window,
};
use tempfile::TempDir;

pub(crate) struct Folder {
    place: TempDir,
    offers: MachineInfo,
}

struct Later<F>(Option<F>, bool);

impl<T, F: FnOnce() -> T + Unpin> Future for Later<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if !self.1 {
            self.1 = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.0.take().expect("asked once more")())
    }
}

fn later<'a, T: Send + 'a>(work: impl FnOnce() -> T + Send + Unpin + 'a) -> BoxFuture<'a, T> {
    Box::pin(Later(Some(work), false))
}

fn refused(what: &Path, error: &io::Error) -> MachineError {
    match error.kind() {
        io::ErrorKind::NotFound => MachineError::NotFound(what.display().to_string()),
        _ => MachineError::Refused { what: what.display().to_string(), why: error.to_string() },
    }
}

fn below(root: &Path, at: &Path, found: &mut Vec<DirEntry>) -> io::Result<()> {
    for entry in fs::read_dir(at)? {
        let path = entry?.path();
        let kind = fs::symlink_metadata(&path)?;
        let name = path.strip_prefix(root).expect("inside").to_string_lossy().into_owned();
        let (sort, size) = match kind.file_type() {
            sort if sort.is_symlink() => (EntryKind::Link, 0),
            sort if sort.is_dir() => (EntryKind::Directory, 0),
            _ => (EntryKind::File, kind.len()),
        };
        found.push(DirEntry { path: name, kind: sort, size });
        if sort == EntryKind::Directory {
            below(root, &path, found)?;
        }
    }
    Ok(())
}

impl Folder {
    pub(crate) fn new() -> Self {
        let offers = MachineInfo { home: "/home/user".into(), ..MachineInfo::default() };
        Self { place: TempDir::new().expect("a folder"), offers }
    }

    /// Returns the real path of a path of the machine.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path.trim_start_matches('/'))
    }

    /// Writes a file as the agent's own programs would.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let place = self.at(path);
        fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        fs::write(place, text).expect("writes");
    }
}

impl Machine for Folder {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        later(move || fs::read(self.at(path)).map_err(|error| refused(path.as_ref(), &error)))
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        later(move || {
            let place = self.at(path);
            let made = fs::create_dir_all(place.parent().expect("a parent"));
            made.and_then(|()| fs::write(&place, bytes)).map_err(|error| refused(path.as_ref(), &error))
        })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        later(move || {
            let (root, mut found) = (self.at(path), Vec::new());
            below(&root, &root, &mut found).map_err(|error| refused(path.as_ref(), &error))?;
            found.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(found)
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        later(move || fs::remove_dir_all(self.at(path)).map_err(|error| refused(path.as_ref(), &error)))
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        later(move || match command.argv.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["mkdir", "-p", folder] => {
                let made = fs::create_dir_all(self.at(folder));
                made.map(|()| Output::default()).map_err(|error| refused(folder.as_ref(), &error))
            }
            _ => Err(MachineError::Unsupported(Capability::Commands)),
        })
    }

    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Processes)))
    }

    fn launch<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Processes)))
    }

    fn tree<'a>(&'a self, _: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Tree)))
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Screenshots)))
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Windows)))
    }

    fn dial(&self, _: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        later(|| Err(MachineError::Unsupported(Capability::Ports)))
    }
}
