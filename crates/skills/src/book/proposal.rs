//! Proposals: changes that wait for a person's approval. A proposal is an ordinary operation: the log contains it with
//! its cause, but it changes no page. Accepting it writes the change in its author's name. Refusals are remembered, so
//! that models cannot propose the same change again.

use std::collections::BTreeMap;
use std::str::FromStr;

use apprentice_protocol::{SkillId, Versions};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::difference::{SkillDifference, difference};
use super::gateway::{Applied, Gateway, WriteRefusal, WriteRequest};
use super::operation::{Actor, Cause, Change, OPERATION_VERSION, OpId};
use super::serialization::Operation;
use super::snapshot::Snapshot;
use super::state::{State, hash};
use super::validate::validate;
use super::version_evidence;

/// Whether writes of models take effect at once. Writes of people always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// Writes take effect at once.
    #[default]
    Auto,
    /// Writes wait until a person accepts them.
    Propose,
    /// Writes wait, and the command asks the person at the terminal before it ends.
    Approve,
}

/// The error for an unknown write mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a write mode; expected auto, propose or approve")]
pub struct WriteModeError(String);

impl FromStr for WriteMode {
    type Err = WriteModeError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "auto" => Ok(Self::Auto),
            "propose" => Ok(Self::Propose),
            "approve" => Ok(Self::Approve),
            other => Err(WriteModeError(other.to_owned())),
        }
    }
}

/// A change that waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// The operation that made the proposal.
    pub id: OpId,
    /// Time of the proposal.
    pub time: Timestamp,
    /// Author of the proposal.
    pub actor: Actor,
    /// Cause of the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Program versions that the proposal is based on.
    #[serde(skip_serializing_if = "Versions::is_empty")]
    pub seen: Versions,
    /// Versions of the affected skills that its author had read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<SkillId, u32>,
    /// The proposed change.
    #[serde(flatten)]
    pub change: Change,
}

/// Returns whether a change is visible on a page or creates a domain.
fn shows(change: &Change) -> bool {
    match change {
        Change::DomainCreated(_)
        | Change::SkillCreated { .. }
        | Change::SkillUpdated { .. }
        | Change::SkillEdited { .. }
        | Change::SkillMerged { .. }
        | Change::SkillAnnotated { .. }
        | Change::SkillDeleted { .. }
        | Change::SkillRenamed { .. }
        | Change::SkillPublished { .. } => true,
        Change::SkillReviewed { .. }
        | Change::TrajectoryReflected { .. }
        | Change::CandidateRecorded { .. }
        | Change::ItemClosed { .. }
        | Change::PairKept { .. }
        | Change::CleanupFlagged { .. }
        | Change::CleanupByWords { .. }
        | Change::TrajectoryLearned
        | Change::SkillsTried { .. }
        | Change::CleanupFinished
        | Change::PackageAttached { .. }
        | Change::Reverted { .. }
        | Change::WriteProposed { .. }
        | Change::ProposalRefused { .. }
        | Change::Unknown { .. } => false,
    }
}

/// Returns the identity of a proposal, for detecting duplicates. Equal texts are equal whatever version they are based
/// on and wherever their domain is created. A deletion includes the version of the deleted skill.
fn fingerprint(change: &Change, read: &BTreeMap<SkillId, u32>) -> String {
    let mut value = serde_json::to_value(change).unwrap_or_default();
    if let Some(data) = value.get_mut("data").and_then(|data| data.as_object_mut()) {
        data.remove("domain");
    }
    let of_version = matches!(change, Change::SkillDeleted { .. });
    let read = if of_version { format!("{read:?}") } else { String::new() };
    hash(format!("{value}{read}").as_bytes())
}

/// Returns the skill versions that a change depends on. A note depends on none.
fn base_versions(state: &State, change: &Change) -> BTreeMap<SkillId, u32> {
    if matches!(change, Change::SkillAnnotated { .. }) {
        return BTreeMap::new();
    }
    let version = |id: &SkillId| Some((id.clone(), state.skills.get(id)?.version));
    change.skills().into_iter().filter_map(version).collect()
}

impl State {
    /// Updates the proposals of the state: one is made, accepted or refused.
    pub(super) fn update_proposals(&mut self, operation: &Operation) {
        if let Some(proposal) = &operation.accepts {
            self.proposals.remove(proposal);
        }
        match &operation.change {
            Change::WriteProposed { change, read } => {
                let proposal = Proposal {
                    id: operation.id,
                    time: operation.time,
                    actor: operation.actor,
                    cause: operation.cause.clone(),
                    seen: operation.seen.clone(),
                    read: read.clone(),
                    change: (**change).clone(),
                };
                self.proposals.insert(operation.id, proposal.into());
            }
            Change::ProposalRefused { proposal, .. } => {
                if let Some(refused) = self.proposals.remove(proposal) {
                    self.refused.insert(fingerprint(&refused.change, &refused.read), operation.id);
                }
            }
            Change::Reverted { operation, .. } => self.refused.retain(|_, by| by != operation),
            _ => {}
        }
    }
}

