//! Two tables for spreadsheets and data frames: `trials.csv` with a row per attempt, `steps.csv` with a row per action.

use std::io;

use apprentice_protocol::{Action, ActionDetail, ActionOutcome, ImagePoint, Target};
use csv::{Writer as CsvWriter, WriterBuilder};
use serde::Serialize;

use super::{EpisodeError, shown};
use crate::episode::{Act, Episode, PersonAct, Seen, Turn};
use crate::folder::{FolderError, OutFile, OutFolder};
use crate::select::StepRange;
use apprentice_trace::{Blobs, PictureRef};

const TRIALS: [&str; 29] = [
    "run",
    "trial",
    "attempt",
    "suite",
    "task",
    "template",
    "split",
    "role",
    "arm",
    "seed",
    "model",
    "provider_model",
    "verdict",
    "score",
    "stop_reason",
    "void_cause",
    "world_steps",
    "turns",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cost_usd",
    "wall_s",
    "working_s",
    "delivered_tokens",
    "skills_viewed",
    "started_at",
    "instruction",
    "person_acts",
];
const STEPS: [&str; 26] = [
    "run",
    "trial",
    "attempt",
    "task",
    "arm",
    "step",
    "action_index",
    "action",
    "text",
    "x",
    "y",
    "model_x",
    "model_y",
    "target_role",
    "target_name",
    "outcome",
    "problem",
    "screen_title",
    "picture_before",
    "picture_after",
    "said",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "asked_at",
    "by",
];

/// The tables under way.
pub(crate) struct Tables {
    trials: OutFile,
    steps: OutFile,
    range: StepRange,
}

impl Tables {
    pub(super) fn begin(out: &OutFolder, range: StepRange) -> Result<Self, FolderError> {
        let mut tables = Self { trials: out.create("trials.csv")?, steps: out.create("steps.csv")?, range };
        tables.trials.raw(&record(&TRIALS.map(str::to_owned)))?;
        tables.steps.raw(&record(&STEPS.map(str::to_owned)))?;
        Ok(tables)
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let range = self.range;
        for turn in episode.turns.iter().filter(|turn| range.contains(turn.step)) {
            self.turn(episode, turn, out, blobs)?;
        }
        if range.is_whole() {
            self.persons(episode, episode.turns.len(), out)?;
        }
        let trial = out.redacted(&record(&trial(episode)));
        self.trials.raw(&trial)?;
        Ok("trials.csv".to_owned())
    }

