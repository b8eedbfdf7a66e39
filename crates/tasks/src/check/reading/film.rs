//! The pictures of a film, each by its perceptual hash: a discrete cosine transform of the picture in grey at 32 by 32
//! pixels, of which the sign against the median of the 64 lowest frequencies is kept, as the library `imagehash` does.

use std::f64::consts::PI;

use apprentice_metrics::{MEDIA_READER, ReadingContent, grey_thumbnail};

use super::media::{self, PIXELS};
use super::program::{ProgramError, ProgramRun, Sink, stream};

/// Pictures that upstream compares.
const PICTURES: usize = 100;
/// The side of the scaled picture, and of the part of its transform that is kept.
const SIDE: usize = 32;
const KEPT: usize = 8;
/// Bytes of all pictures.
const LIMIT: u64 = 8 << 30;

pub(super) async fn read(bytes: &[u8]) -> Result<ReadingContent, ProgramError> {
    // Every decoded picture, none dropped or doubled for the sake of a rate.
    let made = ["-map", "0:v:0", "-frames:v", "100", "-vsync", "0", "-f", "image2pipe", "-c:v", "ppm", "-"];
    let arguments = media::arguments(media::RECORDINGS, &made);
    let run = ProgramRun { program: MEDIA_READER, arguments: &arguments, input: bytes, output_limit: LIMIT };
    let mut pictures = Pictures { waiting: Vec::new(), hashes: Vec::new() };
    match stream(&run, &mut pictures).await {
        // A film that breaks off is compared by the pictures before.
        Ok(()) | Err(ProgramError::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(ReadingContent::Film { hashes: pictures.hashes })
}

/// Takes pictures in the form PPM from a stream.
struct Pictures {
    waiting: Vec<u8>,
    hashes: Vec<u64>,
}

impl Sink for Pictures {
    fn take(&mut self, bytes: &[u8]) -> Result<bool, ProgramError> {
        self.waiting.extend_from_slice(bytes);
        while let Some(header) = header(&self.waiting)? {
            let end = header.start + header.width * header.height * 3;
            if self.waiting.len() < end {
                break;
            }
            let pixels = self.waiting[header.start..end].to_vec();
            let small =
                grey_thumbnail(header.width, header.height, pixels, SIDE).map_err(ProgramError::Bound)?;
            self.hashes.push(hash(&small));
            self.waiting.drain(..end);
            if self.hashes.len() == PICTURES {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct Header {
    width: usize,
    height: usize,
    start: usize,
}

/// Reads `P6 WIDTH HEIGHT 255` and one blank.
fn header(bytes: &[u8]) -> Result<Option<Header>, ProgramError> {
    let wrong = || ProgramError::Start("ffmpeg printed no pictures of the form PPM".into());
    let mut fields = Vec::new();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate().take(64) {
        if byte.is_ascii_whitespace() {
            fields.push(std::str::from_utf8(&bytes[start..at]).map_err(|_| wrong())?);
            start = at + 1;
        }
        if let [kind, width, height, depth] = fields.as_slice() {
            let side = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let (width, height) = (side(width)?, side(height)?);
            let fits = width.checked_mul(height).is_some_and(|pixels| (1..=PIXELS).contains(&pixels));
            return if *kind == "P6" && *depth == "255" && fits {
                Ok(Some(Header { width, height, start }))
            } else {
                Err(wrong())
            };
        }
    }
    if bytes.len() > 64 { Err(wrong()) } else { Ok(None) }
}

/// Returns the perceptual hash of a square picture in grey.
fn hash(pixels: &[u8]) -> u64 {
    let cosine: Vec<[f64; SIDE]> = (0..KEPT).map(cosines).collect();
    // Along the columns first, then along the rows; only the lowest frequencies are computed.
    let mut columns = [[0.0; SIDE]; KEPT];
    for (row, weights) in columns.iter_mut().zip(&cosine) {
        for (x, sum) in row.iter_mut().enumerate() {
            *sum = (0..SIDE).map(|y| 2.0 * f64::from(pixels[y * SIDE + x]) * weights[y]).sum();
        }
    }
    let line = |row: &[f64; SIDE], weights: &[f64; SIDE]| -> f64 {
        row.iter().zip(weights).map(|(value, weight)| 2.0 * value * weight).sum()
    };
    let low: Vec<f64> =
        columns.iter().flat_map(|row| cosine.iter().map(move |weights| line(row, weights))).collect();
    let mut sorted = low.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = f64::midpoint(sorted[KEPT * KEPT / 2 - 1], sorted[KEPT * KEPT / 2]);
    low.iter().fold(0, |bits, value| (bits << 1) | u64::from(*value > middle))
}

fn cosines(frequency: usize) -> [f64; SIDE] {
    let step = |at: usize| f64::from(u32::try_from(frequency * (2 * at + 1)).unwrap_or_default());
    std::array::from_fn(|at| (PI * step(at) / 64.0).cos())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Pictures, hash};
    use crate::check::reading::program::Sink as _;

    #[test]
    fn a_hash_is_that_of_the_library() {
        // imagehash.phash of the same 32 by 32 pixels.
        let pixels: Vec<u8> =
            (0..1024_u32).map(|at| u8::try_from((at * at / 7 + at * 13) % 251).unwrap()).collect();
        assert_eq!(format!("{:016x}", hash(&pixels)), "a19f456df4258475");
    }

    proptest! {
        #[test]
        fn no_stream_breaks_the_reader(header in "(P6|P5|p)[ \n]?[0-9]{0,5}[ \n][0-9]{0,5}[ \n][0-9]{0,4}[ \n]?", tail: Vec<u8>) {
            let mut pictures = Pictures { waiting: Vec::new(), hashes: Vec::new() };
            drop(pictures.take(header.as_bytes()).and_then(|_| pictures.take(&tail)));
        }
    }

    #[test]
    fn pictures_are_taken_from_pieces_of_a_stream() {
        let mut film = Vec::new();
        for shade in [0, 90, 200] {
            film.extend_from_slice(b"P6\n8 4\n255\n");
            film.extend((0..96).map(|at: u8| at.wrapping_mul(shade)));
        }
        let mut whole = Pictures { waiting: Vec::new(), hashes: Vec::new() };
        assert!(whole.take(&film).expect("pictures"));
        let mut pieces = Pictures { waiting: Vec::new(), hashes: Vec::new() };
        film.chunks(7).for_each(|piece| assert!(pieces.take(piece).expect("a piece")));
        assert_eq!((whole.hashes.len(), &whole.hashes), (3, &pieces.hashes));
        assert!(Pictures { waiting: Vec::new(), hashes: Vec::new() }.take(b"P5 8 4 255 x").is_err());
    }
}
