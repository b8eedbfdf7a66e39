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
    /// Maximum working time of the world and this program in seconds: without the time in which the model answers, waiting for
    /// rate limits, and for our own pool.
    pub working_s: u64,
    /// Number of times in a row that the same actions on the same screen count as a loop.
    pub repeats: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { world_steps: 50, turns: 80, tokens: None, cost_usd: None, working_s: 600, repeats: 5 }
    }
}

/// Caps in place of a task's own. Those that are not given stay the task's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CapOverrides {
    /// Maximum number of world actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_steps: Option<u32>,
    /// Maximum number of model turns; twice the world actions if only those are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Maximum of input plus output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Maximum working time in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_s: Option<u64>,
    /// Number of times in a row that the same actions on the same screen count as a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
}

impl CapOverrides {
    /// Returns the caps of a task whose own are `own`.
    #[must_use]
    pub fn over(&self, own: Limits) -> Limits {
        Limits {
            world_steps: self.world_steps.unwrap_or(own.world_steps),
            turns: self.turns.or(self.world_steps.map(|steps| steps.saturating_mul(2))).unwrap_or(own.turns),
            tokens: self.tokens.or(own.tokens),
            cost_usd: self.cost_usd.or(own.cost_usd),
            working_s: self.working_s.unwrap_or(own.working_s),
            repeats: self.repeats.unwrap_or(own.repeats),
        }
    }
}

impl From<Limits> for CapOverrides {
    fn from(all: Limits) -> Self {
        let Limits { world_steps, turns, tokens, cost_usd, working_s, repeats } = all;
        Self {
            world_steps: Some(world_steps),
            turns: Some(turns),
            tokens,
            cost_usd,
            working_s: Some(working_s),
            repeats: Some(repeats),
        }
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
    /// Working time in milliseconds, without the model's.
    pub working_ms: u64,
    /// Time in which the model answered, in milliseconds. In older records it is part of the working time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub model_ms: u64,
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

const fn is_zero(count: &u64) -> bool {
    *count == 0
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

#[cfg(test)]
mod tests {
    use super::{CapOverrides, Limits};

    #[test]
    fn a_cap_that_is_not_given_stays_the_tasks_own() {
        let own = Limits {
            world_steps: 40,
            turns: 60,
            working_s: 3600,
            tokens: Some(9),
            cost_usd: None,
            repeats: 4,
        };
        assert_eq!(CapOverrides::default().over(own), own);
        let steps = CapOverrides { world_steps: Some(100), ..CapOverrides::default() };
        assert_eq!(steps.over(own), Limits { world_steps: 100, turns: 200, ..own });
        let both = CapOverrides { turns: Some(120), ..steps };
        assert_eq!(both.over(own), Limits { world_steps: 100, turns: 120, ..own });
        let all = Limits { working_s: 7, cost_usd: Some(0.5), ..own };
        assert_eq!(CapOverrides::from(all).over(Limits::default()), all);
    }

    #[test]
    fn caps_that_an_earlier_version_wrote_are_read() {
        let written = serde_json::to_value(Limits::default()).expect("JSON");
        let read: CapOverrides = serde_json::from_value(written).expect("caps");
        assert_eq!(read, CapOverrides::from(Limits::default()));
    }
}
