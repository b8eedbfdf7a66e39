//! Where the screen was drawn on between two reads of the interface tree. Pure.

use apprentice_protocol::Rect;

use crate::wire::DrawnSince;

/// Most areas that are kept apart.
const AREAS: usize = 200;

/// Tiles of the screen in which pixels are compared.
const TILE_WIDTH: usize = 16;
const TILE_HEIGHT: usize = 8;
/// Bytes of a pixel.
const PIXEL: usize = 4;

/// Areas that were drawn since they were last taken.
#[derive(Debug, Default)]
pub(super) struct DrawnAreas {
    areas: Vec<Rect>,
    /// Where windows overlapped when the areas were last taken.
    overlaps: Vec<Rect>,
    /// The screen when the areas were last taken.
    pixels: Vec<u8>,
    /// What was new when the areas were last taken.
    before: DrawnSince,
}

/// The screen's pixels, four bytes each, row by row.
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) bytes: Vec<u8>,
}

impl DrawnAreas {
    /// Records that an area was drawn.
    pub(super) fn note(&mut self, area: Rect) {
        if self.areas.iter().any(|known| contains(*known, area)) {
            return;
        }
        self.areas.retain(|known| !contains(area, *known));
        self.areas.push(area);
        if self.areas.len() > AREAS {
            self.areas = self.areas.drain(..).reduce(join).into_iter().collect();
        }
    }

    /// Returns whether anything was drawn.
    pub(super) fn any(&self) -> bool {
        !self.areas.is_empty()
    }

    /// Returns what was drawn, and where the screen shows something else now. `pixels` may be missing if nothing was
    /// drawn. Where windows overlap now, or did the last time, the lower one could not draw, so that counts as changed.
    /// Everything is told twice: a busy program may have drawn before it answered with what it drew.
    pub(super) fn take(&mut self, overlaps: Vec<Rect>, pixels: Option<Pixels>) -> DrawnSince {
        let touched = std::mem::take(&mut self.areas);
        // All pixels are compared: what was drawn last may not have been told before they were read.
        let mut changed = pixels.map(|now| {
            let changed = changed_areas(&self.pixels, &now);
            self.pixels = now.bytes;
            changed
        });
        let changed = changed.get_or_insert_default();
        changed.extend(std::mem::replace(&mut self.overlaps, overlaps.clone()));
        changed.extend(overlaps);
        let new = DrawnSince { changed: std::mem::take(changed), touched };
        let mut both = std::mem::replace(&mut self.before, new.clone());
        both.changed.extend(new.changed);
        both.touched.extend(new.touched);
        both
    }
}

/// Where two screens differ. Screens of different sizes differ everywhere.
fn changed_areas(before: &[u8], now: &Pixels) -> Vec<Rect> {
    let row = now.width * PIXEL;
    if row == 0 {
        return Vec::new();
    }
    let rect = |left: usize, top: usize, right: usize, bottom: usize| {
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        Rect::new(number(left), number(top), number(right - left), number(bottom - top))
    };
    if before.len() != now.bytes.len() {
        return vec![rect(0, 0, now.width, now.bytes.len() / row)];
    }
    let mut changed: Vec<Rect> = Vec::new();
    let bands = before.chunks(row * TILE_HEIGHT).zip(now.bytes.chunks(row * TILE_HEIGHT));
    for (band, (before, now_band)) in bands.enumerate().filter(|(_, (before, now))| before != now) {
        let mut tiles = vec![false; now.width.div_ceil(TILE_WIDTH)];
        let rows = before.chunks(row).zip(now_band.chunks(row));
        for (one, other) in rows.filter(|(one, other)| one != other) {
            let both = one.chunks(TILE_WIDTH * PIXEL).zip(other.chunks(TILE_WIDTH * PIXEL));
            tiles.iter_mut().zip(both).for_each(|(tile, (one, other))| *tile |= one != other);
        }
        let (top, bottom) = (band * TILE_HEIGHT, band * TILE_HEIGHT + now_band.len() / row);
        for run in runs(&tiles) {
            changed.push(rect(run.start * TILE_WIDTH, top, (run.end * TILE_WIDTH).min(now.width), bottom));
        }
    }
    changed
}

