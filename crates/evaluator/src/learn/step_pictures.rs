//! Prepares pictures of an attempt for a reviewer that sees: the whole screen, scaled, where an attempt begins, ends or
//! surprises, and parts of it around what was acted on and what changed. Captions name places in pixels of the screen, and
//! the scale of a smaller picture.

use std::collections::BTreeMap;
use std::path::PathBuf;

use apprentice_learning::reflect::{Moment, StepPicture};
use apprentice_pixels::{Area, Frame, PixelError, changed_areas, crop, decode_png, encode_png, resize};
use apprentice_protocol::{
    Action, ActionOutcome, BlobHash, Event, EventKind, Image, ImageBytes, MediaType, Rect, ScreenPoint, Size,
    StepId, Target,
};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE, LEARNING_FOLDER};
use apprentice_trace::{Trace, TraceError, blob_path, hex};
use sha2::{Digest as _, Sha256};

use super::crop_places::{CropPart, CropPlaces};

/// Largest side of a picture, in pixels. Larger ones are scaled.
pub(crate) const PICTURE_SIDE: u32 = 1024;

/// The files of a recorded attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFiles {
    /// The run's folder.
    pub run: PathBuf,
    /// The attempt's folder, relative to the run's.
    pub attempt: PathBuf,
}

impl TraceFiles {
    /// Returns the attempt's folder.
    pub fn folder(&self) -> PathBuf {
        match self.attempt.as_os_str().is_empty() {
            true => self.run.clone(),
            false => self.run.join(&self.attempt),
        }
    }

    /// Returns the path of a learning record of this attempt, beside the run's other ones.
    pub(super) fn learning_file(&self, name: &str) -> PathBuf {
        let parts = self.attempt.components().map(|part| part.as_os_str().to_string_lossy());
        let attempt = parts.collect::<Vec<_>>().join("-");
        self.run.join(LEARNING_FOLDER).join(format!("{name}-{attempt}.json"))
    }
}

/// The reason a picture of an attempt cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A stored picture cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The picture's file.
        path: PathBuf,
        /// The error.
        #[source]
        source: std::io::Error,
    },
    /// A stored picture cannot be processed.
    #[error("cannot process {path}")]
    Pixels {
        /// The picture's file.
        path: PathBuf,
        /// The error.
        #[source]
        source: PixelError,
    },
}

/// Prepares at most `count` pictures of an attempt, in order of precedence: the first and the last view, the views
/// after surprising steps, then crops, first of the steps that changed what the checks read.
pub fn step_pictures(files: &TraceFiles, count: usize) -> Result<Vec<StepPicture>, PictureError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let trace = Trace::read(&files.run.join(&files.attempt).join(EVENTS_FILE))?;
    let mut album = Album { blobs: files.run.join(BLOBS_FOLDER), frames: BTreeMap::new() };
    let looks = looks(&trace.events);
    let mut pictures = Vec::new();
    for wanted in wanted(&looks) {
        pictures.extend(album.pictures(wanted)?);
        if pictures.len() >= count {
            break;
        }
    }
    pictures.truncate(count);
    Ok(pictures)
}

/// Returns the last `count` views of an attempt as whole pictures, scaled, the newest last.
pub(super) fn last_views(files: &TraceFiles, count: usize) -> Result<Vec<StepPicture>, PictureError> {
    let trace = Trace::read(&files.run.join(&files.attempt).join(EVENTS_FILE))?;
    let mut album = Album { blobs: files.run.join(BLOBS_FOLDER), frames: BTreeMap::new() };
    let seen = trace.events.iter().filter_map(|event| match &event.kind {
        EventKind::Observed { screenshot: Some(picture), view, .. } => {
            Some((event.step?, picture, view.region))
        }
        _ => None,
    });
    let mut views: Vec<(StepId, &BlobHash, Rect)> = Vec::new();
    for one in seen {
        // Views of one and the same screen tell nothing new.
        if views.last().is_none_or(|(_, last, _)| *last != one.1) {
            views.push(one);
        }
    }
    let late = views.split_off(views.len().saturating_sub(count));
    let view = |(step, picture, region): (StepId, &BlobHash, Rect)| {
        let frame = album.frame(picture)?;
        let image = album.encoded(&frame, picture)?;
        let shows = caption("the whole screen", region, image.size);
        Ok(StepPicture { step, moment: Moment::Before, shows, image })
    };
    late.into_iter().map(view).collect()
}

