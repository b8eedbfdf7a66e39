//! Paints over what a picture shows of a secret, where the elements of its view told the place. A trace keeps pictures as they
//! were seen; what leaves it for training does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use apprentice_pixels::{Frame, Kind, PixelError, decode, encode_jpeg, encode_png};
use apprentice_protocol::{BlobHash, Content, Image, Message, Rect, View};
use apprentice_trace::{BlobError, Blobs};

use crate::episode::{Episode, Seen};

/// Pixels around a place that are painted, too: boxes of elements end at the edge of their text.
const MARGIN: f64 = 2.0;
/// The quality of JPEG pictures that are painted.
const QUALITY: u8 = 90;

/// A part of a picture, each side as a fraction of the picture's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

const WHOLE: Part = Part { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };

/// What is to be painted over in the pictures of an export.
#[derive(Debug, Default)]
pub(crate) struct Cover {
    parts: BTreeMap<BlobHash, Vec<Part>>,
    painted: Mutex<BTreeSet<BlobHash>>,
    /// Views with a picture in which nobody looked for secrets, as an earlier version recorded them.
    pub(crate) unknown: usize,
}

impl Cover {
    /// Notes the places of an attempt's secrets.
    pub(crate) fn note(&mut self, episode: &Episode<'_>, blobs: &Blobs) -> Result<(), BlobError> {
        for turn in &episode.turns {
            for seen in [&turn.before, &turn.after].into_iter().flatten() {
                self.note_screenshot(seen);
            }
            let Some(seen) = turn.before.as_ref().filter(|seen| has_places(seen)) else { continue };
            for message in &turn.messages {
                for image in images(&blobs.message(message)?) {
                    self.note_sent(&image, seen);
                }
            }
            let answers = turn.answers.iter().flat_map(|answer| &answer.content);
            for image in answers.filter_map(image_of) {
                self.note_sent(image, seen);
            }
        }
        Ok(())
    }

    fn note_screenshot(&mut self, seen: &Seen) {
        let Some(hash) = &seen.screenshot else { return };
        match &seen.secrets {
            None => self.unknown += 1,
            Some(places) => {
                for place in places {
                    self.add(hash, part(place, &seen.view));
                }
            }
        }
    }

    /// Notes a picture that was sent. One of another size than the view's is a part of the screen, and which is not known.
    fn note_sent(&mut self, image: &Image, seen: &Seen) {
        if image.size != seen.view.image {
            if !self.parts.contains_key(&image.hash) {
                self.add(&image.hash, Some(WHOLE));
            }
            return;
        }
        for place in seen.secrets.iter().flatten() {
            self.add(&image.hash, part(place, &seen.view));
        }
    }

    fn add(&mut self, hash: &BlobHash, part: Option<Part>) {
        let Some(part) = part else { return };
        let parts = self.parts.entry(hash.clone()).or_default();
        if !parts.contains(&part) {
            parts.push(part);
        }
    }

    /// Returns whether a picture is to be painted, and was not yet.
    pub(crate) fn is_due(&self, hash: &BlobHash) -> bool {
        self.parts.contains_key(hash) && !self.painted().contains(hash)
    }

    /// Returns the bytes of a picture as they may leave the trace.
    pub(crate) fn over(&self, hash: &BlobHash, bytes: Vec<u8>) -> Result<Vec<u8>, PixelError> {
        let Some(parts) = self.parts.get(hash) else { return Ok(bytes) };
        let kind = Kind::of(&bytes).ok_or(PixelError::Truncated)?;
        let (frame, _) = decode(&bytes, kind)?;
        let frame = paint(&frame, parts)?;
        self.painted().insert(hash.clone());
        match kind {
            Kind::Png => encode_png(&frame),
            Kind::Jpeg => encode_jpeg(&frame, QUALITY),
        }
    }

    fn painted(&self) -> std::sync::MutexGuard<'_, BTreeSet<BlobHash>> {
        self.painted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many pictures were painted, and how many places of them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let painted = self.painted();
        (painted.len(), painted.iter().filter_map(|hash| self.parts.get(hash)).map(Vec::len).sum())
    }
}

fn has_places(seen: &Seen) -> bool {
    seen.secrets.as_ref().is_some_and(|places| !places.is_empty())
}

