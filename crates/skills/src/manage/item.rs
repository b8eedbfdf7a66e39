//! One item as the manager sees it: schema `manage.item.v1`. The program writes the envelope; the reflector or the
//! cleaner writes the payload.

use apprentice_protocol::{StepId, Versions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Schema name of the block.
pub const ITEM_SCHEMA: &str = "manage.item.v1";

/// Kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// New knowledge.
    Learning,
    /// A skill that caused trouble, with a correction.
    SkillNegative,
    /// A skill that changed little, with an improvement.
    SkillNeutral,
    /// A skill that the agent did not trust.
    SkillNotFollowed,
    /// A skill or pair that the counters single out.
    CleanupTask,
}

/// How many separate attempts agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Corroboration {
    /// Number of attempts that agree, including this one.
    pub reports: usize,
    /// Number of attempts that make a pattern.
    pub needed: usize,
    /// Whether an earlier note on the skill contradicts the item.
    pub conflicts: bool,
    /// Whether this attempt did what the item says and passed.
    pub proven_here: bool,
}

/// An item for the manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManageItem {
    /// [`ITEM_SCHEMA`].
    pub schema: String,
    /// Kind of item.
    pub input_type: InputType,
    /// The trajectory that the item came from. `None` for cleanup tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// Program versions of that attempt, as far as known.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Steps that support the item.
    pub evidence_refs: Vec<StepId>,
    /// How well supported the item is.
    pub corroboration: Corroboration,
    /// Names of the permitted write tools.
    pub writes_allowed: Vec<String>,
    /// The review, learning or cleanup task.
    pub payload: Value,
}
