//! Converts a trace to the trajectory that learning sees: what was observed, what changed, and which actions were taken
//! on which elements. Contains no expected value, no check explanation and no screenshot.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{
    Action, ActionRecord, BlobHash, CallBody, CallId, CallResult, Event, EventKind, Finish, ImagePoint,
    JudgedBy, Outline, RetrievedSkill, Seen, SkillEvent, SkillEventKind, SkillId, StepAction, StepId, Target,
    ToolAnswer, Trajectory, TrajectoryStep, Verdict, Versions, changes,
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

/// What a trace does not tell of its attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// The trajectory's id.
    pub(super) id: String,
    pub(super) verdict: Verdict,
    pub(super) judged_by: JudgedBy,
    pub(super) score: f64,
}

/// Converts an attempt to a trajectory and the time it ended. `text_of` reads the text of a blob.
pub fn trajectory(
    trace: &Trace,
    row: &TrialRow,
    apps: Vec<String>,
    text_of: &dyn Fn(&BlobHash) -> Option<String>,
) -> Result<(Trajectory, Timestamp), TrajectoryError> {
    let id = trajectory_id(row);
    let judged = Judged { id, verdict: row.verdict, judged_by: JudgedBy::Checks, score: row.score };
    judged_trajectory(trace, judged, apps, text_of)
}

/// Converts an attempt that is judged in this way to a trajectory, like [`trajectory`].
pub(super) fn judged_trajectory(
    trace: &Trace,
    Judged { id, verdict, judged_by, score }: Judged,
    apps: Vec<String>,
    text_of: &dyn Fn(&BlobHash) -> Option<String>,
) -> Result<(Trajectory, Timestamp), TrajectoryError> {
    let header = trace.header().ok_or_else(|| TrajectoryError::NoHeader(id.clone()))?;
    let stopped = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Stopped { reason: Some(reason), spent, .. } => Some((*reason, *spent, event.wall)),
        _ => None,
    });
    let (stop, spent, ended) = stopped.ok_or_else(|| TrajectoryError::NotEnded(id.clone()))?;
    let trajectory = Trajectory {
        id,
        goal: header.brief.instruction.clone(),
        apps: once(apps),
        versions: versions(&trace.events),
        consumer: header.model.consumer.clone(),
        verdict,
        judged_by,
        score,
        stop,
        limits: header.brief.limits,
        spent,
        steps: steps(&trace.events, text_of),
        skills: skills(&trace.events),
    };
    Ok((trajectory, ended))
}

/// The programs, each once: a task may name its own program again among the related ones.
fn once(apps: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    apps.into_iter().filter(|app| known.insert(app.clone())).collect()
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
    let mut reader = StepReader::default();
    for event in events {
        if let Some(step) = event.step {
            reader.take(step, &event.kind, text_of);
        }
    }
    reader.steps.into_values().collect()
}

/// Reads the steps of a trace, event by event.
#[derive(Default)]
struct StepReader {
    steps: BTreeMap<StepId, TrajectoryStep>,
    sight: LastObservation,
    /// The observation that the last reply answered.
    answered: Option<Vec<String>>,
    /// Tools that were called and not answered yet.
    called: BTreeMap<CallId, String>,
    /// Texts of skills that were delivered.
    delivered: Vec<(SkillId, String)>,
}

#[derive(Default)]
struct LastObservation {
    title: String,
    focused: Option<String>,
    outline: Outline,
    lines: Vec<String>,
}

