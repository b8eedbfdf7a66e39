//! The write mode: writes of models take effect at once or wait for a person's approval, in general and on pages by people.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The time at which writes of models take effect. Writes of people take effect at once.
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

/// Treatment of changes by learning to a page whose text a person wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthoredPages {
    /// The change is proposed and waits for a person, whatever the write mode.
    #[default]
    Propose,
    /// The change is written as on any other page.
    Write,
}

/// The error for an unknown rule for pages by people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no rule for pages by people; expected propose or write")]
pub struct AuthoredPagesError(String);

impl FromStr for AuthoredPages {
    type Err = AuthoredPagesError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "propose" => Ok(Self::Propose),
            "write" => Ok(Self::Write),
            other => Err(AuthoredPagesError(other.to_owned())),
        }
    }
}
