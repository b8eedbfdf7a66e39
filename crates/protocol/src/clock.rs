//! The port for time, and a clock that moves only when told.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::BoxFuture;

/// The reason for a pause. Waiting for an event is not a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A task's own `sleep` step.
    TaskStep,
    /// The model requested a wait.
    ModelAsked,
    /// Delay before the next try of a request.
    Backoff,
    /// Minimum interval between two polls of a source without events.
    PollFloor,
}

/// The source of time. Only the command line creates one; all other code receives it as an argument.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time.
    fn now(&self) -> Timestamp;
    /// Returns the monotonic time since a fixed moment of this process.
    fn mono(&self) -> Duration;
    /// Pauses for this duration.
    fn pause(&self, time: Duration, why: Why) -> BoxFuture<'_, ()>;
}

/// A clock that stands still except for the pauses asked of it, which pass at once. With it a run of
/// `scripted` on `scene` is the same to the byte each time.
#[derive(Debug)]
pub struct VirtualClock {
    start: Timestamp,
    micros: AtomicU64,
}

impl VirtualClock {
    /// A clock that shows `start`.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, micros: AtomicU64::new(0) }
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::starting_at(Timestamp::UNIX_EPOCH)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        self.start.checked_add(self.mono()).unwrap_or(Timestamp::MAX)
    }

    fn mono(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    fn pause(&self, time: Duration, _why: Why) -> BoxFuture<'_, ()> {
        self.advance(time);
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Clock, VirtualClock, Why};

    #[test]
    fn a_stepped_clock_moves_by_its_pauses_alone() {
        let clock = VirtualClock::default();
        let before = clock.now();
        assert_eq!(clock.mono(), Duration::ZERO);
        drop(clock.pause(Duration::from_millis(1500), Why::TaskStep));
        assert_eq!(clock.mono(), Duration::from_millis(1500));
        assert_eq!(clock.now().as_millisecond() - before.as_millisecond(), 1500);
    }
}
