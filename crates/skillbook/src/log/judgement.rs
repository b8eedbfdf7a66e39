//! Who judged an attempt that has no checks, and how. A suite's attempts need no such record: their checks judged.

use apprentice_protocol::{JudgedBy, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict on an attempt without checks, with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Who judged.
    pub by: JudgedBy,
    /// The verdict. `None` if nobody judged, or if a model could not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The judge's reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Judgement {
    /// Returns whether the attempt is known to have passed.
    pub fn passed(&self) -> bool {
        self.verdict == Some(Verdict::Pass) && self.by.is_evidence()
    }
}
