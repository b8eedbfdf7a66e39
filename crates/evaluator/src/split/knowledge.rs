//! Knowledge labels in a split: what several groups of tasks teach is to stand in train and in test, so that the
//! measurement asks for what was learned.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::TaskId;
use apprentice_runs::row::Split;
use apprentice_tasks::suite::Suite;
use schemars::JsonSchema;
use serde::Serialize;

/// The labels of a suite by the parts that ask for them. Development does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgeParts {
    /// In train and in test.
    pub both: BTreeSet<String>,
    /// In train alone: learned, and not measured.
    pub train_only: BTreeSet<String>,
    /// In test alone: no gain is expected there.
    pub test_only: BTreeSet<String>,
}

impl KnowledgeParts {
    /// Gathers the labels of a suite's tasks, of which each stands in a part or in none.
    pub(super) fn of(suite: &Suite, part: impl Fn(&TaskId) -> Option<Split>) -> Self {
        let labels = |split: Split| -> BTreeSet<String> {
            let tasks = suite.tasks.iter().filter(|task| part(&task.id) == Some(split));
            tasks.flat_map(|task| &task.apprentice).flat_map(|ours| &ours.knowledge).cloned().collect()
        };
        let (train, test) = (labels(Split::Train), labels(Split::Test));
        Self { both: &train & &test, train_only: &train - &test, test_only: &test - &train }
    }
}

/// The labels of the units that were dealt so far.
pub(super) struct LabelDeal {
    /// The labels of each template that several units carry.
    shared: BTreeMap<String, BTreeSet<String>>,
    train: BTreeSet<String>,
    test: BTreeSet<String>,
}

impl LabelDeal {
    /// Nothing is dealt yet.
    pub(super) fn of(suite: &Suite, groups: &BTreeMap<TaskId, String>, units: &[BTreeSet<String>]) -> Self {
        let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for task in &suite.tasks {
            let (Some(ours), Some(template)) = (&task.apprentice, groups.get(&task.id)) else { continue };
            shared.entry(template.clone()).or_default().extend(ours.knowledge.iter().cloned());
        }
        let mut carried: BTreeMap<String, usize> = BTreeMap::new();
        for unit in units {
            let labels: BTreeSet<&String> =
                unit.iter().filter_map(|name| shared.get(name)).flatten().collect();
            labels.into_iter().for_each(|label| *carried.entry(label.clone()).or_default() += 1);
        }
        for labels in shared.values_mut() {
            labels.retain(|label| carried.get(label).is_some_and(|units| *units > 1));
        }
        Self { shared, train: BTreeSet::new(), test: BTreeSet::new() }
    }

    fn labels(&self, unit: &BTreeSet<String>) -> BTreeSet<&String> {
        unit.iter().filter_map(|template| self.shared.get(template)).flatten().collect()
    }

    /// Returns how many labels of a unit a part lacks. Test lacks only what is in train already.
    pub(super) fn lacks(&self, unit: &BTreeSet<String>, part: Split) -> usize {
        let lacking = |label: &&String| match part {
            Split::Train => !self.train.contains(*label),
            Split::Test => self.train.contains(*label) && !self.test.contains(*label),
            Split::Dev => false,
        };
        self.labels(unit).into_iter().filter(lacking).count()
    }

    /// Notes that a unit went to a part.
    pub(super) fn deal(&mut self, unit: &BTreeSet<String>, part: Split) {
        let labels: Vec<String> = self.labels(unit).into_iter().cloned().collect();
        match part {
            Split::Train => self.train.extend(labels),
            Split::Test => self.test.extend(labels),
            Split::Dev => {}
        }
    }
}
