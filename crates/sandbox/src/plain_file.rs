//! Tells files that can be read to their end without waiting for anybody from all others.

use std::fs::File;
use std::io;

use rustix::fs::fstatfs;

/// Types of file systems whose files are answered by the kernel: `/proc`, `/sys`, and what is mounted below them.
const KERNEL_FILES: [i64; 6] = [0x9FA0, 0x6265_6572, 0x0027_E0EB, 0x6367_7270, 0x6462_6720, 0x7472_6163];

/// Fails unless a descriptor is of a regular file that is stored. Pipes and devices may never end, and what the kernel
/// answers is no evidence of what was saved.
pub(super) fn must_be_plain(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    match metadata.is_file() && !KERNEL_FILES.contains(&fstatfs(file)?.f_type) {
        true => Ok(()),
        false => Err(io::Error::other("this is not a regular file")),
    }
}
