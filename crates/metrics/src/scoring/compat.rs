//! The compatibility mode of metrics, and whether a metric consulted it.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handling of upstream's known bugs, which `docs/osworld.md` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    /// Fixes them, so that the check tests what its task means.
    #[default]
    Fixed,
    /// Reproduces them exactly.
    Exact,
}

impl Compat {
    /// Returns the other mode.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Fixed => Self::Exact,
            Self::Exact => Self::Fixed,
        }
    }
}

/// A compatibility mode that records whether a metric consulted it. If not, the other mode gives the same score.
pub struct CompatProbe {
    compat: Compat,
    consulted: Cell<bool>,
}

impl CompatProbe {
    /// Starts with nothing consulted.
    pub fn new(compat: Compat) -> Self {
        Self { compat, consulted: Cell::new(false) }
    }

    /// Returns whether known bugs are reproduced, and records that the metric wanted to know.
    pub fn reproduces_bugs(&self) -> bool {
        self.consulted.set(true);
        self.compat == Compat::Exact
    }

    /// Returns the other mode, if it could lead to another score.
    pub fn other(&self) -> Option<Self> {
        self.consulted.get().then(|| Self::new(self.compat.other()))
    }
}
