//! Typed coordinates: screen pixels, and points in a model's coordinate space.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A width and a height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

impl Size {
    /// Creates a size of `width` by `height` pixels.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }
}

/// A point on the screen in pixels, origin at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ScreenPoint {
    /// Pixels from the left edge.
    pub x: i32,
    /// Pixels from the top edge.
    pub y: i32,
}

impl ScreenPoint {
    /// Creates a point `x` pixels from the left and `y` from the top.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A point in a model's own [`CoordinateSpace`]; meaningless without the [`View`] that the model saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePoint {
    /// Horizontal coordinate in the model's space.
    pub x: f64,
    /// Vertical coordinate in the model's space.
    pub y: f64,
}

impl ImagePoint {
    /// Creates a point in a model's space.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// A rectangle on the screen in pixels. Accessibility buses report negative and huge ones for hidden elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Pixels across.
    pub width: i32,
    /// Pixels down.
    pub height: i32,
}

/// Largest possible screen coordinate in pixels: displays use 16-bit coordinates.
const MAX_SCREEN_COORDINATE: i32 = 30_000;

impl Rect {
    /// Creates a rectangle from its left edge, top edge, width and height.
    pub const fn new(x: i32, y: i32, width: i32, height: i32) -> Self {
        Self { x, y, width, height }
    }

    /// Returns the centre; `None` if the rectangle has no area or lies outside any possible screen.
    pub fn centre(&self) -> Option<ScreenPoint> {
        let possible = -MAX_SCREEN_COORDINATE + 1..MAX_SCREEN_COORDINATE;
        let sane =
            self.width > 0 && self.height > 0 && possible.contains(&self.x) && possible.contains(&self.y);
        // A program that is closing may report any number.
        let middle = |from: i32, length: i32| from.saturating_add(length / 2);
        sane.then(|| ScreenPoint::new(middle(self.x, self.width), middle(self.y, self.height)))
    }

    /// Returns whether both share a part of the screen.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |one: i32, length: i32, other: i32, other_length: i32| {
            one < other.saturating_add(other_length) && other < one.saturating_add(length)
        };
        meet(self.x, self.width, other.x, other.width) && meet(self.y, self.height, other.y, other.height)
    }

    /// Returns whether the rectangle contains the point.
    pub fn contains(&self, point: ScreenPoint) -> bool {
        (self.x..self.x.saturating_add(self.width)).contains(&point.x)
            && (self.y..self.y.saturating_add(self.height)).contains(&point.y)
    }
}

/// The coordinate space of a model's points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoordinateSpace {
    /// Pixels of the image that was sent to the model.
    ImagePixels,
    /// A grid from 0 to `max` on both axes, regardless of the image's aspect ratio.
    Grid {
        /// The largest grid coordinate: 999 or 1000 in the models known so far.
        max: u32,
    },
    /// Fractions of the image from 0 to 1.
    Unit,
}

/// The image that a model last saw: the part of the screen, the image size, and the coordinate space of its points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The part of the screen in the image.
    pub region: Rect,
    /// Size of the image that the model received.
    pub image: Size,
    /// The coordinate space of the model's points.
    pub space: CoordinateSpace,
}

/// A model's point outside the image that it saw. It is reported back to the model, never clamped.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("point ({x}, {y}) lies outside the picture: x must be from 0 to {max_x} and y from 0 to {max_y}")]
pub struct OutsideView {
    /// Horizontal coordinate of the point.
    pub x: f64,
    /// Vertical coordinate of the point.
    pub y: f64,
    /// Largest valid `x`.
    pub max_x: f64,
    /// Largest valid `y`.
    pub max_y: f64,
}

impl View {
    /// Creates a view of the whole screen at full size.
    pub fn whole(screen: Size) -> Self {
        let (width, height) = (screen.width.cast_signed(), screen.height.cast_signed());
        Self { region: Rect::new(0, 0, width, height), image: screen, space: CoordinateSpace::ImagePixels }
    }

    /// Returns the largest coordinates of the model's space.
    pub fn extent(&self) -> (f64, f64) {
        match self.space {
            CoordinateSpace::ImagePixels => (f64::from(self.image.width), f64::from(self.image.height)),
            CoordinateSpace::Grid { max } => (f64::from(max), f64::from(max)),
            CoordinateSpace::Unit => (1.0, 1.0),
        }
    }

