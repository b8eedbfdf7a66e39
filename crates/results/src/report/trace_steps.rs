//! Folds a trace's events into the contents of its page: a header, and one card per turn.

use apprentice_protocol::{
    ActionDetail, ActionRecord, BlobHash, CallResult, ConnectionOutcome, ConnectionReport, Content, Event,
    EventKind, FunctionEnd, FunctionRecord, Judged, ScreenPoint, SkillEvent, View,
};
use serde::Serialize;

use super::action_text;

/// Facts about the attempt as a whole.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct TraceHeader {
    pub(super) task: String,
    pub(super) instruction: String,
    pub(super) model: String,
    pub(super) program: String,
    pub(super) seed: Option<u64>,
    pub(super) began: String,
    pub(super) judged: Option<Judged>,
    pub(super) stopped: Option<Stopped>,
}

/// The end of the attempt.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Stopped {
    word: String,
    detail: String,
    world_steps: u32,
    turns: u32,
    input: u64,
    output: u64,
}

/// What the model observed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ShownObservation {
    pub(super) title: String,
    pub(super) focused: Option<String>,
    pub(super) screenshot: Option<BlobHash>,
    pub(super) outline: Option<BlobHash>,
    pub(super) marks: Vec<ClickMark>,
    #[serde(skip)]
    view: View,
}

/// Position of an action, in percent of the screenshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ClickMark {
    x: f64,
    y: f64,
    number: usize,
}

/// One entry of a card.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Item {
    event: String,
    class: &'static str,
    label: String,
    /// A short note shown beside the label.
    note: Option<String>,
    /// A long text, collapsed by default.
    text: Option<String>,
}

/// One turn of the model, or what happened before the first turn.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Card {
    pub(super) title: String,
    pub(super) at: String,
    pub(super) sight: Option<ShownObservation>,
    pub(super) say: Vec<String>,
    pub(super) usage: Option<String>,
    pub(super) items: Vec<Item>,
    #[serde(skip)]
    actions: usize,
}

/// A folded trace.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Steps {
    pub(super) head: TraceHeader,
    pub(super) cards: Vec<Card>,
    /// The final observation, if one was made after the last turn.
    pub(super) last: Option<ShownObservation>,
}

impl Steps {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut steps =
            Self { cards: vec![Card { title: "World".into(), ..Card::default() }], ..Self::default() };
        events.iter().for_each(|event| steps.take(event));
        steps.cards.retain(|card| !card.items.is_empty() || card.sight.is_some() || !card.say.is_empty());
        steps
    }

    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Started(header) => {
                self.head.task = header.brief.id.to_string();
                self.head.instruction.clone_from(&header.brief.instruction);
                self.head.model.clone_from(&header.model.name);
                self.head.program.clone_from(&header.program);
                self.head.seed = header.seed;
                self.head.began = event.wall.to_string();
            }
            EventKind::Observed { title, focused, screenshot, outline, view, .. } => {
                self.last = Some(ShownObservation {
                    title: title.clone(),
                    focused: focused.clone(),
                    screenshot: screenshot.clone(),
                    outline: outline.clone(),
                    marks: Vec::new(),
                    view: *view,
                });
            }
            EventKind::ModelReplied { .. } => self.turn(event),
            EventKind::Action(record) => self.act(event, record),
            EventKind::Stopped { reason, void, detail, spent } => {
                let word = reason.map(word).or_else(|| void.map(|cause| format!("void: {}", word(cause))));
                self.head.stopped = Some(Stopped {
                    word: word.unwrap_or_default().replace('_', " "),
                    detail: detail.clone(),
                    world_steps: spent.world_steps,
                    turns: spent.turns,
                    input: spent.tokens.input,
                    output: spent.tokens.output,
                });
            }
            EventKind::Judged(judged) => self.head.judged = Some(judged.clone()),
            other => {
                if let Some((class, label, note, text)) = other_event(other) {
                    self.push(event, Item { event: String::new(), class, label, note, text });
                }
            }
        }
    }

    /// Opens the card of a turn with the last observation, which the model saw.
    fn turn(&mut self, event: &Event) {
        let EventKind::ModelReplied { say, thoughts, calls, usage, cost_usd, .. } = &event.kind else {
            return;
        };
        let cost = cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
        self.cards.push(Card {
            title: event.step.map_or_else(|| "Turn".into(), |step| format!("Step {}", step.0)),
            at: format!("{:.1} s", std::time::Duration::from_micros(event.mono_us).as_secs_f64()),
            sight: self.last.take(),
            say: thoughts
                .iter()
                .map(|thought| format!("Thought: {thought}"))
                .chain(say.iter().cloned())
                .collect(),
            usage: Some(format!("{} tokens in, {} out{cost}", usage.input, usage.output)),
            ..Card::default()
        });
        for label in calls.iter().filter_map(action_text::call) {
            self.push(event, Item { event: String::new(), class: "call", label, note: None, text: None });
        }
    }

    fn act(&mut self, event: &Event, record: &ActionRecord) {
        let (class, note) = action_text::outcome(&record.outcome);
        let named = |word: &Option<String>| word.clone().filter(|word| !word.is_empty());
        let target = match (named(&record.target_role), named(&record.target_name)) {
            (Some(role), Some(name)) => format!(" · {role} “{name}”"),
            (Some(word), None) | (None, Some(word)) => format!(" · {word}"),
            (None, None) => String::new(),
        };
        if let Some(card) = self.cards.last_mut() {
            card.actions += 1;
            let (number, sent) = (card.actions, record.sent.as_ref());
            let points = sent.map(action_text::points).unwrap_or_default();
            if let Some(sight) = &mut card.sight {
                let view = sight.view;
                sight.marks.extend(points.into_iter().filter_map(|point| mark(&view, point, number)));
            }
        }
        let label = format!("{}{target}", record.asked.text(ActionDetail::Full));
        self.push(event, Item { event: String::new(), class, label, note, text: None });
    }

    fn push(&mut self, event: &Event, item: Item) {
        if let Some(card) = self.cards.last_mut() {
            card.items.push(Item { event: event.id.to_string(), ..item });
        }
    }
}

