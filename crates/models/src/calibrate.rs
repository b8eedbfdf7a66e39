//! Measures how accurately a model points, and in which coordinate space: nine targets, one question each.

use std::sync::Arc;

use apprentice_pixels::{Frame, PixelError, encode_png};
use apprentice_protocol::{
    BlobHash, CallBody, ChatModel, ChatRequest, Content, CoordinateSpace, Image, ImageBytes, ImagePoint,
    ImageRule, MediaType, Message, ModelError, Prompt, Purpose, Rect, ScreenPoint, Size, View, WorldTool,
};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

use super::action_format::target_point;

pub(crate) const PROMPT: Prompt = Prompt::new("calibrate/system", include_str!("prompts/calibrate.md"), &[]);
pub(crate) const QUESTION: Prompt =
    Prompt::new("calibrate/target", include_str!("prompts/calibrate_target.md"), &["colour"]);
/// Half of a target's side, in pixels.
const HALF_SIDE: u32 = 12;
/// The targets' colours: name and RGB value.
const COLOURS: [(&str, [u8; 3]); 9] = [
    ("red", [220, 40, 40]),
    ("green", [40, 170, 60]),
    ("blue", [40, 90, 220]),
    ("yellow", [240, 220, 40]),
    ("purple", [140, 50, 200]),
    ("orange", [250, 140, 20]),
    ("black", [10, 10, 10]),
    ("pink", [255, 150, 190]),
    ("cyan", [40, 210, 220]),
];

/// One target, and the point that the model gave for it.
#[derive(Clone, Debug, PartialEq)]
pub struct PointingSample {
    /// The target's colour.
    pub colour: &'static str,
    /// The target's centre, in pixels of the picture.
    pub middle: ScreenPoint,
    /// The model's point in its own coordinate space; `None` when it gave no point.
    pub point: Option<ImagePoint>,
}

/// The pointing error of a model when its points are read in one coordinate space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceFit {
    /// The coordinate space.
    pub space: CoordinateSpace,
    /// The median distance, in pixels of the picture; infinite when too few points lie inside the picture.
    pub median: f64,
    /// The largest distance, in pixels of the picture.
    pub worst: f64,
}

/// A calibration that failed.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The model takes no pictures.
    #[error("the model's profile says that it takes no pictures")]
    Blind,
    /// The picture could not be encoded.
    #[error("cannot create the picture with targets")]
    Picture(#[from] PixelError),
    /// The request to the model failed.
    #[error("the model could not be asked to point")]
    Model(#[from] ModelError),
}

/// Asks for all nine targets. This costs money: nine pictures and nine short answers.
pub async fn aim(model: &dyn ChatModel, size: Size) -> Result<Vec<PointingSample>, CalibrateError> {
    if model.profile().images == ImageRule::None {
        return Err(CalibrateError::Blind);
    }
    let mut aims = Vec::with_capacity(COLOURS.len());
    for index in 0..COLOURS.len() {
        aims.push(aim_at(model, size, index).await?);
    }
    Ok(aims)
}

/// Asks for one target.
pub(super) async fn aim_at(
    model: &dyn ChatModel,
    size: Size,
    index: usize,
) -> Result<PointingSample, CalibrateError> {
    let picture = picture(size)?;
    let colour = COLOURS[index % COLOURS.len()].0;
    let question = QUESTION.fill(&[("colour", colour)]);
    let request = ChatRequest {
        purpose: Purpose::Calibrate,
        system: PROMPT.text().trim_end().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(question), Content::Image { image: picture }],
        }],
        world: Some(WorldTool { browser: false, display: size }),
        max_output_tokens: model.profile().max_output_tokens,
        ..ChatRequest::default()
    };
    let reply = model.reply(&request).await?;
    let point = reply.calls.iter().find_map(|call| match &call.body {
        CallBody::World { actions } => actions.iter().find_map(target_point),
        CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => None,
    });
    Ok(PointingSample { colour, middle: middle(index, size), point })
}

/// Reads the points in each coordinate space that models use, and returns the fits, best first.
pub fn fits(aims: &[PointingSample], size: Size) -> Vec<SpaceFit> {
    // A grid up to 999 is not tested apart from one up to 1000: they differ by less than a click.
    let spaces = [CoordinateSpace::ImagePixels, CoordinateSpace::Grid { max: 1000 }, CoordinateSpace::Unit];
    let mut fits: Vec<SpaceFit> = spaces.into_iter().map(|space| fit(aims, size, space)).collect();
    fits.sort_by(|one, other| one.median.total_cmp(&other.median).then(one.worst.total_cmp(&other.worst)));
    fits
}

