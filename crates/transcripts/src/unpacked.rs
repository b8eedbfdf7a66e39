//! Opens a log that may be packed by gzip or Zstandard as a whole, as log rotation and archives leave them.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// Maximum number of bytes of a log after it was unpacked. A small file can unpack to a very large one.
const MAX_UNPACKED_BYTES: u64 = 8 << 30;
/// How the files begin: RFC 1952 2.3.1, RFC 8878 3.1.1.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";
/// A frame that holds no data (RFC 8878 3.1.2): `pzstd` and the seekable form write them.
const SKIPPABLE: [u8; 3] = *b"\x2a\x4d\x18";

/// Name endings of packed files.
const PACKED: [&str; 2] = ["gz", "zst"];

/// Returns the path that a log has unpacked, whose ending says what it holds.
pub(crate) fn unpacked_path(path: &Path) -> PathBuf {
    let packed =
        path.extension().is_some_and(|end| PACKED.iter().any(|known| end.eq_ignore_ascii_case(known)));
    if packed { path.with_extension("") } else { path.to_owned() }
}

/// Returns whether the name of a log, packed or not, has this ending.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    unpacked_path(path).extension().is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// Opens a log for reading it from its beginning.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = apprentice_files::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(ZSTANDARD.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(if start.starts_with(GZIP) {
        Box::new(Bounded::new(MultiGzDecoder::new(file)))
    } else if start == ZSTANDARD || start.ends_with(&SKIPPABLE) {
        Box::new(Bounded::new(Frames { source: Some(io::BufReader::new(file)), frame: None }))
    } else {
        Box::new(file)
    })
}

/// Reads a log of at most this many bytes after it was unpacked.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than the {most} bytes that are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

type Source = io::BufReader<File>;

/// The frames of a file of Zstandard, one after the other: `ruzstd` reads one.
struct Frames {
    /// The file between two frames.
    source: Option<Source>,
    frame: Option<StreamingDecoder<Source, ruzstd::decoding::FrameDecoder>>,
}

impl Frames {
    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        let Some(mut source) = self.source.take() else { return Ok(false) };
        loop {
            let start = io::BufRead::fill_buf(&mut source)?;
            if start.is_empty() {
                return Ok(false);
            }
            let mut head = [0; 8];
            if start.get(1..4).is_none_or(|start| *start != SKIPPABLE) {
                break;
            }
            source.read_exact(&mut head)?;
            let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
            if io::copy(&mut source.by_ref().take(length), &mut io::sink())? < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let frame = StreamingDecoder::new(source).map_err(|error| io::Error::other(error.to_string()))?;
        self.frame = Some(frame);
        Ok(true)
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.source = self.frame.take().map(StreamingDecoder::into_inner);
            }
            if !self.begin()? {
                return Ok(0);
            }
        }
    }
}

/// Fails where more is unpacked than any log should hold.
struct Bounded<R> {
    source: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(source: R) -> Self {
        Self { source, left: MAX_UNPACKED_BYTES }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let why = format!("it unpacks to more than the {MAX_UNPACKED_BYTES} bytes that are read");
            io::Error::new(io::ErrorKind::FileTooLarge, why)
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::{Bounded, open, read_at_most};

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).expect("packed");
        packed.finish().expect("packed")
    }

    fn zstandard(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn packed_files_read_as_the_plain_one_in_any_number_of_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let (one, two) = (b"first line\n".repeat(90_000), b"second\n".to_vec());
        let both = [one.clone(), two.clone()].concat();
        let skipped = [
            b"\x50\x2a\x4d\x18\x03\0\0\0abc".as_slice(),
            &zstandard(&one),
            b"\x5f\x2a\x4d\x18\0\0\0\0",
            &zstandard(&two),
        ];
        for packed in [
            both.clone(),
            gzip(&both),
            [gzip(&one), gzip(&two)].concat(),
            zstandard(&both),
            [zstandard(&one), zstandard(b""), zstandard(&two)].concat(),
            skipped.concat(),
        ] {
            std::fs::write(&path, packed).expect("written");
            let mut read = Vec::new();
            open(&path).expect("open").read_to_end(&mut read).expect("read");
            assert!(read == both);
            assert_eq!(
                read_at_most(&path, 20).expect_err("too large").kind(),
                std::io::ErrorKind::FileTooLarge
            );
        }
    }

    #[test]
    fn what_is_cut_off_or_too_large_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        // Bytes that do not repeat, so that the cut is in the data.
        let text: Vec<u8> =
            (0..90_000_u32).flat_map(|at| (at.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        for packed in [gzip(&text), zstandard(&text)] {
            std::fs::write(&path, &packed[..packed.len() / 2]).expect("written");
            assert!(open(&path).and_then(|mut file| file.read_to_end(&mut Vec::new())).is_err());
        }
        let mut bounded = Bounded { source: text.as_slice(), left: 1000 };
        assert!(bounded.read_to_end(&mut Vec::new()).is_err());
    }
}
