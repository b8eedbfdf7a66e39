//! Translates the log of a book into skill events: what happened to which skill, in which run and step, who did it, and
//! the states of the book before and after.

use std::collections::BTreeSet;

use apprentice_protocol::{SkillEventKind, SkillId, StepId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::blame::steps;
use super::snapshot::Snapshot;
use crate::log::change::Change;
use crate::log::operation::Operation;
use crate::read::verification::verified_skills;
use crate::replay::state::State;
use crate::skill::model::{Actor, OpId};

/// One skill event, derived from the log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BookEvent {
    /// The operation that caused the event.
    pub id: OpId,
    /// Time of the operation.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// The kind of event.
    pub event: SkillEventKind,
    /// Author of the operation.
    pub actor: Actor,
    /// The run of the attempt behind the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The attempt behind the operation, as `<run>/<trial>/<attempt>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<String>,
    /// Steps of that attempt that support the operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepId>,
    /// The skill concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// The skill's version after the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The domain, if the operation opened one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// SHA-256 of the log before the operation.
    pub book_before: String,
    /// SHA-256 of the log after the operation.
    pub book_after: String,
}

/// A kind of event with the skill or domain that it concerns.
struct EventFact {
    event: SkillEventKind,
    skill: Option<SkillId>,
    domain: Option<String>,
}

impl EventFact {
    fn of_skill(event: SkillEventKind, skill: &SkillId) -> Self {
        Self { event, skill: Some(skill.clone()), domain: None }
    }
}

/// Returns the events of a change, each with the skill or domain that it concerns.
fn skill_events(change: &Change, state: &State) -> Vec<EventFact> {
    use SkillEventKind::{
        Annotated, CleanupFlagged, CleanupKept, Created, DomainCreated, Merged, Proposed, Refused, Resumed,
        Reviewed, Suspended, Tombstoned, Updated,
    };
    let of = EventFact::of_skill;
    let opened = |domain: &crate::NewDomain| EventFact {
        event: DomainCreated,
        skill: None,
        domain: Some(domain.domain.clone()),
    };
    match change {
        Change::DomainCreated(domain) => vec![opened(domain)],
        Change::SkillCreated { skill, domain, .. } => {
            domain.iter().map(opened).chain([of(Created, skill)]).collect()
        }
        Change::SkillPublished { skill, domain, .. } => {
            let happening = if state.skills.contains_key(skill) { Updated } else { Created };
            domain.iter().map(opened).chain([of(happening, skill)]).collect()
        }
        Change::SkillUpdated { skill, .. }
        | Change::SkillEdited { skill, .. }
        | Change::SkillRenamed { to: skill, .. }
        | Change::FunctionWritten { skill, .. }
        | Change::FunctionRetired { skill, .. } => vec![of(Updated, skill)],
        Change::SkillMerged { source, target, .. } => vec![of(Merged, source), of(Updated, target)],
        Change::SkillAnnotated { skill, .. } => vec![of(Annotated, skill)],
        Change::SkillDeleted { skill } => vec![of(Tombstoned, skill)],
        Change::SkillSuspended { skill, .. } => vec![of(Suspended, skill)],
        Change::SkillResumed { skill } => vec![of(Resumed, skill)],
        Change::SkillReviewed { skill, .. } => vec![of(Reviewed, skill)],
        Change::PairKept { skills, .. } => skills.iter().map(|skill| of(CleanupKept, skill)).collect(),
        Change::Reverted { skills, .. } => {
            let back = |content: bool| if content { Updated } else { Tombstoned };
            skills.iter().map(|restored| of(back(restored.content.is_some()), &restored.skill)).collect()
        }
        Change::CleanupFlagged { skills, .. } => {
            skills.iter().map(|skill| of(CleanupFlagged, skill)).collect()
        }
        Change::WriteProposed { change, .. } => {
            change.skills().into_iter().map(|skill| of(Proposed, skill)).collect()
        }
        Change::ProposalRefused { proposal, .. } => {
            let of_it =
                state.proposals.get(proposal).map(|waiting| waiting.change.skills()).unwrap_or_default();
            of_it.into_iter().map(|skill| of(Refused, skill)).collect()
        }
        Change::TrajectoryReflected { .. }
        | Change::CleanupByWords { .. }
        | Change::CandidateRecorded { .. }
        | Change::ItemClosed { .. }
        | Change::TrajectoryLearned
        | Change::SkillsTried { .. }
        | Change::CleanupFinished
        | Change::PackageAttached { .. }
        | Change::FunctionTested { .. }
        | Change::AttemptJudged(_)
        | Change::SuspicionKept { .. }
        | Change::ItemHeldBack { .. }
        | Change::Unknown { .. } => Vec::new(),
    }
}

/// Returns a quarantine event for each new text. A new text is unproved and is withheld where only proved skills are
/// provided.
fn quarantines(facts: &[EventFact]) -> Vec<EventFact> {
    let new = |fact: &&EventFact| matches!(fact.event, SkillEventKind::Created | SkillEventKind::Updated);
    let skills = facts.iter().filter(new).filter_map(|fact| fact.skill.as_ref());
    skills.map(|skill| EventFact::of_skill(SkillEventKind::Quarantined, skill)).collect()
}

fn hex(hash: &Sha256) -> String {
    hex::encode(hash.clone().finalize())
}

impl Snapshot {
    /// Returns all events of the book, oldest first.
    pub fn events(&self) -> Vec<BookEvent> {
        let mut state = State::default();
        let mut hash = Sha256::new();
        let mut verified = BTreeSet::new();
        let mut events = Vec::new();
        for line in self.log_bytes().split_inclusive(|byte| *byte == b'\n') {
            let before = hex(&hash);
            hash.update(line);
            let text = std::str::from_utf8(line).ok().map(str::trim_end);
            let Some(operation) = text.and_then(|text| Operation::from_line(text).ok()) else { continue };
            let mut facts = skill_events(&operation.change, &state);
            state.apply(&operation);
            facts.extend(quarantines(&facts));
            if let Change::SkillsTried { .. } = operation.change {
                let now = verified_skills(&state);
                facts.extend(
                    now.difference(&verified)
                        .map(|skill| EventFact::of_skill(SkillEventKind::Verified, skill)),
                );
                verified = now;
            }
            let after = hex(&hash);
            events.extend(
                facts
                    .into_iter()
                    .map(|fact| event_of(&operation, &state, fact, [before.clone(), after.clone()])),
            );
        }
        events
    }
}

fn event_of(
    operation: &Operation,
    state: &State,
    fact: EventFact,
    [book_before, book_after]: [String; 2],
) -> BookEvent {
    let EventFact { event, skill, domain } = fact;
    let trajectory = operation.cause.as_ref().map(|cause| cause.trajectory.clone());
    let run = trajectory.as_ref().and_then(|id| id.split_once('/')).map(|(run, _)| run.to_owned());
    let existing = skill.as_ref().and_then(|id| state.skills.get(id));
    BookEvent {
        id: operation.id,
        time: operation.time,
        event,
        actor: operation.actor,
        run,
        steps: steps(state, operation),
        version: existing.map(|skill| skill.version),
        trajectory,
        skill,
        domain,
        book_before,
        book_after,
    }
}
