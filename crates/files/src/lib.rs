//! Opens files that come from elsewhere: packages, books, runs, suites, bundles. A pipe, a device, a socket or a file without end
//! is an error that says so, and holds nobody up.

#![warn(clippy::missing_errors_doc)]

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{OFlags, fstatfs};

/// Most bytes of a file that are read into memory.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// Types of file systems whose files are answered by the kernel: `/proc`, `/sys`, and what is mounted below them.
const KERNEL_FILES: [i64; 6] = [0x9FA0, 0x6265_6572, 0x0027_E0EB, 0x6367_7270, 0x6462_6720, 0x7472_6163];

/// Opens a plain file for reading. Links are followed.
///
/// # Errors
///
/// Fails as [`File::open`] does, and if the path leads to something else than a plain file.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    // Opening a device may do something, and a socket cannot be opened.
    must_be_file(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    // What lies there may be exchanged meanwhile, and opening a pipe without a writer would block.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    must_be_plain(&file)?;
    Ok(file)
}

/// Opens a plain file for locking it, and makes an empty one where there is none.
///
/// # Errors
///
/// Where something else lies there, which is never waited for.
pub fn open_lock(path: impl AsRef<Path>) -> io::Result<File> {
    open_or_create(path.as_ref(), OpenOptions::new().write(true))
}

/// Opens a plain file for reading it and for writing at its end, and makes an empty one where there is none.
///
/// # Errors
///
/// Where something else lies there, which is never waited for.
pub fn open_append(path: impl AsRef<Path>) -> io::Result<File> {
    open_or_create(path.as_ref(), OpenOptions::new().read(true).append(true))
}

fn open_or_create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match std::fs::metadata(path) {
        Ok(metadata) => must_be_file(&metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.create(true).truncate(false).custom_flags(flags.bits().cast_signed()).open(path)?;
    must_be_plain(&file)?;
    Ok(file)
}

/// Reads a plain file of at most [`MAX_FILE_BYTES`].
///
/// # Errors
///
/// Fails as [`open`] does, and if the file is larger.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_FILE_BYTES)
}

/// Reads a plain file of at most [`MAX_FILE_BYTES`] as text.
///
/// # Errors
///
/// Fails as [`read`] does, and if the file is no UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a plain file of at most this many bytes.
///
/// # Errors
///
/// Fails as [`open`] does, and if the file is larger.
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let large = || {
        let why = format!("it has more than the {most} bytes that are read");
        io::Error::new(io::ErrorKind::FileTooLarge, why)
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // The file may grow while it is read.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(large()) } else { Ok(bytes) }
}

/// Fails unless a descriptor is of a regular file that is stored. Pipes and devices may never end, and what the kernel
/// answers is no evidence of what was saved.
///
/// # Errors
///
/// Fails if the descriptor is of a folder, a pipe, a device, or a file that the kernel makes up.
pub fn must_be_plain(file: &File) -> io::Result<()> {
    must_be_file(&file.metadata()?)?;
    if KERNEL_FILES.contains(&fstatfs(file)?.f_type) {
        Err(io::Error::other("the kernel answers for it: this is not a regular file"))
    } else {
        Ok(())
    }
}

fn must_be_file(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!("it is {what}, not a regular file: remove it, or put a file there")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::{open, open_append, open_lock, read, read_at_most, read_to_string};

    #[test]
    fn files_are_read_and_nothing_else_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").expect("written");
        symlink(path("file"), path("link")).expect("linked");
        assert_eq!(read_to_string(path("link")).expect("read"), "text");
        assert_eq!(read_at_most(path("file"), 4).expect("read"), b"text");
        assert_eq!(read_at_most(path("file"), 3).expect_err("too large").kind(), ErrorKind::FileTooLarge);
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).expect("a pipe");
        symlink(path("pipe"), path("link to pipe")).expect("linked");
        let _socket = UnixListener::bind(path("socket")).expect("a socket");
        symlink("/dev/zero", path("zero")).expect("linked");
        symlink("/proc/self/status", path("kernel")).expect("linked");
        let sparse = fs::File::create(path("sparse")).expect("made");
        sparse.set_len(1 << 40).expect("long");
        for (name, why) in [
            ("pipe", "it is a pipe"),
            ("link to pipe", "it is a pipe"),
            ("socket", "it is a socket"),
            ("zero", "it is a device"),
            ("kernel", "the kernel answers"),
            ("sparse", "more than the 1073741824 bytes"),
        ] {
            let error = read(path(name)).expect_err(name).to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        for name in ["pipe", "socket"] {
            for opened in [open_lock(path(name)), open_append(path(name))] {
                assert!(opened.expect_err(name).to_string().contains("not a regular file"), "{name}");
            }
        }
        for times in 1..3 {
            open_lock(path("lock")).expect("a lock");
            let mut lines = open_append(path("lines")).expect("lines");
            std::io::Write::write_all(&mut lines, b"line\n").expect("written");
            assert_eq!(read_to_string(path("lines")).expect("read"), "line\n".repeat(times));
        }
        assert_eq!(open(folder.path()).expect_err("a folder").kind(), ErrorKind::IsADirectory);
        assert_eq!(read(path("none")).expect_err("none").kind(), ErrorKind::NotFound);
        fs::write(path("binary"), [0xFF]).expect("written");
        assert_eq!(read_to_string(path("binary")).expect_err("no text").kind(), ErrorKind::InvalidData);
    }
}
