//! The part of a session that a background review sees. It is bounded and selected by weight rather than age. Events
//! have stable ids, so that a review can request more of any event.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why an event may matter to a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A signal refers to the event.
    Signal,
    /// User input.
    UserInput,
    /// The final answer.
    FinalAnswer,
    /// A failure.
    Error,
    /// A retry after a failure.
    Retry,
    /// The check of a result.
    Verification,
    /// A file write.
    FileWrite,
    /// Any other event.
    Ordinary,
}

impl Reason {
    /// Returns the reason in words.
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

/// One event of a session, prepared for a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummarizedEvent {
    /// Stable id of the event.
    pub id: String,
    /// Kind of the event.
    pub kind: String,
    /// The tool that the event concerns, if any.
    pub tool: Option<String>,
    /// Why the event may matter.
    pub reason: Reason,
    /// The complete event in words.
    pub detail: String,
}

/// The part of a session that a bundle covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredEvents {
    /// `invocation` or `since_review`.
    pub kind: String,
    /// Id of the session.
    pub session_id: String,
    /// Id of the turn.
    pub invocation_id: String,
    /// Start time, for information only; events are not filtered by it.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// End time.
    #[schemars(with = "String")]
    pub finished_at: Timestamp,
}

/// An entry of the event index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexEntry {
    /// Id of the event.
    pub id: String,
    /// Kind of the event.
    pub kind: String,
    /// The tool that the event concerns, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// An event that the bundle shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncludedEvent {
    /// Id of the event.
    pub id: String,
    /// Why the event is included.
    pub reason: Reason,
    /// The event in words, cut to the budget.
    pub detail: String,
}

/// A range of events that the bundle omits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedSpan {
    /// Ids of the first and the last event.
    pub range: [String; 2],
    /// Number of events by kind.
    pub summary: String,
}

/// The material of a background review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bundle {
    /// The covered part of the session.
    pub scope: CoveredEvents,
    /// The signal as it was reported.
    pub signal: Option<serde_json::Value>,
    /// Index of all events, within the cap.
    pub timeline_index: Vec<IndexEntry>,
    /// Included events, complete or cut.
    pub included_events: Vec<IncludedEvent>,
    /// Omitted events.
    pub omitted_spans: Vec<OmittedSpan>,
}

/// Size limits of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleBudget {
    /// Number of included events.
    pub events: usize,
    /// Characters per event.
    pub event_chars: usize,
    /// Characters of all included events.
    pub chars: usize,
    /// Entries of the index.
    pub index: usize,
}

impl Default for BundleBudget {
    fn default() -> Self {
        Self { events: 60, event_chars: 600, chars: 24_000, index: 400 }
    }
}

/// Builds a bundle. It includes every event if they fit. Otherwise it includes the events that a signal refers to, then
/// events by weight, earlier ones first. Included events appear in chronological order.
pub fn bundle(
    scope: CoveredEvents,
    signal: Option<(serde_json::Value, &[String])>,
    events: &[SummarizedEvent],
    budget: &BundleBudget,
) -> Bundle {
    let (signal, named) = signal.map_or((None, &[][..]), |(signal, named)| (Some(signal), named));
    let reason =
        |event: &SummarizedEvent| if named.contains(&event.id) { Reason::Signal } else { event.reason };
    let length = |event: &SummarizedEvent| event.detail.chars().count().min(budget.event_chars);
    let whole = events.len() <= budget.events && events.iter().map(length).sum::<usize>() <= budget.chars;
    let mut order: Vec<usize> =
        (0..events.len()).filter(|number| whole || reason(&events[*number]) != Reason::Ordinary).collect();
    order.sort_by_key(|number| (reason(&events[*number]), *number));
    let mut chosen = BTreeSet::new();
    let mut left = budget.chars;
    for number in order {
        let length = length(&events[number]);
        let forced = reason(&events[number]) == Reason::Signal;
        if forced || (chosen.len() < budget.events && length <= left) {
            chosen.insert(number);
            left = left.saturating_sub(length);
        }
    }
    let included = chosen.iter().map(|number| IncludedEvent {
        id: events[*number].id.clone(),
        reason: reason(&events[*number]),
        detail: cut(&events[*number].detail, budget.event_chars),
    });
    // The index contains every included event. The rest of the index goes to the earliest events.
    let mut unnamed = budget.index.saturating_sub(chosen.len());
    let mut named = |number: &usize| {
        let room = unnamed > 0;
        unnamed -= usize::from(room && !chosen.contains(number));
        room || chosen.contains(number)
    };
    let indexed: Vec<usize> = (0..events.len()).filter(|number| named(number)).collect();
    let index = indexed.into_iter().map(|number| &events[number]).map(|event| IndexEntry {
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

/// Returns the complete text of one event, by its id.
pub fn expand<'a>(events: &'a [SummarizedEvent], id: &str) -> Option<&'a str> {
    events.iter().find(|event| event.id == id).map(|event| event.detail.as_str())
}

fn cut(text: &str, cap: usize) -> String {
    if text.chars().count() <= cap {
        text.to_owned()
    } else {
        text.chars().take(cap - 1).chain(['…']).collect()
    }
}

fn omitted(events: &[SummarizedEvent], chosen: &BTreeSet<usize>) -> Vec<OmittedSpan> {
    let mut spans = Vec::new();
    let mut open: Vec<&SummarizedEvent> = Vec::new();
    for index in 0..=events.len() {
        match events.get(index).filter(|_| !chosen.contains(&index)) {
            Some(event) => open.push(event),
            None => {
                spans.extend(span(&open));
                open.clear();
            }
        }
    }
    spans
}

fn span(events: &[&SummarizedEvent]) -> Option<OmittedSpan> {
    let (first, last) = (events.first()?, events.last()?);
    let mut kinds = std::collections::BTreeMap::new();
    events.iter().for_each(|event| *kinds.entry(event.kind.as_str()).or_insert(0usize) += 1);
    let counted: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Some(OmittedSpan { range: [first.id.clone(), last.id.clone()], summary: counted.join(", ") })
}
