//! What a session keeps of its steps, so that another can repeat them, and how the two compare.

use std::sync::Arc;

use apprentice_protocol::{ActReport, Delivery};
use serde::Serialize;

use super::step_body::SessionStep;
use crate::step::StepReply;

/// Most bytes of outlines that an episode keeps. Later screens are compared by their titles alone.
const MAX_OUTLINE_BYTES: usize = 4 << 20;
/// Most differences that are told.
const MAX_DIFFERENCES: usize = 20;

/// A screen, as far as two are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    title: String,
    dialog: Option<String>,
    outline: Option<Arc<str>>,
}

impl Screen {
    pub(crate) fn of(reply: &StepReply) -> Self {
        let outline = reply.outline.as_deref().map(Arc::from);
        Self { title: reply.title.clone(), dialog: reply.dialog.clone(), outline }
    }

    /// How another screen differs, in words.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.title != other.title {
            found.push(format!("the title was {:?} and is {:?}", self.title, other.title));
        }
        if self.dialog != other.dialog {
            found.push("the open dialog is another".to_owned());
        }
        if let (Some(then), Some(now)) = (&self.outline, &other.outline) {
            let (then, now): (Vec<_>, Vec<_>) = (then.lines().collect(), now.lines().collect());
            let gone = then.iter().filter(|line| !now.contains(line)).map(|line| format!("gone: {line}"));
            let new = now.iter().filter(|line| !then.contains(line)).map(|line| format!("new: {line}"));
            found.extend(gone.chain(new).take(MAX_DIFFERENCES));
        }
        found
    }
}

/// A step that was carried out.
#[derive(Clone, Debug)]
pub(crate) struct PlayedStep {
    pub(crate) asked: SessionStep,
    /// The place of the action that was refused.
    refused: Option<usize>,
    screen: Screen,
}

/// Where a session comes from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForkedFrom {
    pub(crate) session: String,
    pub(crate) step: usize,
    pub(crate) same_screen: bool,
    pub(crate) differences: Vec<String>,
}

impl PlayedStep {
    pub(crate) fn of(asked: &SessionStep, reports: &[ActReport], screen: &Screen, before: &[Self]) -> Self {
        let size = |screen: &Screen| screen.outline.as_ref().map_or(0, |text| text.len());
        let kept: usize = before.iter().map(|step| size(&step.screen)).sum();
        let mut screen = screen.clone();
        if kept + size(&screen) > MAX_OUTLINE_BYTES {
            screen.outline = None;
        }
        let refused = reports.iter().position(|report| report.delivery != Delivery::Delivered);
        Self { asked: asked.clone(), refused, screen }
    }

    /// How a repetition differs, in words.
    pub(crate) fn differences(&self, number: usize, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.refused != other.refused {
            let told = |refused: Option<usize>| match refused {
                Some(at) => format!("action {at} was refused"),
                None => "no action was refused".to_owned(),
            };
            found.push(format!("step {number}: {} then, {} now", told(self.refused), told(other.refused)));
        }
        found.extend(
            self.screen.differences(&other.screen).into_iter().map(|text| format!("step {number}: {text}")),
        );
        found.truncate(MAX_DIFFERENCES);
        found
    }
}