fn mark(view: &View, point: ScreenPoint, number: usize) -> Option<ClickMark> {
    if !view.region.contains(point) {
        return None;
    }
    let share = |value: i32, start: i32, length: i32| {
        (f64::from(value - start) / f64::from(length) * 1000.0).round() / 10.0
    };
    let x = share(point.x, view.region.x, view.region.width);
    let y = share(point.y, view.region.y, view.region.height);
    Some(ClickMark { x, y, number })
}

fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// CSS class, label, short note and long text.
type EventView = (&'static str, String, Option<String>, Option<String>);

/// One event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The class of the event: `world`, `done`, `failed`, `notice`, `skill`, `finish` or `unknown`.
    pub class: &'static str,
    /// The event in one line.
    pub label: String,
    /// A short note to be shown beside the label.
    pub note: Option<String>,
    /// A long text.
    pub text: Option<String>,
}

/// Renders an event that is neither part of a turn itself nor of the attempt's head and end; `None` for those.
pub fn event_line(kind: &EventKind) -> Option<EventLine> {
    other_event(kind).map(|(class, label, note, text)| EventLine { class, label, note, text })
}

/// The hosts that programs of the world asked for, and what became of it.
fn connections(report: &ConnectionReport) -> String {
    let mut connections: Vec<String> = Vec::new();
    for asked in &report.connections {
        let what = match &asked.outcome {
            ConnectionOutcome::Connected { .. } => String::new(),
            ConnectionOutcome::Refused { .. } => " (refused)".to_owned(),
            ConnectionOutcome::Failed { why } => format!(" (failed: {why})"),
        };
        let line = format!("{}:{}{what}", asked.host, asked.port);
        if !connections.contains(&line) {
            connections.push(line);
        }
    }
    format!("network: {}; {} bytes sent, {} received", connections.join(", "), report.sent, report.received)
}

