//! One write to a book: the request, the result, and the refusal.

use std::collections::BTreeMap;

use apprentice_protocol::{SkillId, Versions};
use jiff::Timestamp;

use crate::BookError;
use crate::log::change::Change;
use crate::log::citation::Citation;
use crate::skill::model::{Actor, Cause, OpId};

/// A request for one change.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// Time of the change.
    pub time: Timestamp,
    /// Author of the change.
    pub actor: Actor,
    /// The cause of the change. The same cause never acts twice.
    pub cause: Option<Cause>,
    /// Program versions that the writer observed. The log keeps those that are relevant to the change.
    pub seen: Versions,
    /// Skill versions that the decision was based on.
    pub read: BTreeMap<SkillId, u32>,
    /// The reports and steps that the writer cites.
    pub citation: Citation,
    /// True if a person has seen what a package from elsewhere would make an agent do, and takes it all the same. Of a
    /// model's change it counts for nothing.
    pub effects_accepted: bool,
    /// The change.
    pub change: Change,
}

impl WriteRequest {
    /// Returns a request without a cause, observed versions, read versions or citations.
    pub fn of(actor: Actor, time: Timestamp, change: Change) -> Self {
        Self {
            time,
            actor,
            cause: None,
            seen: Versions::new(),
            read: BTreeMap::new(),
            citation: Citation::default(),
            effects_accepted: false,
            change,
        }
    }
}

/// The result of applying a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The change was written.
    Written(OpId),
    /// The change waits for a person's approval and has no effect yet.
    Proposed(OpId),
    /// The cause had already acted.
    AlreadyThere(OpId),
}

/// The reason why a change was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteRefusal {
    /// The request was refused. The writer can correct it.
    #[error("{code}: {why}")]
    Refused {
        /// A code for programs.
        code: &'static str,
        /// An explanation for the writer.
        why: String,
    },
    /// Reading or writing the book failed.
    #[error("the skillbook could not be written")]
    Book(#[from] BookError),
}
