//! Detects when the screen has settled after input, from damage and window events rather than from a fixed delay.

use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::damage::ConnectionExt as _;

use super::{CancelToken, DisplayError, Screen, await_event};

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
}

impl ScreenActivity {
    pub(super) fn new(now: Duration) -> Self {
        Self { drawn: now, window: None, input: now }
    }

    /// How long to wait for another event before checking again. `None` if the screen has settled.
    fn left(&self, now: Duration) -> Option<Duration> {
        let window = self.window.filter(|window| *window >= self.input);
        let cap = self.input + if window.is_some() { CAP_WINDOW } else { CAP };
        let drawn = self.drawn.max(self.input) + QUIET;
        let rest = window.map_or(drawn, |window| drawn.max(window + QUIET_WINDOW)).min(cap);
        let left = rest.saturating_sub(now);
        (!left.is_zero()).then_some(left)
    }
}

impl Screen {
    /// Waits until the screen has come to rest since the last input.
    pub fn settle(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        loop {
            stop.check()?;
            self.take_events()?;
            let Some(left) = self.unrest.left(self.clock.mono()) else { return Ok(()) };
            await_event(&self.connection, Some(stop), left)?;
        }
    }

    /// Remembers that input was sent just now.
    pub fn disturbed(&mut self) {
        self.unrest.input = self.clock.mono();
        self.unrest.window = None;
    }

    /// Processes the display's pending events.
    pub(super) fn take_events(&mut self) -> Result<(), DisplayError> {
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::DamageNotify(_) => {
                    self.unrest.drawn = self.clock.mono();
                    self.connection.damage_subtract(self.damage, x11rb::NONE, x11rb::NONE)?;
                    self.connection.flush()?;
                }
                Event::PropertyNotify(event) if event.atom == self.atoms._NET_CLIENT_LIST => {
                    self.unrest.window = Some(self.clock.mono());
                }
                Event::MapNotify(_) | Event::UnmapNotify(_) => {
                    self.unrest.drawn = self.clock.mono();
                }
                _ => {}
            }
        }
        Ok(())
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
            let unrest = ScreenActivity { drawn: ms(drawn), window: window.map(ms), input: ms(1000) };
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
