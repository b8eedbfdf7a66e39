//! Evaluates the reviewer: its coverage of received skills, its invented reviews, and its agreement with a rule-based
//! check of whether skills were followed. Reads the book's log and the traces only.

use std::path::Path;

use apprentice_learning::adherence::adherence;
use apprentice_protocol::{Trajectory, Verdict};
use apprentice_skillbook::State;
use apprentice_skillbook::review::{Checked, Dropped, SkillReview};
use apprentice_trace::Trace;

use crate::learn::trajectory;
use crate::trial_identity::trajectory_id;
use apprentice_results::report::ReviewerSummary;
use apprentice_results::stats::kappa;
use apprentice_runs::layout::EVENTS_FILE;
use apprentice_runs::row::TrialRow;

/// Evaluates the reviews in a book's log against the attempts whose traces lie below `folder`. Skips attempts whose
/// trace cannot be read.
pub(super) fn reviewer(state: &State, folder: &Path, rows: &[TrialRow]) -> ReviewerSummary {
    let mut sum = ReviewerSummary::default();
    for row in rows.iter().filter(|row| row.verdict != Verdict::Void) {
        let Some(checked) = state.reflections.get(&trajectory_id(row)) else { continue };
        count(&mut sum, checked, row.verdict == Verdict::Pass);
        if let Some(seen) = seen(folder, row) {
            agree(&mut sum, checked, &seen);
        }
    }
    sum.kappa = kappa([sum.both_followed, sum.only_reviewer, sum.only_detector, sum.neither]);
    sum
}

fn count(sum: &mut ReviewerSummary, checked: &Checked, passed: bool) {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    sum.received += number(checked.reviews.len() + checked.unreviewed.len());
    sum.reviewed += number(checked.reviews.len());
    let made_up = |dropped: &&Dropped| matches!(dropped, Dropped::UnknownSkill { .. });
    sum.invented += number(checked.dropped.iter().filter(made_up).count());
    for (_, review) in &checked.reviews {
        match (review, passed) {
            (SkillReview::Positive(_), true) => sum.positive_on_pass += 1,
            (SkillReview::Positive(_), false) => sum.positive_on_fail += 1,
            (SkillReview::Negative(_), true) => sum.negative_on_pass += 1,
            (SkillReview::Negative(_), false) => sum.negative_on_fail += 1,
            (SkillReview::Neutral(_) | SkillReview::NotFollowed(_), _) => {}
        }
    }
}

/// Compares each review's follow verdict with the actions after the skill was received.
fn agree(sum: &mut ReviewerSummary, checked: &Checked, seen: &Trajectory) {
    for (id, review) in &checked.reviews {
        let Some(received) = seen.skills.iter().find(|skill| skill.id == *id) else { continue };
        let says = !matches!(review, SkillReview::NotFollowed(_));
        match (says, adherence(&received.text, &seen.steps, received.step).verdict()) {
            (true, Some(true)) => sum.both_followed += 1,
            (true, Some(false)) => sum.only_reviewer += 1,
            (false, Some(true)) => sum.only_detector += 1,
            (false, Some(false)) => sum.neither += 1,
            (_, None) => sum.undecided += 1,
        }
    }
}

fn seen(folder: &Path, row: &TrialRow) -> Option<Trajectory> {
    let trace = Trace::read(&folder.join(&row.trace).join(EVENTS_FILE)).ok()?;
    // App names and screen contents are not needed here.
    trajectory(&trace, row, Vec::new(), &|_| None).ok().map(|(seen, _)| seen)
}