/// What is known of a step for its pictures.
#[derive(Clone, Debug, PartialEq)]
struct StepLook {
    step: StepId,
    before: View,
    after: Option<View>,
    points: Vec<ScreenPoint>,
    acted: bool,
    failed: bool,
    changed_checked_state: bool,
}

/// An observation with a picture.
#[derive(Clone, Debug, PartialEq)]
struct View {
    title: String,
    picture: BlobHash,
    region: Rect,
}

/// A picture to be prepared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted<'a> {
    Whole(&'a StepLook, Moment, &'static str),
    Crops(&'a StepLook),
}

impl StepLook {
    /// Returns what is surprising about a step.
    fn surprise(&self) -> Option<&'static str> {
        let after = self.after.as_ref().filter(|_| self.acted)?;
        if self.failed {
            Some("the whole screen; an action failed")
        } else if after.picture == self.before.picture {
            Some("the whole screen; nothing visible changed")
        } else if after.title != self.before.title {
            Some("the whole screen; another window or page is in front")
        } else {
            None
        }
    }
}

/// Reads the steps with their views. A step without a picture before it is left out.
fn looks(events: &[Event]) -> Vec<StepLook> {
    let mut looks: Vec<StepLook> = Vec::new();
    let mut view: Option<View> = None;
    for event in events {
        let Some(step) = event.step else { continue };
        match &event.kind {
            EventKind::Observed { title, screenshot: Some(picture), view: seen, .. } => {
                let now = View { title: title.clone(), picture: picture.clone(), region: seen.region };
                for look in looks.iter_mut().rev().take_while(|look| look.after.is_none()) {
                    look.after = Some(now.clone());
                }
                view = Some(now);
            }
            EventKind::ModelReplied { .. } => {
                looks.extend(view.clone().map(|before| StepLook {
                    step,
                    before,
                    after: None,
                    points: Vec::new(),
                    acted: false,
                    failed: false,
                    changed_checked_state: false,
                }));
            }
            EventKind::Action(record) => {
                if let Some(look) = looks.last_mut().filter(|look| look.step == step) {
                    look.acted = true;
                    look.failed |= !matches!(record.outcome, ActionOutcome::Done { .. });
                    look.points.extend(record.sent.iter().flat_map(points).chain(record.point));
                }
            }
            EventKind::CheckState { changed: true } => {
                looks
                    .iter_mut()
                    .filter(|look| look.step == step)
                    .for_each(|look| look.changed_checked_state = true);
            }
            _ => {}
        }
    }
    looks
}

fn points(action: &Action<ScreenPoint>) -> Vec<ScreenPoint> {
    match action {
        Action::Drag { path, .. } => path.clone(),
        Action::Hold { actions, .. } => actions.iter().flat_map(points).collect(),
        _ => match action.target() {
            Some(Target::Point(point)) => vec![*point],
            Some(Target::Ref(_)) | None => Vec::new(),
        },
    }
}

