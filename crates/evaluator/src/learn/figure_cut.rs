//! Cuts figures for skills from the pictures of an attempt: the part of a view around a place, with the place marked.

use apprentice_learning::FigureSource;
use apprentice_pixels::{Area, Frame, PixelError, crop, decode_png, encode_png};
use apprentice_protocol::{BlobHash, EventKind, Outline, ScreenPoint, Size, StepId, View};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE};
use apprentice_skillbook::review::{FigureMark, LearningFigure};
use apprentice_skillbook::{MAX_FIGURE_BYTES, NewFigure};
use apprentice_trace::{Trace, blob_path};

use super::step_pictures::{TraceFiles, in_picture};

/// Pixels shown around the marked place, largest first: the first that fits into a figure is taken.
const MARGINS: [u32; 4] = [160, 100, 50, 16];
/// Half the sides of the mark around an element, of which a trace knows only the centre.
const HALF: Size = Size { width: 44, height: 18 };
/// Width of the mark's line, in pixels, and its colour.
const LINE: u32 = 3;
const COLOUR: [u8; 3] = [230, 0, 70];

type Fault = (&'static str, String);

/// The pictures of one attempt, as a source of figures.
#[derive(Debug)]
pub(super) struct TraceFigures<'a>(pub(super) &'a TraceFiles);

/// What the agent saw when it acted in a step.
struct SeenView {
    picture: BlobHash,
    outline: Option<Outline>,
    view: View,
}

impl FigureSource for TraceFigures<'_> {
    fn cut(&self, figure: &LearningFigure) -> Result<NewFigure, Fault> {
        let seen = self.seen(figure.step)?;
        let unknown =
            || ("secret_field", "whether this view shows a field for a secret is not known".to_owned());
        let outline = seen.outline.as_ref().ok_or_else(unknown)?;
        let new = |png| NewFigure { png, alt: figure.alt.clone(), shows_secret: outline.may_show_secret() };
        if outline.may_show_secret() {
            return Ok(new(Vec::new()));
        }
        let path = blob_path(&self.0.run.join(BLOBS_FOLDER), &seen.picture, "png");
        let bytes = apprentice_files::read(&path).map_err(|error| no_picture(&error))?;
        let frame = decode_png(&bytes).map_err(|error| no_picture(&error))?;
        let mark = place(&figure.mark, outline, &seen.view, Size::new(frame.width(), frame.height()))?;
        let mut png = Vec::new();
        for margin in MARGINS {
            png = cut_out(&frame, mark, margin).map_err(|error| no_picture(&error))?;
            if png.len() <= MAX_FIGURE_BYTES {
                break;
            }
        }
        Ok(new(png))
    }
}

fn no_picture(error: &dyn std::fmt::Display) -> Fault {
    ("no_picture", format!("the step's picture cannot be used: {error}"))
}

impl TraceFigures<'_> {
    /// Returns the last view before the model's reply of a step.
    fn seen(&self, step: StepId) -> Result<SeenView, Fault> {
        let trace = Trace::read(&self.0.run.join(&self.0.attempt).join(EVENTS_FILE))
            .map_err(|error| no_picture(&error))?;
        let blobs = self.0.run.join(BLOBS_FOLDER);
        let mut last = None;
        for event in &trace.events {
            match &event.kind {
                EventKind::Observed { screenshot, outline, view, .. } => {
                    last = Some((screenshot, outline, view));
                }
                EventKind::ModelReplied { .. } if event.step == Some(step) => break,
                _ => {}
            }
        }
        let missing = || ("no_picture", "the agent got no picture at this step".to_owned());
        let (Some(picture), outline, view) = last.ok_or_else(missing)? else { return Err(missing()) };
        let text = outline
            .as_ref()
            .and_then(|hash| apprentice_files::read_to_string(blob_path(&blobs, hash, "txt")).ok());
        let outline = text.map(|text| Outline::parse(&text));
        Ok(SeenView { picture: picture.clone(), outline, view: *view })
    }
}

