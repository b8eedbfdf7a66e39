//! Tries an exchange again when its error says that it may succeed, and books the waiting apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apprentice_protocol::{
    ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelProfile, PortFuture, Retry, Why,
};

/// How often and how long an exchange is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Tries after the first.
    pub retries: u32,
    /// The first wait when the server names none; each later one is twice as long.
    pub first: Duration,
    /// The longest such wait.
    pub longest: Duration,
    /// What the jitter is drawn from.
    pub seed: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { retries: 6, first: Duration::from_millis(500), longest: Duration::from_secs(8), seed: 0 }
    }
}

/// A model that is asked again.
pub struct Retrying<M> {
    inner: M,
    clock: Arc<dyn Clock>,
    patience: Patience,
    draws: AtomicU64,
}

impl<M: ChatModel> Retrying<M> {
    /// Asks `inner` as often as `patience` allows.
    pub fn new(inner: M, clock: Arc<dyn Clock>, patience: Patience) -> Self {
        Self { inner, clock, patience, draws: AtomicU64::new(0) }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let asked = patiently(self.clock.as_ref(), self.patience, &self.draws, || self.inner.reply(request));
        let (mut reply, waited) = asked.await?;
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
        Ok(reply)
    }
}

/// Does an exchange as often as patience allows; also says how long it took until the one that succeeded.
pub(crate) async fn patiently<T, F: Future<Output = Result<T, ModelError>>>(
    clock: &dyn Clock,
    patience: Patience,
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
            Retry::Never => return Err(error),
            Retry::Now => backoff(patience, tried, draws),
            Retry::After(time) => time,
        };
        if tried == patience.retries {
            let message = format!("{} (tried {} times)", error.message, tried + 1);
            return Err(ModelError { message, retry: Retry::Never, ..error });
        }
        tried += 1;
        tracing::debug!(%error, tried, ?wait, "asked again");
        clock.pause(wait, Why::Backoff).await;
    }
}

/// Twice as long each time, up to a quarter shorter by chance, so that clients do not move in step.
fn backoff(patience: Patience, tried: u32, draws: &AtomicU64) -> Duration {
    let whole = patience.first.saturating_mul(1u32 << tried.min(16)).min(patience.longest);
    let draw = draws.fetch_add(1, Ordering::Relaxed);
    whole.mul_f64(1.0 - 0.25 * fraction(patience.seed.wrapping_add(draw)))
}

/// A number from 0 to 1 that looks drawn by chance and is the same for the same seed (splitmix64).
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

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use apprentice_protocol::{ChatModel, ChatRequest, Clock as _, ModelError, ModelFault, Retry};

    use super::{Patience, Retrying};
    use crate::model::scripted::{Scripted, ScriptedReply};
    use apprentice_protocol::SteppedClock;

    fn error(retry: Retry) -> ModelError {
        ModelError { fault: ModelFault::Unavailable, retry, message: "busy".into() }
    }

    fn failing(errors: Vec<ModelError>) -> Scripted {
        let script = Scripted::new([]).expect("a script").in_order();
        errors.into_iter().fold(script, Scripted::then_fail)
    }

    #[tokio::test]
    async fn waiting_is_booked_apart_and_follows_the_servers_word() {
        let clock = Arc::new(SteppedClock::default());
        let wait = Retry::After(Duration::from_millis(1500));
        let script = failing(vec![error(wait), error(wait)])
            .then_reply(ScriptedReply { say: Some("hello".into()), ..ScriptedReply::default() })
            .expect("a reply");
        let model = Retrying::new(script, clock.clone(), Patience::default());
        let reply = model.reply(&ChatRequest::default()).await.expect("answers");
        assert_eq!((reply.timing.waiting_ms, clock.mono().as_millis()), (3000, 3000));
    }

    #[tokio::test]
    async fn patience_ends_and_lasting_errors_are_not_tried_again() {
        let clock = Arc::new(SteppedClock::default());
        let script = failing(vec![error(Retry::Now), error(Retry::Now), error(Retry::Now)]);
        let patience = Patience { retries: 2, ..Patience::default() };
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
