//! What was learned once, and is no skill yet.

use apprentice_protocol::Versions;
use apprentice_screening::effect::Concern;
use jiff::Timestamp;
use serde::Serialize;

use crate::review::Learning;
use crate::skill::model::OpId;

/// Knowledge that waits for more support.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The operation that recorded it, by which it is cited.
    pub id: OpId,
    /// Time of that operation.
    pub time: Timestamp,
    /// Program versions that the attempt observed.
    #[serde(skip_serializing_if = "Versions::is_empty")]
    pub seen: Versions,
    /// The learning.
    pub learning: Learning,
    /// The trajectory that produced it.
    pub trajectory: String,
    /// True if the attempt passed.
    pub passed: bool,
    /// Why the gate holds its words back. Empty if it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<Concern>,
}
