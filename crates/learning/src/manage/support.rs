//! Which writes an item permits at once, and which need citations. The rules in order: whatever conflicts permits a note;
//! new knowledge from a passed attempt may be created, and may add lines to a page; everything that replaces, merges or
//! removes a text, and every suspicion, needs separate attempts of which a reader says that they agree, or steps of this
//! attempt that prove a correction; everything else permits a note.

use apprentice_protocol::{SkillId, StepId};
use apprentice_skillbook::State;
use apprentice_skillbook::review::{Confidence, IssueType, Learning, SkillReview};

use super::item::{Corroboration, StepDone};
use super::tools::{
    ANNOTATE_SKILL, CREATE_DOMAIN, CREATE_SKILL, DELETE_SKILL, LEAVE_ITEM, MERGE_SKILLS, UPDATE_SKILL,
};
use super::work_item::ManageOptions;
use crate::adherence::adherence;
use crate::apply_reviews::LearningInput;
use crate::cleanup::{CleanupOptions, CleanupTask};

/// Largest number of steps that an item shows as possible proof: the last ones.
const MAX_STEPS: usize = 40;

/// The changes that an item permits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Support {
    pub(super) corroboration: Corroboration,
    pub(super) writes: Vec<&'static str>,
    pub(super) cited_writes: Vec<&'static str>,
    pub(super) adding: bool,
    /// The steps that may be cited as proof.
    pub(super) steps: Vec<StepDone>,
}

/// Returns what a learning permits. A suspicion needs citations for whatever shows.
pub(super) fn of_learning(input: &LearningInput<'_>, learning: &Learning, needed: usize) -> Support {
    let is_confirmed = learning.confidence() > Confidence::Low;
    let mut writes = if is_confirmed { vec![CREATE_DOMAIN, CREATE_SKILL] } else { Vec::new() };
    let mut cited_writes = if is_confirmed { Vec::new() } else { vec![CREATE_DOMAIN, CREATE_SKILL] };
    writes.extend([ANNOTATE_SKILL, LEAVE_ITEM]);
    cited_writes.extend([UPDATE_SKILL, MERGE_SKILLS]);
    let corroboration =
        Corroboration { needed, this_attempt_passed: input.passed(), named_actions_done: None };
    Support { corroboration, writes, cited_writes, adding: is_confirmed, steps: Vec::new() }
}

/// Returns what a review of a skill permits.
pub(super) fn of_review(
    state: &State,
    input: &LearningInput<'_>,
    skill: &SkillId,
    review: &SkillReview,
    options: &ManageOptions,
) -> Support {
    let mut cited_writes = vec![UPDATE_SKILL];
    let existing = state.skills.get(skill);
    let counts = existing.map(|existing| existing.counts(Some(&input.trajectory.consumer)));
    let hopeless = counts.is_some_and(|counts| options.harm.holds(&counts));
    if hopeless {
        cited_writes.push(DELETE_SKILL);
    }
    let (named_actions_done, steps) = proof(input, review);
    let needed = options.corroboration;
    let corroboration = Corroboration { needed, this_attempt_passed: input.passed(), named_actions_done };
    Support { corroboration, writes: vec![ANNOTATE_SKILL, LEAVE_ITEM], cited_writes, adding: false, steps }
}

/// Returns what a cleanup task permits. Numbers of another class cannot support a decision that is reserved for the
/// class that the book is for.
pub(super) fn of_cleanup(task: &CleanupTask, options: &CleanupOptions, needed: usize) -> Support {
    let shown = task.shown_by_target(options);
    let (writes, cited_writes) = match task {
        CleanupTask::Duplicates { .. } => (vec![LEAVE_ITEM], vec![MERGE_SKILLS]),
        CleanupTask::NegativeHeavy { .. } if shown => {
            (vec![ANNOTATE_SKILL, LEAVE_ITEM], vec![UPDATE_SKILL, DELETE_SKILL])
        }
        CleanupTask::NegativeHeavy { .. } => (vec![ANNOTATE_SKILL, LEAVE_ITEM], vec![UPDATE_SKILL]),
        CleanupTask::LowFollowRate { .. } if shown => {
            (vec![ANNOTATE_SKILL, LEAVE_ITEM], vec![UPDATE_SKILL, DELETE_SKILL])
        }
        CleanupTask::LowFollowRate { .. } => (vec![ANNOTATE_SKILL, LEAVE_ITEM], Vec::new()),
    };
    let corroboration = Corroboration { needed, ..Corroboration::default() };
    Support { corroboration, writes, cited_writes, adding: false, steps: Vec::new() }
}

/// Returns, for a correction of wrong or outdated guidance, whether the actions that it names occur, and the steps of a
/// passed attempt that may prove it: those since the guidance was received in which something was done.
fn proof(input: &LearningInput<'_>, review: &SkillReview) -> (Option<bool>, Vec<StepDone>) {
    let SkillReview::Negative(review) = review else { return (None, Vec::new()) };
    let wrong = matches!(review.issue_type, IssueType::Incorrect | IssueType::Outdated);
    let Some(correction) = review.corrected_guidance.as_deref().filter(|_| wrong && input.passed()) else {
        return (None, Vec::new());
    };
    let received = input.trajectory.skills.iter().find(|skill| skill.id.as_str() == review.skill_id);
    let since = received.map_or(StepId(1), |skill| skill.step);
    let named = adherence(correction, &input.trajectory.steps, since).verdict();
    let mut steps: Vec<StepDone> = input
        .trajectory
        .steps
        .iter()
        .filter(|step| step.id >= since)
        .map(|step| {
            let done = step.actions.iter().filter(|action| action.outcome == "done");
            let did = done.map(|action| match (&action.role, &action.name) {
                (Some(role), Some(name)) => format!("{} {role} {name:?}", action.action),
                (None, Some(name)) => format!("{} {name:?}", action.action),
                (_, None) => action.action.clone(),
            });
            StepDone { id: step.id, did: did.collect() }
        })
        .filter(|step| !step.did.is_empty())
        .collect();
    let over = steps.len().saturating_sub(MAX_STEPS);
    steps.drain(..over);
    (named, steps)
}
