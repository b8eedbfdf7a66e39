//! Converts a trace to the trajectory that learning sees: what was observed, what changed, and which actions were taken
//! on which elements. Contains no expected value, no check explanation and no screenshot.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{
    Action, ActionRecord, BlobHash, CallBody, CallId, CallResult, Event, EventKind, Finish, JudgedBy,
    Outline, RetrievedSkill, Seen, SkillEvent, SkillEventKind, SkillId, StepAction, StepId, Target,
    ToolAnswer, Trajectory, TrajectoryStep, Verdict, Versions, View, changes,
};
use apprentice_trace::Trace;
use jiff::Timestamp;

use crate::trial_identity::trajectory_id;
use apprentice_runs::row::TrialRow;

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
    view: Option<View>,
}

impl StepReader {
    fn take(&mut self, step: StepId, kind: &EventKind, text_of: &dyn Fn(&BlobHash) -> Option<String>) {
        match kind {
            EventKind::Observed { title, focused, outline, view, .. } => {
                let outline = outline.as_ref().and_then(text_of);
                let outline = outline.map(|text| Outline::parse(&text)).unwrap_or_default();
                let outline = outline.without_doubled_menu_bars();
                let lines = outline.describe();
                let (title, focused, view) = (title.clone(), focused.clone(), Some(*view));
                self.sight = LastObservation { title, focused, outline, lines, view };
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
                    EventKind::Action(record) => found.actions.push(action(record, &self.sight)),
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

/// Describes an action with its target: for an action at a place, the place; for a target without a name, its place and the
/// nearest named element.
fn action(record: &ActionRecord, sight: &LastObservation) -> StepAction {
    let mut told = StepAction::of(&record.asked, &record.outcome);
    (told.role, told.name) = (record.target_role.clone(), record.target_name.clone());
    let is_nameless = told.name.as_ref().is_none_or(|name| name.trim().is_empty());
    let place = match (place(&record.asked), record.asked.target()) {
        (Some(place), _) => {
            told.at = record.sent.as_ref().and_then(|sent| self::place(sent).copied());
            Some(*place)
        }
        (None, Some(Target::Ref(id))) if is_nameless => {
            let (view, node) = (sight.view.as_ref(), sight.outline.nodes.iter().find(|node| node.id == *id));
            let listed = node.and_then(|node| node.at);
            told.at = record.point.or_else(|| view?.to_screen(listed?).ok());
            listed.or_else(|| view?.to_image(told.at?))
        }
        (None, _) => None,
    };
    if is_nameless {
        told.near = place.and_then(|place| sight.outline.nearest_named(place));
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
    use std::fs;

    use apprentice_protocol::{
        EVENT_VERSION, Event, EventId, EventKind, ScreenPoint, StepAction, TrajectoryStep,
    };
    use apprentice_trace::Trace;
    use jiff::Timestamp;
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::{steps, versions};

    const SHEET: &str = "window \"a.csv\" @500,300 #n1
  menubar @500,20 #n2
    menuitem \"File\" @15,20 #n3
  group \"a.csv\" @500,320 #n4
    menubar @500,45 #n5
      menuitem \"File\" @15,45 #n6
    toolbar \"Standard\" @500,60 #n7
      button @100,60 #n8
      button \"Save\" @130,60 #n9
";

    /// Returns the step in which these actions were done on [`SHEET`], at half of the screen's size.
    fn step(records: &[Value]) -> TrajectoryStep {
        let view = json!({ "region": { "x": 0, "y": 0, "width": 2000, "height": 1200 },
            "image": { "width": 1000, "height": 600 }, "space": "image_pixels" });
        let seen = json!({ "title": "a.csv", "focused": null, "screenshot": null, "outline": "aa", "took_ms": 1, "view": view });
        let reply = json!({ "raw": [], "say": [], "calls": [], "usage": { "input": 0, "output": 0, "cached": 0 },
            "timing": { "working_ms": 0, "waiting_ms": 0 }, "cost_usd": null, "provider_model": null,
            "request_bytes": 1 });
        let acted = records.iter().map(|record| ("action", record.clone()));
        let all = [("observed", seen), ("model.replied", reply)].into_iter().chain(acted);
        let lines: Vec<String> = (1..)
            .zip(all)
            .map(|(number, (kind, data))| {
                let event = json!({ "v": 1, "id": format!("e{number}"), "wall": "1970-01-01T00:00:00Z",
                    "mono_us": 0, "step": "s1", "kind": kind, "data": data });
                format!("{event}\n")
            })
            .collect();
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("events.jsonl");
        fs::write(&path, lines.concat()).expect("written");
        let events = Trace::read(&path).expect("reads").events;
        steps(&events, &|_| Some(SHEET.to_owned())).remove(0)
    }

    fn click(at: &Value, target: Option<(&str, &str)>, point: Option<(i32, i32)>) -> Value {
        let click = json!({ "do": "click", "at": at });
        let mut record = json!({ "call": "c1", "index": 0, "asked": click, "sent": click, "outcome": { "outcome": "done" } });
        if let Some((role, name)) = target {
            (record["target_role"], record["target_name"]) = (json!(role), json!(name));
        }
        if let Some((x, y)) = point {
            record["point"] = json!({ "x": x, "y": y });
        }
        record
    }

    #[test]
    fn the_menu_bar_of_a_program_that_reports_two_is_told_once() {
        let changed = step(&[]).seen.changed;
        let files = changed.iter().filter(|line| line.contains("menuitem \"File\"")).count();
        assert_eq!((changed.len(), files), (7, 1), "{changed:#?}");
    }

    #[test]
    fn a_target_without_a_name_has_its_place_and_the_nearest_named_element() {
        let place = |action: &StepAction| (action.at, action.near.clone());
        let (nameless, save) = (Some(("button", "")), Some("button \"Save\"".to_owned()));
        let at = |x, y| Some(ScreenPoint::new(x, y));
        let by_reference = |point| click(&json!({ "ref": "n8" }), nameless, point);
        let acted = step(&[
            by_reference(Some((202, 122))),
            by_reference(None),
            click(&json!({ "ref": "n9" }), Some(("button", "Save")), Some((260, 120))),
            click(&json!({ "ref": "n99" }), nameless, None),
            click(&json!({ "ref": "n99" }), nameless, Some((262, 122))),
            click(&json!({ "point": { "x": 14, "y": 46 } }), None, None),
        ])
        .actions;
        assert_eq!(place(&acted[0]), (at(202, 122), save.clone()));
        assert_eq!(place(&acted[1]), (at(200, 120), save.clone()), "an earlier trace holds no point");
        assert_eq!(place(&acted[2]), (None, None), "its name tells its place");
        assert_eq!(place(&acted[3]), (None, None), "nobody knows where it was");
        assert_eq!(place(&acted[4]), (at(262, 122), save), "it is not listed");
        let file = Some("menuitem \"File\"".to_owned());
        assert_eq!(place(&acted[5]), (at(14, 46), file), "a bar in a wrong place is never the nearest");
    }

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
