//! What a review in the background is shown of a session: bounded, chosen by weight and not by age, with stable
//! names of events so that more of any can be asked for.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What kind of events they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A signal names it.
    Signal,
    /// What the user said.
    UserInput,
    /// The last answer.
    FinalAnswer,
    /// Something failed.
    Error,
    /// It was tried again.
    Retry,
    /// A result was checked.
    Verification,
    /// A file was written.
    FileWrite,
    /// All else.
    Ordinary,
}

impl Reason {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Signal => "named by a signal",
            Self::UserInput => "the user's words",
            Self::FinalAnswer => "the final answer",
            Self::Error => "an error",
            Self::Retry => "another try",
            Self::Verification => "a check",
            Self::FileWrite => "something stored",
            Self::Ordinary => "an event",
        }
    }
}

/// One event of a session as the bundle sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spotted {
    /// Its stable id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The tool, if it is about one.
    pub tool: Option<String>,
    /// Why it may matter.
    pub reason: Reason,
    /// All of it, in words.
    pub detail: String,
}

/// Which part of which session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// `invocation` or `since_review`.
    pub kind: String,
    /// The session.
    pub session_id: String,
    /// The turn.
    pub invocation_id: String,
    /// Its beginning; a remark, not a filter.
    pub started_at: Timestamp,
    /// Its end.
    pub finished_at: Timestamp,
}

/// An event by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indexed {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// An event that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Included {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: Reason,
    /// In words, cut to the budget.
    pub detail: String,
}

/// Events that are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedSpan {
    /// First and last id.
    pub range: [String; 2],
    /// How many of which kinds.
    pub summary: String,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Of what.
    pub scope: Scope,
    /// The signal, as it was reported.
    pub signal: Option<serde_json::Value>,
    /// Every event by name, within the cap.
    pub timeline_index: Vec<Indexed>,
    /// Events in full or cut.
    pub included_events: Vec<Included>,
    /// The rest.
    pub omitted_spans: Vec<OmittedSpan>,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleBudget {
    /// Events in words.
    pub events: usize,
    /// Characters of one event.
    pub event_chars: usize,
    /// Characters in all.
    pub chars: usize,
    /// Events by name.
    pub index: usize,
}

impl Default for BundleBudget {
    fn default() -> Self {
        Self { events: 60, event_chars: 600, chars: 24_000, index: 400 }
    }
}

/// Makes a bundle: everything where it fits, else what matters. Events that a signal names are always in it, then by
/// weight, earlier ones first; they are shown in the order in which they happened.
pub fn bundle(
    scope: Scope,
    signal: Option<(serde_json::Value, &[String])>,
    events: &[Spotted],
    budget: &BundleBudget,
) -> Bundle {
    let (signal, named) = signal.map_or((None, &[][..]), |(signal, named)| (Some(signal), named));
    let reason = |event: &Spotted| if named.contains(&event.id) { Reason::Signal } else { event.reason };
    let length = |event: &Spotted| event.detail.chars().count().min(budget.event_chars);
    let whole = events.len() <= budget.events && events.iter().map(length).sum::<usize>() <= budget.chars;
    let mut order: Vec<usize> =
        (0..events.len()).filter(|place| whole || reason(&events[*place]) != Reason::Ordinary).collect();
    order.sort_by_key(|place| (reason(&events[*place]), *place));
    let mut chosen = BTreeSet::new();
    let mut left = budget.chars;
    for place in order {
        let length = length(&events[place]);
        let forced = reason(&events[place]) == Reason::Signal;
        if forced || (chosen.len() < budget.events && length <= left) {
            chosen.insert(place);
            left = left.saturating_sub(length);
        }
    }
    let included = chosen.iter().map(|place| Included {
        id: events[*place].id.clone(),
        reason: reason(&events[*place]),
        detail: cut(&events[*place].detail, budget.event_chars),
    });
    // What is shown is also named, wherever it stands; the rest of the index goes to the earliest.
    let mut unnamed = budget.index.saturating_sub(chosen.len());
    let mut named = |place: &usize| {
        let room = unnamed > 0;
        unnamed -= usize::from(room && !chosen.contains(place));
        room || chosen.contains(place)
    };
    let indexed: Vec<usize> = (0..events.len()).filter(|place| named(place)).collect();
    let index = indexed.into_iter().map(|place| &events[place]).map(|event| Indexed {
        id: event.id.clone(),
        kind: event.kind.clone(),
        tool: event.tool.clone(),
    });
    Bundle {
        scope,
        signal,
        timeline_index: index.collect(),
        included_events: included.collect(),
        omitted_spans: omitted(events, &chosen),
    }
}

/// One event in full, by its id.
pub fn expand<'a>(events: &'a [Spotted], id: &str) -> Option<&'a str> {
    events.iter().find(|event| event.id == id).map(|event| event.detail.as_str())
}

fn cut(text: &str, cap: usize) -> String {
    if text.chars().count() <= cap {
        text.to_owned()
    } else {
        text.chars().take(cap - 1).chain(['…']).collect()
    }
}

fn omitted(events: &[Spotted], chosen: &BTreeSet<usize>) -> Vec<OmittedSpan> {
    let mut spans = Vec::new();
    let mut open: Vec<&Spotted> = Vec::new();
    for place in 0..=events.len() {
        match events.get(place).filter(|_| !chosen.contains(&place)) {
            Some(event) => open.push(event),
            None => {
                spans.extend(span(&open));
                open.clear();
            }
        }
    }
    spans
}

fn span(events: &[&Spotted]) -> Option<OmittedSpan> {
    let (first, last) = (events.first()?, events.last()?);
    let mut kinds = std::collections::BTreeMap::new();
    events.iter().for_each(|event| *kinds.entry(event.kind.as_str()).or_insert(0usize) += 1);
    let counted: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Some(OmittedSpan { range: [first.id.clone(), last.id.clone()], summary: counted.join(", ") })
}
