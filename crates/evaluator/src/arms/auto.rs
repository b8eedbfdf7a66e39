//! The arms that `auto` stands for, by model.

use std::collections::BTreeMap;
use std::fmt;

use apprentice_results::arm::{Arm, UnknownArm};
use serde::{Deserialize, Serialize};

/// The arm that `auto` stands for, by model: each model's dev trials chose it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<String, String>", try_from = "BTreeMap<String, String>")]
pub struct AutoArms(BTreeMap<String, Arm>);

impl AutoArms {
    /// Returns the arm chosen for a model; `None` without a choice.
    pub fn of(&self, model: &str) -> Option<Arm> {
        self.0.get(model).copied()
    }

    /// Iterates over the chosen arms.
    pub fn arms(&self) -> impl Iterator<Item = Arm> + '_ {
        self.0.values().copied()
    }
}

impl From<AutoArms> for BTreeMap<String, String> {
    fn from(arms: AutoArms) -> Self {
        arms.0.into_iter().map(|(model, arm)| (model, arm.to_string())).collect()
    }
}

impl TryFrom<BTreeMap<String, String>> for AutoArms {
    type Error = UnknownArm;

    fn try_from(names: BTreeMap<String, String>) -> Result<Self, UnknownArm> {
        names.into_iter().map(|(model, arm)| Ok((model, Arm::parse(&arm)?))).collect()
    }
}

/// Collects choices. `auto` itself is no choice.
impl FromIterator<(String, Arm)> for AutoArms {
    fn from_iter<I: IntoIterator<Item = (String, Arm)>>(choices: I) -> Self {
        Self(choices.into_iter().filter(|(_, arm)| *arm != Arm::Auto).collect())
    }
}

/// Writes `push` for one model, and `a/b: push, c/d: pull` for several.
impl fmt::Display for AutoArms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (1, Some(arm)) = (self.0.len(), self.0.values().next()) {
            return write!(f, "{arm}");
        }
        let parts: Vec<String> = self.0.iter().map(|(model, arm)| format!("{model}: {arm}")).collect();
        f.write_str(&parts.join(", "))
    }
}
