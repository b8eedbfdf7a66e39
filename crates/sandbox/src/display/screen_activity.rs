//! Decides when the screen has settled after input, from damage and window events rather than from a fixed delay.

use std::time::Duration;

/// The screen has settled when no drawing happened for this long.
const QUIET: Duration = Duration::from_millis(90);
/// The same after a window was opened or closed, because new windows draw their contents late.
const QUIET_WINDOW: Duration = Duration::from_millis(300);
/// Longest wait for a screen that never settles.
const CAP: Duration = Duration::from_millis(1500);
/// Longest wait while windows keep opening or closing.
const CAP_WINDOW: Duration = Duration::from_millis(3500);

/// Times of the last events that disturbed the screen.
#[derive(Debug)]
pub(super) struct ScreenActivity {
    drawn: Duration,
    window: Option<Duration>,
    input: Duration,
    changes: u64,
}

impl ScreenActivity {
    pub(super) fn new(now: Duration) -> Self {
        Self { drawn: now, window: None, input: now, changes: 0 }
    }

    /// Records that input was sent. Windows that changed before it no longer count.
    pub(super) fn note_input(&mut self, now: Duration) {
        self.input = now;
        self.window = None;
    }

    /// Records that something was drawn.
    pub(super) fn note_drawing(&mut self, now: Duration) {
        self.drawn = now;
        self.changes += 1;
    }

    /// Records that a window was opened or closed.
    pub(super) fn note_window(&mut self, now: Duration) {
        self.window = Some(now);
        self.changes += 1;
    }

    /// The number of changes so far: it tells whether two looks fell into the same moment.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a window was opened or closed since the last input.
    pub(super) fn window_changed(&self) -> bool {
        self.window.is_some_and(|window| window >= self.input)
    }

    /// How long to wait for another event before checking again. `None` if the screen has settled.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let window = self.window.filter(|window| *window >= self.input);
        let cap = self.input + if window.is_some() { CAP_WINDOW } else { CAP };
        let drawn = self.drawn.max(self.input) + QUIET;
        let rest = window.map_or(drawn, |window| drawn.max(window + QUIET_WINDOW)).min(cap);
        let left = rest.saturating_sub(now);
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ScreenActivity;

    #[test]
    fn rest_follows_the_last_thing_drawn_and_has_a_cap() {
        let ms = Duration::from_millis;
        let check = |drawn: u64, window: Option<u64>, now: u64, left: Option<u64>| {
            let unrest =
                ScreenActivity { drawn: ms(drawn), window: window.map(ms), input: ms(1000), changes: 0 };
            assert_eq!(unrest.left(ms(now)), left.map(ms), "drawn {drawn}, window {window:?}, now {now}");
        };
        check(0, None, 1000, Some(90));
        check(0, None, 1090, None);
        check(1080, None, 1090, Some(80));
        check(2480, None, 2490, Some(10));
        check(2499, None, 2500, None);
        check(1010, Some(1010), 1200, Some(110));
        check(1010, Some(900), 1200, None);
        check(4400, Some(4400), 4500, None);
    }
}