/// Lists the pictures of an attempt in order of precedence.
fn wanted(looks: &[StepLook]) -> Vec<Wanted<'_>> {
    let mut wanted = Vec::new();
    let whole = "the whole screen";
    wanted.extend(looks.first().map(|first| Wanted::Whole(first, Moment::Before, whole)));
    let last = looks.iter().rev().find(|look| look.after.is_some());
    wanted.extend(last.map(|last| Wanted::Whole(last, Moment::After, whole)));
    let is_last = |look: &&StepLook| last.is_some_and(|last| last.step == look.step);
    let surprising = looks.iter().filter(|look| !is_last(look));
    wanted.extend(surprising.filter_map(|look| Some(Wanted::Whole(look, Moment::After, look.surprise()?))));
    let plain = |look: &&StepLook| look.acted && look.after.is_some() && look.surprise().is_none();
    let (checked, other): (Vec<_>, Vec<_>) =
        looks.iter().filter(plain).partition(|look| look.changed_checked_state);
    wanted.extend(checked.into_iter().chain(other).map(Wanted::Crops));
    wanted
}

/// Stored pictures, decoded once.
struct Album {
    blobs: PathBuf,
    frames: BTreeMap<String, Frame>,
}

impl Album {
    fn path(&self, picture: &BlobHash) -> PathBuf {
        blob_path(&self.blobs, picture, "png")
    }

    fn frame(&mut self, picture: &BlobHash) -> Result<Frame, PictureError> {
        if let Some(frame) = self.frames.get(picture.as_str()) {
            return Ok(frame.clone());
        }
        let path = self.path(picture);
        let bytes = apprentice_files::read(&path)
            .map_err(|source| PictureError::Read { path: path.clone(), source })?;
        let frame = decode_png(&bytes).map_err(|source| PictureError::Pixels { path, source })?;
        // A decoded picture has some megabytes.
        if self.frames.len() > 1 {
            self.frames.clear();
        }
        self.frames.insert(picture.as_str().to_owned(), frame.clone());
        Ok(frame)
    }

    fn pictures(&mut self, wanted: Wanted<'_>) -> Result<Vec<StepPicture>, PictureError> {
        match wanted {
            Wanted::Whole(look, moment, shows) => {
                let view = if moment == Moment::Before { Some(&look.before) } else { look.after.as_ref() };
                let Some(view) = view else { return Ok(Vec::new()) };
                let frame = self.frame(&view.picture)?;
                let image = self.encoded(&frame, &view.picture)?;
                let shows = caption(shows, view.region, image.size);
                Ok(vec![StepPicture { step: look.step, moment, shows, image }])
            }
            Wanted::Crops(look) => self.crops(look),
        }
    }

    /// Returns the parts of a step's two views around what was acted on and what changed, and the whole screen where the parts
    /// would show more.
    fn crops(&mut self, look: &StepLook) -> Result<Vec<StepPicture>, PictureError> {
        let Some(after) = &look.after else { return Ok(Vec::new()) };
        let (one, other) = (self.frame(&look.before.picture)?, self.frame(&after.picture)?);
        let size = Size::new(one.width(), one.height());
        let points = look.points.iter().filter_map(|point| in_picture(*point, look.before.region, size));
        let points: Vec<(u32, u32)> = points.collect();
        let mut pictures = Vec::new();
        let places = match size == Size::new(other.width(), other.height()) {
            true => CropPlaces::of(&points, &changed_areas(&one, &other), size),
            // A part of the one is no part of the other.
            false => CropPlaces { whole: true, parts: Vec::new() },
        };
        if places.whole {
            let image = self.encoded(&other, &after.picture)?;
            let shows = caption("the whole screen; it changed in many places", after.region, image.size);
            pictures.push(StepPicture { step: look.step, moment: Moment::After, shows, image });
        }
        let views = [(Moment::Before, &one, &look.before), (Moment::After, &other, after)];
        for part in &places.parts {
            for (moment, frame, view) in views {
                pictures.extend(self.part(part, frame, view, size)?.map(|(shows, image)| StepPicture {
                    step: look.step,
                    moment,
                    shows,
                    image,
                }));
            }
        }
        Ok(pictures)
    }

