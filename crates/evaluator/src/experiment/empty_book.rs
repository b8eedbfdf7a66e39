//! What is said of a book that learning left empty: before its measurement is paid for, and first of all in the report.

use std::path::Path;

use apprentice_protocol::{Verdict, counted};
use apprentice_results::report::LearningSummary;
use apprentice_runs::latest_run;
use apprentice_runs::layout::{LEARNING_FOLDER, SKILLBOOK_FOLDER};
use apprentice_runs::row::TrialRow;

use super::learning_summary::{OperationLog, unread};
use super::{BookSource, Experiment, ExperimentDeps, ExperimentError};
use apprentice_skillbook::Snapshot;

/// Stops before arms over an empty book are measured, unless that is wanted.
pub(super) fn refuse(
    experiment: &Experiment,
    deps: &ExperimentDeps,
    folder: &Path,
    book: &Snapshot,
    learned: &[TrialRow],
) -> Result<(), ExperimentError> {
    let is_learned = matches!(experiment.book, BookSource::Learned(_));
    let is_lent = experiment.arms.iter().any(|arm| arm.needs_book());
    if !is_learned || !is_lent || deps.measures_empty_book || book.skills().next().is_some() {
        return Ok(());
    }
    let log = OperationLog::read(&folder.join(SKILLBOOK_FOLDER))?;
    let unread = match latest_run(&folder.join(LEARNING_FOLDER)) {
        Some(run) => unread(&run.join(LEARNING_FOLDER), &log, learned)?,
        None => Vec::new(),
    };
    let why = told(folder, log.sizes.len(), unread.first().map(|one| (unread.len(), one.why.as_str())), &log);
    let voids = learned.iter().filter(|row| row.verdict == Verdict::Void).count();
    let all_void = voids > 0 && voids == learned.len();
    let why = match all_void {
        true => format!("the book is empty: {} to learn from, none with a result", counted(voids, "attempt")),
        false => why,
    };
    Err(ExperimentError::EmptyBook { why, all_void, folder: folder.to_owned() })
}

/// The first note of a report whose book is empty.
pub(super) fn note(folder: &Path, learning: &LearningSummary) -> Result<Option<String>, ExperimentError> {
    if !learning.skills.is_empty() {
        return Ok(None);
    }
    let log = OperationLog::read(&folder.join(SKILLBOOK_FOLDER))?;
    let unread = learning.unread.first().map(|one| (learning.unread.len(), one.why.as_str()));
    Ok(Some(told(folder, log.sizes.len(), unread, &log)))
}

fn told(folder: &Path, learned: usize, unread: Option<(usize, &str)>, log: &OperationLog) -> String {
    let (missing, why) = unread.unwrap_or_default();
    let mut parts = vec![format!(
        "the book is empty: learning from {} wrote no skill",
        counted(learned + missing, "attempt")
    )];
    if missing > 0 {
        parts.push(format!("{missing} gave no usable review ({why})"));
    }
    let kinds = log.state.reflections.values().map(|checked| checked.reviews.len()).sum::<usize>();
    if kinds == 0 && learned > 0 {
        parts.push(format!("{learned} reviewed, with nothing new to learn"));
    }
    match log.state.proposals.len() {
        0 => {}
        waiting => {
            let wait = if waiting == 1 { "waits" } else { "wait" };
            let book = folder.join(SKILLBOOK_FOLDER);
            let book = book.display();
            parts.push(format!(
                "{} {wait} for a person (`APPRENTICE_SKILLBOOK={book} apprentice skills proposals`)",
                counted(waiting, "change")
            ));
        }
    }
    parts.join("; ")
}
