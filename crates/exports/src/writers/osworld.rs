//! OSWorld's result tree: `<action space>/<observation type>/<model>/<application>/<task>/` with `traj.jsonl`, a screenshot
//! per step, `result.txt` and `runtime.log`. OSWorld's own `show_result.py` reads it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use apprentice_protocol::{Action, ActionOutcome, Button, ImageRule, ScreenPoint, Target, Verdict};
use apprentice_runs::row::TrialRow;
use serde_json::{Value, json};

use super::EpisodeError;
use crate::episode::{Act, Episode, Turn};
use crate::folder::{FolderError, OutFolder};
use crate::formats::PictureForm;
use crate::names::file_name;
use crate::request::ExportRequest;
use apprentice_runs::PlanHead;
use apprentice_trace::{Blobs, PictureRef};

/// The folder of the action space: dictionaries with names and parameters.
const ACTION_SPACE: &str = "computer_13";

/// Writes result trees.
pub(crate) struct ResultTree<'a> {
    request: &'a ExportRequest,
    plan: &'a PlanHead,
    /// Folders of models whose `args.json` is written.
    models: BTreeSet<String>,
}

impl<'a> ResultTree<'a> {
    pub(super) fn new(request: &'a ExportRequest, plan: &'a PlanHead) -> Self {
        Self { request, plan, models: BTreeSet::new() }
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let row = episode.row;
        let model = format!("{ACTION_SPACE}/{}/{}", observation_type(episode), model_folder(row));
        if self.models.insert(model.clone()) {
            out.write_json(&format!("{model}/args.json"), &self.arguments(episode))?;
        }
        let app = self.request.apps.get(row.task.as_str()).unwrap_or(&self.plan.suite);
        let folder = format!("{model}/{}/{}", file_name(app), file_name(row.task.as_str()));
        let mut tree =
            Task { folder: folder.clone(), lines: Vec::new(), log: String::new(), missing: Vec::new() };
        let steps = self.request.selection.steps;
        for turn in episode.turns.iter().filter(|turn| steps.contains(turn.step)) {
            tree.turn(turn, out, blobs)?;
        }
        tree.end(episode, out)?;
        Ok(folder)
    }

    fn arguments(&self, episode: &Episode<'_>) -> Value {
        let (row, screen) = (episode.row, episode.header.world.screen.screen());
        json!({
            "model": row.model, "action_space": ACTION_SPACE, "observation_type": observation_type(episode),
            "screen_width": screen.width, "screen_height": screen.height,
            "max_steps": episode.header.brief.limits.world_steps, "arm": row.arm, "seed": row.seed,
            "suite": row.suite, "suite_hash": row.suite_hash, "run": row.run,
        })
    }
}

/// A model's folder: OSWorld has one result per task in it, so arms and seeds have folders of their own. OSWorld's
/// `show_result.py` takes the mean of each such folder, so a trial's verdict lies in it whatever its attempt is called: at most
/// one attempt of a trial has a verdict. Void attempts, which have none, lie beside it.
fn model_folder(row: &TrialRow) -> String {
    let void =
        if row.verdict == Verdict::Void { format!("-void-attempt{}", row.attempt) } else { String::new() };
    file_name(&format!("{}-{}-seed{}{void}", row.model.replace('/', "-"), row.arm, row.seed))
}

