//! The size at which a model gets a picture.

use crate::{ImageRule, Size};

impl ImageRule {
    /// Returns the size at which a picture of `size` is sent, or `None` when the model takes no pictures.
    pub fn fit(&self, size: Size) -> Option<Size> {
        let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)));
        match *self {
            Self::None => None,
            Self::AsIs => Some(size),
            Self::Within { size: room } => {
                let scale = (f64::from(room.width) / width).min(f64::from(room.height) / height).min(1.0);
                Some(Size::new(whole(width * scale), whole(height * scale)))
            }
            Self::Factor { factor, min_pixels, max_pixels } => {
                let (least, most) = (bound(min_pixels), bound(max_pixels));
                let scale = (most / (width * height)).sqrt().min(1.0);
                let size = Size::new(multiple(width * scale, factor), multiple(height * scale, factor));
                if f64::from(size.width) * f64::from(size.height) >= least {
                    return Some(size);
                }
                let scale = (least / (width * height)).sqrt().max(1.0);
                Some(Size::new(next_multiple(width * scale, factor), next_multiple(height * scale, factor)))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "pixel counts are far below 2^52")]
fn bound(pixels: u64) -> f64 {
    pixels as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn whole(side: f64) -> u32 {
    side.round().max(1.0) as u32
}

/// The largest multiple of `factor` not above `side`, so that the area stays below its upper bound.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn multiple(side: f64, factor: u32) -> u32 {
    let factor = factor.max(1);
    (side.floor() as u32 / factor).max(1) * factor
}

/// The least multiple of `factor` not below `side`, so that the area reaches its lower bound.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture's side, at least 1")]
fn next_multiple(side: f64, factor: u32) -> u32 {
    (side.ceil().max(1.0) as u32).next_multiple_of(factor.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use crate::{ImageRule, Size};

    #[test]
    fn sizes_follow_the_rule() {
        let screen = Size::new(1920, 1080);
        assert_eq!(ImageRule::None.fit(screen), None);
        assert_eq!(ImageRule::AsIs.fit(screen), Some(screen));
        let within = ImageRule::Within { size: Size::new(1280, 1280) };
        assert_eq!(within.fit(screen), Some(Size::new(1280, 720)));
        assert_eq!(within.fit(Size::new(800, 600)), Some(Size::new(800, 600)));
        let factor = ImageRule::Factor { factor: 28, min_pixels: 3136, max_pixels: 1_003_520 };
        assert_eq!(factor.fit(screen), Some(Size::new(1316, 728)));
        // A width of 587.7 holds 20 whole factors, not 21.
        assert_eq!(factor.fit(Size::new(783, 2275)), Some(Size::new(560, 1680)));
        let least = ImageRule::Factor { factor: 28, min_pixels: 78_400, max_pixels: 1_003_520 };
        assert_eq!(least.fit(Size::new(320, 240)), Some(Size::new(336, 252)));
    }

    proptest! {
        #[test]
        fn a_factor_rule_never_passes_its_upper_bound(width in 100u32..4000, height in 100u32..4000) {
            let rule = ImageRule::Factor { factor: 32, min_pixels: 65_536, max_pixels: 1_000_000 };
            let size = rule.fit(Size::new(width, height)).expect("a size");
            prop_assert!(size.width.is_multiple_of(32) && size.height.is_multiple_of(32));
            let area = u64::from(size.width) * u64::from(size.height);
            // A sliver is widened to one factor, whatever its length.
            prop_assert!(area <= 1_000_000 || size.width == 32 || size.height == 32, "{size:?}");
        }
    }
}
