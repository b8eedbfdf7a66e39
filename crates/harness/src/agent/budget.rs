//! Measures what an attempt has used against its limits.

use std::time::Duration;

use apprentice_protocol::{ChatReply, Clock, Limits, ResourceUsage, StopReason};

/// The meter of one attempt.
pub(super) struct Budget<'a> {
    clock: &'a dyn Clock,
    limits: Limits,
    begun: Duration,
    waited: Duration,
    spent: ResourceUsage,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: Limits, clock: &'a dyn Clock) -> Self {
        Self { clock, limits, begun: clock.mono(), waited: Duration::ZERO, spent: ResourceUsage::default() }
    }

    /// Returns the limit that forbids another turn or action, if one is reached.
    pub(super) fn reached(&self) -> Option<StopReason> {
        self.limits.reached(&self.spent())
    }

    /// Returns what has been used so far. Neither waiting for rate limits nor the time of the model's server counts as working
    /// time: a slow machine would else be the model's failure, and first that of the longer prompts.
    pub(super) fn spent(&self) -> ResourceUsage {
        let working = self.clock.mono().saturating_sub(self.begun);
        let working = working.saturating_sub(self.waited + Duration::from_millis(self.spent.model_ms));
        ResourceUsage { working_ms: u64::try_from(working.as_millis()).unwrap_or(u64::MAX), ..self.spent }
    }

    /// Returns the working time that is left.
    pub(super) fn time_left(&self) -> Duration {
        let left = self.limits.working_s.saturating_mul(1000).saturating_sub(self.spent().working_ms);
        Duration::from_millis(left)
    }

    pub(super) fn count_reply(&mut self, reply: &ChatReply) {
        self.spent.turns += 1;
        self.count_question(reply);
    }

    /// Counts a reply that is no turn.
    pub(super) fn count_question(&mut self, reply: &ChatReply) {
        self.spent.tokens += reply.usage;
        self.waited += Duration::from_millis(reply.timing.waiting_ms);
        self.spent.model_ms = self.spent.model_ms.saturating_add(reply.timing.working_ms);
        if let Some(cost) = reply.cost_usd {
            *self.spent.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    /// Time that is not the model's.
    pub(super) fn count_wait(&mut self, waited: Duration) {
        self.waited += waited;
    }

    pub(super) fn count_action(&mut self) {
        self.spent.world_steps += 1;
    }
}
