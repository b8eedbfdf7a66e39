//! The handler: deterministic processing of a reflection before a model is asked again. It counts every review first. A
//! table decides which reviews the manager sees.

use apprentice_protocol::{SkillId, Trajectory, Versions};
use apprentice_screening::effect::{Concern, concerns_about_report};
use apprentice_skillbook::review::{
    Checked, Confidence, Followed, IssueType, Learning, NotFollowedReason, SkillNotFollowed, SkillReview,
};
use apprentice_skillbook::{
    Actor, Cause, Change, Counts, Gateway, Stage, State, WriteRefusal, WriteRequest, held_back_cause,
    version_of,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::figure_source::FigureSource;
use crate::reflect::{Conversation, StepPicture};

/// Options for counting reviews.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandlerOptions {
    /// Contribution to `times_followed` of a skill that helped and was followed in part. Other kinds of partially
    /// followed reviews contribute one half.
    pub positive_partial_credit: f64,
}

impl Default for HandlerOptions {
    fn default() -> Self {
        Self { positive_partial_credit: 0.5 }
    }
}

/// The effect of one review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewEffect {
    /// Contribution to the counters.
    pub counts: Counts,
    /// Notes for the page.
    pub notes: Vec<String>,
    /// True if the manager sees the review.
    pub to_manager: bool,
}

/// The review table: maps one review to its effects.
pub fn review_effect(review: &SkillReview, options: &HandlerOptions) -> ReviewEffect {
    let credit = |followed, partial| match followed {
        Followed::Yes => 1.0,
        Followed::Partially => partial,
    };
    let mut effect = ReviewEffect {
        counts: Counts { times_requested: 1, ..Counts::default() },
        ..ReviewEffect::default()
    };
    match review {
        SkillReview::Positive(review) => {
            effect.counts.positive_impact = 1;
            effect.counts.times_followed = credit(review.followed, options.positive_partial_credit);
        }
        SkillReview::Neutral(review) => {
            effect.counts.neutral_impact = 1;
            effect.counts.times_followed = credit(review.followed, 0.5);
            effect.to_manager = review.suggested_improvement.is_some();
        }
        SkillReview::Negative(review) => {
            effect.counts.negative_impact = 1;
            effect.counts.times_followed = credit(review.followed, 0.5);
            effect.to_manager = review.corrected_guidance.is_some();
            if !effect.to_manager {
                effect.notes.push(format!("[{}] {}", review.issue_type.word(), review.what_went_wrong));
            }
        }
        SkillReview::NotFollowed(review) => not_followed(review, &mut effect),
    }
    effect
}

fn not_followed(review: &SkillNotFollowed, effect: &mut ReviewEffect) {
    match review.reason {
        NotFollowedReason::Irrelevant | NotFollowedReason::AlreadyKnew => {}
        NotFollowedReason::SeemedWrong => effect.to_manager = true,
        NotFollowedReason::ChoseAlternative => {
            effect.notes.push(format!("[chose_alternative] {}", review.explanation));
            effect.notes.extend(review.alternative_used.iter().map(|used| format!("[alternative] {used}")));
        }
    }
}

/// The input of learning: a trajectory and the timestamp of the resulting operations.
#[derive(Clone, Copy, Debug)]
pub struct LearningInput<'a> {
    /// The trajectory.
    pub trajectory: &'a Trajectory,
    /// End time of the attempt. It is the same however often the trajectory is processed.
    pub time: Timestamp,
    /// The conversation of the acting model, if it was kept.
    pub conversation: Option<&'a Conversation>,
    /// Pictures for a reviewer that sees, in order of precedence.
    pub pictures: &'a [StepPicture],
    /// Cuts figures from the attempt's pictures, if they are at hand.
    pub figures: Option<&'a dyn FigureSource>,
}

impl<'a> LearningInput<'a> {
    /// Returns the input for a trajectory without its conversation.
    pub fn new(trajectory: &'a Trajectory, time: Timestamp) -> Self {
        Self { trajectory, time, conversation: None, pictures: &[], figures: None }
    }
}

