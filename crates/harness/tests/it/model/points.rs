//! The way of a point: from a student's words to the pixel that is clicked, for every profile and any screen.

use apprentice_models::compat::StudentProfile;
use apprentice_protocol::{CoordinateSpace, ImagePoint, ImageRule, ScreenPoint, Size, View};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

/// What the students' own processors do to a picture before they look at it, as `transformers` has it.
fn smart_resize(size: Size, factor: u32, least: u64, most: u64) -> Size {
    let (width, height) = (f64::from(size.width), f64::from(size.height));
    let unit = f64::from(factor);
    let whole = |side: f64| (side / unit).round_ties_even() * unit;
    #[expect(clippy::cast_precision_loss, reason = "pixel counts")]
    let (least, most) = (least as f64, most as f64);
    let (mut wide, mut high) = (whole(width), whole(height));
    if wide * high > most {
        let scale = (width * height / most).sqrt();
        wide = unit.max((width / scale / unit).floor() * unit);
        high = unit.max((height / scale / unit).floor() * unit);
    } else if wide * high < least {
        let scale = (least / (width * height)).sqrt();
        wide = (width * scale / unit).ceil() * unit;
        high = (height * scale / unit).ceil() * unit;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a side of a picture")]
    Size::new(wide as u32, high as u32)
}

fn profiles() -> impl Iterator<Item = StudentProfile> {
    StudentProfile::names().map(|name| StudentProfile::load(name).expect("is sound"))
}

proptest! {
    /// A student that resizes once more finds nothing to do, so that its pixels are ours.
    #[test]
    fn a_students_own_resize_leaves_our_pictures_as_they_are(width in 320u32..4000, height in 240u32..3000) {
        for student in profiles() {
            let ImageRule::Factor { factor, min_pixels, max_pixels } = student.images else { continue };
            let sent = student.images.fit(Size::new(width, height)).expect("a size");
            prop_assert_eq!(smart_resize(sent, factor, min_pixels, max_pixels), sent, "{}", student.name);
        }
    }

    /// A student that points at what it sees hits it: within a grid's line, or a pixel of the picture that it saw.
    #[test]
    fn a_point_at_a_pixel_comes_back_to_it(
        width in 320u32..12_000, height in 240u32..3000, across in 0.0f64..1.0, down in 0.0f64..1.0,
    ) {
        let screen = Size::new(width, height);
        #[expect(clippy::cast_possible_truncation, reason = "a pixel of a screen")]
        let pixel = |share: f64, side: u32| (share * f64::from(side)) as i32;
        let aim = ScreenPoint::new(pixel(across, width), pixel(down, height));
        for student in profiles() {
            let Some(image) = student.images.fit(screen) else { continue };
            let view = View { image, space: student.space, ..View::whole(screen) };
            let said = view.to_image(aim).expect("on the screen");
            let hit = view.to_screen(said).expect("in the picture");
            let lines = |side: u32| match student.space {
                CoordinateSpace::ImagePixels => side,
                CoordinateSpace::Grid { max } => max,
                CoordinateSpace::Unit => u32::MAX,
            };
            // One line of the model's space covers so many pixels of the screen.
            let slack = |side: u32, sent: u32| i64::from(side.div_ceil(lines(sent))) + 1;
            let off = |one: i32, other: i32| i64::from(one.abs_diff(other));
            prop_assert!(off(hit.x, aim.x) <= slack(width, image.width), "{}: {hit:?} for {aim:?}", student.name);
            prop_assert!(off(hit.y, aim.y) <= slack(height, image.height), "{}: {hit:?} for {aim:?}", student.name);
        }
    }

    /// Pictures of several monitors are made much smaller for vendors' models. A point at a pixel still comes back to it.
    #[test]
    fn a_point_on_a_wide_screen_comes_back_to_it(
        width in 2000u32..=30_000, height in 128u32..3000, across in 0.0f64..1.0, down in 0.0f64..1.0,
    ) {
        let screen = Size::new(width, height);
        #[expect(clippy::cast_possible_truncation, reason = "a pixel of a screen")]
        let pixel = |share: f64, side: u32| (share * f64::from(side)) as i32;
        let aim = ScreenPoint::new(pixel(across, width), pixel(down, height));
        let image = ImageRule::Within { size: Size::new(1280, 720) }.fit(screen).expect("a size");
        for space in [CoordinateSpace::ImagePixels, CoordinateSpace::Grid { max: 1000 }] {
            let view = View { image, space, ..View::whole(screen) };
            let hit = view.to_screen(view.to_image(aim).expect("on the screen")).expect("in the picture");
            let (right, bottom) = view.extent();
            let off = |one: i32, other: i32| f64::from(one.abs_diff(other));
            prop_assert!(off(hit.x, aim.x) <= f64::from(width) / right + 1.0, "{hit:?} for {aim:?}");
            prop_assert!(off(hit.y, aim.y) <= f64::from(height) / bottom + 1.0, "{hit:?} for {aim:?}");
        }
    }

    /// Whatever a student says, what is clicked lies on the screen, or nothing is.
    #[test]
    fn no_point_leaves_the_screen(x in -10.0f64..5000.0, y in -10.0f64..5000.0, scale in 0.0f64..1.0) {
        let screen = Size::new(1920, 1080);
        for student in profiles() {
            let Some(image) = student.images.fit(screen) else { continue };
            let view = View { image, space: student.space, ..View::whole(screen) };
            for point in [ImagePoint::new(x, y), ImagePoint::new(x * scale, y * scale)] {
                if let Ok(hit) = view.to_screen(point) {
                    prop_assert!(view.region.contains(hit), "{}: {hit:?}", student.name);
                }
            }
        }
    }
}
