//! Summarizes learning from the book's log, the rows and the stored conversations, so that resumed and uninterrupted
//! experiments read the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_protocol::{Usage, Verdict};
use apprentice_skillbook::{At, Change, Operation, Skill, Snapshot, Stage, State};
use serde::Deserialize;

use super::ExperimentError;
use super::reviewer_quality::reviewer;
use crate::trial_identity::trajectory_id;
use apprentice_results::report::{CurvePoint, LearningSummary, SkillSummary, UnreviewedAttempt};
use apprentice_runs::layout::{LEARNING_FOLDER, SKILLBOOK_FOLDER};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows;

/// Window of attempts over which each point of the learning curve is averaged.
const CURVE_WINDOW: usize = 5;

/// A stored model conversation, with the fields that are counted.
#[derive(Deserialize)]
struct Conversation {
    reply: Reply,
}

#[derive(Deserialize)]
struct Reply {
    usage: Usage,
}

/// Summarizes what the experiment in `folder` learned from the attempts of its run in `run`. Trace paths of the rows
/// are relative to the experiment's folder.
pub(super) fn summary(
    folder: &Path,
    run: &Path,
    rows: &[TrialRow],
    epochs: u32,
) -> Result<LearningSummary, ExperimentError> {
    let book = &folder.join(SKILLBOOK_FOLDER);
    let log = OperationLog::read(book)?;
    let mut reviews: BTreeMap<String, u32> = BTreeMap::new();
    for (_, review) in log.state.reflections.values().flat_map(|checked| &checked.reviews) {
        *reviews.entry(review.kind().to_owned()).or_default() += 1;
    }
    Ok(LearningSummary {
        epochs,
        trajectories: u32::try_from(log.sizes.len()).unwrap_or(u32::MAX),
        unread: unread(&run.join(LEARNING_FOLDER), &log, rows)?,
        reviews,
        skills: if book.is_dir() { skills(book)? } else { Vec::new() },
        curve: curve(&log, rows),
        operations: log.writes,
        updated_by_reviews: log.updated_by_reviews,
        cleanup_tasks: u32::try_from(log.cleanups.len()).unwrap_or(u32::MAX),
        tokens: tokens(&run.join(LEARNING_FOLDER))?,
        cost_usd: None,
        reviewer: reviewer(&log.state, folder, rows),
    })
}

/// What is kept of a review that could not be read.
#[derive(Deserialize)]
struct KeptUnread {
    attempt: String,
    unread: KeptReason,
}

#[derive(Deserialize)]
struct KeptReason {
    why: String,
}

/// Lists the judged attempts that the book did not learn from, with the reasons kept in `folder`.
pub(super) fn unread(
    folder: &Path,
    log: &OperationLog,
    rows: &[TrialRow],
) -> Result<Vec<UnreviewedAttempt>, ExperimentError> {
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for path in stored_files(folder) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("unread-")) {
            let text = apprentice_files::read_to_string(&path)
                .map_err(|source| ExperimentError::Read { path: path.clone(), source })?;
            let kept: KeptUnread = serde_json::from_str(&text)
                .map_err(|error| ExperimentError::Read { path, source: error.into() })?;
            reasons.insert(kept.attempt, kept.unread.why);
        }
    }
    let trials = rows::trials(rows);
    let mut judged: Vec<&TrialRow> = trials.iter().map(|trial| trial.last).collect();
    judged.retain(|row| row.verdict != Verdict::Void);
    judged.sort_by_key(|row| row.order);
    let missing = judged.into_iter().filter_map(|row| {
        let attempt = trajectory_id(row);
        let why = reasons.get(&attempt).cloned();
        let why = why.unwrap_or_else(|| "learning was stopped before its review".to_owned());
        let task = row.task.clone();
        (!log.sizes.contains_key(&attempt)).then_some(UnreviewedAttempt { attempt, task, why })
    });
    Ok(missing.collect())
}

/// The files of a folder; none if there is no folder.
fn stored_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn skills(book: &Path) -> Result<Vec<SkillSummary>, ExperimentError> {
    let book = Snapshot::open(book, At::Now)?;
    let summary = |skill: &Skill| SkillSummary {
        skill: skill.id.to_string(),
        situation: skill.text.situation.lines().next().unwrap_or_default().to_owned(),
        version: skill.version,
        status: "active".into(),
    };
    Ok(book.skills().map(summary).collect())
}

/// The book's operation log, folded.
#[derive(Default)]
pub(super) struct OperationLog {
    pub(super) state: State,
    /// Skill changes, by name.
    writes: BTreeMap<String, u32>,
    /// Updates caused by reviews.
    updated_by_reviews: u32,
    /// Decided cleanup tasks, as (trajectory, item).
    cleanups: BTreeSet<(String, String)>,
    /// Number of skills in the book after each trajectory.
    pub(super) sizes: BTreeMap<String, usize>,
}

