//! Converts a trace to the trajectory that learning sees: what was observed, what changed, and which actions were taken
//! on which elements. Contains no expected value, no check explanation and no screenshot.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{
    BlobHash, Event, EventKind, Outline, RetrievedSkill, Seen, SkillEventKind, StepAction, StepId,
    Trajectory, TrajectoryStep, Versions, changes,
};
use apprentice_trace::Trace;
use jiff::Timestamp;

use crate::trial_identity::trajectory_id;
use apprentice_results::row::TrialRow;

/// The reason a trace cannot be converted to a trajectory.
#[derive(Debug, thiserror::Error)]
pub enum TrajectoryError {
    /// The trace does not begin with a header.
    #[error("the trace of {0} has no header")]
    NoHeader(String),
    /// The attempt did not end regularly: it is void or was interrupted.
    #[error("the attempt {0} did not end regularly; void attempts are not learned from")]
    NotEnded(String),
}

/// Converts an attempt to a trajectory and the time it ended. `text_of` reads the text of a blob.
pub fn trajectory(
    trace: &Trace,
    row: &TrialRow,
    apps: Vec<String>,
    text_of: &dyn Fn(&BlobHash) -> Option<String>,
) -> Result<(Trajectory, Timestamp), TrajectoryError> {
    let id = trajectory_id(row);
    let header = trace.header().ok_or_else(|| TrajectoryError::NoHeader(id.clone()))?;
    let stopped = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Stopped { reason: Some(reason), spent, .. } => Some((*reason, *spent, event.wall)),
        _ => None,
    });
    let (stop, spent, ended) = stopped.ok_or_else(|| TrajectoryError::NotEnded(id.clone()))?;
    let trajectory = Trajectory {
        id,
        goal: header.brief.instruction.clone(),
        apps,
        versions: versions(&trace.events),
        consumer: header.model.consumer.clone(),
        verdict: row.verdict,
        score: row.score,
        stop,
        limits: header.brief.limits,
        spent,
        steps: steps(&trace.events, text_of),
        skills: skills(&trace.events),
    };
    Ok((trajectory, ended))
}

/// App versions reported by the environment, without the unknown ones.
fn versions(events: &[Event]) -> Versions {
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::VersionsSeen { versions } => Some(versions),
        _ => None,
    });
    told.flatten().filter_map(|(app, version)| Some((app.clone(), version.clone()?))).collect()
}

/// One step per model reply, with the last observation before it.
fn steps(events: &[Event], text_of: &dyn Fn(&BlobHash) -> Option<String>) -> Vec<TrajectoryStep> {
    let mut steps: BTreeMap<StepId, TrajectoryStep> = BTreeMap::new();
    let mut sight = LastObservation::default();
    let mut answered: Option<Vec<String>> = None;
    for event in events {
        let Some(step) = event.step else { continue };
        match &event.kind {
            EventKind::Observed { title, focused, outline, .. } => {
                sight = LastObservation {
                    title: title.clone(),
                    focused: focused.clone(),
                    lines: outline
                        .as_ref()
                        .and_then(text_of)
                        .map(|text| Outline::parse(&text).describe())
                        .unwrap_or_default(),
                };
            }
            EventKind::ModelReplied { say, .. } => {
                let changed = changes(answered.as_deref(), &sight.lines);
                answered = Some(sight.lines.clone());
                let (title, focused) = (sight.title.clone(), sight.focused.clone());
                let seen = Seen { title, focused, changed };
                steps.insert(step, TrajectoryStep { id: step, seen, say: say.clone(), actions: Vec::new() });
            }
            EventKind::Action(record) => {
                if let Some(step) = steps.get_mut(&step) {
                    let mut told = StepAction::of(&record.asked, &record.outcome);
                    (told.role, told.name) = (record.target_role.clone(), record.target_name.clone());
                    step.actions.push(told);
                }
            }
            _ => {}
        }
    }
    steps.into_values().collect()
}

#[derive(Default)]
struct LastObservation {
    title: String,
    focused: Option<String>,
    lines: Vec<String>,
}

/// Skills whose text was delivered, in order, each once.
fn skills(events: &[Event]) -> Vec<RetrievedSkill> {
    let mut seen = BTreeSet::new();
    let mut received = Vec::new();
    for event in events {
        let EventKind::Skill(skill) = &event.kind else { continue };
        if skill.happening != SkillEventKind::Viewed {
            continue;
        }
        let (Some(id), Some(text)) = (&skill.skill, &skill.text) else { continue };
        if seen.insert(id.clone()) {
            received.push(RetrievedSkill {
                id: id.clone(),
                version: skill.version.unwrap_or(1),
                text: text.clone(),
                step: event.step.unwrap_or(StepId(1)),
            });
        }
    }
    received
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{EVENT_VERSION, Event, EventId, EventKind};
    use jiff::Timestamp;

    use super::versions;

    #[test]
    fn versions_are_those_that_the_world_told_and_the_unknown_is_left_out() {
        let told = |id, known: &[(&str, Option<&str>)]| Event {
            version: EVENT_VERSION,
            id: EventId(id),
            wall: Timestamp::UNIX_EPOCH,
            mono_us: 0,
            step: None,
            kind: EventKind::VersionsSeen {
                versions: known
                    .iter()
                    .map(|(app, version)| ((*app).to_owned(), version.map(str::to_owned)))
                    .collect(),
            },
        };
        let events = [
            told(1, &[("gimp", Some("2.10.34")), ("os", Some("debian-12")), ("thunar", None)]),
            told(2, &[("mousepad", Some("0.5.10"))]),
        ];
        let known: Vec<(String, String)> = versions(&events).into_iter().collect();
        let wanted = [("gimp", "2.10.34"), ("mousepad", "0.5.10"), ("os", "debian-12")];
        assert_eq!(known, wanted.map(|(app, version)| (app.to_owned(), version.to_owned())));
        assert_eq!(versions(&[]).len(), 0, "earlier traces tell of none");
    }
}