    /// Converts a model's point to a screen pixel.
    ///
    /// # Errors
    ///
    /// Fails if the point lies outside of the picture; the error says which points are inside.
    pub fn to_screen(&self, point: ImagePoint) -> Result<ScreenPoint, OutsideView> {
        let (max_x, max_y) = self.extent();
        let inside = |value: f64, max: f64| value.is_finite() && (0.0..=max).contains(&value);
        if !inside(point.x, max_x) || !inside(point.y, max_y) {
            return Err(OutsideView { x: point.x, y: point.y, max_x, max_y });
        }
        Ok(ScreenPoint {
            x: scale(point.x, max_x, self.region.x, self.region.width),
            y: scale(point.y, max_y, self.region.y, self.region.height),
        })
    }

    /// Converts the centre of a screen pixel to a model's point; `None` if the pixel is outside the picture.
    pub fn to_image(&self, point: ScreenPoint) -> Option<ImagePoint> {
        if !self.region.contains(point) {
            return None;
        }
        let (max_x, max_y) = self.extent();
        let across = |value: i32, start: i32, length: i32, max: f64| {
            (f64::from(value - start) + 0.5) / f64::from(length) * max
        };
        let x = across(point.x, self.region.x, self.region.width, max_x);
        let y = across(point.y, self.region.y, self.region.height, max_y);
        Some(match self.space {
            CoordinateSpace::Unit => ImagePoint::new(x, y),
            CoordinateSpace::ImagePixels | CoordinateSpace::Grid { .. } => {
                ImagePoint::new(x.floor(), y.floor())
            }
        })
    }
}

/// Maps `value` in `0..=max` to the pixels `start..start+length`; the far edge belongs to the last pixel.
fn scale(value: f64, max: f64, start: i32, length: i32) -> i32 {
    // The multiplication comes first, so that whole pixels stay integers and `floor` is exact.
    let offset = (value * f64::from(length) / max).floor();
    #[expect(clippy::cast_possible_truncation, reason = "offset lies between 0 and an i32 length")]
    let offset = offset as i32;
    start + offset.min(length - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{CoordinateSpace, ImagePoint, Rect, ScreenPoint, Size, View};

    #[test]
    fn outside_is_an_error_and_never_a_clamp() {
        let view = View::whole(Size::new(1920, 1080));
        assert_eq!(view.to_screen(ImagePoint::new(0.0, 0.0)), Ok(ScreenPoint::new(0, 0)));
        assert_eq!(view.to_screen(ImagePoint::new(1919.0, 1079.0)), Ok(ScreenPoint::new(1919, 1079)));
        for (x, y) in [(-1.0, 5.0), (5.0, 1081.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0)] {
            assert!(view.to_screen(ImagePoint::new(x, y)).is_err(), "{x},{y}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_program_says_of_its_bounds_has_a_middle_on_a_screen_or_none(
            x in any::<i32>(), y in any::<i32>(), width in any::<i32>(), height in any::<i32>(), near in any::<bool>(),
        ) {
            let (x, y) = if near { (x % 31_000, y % 31_000) } else { (x, y) };
            let bounds = Rect::new(x, y, width, height);
            let on_screen = |at: i32| (-29_999..30_000).contains(&at);
            match bounds.centre() {
                Some(middle) => prop_assert!(on_screen(x) && on_screen(y) && bounds.contains(middle), "{bounds:?}"),
                None => prop_assert!(!(on_screen(x) && on_screen(y) && width > 0 && height > 0), "{bounds:?}"),
            }
        }

        #[test]
        fn a_pixel_survives_the_way_there_and_back(
            x in 0i32..1920, y in 0i32..1080, which in 0u8..3, same_size in any::<bool>(),
        ) {
            let space = match which {
                0 => CoordinateSpace::ImagePixels,
                1 => CoordinateSpace::Grid { max: 1000 },
                _ => CoordinateSpace::Unit,
            };
            let image = if same_size { Size::new(1920, 1080) } else { Size::new(1280, 720) };
            let view = View { region: Rect::new(0, 0, 1920, 1080), image, space };
            let there = view.to_image(ScreenPoint::new(x, y)).expect("inside");
            let back = view.to_screen(there).expect("inside");
            prop_assert!((back.x - x).abs() <= 2 && (back.y - y).abs() <= 2, "{back:?}");
            if same_size && which == 0 {
                prop_assert_eq!(back, ScreenPoint::new(x, y));
            }
        }
    }
}
