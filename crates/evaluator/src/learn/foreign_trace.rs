//! Traces of other programs as input of learning: a reply is a step, a call an action with its answer. Keys and passwords are
//! taken out first.
//!
//! A verdict is the one that stands in the trace. Without one nobody judged: the agent's own claim of success counts for nothing.

use apprentice_protocol::{
    JudgedBy, Limits, ResourceUsage, ScreenPoint, Seen, StepAction, StepId, StopReason, ToolAnswer,
    Trajectory, TrajectoryStep, Usage, Verdict,
};
use apprentice_skillbook::Judgement;
use apprentice_trace::{Redactor, hex};
use apprentice_transcripts::{Call, Ending, Log, Program, Transcript, Turn, Verdict as Told};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// Characters of the hash that tells traces of the same name apart.
const HASH: usize = 12;
/// Maximum number of bytes of an instruction, of one turn's words, of a call in words and of an answer.
const MAX_GOAL_BYTES: usize = 4000;
const MAX_WORDS_BYTES: usize = 2000;
const MAX_CALL_BYTES: usize = 400;
const MAX_ANSWER_BYTES: usize = 2000;
/// A reward from which on a trace counts as passed.
const FULL_REWARD: f64 = 1.0;
/// Parts of a judge's name that say that a model gave the score.
const MODEL_JUDGES: [&str; 3] = ["a model", "model_graded", "judge"];

/// A trace of another program, ready to be learned from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTrace {
    trajectory: Trajectory,
    judgement: Judgement,
    time: Timestamp,
}

/// A trace that is not learned from, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: not learned from: {why}")]
pub struct NotLearned {
    /// The trace.
    pub name: String,
    /// Why.
    pub why: &'static str,
}

impl ForeignTrace {
    /// What happened.
    pub fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// Who judged it, and how.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// When it began, as far as its program says so.
    pub fn time(&self) -> Timestamp {
        self.time
    }
}

/// Returns a conversation of a log as input of learning. `now` is the time of one that has none.
///
/// # Errors
/// It has no end or no instruction.
pub fn foreign_trace(
    log: &Log,
    told: &Transcript,
    redactor: &Redactor,
    now: Timestamp,
) -> Result<ForeignTrace, NotLearned> {
    Reader { log, redactor, now }.read(told)
}

/// Reads the conversations of a log.
struct Reader<'a> {
    log: &'a Log,
    redactor: &'a Redactor,
    now: Timestamp,
}

impl Reader<'_> {
    fn read(&self, told: &Transcript) -> Result<ForeignTrace, NotLearned> {
        // A fork without its history is read with it. What a fork copied is learned from where it was copied from: the same reply is
        // no second witness.
        let whole = told.continues.as_ref().and_then(|continues| continues.whole.as_deref()).unwrap_or(told);
        let own = whole.copied_from.as_ref().map(|_| without_copies(whole));
        let whole = own.as_ref().unwrap_or(whole);
        let goal = whole.prompts.first().map(|goal| self.text(goal, MAX_GOAL_BYTES)).unwrap_or_default();
        let why = match (&told.verdict, told.ended) {
            _ if whole.turns.is_empty() => Some("no reply of a model is in it"),
            _ if goal.trim().is_empty() => Some("the instruction is not in it"),
            (None, Some(Ending::Interrupted)) => Some("it was interrupted"),
            (None, Some(Ending::Crashed)) => Some("its program ended before it did"),
            (None, Some(Ending::Error)) => Some("it ended by an error of its program"),
            _ => None,
        };
        if let Some(why) = why {
            return Err(NotLearned { name: self.name(told), why });
        }
        let judgement = judgement(told);
        let verdict = judgement.verdict.unwrap_or(Verdict::Fail);
        let score = told.verdict.map_or(0.0, |told| told.score().clamp(0.0, 1.0));
        let trajectory = Trajectory {
            id: self.id(whole, &goal),
            goal,
            apps: apps(self.log.program),
            versions: std::collections::BTreeMap::new(),
            consumer: whole
                .model
                .clone()
                .or_else(|| self.log.model.clone())
                .unwrap_or_else(|| "unknown".to_owned()),
            verdict,
            judged_by: judgement.by,
            score,
            stop: if whole.final_answer.is_some() { StopReason::Answered } else { StopReason::Done },
            limits: Limits::default(),
            spent: spent(whole),
            steps: self.steps(whole),
            skills: Vec::new(),
        };
        let time = whole.started.as_deref().and_then(|started| started.parse().ok()).unwrap_or(self.now);
        Ok(ForeignTrace { trajectory, judgement, time })
    }

    /// What a trace is called in messages: its file, and its sample.
    fn name(&self, told: &Transcript) -> String {
        let path = self.log.path.display();
        if self.log.sampled { format!("{path}, {}", told.name) } else { path.to_string() }
    }

    /// `<file>/<hash>/1`: the same trace has the same id wherever its file lies.
    fn id(&self, told: &Transcript, goal: &str) -> String {
        let mut hash = Sha256::new();
        let replies = told.turns.iter().flat_map(|turn| [turn.id.as_deref().unwrap_or_default(), &turn.text]);
        for part in [self.log.program.name(), &told.name, goal].into_iter().chain(replies) {
            hash.update(part);
            hash.update([0]);
        }
        let stem = self.log.path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let stem: String = stem.chars().map(plain).take(60).collect();
        let stem = if stem.is_empty() { "trace".to_owned() } else { stem };
        format!("{stem}/{}/1", &hex(&hash.finalize())[..HASH])
    }

    /// A text without secrets, cut.
    fn text(&self, text: &str, most: usize) -> String {
        let text = self.redactor.apply(text);
        if text.len() <= most {
            return text.into_owned();
        }
        format!("{} […]", &text[..text.floor_char_boundary(most)])
    }

    fn steps(&self, told: &Transcript) -> Vec<TrajectoryStep> {
        let ids = 1u32..;
        let last = told.turns.len().saturating_sub(1);
        let step = |(place, (id, turn)): (usize, (u32, &Turn))| {
            let mut step = TrajectoryStep::new(StepId(id), self.seen(turn, place == 0));
            if !turn.text.is_empty() {
                step.say.push(self.text(&turn.text, MAX_WORDS_BYTES));
            }
            for call in &turn.calls {
                step.actions.push(self.action(call));
                step.tools.extend(self.answer(call));
            }
            if place == last {
                let answer = told.final_answer.as_ref();
                step.finish = answer.map(|answer| format!("answer: {}", self.text(answer, MAX_WORDS_BYTES)));
            }
            step
        };
        ids.zip(&told.turns).enumerate().map(step).collect()
    }

    /// What stood before a reply. The first words of the person are the instruction.
    fn seen(&self, turn: &Turn, first: bool) -> Seen {
        let title = turn.seen.as_deref().map(|seen| self.text(seen, MAX_CALL_BYTES)).unwrap_or_default();
        let asked = turn.prompt.as_deref().filter(|_| !first);
        let changed = asked.map(|asked| format!("+ the user wrote: {}", self.text(asked, MAX_WORDS_BYTES)));
        Seen { title, focused: None, changed: changed.into_iter().collect() }
    }

    fn action(&self, call: &Call) -> StepAction {
        let arguments = match &call.arguments {
            Some(arguments) => serde_json::Value::from(arguments.clone()).to_string(),
            None => "(arguments lost)".to_owned(),
        };
        let target = call.target.as_ref();
        let outcome = match (call.failed, call.answered, &call.result) {
            (true, true, Some(result)) => format!("failed: {}", self.text(result, MAX_CALL_BYTES)),
            (true, _, _) => "failed: without a word".to_owned(),
            (false, true, _) => "done".to_owned(),
            (false, false, _) => "not executed".to_owned(),
        };
        StepAction {
            action: self.text(&format!("{} {arguments}", call.name), MAX_CALL_BYTES),
            role: target.and_then(|target| target.role.clone()),
            name: target
                .and_then(|target| target.name.as_deref())
                .map(|name| self.text(name, MAX_CALL_BYTES)),
            at: target
                .and_then(|target| target.point)
                .or_else(|| point(call))
                .map(|(x, y)| screen_point(x, y)),
            near: None,
            outcome,
        }
    }

    fn answer(&self, call: &Call) -> Option<ToolAnswer> {
        let answer = self.text(call.result.as_ref()?, MAX_ANSWER_BYTES);
        Some(ToolAnswer { tool: call.name.clone(), answer, is_error: call.failed })
    }
}

