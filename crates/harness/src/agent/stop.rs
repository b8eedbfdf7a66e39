//! Reasons to stop the loop, and waits that react to them.

use std::future::Future;
use std::time::Duration;

use apprentice_protocol::{ModelError, ModelErrorKind, SinkError, StopReason, VoidCause, WorldError};
use tokio_util::sync::CancellationToken;

/// Timeout of one action or observation; a world that exceeds it counts as lost.
const WORLD_TIMEOUT: Duration = Duration::from_secs(120);

/// A reason to stop the loop.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) how: Result<StopReason, VoidCause>,
    pub(super) detail: String,
    /// Whether every other attempt would end so, until a person changes something.
    pub(super) lasting: bool,
}

impl Stop {
    pub(super) fn judged(reason: StopReason, detail: impl Into<String>) -> Self {
        Self { how: Ok(reason), detail: detail.into(), lasting: false }
    }

    pub(super) fn void(cause: VoidCause, detail: impl Into<String>) -> Self {
        Self { how: Err(cause), detail: detail.into(), lasting: false }
    }

    /// The stop of an attempt whose code panicked.
    pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Self::void(VoidCause::Internal, format!("panic: {text}"))
    }

    pub(super) fn at_limit(reason: StopReason) -> Self {
        Self::judged(reason, "a limit was reached")
    }
}

impl From<SinkError> for Stop {
    fn from(error: SinkError) -> Self {
        Self::void(error.void_cause(), error.to_string())
    }
}

impl From<WorldError> for Stop {
    fn from(error: WorldError) -> Self {
        Self::void(error.void_cause(), error.message)
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        match error.void_cause() {
            Some(cause) => {
                let lasting = error.is_lasting();
                Self { lasting, ..Self::void(cause, error.message) }
            }
            None => {
                let reason = match error.fault {
                    ModelErrorKind::ContextFull => StopReason::ContextFull,
                    ModelErrorKind::Policy => StopReason::Refused,
                    ModelErrorKind::Unreadable => StopReason::InvalidOutput,
                    ModelErrorKind::Unavailable
                    | ModelErrorKind::Protocol
                    | ModelErrorKind::Budget
                    | ModelErrorKind::Request
                    | ModelErrorKind::Refused
                    | ModelErrorKind::TooLarge
                    | ModelErrorKind::Replay => StopReason::TrialCostLimit,
                };
                Self::judged(reason, error.message)
            }
        }
    }
}

/// Waits for `work`, unless the attempt is cancelled first.
pub(super) async fn until<T>(cancel: &CancellationToken, work: impl Future<Output = T>) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop::void(VoidCause::Interrupted, "the attempt was cancelled")),
        done = work => Ok(done),
    }
}

/// Waits for a world, which counts as lost when it does not answer in time.
pub(super) async fn world<T>(cancel: &CancellationToken, work: impl Future<Output = T>) -> Result<T, Stop> {
    within(WORLD_TIMEOUT, cancel, work).await
}

async fn within<T>(
    patience: Duration,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, Stop> {
    let answered = until(cancel, tokio::time::timeout(patience, work)).await?;
    answered.map_err(|_| {
        Stop::void(VoidCause::WorldLost, format!("the world did not answer for {} s", patience.as_secs()))
    })
}

/// Runs picture work on a blocking thread, so that it does not hold up the async runtime.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, apprentice_pixels::PixelError> + Send + 'static,
) -> Result<T, Stop> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            Err(Stop::void(VoidCause::Internal, format!("a picture could not be prepared: {error}")))
        }
        Err(error) => Err(Stop::void(VoidCause::Internal, format!("picture work failed: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::VoidCause;
    use tokio_util::sync::CancellationToken;

    use super::within;

    #[tokio::test]
    async fn a_world_that_hangs_is_lost() {
        let hanging = std::future::pending::<()>();
        let stop = within(Duration::ZERO, &CancellationToken::new(), hanging).await.expect_err("is lost");
        assert_eq!(stop.how, Err(VoidCause::WorldLost));
    }
}