impl StepReader {
    fn take(&mut self, step: StepId, kind: &EventKind, text_of: &dyn Fn(&BlobHash) -> Option<String>) {
        match kind {
            EventKind::Observed { title, focused, outline, .. } => {
                let outline = outline.as_ref().and_then(text_of);
                let outline = outline.map(|text| Outline::parse(&text)).unwrap_or_default();
                let lines = outline.describe();
                self.sight =
                    LastObservation { title: title.clone(), focused: focused.clone(), outline, lines };
            }
            EventKind::ModelReplied { say, calls, .. } => {
                let touched: Vec<String> =
                    self.steps.values().next_back().map(TrajectoryStep::touched).unwrap_or_default();
                let changed = changes(self.answered.as_deref(), &self.sight.lines, &touched);
                self.answered = Some(self.sight.lines.clone());
                let seen =
                    Seen { title: self.sight.title.clone(), focused: self.sight.focused.clone(), changed };
                self.steps
                    .insert(step, TrajectoryStep { say: say.clone(), ..TrajectoryStep::new(step, seen) });
                let tools = calls.iter().filter_map(|call| match &call.body {
                    CallBody::Tool { name, .. } => Some((call.id.clone(), name.clone())),
                    _ => None,
                });
                self.called.extend(tools);
            }
            kind => {
                let Some(found) = self.steps.get_mut(&step) else { return };
                match kind {
                    EventKind::Action(record) => found.actions.push(action(record, &self.sight.outline)),
                    EventKind::CallAnswered(result) => {
                        if let Some(tool) = self.called.remove(&result.id) {
                            found.tools.push(answer(tool, result, &self.delivered));
                        }
                    }
                    EventKind::Skill(SkillEvent { skill: Some(skill), text: Some(text), .. }) => {
                        self.delivered.push((skill.clone(), text.clone()));
                    }
                    EventKind::CheckState { changed } => {
                        let known = found.changed_checked_state.unwrap_or(false);
                        found.changed_checked_state = Some(known || *changed);
                    }
                    EventKind::Finished(finish) => found.finish = Some(finished(finish)),
                    _ => {}
                }
            }
        }
    }
}

fn finished(finish: &Finish) -> String {
    match finish {
        Finish::Done => "done".to_owned(),
        Finish::Answer { text } => format!("answer: {text}"),
        Finish::GiveUp { reason } => format!("gave up: {reason}"),
    }
}

/// Returns the answer of a tool. The texts of skills in it are replaced by their ids: the reviewer gets them once,
/// beside the steps.
fn answer(tool: String, result: &CallResult, delivered: &[(SkillId, String)]) -> ToolAnswer {
    let texts: Vec<&str> = result.content.iter().filter_map(|part| part.as_text()).collect();
    let mut answer = texts.join("\n");
    for (skill, text) in delivered.iter().filter(|(_, text)| !text.is_empty()) {
        let mark = format!("[text of {skill}]");
        let quoted = serde_json::Value::from(text.as_str()).to_string();
        answer = answer.replace(text.as_str(), &mark).replace(quoted.trim_matches('"'), &mark);
    }
    ToolAnswer { tool, answer, is_error: result.is_error }
}

/// Describes an action with its target: for an action at a place, the place, and the nearest named element if the
/// target has no name.
fn action(record: &ActionRecord, outline: &Outline) -> StepAction {
    let mut told = StepAction::of(&record.asked, &record.outcome);
    (told.role, told.name) = (record.target_role.clone(), record.target_name.clone());
    let Some(place) = place(&record.asked) else { return told };
    told.at = record.sent.as_ref().and_then(|sent| self::place(sent).copied());
    if told.name.as_ref().is_none_or(|name| name.trim().is_empty()) {
        told.near = nearest(outline, *place);
    }
    told
}

/// Returns the place at which an action is aimed; `None` if it is aimed at an element or at nothing.
fn place<P>(action: &Action<P>) -> Option<&P> {
    match action {
        Action::Drag { path, .. } => path.first(),
        Action::Hold { actions, .. } => actions.iter().find_map(place),
        _ => match action.target()? {
            Target::Point(point) => Some(point),
            Target::Ref(_) => None,
        },
    }
}

/// Returns the named element whose centre is nearest to a place of the same view.
fn nearest(outline: &Outline, place: ImagePoint) -> Option<String> {
    let distance = |at: &ImagePoint| (at.x - place.x).hypot(at.y - place.y);
    let named = outline.nodes.iter().filter(|node| !node.name.trim().is_empty());
    let placed = named.filter_map(|node| Some((distance(node.at.as_ref()?), node)));
    let (_, node) = placed.min_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(format!("{} {:?}", node.role, node.name))
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