    /// Adds the actions of a turn; a turn without one has a row of its own, so that its tokens are there.
    fn turn(
        &mut self,
        episode: &Episode<'_>,
        turn: &Turn,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<(), FolderError> {
        let place = episode.turns.iter().position(|one| one.step == turn.step);
        self.persons(episode, place.unwrap_or_default(), out)?;
        let before = picture(turn.before.as_ref(), out, blobs)?;
        let after = picture(turn.after.as_ref(), out, blobs)?;
        let last = turn.acts.len().saturating_sub(1);
        for (place, act) in turn.acts.iter().map(Some).chain(turn.acts.is_empty().then_some(None)).enumerate()
        {
            // The world is observed before a batch and after it: what lies between has no picture.
            let before = if place == 0 { before.as_str() } else { "" };
            let after = if place == last { after.as_str() } else { "" };
            let mut cells = head(episode, turn, act);
            cells.extend([before.to_owned(), after.to_owned()]);
            cells.extend(if place == 0 { costs(turn) } else { std::array::from_fn(|_| String::new()) });
            cells.push("model".to_owned());
            let line = out.redacted(&record(&cells));
            self.steps.raw(&line)?;
        }
        Ok(())
    }

    /// Adds what persons did before a turn.
    fn persons(&mut self, episode: &Episode<'_>, turn: usize, out: &OutFolder) -> Result<(), FolderError> {
        for acted in episode.persons_before(turn) {
            let line = out.redacted(&record(&person(episode, acted)));
            self.steps.raw(&line)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.trials.end()?;
        self.steps.end()
    }
}

fn trial(episode: &Episode<'_>) -> Vec<String> {
    let row = episode.row;
    let skills: Vec<&str> = row.skills_viewed.iter().map(|skill| skill.as_str()).collect();
    vec![
        text(row.run.as_str()),
        text(row.trial.as_str()),
        row.attempt.to_string(),
        text(&row.suite),
        text(row.task.as_str()),
        text(&row.template),
        word(&row.split),
        word(&row.role),
        text(&row.arm),
        row.seed.to_string(),
        text(&row.model),
        text(row.provider_model.as_deref().unwrap_or_default()),
        word(&row.verdict),
        row.score.to_string(),
        word(&row.stop_reason),
        word(&row.void_cause),
        row.world_steps.to_string(),
        row.turns.to_string(),
        row.tokens.input.to_string(),
        row.tokens.output.to_string(),
        row.tokens.cached.to_string(),
        number(row.cost_usd),
        row.wall_s.to_string(),
        row.working_s.to_string(),
        row.delivered_tokens.to_string(),
        text(&skills.join(" ")),
        row.started_at.to_string(),
        text(&episode.header.brief.instruction),
        row.person_acts.to_string(),
    ]
}

/// The cells of an action up to its pictures.
fn head(episode: &Episode<'_>, turn: &Turn, act: Option<&Act>) -> Vec<String> {
    let row = episode.row;
    let record = act.map(|act| &act.record);
    let screen = record.and_then(|record| record.point.or_else(|| sent_point(record.sent.as_ref())));
    let asked = record.and_then(|record| asked_point(&record.asked));
    let (outcome, problem) = record.map(|record| told(&record.outcome)).unwrap_or_default();
    let name = record.map(|record| word_of(&record.asked, "do")).unwrap_or_default();
    let described = record.map(|record| record.asked.text(ActionDetail::Line)).unwrap_or_default();
    vec![
        text(row.run.as_str()),
        text(row.trial.as_str()),
        row.attempt.to_string(),
        text(row.task.as_str()),
        text(&row.arm),
        turn.step.to_string(),
        record.map(|record| record.index.to_string()).unwrap_or_default(),
        text(&name),
        text(&described),
        screen.map(|point| point.x.to_string()).unwrap_or_default(),
        screen.map(|point| point.y.to_string()).unwrap_or_default(),
        asked.map(|point| point.x.to_string()).unwrap_or_default(),
        asked.map(|point| point.y.to_string()).unwrap_or_default(),
        text(record.and_then(|record| record.target_role.as_deref()).unwrap_or_default()),
        text(record.and_then(|record| record.target_name.as_deref()).unwrap_or_default()),
        outcome,
        text(&problem),
        text(turn.before.as_ref().map_or("", |seen| seen.title.as_str())),
    ]
}

/// The cells of an action of a person: what is a model's stays empty.
fn person(episode: &Episode<'_>, acted: &PersonAct) -> Vec<String> {
    let (row, sent) = (episode.row, &acted.act.sent);
    let point = sent_point(Some(sent));
    let (outcome, problem) = told(&acted.act.outcome);
    let empty = String::new;
    let step = episode.turns.get(acted.turn).map(|turn| turn.step.to_string());
    let mut cells = vec![
        text(row.run.as_str()),
        text(row.trial.as_str()),
        row.attempt.to_string(),
        text(row.task.as_str()),
        text(&row.arm),
        step.unwrap_or_default(),
        empty(),
        text(&word_of(sent, "do")),
        text(&sent.text(ActionDetail::Line)),
        point.map(|point| point.x.to_string()).unwrap_or_default(),
        point.map(|point| point.y.to_string()).unwrap_or_default(),
    ];
    // The model's point, the target.
    cells.extend(std::iter::repeat_with(empty).take(4));
    cells.extend([outcome, text(&problem)]);
    // Title, pictures, and what a turn costs.
    cells.extend(std::iter::repeat_with(empty).take(7));
    cells.extend([acted.at.to_string(), "person".to_owned()]);
    cells
}

/// The cells of a turn, which stand beside its first action.
fn costs(turn: &Turn) -> [String; 5] {
    [
        text(&turn.say.join("\n")),
        turn.usage.input.to_string(),
        turn.usage.output.to_string(),
        number(turn.cost_usd),
        turn.asked.to_string(),
    ]
}

fn picture(seen: Option<&Seen>, out: &mut OutFolder, blobs: &Blobs) -> Result<String, FolderError> {
    let Some(hash) = seen.and_then(|seen| seen.screenshot.as_ref()) else { return Ok(String::new()) };
    Ok(match shown(&PictureRef::screenshot(hash), out, blobs)? {
        Ok(path) => path.unwrap_or_default(),
        Err(why) => why,
    })
}

fn sent_point(
    action: Option<&Action<apprentice_protocol::ScreenPoint>>,
) -> Option<apprentice_protocol::ScreenPoint> {
    match action?.target()? {
        Target::Point(point) => Some(*point),
        Target::Ref(_) => None,
    }
}

fn asked_point(action: &Action<ImagePoint>) -> Option<ImagePoint> {
    match action {
        Action::Drag { path, .. } => path.first().copied(),
        other => match other.target()? {
            Target::Point(point) => Some(*point),
            Target::Ref(_) => None,
        },
    }
}

fn told(outcome: &ActionOutcome) -> (String, String) {
    match outcome {
        ActionOutcome::Done { .. } => ("done".to_owned(), String::new()),
        ActionOutcome::Failed { problem } => ("failed".to_owned(), problem.clone()),
        ActionOutcome::NotExecuted => ("not_executed".to_owned(), String::new()),
    }
}

fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn word_of(value: &impl Serialize, field: &str) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value[field].as_str().unwrap_or_default().to_owned()
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A text that a spreadsheet shows and never computes: what would begin a formula gets an apostrophe in front.
pub(super) fn text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

/// One record with its line break. Writing to memory cannot fail.
fn record(cells: &[String]) -> String {
    let mut writer: CsvWriter<Vec<u8>> = WriterBuilder::new().from_writer(Vec::new());
    let written: Result<Vec<u8>, io::Error> = writer
        .write_record(cells)
        .map_err(io::Error::from)
        .and_then(|()| writer.into_inner().map_err(|error| io::Error::other(error.to_string())));
    String::from_utf8(written.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{STEPS, TRIALS, record, text};

    #[test]
    fn a_spreadsheet_computes_nothing() {
        for formula in ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(text(formula).starts_with('\''), "{formula:?}");
        }
        assert_eq!(text("a=1"), "a=1");
    }

    #[test]
    fn a_cell_may_hold_anything() {
        let line = record(&["a,b".into(), "c\"d".into(), "e\nf".into()]);
        assert_eq!(line, "\"a,b\",\"c\"\"d\",\"e\nf\"\n");
        let unique = |names: &[&str]| names.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((unique(&TRIALS), unique(&STEPS)), (TRIALS.len(), STEPS.len()));
    }
}