impl LearningInput<'_> {
    /// Returns whether the attempt is known to have passed. A model's opinion is no such knowledge.
    pub fn passed(&self) -> bool {
        self.trajectory.passed()
    }

    /// Returns a write request caused by this trajectory.
    pub(crate) fn request(&self, actor: Actor, stage: Stage, item: String, change: Change) -> WriteRequest {
        let cause = Cause { trajectory: self.trajectory.id.clone(), item, stage };
        // The cleaner decides by the content of the book. The versions that this attempt observed are irrelevant to it.
        let seen = if stage == Stage::Clean { Versions::new() } else { self.trajectory.versions.clone() };
        WriteRequest { cause: Some(cause), seen, ..WriteRequest::of(actor, self.time, change) }
    }
}

/// The record of a refused write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    /// The skill concerned, if any.
    pub skill: Option<SkillId>,
    /// The gateway's refusal code.
    pub code: String,
    /// Explanation.
    pub why: String,
}

/// Writes a change and turns a refusal into a record. A disk failure remains an error.
pub(crate) fn write(
    gateway: &mut Gateway,
    request: WriteRequest,
    skill: Option<&SkillId>,
    refusals: &mut Vec<Refusal>,
) -> Result<(), WriteRefusal> {
    match gateway.apply(request) {
        Ok(_) => Ok(()),
        Err(WriteRefusal::Refused { code, why }) => {
            refusals.push(Refusal { skill: skill.cloned(), code: code.to_owned(), why });
            Ok(())
        }
        Err(failed @ WriteRefusal::Book(_)) => Err(failed),
    }
}

/// The result of the handler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandlerResult {
    /// Reviews for the manager, with the skill id that the agent received.
    pub forward: Vec<(SkillId, SkillReview)>,
    /// Writes that were refused.
    pub refusals: Vec<Refusal>,
}

/// Counts every received skill, writes the notes of the table, and stores candidates.
pub fn apply_reviews(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    checked: &Checked,
    options: &HandlerOptions,
) -> Result<HandlerResult, WriteRefusal> {
    let HandlerResult { mut forward, mut refusals } = HandlerResult::default();
    for (received, review) in &checked.reviews {
        let effect = review_effect(review, options);
        let counted = CountedReview { received, review: Some(review), effect: &effect };
        count(gateway, input, &counted, &mut refusals)?;
        if effect.to_manager {
            forward.push((received.clone(), review.clone()));
        }
    }
    for received in &checked.unreviewed {
        let counts = Counts { times_requested: 1, times_unreviewed: 1, ..Counts::default() };
        let effect = ReviewEffect { counts, ..ReviewEffect::default() };
        let counted = CountedReview { received, review: None, effect: &effect };
        count(gateway, input, &counted, &mut refusals)?;
    }
    keep_candidates(gateway, input, checked, &mut refusals)?;
    Ok(HandlerResult { forward, refusals })
}

/// A received skill with its review, if it has one, and what they add.
struct CountedReview<'a> {
    received: &'a SkillId,
    review: Option<&'a SkillReview>,
    effect: &'a ReviewEffect,
}