impl Gateway {
    /// Returns whether a change must wait for approval. Refuses a change that a person refused before or that is
    /// already waiting.
    pub(super) fn must_wait(&self, actor: Actor, change: &Change) -> Result<bool, (&'static str, String)> {
        let state = self.state();
        if actor == Actor::Human || !shows(change) {
            return Ok(false);
        }
        if !state.refused.is_empty()
            && let Some(by) = state.refused.get(&fingerprint(change, &base_versions(state, change)))
        {
            return Err((
                "refused_before",
                format!("a person refused exactly this ({by}); leave it, or change it"),
            ));
        }
        if self.mode() == WriteMode::Auto {
            return Ok(false);
        }
        let same = |one: &Proposal| match (&one.change, change) {
            // Only one proposal per new skill name may wait, whatever its text.
            (Change::SkillCreated { skill: one, .. }, Change::SkillCreated { skill: other, .. }) => {
                one == other
            }
            (one, other) => one == other,
        };
        match state.proposals.values().find(|one| same(one)) {
            Some(one) => {
                Err(("waits", format!("{} proposes that already, and waits for a person's word", one.id)))
            }
            None => Ok(true),
        }
    }

    /// Writes a proposal to the log without changing pages.
    pub(super) fn propose(&mut self, request: WriteRequest) -> Result<Applied, WriteRefusal> {
        let WriteRequest { time, actor, cause, seen, change, .. } = request;
        let (seen, read) =
            (version_evidence::relevant_versions(&seen, &change), base_versions(self.state(), &change));
        let change = Change::WriteProposed { change: Box::new(change), read };
        let id = OpId(self.state().last.0 + 1);
        let (version, files) = (OPERATION_VERSION, Vec::new());
        Ok(Applied::Proposed(self.commit(Operation {
            version,
            id,
            time,
            actor,
            cause,
            accepts: None,
            seen,
            files,
            change,
        })?))
    }

    /// Accepts a proposal on a person's behalf and writes its change in its author's name. Fails if the proposal's base
    /// has changed.
    pub fn accept(&mut self, proposal: OpId, time: Timestamp) -> Result<OpId, WriteRefusal> {
        let refused = |(code, why)| WriteRefusal::Refused { code, why };
        let Some(waiting) = self.state().proposals.get(&proposal).cloned() else {
            return Err(refused(unknown_proposal(self.state(), proposal)));
        };
        let Proposal { actor, cause, seen, read, mut change, .. } = (*waiting).clone();
        if let Change::SkillCreated { domain, .. } | Change::SkillPublished { domain, .. } = &mut change
            && domain.as_ref().is_some_and(|new| self.state().domains.contains_key(&new.domain))
        {
            *domain = None;
        }
        validate(self.state(), actor, &change).map_err(refused)?;
        self.inspect(actor, &change).map_err(refused)?;
        self.check_read(&read).map_err(refused)?;
        self.check_pages(&change)?;
        let id = OpId(self.state().last.0 + 1);
        let (version, accepts, files) = (OPERATION_VERSION, Some(proposal), Vec::new());
        Ok(self.commit(Operation { version, id, time, actor, cause, accepts, seen, files, change })?)
    }

    /// Refuses a proposal on a person's behalf. Models cannot propose the same change again.
    pub fn refuse(&mut self, proposal: OpId, why: &str, time: Timestamp) -> Result<Applied, WriteRefusal> {
        let change = Change::ProposalRefused { proposal, why: why.to_owned() };
        self.apply(WriteRequest::of(Actor::Human, time, change))
    }
}

/// Returns the refusal for an id under which no proposal waits.
pub(super) fn unknown_proposal(state: &State, id: OpId) -> (&'static str, String) {
    let waiting: Vec<String> = state.proposals.keys().map(ToString::to_string).collect();
    let waiting = if waiting.is_empty() {
        "no proposal is waiting".to_owned()
    } else {
        format!("waiting: {}", waiting.join(", "))
    };
    ("unknown_proposal", format!("{id} is not a waiting proposal; {waiting}"))
}

impl Snapshot {
    /// Returns the differences that a proposal would make to the current book.
    pub fn would_change(&self, proposal: &Proposal) -> Vec<SkillDifference> {
        let mut state = self.state().clone();
        let Proposal { id, time, actor, cause, seen, change, .. } = proposal.clone();
        let (version, files) = (OPERATION_VERSION, Vec::new());
        state.apply(&Operation { version, id, time, actor, cause, accepts: Some(id), seen, files, change });
        difference(self, &Self::of(state, Vec::new()))
    }
}