/// Renders events that belong neither to the header nor to a turn itself.
fn other_event(kind: &EventKind) -> Option<EventView> {
    match kind {
        EventKind::WorldOpened { isolation, took_ms } => Some((
            "world",
            format!("world opened ({})", word(isolation)),
            Some(format!("{took_ms} ms")),
            None,
        )),
        EventKind::SetupDone { step, took_ms, .. } => {
            Some(("world", format!("setup: {step}"), Some(format!("{took_ms} ms")), None))
        }
        EventKind::VersionsSeen { versions } => {
            let told = |(app, version): (&String, &Option<String>)| {
                format!("{app} {}", version.as_deref().unwrap_or("unknown"))
            };
            let listed: Vec<String> = versions.iter().map(told).collect();
            Some(("world", format!("versions: {}", listed.join(", ")), None, None))
        }
        EventKind::WorldClosed { took_ms, killed } => {
            let how = if *killed { "world killed" } else { "world closed" };
            Some(("world", how.into(), Some(format!("{took_ms} ms")), None))
        }
        EventKind::Connections(report) => Some(("world", connections(report), None, None)),
        EventKind::ToolCalled { name, is_error, took_ms, .. } => Some(tool(name, *is_error, *took_ms)),
        EventKind::FunctionCalled { record, .. } => Some(function(record)),
        EventKind::CallAnswered(result) => answer(result),
        EventKind::Skill(skill) => Some(skill_event(skill)),
        EventKind::Notice { content } => Some(notice(content)),
        EventKind::LoopSuspected { repeats } => {
            Some(("failed", format!("the same actions on the same screen, {repeats} times"), None, None))
        }
        EventKind::HistoryTrimmed { .. } | EventKind::PicturesLeftOut { .. } => history_event(kind),
        EventKind::RequestAdapted { what } => Some(("notice", what.clone(), None, None)),
        EventKind::AdviceAsked(asked) => Some((
            "skill",
            format!("asked whether advice fits its task: {}", asked.say.join(" ")),
            None,
            None,
        )),
        EventKind::Person(person) => Some(("notice", person.in_words(), None, None)),
        EventKind::CheckState { changed } => {
            changed.then(|| ("notice", "something that the checks read changed".into(), None, None))
        }
        EventKind::TurnStarted(_) | EventKind::TurnEnded { .. } => turn_event(kind),
        EventKind::Finished(finish) => Some(("finish", action_text::finish(finish), None, None)),
        EventKind::Unknown { kind, data } => Some(("unknown", kind.clone(), None, Some(data.clone()))),
        EventKind::Started(_)
        | EventKind::Observed { .. }
        | EventKind::ModelAsked { .. }
        | EventKind::ModelReplied { .. }
        | EventKind::Action(_)
        | EventKind::Stopped { .. }
        | EventKind::Judged(_) => None,
    }
}

/// What was left out of the history.
fn history_event(kind: &EventKind) -> Option<EventView> {
    match kind {
        EventKind::HistoryTrimmed { pictures, texts, before_tokens, after_tokens, limit_tokens } => Some((
            "notice",
            format!("{pictures} old screenshots and {texts} old texts removed from the history"),
            Some(format!("about {before_tokens} tokens, now {after_tokens} of {limit_tokens}")),
            None,
        )),
        EventKind::PicturesLeftOut { left_out, kept, why } => Some((
            "notice",
            format!("{left_out} old screenshots removed from the history; {kept} stay"),
            Some(why.clone()),
            None,
        )),
        _ => None,
    }
}

/// The beginning or the end of a turn of a session.
fn turn_event(kind: &EventKind) -> Option<EventView> {
    match kind {
        EventKind::TurnStarted(start) => Some((
            "notice",
            format!("turn {}: the person says", start.turn),
            Some(start.instruction.clone()),
            None,
        )),
        EventKind::TurnEnded { turn, detail, .. } => {
            Some(("notice", format!("turn {turn} ended: {detail}"), None, None))
        }
        _ => None,
    }
}

/// The result of a tool call; results of environment actions are shown as the next card's observation.
fn answer(result: &CallResult) -> Option<EventView> {
    let text = text_of(&result.content);
    if !result.per_action.is_empty() || text.is_empty() {
        return None;
    }
    let class = if result.is_error { "failed" } else { "notice" };
    Some((class, "tool result".into(), None, Some(text)))
}

fn notice(content: &[Content]) -> EventView {
    let text = Some(text_of(content)).filter(|text| !text.is_empty());
    ("notice", "notice to the model".into(), None, text)
}

fn tool(name: &str, is_error: bool, took_ms: u64) -> EventView {
    let class = if is_error { "failed" } else { "done" };
    (class, format!("{name} returned"), Some(format!("{took_ms} ms")), None)
}

fn function(record: &FunctionRecord) -> EventView {
    let FunctionRecord { skill, name, version, arguments, acts, end, took_ms } = record;
    let (class, how) = match end {
        FunctionEnd::Returned { value } if value.is_null() => ("done", "ran to its end".to_owned()),
        FunctionEnd::Returned { value } => ("done", format!("returned {value}")),
        FunctionEnd::Stopped(failure) => ("failed", format!("stopped at {failure}")),
        FunctionEnd::Interrupted => ("failed", "was interrupted".to_owned()),
    };
    let what = format!("{name} of {skill}, version {version}, {how}");
    (class, what, Some(format!("{acts} actions, {took_ms} ms")), Some(arguments.to_string()))
}

fn skill_event(skill: &SkillEvent) -> EventView {
    let what = word(skill.happening).replace("skill.", "skill ").replace('_', " ");
    let which = skill.skill.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let version = skill.version.map(|version| format!(" v{version}")).unwrap_or_default();
    ("skill", format!("{what}{which}{version}"), skill.detail.clone(), skill.text.clone())
}

fn text_of(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}
