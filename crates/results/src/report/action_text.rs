//! Short descriptions of calls and outcomes, for a person reading a trace.

use apprentice_protocol::{Action, ActionOutcome, Call, CallBody, Finish, ScreenPoint, Target};

/// Describes a call other than an environment action; those have events of their own.
pub(super) fn call(call: &Call) -> Option<String> {
    match &call.body {
        CallBody::World { .. } | CallBody::Finish(_) => None,
        CallBody::Tool { name, arguments } => Some(format!("{name} {arguments}")),
        CallBody::Unusable { problem } => Some(format!("unusable reply: {problem}")),
    }
}

/// Describes the model's finish call.
pub(super) fn finish(finish: &Finish) -> String {
    match finish {
        Finish::Done => "done".into(),
        Finish::Answer { text } => format!("answers {text:?}"),
        Finish::GiveUp { reason } => format!("gives up: {reason}"),
    }
}

/// The outcome of an action: a CSS class and an optional text.
pub(super) fn outcome(outcome: &ActionOutcome) -> (&'static str, Option<String>) {
    match outcome {
        ActionOutcome::Done { text } => ("done", text.clone()),
        ActionOutcome::Failed { problem } => ("failed", Some(problem.clone())),
        ActionOutcome::NotExecuted => ("skipped", Some("not executed".into())),
    }
}

/// The screen points that an action targets.
pub(super) fn points(action: &Action<ScreenPoint>) -> Vec<ScreenPoint> {
    match action {
        Action::Drag { path, .. } => path.clone(),
        Action::Zoom { region } => region.to_vec(),
        Action::Hold { actions, .. } => actions.iter().flat_map(points).collect(),
        other => match other.target() {
            Some(Target::Point(point)) => vec![*point],
            Some(Target::Ref(_)) | None => Vec::new(),
        },
    }
}
