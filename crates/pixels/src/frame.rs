//! A picture in memory, and the comparison of two pictures.

/// The longest side a picture may have.
const SIDE_LIMIT: u32 = 16_384;

/// A picture with 8 bits each of red, green and blue, stored row by row without gaps.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({}x{})", self.width, self.height)
    }
}

/// A rectangle of pixels within a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x: u32,
    /// Top edge.
    pub y: u32,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl Area {
    /// Returns the smallest area around both.
    #[must_use]
    pub fn around(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = (self.x + self.width).max(other.x + other.width);
        let bottom = (self.y + self.height).max(other.y + other.height);
        Self { x, y, width: right - x, height: bottom - y }
    }

    /// Returns whether the areas have a pixel in common.
    pub fn meets(&self, other: &Self) -> bool {
        let along = |at: u32, length: u32, other_at: u32, other_length: u32| {
            at < other_at + other_length && other_at < at + length
        };
        along(self.x, self.width, other.x, other.width) && along(self.y, self.height, other.y, other.height)
    }
}

/// Why a picture could not be processed.
#[derive(Debug, thiserror::Error)]
pub enum PixelError {
    /// A side is zero or too long.
    #[error("a picture of {width} by {height} pixels is not possible, sides go from 1 to {SIDE_LIMIT}")]
    InvalidSize {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The number of bytes does not match the size.
    #[error("a picture of {width} by {height} pixels needs {needed} bytes and came with {found}")]
    Length {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Number of bytes needed.
        needed: usize,
        /// Number of bytes given.
        found: usize,
    },
    /// The area is not within the picture.
    #[error("the area {area:?} lies outside a picture of {width} by {height} pixels")]
    OutOfBounds {
        /// The requested area.
        area: Area,
        /// Width of the picture in pixels.
        width: u32,
        /// Height of the picture in pixels.
        height: u32,
    },
    /// The picture's data is truncated.
    #[error("the picture is truncated")]
    Truncated,
    /// The codec failed.
    #[error("the picture could not be encoded or decoded")]
    Codec(#[from] image::ImageError),
    /// The resizer failed.
    #[error("the picture could not be resized: {0}")]
    Resize(String),
}

/// Returns the number of pixels of a picture, after checking its size.
fn pixels(width: u32, height: u32) -> Result<usize, PixelError> {
    let possible = |side: u32| (1..=SIDE_LIMIT).contains(&side);
    if possible(width) && possible(height) {
        Ok(width as usize * height as usize)
    } else {
        Err(PixelError::InvalidSize { width, height })
    }
}

impl Frame {
    /// Creates a frame from RGB bytes.
    ///
    /// # Errors
    ///
    /// Fails if a side is 0 or too long, or if `rgb` has not three bytes for each pixel.
    pub fn from_rgb(width: u32, height: u32, rgb: Vec<u8>) -> Result<Self, PixelError> {
        let needed = pixels(width, height)? * 3;
        if rgb.len() == needed {
            Ok(Self { width, height, rgb })
        } else {
            Err(PixelError::Length { width, height, needed, found: rgb.len() })
        }
    }

    /// Creates a frame from an X server's format: four bytes per pixel, blue, green, red and one that is ignored.
    ///
    /// # Errors
    ///
    /// Fails if a side is 0 or too long, or if `bgrx` has not four bytes for each pixel.
    pub fn from_bgrx(width: u32, height: u32, bgrx: &[u8]) -> Result<Self, PixelError> {
        let count = pixels(width, height)?;
        let needed = count * 4;
        if bgrx.len() != needed {
            return Err(PixelError::Length { width, height, needed, found: bgrx.len() });
        }
        let mut rgb = vec![0; count * 3];
        for (to, from) in rgb.as_chunks_mut::<3>().0.iter_mut().zip(bgrx.as_chunks::<4>().0) {
            *to = [from[2], from[1], from[0]];
        }
        Ok(Self { width, height, rgb })
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The RGB bytes, row by row.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// The red, green and blue of one pixel. `None` outside the frame.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        self.rgb.get(at..at + 3).and_then(|pixel| pixel.try_into().ok())
    }

    /// Returns whether no colour of an area differs by more than `shade` from that of its upper left corner. What lies outside of the
    /// frame counts for nothing.
    pub fn is_plain(&self, area: Area, shade: u8) -> bool {
        let Some(first) = self.pixel(area.x, area.y) else { return true };
        let right = area.x.saturating_add(area.width).min(self.width);
        let bottom = area.y.saturating_add(area.height).min(self.height);
        let of_row = |y: u32| {
            let start = y as usize * self.width as usize;
            let bytes = (start + area.x as usize) * 3..(start + right as usize) * 3;
            self.rgb.get(bytes).unwrap_or_default().as_chunks::<3>().0
        };
        let is_like =
            |pixel: &[u8; 3]| pixel.iter().zip(first).all(|(one, first)| one.abs_diff(first) <= shade);
        (area.y..bottom).flat_map(of_row).all(is_like)
    }
}

/// Returns the smallest area that contains all differences. `None` if the frames are equal. Frames of different sizes
/// differ everywhere.
pub fn diff(one: &Frame, other: &Frame) -> Option<Area> {
    if (one.width, one.height) != (other.width, other.height) {
        return Some(Area { x: 0, y: 0, width: other.width, height: other.height });
    }
    if one.rgb == other.rgb {
        return None;
    }
    let row = one.width as usize * 3;
    let rows = || one.rgb.chunks_exact(row).zip(other.rgb.chunks_exact(row));
    let top = rows().position(|(a, b)| a != b)?;
    let bottom = rows().rposition(|(a, b)| a != b)?;
    let (mut left, mut right) = (row, 0);
    for (a, b) in rows().take(bottom + 1).skip(top).filter(|(a, b)| a != b) {
        let unequal = |(a, b): (&u8, &u8)| a != b;
        left = left.min(a.iter().zip(b).position(unequal).unwrap_or(left));
        right = right.max(a.iter().zip(b).rposition(unequal).unwrap_or(right));
    }
    let whole = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let (left, right) = (left / 3, right / 3);
    Some(Area {
        x: whole(left),
        y: whole(top),
        width: whole(right + 1 - left),
        height: whole(bottom + 1 - top),
    })
}

/// Side of the squares in which [`changed_areas`] groups differences, in pixels.
const SQUARE: u32 = 16;

/// Returns the smallest areas around differences that lie together, from top to bottom: differences in the same square of
/// 16 pixels, or in adjacent squares, belong to one area. Frames of different sizes differ everywhere.
pub fn changed_areas(one: &Frame, other: &Frame) -> Vec<Area> {
    let Some(all) = diff(one, other) else { return Vec::new() };
    if (one.width, one.height) != (other.width, other.height) {
        return vec![all];
    }
    let columns = other.width.div_ceil(SQUARE) as usize;
    let mut squares = changed_squares(one, other, columns);
    let mut areas = Vec::new();
    for first in 0..squares.len() {
        let mut open: Vec<usize> = squares[first].is_some().then_some(first).into_iter().collect();
        let mut joined: Option<Area> = None;
        while let Some(at) = open.pop() {
            let Some(area) = squares[at].take() else { continue };
            joined = Some(joined.map_or(area, |known| known.around(&area)));
            let (row, column) = (at / columns, at % columns);
            for row in row.saturating_sub(1)..=row + 1 {
                let near = column.saturating_sub(1)..=(column + 1).min(columns - 1);
                open.extend(near.map(|column| row * columns + column).filter(|at| *at < squares.len()));
            }
        }
        areas.extend(joined);
    }
    areas
}

/// Returns, row by row, the smallest area of each square's differences. `None` for a square without.
fn changed_squares(one: &Frame, other: &Frame, columns: usize) -> Vec<Option<Area>> {
    let rows = other.height.div_ceil(SQUARE) as usize;
    let mut squares: Vec<Option<Area>> = vec![None; columns * rows];
    let bytes = other.width as usize * 3;
    let lines = one.rgb.chunks_exact(bytes).zip(other.rgb.chunks_exact(bytes));
    for (y, (before, after)) in (0u32..).zip(lines).filter(|(_, (before, after))| before != after) {
        let pixels = before.chunks_exact(3).zip(after.chunks_exact(3));
        for (x, _) in (0u32..).zip(pixels).filter(|(_, (before, after))| before != after) {
            let pixel = Area { x, y, width: 1, height: 1 };
            let square = &mut squares[(y / SQUARE) as usize * columns + (x / SQUARE) as usize];
            *square = Some(square.map_or(pixel, |known| known.around(&pixel)));
        }
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::{Area, Frame, PixelError, changed_areas, diff};

    fn grey(width: u32, height: u32) -> Frame {
        Frame::from_rgb(width, height, vec![128; (width * height * 3) as usize]).expect("a frame")
    }

    #[test]
    fn four_bytes_become_three_in_the_other_order() {
        let frame = Frame::from_bgrx(2, 1, &[1, 2, 3, 9, 4, 5, 6, 9]).expect("a frame");
        assert_eq!(frame.rgb(), [3, 2, 1, 6, 5, 4]);
        assert_eq!((frame.pixel(1, 0), frame.pixel(2, 0)), (Some([6, 5, 4]), None));
    }

    #[test]
    fn wrong_sizes_are_errors() {
        assert!(matches!(Frame::from_bgrx(2, 2, &[0; 15]), Err(PixelError::Length { needed: 16, .. })));
        assert!(matches!(Frame::from_bgrx(0, 2, &[]), Err(PixelError::InvalidSize { .. })));
        assert!(matches!(Frame::from_rgb(u32::MAX, u32::MAX, vec![]), Err(PixelError::InvalidSize { .. })));
    }

    #[test]
    fn the_difference_of_two_frames_is_their_smallest_box() {
        let one = grey(20, 10);
        assert_eq!(diff(&one, &one.clone()), None);
        let mut bytes = one.rgb().to_vec();
        for (x, y) in [(3, 2), (7, 5)] {
            bytes[(y * 20 + x) * 3 + 1] = 0;
        }
        let other = Frame::from_rgb(20, 10, bytes).expect("a frame");
        assert_eq!(diff(&one, &other), Some(Area { x: 3, y: 2, width: 5, height: 4 }));
        assert_eq!(diff(&one, &grey(5, 5)), Some(Area { x: 0, y: 0, width: 5, height: 5 }));
    }

    /// Changes these pixels of a grey frame.
    fn with_changed(frame: &Frame, pixels: &[(usize, usize)]) -> Frame {
        let mut bytes = frame.rgb().to_vec();
        for (x, y) in pixels {
            bytes[(y * frame.width() as usize + x) * 3 + 2] = 0;
        }
        Frame::from_rgb(frame.width(), frame.height(), bytes).expect("a frame")
    }

    #[test]
    fn differences_apart_from_each_other_are_areas_of_their_own() {
        let one = grey(100, 70);
        let area = |x, y, width, height| Area { x, y, width, height };
        assert_eq!(changed_areas(&one, &one), []);
        // The first three touch by a corner of their squares, the last one lies in the last, narrow square.
        let other = with_changed(&one, &[(3, 2), (31, 17), (32, 32), (99, 69)]);
        assert_eq!(changed_areas(&one, &other), [area(3, 2, 30, 31), area(99, 69, 1, 1)]);
        // A square without a difference between them parts two areas.
        let other = with_changed(&one, &[(15, 0), (32, 0)]);
        assert_eq!(changed_areas(&one, &other), [area(15, 0, 1, 1), area(32, 0, 1, 1)]);
        let other = with_changed(&one, &[(15, 0), (31, 0)]);
        assert_eq!(changed_areas(&one, &other), [area(15, 0, 17, 1)]);
        assert_eq!(changed_areas(&one, &grey(5, 5)), [area(0, 0, 5, 5)]);
    }

    #[test]
    fn areas_meet_where_they_have_a_pixel_in_common() {
        let area = |x, y| Area { x, y, width: 10, height: 5 };
        assert!(area(0, 0).meets(&area(9, 4)) && area(9, 4).meets(&area(0, 0)));
        assert!(!area(0, 0).meets(&area(10, 0)) && !area(0, 0).meets(&area(0, 5)));
        assert_eq!(area(0, 0).around(&area(30, 20)), Area { x: 0, y: 0, width: 40, height: 25 });
    }
}
