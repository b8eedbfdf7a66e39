//! Pairs two sets of trials by task and seed and averages them per template.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{TaskId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::CompareError;
use super::options::Measure;
use crate::stats;
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows::{Trial, TrialRef, trials};

/// A task, as (suite, template, task).
pub(super) type TaskKey<'a> = (&'a str, &'a str, &'a TaskId);

/// The key by which two trials are paired: task and seed.
pub(super) type PairKey<'a> = (TaskKey<'a>, u32);

/// One side's trials, indexed by task and seed.
pub(super) struct Side<'a> {
    pub(super) trials: Vec<Trial<'a>>,
    pub(super) by_key: BTreeMap<PairKey<'a>, usize>,
}

impl<'a> Side<'a> {
    /// Indexes rows. Two trials of one task and seed are ambiguous and rejected.
    pub(super) fn of(name: &'static str, rows: &'a [TrialRow]) -> Result<Self, CompareError> {
        let trials = trials(rows);
        let mut by_key = BTreeMap::new();
        for (index, trial) in trials.iter().enumerate() {
            let row = trial.last;
            let key = ((row.suite.as_str(), row.template.as_str(), &row.task), row.seed);
            if by_key.insert(key, index).is_some() {
                return Err(CompareError::DuplicateTrial {
                    side: name,
                    task: row.task.clone(),
                    seed: row.seed,
                });
            }
        }
        Ok(Self { trials, by_key })
    }

    fn get(&self, key: &PairKey<'a>) -> Option<&Trial<'a>> {
        self.by_key.get(key).map(|index| &self.trials[*index])
    }

    /// Returns the share of agreeing seed pairs per task, averaged over tasks with several seeds; `None` without such a
    /// task.
    pub(super) fn seed_agreement(&self) -> Option<f64> {
        let mut by_task: BTreeMap<TaskKey<'_>, [u64; 2]> = BTreeMap::new();
        for ((task, _), index) in &self.by_key {
            let tally = by_task.entry(*task).or_default();
            match self.trials[*index].last.verdict {
                Verdict::Pass => tally[0] += 1,
                Verdict::Fail => tally[1] += 1,
                Verdict::Void => {}
            }
        }
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        #[expect(clippy::cast_precision_loss, reason = "seeds are few")]
        let share = |[passed, failed]: &[u64; 2]| {
            let all = pairs(passed + failed);
            (all > 0).then(|| (pairs(*passed) + pairs(*failed)) as f64 / all as f64)
        };
        stats::mean(by_task.values().filter_map(share))
    }
}

/// How void trials are counted.
#[derive(Clone, Copy)]
pub(super) enum VoidCounting {
    /// Pairs with a void trial are left out.
    LeftOut,
    /// Void trials of `a` count as passed, those of `b` as failed.
    AgainstB,
    /// Void trials of `a` count as failed, those of `b` as passed.
    ForB,
}

/// Two trials of the same task and seed.
pub(super) struct Pair<'s, 'a> {
    pub(super) task: TaskKey<'a>,
    pub(super) a: &'s Trial<'a>,
    pub(super) b: &'s Trial<'a>,
}

impl Pair<'_, '_> {
    fn values(&self, measure: Measure, voids: VoidCounting) -> Option<[f64; 2]> {
        let of = |trial: &Trial<'_>, if_void: Option<f64>| match (trial.last.verdict, measure) {
            (Verdict::Void, _) => if_void,
            (Verdict::Pass, Measure::Success) => Some(1.0),
            (Verdict::Fail, Measure::Success) => Some(0.0),
            (Verdict::Pass | Verdict::Fail, Measure::Score) => Some(trial.last.score),
        };
        let (void_a, void_b) = match voids {
            VoidCounting::LeftOut => (None, None),
            VoidCounting::AgainstB => (Some(1.0), Some(0.0)),
            VoidCounting::ForB => (Some(0.0), Some(1.0)),
        };
        Some([of(self.a, void_a)?, of(self.b, void_b)?])
    }
}

/// The result of one template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateDifference {
    /// The template.
    pub template: String,
    /// Tasks of the template.
    pub tasks: usize,
    /// Pairs of trials.
    pub trials: usize,
    /// Mean outcome of `a`.
    pub a: f64,
    /// Mean outcome of `b`.
    pub b: f64,
    /// `b - a`.
    pub difference: f64,
}

/// The paired values of each task of a template.
type Repeats<'a> = BTreeMap<&'a TaskId, Vec<[f64; 2]>>;

/// The pairs of two sides.
pub(super) struct Pairs<'s, 'a> {
    pub(super) matched: Vec<Pair<'s, 'a>>,
    /// Unpaired trials whose task and seed both sides ran; one of the two trials is missing.
    pub(super) missing: usize,
    /// Unpaired trials of `a`, `missing` included.
    pub(super) only_a: usize,
    pub(super) only_b: usize,
}

