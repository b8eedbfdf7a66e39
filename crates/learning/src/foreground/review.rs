//! Builds the material of a background review from a stored attempt.

use apprentice_protocol::{CallBody, Event, EventKind};
use serde_json::Value;

use super::bundle::{Bundle, BundleBudget, CoveredEvents, bundle};
use super::event_summary::summarize_events;
use super::signal::FinalReport;
use super::tools::SKILL_REPORT;

/// Returns the bundle of an attempt. The turn is the session, and the signal is the last one that the agent reported.
/// `None` for a trace without events.
pub fn review(events: &[Event], session: &str, invocation: &str, budget: &BundleBudget) -> Option<Bundle> {
    let (first, last) = (events.first()?, events.last()?);
    let scope = CoveredEvents {
        kind: "invocation".to_owned(),
        session_id: session.to_owned(),
        invocation_id: invocation.to_owned(),
        started_at: first.wall,
        finished_at: last.wall,
    };
    let signal = events.iter().rev().find_map(reported);
    let signal = signal.as_ref().map(|(signal, refs)| (signal.clone(), refs.as_slice()));
    Some(bundle(scope, signal, &summarize_events(events), budget))
}

/// Returns the signal that a reply reports.
fn reported(event: &Event) -> Option<(Value, Vec<String>)> {
    let EventKind::ModelReplied { calls, .. } = &event.kind else { return None };
    calls.iter().rev().find_map(|call| {
        let CallBody::Tool { name, arguments } = &call.body else { return None };
        let report: FinalReport =
            (name == SKILL_REPORT).then(|| apprentice_model_json::from_arguments(arguments).ok())??;
        match (report.learning_signal, report.skill_issue_signal) {
            (Some(signal), None) => Some((serde_json::to_value(&signal).ok()?, signal.event_refs)),
            (None, Some(signal)) => Some((serde_json::to_value(&signal).ok()?, signal.event_refs)),
            _ => None,
        }
    })
}