    /// Cuts a part out of a view of `size`, with what it shows. `None` if it is of one colour.
    fn part(
        &self,
        part: &CropPart,
        frame: &Frame,
        view: &View,
        size: Size,
    ) -> Result<Option<(String, Image)>, PictureError> {
        let cut = crop(frame, part.area)
            .map_err(|source| PictureError::Pixels { path: self.path(&view.picture), source })?;
        if is_plain(&cut) {
            return Ok(None);
        }
        let image = self.encoded(&cut, &view.picture)?;
        let on_screen = on_screen(part.area, view.region, size);
        let shows = format!(
            "the part of the screen at {},{}, {} by {} pixels, {}",
            on_screen.x,
            on_screen.y,
            on_screen.width,
            on_screen.height,
            part.told()
        );
        let shows = caption(&shows, on_screen, image.size);
        Ok(Some((shows, image)))
    }

    /// Encodes a frame, scaled if it is too large.
    fn encoded(&self, frame: &Frame, picture: &BlobHash) -> Result<Image, PictureError> {
        let size = scaled(Size::new(frame.width(), frame.height()));
        let is_scaled = size.width != frame.width();
        let small = if is_scaled { resize(frame, size.width, size.height).map(Some) } else { Ok(None) };
        let png = small.and_then(|small| encode_png(small.as_ref().unwrap_or(frame)));
        let png = png.map_err(|source| PictureError::Pixels { path: self.path(picture), source })?;
        let hash = BlobHash::new(hex(&Sha256::digest(&png)));
        Ok(Image { hash, size, media: MediaType::Png, bytes: ImageBytes(png.into()) })
    }
}

/// Adds the scale to what a picture shows, if one of its pixels is not one of the screen. `part` is what it shows of the screen.
fn caption(shows: &str, part: Rect, shown: Size) -> String {
    let shown_width = i32::try_from(shown.width).unwrap_or(i32::MAX);
    if part.width == shown_width || part.width <= 0 || shown.width == 0 {
        return shows.to_owned();
    }
    let factor = format!("{:.3}", f64::from(part.width) / f64::from(shown.width));
    format!(
        "{shows}; {} by {} pixels of the screen, shown at {} by {}: a pixel of the picture is {} of the screen",
        part.width,
        part.height,
        shown.width,
        shown.height,
        factor.trim_end_matches('0').trim_end_matches('.')
    )
}

/// Converts an area of a picture of `size` that shows `region` to the area of the screen.
fn on_screen(area: Area, region: Rect, size: Size) -> Rect {
    let along = |at: u32, length: i32, pixels: u32| {
        let at = i64::from(at) * i64::from(length) / i64::from(pixels.max(1));
        i32::try_from(at).unwrap_or(i32::MAX)
    };
    let (x, y) = (along(area.x, region.width, size.width), along(area.y, region.height, size.height));
    let right = along(area.x + area.width, region.width, size.width);
    let bottom = along(area.y + area.height, region.height, size.height);
    Rect::new(region.x + x, region.y + y, right - x, bottom - y)
}

/// Whether a picture is of one colour, and so shows nothing.
fn is_plain(frame: &Frame) -> bool {
    let mut pixels = frame.rgb().chunks_exact(3);
    let first = pixels.next();
    pixels.all(|pixel| Some(pixel) == first)
}

/// Returns the size at which a picture is shown.
fn scaled(size: Size) -> Size {
    let longest = size.width.max(size.height);
    if longest <= PICTURE_SIDE {
        return size;
    }
    let scale = |side: u32| {
        let side = u64::from(side) * u64::from(PICTURE_SIDE) / u64::from(longest);
        u32::try_from(side).unwrap_or(PICTURE_SIDE).max(1)
    };
    Size::new(scale(size.width), scale(size.height))
}

