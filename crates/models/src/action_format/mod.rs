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

use apprentice_protocol::{Action, Button, CallBody, Chord, Finish, ImagePoint, Target};

pub(crate) use arguments::{Arguments, Meta, chord, milliseconds, node_ref, notches, read_arguments, whole};
pub(crate) use computer::{
    COMPUTER_PROMPT, computer_tool, computer_tool_without_pictures, read_computer, region, repeated,
    scroll_delta,
};
pub(crate) use computer_13::read_computer_13;
pub(crate) use outcome::{pictures, summary, texts};
pub(crate) use page::{DIALOG, PAGE, PAGE_TOOL, dialog_tool, page_tool, read_page};
pub(crate) use pyautogui::read_pyautogui;
pub(crate) use python_calls::{read_python_call, read_python_value};
pub(crate) use ui_tars::{read_ui_tars, ui_tars_calls};

/// The loop's own tool. Most formats have words of their own for it.
pub(crate) const FINISH: &str = "finish";

/// A model's output, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ModelOutput {
    /// Actions, in order.
    Actions(Vec<Action<ImagePoint>>),
    /// The end of the attempt, as the model declares it.
    Finish(Finish),
}

impl ModelOutput {
    /// Converts the result to a call body. A parse error becomes a text for the model.
    pub(crate) fn body(read: Result<Self, String>) -> CallBody {
        match read {
            Ok(Self::Actions(actions)) => CallBody::World { actions },
            Ok(Self::Finish(finish)) => CallBody::Finish(finish),
            Err(problem) => CallBody::Unusable { problem },
        }
    }
}

/// Wraps an action of the pointer in keys that are held meanwhile, if there are any.
pub(crate) fn holding(keys: Option<Chord>, action: Action<ImagePoint>) -> Action<ImagePoint> {
    match keys {
        Some(keys) => Action::Hold { keys, actions: vec![action] },
        None => action,
    }
}

/// Clicks where the pointer is.
pub(crate) fn click_here(button: Button, count: u8, hold: Option<Chord>) -> Vec<Action<ImagePoint>> {
    let once = || [Action::Press { at: None, button }, Action::Release { at: None, button }];
    let actions = (0..count).flat_map(|_| once()).collect();
    match hold {
        Some(keys) => vec![Action::Hold { keys, actions }],
        None => actions,
    }
}

/// Returns the point of an action that has exactly one.
pub(crate) fn target_point(action: &Action<ImagePoint>) -> Option<ImagePoint> {
    match action {
        Action::Click { at: Target::Point(point), .. } | Action::Move { to: Target::Point(point) } => {
            Some(*point)
        }
        _ => None,
    }
}
