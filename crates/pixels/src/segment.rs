//! Shared memory of another process, mapped from a file descriptor that it passed.
#![expect(unsafe_code, reason = "mapping foreign memory is what this file is for")]

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};

use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of shared memory. Its bytes are always copied out, never borrowed, because the other process may write at
/// any time.
#[derive(Debug)]
pub struct Segment {
    start: NonNull<c_void>,
    length: usize,
}

/// Why a descriptor could not be mapped or read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The file behind the descriptor is shorter than the requested mapping.
    #[error("shared memory of {needed} bytes is needed, the file has {found}")]
    Short {
        /// Number of bytes requested.
        needed: usize,
        /// Size of the file in bytes.
        found: i64,
    },
    /// The requested copy is longer than the mapping.
    #[error("cannot copy {asked} bytes out of {length} bytes of shared memory")]
    OutOfBounds {
        /// Number of bytes requested.
        asked: usize,
        /// Size of the mapping in bytes.
        length: usize,
    },
    /// A system call failed.
    #[error("shared memory could not be mapped")]
    System(#[from] rustix::io::Errno),
}

// SAFETY: the mapping belongs to the whole process, and `Segment` has no state except its address.
unsafe impl Send for Segment {}

impl Segment {
    /// Maps the first `length` bytes behind a descriptor, read-only.
    ///
    /// # Errors
    ///
    /// Fails if the descriptor's file is shorter than `length`, or if the kernel refuses to map it.
    pub fn map(descriptor: &OwnedFd, length: usize) -> Result<Self, SegmentError> {
        let found = fstat(descriptor)?.st_size;
        if length == 0 || usize::try_from(found).is_ok_and(|found| found < length) || found < 0 {
            return Err(SegmentError::Short { needed: length, found });
        }
        // SAFETY: this is a new shared mapping at an address chosen by the kernel. The length was checked against the
        // file, so every page of the mapping is backed.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, descriptor, 0)? };
        let start = NonNull::new(start).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { start, length })
    }

    /// Copies the first `length` bytes out of the mapping.
    ///
    /// # Errors
    ///
    /// Fails if `length` is more than what was mapped.
    pub fn copy(&self, length: usize) -> Result<Vec<u8>, SegmentError> {
        if length > self.length {
            return Err(SegmentError::OutOfBounds { asked: length, length: self.length });
        }
        let mut bytes = Vec::with_capacity(length);
        // SAFETY: the source is mapped for `self.length >= length` bytes and lives as long as `self`. The target has
        // room for `length` bytes, and the copy initialises them before the length is set.
        unsafe {
            ptr::copy_nonoverlapping(self.start.as_ptr().cast::<u8>(), bytes.as_mut_ptr(), length);
            bytes.set_len(length);
        }
        Ok(bytes)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `map` created this mapping, and it is unmapped only here.
        let unmapped = unsafe { munmap(self.start.as_ptr(), self.length) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::io::pwrite;

    use super::{Segment, SegmentError};

    fn memory(bytes: &[u8]) -> OwnedFd {
        let file = memfd_create("segment", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&file, bytes.len() as u64).expect("size");
        pwrite(&file, bytes, 0).expect("bytes");
        file
    }

    #[test]
    fn what_the_other_side_wrote_is_copied_out() {
        let file = memory(b"abcdef");
        let segment = Segment::map(&file, 6).expect("maps");
        assert_eq!(segment.copy(3).expect("inside"), b"abc");
        pwrite(&file, b"XY", 1).expect("bytes");
        assert_eq!(segment.copy(6).expect("inside"), b"aXYdef");
        assert!(matches!(segment.copy(7), Err(SegmentError::OutOfBounds { asked: 7, length: 6 })));
    }

    #[test]
    fn a_short_file_is_refused() {
        let file = memory(b"abc");
        assert!(matches!(Segment::map(&file, 4), Err(SegmentError::Short { needed: 4, found: 3 })));
        assert!(Segment::map(&file, 0).is_err());
    }
}
