//! Action formats: the notations in which models write their actions. Several providers share a format, so formats are
//! separate from the adapters and do not depend on how a request is sent.

mod arguments;
mod computer;
mod computer_13;
mod outcome;
mod page;
mod pyautogui;
mod python_calls;
mod ui_tars;

use apprentice_protocol::{Action, CallBody, Finish, ImagePoint, Target};

pub(crate) use arguments::{Arguments, chord, milliseconds, node_ref, notches, whole};
pub(crate) use computer::{COMPUTER, computer_tool, read_computer, region, repeated, towards};
pub(crate) use computer_13::read_flat;
pub(crate) use outcome::{pictures, summary, texts};
pub(crate) use page::{PAGE, PAGE_TOOL, page_tool, read_page};
pub(crate) use pyautogui::read_python;
pub(crate) use ui_tars::read_boxes;

/// A model's output, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spoken {
    /// Actions, in order.
    Acts(Vec<Action<ImagePoint>>),
    /// The end of the attempt, as the model declares it.
    Finish(Finish),
}

impl Spoken {
    /// Converts the result to a call body. A parse error becomes a text for the model.
    pub(crate) fn body(read: Result<Self, String>) -> CallBody {
        match read {
            Ok(Self::Acts(actions)) => CallBody::World { actions },
            Ok(Self::Finish(finish)) => CallBody::Finish(finish),
            Err(problem) => CallBody::Unusable { problem },
        }
    }
}

/// Returns the point of an action that has exactly one.
pub(crate) fn pointed(action: &Action<ImagePoint>) -> Option<ImagePoint> {
    match action {
        Action::Click { at: Target::Point(point), .. } | Action::Move { to: Target::Point(point) } => {
            Some(*point)
        }
        _ => None,
    }
}