/// Converts a point of the screen to a pixel of a picture of `size` that shows `region`.
pub(super) fn in_picture(point: ScreenPoint, region: Rect, size: Size) -> Option<(u32, u32)> {
    let along = |at: i32, from: i32, length: i32, pixels: u32| {
        let offset = i64::from(at) - i64::from(from);
        let length = i64::from(length);
        (0..length).contains(&offset).then_some(offset * i64::from(pixels) / length)
    };
    let x = along(point.x, region.x, region.width, size.width)?;
    let y = along(point.y, region.y, region.height, size.height)?;
    Some((u32::try_from(x).ok()?, u32::try_from(y).ok()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use apprentice_pixels::{Area, Frame, encode_png};
    use apprentice_protocol::{BlobHash, Rect, ScreenPoint, Size, StepId};
    use apprentice_trace::{Trace, blob_path};
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::{
        Album, Moment, StepLook, View, Wanted, caption, in_picture, is_plain, looks, on_screen, scaled,
        wanted,
    };

    #[test]
    fn captions_name_places_of_the_screen_and_the_scale() {
        let region = Rect::new(0, 0, 1920, 1080);
        assert_eq!(caption("all", region, Size::new(1920, 1080)), "all");
        let scaled = "all; 1920 by 1080 pixels of the screen, shown at 1280 by 720: a pixel of the picture is 1.5 of the \
                      screen";
        assert_eq!(caption("all", region, Size::new(1280, 720)), scaled);
        let part = on_screen(Area { x: 100, y: 200, width: 300, height: 100 }, region, Size::new(1280, 720));
        assert_eq!(part, Rect::new(150, 300, 450, 150), "the recorded picture is smaller than the screen");
    }

    #[test]
    fn a_picture_of_one_colour_shows_nothing() {
        let frame = |last: u8| Frame::from_rgb(2, 1, vec![7, 7, 7, 7, 7, last]).expect("a frame");
        assert!(is_plain(&frame(7)) && !is_plain(&frame(8)));
    }

    #[test]
    fn large_pictures_are_scaled_and_points_go_with_them() {
        assert_eq!(scaled(Size::new(1024, 768)), Size::new(1024, 768));
        assert_eq!(scaled(Size::new(2048, 1000)), Size::new(1024, 500));
        assert_eq!(scaled(Size::new(500, 1025)), Size::new(499, 1024));
        let region = Rect::new(0, 0, 1920, 1080);
        let at = |x, y| in_picture(ScreenPoint::new(x, y), region, Size::new(960, 540));
        assert_eq!((at(0, 0), at(1919, 1079)), (Some((0, 0)), Some((959, 539))));
        assert_eq!((at(1920, 0), at(-1, 0)), (None, None));
    }

    fn look(step: u32, before: &str, after: Option<&str>) -> StepLook {
        let view = |picture: &str| View {
            title: "Sheet".into(),
            picture: BlobHash::new(picture),
            region: Rect::new(0, 0, 10, 10),
        };
        StepLook {
            step: StepId(step),
            before: view(before),
            after: after.map(view),
            points: Vec::new(),
            acted: true,
            failed: false,
            changed_checked_state: false,
        }
    }

    /// Returns what the pictures of a step show, whose view changed at these pixels.
    fn shown(size: Size, after: Size, changed: &[(u32, u32)]) -> Vec<(Moment, String)> {
        let folder = TempDir::new().expect("a folder");
        let write = |name: &str, size: Size, changed: &[(u32, u32)]| {
            let mut bytes: Vec<u8> =
                (0..=250).cycle().take((size.width * size.height * 3) as usize).collect();
            for (x, y) in changed {
                bytes[((y * size.width + x) * 3) as usize] ^= 1;
            }
            let frame = Frame::from_rgb(size.width, size.height, bytes).expect("a frame");
            let path = blob_path(folder.path(), &BlobHash::new(name), "png");
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, encode_png(&frame).expect("encoded")).expect("written");
        };
        write("aaaa", size, &[]);
        write("bbbb", after, changed);
        let mut look = look(1, "aaaa", Some("bbbb"));
        look.points = vec![ScreenPoint::new(900, 20)];
        look.before.region = Rect::new(0, 0, 1000, 600);
        look.after.as_mut().expect("a view").region = Rect::new(0, 0, 1000, 600);
        let mut album = Album { blobs: folder.path().to_owned(), frames: BTreeMap::new() };
        let pictures = album.pictures(Wanted::Crops(&look)).expect("pictures");
        pictures.into_iter().map(|picture| (picture.moment, picture.shows)).collect()
    }

    #[test]
    fn a_status_bar_that_changed_far_from_the_click_is_shown_before_and_after() {
        let size = Size::new(1000, 600);
        let click =
            "the part of the screen at 770,0, 230 by 141 pixels, around what was acted on and what changed";
        let status = "the part of the screen at 0,460, 161 by 140 pixels, around what changed";
        let expected =
            [click, status].map(|shows| [Moment::Before, Moment::After].map(|m| (m, shows.to_owned())));
        assert_eq!(shown(size, size, &[(890, 20), (20, 580), (40, 590)]), expected.concat());
        let whole = (Moment::After, "the whole screen; it changed in many places".to_owned());
        assert_eq!(shown(size, size, &[(10, 10), (10, 590), (500, 10), (500, 590), (990, 590)])[0], whole);
        assert_eq!(
            shown(size, Size::new(500, 300), &[])[0].0,
            Moment::After,
            "views of two sizes have no common part"
        );
    }

    #[test]
    fn an_action_on_an_element_has_its_place() {
        let line = |number: u32, kind: &str, data: &Value| {
            let event = json!({ "v": 1, "id": format!("e{number}"), "wall": "1970-01-01T00:00:00Z",
                "mono_us": 0, "step": "s1", "kind": kind, "data": data });
            format!("{event}\n")
        };
        let view = json!({ "region": { "x": 0, "y": 0, "width": 1000, "height": 600 },
            "image": { "width": 1000, "height": 600 }, "space": "image_pixels" });
        let seen = json!({ "title": "", "focused": null, "screenshot": "a", "outline": null, "took_ms": 1, "view": view });
        let reply = json!({ "raw": [], "say": [], "calls": [], "usage": { "input": 0, "output": 0, "cached": 0 },
            "timing": { "working_ms": 0, "waiting_ms": 0 }, "cost_usd": null, "provider_model": null,
            "request_bytes": 1 });
        let click = json!({ "do": "click", "at": { "ref": "n1" } });
        let acted = json!({ "call": "c1", "index": 0, "asked": click, "sent": click, "point": { "x": 30, "y": 40 },
            "outcome": { "outcome": "done" } });
        let lines = [line(1, "observed", &seen), line(2, "model.replied", &reply), line(3, "action", &acted)];
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("events.jsonl");
        fs::write(&path, lines.concat()).expect("written");
        let events = Trace::read(&path).expect("reads").events;
        assert_eq!(looks(&events)[0].points, [ScreenPoint::new(30, 40)]);
    }

    #[test]
    fn first_and_last_come_first_then_surprises_then_what_the_checks_read() {
        let mut looks = [
            look(1, "a", Some("b")),
            look(2, "b", Some("b")),
            look(3, "b", Some("c")),
            look(4, "c", Some("d")),
            look(5, "d", Some("e")),
            look(6, "e", None),
        ];
        looks[2].changed_checked_state = true;
        looks[3].failed = true;
        let order: Vec<(u32, &str)> = wanted(&looks)
            .iter()
            .map(|one| match one {
                Wanted::Whole(look, Moment::Before, _) => (look.step.0, "whole before"),
                Wanted::Whole(look, Moment::After, _) => (look.step.0, "whole after"),
                Wanted::Crops(look) => (look.step.0, "crops"),
            })
            .collect();
        let expected = [
            (1, "whole before"),
            (5, "whole after"),
            (2, "whole after"),
            (4, "whole after"),
            (3, "crops"),
            (1, "crops"),
            (5, "crops"),
        ];
        assert_eq!(order, expected);
    }
}