/// Counts one received skill on the version that the agent received. A skill that was merged in the meantime counts on
/// its successor. A deleted skill is not counted.
fn count(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    counted: &CountedReview<'_>,
    refusals: &mut Vec<Refusal>,
) -> Result<(), WriteRefusal> {
    let CountedReview { received, review, effect } = *counted;
    let Some((skill, current)) = gateway.state().resolve(received).map(|now| (now.id.clone(), now.version))
    else {
        refusals.push(Refusal {
            skill: Some(received.clone()),
            code: "unknown_skill".to_owned(),
            why: "it was taken out of the book meanwhile; its review is dropped".to_owned(),
        });
        return Ok(());
    };
    let of_receipt = input.trajectory.skills.iter().find(|retrieved| retrieved.id == *received);
    let version = of_receipt.filter(|_| skill == *received).map_or(current, |retrieved| retrieved.version);
    let change = Change::SkillReviewed {
        skill: skill.clone(),
        version,
        consumer: input.trajectory.consumer.clone(),
        counts: effect.counts,
        review: review.cloned(),
        passed: input.passed(),
    };
    let request = input.request(Actor::Handler, Stage::Handle, format!("review:{received}"), change);
    write(gateway, request, Some(&skill), refusals)?;
    let mut held_back = Vec::new();
    for (index, change) in notes(&skill, effect, input).into_iter().enumerate() {
        let item = format!("note:{received}:{index}");
        let request = input.request(Actor::Handler, Stage::Handle, item, change);
        held_back.extend(concerns_about_report(&gateway.assess(&request)));
        write(gateway, request, Some(&skill), refusals)?;
    }
    note_held_back(gateway, input, &format!("review:{received}"), held_back)
}

/// Notes in the log that words of the handler about an item were held back, if any were.
fn note_held_back(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    item: &str,
    mut found: Vec<Concern>,
) -> Result<(), WriteRefusal> {
    if found.is_empty() {
        return Ok(());
    }
    found.sort_unstable();
    found.dedup();
    let change = Change::ItemHeldBack { found };
    let request = input.request(Actor::Handler, Stage::Handle, item.to_owned(), change);
    let cause = request.cause.clone().map(held_back_cause);
    gateway.apply(WriteRequest { cause, ..request }).map(|_| ())
}

/// Returns the notes of an effect, as changes of a skill.
fn notes(skill: &SkillId, effect: &ReviewEffect, input: &LearningInput<'_>) -> Vec<Change> {
    let note = |note: &String| {
        let note = with_version(note, skill, &input.trajectory.versions);
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(500).collect();
        Change::SkillAnnotated { skill: skill.clone(), note }
    };
    effect.notes.iter().map(note).collect()
}

/// Returns the notes that [`apply_reviews`] will write, so that readers can read them before.
pub(crate) fn coming_notes(
    state: &State,
    input: &LearningInput<'_>,
    checked: &Checked,
    options: &HandlerOptions,
) -> Vec<Change> {
    let noted = checked.reviews.iter().filter_map(|(received, review)| {
        let skill = &state.resolve(received)?.id;
        Some(notes(skill, &review_effect(review, options), input))
    });
    noted.flatten().collect()
}

/// Adds the program version, if known, to a note that says that the skill is outdated.
pub(crate) fn with_version(note: &str, skill: &SkillId, versions: &Versions) -> String {
    let head = format!("[{}]", IssueType::Outdated.word());
    match (note.strip_prefix(&head), version_of(versions, skill.domain())) {
        (Some(rest), Some((app, version))) => format!("{head} on {app} {version}:{rest}"),
        (None, _) | (_, None) => note.to_owned(),
    }
}

/// Stores every learning as a candidate, so that later attempts can be compared with it: first suspicions and learnings
/// over the cap, which wait for a second attempt, then the others.
fn keep_candidates(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    checked: &Checked,
    refusals: &mut Vec<Refusal>,
) -> Result<(), WriteRefusal> {
    let low = |learning: &&Learning| learning.confidence() == Confidence::Low;
    let waiting = checked.learnings.iter().filter(low).chain(&checked.overflow);
    for (index, learning) in waiting.enumerate() {
        let change = Change::CandidateRecorded { learning: learning.clone(), passed: input.passed() };
        let request = input.request(Actor::Learner, Stage::Handle, format!("candidate:{index}"), change);
        write(gateway, request, None, refusals)?;
    }
    for (index, learning) in checked.learnings.iter().enumerate().filter(|(_, learning)| !low(learning)) {
        let change = Change::CandidateRecorded { learning: learning.clone(), passed: input.passed() };
        let request = input.request(Actor::Learner, Stage::Handle, format!("learned:{index}"), change);
        write(gateway, request, None, refusals)?;
    }
    Ok(())
}
