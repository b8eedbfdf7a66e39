//! Whether writes of models take effect at once or wait for a person's approval.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
