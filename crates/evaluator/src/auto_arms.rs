//! The arms that `auto` stands for, by model.

use std::collections::BTreeMap;
use std::fmt;

use apprentice_results::arm::Arm;

/// The arm that `auto` stands for, by model: each model's dev trials chose it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