/// Neighbouring tiles that are set.
fn runs(tiles: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in tiles.iter().enumerate().filter(|(_, set)| **set) {
        match runs.last_mut() {
            Some(last) if last.end == index => last.end = index + 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// Where these windows overlap.
pub(super) fn overlaps(windows: &[Rect]) -> Vec<Rect> {
    let pairs = windows.iter().enumerate().flat_map(|(index, one)| {
        windows.iter().skip(index + 1).filter_map(|other| intersection(*one, *other))
    });
    pairs.collect()
}

/// The smallest area that holds both.
pub(super) fn join(one: Rect, other: Rect) -> Rect {
    let (x, y) = (one.x.min(other.x), one.y.min(other.y));
    let right = (one.x + one.width).max(other.x + other.width);
    let bottom = (one.y + one.height).max(other.y + other.height);
    Rect::new(x, y, right - x, bottom - y)
}

fn contains(outer: Rect, inner: Rect) -> bool {
    intersection(outer, inner) == Some(inner)
}

fn intersection(one: Rect, other: Rect) -> Option<Rect> {
    let (x, y) = (one.x.max(other.x), one.y.max(other.y));
    let right = (one.x + one.width).min(other.x + other.width);
    let bottom = (one.y + one.height).min(other.y + other.height);
    (right > x && bottom > y).then(|| Rect::new(x, y, right - x, bottom - y))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Rect;

    use super::{DrawnAreas, Pixels, overlaps};

    fn screen(lit: &[(usize, usize)]) -> Option<Pixels> {
        let mut bytes = vec![0; 64 * 40 * 4];
        for (x, y) in lit {
            bytes[(y * 64 + x) * 4] = 255;
        }
        Some(Pixels { width: 64, bytes })
    }

    #[test]
    fn nothing_that_was_drawn_is_lost_and_overlaps_count_twice() {
        let mut drawn = DrawnAreas::default();
        drawn.note(Rect::new(10, 10, 5, 5));
        drawn.note(Rect::new(12, 12, 2, 2));
        drawn.note(Rect::new(100, 10, 5, 5));
        let taken = drawn.take(Vec::new(), None);
        assert_eq!(taken.touched, [Rect::new(10, 10, 5, 5), Rect::new(100, 10, 5, 5)]);
        let over = Rect::new(3, 3, 7, 7);
        let again = drawn.take(vec![over], None);
        assert_eq!(
            (again.touched, again.changed),
            (taken.touched, vec![over]),
            "what was drawn is told twice"
        );
        let uncovered = drawn.take(Vec::new(), None);
        assert_eq!(
            (uncovered.touched, uncovered.changed),
            (vec![], vec![over, over]),
            "it was covered until now"
        );
        assert_eq!(drawn.take(Vec::new(), None).changed, [over]);
        assert_eq!(drawn.take(Vec::new(), None).changed, []);
        for place in 0..1000 {
            drawn.note(Rect::new(place * 2, 0, 1, 1));
        }
        let many = drawn.take(Vec::new(), None).touched;
        assert!(many.len() <= 200, "{}", many.len());
        let held = |x: i32| many.iter().any(|area| area.x <= x && x < area.x + area.width);
        assert!((0..1000).all(|place| held(place * 2)));
    }

    #[test]
    fn changed_pixels_are_found_wherever_they_are() {
        let mut drawn = DrawnAreas::default();
        let whole = drawn.take(Vec::new(), screen(&[])).changed;
        assert_eq!(whole, [Rect::new(0, 0, 64, 40)], "there was no screen before");
        assert_eq!(drawn.take(Vec::new(), screen(&[])).changed, whole, "it is told twice");
        assert_eq!(drawn.take(Vec::new(), screen(&[])).changed, []);
        let spots = [(0, 0), (17, 1), (63, 39)];
        let changed = drawn.take(Vec::new(), screen(&spots)).changed;
        assert_eq!(changed, [Rect::new(0, 0, 32, 8), Rect::new(48, 32, 16, 8)]);
    }

    #[test]
    fn windows_overlap_where_both_are() {
        let windows = [Rect::new(0, 0, 100, 80), Rect::new(10, 10, 20, 20), Rect::new(100, 0, 9, 9)];
        assert_eq!(overlaps(&windows), [Rect::new(10, 10, 20, 20)]);
    }
}
