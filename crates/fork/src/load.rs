//! Loads the place of a fork from a stored run: the recorded turns before a step, and the screen at it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use apprentice_harness::fork::{ForkPoint, RecordedPicture, RecordedScreen, RecordedTurn};
use apprentice_protocol::{
    ActionRecord, BlobHash, Event, EventKind, Header, ImageBytes, RawContent, StepId, Verdict, View,
};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_tasks::suite::Suite;
use apprentice_trace::{REDACTED, Trace, blob_path};

use super::error::ForkError;
use super::find::FoundTrial;
use apprentice_evaluator::run::{RunPlan, TrialSpec, read_run};

const BASELINE: &str = "baseline/";

/// A recorded attempt and the step at which it is forked.
#[derive(Clone, Debug)]
pub struct ForkSite {
    /// The plan of the recorded run.
    pub plan: RunPlan,
    /// The recorded trial.
    pub trial: TrialSpec,
    /// The row of the recorded attempt.
    pub row: TrialRow,
    /// The header of its trace.
    pub header: Header,
    /// Its turns before the fork, and the screen at it.
    pub point: Arc<ForkPoint>,
    /// World actions of the turns before the fork.
    pub repeated_actions: u32,
}

impl ForkSite {
    /// Loads the place of a fork. Without a number, the attempt is the last judged one.
    pub fn load(found: &FoundTrial, attempt: Option<u32>, step: StepId) -> Result<Self, ForkError> {
        let (plan, rows) = read_run(&found.run)?;
        let row = chosen_row(rows, &found.trial, attempt)?;
        let path = found.run.join(&row.trace).join(EVENTS_FILE);
        let trace = Trace::read(&path)?;
        let incomplete = |what: &str| ForkError::Incomplete { path: path.clone(), what: what.to_owned() };
        if trace.torn.is_some() || trace.stopped().is_none() {
            return Err(incomplete("the trace is incomplete"));
        }
        let header = trace.header().cloned().ok_or_else(|| incomplete("the trace has no header"))?;
        let reader = TraceReader { blobs: &found.run.join(BLOBS_FOLDER), header: &header };
        let recorded = turns(&trace.events);
        let last = recorded.last().ok_or_else(|| incomplete("the model never replied"))?.step;
        let place = recorded.iter().position(|turn| turn.step == step);
        let place = place.ok_or(ForkError::NoStep { step, last })?;
        let no_screen = |turn: &Turn<'_>| incomplete(&format!("no observation before step {}", turn.step));
        let mut read = Vec::new();
        let mut seen: BTreeMap<usize, Arc<RecordedScreen>> = BTreeMap::new();
        for turn in &recorded[..=place] {
            let (index, event) = turn.screen.ok_or_else(|| no_screen(turn))?;
            let screen = match seen.get(&index) {
                Some(screen) => Arc::clone(screen),
                None => Arc::new(reader.screen(event, turn.step)?),
            };
            seen.insert(index, Arc::clone(&screen));
            read.push((turn, screen));
        }
        let fork = read.pop().map(|(_, screen)| screen).ok_or(ForkError::NoStep { step, last })?;
        let repeated_actions = read.iter().map(|(turn, _)| turn.world_actions()).sum();
        let turns: Result<Vec<RecordedTurn>, ForkError> =
            read.into_iter().map(|(turn, screen)| reader.turn(turn, screen)).collect();
        let point = ForkPoint { turns: turns?, step, screen: fork };
        Ok(Self { plan, trial: found.trial.clone(), row, header, point: Arc::new(point), repeated_actions })
    }

    /// Refuses a suite that is not the recorded one, file by file.
    pub fn check_suite(&self, suite: &Suite) -> Result<(), ForkError> {
        if suite.hash != self.plan.suite_hash || suite.name != self.plan.suite {
            return Err(ForkError::SuiteChanged {
                name: self.plan.suite.clone(),
                now: suite.hash.clone(),
                then: self.plan.suite_hash.clone(),
            });
        }
        match suite.task(self.trial.task.as_str()) {
            Some(_) => Ok(()),
            None => Err(ForkError::NoTask(self.trial.task.to_string())),
        }
    }

    /// The model that goes on: the given one, else the recorded one. A baseline cannot.
    pub fn live_model(&self, given: Option<&str>) -> Result<String, ForkError> {
        let name = given.unwrap_or(&self.trial.model);
        match name.starts_with(BASELINE) {
            true => Err(ForkError::Baseline(name.to_owned())),
            false => Ok(name.to_owned()),
        }
    }
}

