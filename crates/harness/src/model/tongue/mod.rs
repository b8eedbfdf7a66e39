//! Forms in which models say what they want to do. Several providers and students share a form, so the forms stand
//! apart from the adapters; none of them knows how a request travels.

mod arguments;
mod boxes;
mod computer;
mod flat;
mod outcome;
mod page;
mod python;
mod script;

use apprentice_protocol::{Action, CallBody, Finish, ImagePoint, Target};

pub(crate) use arguments::{Arguments, chord, milliseconds, node_ref, notches, whole};
pub(crate) use boxes::read_boxes;
pub(crate) use computer::{COMPUTER, computer_tool, read_computer, region, repeated, towards};
pub(crate) use flat::read_flat;
pub(crate) use outcome::{pictures, summary, texts};
pub(crate) use page::{PAGE, PAGE_TOOL, page_tool, read_page};
pub(crate) use python::read_python;

/// What a model said, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spoken {
    /// Actions, in order.
    Acts(Vec<Action<ImagePoint>>),
    /// That it is finished.
    Finish(Finish),
}

impl Spoken {
    /// The call's body; what could not be read is told to the model in words.
    pub(crate) fn body(read: Result<Self, String>) -> CallBody {
        match read {
            Ok(Self::Acts(actions)) => CallBody::World { actions },
            Ok(Self::Finish(finish)) => CallBody::Finish(finish),
            Err(problem) => CallBody::Unusable { problem },
        }
    }
}

/// The point of an action that points at one place.
pub(crate) fn pointed(action: &Action<ImagePoint>) -> Option<ImagePoint> {
    match action {
        Action::Click { at: Target::Point(point), .. } | Action::Move { to: Target::Point(point) } => {
            Some(*point)
        }
        _ => None,
    }
}
