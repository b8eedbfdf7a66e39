//! Pauses between looks at something that tells no event.

use std::time::Duration;

use apprentice_protocol::{Clock, Why};

/// The pause after the first look: most things are there soon.
const FIRST: Duration = Duration::from_millis(10);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(300);

/// Pauses that double, up to a longest one.
pub(super) struct Polling(Duration);

impl Polling {
    pub(super) const fn start() -> Self {
        Self(FIRST)
    }

    pub(super) async fn pause(&mut self, clock: &dyn Clock) {
        clock.pause(self.0, Why::PollFloor).await;
        self.0 = (self.0 * 2).min(LONGEST);
    }
}