fn chosen_row(rows: Vec<TrialRow>, trial: &TrialSpec, attempt: Option<u32>) -> Result<TrialRow, ForkError> {
    let id = trial.trial.to_string();
    let mut rows: Vec<TrialRow> = rows.into_iter().filter(|row| row.trial == trial.trial).collect();
    match attempt {
        None => {
            let what = if rows.is_empty() { "no finished attempt" } else { "void attempts only" };
            rows.retain(|row| row.verdict != Verdict::Void);
            rows.pop().ok_or_else(|| ForkError::NoAttempt { trial: id, what: what.to_owned() })
        }
        Some(number) => {
            let row = rows.into_iter().find(|row| row.attempt == number);
            let row = row.ok_or_else(|| ForkError::NoAttempt {
                trial: id.clone(),
                what: format!("no finished attempt {number}"),
            })?;
            match row.verdict {
                Verdict::Void => Err(ForkError::Void { trial: id, attempt: number }),
                Verdict::Pass | Verdict::Fail => Ok(row),
            }
        }
    }
}

/// One turn of a trace, before its files are read.
struct Turn<'a> {
    step: StepId,
    /// The latest observation before it, with its place in the trace.
    screen: Option<(usize, &'a EventKind)>,
    reply: &'a EventKind,
    actions: Vec<&'a ActionRecord>,
}

impl Turn<'_> {
    /// Counts actions as the budget of an attempt does.
    fn world_actions(&self) -> u32 {
        let sent = self.actions.iter().filter_map(|action| action.sent.as_ref());
        u32::try_from(sent.filter(|sent| !sent.is_observation_only()).count()).unwrap_or(u32::MAX)
    }
}

fn turns(events: &[Event]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    let mut screen = None;
    for (index, event) in events.iter().enumerate() {
        match (&event.kind, event.step) {
            (EventKind::Observed { .. }, _) => screen = Some((index, &event.kind)),
            (EventKind::ModelReplied { .. }, Some(step)) => {
                turns.push(Turn { step, screen, reply: &event.kind, actions: Vec::new() });
            }
            (EventKind::Action(action), step) => {
                if let Some(turn) = turns.last_mut().filter(|turn| Some(turn.step) == step) {
                    turn.actions.push(action);
                }
            }
            _ => {}
        }
    }
    turns
}

/// A kind of file that a trace names.
#[derive(Clone, Copy)]
struct BlobKind {
    /// The name in messages.
    name: &'static str,
    /// The extension of the file.
    extension: &'static str,
}

const OUTLINE: BlobKind = BlobKind { name: "outline", extension: "txt" };
const PICTURE: BlobKind = BlobKind { name: "picture", extension: "png" };
const REPLY: BlobKind = BlobKind { name: "reply", extension: "json" };

/// Reads the files that a trace names.
struct TraceReader<'a> {
    blobs: &'a Path,
    header: &'a Header,
}

impl TraceReader<'_> {
    fn blob(&self, kind: BlobKind, hash: &BlobHash, step: StepId) -> Result<Vec<u8>, ForkError> {
        apprentice_files::read(blob_path(self.blobs, hash, kind.extension))
            .map_err(|source| ForkError::Blob { what: kind.name, hash: hash.clone(), step, source })
    }

    fn text(&self, kind: BlobKind, hash: &BlobHash, step: StepId) -> Result<String, ForkError> {
        let read = String::from_utf8(self.blob(kind, hash, step)?);
        let broken = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        read.map_err(|error| ForkError::Blob {
            what: kind.name,
            hash: hash.clone(),
            step,
            source: broken(error),
        })
    }

    fn screen(&self, event: &EventKind, step: StepId) -> Result<RecordedScreen, ForkError> {
        let EventKind::Observed { title, screenshot, outline, view, .. } = event else {
            return Ok(self.nothing_seen());
        };
        let outline = outline.as_ref().map(|hash| self.text(OUTLINE, hash, step)).transpose()?;
        let picture = screenshot.as_ref().map(|hash| {
            let png = self.blob(PICTURE, hash, step)?;
            Ok::<_, ForkError>(RecordedPicture { hash: hash.clone(), png: ImageBytes(png.into()) })
        });
        Ok(RecordedScreen { title: title.clone(), outline, picture: picture.transpose()?, view: *view })
    }

    fn nothing_seen(&self) -> RecordedScreen {
        let view = View::whole(self.header.world.screen.screen());
        RecordedScreen { title: String::new(), outline: None, picture: None, view }
    }

    fn turn(&self, turn: &Turn<'_>, screen: Arc<RecordedScreen>) -> Result<RecordedTurn, ForkError> {
        let step = turn.step;
        let (blocks, say, calls) = match turn.reply {
            EventKind::ModelReplied { raw, say, calls, .. } => (raw, say.clone(), calls.clone()),
            _ => (&Vec::new(), Vec::new(), Vec::new()),
        };
        if serde_json::to_string(&calls).is_ok_and(|text| text.contains(REDACTED)) {
            return Err(ForkError::Secret(step));
        }
        let blocks: Result<Vec<String>, ForkError> =
            blocks.iter().map(|hash| self.text(REPLY, hash, step)).collect();
        let targets = turn.actions.iter().filter_map(|action| {
            let role = action.target_role.clone()?;
            Some((action.asked.node()?.clone(), (role, action.target_name.clone().unwrap_or_default())))
        });
        let raw = RawContent { blocks: blocks? };
        Ok(RecordedTurn { step, screen, raw, say, calls, targets: targets.collect() })
    }
}
