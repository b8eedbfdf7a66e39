//! Clocks: the only reader of this machine's time, and a virtual clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use apprentice_protocol::{Clock, PortFuture, Why};
use jiff::Timestamp;

/// This machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// Creates a clock whose monotonic time starts now.
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
    fn pause(&self, time: Duration, why: Why) -> PortFuture<'_, ()> {
        tracing::trace!(?time, ?why, "pause");
        Box::pin(tokio::time::sleep(time))
    }
}

/// A virtual clock. Time passes only by pauses, and they return at once. A run of `scripted` on `scene` with this clock
/// is byte-identical each time.
#[derive(Debug)]
pub struct SteppedClock {
    start: Timestamp,
    micros: AtomicU64,
}

impl SteppedClock {
    /// Creates a clock that shows `start`.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, micros: AtomicU64::new(0) }
    }

    /// Advances the clock.
    pub fn advance(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Default for SteppedClock {
    fn default() -> Self {
        Self::starting_at(Timestamp::UNIX_EPOCH)
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        self.start.checked_add(self.mono()).unwrap_or(Timestamp::MAX)
    }

    fn mono(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    fn pause(&self, time: Duration, _why: Why) -> PortFuture<'_, ()> {
        self.advance(time);
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::{Clock, Why};

    use super::SteppedClock;

    #[tokio::test]
    async fn a_stepped_clock_moves_by_its_pauses_alone() {
        let clock = SteppedClock::default();
        let before = clock.now();
        assert_eq!(clock.mono(), Duration::ZERO);
        clock.pause(Duration::from_millis(1500), Why::TaskStep).await;
        assert_eq!(clock.mono(), Duration::from_millis(1500));
        assert_eq!(clock.now().as_millisecond() - before.as_millisecond(), 1500);
    }
}
