//! Publishes what a review decided: stages it, then has the gateway write it as one operation.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::{ChatModel, Clock, SkillId};
use apprentice_skillbook::{
    Actor, Applied, BookError, OpId, WriteMode, WriteRefusal, WriteRequest, open_unlocked,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::staging::{self, StagedChange};

/// Where and how a review writes.
#[derive(Clone)]
pub(super) struct Publisher<'a> {
    pub(super) book: &'a Path,
    pub(super) clock: &'a dyn Clock,
    pub(super) mode: WriteMode,
    /// Models that read each text before it is written.
    pub(super) readers: &'a [Arc<dyn ChatModel>],
}

/// A skill that a review created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillChange {
    /// The skill.
    pub skill: SkillId,
    /// Its version now.
    pub version: u32,
    /// Whether it is new.
    pub created: bool,
    /// The operation.
    pub operation: OpId,
    /// Whether the change waits for a person.
    pub proposed: bool,
}

/// The result of publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Published {
    /// Written or proposed.
    Done(SkillChange),
    /// Refused; the book is as it was.
    Refused(&'static str, String),
}

impl Publisher<'_> {
    /// Stages a change and writes it. A refused change is not staged any more.
    pub(super) async fn publish(&self, staged: &StagedChange) -> Result<Published, BookError> {
        staging::stage(self.book, staged)?;
        self.write(staged).await
    }

    /// Writes a staged change, and removes it from the stage once it is in the book or refused. A book that stays locked,
    /// or a failure of the disk, leaves it on the stage.
    pub(super) async fn write(&self, staged: &StagedChange) -> Result<Published, BookError> {
        let mut gateway = open_unlocked(self.book, self.clock, self.mode).await?;
        gateway.set_readers(self.readers.to_vec());
        gateway.read_change(&staged.change).await;
        let request = WriteRequest {
            cause: Some(staged.cause.clone()),
            seen: staged.seen.clone(),
            read: staged.read.clone(),
            ..WriteRequest::of(Actor::Background, self.clock.now(), staged.change.clone())
        };
        let result = match gateway.apply(request) {
            Ok(applied) => {
                let (operation, proposed) = match applied {
                    Applied::Written(id) | Applied::AlreadyThere(id) => (id, false),
                    Applied::Proposed(id) => (id, true),
                };
                let (skill, created) = (staged.skill.clone(), staged.created);
                let version = gateway.state().skills.get(&skill).map_or(1, |existing| existing.version);
                Published::Done(SkillChange { skill, version, created, operation, proposed })
            }
            Err(WriteRefusal::Refused { code, why }) => Published::Refused(code, why),
            Err(WriteRefusal::Book(error)) => return Err(error),
        };
        staging::clear(self.book)?;
        Ok(result)
    }
}