fn observation_type(episode: &Episode<'_>) -> &'static str {
    match (episode.header.model.images, episode.header.model.outline) {
        (ImageRule::None, _) => "a11y_tree",
        (_, true) => "screenshot_a11y_tree",
        (_, false) => "screenshot",
    }
}

/// The files of one task under way.
struct Task {
    folder: String,
    lines: Vec<Value>,
    log: String,
    missing: Vec<String>,
}

impl Task {
    /// Adds the actions of a turn: a line each, and the screenshot after the last one.
    fn turn(&mut self, turn: &Turn, out: &mut OutFolder, blobs: &Blobs) -> Result<(), FolderError> {
        let response = turn.say.join("\n");
        let stamp = turn.replied.strftime("%Y%m%d@%H%M%S%6f").to_string();
        let after = turn.after.as_ref().and_then(|seen| seen.screenshot.as_ref());
        let name = format!("step_{}_{stamp}.png", turn.step);
        let file = match after {
            Some(hash) if out.form != PictureForm::None => {
                self.picture(&PictureRef::screenshot(hash), &name, out, blobs)?
            }
            _ => None,
        };
        let last = turn.acts.len().saturating_sub(1);
        for (place, act) in turn.acts.iter().enumerate() {
            let file = if place == last { file.clone() } else { None };
            self.lines.push(json!({
                "step_num": turn.step, "action_timestamp": stamp, "action": action(act), "response": response,
                "reward": 0, "done": false, "info": info(act), "screenshot_file": file,
            }));
        }
        let ends = turn.calls.iter().filter_map(ending);
        for ending in ends {
            self.lines.push(json!({
                "step_num": turn.step, "action_timestamp": stamp, "action": ending, "response": response,
                "reward": 0, "done": true, "info": {}, "screenshot_file": Value::Null,
            }));
        }
        let _ = writeln!(self.log, "{} step {}: {} actions", turn.replied, turn.step, turn.acts.len());
        Ok(())
    }

    fn picture(
        &mut self,
        picture: &PictureRef,
        name: &str,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<Option<String>, FolderError> {
        match out.bytes_of(picture, blobs) {
            Ok(bytes) => {
                out.write_bytes(&format!("{}/{name}", self.folder), &bytes)?;
                out.add_picture(bytes.len());
                Ok(Some(name.to_owned()))
            }
            Err(error) => {
                self.missing.push(error.to_string());
                Ok(None)
            }
        }
    }

    /// Writes the files. A void attempt has no result: OSWorld counts no task without `result.txt`.
    fn end(self, episode: &Episode<'_>, out: &OutFolder) -> Result<(), FolderError> {
        let row = episode.row;
        let mut file = out.create(&format!("{}/traj.jsonl", self.folder))?;
        for line in &self.lines {
            out.line(&mut file, line)?;
        }
        if row.verdict == Verdict::Void {
            let cause = serde_json::to_value(row.void_cause).unwrap_or_default();
            out.line(
                &mut file,
                &json!({ "Error": format!("void: {}", cause.as_str().unwrap_or("unknown")) }),
            )?;
        }
        file.end()?;
        if row.verdict != Verdict::Void {
            out.write(&format!("{}/result.txt", self.folder), &format!("{:?}\n", row.score))?;
        }
        out.write(&format!("{}/runtime.log", self.folder), &self.log)?;
        out.write_json(
            &format!("{}/status.json", self.folder),
            &json!({
                "run": row.run, "trial": row.trial, "attempt": row.attempt, "verdict": row.verdict,
                "score": row.score, "stop_reason": episode.stop, "void_cause": episode.void,
                "instruction": episode.header.brief.instruction, "world_steps": row.world_steps,
                "judged": episode.judged.as_ref().map(|judged| &judged.explanation),
                "missing_pictures": self.missing,
            }),
        )
    }
}

fn info(act: &Act) -> Value {
    let record = &act.record;
    let failed = match &record.outcome {
        ActionOutcome::Failed { problem } => Some(problem.as_str()),
        ActionOutcome::NotExecuted => Some("not tried: an earlier action of the batch failed"),
        ActionOutcome::Done { .. } => None,
    };
    json!({
        "point": record.point, "target_role": record.target_role, "target_name": record.target_name,
        "fail": failed, "asked": record.asked,
    })
}

fn ending(call: &apprentice_protocol::Call) -> Option<&'static str> {
    use apprentice_protocol::{CallBody, Finish};
    match &call.body {
        CallBody::Finish(Finish::GiveUp { .. }) => Some("FAIL"),
        CallBody::Finish(_) => Some("DONE"),
        CallBody::Tool { name, arguments } if name == "finish" => match arguments["finish"].as_str() {
            Some("give_up") => Some("FAIL"),
            _ => Some("DONE"),
        },
        CallBody::Tool { .. } | CallBody::World { .. } | CallBody::Unusable { .. } => None,
    }
}

/// An action in OSWorld's `computer_13`, where it has one; otherwise our own under the name `APPRENTICE`.
fn action(act: &Act) -> Value {
    let record = &act.record;
    let Some(sent) = &record.sent else {
        return json!({ "action_type": "APPRENTICE", "parameters": record.asked });
    };
    let at = |target: Option<&Target<ScreenPoint>>| match target {
        Some(Target::Point(point)) => Some(*point),
        _ => record.point,
    };
    let (name, parameters) = match sent {
        Action::Click { at: target, button, count: 2, hold: None } if *button == Button::Left => {
            ("DOUBLE_CLICK", place(at(Some(target))))
        }
        Action::Click { at: target, button, count, hold: None } => {
            let mut parameters = place(at(Some(target)));
            parameters["button"] = serde_json::to_value(button).unwrap_or_default();
            parameters["num_clicks"] = (*count).into();
            ("CLICK", parameters)
        }
        Action::Move { to } => ("MOVE_TO", place(at(Some(to)))),
        Action::Scroll { dx, dy, .. } => ("SCROLL", json!({ "dx": dx, "dy": -dy })),
        Action::Type { text } => ("TYPING", json!({ "text": text })),
        Action::Key { chord, .. } => {
            ("HOTKEY", json!({ "keys": chord.to_string().split('+').collect::<Vec<_>>() }))
        }
        Action::Wait { .. } => ("WAIT", json!({})),
        other => ("APPRENTICE", serde_json::to_value(other).unwrap_or_default()),
    };
    json!({ "action_type": name, "parameters": parameters })
}

fn place(point: Option<ScreenPoint>) -> Value {
    point.map_or_else(|| json!({}), |point| json!({ "x": point.x, "y": point.y }))
}
