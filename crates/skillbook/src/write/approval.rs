//! A person's word on proposals: accepts or refuses them, and shows what they would change.

use jiff::Timestamp;

use super::gateway::Gateway;
use super::request::{Applied, WriteRefusal, WriteRequest};
use super::validate::{unknown_proposal, validate};
use crate::log::change::Change;
use crate::log::operation::{OPERATION_VERSION, Operation};
use crate::log::proposal::Proposal;
use crate::read::difference::{SkillDifference, difference};
use crate::read::snapshot::Snapshot;
use crate::skill::model::{Actor, OpId};

impl Gateway {
    /// Accepts a proposal on a person's behalf and writes its change in its author's name. Fails if the proposal's base
    /// has changed.
    ///
    /// # Errors
    ///
    /// The proposal is unknown, what it was based on has changed, or the gateway refuses the change.
    pub fn accept(&mut self, proposal: OpId, time: Timestamp) -> Result<OpId, WriteRefusal> {
        let refused = |(code, why)| WriteRefusal::Refused { code, why };
        let Some(waiting) = self.state().proposals.get(&proposal).cloned() else {
            return Err(refused(unknown_proposal(self.state(), proposal)));
        };
        let Proposal { actor, cause, seen, citation, read, mut change, .. } = (*waiting).clone();
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
        Ok(self.commit(Operation {
            version,
            id,
            time,
            actor,
            cause,
            accepts,
            seen,
            citation,
            files,
            change,
        })?)
    }

    /// Refuses a proposal on a person's behalf. Models cannot propose the same change again.
    ///
    /// # Errors
    ///
    /// The proposal is unknown, or the reason is longer than a note.
    pub fn refuse(&mut self, proposal: OpId, why: &str, time: Timestamp) -> Result<Applied, WriteRefusal> {
        let change = Change::ProposalRefused { proposal, why: why.to_owned() };
        self.apply(WriteRequest::of(Actor::Human, time, change))
    }
}

impl Snapshot {
    /// Returns the differences that a proposal would make to the current book.
    pub fn would_change(&self, proposal: &Proposal) -> Vec<SkillDifference> {
        let mut state = self.state().clone();
        let Proposal { id, time, actor, cause, seen, citation, change, .. } = proposal.clone();
        let (version, accepts, files) = (OPERATION_VERSION, Some(id), Vec::new());
        state.apply(&Operation { version, id, time, actor, cause, accepts, seen, citation, files, change });
        difference(self, &Self::of(state, Vec::new()))
    }
}
