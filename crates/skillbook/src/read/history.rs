//! The history of a book or of one skill, for display.

use std::collections::BTreeSet;

use apprentice_protocol::{JudgedBy, SkillId, Verdict};
use apprentice_screening::effect::Concern;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::log::change::Change;
use crate::log::citation::{Citation, LeftItem};
use crate::log::judgement::Judgement;
use crate::log::operation::Operation;
use crate::review::ReflectMode;
use crate::skill::function::{FunctionEvidence, FunctionTrial};
use crate::skill::model::{Actor, Cause, OpId};
use crate::skill::trial::ReceivedSkill;

const MAX_SUMMARY_CHARS: usize = 120;

/// One operation of the history.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Id of the operation.
    pub id: OpId,
    /// Time of the operation.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// Author of the operation.
    pub actor: Actor,
    /// Kind of the operation, by its name in the log.
    pub op: String,
    /// Skills that the operation concerns.
    pub skills: Vec<SkillId>,
    /// Cause of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The proposal that a person accepted with this operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<OpId>,
    /// The reports and steps that the operation cites.
    #[serde(skip_serializing_if = "Citation::is_empty")]
    pub citation: Citation,
    /// One-line summary of the change.
    pub summary: String,
}

/// Returns the operations of a book, oldest first. With `skill`, returns the operations of that skill under all names
/// that it had.
pub fn history(operations: &[Operation], skill: Option<&SkillId>) -> Vec<Entry> {
    let names = skill.map(|skill| names(operations, skill));
    let of_skill = |operation: &&Operation| match &names {
        Some(names) => operation.change.skills().iter().any(|skill| names.contains(*skill)),
        None => true,
    };
    operations.iter().filter(of_skill).map(entry).collect()
}

/// Returns a skill's current and former names.
fn names(operations: &[Operation], skill: &SkillId) -> BTreeSet<SkillId> {
    let mut names = BTreeSet::from([skill.clone()]);
    for operation in operations.iter().rev() {
        if let Change::SkillRenamed { from, to } = &operation.change
            && names.contains(to)
        {
            names.insert(from.clone());
        }
    }
    names
}

fn entry(operation: &Operation) -> Entry {
    Entry {
        id: operation.id,
        time: operation.time,
        actor: operation.actor,
        op: operation.change.name().to_owned(),
        skills: operation.change.skills().into_iter().cloned().collect(),
        cause: operation.cause.clone(),
        accepts: operation.accepts,
        citation: operation.citation.clone(),
        summary: summary(&operation.change),
    }
}

fn judged(judgement: &Judgement) -> String {
    let verdict = match judgement.verdict {
        Some(Verdict::Pass) => "passed",
        Some(Verdict::Fail) => "failed",
        Some(Verdict::Void) | None => "no verdict",
    };
    let by = match judgement.by {
        JudgedBy::Checks => "by its checks",
        JudgedBy::Person => "by a person",
        JudgedBy::Model => "in a model's opinion",
        JudgedBy::Nobody => "nobody judged",
    };
    let why = if judgement.why.is_empty() { String::new() } else { format!(": {}", judgement.why) };
    format!("{verdict}, {by}{why}")
}

fn tried(skills: &[ReceivedSkill], passed: bool) -> String {
    let followed = skills.iter().filter(|tried| tried.followed == Some(true)).count();
    let ended = if passed { "passed" } else { "not known to have passed" };
    format!("{} received, {followed} of them followed, {ended}", skills.len())
}

fn reverted(operation: OpId, also: &[OpId]) -> String {
    let others: Vec<String> = also.iter().map(OpId::to_string).collect();
    if others.is_empty() {
        format!("{operation} is reverted")
    } else {
        format!("{operation} {} are reverted together", others.join(" "))
    }
}

