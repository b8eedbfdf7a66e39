//! The caps of one attempt and the resources it has used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StopReason, TaskId, Usage};

/// The hard caps of one attempt, checked before each model call and each action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of world actions.
    pub world_steps: u32,
    /// Maximum number of model turns, including those that only read skills.
    pub turns: u32,
    /// Maximum of input plus output tokens; no cap if absent.
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars; no cap if absent.
    pub cost_usd: Option<f64>,
    /// Maximum working time in seconds, without waiting for rate limits or for our own pool.
    pub working_s: u64,
    /// Number of times in a row that the same actions on the same screen count as a loop.
    pub repeats: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { world_steps: 50, turns: 80, tokens: None, cost_usd: None, working_s: 600, repeats: 5 }
    }
}

/// The resources that an attempt has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceUsage {
    /// World actions delivered or refused by the world.
    pub world_steps: u32,
    /// Model turns.
    pub turns: u32,
    /// Token usage.
    pub tokens: Usage,
    /// Cost in US dollars; `None` if the model has no price.
    pub cost_usd: Option<f64>,
    /// Working time in milliseconds.
    pub working_ms: u64,
}

impl Limits {
    /// Returns the cap that forbids another model turn, if any. Order: time, cost, tokens, steps and turns.
    pub fn reached(&self, spent: &ResourceUsage) -> Option<StopReason> {
        let tokens = spent.tokens.input.saturating_add(spent.tokens.output);
        if spent.working_ms >= self.working_s.saturating_mul(1000) {
            return Some(StopReason::WorkingTimeLimit);
        }
        if self.cost_usd.zip(spent.cost_usd).is_some_and(|(cap, used)| used >= cap) {
            return Some(StopReason::TrialCostLimit);
        }
        if self.tokens.is_some_and(|cap| tokens >= cap) {
            return Some(StopReason::TokenLimit);
        }
        let steps = spent.world_steps >= self.world_steps || spent.turns >= self.turns;
        steps.then_some(StopReason::StepLimit)
    }
}

/// The part of a task that the harness gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskBrief {
    /// The task's id.
    pub id: TaskId,
    /// The instruction for the agent.
    pub instruction: String,
    /// The attempt's caps.
    pub limits: Limits,
}
