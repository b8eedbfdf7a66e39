//! Determines how well supported an item is, and which writes that permits. The program counts the support; a model
//! never guesses it. The rules in order: a conflict permits a note; separate attempts that agree permit a change; an
//! attempt that proved its correction permits a change; everything else permits a note.

use std::collections::BTreeSet;

use apprentice_protocol::{SkillId, StepId};

use super::item::Corroboration;
use super::tools::{ANNOTATE_SKILL, CREATE_DOMAIN, CREATE_SKILL, DELETE_SKILL, MERGE_SKILLS, UPDATE_SKILL};
use crate::adherence::adherence;
use crate::book::{ReviewRemark, State};
use crate::cleanup::{CleanupOptions, negative_heavy};
use crate::handle::LearningInput;
use crate::reflect::{Confidence, IssueType, Learning, NotFollowedReason, SkillReview};
use crate::words::{domain_name, word_similarity};

/// Similarity from which two texts say the same.
const AGREE_SIMILARITY: f64 = 0.6;
/// Similarity below which two corrections contradict each other.
const CONFLICT_SIMILARITY: f64 = 0.25;

/// The support of an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Support {
    pub(super) corroboration: Corroboration,
    pub(super) writes: Vec<&'static str>,
    pub(super) confidence: Option<Confidence>,
}

/// Returns the support of a learning: attempts whose candidates say the same. Two of them, at least one of which
/// passed, raise a suspicion to medium confidence.
pub(super) fn learning_support(
    state: &State,
    input: &LearningInput<'_>,
    learning: &Learning,
    needed: usize,
) -> Support {
    let domain = domain_name(learning.scope());
    let said = |learning: &Learning| format!("{} {}", learning.situation(), learning.guidance());
    let agreeing: Vec<_> = state
        .candidates
        .iter()
        .filter(|candidate| candidate.trajectory != input.trajectory.id)
        .filter(|candidate| domain_name(candidate.learning.scope()) == domain)
        .filter(|candidate| word_similarity(&said(&candidate.learning), &said(learning)) >= AGREE_SIMILARITY)
        .collect();
    let others: BTreeSet<&str> = agreeing.iter().map(|candidate| candidate.trajectory.as_str()).collect();
    let reports = others.len() + 1;
    let passed = input.passed() || agreeing.iter().any(|candidate| candidate.passed);
    let lifted = learning.confidence() == Confidence::Low && reports >= needed && passed;
    let confidence = if lifted { Confidence::Medium } else { learning.confidence() };
    let writes = match confidence {
        Confidence::Low => vec![ANNOTATE_SKILL],
        Confidence::Medium | Confidence::High => {
            vec![CREATE_DOMAIN, CREATE_SKILL, UPDATE_SKILL, MERGE_SKILLS, ANNOTATE_SKILL]
        }
    };
    let proven_here = input.passed() && !learning.evidence().is_empty();
    let corroboration = Corroboration { reports, needed, conflicts: false, proven_here };
    Support { corroboration, writes, confidence: Some(confidence) }
}

/// Returns the support of a review: other attempts' reviews of the same text.
pub(super) fn review_support(
    state: &State,
    input: &LearningInput<'_>,
    (skill, review): (&SkillId, &SkillReview),
    needed: usize,
) -> Support {
    let known = state.skills.get(skill);
    let remarks: Vec<&ReviewRemark> = known
        .map(|known| known.remarks.iter().filter(|remark| remark.version == known.version).collect())
        .unwrap_or_default();
    let others = || remarks.iter().filter(|remark| remark.trajectory != input.trajectory.id);
    let agreeing: BTreeSet<&str> = others()
        .filter(|remark| agrees(&remark.review, review))
        .map(|remark| remark.trajectory.as_str())
        .collect();
    let reports = agreeing.len() + 1;
    let conflicts = others().any(|remark| contradicts(&remark.review, review));
    let proven_here = input.passed() && correction_proved(input, review);
    let mut writes = vec![ANNOTATE_SKILL];
    if !conflicts && (reports >= needed || proven_here) {
        writes.insert(0, UPDATE_SKILL);
    }
    let hopeless = known.is_some_and(|known| {
        negative_heavy(&known.counts(Some(&input.trajectory.consumer)), &CleanupOptions::default())
    });
    if hopeless {
        writes.push(DELETE_SKILL);
    }
    let corroboration = Corroboration { reports, needed, conflicts, proven_here };
    Support { corroboration, writes, confidence: None }
}

/// Returns whether the attempt did what a correction of wrong or outdated guidance says, after the guidance had failed.
fn correction_proved(input: &LearningInput<'_>, review: &SkillReview) -> bool {
    let SkillReview::Negative(review) = review else { return false };
    let wrong = matches!(review.issue_type, IssueType::Incorrect | IssueType::Outdated);
    let Some(correction) = review.corrected_guidance.as_deref().filter(|_| wrong) else { return false };
    let received = input.trajectory.skills.iter().find(|skill| skill.id.as_str() == review.skill_id);
    let since = received.map_or(StepId(1), |skill| skill.step);
    matches!(adherence(correction, &input.trajectory.steps, since).verdict(), Some(true))
}

/// Returns the alternative that a review proposes.
fn proposal(review: &SkillReview) -> Option<&str> {
    match review {
        SkillReview::Positive(_) => None,
        SkillReview::Negative(review) => review.corrected_guidance.as_deref(),
        SkillReview::Neutral(review) => review.suggested_improvement.as_deref(),
        SkillReview::NotFollowed(review) => review.alternative_used.as_deref(),
    }
}

fn seemed_wrong(review: &SkillReview) -> bool {
    matches!(review, SkillReview::Negative(_))
        || matches!(review, SkillReview::NotFollowed(review) if review.reason == NotFollowedReason::SeemedWrong)
}

fn agrees(earlier: &SkillReview, now: &SkillReview) -> bool {
    match (proposal(earlier), proposal(now)) {
        (Some(earlier), Some(now)) => word_similarity(earlier, now) >= AGREE_SIMILARITY,
        (None, None) => seemed_wrong(earlier) && seemed_wrong(now),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn contradicts(earlier: &SkillReview, now: &SkillReview) -> bool {
    let corrections = proposal(earlier).zip(proposal(now));
    seemed_wrong(earlier)
        && seemed_wrong(now)
        && corrections.is_some_and(|(earlier, now)| word_similarity(earlier, now) < CONFLICT_SIMILARITY)
}
