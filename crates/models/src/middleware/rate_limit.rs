//! Limits the parallel calls per key, adaptively: fewer after a rate limit, more again while calls succeed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelErrorKind, ModelProfile,
};
use tokio::sync::Notify;

/// The number of parallel calls that one key may have. Shared by all models that use the key.
#[derive(Debug)]
pub struct AdaptiveLimit {
    state: Mutex<State>,
    freed: Notify,
    most: f64,
}

#[derive(Debug)]
struct State {
    under_way: u32,
    /// The current limit. It may be fractional: it grows by one after as many successes as calls are allowed at once.
    allowed: f64,
}

impl AdaptiveLimit {
    /// Starts with a limit of `most` parallel calls, at least one.
    pub fn new(most: u32) -> Self {
        let most = f64::from(most.max(1));
        Self { state: Mutex::new(State { under_way: 0, allowed: most }), freed: Notify::new(), most }
    }

    /// Returns the current limit.
    pub fn allowed(&self) -> u32 {
        whole(self.lock().allowed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot if one is free.
    fn take(&self) -> bool {
        let mut state = self.lock();
        let free = state.under_way < whole(state.allowed);
        state.under_way += u32::from(free);
        free
    }

    async fn enter(self: &Arc<Self>) -> Slot {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Registers before the check, so that a slot freed between check and wait is not missed.
            freed.as_mut().enable();
            if self.take() {
                return Slot { pace: Arc::clone(self) };
            }
            freed.await;
        }
    }

    fn learn(&self, slowed: bool) {
        let mut state = self.lock();
        state.allowed = match slowed {
            true => (state.allowed / 2.0).max(1.0),
            false => (state.allowed + 1.0 / state.allowed).min(self.most),
        };
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn whole(allowed: f64) -> u32 {
    allowed.max(1.0) as u32
}

/// The slot of a running call. It is released on drop, also when the call is cancelled.
struct Slot {
    pace: Arc<AdaptiveLimit>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.pace.lock();
        state.under_way = state.under_way.saturating_sub(1);
        drop(state);
        self.pace.freed.notify_waiters();
    }
}

/// A model that waits for a slot.
pub struct Limited<M> {
    inner: M,
    pace: Arc<AdaptiveLimit>,
    clock: Arc<dyn Clock>,
}

impl<M: ChatModel> Limited<M> {
    /// Wraps `inner` with the limit of its key.
    pub fn new(inner: M, pace: Arc<AdaptiveLimit>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, pace, clock }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let begun = self.clock.mono();
        let place = self.pace.enter().await;
        let waited = self.clock.mono().saturating_sub(begun);
        let answered = self.inner.reply(request).await;
        match &answered {
            // A wait in the retry wrapper inside means that the provider was too busy.
            Ok(reply) => self.pace.learn(reply.timing.waiting_ms > 0),
            Err(error) if error.fault == ModelErrorKind::Unavailable => self.pace.learn(true),
            // A rejected request tells nothing about the provider's load.
            Err(_) => {}
        }
        drop(place);
        answered.map(|mut reply| {
            let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
            reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
            reply
        })
    }
}

impl<M: ChatModel> ChatModel for Limited<M> {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use super::AdaptiveLimit;

    #[tokio::test]
    async fn a_freed_place_is_given_on_and_a_rate_limit_halves_the_pace() {
        let pace = Arc::new(AdaptiveLimit::new(4));
        let first = pace.enter().await;
        let others = [pace.enter().await, pace.enter().await, pace.enter().await];
        assert!(pace.enter().now_or_never().is_none(), "four are under way");
        drop(first);
        let again = pace.enter().now_or_never();
        assert!(again.is_some());
        drop((others, again));
        pace.learn(true);
        assert_eq!(pace.allowed(), 2);
        pace.learn(true);
        pace.learn(true);
        assert_eq!(pace.allowed(), 1);
        for _ in 0..20 {
            pace.learn(false);
        }
        assert_eq!(pace.allowed(), 4);
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let pace = Arc::new(AdaptiveLimit::new(2));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let pace = Arc::clone(&pace);
            calls.spawn(async move {
                let _place = pace.enter().await;
                tokio::task::yield_now().await;
            });
        }
        assert_eq!(calls.join_all().await.len(), 50);
    }
}