/// Returns the place to mark, in pixels of the picture.
fn place(mark: &FigureMark, outline: &Outline, view: &View, size: Size) -> Result<Area, Fault> {
    let outside = || ("unknown_place", "the place lies outside of the picture".to_owned());
    let node = match mark {
        FigureMark::Rectangle { x, y, width, height } => {
            let (width, height) = (i32::try_from(*width).ok(), i32::try_from(*height).ok());
            let right = width.filter(|width| *width > 0).and_then(|width| x.checked_add(width - 1));
            let bottom = height.filter(|height| *height > 0).and_then(|height| y.checked_add(height - 1));
            let (right, bottom) = (right.ok_or_else(outside)?, bottom.ok_or_else(outside)?);
            let corner = |x, y| in_picture(ScreenPoint::new(x, y), view.region, size).ok_or_else(outside);
            let ((left, top), (right, bottom)) = (corner(*x, *y)?, corner(right, bottom)?);
            return Ok(Area { x: left, y: top, width: right - left + 1, height: bottom - top + 1 });
        }
        FigureMark::Reference { reference } => {
            let name = reference.trim_start_matches('#');
            outline.nodes.iter().find(|node| node.id.0 == name)
        }
        FigureMark::Element { element } => outline.nodes.iter().find(|node| {
            let named = format!("{} {:?}", node.role, node.name);
            named == element.trim() || node.name == element.trim()
        }),
    };
    let at = node.and_then(|node| node.at);
    let at = at.ok_or_else(|| ("unknown_place", "the view of this step has no such element".to_owned()))?;
    let at = view.to_screen(at).ok().and_then(|at| in_picture(at, view.region, size));
    let (x, y) = at.ok_or_else(outside)?;
    Ok(around(x, y, size))
}

/// Returns the area of [`HALF`] the size around a point, within a picture.
fn around(x: u32, y: u32, size: Size) -> Area {
    let (left, top) = (x.saturating_sub(HALF.width), y.saturating_sub(HALF.height));
    let (right, bottom) = ((x + HALF.width).min(size.width), (y + HALF.height).min(size.height));
    Area { x: left, y: top, width: right - left, height: bottom - top }
}

/// Returns the part of a picture around a mark, with a frame around the mark, as a PNG file.
fn cut_out(frame: &Frame, mark: Area, margin: u32) -> Result<Vec<u8>, PixelError> {
    let (left, top) = (mark.x.saturating_sub(margin), mark.y.saturating_sub(margin));
    let right = mark.x.saturating_add(mark.width).saturating_add(margin).min(frame.width());
    let bottom = mark.y.saturating_add(mark.height).saturating_add(margin).min(frame.height());
    let part = crop(frame, Area { x: left, y: top, width: right - left, height: bottom - top })?;
    let inner = Area { x: mark.x - left, y: mark.y - top, ..mark };
    let mut rgb = part.rgb().to_vec();
    let width = part.width() as usize;
    for (place, pixel) in rgb.chunks_exact_mut(3).enumerate() {
        let (x, y) = (u32::try_from(place % width).unwrap_or(0), u32::try_from(place / width).unwrap_or(0));
        if is_on_line(x, y, inner) {
            pixel.copy_from_slice(&COLOUR);
        }
    }
    encode_png(&Frame::from_rgb(part.width(), part.height(), rgb)?)
}

