//! The one reader of this machine's time.

use std::time::{Duration, Instant};

use apprentice_protocol::{BoxFuture, Clock, Why};
use jiff::Timestamp;

/// This machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    #[expect(clippy::disallowed_methods, reason = "the one adapter that reads the machine's clock")]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one adapter that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn mono(&self) -> Duration {
        self.origin.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the one adapter that pauses")]
    fn pause(&self, time: Duration, why: Why) -> BoxFuture<'_, ()> {
        tracing::trace!(?time, ?why, "pause");
        Box::pin(tokio::time::sleep(time))
    }
}
