//! The statistics on trial: simulated experiments whose truth is known, judged by the same comparison that
//! judges real ones. It fails when help is claimed that is not there, and also when help that is there is
//! not found: always saying "inconclusive" does not pass.

mod world;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::{CompareOptions, Comparison, Finding, Measure, Mixed, Planned, compare};
use crate::row::TrialRow;
use crate::stats;
use world::Experiment;
pub use world::World;

/// The name of the result's format.
pub const SELFTEST_SCHEMA: &str = "apprentice.selftest/1";

/// How often help may be claimed where there is none: 5 % and three standard errors of 1,000 experiments.
pub const CLAIM_CAP: f64 = 0.066;

/// How often the planted effect must be found at the number of templates that the plan gave.
pub const FOUND_FLOOR: f64 = stats::POWER;

/// Where the share of intervals that hold the truth must lie.
pub const COVERAGE: [f64; 2] = [0.93, 0.97];

/// The result of the self-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selftest {
    /// [`SELFTEST_SCHEMA`].
    pub schema: String,
    /// Simulated experiments in each world.
    pub experiments: u32,
    /// World by world.
    pub worlds: Vec<WorldResult>,
    /// Whether every world is as it must be.
    pub passed: bool,
}

/// What was claimed in one kind of world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorldResult {
    /// The world.
    pub world: World,
    /// What is true in it: the mean difference over templates.
    pub effect: f64,
    /// Templates of an experiment.
    pub templates: usize,
    /// The share of experiments in which help is claimed.
    pub helps: f64,
    /// The share in which harm is claimed.
    pub harms: f64,
    /// The share without a verdict, because the data are too damaged or the plan was not carried out.
    pub no_verdict: f64,
    /// The share of intervals that hold the truth, where the data are sound.
    pub covered: Option<f64>,
    /// What is not as it must be, in words.
    pub faults: Vec<String>,
}

/// How two sets of rows are judged: the real comparison, or another one that a test puts on trial.
pub type Verdicts<'a> = &'a dyn Fn(&[TrialRow], &[TrialRow], Planned) -> Option<Comparison>;

/// Puts this program's comparison on trial.
pub fn selftest(experiments: u32) -> Selftest {
    try_verdicts(experiments, &|a, b, planned| {
        let options = CompareOptions {
            measure: Measure::Success,
            mixed: Mixed::Refuse,
            planned: Some(planned),
            ..CompareOptions::default()
        };
        compare(a, b, options).ok()
    })
}

/// Puts any way of judging on trial.
pub fn try_verdicts(experiments: u32, verdicts: Verdicts<'_>) -> Selftest {
    let worlds: Vec<WorldResult> =
        World::ALL.iter().map(|world| try_world(*world, experiments, verdicts)).collect();
    let passed = worlds.iter().all(|world| world.faults.is_empty());
    Selftest { schema: SELFTEST_SCHEMA.into(), experiments, worlds, passed }
}

fn try_world(world: World, experiments: u32, verdicts: Verdicts<'_>) -> WorldResult {
    let templates = world.templates();
    let effect = world.effect();
    let [mut helps, mut harms, mut none, mut covered] = [0u32; 4];
    for number in 0..experiments {
        let Experiment { a, b, planned } = world.experiment(templates, number);
        let Some(found) = verdicts(&a, &b, planned) else {
            none += 1;
            continue;
        };
        match found.verdict {
            Finding::Better => helps += 1,
            Finding::Worse => harms += 1,
            Finding::NoVerdict | Finding::TooFew => none += 1,
            Finding::Inconclusive => {}
        }
        covered += u32::from(found.ci95.is_some_and(|interval| interval.contains(effect)));
    }
    let share = |count: u32| f64::from(count) / f64::from(experiments.max(1));
    let mut result = WorldResult {
        world,
        effect,
        templates,
        helps: share(helps),
        harms: share(harms),
        no_verdict: share(none),
        covered: world.is_sound().then(|| share(covered)),
        faults: Vec::new(),
    };
    result.faults = faults(&result);
    result
}

/// What is not as it must be.
fn faults(result: &WorldResult) -> Vec<String> {
    let mut faults = Vec::new();
    if result.effect == 0.0 && result.helps > CLAIM_CAP {
        faults.push(format!("help is claimed in {:.1} % where there is none", result.helps * 100.0));
    }
    if result.effect > 0.0 && result.helps < FOUND_FLOOR {
        faults.push(format!("help that is there is found in only {:.1} %", result.helps * 100.0));
    }
    if result.world.is_sound() && result.no_verdict > 0.0 {
        faults.push(format!("sound data get no verdict in {:.1} %", result.no_verdict * 100.0));
    }
    if let Some(covered) = result.covered {
        let [low, high] = COVERAGE;
        // Where hardly any template differs the inverted test is conservative; there only the floor binds.
        if covered < low || (result.effect > 0.0 && covered > high) {
            faults.push(format!("intervals hold the truth in {:.1} %", covered * 100.0));
        }
    }
    faults
}

#[cfg(test)]
mod tests;
