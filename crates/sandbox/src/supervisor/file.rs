//! Files inside the cell: opened here, then read and written by the process that receives the descriptor.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use apprentice_files::must_be_plain;
use apprentice_protocol::{DirEntry, EntryKind};

use super::OperationResult;
use crate::wire::{Frame, OperationError, Reply};

/// Most entries of one listing, and most bytes of their paths.
const ENTRY_LIMIT: usize = 100_000;
const PATH_BYTES_LIMIT: usize = 16 << 20;

/// Resolves a path relative to the home folder, which `~` also stands for.
fn resolve(home: &Path, path: &str) -> Result<PathBuf, OperationError> {
    if path.is_empty() || path.contains('\0') {
        return Err(OperationError::refused(format!("{path:?}"), &"this is not a path"));
    }
    Ok(match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None if path == "~" => home.to_owned(),
        None => home.join(path),
    })
}

fn fault(path: &str, error: &io::Error) -> OperationError {
    match error.kind() {
        io::ErrorKind::NotFound => OperationError::NotFound(path.to_owned()),
        _ => OperationError::refused(path, &error),
    }
}

fn passed(file: File) -> Frame<Reply> {
    Frame { head: Reply::Done, body: Vec::new(), descriptors: vec![file.into()] }
}

pub(super) fn read(home: &Path, path: &str) -> OperationResult {
    // Non-blocking, because opening a named pipe without a writer would block.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let open = || -> io::Result<File> {
        let file = options.open(resolve(home, path).map_err(|_| io::ErrorKind::InvalidInput)?)?;
        must_be_plain(&file).map(|()| file)
    };
    open().map(passed).map_err(|error| fault(path, &error))
}

pub(super) fn write(home: &Path, path: &str) -> OperationResult {
    let place = resolve(home, path)?;
    let create = || -> io::Result<File> {
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(&place)?;
        must_be_plain(&file)?;
        file.set_len(0).map(|()| file)
    };
    create().map(passed).map_err(|error| OperationError::refused(path, &error))
}

pub(super) fn list(home: &Path, path: &str) -> OperationResult {
    let root = resolve(home, path)?;
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == root => return Err(fault(path, &error)),
            // A folder that has disappeared or cannot be read is listed without its entries.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let kind = match metadata.file_type() {
                kind if kind.is_file() => EntryKind::File,
                kind if kind.is_dir() => EntryKind::Directory,
                kind if kind.is_symlink() => EntryKind::Link,
                _ => EntryKind::Other,
            };
            if kind == EntryKind::Directory {
                folders.push(entry.path());
            }
            let size = if kind == EntryKind::File { metadata.len() } else { 0 };
            let name = entry.path();
            let name = name.strip_prefix(&root).unwrap_or(&name).to_string_lossy().into_owned();
            bytes += name.len();
            found.push(DirEntry { path: name, kind, size });
            if found.len() > ENTRY_LIMIT {
                let why = format!("more than {ENTRY_LIMIT} entries are below it");
                return Err(OperationError::refused(path, &why));
            }
            if bytes > PATH_BYTES_LIMIT {
                let why = format!("the paths below it take more than {} MB", PATH_BYTES_LIMIT >> 20);
                return Err(OperationError::refused(path, &why));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Frame::plain(Reply::Entries(found)))
}

pub(super) fn remove(home: &Path, path: &str) -> OperationResult {
    let place = resolve(home, path)?;
    let remove = || -> io::Result<()> {
        if fs::symlink_metadata(&place)?.is_dir() {
            fs::remove_dir_all(&place)
        } else {
            fs::remove_file(&place)
        }
    };
    remove().map(|()| Frame::plain(Reply::Done)).map_err(|error| fault(path, &error))
}
