//! Short descriptions of actions and calls, for a person reading a trace.

use std::fmt::Display;

use apprentice_protocol::{
    Action, ActionOutcome, Button, Call, CallBody, Finish, History, ImagePoint, ScreenPoint, TabAction,
    Target,
};

fn place(target: &Target<ImagePoint>) -> String {
    match target {
        Target::Point(point) => format!("at {:.0}, {:.0}", point.x, point.y),
        Target::Ref(node) => format!("on #{node}"),
    }
}

fn maybe(target: Option<&Target<ImagePoint>>) -> String {
    target.map_or_else(|| "where the pointer is".into(), place)
}

fn with(button: Button) -> &'static str {
    match button {
        Button::Left => "",
        Button::Middle => "middle ",
        Button::Right => "right ",
    }
}

fn held(chord: Option<&impl Display>) -> String {
    chord.map(|chord| format!(" holding {chord}")).unwrap_or_default()
}

/// Describes an action as the model requested it.
pub(super) fn action(action: &Action<ImagePoint>) -> String {
    match action {
        Action::Click { at, button, count, hold } => {
            let times = match count {
                1 => String::new(),
                2 => "double ".into(),
                more => format!("{more}-fold "),
            };
            format!("{times}{}click {}{}", with(*button), place(at), held(hold.as_ref()))
        }
        Action::Move { to } => format!("move {}", place(to)),
        Action::Press { at, button } => format!("{}press {}", with(*button), maybe(at.as_ref())),
        Action::Release { at, button } => format!("{}release {}", with(*button), maybe(at.as_ref())),
        Action::Drag { path, button } => {
            let point = |point: Option<&ImagePoint>| {
                point.map(|point| format!("{:.0}, {:.0}", point.x, point.y)).unwrap_or_default()
            };
            format!("{}drag from {} to {}", with(*button), point(path.first()), point(path.last()))
        }
        Action::Scroll { at, dx, dy } => format!("scroll {dx} across, {dy} down {}", maybe(at.as_ref())),
        Action::Type { text } => format!("type {text:?}"),
        Action::Key { chord, hold_ms } => {
            format!("key {chord}{}", hold_ms.map(|ms| format!(" for {ms} ms")).unwrap_or_default())
        }
        Action::Wait { ms } => format!("wait {ms} ms"),
        Action::Screenshot => "screenshot".into(),
        Action::Zoom { region: [from, to] } => {
            format!("zoom to {:.0}, {:.0} – {:.0}, {:.0}", from.x, from.y, to.x, to.y)
        }
        Action::Select { at, option } => format!("select {option:?} {}", place(at)),
        Action::Navigate { url } => format!("open {url}"),
        Action::History { go } => match go {
            History::Back => "go back".into(),
            History::Forward => "go forward".into(),
            History::Reload => "reload".into(),
        },
        Action::Tab { tab } => match tab {
            TabAction::Open { url } => format!("open tab {}", url.as_deref().unwrap_or_default()),
            TabAction::Switch { id } => format!("switch to tab {id}"),
            TabAction::Close { id } => format!("close tab {id}"),
        },
        Action::Dialog { accept, text } => {
            let answer = if *accept { "accept" } else { "dismiss" };
            let text = text.as_ref().map(|text| format!(" with {text:?}")).unwrap_or_default();
            format!("{answer} the dialog{text}")
        }
    }
}

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
    let of = |target: Option<&Target<ScreenPoint>>| match target {
        Some(Target::Point(point)) => vec![*point],
        Some(Target::Ref(_)) | None => Vec::new(),
    };
    match action {
        Action::Click { at, .. } | Action::Select { at, .. } => of(Some(at)),
        Action::Move { to } => of(Some(to)),
        Action::Press { at, .. } | Action::Release { at, .. } | Action::Scroll { at, .. } => of(at.as_ref()),
        Action::Drag { path, .. } => path.clone(),
        Action::Zoom { region } => region.to_vec(),
        Action::Type { .. }
        | Action::Key { .. }
        | Action::Wait { .. }
        | Action::Screenshot
        | Action::Navigate { .. }
        | Action::History { .. }
        | Action::Tab { .. }
        | Action::Dialog { .. } => Vec::new(),
    }
}