fn images(message: &Message) -> Vec<Image> {
    let contents: Vec<&Content> = match message {
        Message::User { content } => content.iter().collect(),
        Message::Assistant { .. } => Vec::new(),
        Message::Results { results, notices } => {
            results.iter().flat_map(|result| &result.content).chain(notices).collect()
        }
    };
    contents.into_iter().filter_map(image_of).cloned().collect()
}

fn image_of(content: &Content) -> Option<&Image> {
    match content {
        Content::Image { image } => Some(image),
        Content::Text { .. } => None,
    }
}

/// Returns a place on the screen as a part of the view's picture; `None` if it lies outside.
fn part(place: &Rect, view: &View) -> Option<Part> {
    let region = view.region;
    if !place.overlaps(&region) {
        return None;
    }
    let along = |at: f64, start: i32, length: i32| {
        ((at - f64::from(start)) / f64::from(length.max(1))).clamp(0.0, 1.0)
    };
    let (left, top) = (f64::from(place.x) - MARGIN, f64::from(place.y) - MARGIN);
    let right = f64::from(place.x) + f64::from(place.width) + MARGIN;
    let bottom = f64::from(place.y) + f64::from(place.height) + MARGIN;
    Some(Part {
        left: along(left, region.x, region.width),
        top: along(top, region.y, region.height),
        right: along(right, region.x, region.width),
        bottom: along(bottom, region.y, region.height),
    })
}

/// Returns a frame with its parts in black.
fn paint(frame: &Frame, parts: &[Part]) -> Result<Frame, PixelError> {
    let mut rgb = frame.rgb().to_vec();
    let width = frame.width() as usize;
    let inside = |at: usize, side: u32, from: f64, to: f64| {
        let (at, side) = (at as f64, f64::from(side));
        at + 1.0 > from * side && at < to * side
    };
    for (row, line) in rgb.chunks_exact_mut(width * 3).enumerate() {
        for part in parts.iter().filter(|part| inside(row, frame.height(), part.top, part.bottom)) {
            let pixels = line.chunks_exact_mut(3).enumerate();
            let covered = pixels.filter(|(at, _)| inside(*at, frame.width(), part.left, part.right));
            covered.for_each(|(_, pixel)| pixel.fill(0));
        }
    }
    Frame::from_rgb(frame.width(), frame.height(), rgb)
}

#[cfg(test)]
mod tests {
    use apprentice_pixels::{Frame, decode_png, encode_png};
    use apprentice_protocol::{BlobHash, CoordinateSpace, Rect, Size, View};

    use super::Cover;
    use crate::episode::Seen;

    #[test]
    fn a_place_of_the_screen_is_black_in_a_scaled_picture_and_the_rest_is_as_it_was() {
        let hash = BlobHash::new("a".repeat(64));
        let seen = Seen {
            title: String::new(),
            screenshot: Some(hash.clone()),
            outline: None,
            // The picture is half as large as the screen.
            view: View {
                region: Rect::new(0, 0, 200, 100),
                image: Size::new(100, 50),
                space: CoordinateSpace::ImagePixels,
            },
            secrets: Some(vec![Rect::new(40, 20, 60, 20), Rect::new(500, 0, 9, 9)]),
        };
        let mut cover = Cover::default();
        cover.note_screenshot(&seen);
        let white =
            encode_png(&Frame::from_rgb(100, 50, vec![255; 100 * 50 * 3]).expect("a frame")).expect("a PNG");
        assert!(cover.is_due(&hash));
        let painted = decode_png(&cover.over(&hash, white.clone()).expect("paints")).expect("a PNG");
        assert!(!cover.is_due(&hash));
        // With a margin of two pixels of the screen.
        for (x, y, colour) in
            [(19, 9, 0), (50, 20, 0), (18, 15, 255), (30, 8, 255), (51, 15, 255), (30, 21, 255)]
        {
            assert_eq!(painted.pixel(x, y), Some([colour; 3]), "{x},{y}");
        }
        assert_eq!(cover.counts(), (1, 1), "what lies outside is no place of the picture");
        let other = BlobHash::new("b".repeat(64));
        assert_eq!(cover.over(&other, white.clone()).expect("as it is"), white);
        assert!(cover.over(&hash, b"no picture".to_vec()).is_err(), "never as it is");
    }
}
