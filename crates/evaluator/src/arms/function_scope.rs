//! Which functions of a skillbook are lent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which functions the arms `code` and `code+pull` lend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FunctionScope {
    /// Those that replays have verified.
    #[default]
    Verified,
    /// Also those that nothing has verified yet, marked as such.
    All,
}

impl FunctionScope {
    /// The scope with or without functions that nothing has verified.
    pub fn with_unverified(lent: bool) -> Self {
        if lent { Self::All } else { Self::Verified }
    }

    /// Whether only verified functions are lent.
    pub fn is_verified(&self) -> bool {
        *self == Self::Verified
    }
}
