//! What was on the screen at one moment, and where acts fell on it.

use apprentice_protocol::{Action, ActionRecord, BlobHash, EventKind, Rect, ScreenPoint, Target, View};
use serde::Serialize;

/// One observation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Screen {
    pub(crate) title: String,
    pub(crate) focused: Option<String>,
    pub(crate) screenshot: Option<BlobHash>,
    pub(crate) outline: Option<BlobHash>,
    /// The text as the model got it, where it differs from the outline.
    pub(crate) shown: Option<BlobHash>,
    #[serde(skip)]
    region: Rect,
}

/// Where an act fell, in percent of the screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Screen {
    /// Reads an observation; `None` for other events.
    pub(crate) fn of(kind: &EventKind) -> Option<Self> {
        let EventKind::Observed { title, focused, screenshot, outline, shown, view, .. } = kind else {
            return None;
        };
        let View { region, .. } = *view;
        Some(Self {
            title: title.clone(),
            focused: focused.clone(),
            screenshot: screenshot.clone(),
            outline: outline.clone(),
            shown: shown.clone(),
            region,
        })
    }

    /// The marks of an act: one for a click, several for a drag. Points outside of the picture have none.
    pub(crate) fn marks(&self, record: &ActionRecord) -> Vec<Mark> {
        let own = record.sent.as_ref().map(points).unwrap_or_default();
        let aimed = if own.is_empty() { record.point.into_iter().collect() } else { own };
        aimed.into_iter().filter_map(|point| self.mark(point)).collect()
    }

    fn mark(&self, point: ScreenPoint) -> Option<Mark> {
        if !self.region.contains(point) {
            return None;
        }
        let share = |at: i32, start: i32, length: i32| {
            (f64::from(at - start) / f64::from(length.max(1)) * 10_000.0).round() / 100.0
        };
        Some(Mark {
            x: share(point.x, self.region.x, self.region.width),
            y: share(point.y, self.region.y, self.region.height),
        })
    }
}

fn points(action: &Action<ScreenPoint>) -> Vec<ScreenPoint> {
    match action {
        Action::Drag { path, .. } => path.clone(),
        Action::Zoom { region } => region.to_vec(),
        Action::Hold { actions, .. } => actions.iter().flat_map(points).collect(),
        _ => match action.target() {
            Some(Target::Point(point)) => vec![*point],
            Some(Target::Ref(_)) | None => Vec::new(),
        },
    }
}
