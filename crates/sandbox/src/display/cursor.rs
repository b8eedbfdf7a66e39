//! Draws the pointer into a picture of the screen: the X server leaves it out.

use apprentice_pixels::Frame;
use apprentice_protocol::Image;
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};

use super::DisplayError;
use super::drawn_areas::Pixels;
use super::screen::{Screen, encoded};

/// Bytes of a pixel.
const PIXEL: usize = 4;

/// The screen at one moment.
pub struct Shot {
    /// As an encoded picture.
    pub picture: Image,
    /// What is drawn on it, always without the pointer.
    pub frame: Frame,
}

impl Screen {
    /// The screen at one moment: its picture, with the pointer as a person sees it if that is wanted, and what is drawn on it.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, or if its picture cannot be read or encoded.
    pub fn shot(&mut self, pointer: bool) -> Result<Shot, DisplayError> {
        if !pointer {
            let frame = self.frame()?;
            return Ok(Shot { picture: encoded(&frame)?, frame });
        }
        let cursor = self.connection.xfixes_get_cursor_image()?.reply()?;
        let mut pixels = self.pixels()?;
        let (width, height) = self.size();
        let frame = |pixels: &Pixels| {
            Frame::from_bgrx(width, height, &pixels.bytes)
                .map_err(|error| DisplayError::Picture(error.to_string()))
        };
        let drawn = frame(&pixels)?;
        draw(&mut pixels, &Cursor::of(&cursor));
        Ok(Shot { picture: encoded(&frame(&pixels)?)?, frame: drawn })
    }
}

/// The pointer's picture, and where its upper left corner lies.
struct Cursor<'a> {
    left: i32,
    top: i32,
    width: usize,
    /// Pixels with alpha in the highest byte; the colours are already multiplied by it.
    pixels: &'a [u32],
}

impl<'a> Cursor<'a> {
    fn of(reply: &'a GetCursorImageReply) -> Self {
        Self {
            left: i32::from(reply.x) - i32::from(reply.xhot),
            top: i32::from(reply.y) - i32::from(reply.yhot),
            width: usize::from(reply.width),
            pixels: &reply.cursor_image,
        }
    }
}

/// Lays the pointer over the screen. What hangs over an edge is cut off.
fn draw(screen: &mut Pixels, cursor: &Cursor<'_>) {
    if cursor.width == 0 || screen.width == 0 {
        return;
    }
    for (down, row) in (0i32..).zip(cursor.pixels.chunks(cursor.width)) {
        for (right, over) in (0i32..).zip(row) {
            let (x, y) = (cursor.left.saturating_add(right), cursor.top.saturating_add(down));
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { continue };
            if x >= screen.width {
                continue;
            }
            let start = (y * screen.width + x) * PIXEL;
            if let Some(under) = screen.bytes.get_mut(start..start + 3) {
                blend(under, over.to_le_bytes());
            }
        }
    }
}

/// Lays one pixel over another. Both begin with blue.
fn blend(under: &mut [u8], [blue, green, red, alpha]: [u8; 4]) {
    let rest = u32::from(255 - alpha);
    for (under, over) in under.iter_mut().zip([blue, green, red]) {
        let mixed = u32::from(over) + (u32::from(*under) * rest + 127) / 255;
        *under = u8::try_from(mixed).unwrap_or(u8::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Pixels, draw};

    #[test]
    fn the_pointer_covers_the_screen_and_is_cut_off_at_its_edges() {
        let mut screen = Pixels { width: 2, bytes: vec![100; 2 * 2 * 4] };
        // Opaque blue, half transparent red, nothing, opaque white.
        let pixels = [0xff00_00ff, 0x8080_0000, 0, 0xffff_ffff];
        draw(&mut screen, &Cursor { left: 1, top: 1, width: 2, pixels: &pixels });
        assert_eq!(screen.bytes[12..15], [255, 0, 0], "one pixel is on the screen");
        assert_eq!(screen.bytes[..12], [100; 12]);
        draw(&mut screen, &Cursor { left: -1, top: 0, width: 2, pixels: &pixels });
        assert_eq!(screen.bytes[..3], [50, 50, 178], "half of it shines through");
        assert_eq!(screen.bytes[8..11], [255, 255, 255]);
    }
}
