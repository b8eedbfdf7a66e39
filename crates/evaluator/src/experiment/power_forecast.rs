//! What the size of an experiment can show.

use apprentice_protocol::TaskId;
use apprentice_results::stats::{Design, PowerAssumptions, power, smallest_effect, templates_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::experiment_config::PowerQuestion;

/// The power of a design, under a stated assumption of how an effect is distributed over templates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Power {
    /// Number of test templates.
    pub templates: usize,
    /// Seeds per task.
    pub seeds: u32,
    /// The assumed maximum success rate of a template without a book.
    pub base: f64,
    /// The smallest effect detected with a power of 0.8, as a share; `None` if no effect is.
    pub smallest_effect: Option<f64>,
    /// The effect asked about, as a share.
    pub effect: Option<f64>,
    /// The power for that effect.
    pub found: Option<f64>,
    /// Templates needed to detect that effect with a power of 0.8; `None` if more than 400 are needed.
    pub templates_needed: Option<usize>,
}

pub(super) fn estimate_power(
    experiment: &Experiment,
    test: &[TaskId],
    templates: usize,
    asked: PowerQuestion,
) -> Power {
    let seeds = if test.iter().any(|id| experiment.varies(id)) { experiment.seeds } else { 1 };
    let (design, assumed) = (Design { templates, seeds }, PowerAssumptions { base: asked.base });
    Power {
        templates,
        seeds,
        base: asked.base,
        smallest_effect: smallest_effect(design, assumed),
        effect: asked.effect,
        found: asked.effect.map(|effect| power(design, effect, assumed)),
        templates_needed: asked.effect.and_then(|effect| templates_needed(effect, seeds, assumed)),
    }
}

impl Experiment {
    /// Whether a task's seeds give other values.
    pub(super) fn varies(&self, id: &TaskId) -> bool {
        self.suite.task(id.as_str()).is_some_and(|task| task.varies())
    }
}