/// A conversation without the turns that its log copied, and with the instruction of the first that is its own.
fn without_copies(told: &Transcript) -> Transcript {
    let mut own = told.clone();
    own.turns.retain(|turn| !turn.copied);
    own.prompts = own.turns.first().and_then(|turn| turn.prompt.clone()).into_iter().collect();
    own
}

/// The point in a call's arguments, as tools for computers have it.
fn point(call: &Call) -> Option<(f64, f64)> {
    let arguments = call.arguments.as_ref()?;
    let of = |name: &str| arguments.get(name)?.as_f64();
    let listed = || {
        let pair = arguments.get("coordinate")?.as_array()?;
        Some((pair.first()?.as_f64()?, pair.get(1)?.as_f64()?))
    };
    of("x").zip(of("y")).or_else(listed)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "pixels; what no screen has is cut to the largest number"
)]
fn screen_point(x: f64, y: f64) -> ScreenPoint {
    ScreenPoint { x: x.round() as i32, y: y.round() as i32 }
}

/// The verdict in a trace, and who gave it. A reward counts as passed where it is whole.
fn judgement(told: &Transcript) -> Judgement {
    let Some(verdict) = told.verdict else {
        return Judgement { by: JudgedBy::Nobody, verdict: None, why: String::new() };
    };
    let judge = told.judge.as_deref().unwrap_or_default();
    let by_model = MODEL_JUDGES.iter().any(|words| judge.contains(words));
    let passed = match verdict {
        Told::Passed(passed) => passed,
        Told::Reward(reward) => reward >= FULL_REWARD,
    };
    Judgement {
        by: if by_model { JudgedBy::Model } else { JudgedBy::Checks },
        verdict: Some(if passed { Verdict::Pass } else { Verdict::Fail }),
        why: format!("says the trace, of {judge}"),
    }
}

/// The programs that an agent of this kind works with, as domains.
fn apps(program: Program) -> Vec<String> {
    let app = match program {
        Program::ClaudeCode
        | Program::Codex
        | Program::GeminiCli
        | Program::Opencode
        | Program::Pi
        | Program::MiniSweAgent
        | Program::OpenHands => "terminal",
        Program::BrowserUse => "chromium",
        Program::CuaAgent | Program::Osworld => "desktop",
        Program::Verifiers | Program::Inspect | Program::Atif | Program::OpenAi | Program::ShareGpt => {
            return Vec::new();
        }
    };
    vec![app.to_owned()]
}

fn spent(told: &Transcript) -> ResourceUsage {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let tokens = told.tokens.unwrap_or_default();
    ResourceUsage {
        world_steps: count(told.calls().count()),
        turns: count(told.turns.len()),
        tokens: Usage { input: tokens.input, output: tokens.output, cached: 0 },
        ..ResourceUsage::default()
    }
}
