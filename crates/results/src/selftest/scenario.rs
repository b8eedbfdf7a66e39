//! Simulated experiments: trial rows drawn from scenarios with a known truth.

use apprentice_protocol::{Isolation, RunId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause};
use jiff::Timestamp;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::PlannedCounts;
use crate::stats::{self, ALPHA, MIN_TEMPLATES, PowerAssumptions};
use apprentice_runs::row::{ROW_SCHEMA, Role, Split, TrialRow};

/// The effect of [`Scenario::Planted`].
const PLANTED_EFFECT: f64 = 0.2;
/// Templates in the scenarios without an effect.
const TEMPLATES: usize = 12;
/// Templates of [`Scenario::EarlyStop`]: enough interim looks for a false stop.
const MANY_TEMPLATES: usize = 40;
/// Seeds per task.
const SEEDS: u32 = 3;

/// A simulation scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// No effect; every trial is drawn independently.
    Independent,
    /// No effect; the seeds of a task have the same outcome, so trials are not independent.
    TaskRepeat,
    /// No mean effect: whole templates gain or lose together with their tasks.
    TemplateRepeat,
    /// No effect, but failures of the second side are void more often.
    UnequalVoid,
    /// No effect, with optional stopping: the experimenter looks after each template and stops when the result looks
    /// good.
    EarlyStop,
    /// The second side gains 20 points.
    Planted,
}

/// The rows of both sides and the planned number of trials.
pub(super) struct SimulatedExperiment {
    pub(super) a: Vec<TrialRow>,
    pub(super) b: Vec<TrialRow>,
    pub(super) planned: PlannedCounts,
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 6] = [
        Self::Independent,
        Self::TaskRepeat,
        Self::TemplateRepeat,
        Self::UnequalVoid,
        Self::EarlyStop,
        Self::Planted,
    ];

    /// The true mean difference over templates.
    pub fn effect(self) -> f64 {
        if self == Self::Planted { PLANTED_EFFECT } else { 0.0 }
    }

    /// The number of templates per experiment; for the planted effect, as computed by the power analysis.
    pub(super) fn templates(self) -> usize {
        match self {
            Self::Independent | Self::TaskRepeat | Self::TemplateRepeat | Self::UnequalVoid => TEMPLATES,
            Self::EarlyStop => MANY_TEMPLATES,
            Self::Planted => stats::templates_needed(PLANTED_EFFECT, SEEDS, PowerAssumptions::default())
                .unwrap_or(MANY_TEMPLATES),
        }
    }

    /// Returns whether its experiments are complete and lose no trial.
    pub fn is_sound(self) -> bool {
        !matches!(self, Self::UnequalVoid | Self::EarlyStop)
    }

    fn tasks(self) -> usize {
        if self == Self::TemplateRepeat { 3 } else { 1 }
    }

    /// Simulates one experiment, reproducible by its number.
    pub(super) fn experiment(self, templates: usize, number: u32) -> SimulatedExperiment {
        let mut random = ChaCha8Rng::seed_from_u64(u64::from(number));
        let of_side = templates * self.tasks() * SEEDS as usize;
        let planned = PlannedCounts { a: of_side, b: of_side };
        let mut experiment = SimulatedExperiment { a: Vec::new(), b: Vec::new(), planned };
        let mut differences = Vec::new();
        for template in 0..templates {
            let difference = self.template(template, &mut experiment, &mut random);
            differences.push(difference);
            if self == Self::EarlyStop && stops_early(&differences) {
                break;
            }
        }
        experiment
    }

    /// Draws the trials of one template and returns the difference that they show.
    fn template(self, template: usize, experiment: &mut SimulatedExperiment, random: &mut ChaCha8Rng) -> f64 {
        let rates = self.rates(random);
        let mut difference = 0.0;
        for task in 0..self.tasks() {
            let alike = [rates[0], rates[1]].map(|rate| random.random_bool(rate));
            for seed in 0..SEEDS {
                let verdicts = [0, 1].map(|side| {
                    let passed = match self {
                        Self::TaskRepeat => alike[side],
                        _ => random.random_bool(rates[side]),
                    };
                    difference += if passed { [-1.0, 1.0][side] } else { 0.0 };
                    match passed {
                        true => Verdict::Pass,
                        false if self.voids_failure(side, random) => Verdict::Void,
                        false => Verdict::Fail,
                    }
                });
                experiment.a.push(row("none", template, task, seed, verdicts[0]));
                experiment.b.push(row("pull", template, task, seed, verdicts[1]));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of tasks")]
        let trials = self.tasks() as f64 * f64::from(SEEDS);
        difference / trials
    }

    /// Draws the success rates of one template on both sides.
    fn rates(self, random: &mut ChaCha8Rng) -> [f64; 2] {
        let base: f64 = random.random();
        match self {
            Self::Independent | Self::TaskRepeat => [base; 2],
            Self::UnequalVoid | Self::EarlyStop => [0.3 + base * 0.4; 2],
            Self::TemplateRepeat => {
                let (middle, turn) = (0.3 + base * 0.4, (random.random::<f64>() - 0.5) * 0.6);
                [middle - turn / 2.0, middle + turn / 2.0]
            }
            Self::Planted => PowerAssumptions::default().rates(PLANTED_EFFECT, random),
        }
    }

    /// Returns whether a failure of this side becomes void.
    fn voids_failure(self, side: usize, random: &mut ChaCha8Rng) -> bool {
        self == Self::UnequalVoid && side == 1 && random.random_bool(0.6)
    }
}

/// The stopping rule of an impatient experimenter, applied after each template.
fn stops_early(differences: &[f64]) -> bool {
    let step = 1.0 / f64::from(SEEDS);
    differences.len() >= MIN_TEMPLATES
        && differences.iter().sum::<f64>() > 0.0
        && stats::p_value(differences, step) <= ALPHA
}

fn row(arm: &str, template: usize, task: usize, seed: u32, verdict: Verdict) -> TrialRow {
    let template_name = format!("template-{template:03}");
    let task = format!("{template_name}-{task}");
    TrialRow {
        schema: ROW_SCHEMA.into(),
        run: RunId::new("simulated"),
        trial: TrialId::new(format!("{arm}-{task}-{seed}")),
        suite: "simulated".into(),
        role: Role::Student,
        task: TaskId::new(task),
        template: template_name,
        suite_hash: String::new(),
        split: Some(Split::Test),
        arm: arm.into(),
        seed,
        attempt: 1,
        model: "simulated".into(),
        skillbook_hash: None,
        verdict,
        score: if verdict == Verdict::Pass { 1.0 } else { 0.0 },
        world_steps: 0,
        turns: 0,
        person_acts: 0,
        judge: None,
        tokens: Usage::default(),
        delivered_tokens: 0,
        cost_usd: None,
        wall_s: 0.0,
        working_s: 0.0,
        model_s: 0.0,
        cost_estimated: false,
        stop_reason: (verdict != Verdict::Void).then_some(StopReason::Done),
        void_cause: (verdict == Verdict::Void).then_some(VoidCause::WorldLost),
        skills_viewed: Vec::new(),
        order: seed,
        started_at: Timestamp::UNIX_EPOCH,
        prompt_hash: String::new(),
        provider_model: None,
        isolation: Isolation::Memory,
        admit: None,
        trace: String::new(),
        extra: std::collections::BTreeMap::new(),
    }
}