impl<'s, 'a> Pairs<'s, 'a> {
    pub(super) fn of(a: &'s Side<'a>, b: &'s Side<'a>) -> Self {
        let tasks = |side: &Side<'a>| side.by_key.keys().map(|key| key.0).collect::<BTreeSet<_>>();
        let seeds = |side: &Side<'a>| side.by_key.keys().map(|key| key.1).collect::<BTreeSet<_>>();
        let (tasks_a, tasks_b, seeds_a, seeds_b) = (tasks(a), tasks(b), seeds(a), seeds(b));
        let shared = |key: &&PairKey<'a>| {
            tasks_a.contains(&key.0)
                && tasks_b.contains(&key.0)
                && seeds_a.contains(&key.1)
                && seeds_b.contains(&key.1)
        };
        let alone = |one: &'s Side<'a>, other: &'s Side<'a>| {
            one.by_key.keys().filter(move |key| !other.by_key.contains_key(*key))
        };
        let matched = a.by_key.keys().filter_map(|key| {
            let (a, b) = (a.get(key)?, b.get(key)?);
            Some(Pair { task: key.0, a, b })
        });
        Self {
            matched: matched.collect(),
            missing: alone(a, b).chain(alone(b, a)).filter(shared).count(),
            only_a: alone(a, b).count(),
            only_b: alone(b, a).count(),
        }
    }

    /// Averages seeds within tasks, then tasks within templates.
    pub(super) fn templates(&self, measure: Measure, voids: VoidCounting) -> Vec<TemplateDifference> {
        let mut values: BTreeMap<(&str, &str), Repeats<'_>> = BTreeMap::new();
        for pair in &self.matched {
            let (suite, template, task) = pair.task;
            if let Some(pair) = pair.values(measure, voids) {
                values.entry((suite, template)).or_default().entry(task).or_default().push(pair);
            }
        }
        let suites: BTreeSet<&str> = values.keys().map(|key| key.0).collect();
        let name = |suite: &str, template: &str| match suites.len() {
            1 => template.to_owned(),
            _ => format!("{suite}/{template}"),
        };
        let averaged = values.iter().filter_map(|((suite, template), tasks)| {
            let side = |side: usize| {
                let repeats = |repeats: &Vec<[f64; 2]>| stats::mean(repeats.iter().map(|pair| pair[side]));
                stats::mean(tasks.values().filter_map(repeats))
            };
            let (a, b) = (side(0)?, side(1)?);
            let trials = tasks.values().map(Vec::len).sum();
            let template = name(suite, template);
            Some(TemplateDifference { template, tasks: tasks.len(), trials, a, b, difference: b - a })
        });
        averaged.collect()
    }

    /// Decides each task by the majority of its pairs and counts the tasks that only `a` passes and those that only `b`
    /// passes.
    pub(super) fn majorities(&self) -> (u64, u64) {
        let mut leads: BTreeMap<TaskKey<'_>, [f64; 2]> = BTreeMap::new();
        for pair in &self.matched {
            if let Some(values) = pair.values(Measure::Success, VoidCounting::LeftOut) {
                let lead = leads.entry(pair.task).or_default();
                lead[0] += values[0] - 0.5;
                lead[1] += values[1] - 0.5;
            }
        }
        let count = |one: usize, other: usize| {
            leads.values().filter(|lead| lead[one] > 0.0 && lead[other] < 0.0).count() as u64
        };
        (count(0, 1), count(1, 0))
    }

    pub(super) fn flips(&self) -> Flips {
        let mut flips = Flips::default();
        for pair in &self.matched {
            let list = match (pair.a.last.verdict, pair.b.last.verdict) {
                (Verdict::Fail, Verdict::Pass) => &mut flips.gained,
                (Verdict::Pass, Verdict::Fail) => &mut flips.lost,
                (Verdict::Pass, Verdict::Pass)
                | (Verdict::Fail, Verdict::Fail)
                | (Verdict::Void, _)
                | (_, Verdict::Void) => continue,
            };
            list.push(Flip {
                template: pair.task.1.to_owned(),
                task: pair.task.2.clone(),
                seed: pair.a.last.seed,
                a: pair.a.reference(),
                b: pair.b.reference(),
            });
        }
        flips
    }
}

/// A pair in which one side passes and the other fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The template.
    pub template: String,
    /// The task.
    pub task: TaskId,
    /// The seed.
    pub seed: u32,
    /// The trial of `a`.
    pub a: TrialRef,
    /// The trial of `b`.
    pub b: TrialRef,
}

/// Pairs in which exactly one side passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flips {
    /// Pairs that `a` fails and `b` passes.
    pub gained: Vec<Flip>,
    /// Pairs that `a` passes and `b` fails.
    pub lost: Vec<Flip>,
}
