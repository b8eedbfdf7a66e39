//! Retries a request when its error allows it, and accounts for the waiting time separately.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelProfile, Retry, Why,
};

/// Limits and delays of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Retries after the first attempt.
    pub retries: u32,
    /// The first delay when the server names none; it doubles with each retry.
    pub first: Duration,
    /// The longest such delay.
    pub longest: Duration,
    /// The longest time from the first attempt to the last retry, whatever the server asks to wait.
    pub deadline: Duration,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 6,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            deadline: Duration::from_secs(600),
            seed: 0,
        }
    }
}

/// A model whose failed requests are retried.
pub struct Retrying<M> {
    inner: M,
    clock: Arc<dyn Clock>,
    patience: RetryPolicy,
    draws: AtomicU64,
}

impl<M: ChatModel> Retrying<M> {
    /// Wraps `inner` with the retry policy `patience`.
    pub fn new(inner: M, clock: Arc<dyn Clock>, patience: RetryPolicy) -> Self {
        Self { inner, clock, patience, draws: AtomicU64::new(0) }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let asked =
            with_retries(self.clock.as_ref(), self.patience, &self.draws, || self.inner.reply(request));
        let (mut reply, waited) = asked.await?;
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
        Ok(reply)
    }
}

/// Runs a request with retries. Also returns the time from the first attempt to the start of the successful one.
pub(crate) async fn with_retries<T, F: Future<Output = Result<T, ModelError>>>(
    clock: &dyn Clock,
    patience: RetryPolicy,
    draws: &AtomicU64,
    exchange: impl Fn() -> F,
) -> Result<(T, Duration), ModelError> {
    let begun = clock.mono();
    let mut tried = 0;
    loop {
        let last = clock.mono();
        let error = match exchange().await {
            Ok(answer) => return Ok((answer, last.saturating_sub(begun))),
            Err(error) => error,
        };
        let wait = match error.retry {
            Retry::Never | Retry::Lasting => return Err(error),
            Retry::Now => backoff(patience, tried, draws),
            // A server that asks to wait for no time, or whose time is over, must not use all retries up at once.
            Retry::After(time) => time.max(backoff(patience, tried, draws)),
        };
        let late = last.saturating_sub(begun) + wait > patience.deadline;
        if tried == patience.retries || late {
            let message = format!("{} (tried {} times)", error.message, tried + 1);
            return Err(ModelError { message, retry: Retry::Never, ..error });
        }
        tried += 1;
        tracing::debug!(%error, tried, ?wait, "retrying");
        clock.pause(wait, Why::Backoff).await;
    }
}

/// Exponential backoff with up to a quarter of downward jitter, so that clients do not retry in step.
fn backoff(patience: RetryPolicy, tried: u32, draws: &AtomicU64) -> Duration {
    let whole = patience.first.saturating_mul(1u32 << tried.min(16)).min(patience.longest);
    let draw = draws.fetch_add(1, Ordering::Relaxed);
    whole.mul_f64(1.0 - 0.25 * fraction(patience.seed.wrapping_add(draw)))
}

/// A pseudorandom number from 0 to 1, determined by the seed (splitmix64).
fn fraction(seed: u64) -> f64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let high = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(u32::MAX);
    f64::from(high) / f64::from(u32::MAX)
}

impl<M: ChatModel> ChatModel for Retrying<M> {
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
    use std::time::Duration;

    use apprentice_protocol::{ChatModel, ChatRequest, Clock as _, ModelError, ModelErrorKind, Retry};

    use super::{RetryPolicy, Retrying};
    use crate::scripted::{Scripted, ScriptedReply};
    use apprentice_protocol::VirtualClock;

    fn error(retry: Retry) -> ModelError {
        ModelError { fault: ModelErrorKind::Unavailable, retry, message: "busy".into() }
    }

    fn failing(errors: Vec<ModelError>) -> Scripted {
        let script = Scripted::new([]).expect("a script").in_order();
        errors.into_iter().fold(script, Scripted::then_fail)
    }

    #[tokio::test]
    async fn waiting_is_booked_apart_and_follows_the_servers_word() {
        let clock = Arc::new(VirtualClock::default());
        let wait = Retry::After(Duration::from_millis(1500));
        let script = failing(vec![error(wait), error(wait)])
            .then_reply(ScriptedReply { say: Some("hello".into()), ..ScriptedReply::default() })
            .expect("a reply");
        let model = Retrying::new(script, clock.clone(), RetryPolicy::default());
        let reply = model.reply(&ChatRequest::default()).await.expect("answers");
        assert_eq!((reply.timing.waiting_ms, clock.mono().as_millis()), (3000, 3000));
    }

    #[tokio::test]
    async fn patience_ends_and_lasting_errors_are_not_tried_again() {
        let clock = Arc::new(VirtualClock::default());
        let script = failing(vec![error(Retry::Now), error(Retry::Now), error(Retry::Now)]);
        let patience = RetryPolicy { retries: 2, ..RetryPolicy::default() };
        let model = Retrying::new(script, clock.clone(), patience);
        let told = model.reply(&ChatRequest::default()).await.expect_err("gives up");
        assert_eq!((told.message.as_str(), told.retry), ("busy (tried 3 times)", Retry::Never));
        let waited = clock.mono().as_millis();
        assert!((1125..=1500).contains(&waited), "{waited}");

        let model = Retrying::new(failing(vec![error(Retry::Never)]), clock.clone(), patience);
        model.reply(&ChatRequest::default()).await.expect_err("gives up at once");
        assert_eq!(clock.mono().as_millis(), waited);
    }
}