fn fit(aims: &[PointingSample], size: Size, space: CoordinateSpace) -> SpaceFit {
    let view = View { image: size, space, ..View::whole(size) };
    let mut far: Vec<f64> = aims
        .iter()
        .map(|aim| {
            let read = aim.point.and_then(|point| view.to_screen(point).ok());
            read.map_or(f64::INFINITY, |found| {
                f64::from(found.x - aim.middle.x).hypot(f64::from(found.y - aim.middle.y))
            })
        })
        .collect();
    far.sort_by(f64::total_cmp);
    let median = far.get(far.len() / 2).copied().unwrap_or(f64::INFINITY);
    SpaceFit { space, median, worst: far.last().copied().unwrap_or(f64::INFINITY) }
}

/// Returns the centre of a target. Targets stand in three rows of three, off the regular grid, so that a model that
/// guesses a cell's centre is exposed.
fn middle(index: usize, size: Size) -> ScreenPoint {
    let place = |cell: usize, side: u32, shift: i32| {
        let cell = i32::try_from(cell).unwrap_or(0);
        let side = side.cast_signed();
        side * (2 * cell + 1) / 6 + shift
    };
    let shifts = [7, -19, 23, -11, 0, 13, -29, 17, 5];
    let shift = shifts.get(index).copied().unwrap_or(0);
    ScreenPoint::new(place(index % 3, size.width, shift), place(index / 3, size.height, -shift / 2))
}

fn picture(size: Size) -> Result<Image, PixelError> {
    let row = size.width as usize * 3;
    let mut rgb = vec![235u8; row * size.height as usize];
    for (index, (_, colour)) in COLOURS.iter().enumerate() {
        let at = middle(index, size);
        paint(
            &mut rgb,
            row,
            Rect::new(at.x - HALF_SIDE.cast_signed(), at.y - HALF_SIDE.cast_signed(), 25, 25),
            *colour,
        );
    }
    let png = encode_png(&Frame::from_rgb(size.width, size.height, rgb)?)?;
    let hash = hex(&Sha256::digest(&png));
    Ok(Image { hash: BlobHash::new(hash), size, media: MediaType::Png, bytes: ImageBytes(Arc::from(png)) })
}

fn paint(rgb: &mut [u8], row: usize, area: Rect, colour: [u8; 3]) {
    let range = |start: i32, length: i32| {
        let start = usize::try_from(start.max(0)).unwrap_or(0);
        start..start + usize::try_from(length).unwrap_or(0)
    };
    for y in range(area.y, area.height) {
        for x in range(area.x, area.width) {
            if let Some(pixel) = rgb.get_mut(y * row + x * 3..y * row + x * 3 + 3).filter(|_| x * 3 < row) {
                pixel.copy_from_slice(&colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CoordinateSpace, ImagePoint, Size, View};

    use super::{COLOURS, PointingSample, fits, middle, picture};

    const SIZE: Size = Size::new(1288, 728);

    fn aims(space: CoordinateSpace) -> Vec<PointingSample> {
        let view = View { image: SIZE, space, ..View::whole(SIZE) };
        let aim = |(index, (colour, _)): (usize, &(&'static str, [u8; 3]))| {
            let middle = middle(index, SIZE);
            PointingSample { colour, middle, point: view.to_image(middle) }
        };
        COLOURS.iter().enumerate().map(aim).collect()
    }

    #[test]
    fn the_space_in_which_a_model_answers_is_found() {
        for space in
            [CoordinateSpace::ImagePixels, CoordinateSpace::Grid { max: 1000 }, CoordinateSpace::Unit]
        {
            let best = fits(&aims(space), SIZE)[0];
            assert_eq!(best.space, space);
            assert!(best.worst <= 2.0, "{best:?}");
        }
    }

    #[test]
    fn a_model_that_points_nowhere_fits_nothing() {
        let mut nowhere = aims(CoordinateSpace::Unit);
        nowhere.iter_mut().for_each(|aim| aim.point = Some(ImagePoint::new(9e9, 9e9)));
        assert!(fits(&nowhere, SIZE).iter().all(|fit| fit.median.is_infinite()));
    }

    #[test]
    fn targets_stand_apart_on_the_picture() {
        let image = picture(SIZE).expect("a picture");
        assert_eq!(image.size, SIZE);
        for index in 0..COLOURS.len() {
            let at = middle(index, SIZE);
            assert!((40..1248).contains(&at.x) && (40..688).contains(&at.y), "{at:?}");
        }
    }
}
