//! Budgets of one attempt, and what of them is spent. Pure arithmetic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StopReason, TaskId, Usage};

/// The hard caps of one attempt, checked before each model call and each action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// World actions.
    pub world_steps: u32,
    /// Model turns, including those that only read skills.
    pub turns: u32,
    /// Input plus output tokens; no cap if absent.
    pub tokens: Option<u64>,
    /// Money in US dollars; no cap if absent.
    pub cost_usd: Option<f64>,
    /// Working time in seconds: without waiting for rate limits or our own pool.
    pub working_s: u64,
    /// The same actions on the same screen so many times in a row count as a loop.
    pub repeats: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { world_steps: 50, turns: 80, tokens: None, cost_usd: None, working_s: 600, repeats: 5 }
    }
}

/// What an attempt has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// World actions delivered or refused by the world.
    pub world_steps: u32,
    /// Model turns.
    pub turns: u32,
    /// Tokens.
    pub tokens: Usage,
    /// Money in US dollars; none when the model has no price.
    pub cost_usd: Option<f64>,
    /// Working time in milliseconds.
    pub working_ms: u64,
}

impl Limits {
    /// The cap that forbids another model turn, if any. Order: time, money, tokens, steps and turns.
    pub fn reached(&self, spent: &Spent) -> Option<StopReason> {
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

/// All that the harness learns of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskBrief {
    /// The task.
    pub id: TaskId,
    /// What to do, as the agent is told.
    pub instruction: String,
    /// The attempt's caps.
    pub limits: Limits,
}
