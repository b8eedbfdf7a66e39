//! Waits on the screen: until it has settled after input, as the display's events tell, or for a fixed time.

use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::damage::ConnectionExt as _;

use super::{CancelToken, DisplayError, Screen, await_event};

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

    /// Waits a fixed time, as holds and gestures need. Cancelling the job ends the wait.
    pub(super) fn pause(&mut self, time: Duration, stop: &CancelToken) -> Result<(), DisplayError> {
        let end = self.clock.mono() + time;
        loop {
            stop.check()?;
            let left = end.saturating_sub(self.clock.mono());
            if left.is_zero() {
                return Ok(());
            }
            self.take_events()?;
            await_event(&self.connection, Some(stop), left)?;
        }
    }

    /// Remembers that input was sent just now.
    pub fn disturbed(&mut self) {
        self.unrest.note_input(self.clock.mono());
    }

    /// Returns the number of changes of the screen so far, and whether a window was opened or closed since the last
    /// input.
    pub fn activity(&mut self) -> Result<(u64, bool), DisplayError> {
        self.take_events()?;
        Ok((self.unrest.changes(), self.unrest.window_changed()))
    }

    /// Processes the display's pending events.
    fn take_events(&mut self) -> Result<(), DisplayError> {
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::DamageNotify(_) => {
                    self.unrest.note_drawing(self.clock.mono());
                    self.connection.damage_subtract(self.damage, x11rb::NONE, x11rb::NONE)?;
                    self.connection.flush()?;
                }
                Event::PropertyNotify(event) if event.atom == self.atoms._NET_CLIENT_LIST => {
                    self.unrest.note_window(self.clock.mono());
                }
                // A window manager hands the focus on after it has shown a window.
                Event::PropertyNotify(event) if event.atom == self.atoms._NET_ACTIVE_WINDOW => {
                    self.unrest.note_drawing(self.clock.mono());
                }
                Event::MapNotify(_) | Event::UnmapNotify(_) => {
                    self.unrest.note_drawing(self.clock.mono());
                }
                _ => {}
            }
        }
        Ok(())
    }
}
