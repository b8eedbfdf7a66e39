//! Counts the calls of functions in an attempt for their versions: a call that stopped counts against its version.

use apprentice_protocol::{EventKind, FunctionEnd, FunctionRecord, Trajectory};
use apprentice_runs::layout::EVENTS_FILE;
use apprentice_skillbook::{
    Actor, Cause, Change, FunctionEvidence, FunctionTrial, Gateway, Stage, WriteRefusal, WriteRequest,
};
use apprentice_trace::Trace;
use jiff::Timestamp;

use super::step_pictures::{PictureError, TraceFiles};
use crate::trial_identity::hashed;

/// Reads the calls of an attempt. Without its files, none are known.
pub(super) fn function_calls(files: Option<&TraceFiles>) -> Result<Vec<FunctionRecord>, PictureError> {
    let Some(files) = files else { return Ok(Vec::new()) };
    let trace = Trace::read(&files.run.join(&files.attempt).join(EVENTS_FILE))?;
    let calls = trace.events.into_iter().filter_map(|event| match event.kind {
        EventKind::FunctionCalled { record, .. } => Some(*record),
        _ => None,
    });
    Ok(calls.collect())
}

/// Records the calls of an attempt. Repeated calls for the same attempt record each once.
pub(super) fn note_calls(
    gateway: &mut Gateway,
    trajectory: &Trajectory,
    calls: &[FunctionRecord],
    time: Timestamp,
) -> Result<(), WriteRefusal> {
    for (place, record) in calls.iter().enumerate() {
        let known = gateway.state().skills.get(&record.skill);
        let version = known.and_then(|skill| skill.functions.get(&record.name)).map(|one| one.version);
        let Some(evidence) = evidence(record, trajectory).filter(|_| version == Some(record.version)) else {
            continue;
        };
        let change = Change::FunctionTested {
            skill: record.skill.clone(),
            function: record.name.clone(),
            version: record.version,
            evidence,
        };
        let item = format!("call:{place}");
        let cause = Cause { trajectory: trajectory.id.clone(), item, stage: Stage::Handle };
        let request = WriteRequest { cause: Some(cause), ..WriteRequest::of(Actor::Handler, time, change) };
        gateway.apply(request)?;
    }
    Ok(())
}

/// Returns what a call shows; `None` if the attempt ended in it, which is no fault of the function.
fn evidence(record: &FunctionRecord, trajectory: &Trajectory) -> Option<FunctionEvidence> {
    let (held, why) = match &record.end {
        FunctionEnd::Returned { .. } => (true, String::new()),
        FunctionEnd::Stopped(failure) => (false, format!("it stopped at line {}", failure.line)),
        FunctionEnd::Interrupted => return None,
    };
    let arguments = hashed(&[("arguments", &record.arguments.to_string())]);
    let attempt = trajectory.id.clone();
    Some(FunctionEvidence { trial: FunctionTrial::Call, held, attempt, arguments, why })
}