/// Returns whether a pixel lies on the inner edge of an area.
fn is_on_line(x: u32, y: u32, area: Area) -> bool {
    let inside = |left: u32, top: u32, right: u32, bottom: u32| {
        (left..right).contains(&x) && (top..bottom).contains(&y)
    };
    let (right, bottom) = (area.x + area.width, area.y + area.height);
    let hollow =
        inside(area.x + LINE, area.y + LINE, right.saturating_sub(LINE), bottom.saturating_sub(LINE));
    inside(area.x, area.y, right, bottom) && !hollow
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use apprentice_learning::FigureSource as _;
    use apprentice_pixels::{Frame, decode_png, encode_png};
    use apprentice_protocol::StepId;
    use apprentice_skillbook::review::LearningFigure;
    use apprentice_trace::blob_path;
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::{COLOUR, TraceFigures, TraceFiles};

    const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000aa";
    const SHY: &str = "00000000000000000000000000000000000000000000000000000000000000bb";

    fn event(number: u32, step: u32, kind: &str, data: &Value) -> String {
        json!({ "v": 1, "id": format!("e{number}"), "wall": "1970-01-01T00:00:00Z", "mono_us": 0,
            "step": format!("s{step}"), "kind": kind, "data": data })
        .to_string()
    }

    /// An attempt of three steps: a view with a button, one with a password, one without a picture.
    fn attempt() -> TempDir {
        let folder = TempDir::new().expect("a folder");
        let blobs = folder.path().join("blobs");
        let hash = |text: &str| serde_json::from_value(json!(text)).expect("a hash");
        let put = |name: &str, ending: &str, bytes: &[u8]| {
            let path = blob_path(&blobs, &hash(name), ending);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("written");
        };
        let frame = Frame::from_rgb(600, 400, vec![200; 600 * 400 * 3]).expect("a frame");
        put(HASH, "png", &encode_png(&frame).expect("encodes"));
        put(HASH, "txt", b"window \"Picture\" #n1\n  button \"Crop\" @300,200 #n2\n");
        put(SHY, "txt", b"textbox \"Password\" = \"\" [editable] @300,200 #n2\n");
        let seen = |picture: Option<&str>, outline: &str| {
            json!({ "title": "Picture", "focused": null, "screenshot": picture, "outline": outline, "took_ms": 1,
                "view": { "region": { "x": 0, "y": 0, "width": 1200, "height": 800 },
                    "image": { "width": 600, "height": 400 }, "space": "image_pixels" } })
        };
        let reply = json!({ "raw": [], "say": [], "calls": [], "usage": { "input": 0, "output": 0, "cached": 0 },
            "timing": { "working_ms": 0, "waiting_ms": 0 }, "cost_usd": null, "provider_model": null,
            "request_bytes": 1 });
        let lines = [
            event(1, 1, "observed", &seen(Some(HASH), HASH)),
            event(2, 1, "model.replied", &reply),
            event(3, 2, "observed", &seen(Some(HASH), SHY)),
            event(4, 2, "model.replied", &reply),
            event(5, 3, "observed", &seen(None, HASH)),
            event(6, 3, "model.replied", &reply),
        ];
        fs::write(folder.path().join("events.jsonl"), lines.join("\n") + "\n").expect("written");
        folder
    }

    fn cut(folder: &TempDir, step: u32, mark: &Value) -> Result<(bool, Vec<u8>), &'static str> {
        let figure = json!({ "step": StepId(step), "mark": mark, "alt": "The Crop button" });
        let figure: LearningFigure = serde_json::from_value(figure).expect("a figure");
        let files = TraceFiles { run: folder.path().to_owned(), attempt: PathBuf::new() };
        let cut = TraceFigures(&files).cut(&figure);
        cut.map(|figure| (figure.shows_secret, figure.png)).map_err(|(code, _)| code)
    }

    #[test]
    fn a_crop_surrounds_the_place_and_marks_it() {
        let folder = attempt();
        for mark in [json!({ "element": "button \"Crop\"" }), json!({ "reference": "#n2" })] {
            let (secret, png) = cut(&folder, 1, &mark).expect("cut");
            let crop = decode_png(&png).expect("a picture");
            assert!(!secret && (crop.width(), crop.height()) == (408, 356), "{crop:?}");
            assert_eq!(crop.pixel(160, 160), Some(COLOUR), "the mark's corner");
            assert_eq!((crop.pixel(204, 178), crop.pixel(0, 0)), (Some([200; 3]), Some([200; 3])));
        }
        let (_, png) = cut(&folder, 1, &json!({ "x": 0, "y": 0, "width": 40, "height": 20 })).expect("cut");
        let crop = decode_png(&png).expect("a picture");
        assert_eq!(
            (crop.pixel(0, 0), crop.pixel(25, 5)),
            (Some(COLOUR), Some([200; 3])),
            "screen to picture"
        );
    }

    #[test]
    fn what_is_not_there_and_what_shows_a_secret_is_refused() {
        let folder = attempt();
        let button = json!({ "element": "button \"Crop\"" });
        assert_eq!(cut(&folder, 1, &json!({ "element": "button \"Rotate\"" })), Err("unknown_place"));
        assert_eq!(cut(&folder, 1, &json!({ "reference": "n9" })), Err("unknown_place"));
        let outside = json!({ "x": 1190, "y": 0, "width": 20, "height": 20 });
        assert_eq!(cut(&folder, 1, &outside), Err("unknown_place"));
        assert_eq!(
            cut(&folder, 1, &json!({ "x": 0, "y": 0, "width": 0, "height": 9 })),
            Err("unknown_place")
        );
        assert_eq!(cut(&folder, 2, &button), Ok((true, Vec::new())), "nothing of the view leaves the trace");
        assert_eq!(cut(&folder, 3, &button), Err("no_picture"));
    }
}