fn summary(change: &Change) -> String {
    let text = match change {
        Change::DomainCreated(domain) => format!("{}: {}", domain.domain, domain.description),
        Change::SkillCreated { text, .. } => text.description.clone(),
        Change::SkillUpdated { description, situation, guidance, .. } => {
            let parts = [("description", description), ("situation", situation), ("guidance", guidance)];
            let given = parts.iter().filter(|(_, part)| part.is_some()).map(|(name, _)| *name);
            format!("new {}", given.collect::<Vec<_>>().join(", "))
        }
        Change::SkillEdited { .. } => "edited by hand".to_owned(),
        Change::SkillMerged { source, target, .. } => format!("{source} is merged into {target}"),
        Change::SkillAnnotated { note, .. } => note.clone(),
        Change::SkillDeleted { .. } => "deleted; its content stays in the log".to_owned(),
        Change::SkillRenamed { from, to } => format!("{from} is renamed to {to}"),
        Change::SkillReviewed { version, consumer, review, .. } => {
            let kind = review.as_ref().map_or("unreviewed", |review| review.kind());
            format!("{kind}, version {version}, received by {consumer}")
        }
        Change::TrajectoryReflected { mode, fallback, checked } => {
            let how = match (mode, fallback) {
                (ReflectMode::InContext, _) => ", in the attempt's own conversation".to_owned(),
                (ReflectMode::Fresh | ReflectMode::Given, Some(why)) => {
                    format!(", by a separate reader: {why}")
                }
                (ReflectMode::Fresh | ReflectMode::Given, None) => String::new(),
            };
            format!("{} reviews, {} learnings{how}", checked.reviews.len(), checked.learnings.len())
        }
        Change::CandidateRecorded { learning, .. } => learning.situation().to_owned(),
        Change::ItemClosed { left: Some(LeftItem { reason, why }), .. } => {
            format!("left as it is, {}: {why}", reason.word())
        }
        Change::ItemClosed { outcome, left: None } => outcome.clone(),
        Change::PairKept { skills, left, .. } => kept_apart(skills, left.as_ref()),
        Change::CleanupFlagged { finding, .. } => finding.clone(),
        Change::CleanupByWords { why } => format!("compared by words alone: {why}"),
        Change::TrajectoryLearned => "learning from the trajectory is complete".to_owned(),
        Change::SkillsTried { skills, passed, .. } => tried(skills, *passed),
        Change::CleanupFinished => "the cleanup is complete".to_owned(),
        Change::PackageAttached { package, .. } => {
            format!("{} files of the package {}", package.files.len(), package.name)
        }
        Change::SkillPublished { text, package, .. } => {
            format!("{} ({} files)", text.description, package.files.len())
        }
        Change::FunctionWritten { function, .. } => format!("the function {function}"),
        Change::FunctionTested { function, version, evidence, .. } => tested(function, *version, evidence),
        Change::FunctionRetired { function, why, .. } => format!("the function {function} is retired: {why}"),
        Change::Reverted { operation, also, .. } => reverted(*operation, also),
        Change::WriteProposed { change, .. } => format!("proposed: {}: {}", change.name(), summary(change)),
        Change::ProposalRefused { proposal, why } => format!("{proposal} is refused. {why}"),
        Change::AttemptJudged(judgement) => judged(judgement),
        Change::SuspicionKept { why, .. } => why.clone(),
        Change::ItemHeldBack { found } => held_back(found),
        Change::SkillSuspended { why, .. } => format!("kept from agents until decided: {why}"),
        Change::SkillResumed { .. } => "given to agents again".to_owned(),
        Change::Unknown { .. } => "an operation of a later version".to_owned(),
    };
    one_line(&text)
}

/// Returns a text in one line, cut at the limit.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_SUMMARY_CHARS {
        line
    } else {
        line.chars().take(MAX_SUMMARY_CHARS - 1).chain(['…']).collect()
    }
}

fn held_back(found: &[Concern]) -> String {
    let found: Vec<&str> = found.iter().map(|concern| concern.word()).collect();
    format!("held back: {}", found.join(", "))
}

fn kept_apart([one, other]: &[SkillId; 2], left: Option<&LeftItem>) -> String {
    let why = left.map(|left| format!(", {}: {}", left.reason.word(), left.why));
    format!("{one} and {other} stay separate{}", why.unwrap_or_default())
}

fn tested(function: &str, version: u32, evidence: &FunctionEvidence) -> String {
    let what = match (evidence.trial, evidence.held) {
        (FunctionTrial::Replay, true) => "a replay with other arguments passed",
        (FunctionTrial::Replay, false) => "a replay failed",
        (FunctionTrial::NearMiss, true) => "a wrong argument failed, as it must",
        (FunctionTrial::NearMiss, false) => "a wrong argument passed",
        (FunctionTrial::Call, true) => "a call ran to its end",
        (FunctionTrial::Call, false) => "a call stopped",
    };
    let why = if evidence.why.is_empty() { String::new() } else { format!(": {}", evidence.why) };
    format!("{function}, version {version}: {what}{why}")
}
