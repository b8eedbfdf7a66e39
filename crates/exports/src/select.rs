//! Decides which rows of a run are exported, and counts the reasons for which others are left out.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::Verdict;
use apprentice_runs::row::{Role, Split, TrialRow};
use schemars::JsonSchema;
use serde::Serialize;

/// The steps of each attempt that are exported, from 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepRange {
    /// The first step.
    pub from: u32,
    /// The last step; `None` for the end of the attempt.
    pub to: Option<u32>,
}

impl Default for StepRange {
    fn default() -> Self {
        Self { from: 1, to: None }
    }
}

impl StepRange {
    pub(crate) fn contains(self, step: u32) -> bool {
        step >= self.from && self.to.is_none_or(|to| step <= to)
    }

    pub(crate) fn is_whole(self) -> bool {
        self.from <= 1 && self.to.is_none()
    }
}

/// Whether conversations keep the guidance that the model got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Guidance {
    /// Skills and notes stay where the model got them.
    #[default]
    Kept,
    /// Texts of guidance and calls of its tools are removed.
    Removed,
}

/// Which parts of a split are exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SplitChoice {
    /// The parts; every part when empty.
    pub only: BTreeSet<Split>,
    /// Whether attempts at test tasks may become training data.
    pub include_test: bool,
}

/// Which attempts are exported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Selection {
    /// Only attempts that passed.
    pub passed_only: bool,
    /// Void attempts too. They are left out by default.
    pub voids: bool,
    /// Only these roles; every role when empty.
    pub roles: BTreeSet<Role>,
    /// Only these arms; every arm when empty.
    pub arms: BTreeSet<String>,
    /// Only these tasks; every task when empty.
    pub tasks: BTreeSet<String>,
    /// The parts of the split.
    pub split: SplitChoice,
    /// The steps of each attempt.
    pub steps: StepRange,
    /// Whether conversations keep the guidance.
    pub guidance: Guidance,
    /// The maximum number of attempts per template; no limit when absent.
    pub per_template: Option<usize>,
    /// Whether an attempt that repeats another one of the same task, act by act, is exported too.
    pub duplicates: bool,
}

/// The rows that are exported, and the number of others by reason.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'a> {
    pub(crate) rows: Vec<&'a TrialRow>,
    pub(crate) left_out: BTreeMap<&'static str, usize>,
}

impl Selection {
    /// Chooses rows. `training` formats take no test tasks, unless the selection names them.
    pub(crate) fn choose<'a>(&self, rows: &'a [TrialRow], training: bool) -> Chosen<'a> {
        let mut chosen = Chosen::default();
        for row in rows {
            match self.reason_against(row, training) {
                None => chosen.rows.push(row),
                Some(reason) => *chosen.left_out.entry(reason).or_default() += 1,
            }
        }
        chosen
    }

    fn reason_against(&self, row: &TrialRow, training: bool) -> Option<&'static str> {
        let named = |set: &BTreeSet<String>, name: &str| set.is_empty() || set.contains(name);
        if !self.voids && row.verdict == Verdict::Void {
            return Some("void");
        }
        if self.passed_only && row.verdict != Verdict::Pass {
            return Some("not passed");
        }
        if !self.roles.is_empty() && !self.roles.contains(&row.role) {
            return Some("another role");
        }
        if !named(&self.arms, &row.arm) {
            return Some("another arm");
        }
        if !named(&self.tasks, row.task.as_str()) {
            return Some("another task");
        }
        if !self.split.only.is_empty() && !row.split.is_some_and(|part| self.split.only.contains(&part)) {
            return Some("another part of the split");
        }
        (training && row.split == Some(Split::Test) && !self.split.include_test).then_some("test task")
    }
}

#[cfg(test)]
mod tests {
    use super::StepRange;

    #[test]
    fn a_range_of_steps_includes_both_ends() {
        let range = StepRange { from: 2, to: Some(3) };
        let inside: Vec<u32> = (1..6).filter(|step| range.contains(*step)).collect();
        assert_eq!(inside, [2, 3]);
        assert!(StepRange::default().is_whole() && !range.is_whole());
    }
}