impl OperationLog {
    pub(super) fn read(book: &Path) -> Result<Self, ExperimentError> {
        let path = book.join(".meta/ops.jsonl");
        let mut log = Self::default();
        let text = match apprentice_files::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(log),
            Err(source) => return Err(ExperimentError::Read { path, source }),
        };
        // Unreadable lines are reported by the book's own reader; they are skipped here.
        for operation in text.lines().filter_map(|line| Operation::from_line(line).ok()) {
            log.state.apply(&operation);
            if let Some(written) = written(&operation) {
                *log.writes.entry(written).or_default() += 1;
            }
            let Some(cause) = &operation.cause else { continue };
            match (&operation.change, cause.stage) {
                (Change::TrajectoryLearned, _) => {
                    log.sizes.insert(cause.trajectory.clone(), log.state.skills.len());
                }
                (Change::SkillUpdated { .. }, Stage::Manage) if cause.item.starts_with("review:") => {
                    log.updated_by_reviews += 1;
                }
                (
                    Change::CleanupFlagged { .. }
                    | Change::CleanupByWords { .. }
                    | Change::SuspicionKept { .. }
                    | Change::ItemHeldBack { .. },
                    _,
                ) => {}
                (_, Stage::Clean) if !cause.item.is_empty() => {
                    log.cleanups.insert((cause.trajectory.clone(), cause.item.clone()));
                }
                _ => {}
            }
        }
        Ok(log)
    }
}

/// Names the change that an operation made to a skill; `None` if the skill's text did not change.
fn written(operation: &Operation) -> Option<String> {
    let named = serde_json::to_value(&operation.change).ok()?;
    let word = named.get("op")?.as_str()?.strip_prefix("skill.")?;
    (word != "reviewed").then(|| word.to_owned())
}

/// The success rate and steps of the last few attempts at each point, with the number of skills in the book.
fn curve(log: &OperationLog, learning: &[TrialRow]) -> Vec<CurvePoint> {
    let trials = rows::trials(learning);
    let mut in_order: Vec<&TrialRow> = trials.iter().map(|trial| trial.last).collect();
    in_order.sort_by_key(|row| row.order);
    let mut curve: Vec<CurvePoint> = Vec::new();
    for (place, row) in in_order.iter().enumerate() {
        let before = curve.last().map_or(0, |point| point.skills);
        let skills = log.sizes.get(&trajectory_id(row)).map(|size| u32::try_from(*size).unwrap_or(u32::MAX));
        let around = &in_order[(place + 1).saturating_sub(CURVE_WINDOW)..=place];
        let judged = || around.iter().filter(|row| row.verdict != Verdict::Void);
        let passed = |row: &&&TrialRow| if row.verdict == Verdict::Pass { 1.0 } else { 0.0 };
        curve.push(CurvePoint {
            trajectories: u32::try_from(place + 1).unwrap_or(u32::MAX),
            skills: skills.unwrap_or(before),
            success: apprentice_results::stats::mean(judged().map(|row| passed(&row))).unwrap_or(0.0),
            world_steps: apprentice_results::stats::mean(judged().map(|row| f64::from(row.world_steps)))
                .unwrap_or(0.0),
        });
    }
    curve
}

/// Sums the tokens of all stored conversations.
fn tokens(folder: &Path) -> Result<Usage, ExperimentError> {
    let mut sum = Usage::default();
    for path in stored_files(folder) {
        let text = apprentice_files::read_to_string(&path)
            .map_err(|source| ExperimentError::Read { path: path.clone(), source })?;
        if let Ok(conversation) = serde_json::from_str::<Conversation>(&text) {
            sum += conversation.reply.usage;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Verdict;

    use super::{OperationLog, unread};
    use crate::sample;
    use crate::trial_identity::trajectory_id;

    #[test]
    fn judged_attempts_that_taught_nothing_are_listed_with_the_kept_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let row = |seed, verdict| sample::row("pull", "save-as", "one", seed, verdict);
        let rows =
            [row(0, Verdict::Pass), row(1, Verdict::Fail), row(2, Verdict::Pass), row(3, Verdict::Void)];
        let mut log = OperationLog::default();
        log.sizes.insert(trajectory_id(&rows[0]), 3);
        let list = || unread(folder.path(), &log, &rows).expect("reads");
        let told = || list().into_iter().map(|one| (one.attempt, one.why)).collect::<Vec<_>>();
        let stopped = "learning was stopped before its review".to_owned();
        let both = [trajectory_id(&rows[1]), trajectory_id(&rows[2])];
        assert_eq!(told(), both.clone().map(|attempt| (attempt, stopped.clone())));
        // The reason of an attempt that was learned from later is no longer told.
        for (place, row) in [(0, &rows[0]), (1, &rows[1])] {
            let kept = serde_json::json!({ "attempt": trajectory_id(row), "unread": { "why": "no JSON", "problems": [] } });
            let path = folder.path().join(format!("unread-{place}.json"));
            std::fs::write(path, kept.to_string()).expect("written");
        }
        let [one, other] = both;
        assert_eq!(told(), [(one, "no JSON".to_owned()), (other, stopped)]);
        std::fs::write(folder.path().join("unread-2.json"), "{").expect("written");
        assert!(unread(folder.path(), &log, &rows).is_err(), "a broken record is told");
    }
}
