//! Self-test of the statistics: simulated experiments with a known truth, judged by the same comparison as real ones.
//! Fails when an effect is claimed that does not exist, and also when an existing effect is not found, so always
//! answering "inconclusive" does not pass.

mod scenario;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::{CompareOptions, Comparison, Finding, Measure, MixedVersions, PlannedCounts, compare};
use crate::stats;
use apprentice_runs::row::TrialRow;
pub use scenario::Scenario;
use scenario::SimulatedExperiment;

/// Schema name of the self-test result.
pub const SELFTEST_SCHEMA: &str = "apprentice.selftest/1";

/// Maximum rate of false claims: 5 % plus three standard errors of 1,000 experiments.
pub const CLAIM_CAP: f64 = 0.066;

/// Minimum rate at which the planted effect must be found with the planned number of templates.
pub const FOUND_FLOOR: f64 = stats::POWER;

/// Required range for the share of intervals that contain the truth.
pub const COVERAGE: [f64; 2] = [0.93, 0.97];

/// The result of the self-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selftest {
    /// [`SELFTEST_SCHEMA`].
    pub schema: String,
    /// Simulated experiments per scenario.
    pub experiments: u32,
    /// Results by scenario.
    pub worlds: Vec<ScenarioResult>,
    /// Whether every scenario meets its requirements.
    pub passed: bool,
}

/// The results of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioResult {
    /// The scenario.
    pub world: Scenario,
    /// The true mean difference over templates.
    pub effect: f64,
    /// Templates per experiment.
    pub templates: usize,
    /// Share of experiments that claim a benefit.
    pub helps: f64,
    /// Share of experiments that claim harm.
    pub harms: f64,
    /// Share without a verdict, because of damaged data or an incomplete plan.
    pub no_verdict: f64,
    /// Share of intervals that contain the truth, for scenarios with sound data.
    pub covered: Option<f64>,
    /// Violated requirements, in words.
    pub faults: Vec<String>,
}

/// Judges two sets of rows: the real comparison, or another one that a test examines.
pub type Comparator<'a> = &'a dyn Fn(&[TrialRow], &[TrialRow], PlannedCounts) -> Option<Comparison>;

/// Tests this program's comparison.
pub fn selftest(experiments: u32) -> Selftest {
    selftest_with(experiments, &|a, b, planned| {
        let options = CompareOptions {
            measure: Measure::Success,
            mixed: MixedVersions::Refuse,
            planned: Some(planned),
            ..CompareOptions::default()
        };
        compare(a, b, options).ok()
    })
}

/// Tests any comparison function.
pub fn selftest_with(experiments: u32, verdicts: Comparator<'_>) -> Selftest {
    let worlds: Vec<ScenarioResult> =
        Scenario::ALL.iter().map(|world| run_scenario(*world, experiments, verdicts)).collect();
    let passed = worlds.iter().all(|world| world.faults.is_empty());
    Selftest { schema: SELFTEST_SCHEMA.into(), experiments, worlds, passed }
}

fn run_scenario(world: Scenario, experiments: u32, verdicts: Comparator<'_>) -> ScenarioResult {
    let templates = world.templates();
    let effect = world.effect();
    let [mut helps, mut harms, mut none, mut covered] = [0u32; 4];
    for number in 0..experiments {
        let SimulatedExperiment { a, b, planned } = world.experiment(templates, number);
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
    let mut result = ScenarioResult {
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

/// Lists the violated requirements.
fn faults(result: &ScenarioResult) -> Vec<String> {
    let mut faults = Vec::new();
    if result.effect == 0.0 && result.helps > CLAIM_CAP {
        faults.push(format!(
            "a benefit is claimed in {:.1} % of experiments without an effect",
            result.helps * 100.0
        ));
    }
    if result.effect > 0.0 && result.helps < FOUND_FLOOR {
        faults.push(format!("the planted effect is found in only {:.1} %", result.helps * 100.0));
    }
    if result.world.is_sound() && result.no_verdict > 0.0 {
        faults.push(format!("sound data get no verdict in {:.1} %", result.no_verdict * 100.0));
    }
    if let Some(covered) = result.covered {
        let [low, high] = COVERAGE;
        // Where hardly any template differs, the inverted test is conservative, so only the lower bound applies.
        if covered < low || (result.effect > 0.0 && covered > high) {
            faults.push(format!("intervals contain the truth in {:.1} %", covered * 100.0));
        }
    }
    faults
}

#[cfg(test)]
mod tests;
