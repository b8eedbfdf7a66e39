//! What lies on top at a point of the screen, and how a window is brought there.

use std::time::Duration;

use apprentice_protocol::ScreenPoint;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ClientMessageEvent, ConnectionExt, EventMask};

use super::screen::gone;
use super::{CancelToken, DisplayError, Screen, await_event};

/// Longest wait for a window to come to the front.
const RAISE: Duration = Duration::from_secs(1);
/// The source of a request that a person made, by the window manager's specification.
const BY_A_PERSON: u32 = 2;
/// Windows lie in each other no deeper than this.
const DEPTH: usize = 32;

/// What lies on top at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A window that the window manager lists, by its number.
    Window(u32),
    /// Something else: an open menu, the frame of a window, or the empty screen.
    Other,
}

impl Screen {
    /// What lies on top at a point.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn hit(&mut self, at: ScreenPoint) -> Result<Hit, DisplayError> {
        let (Ok(x), Ok(y)) = (i16::try_from(at.x), i16::try_from(at.y)) else { return Ok(Hit::Other) };
        let listed = self.focus()?.listed;
        let mut within = self.root;
        for _ in 0..DEPTH {
            let asked = self.connection.translate_coordinates(self.root, within, x, y)?;
            match gone(asked.reply())?.map(|told| told.child) {
                Some(child) if listed.contains(&child) => return Ok(Hit::Window(child)),
                Some(child) if child != x11rb::NONE => within = child,
                _ => break,
            }
        }
        Ok(Hit::Other)
    }

    /// Brings a window to the front, as a click on its title does, and waits until it lies on top at a point. Returns what lies there
    /// then.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, or if `stop` was cancelled.
    pub fn raise(&mut self, window: u32, at: ScreenPoint, stop: &CancelToken) -> Result<Hit, DisplayError> {
        let asked = [BY_A_PERSON, x11rb::CURRENT_TIME, x11rb::NONE, 0, 0];
        let message = ClientMessageEvent::new(32, window, self.atoms._NET_ACTIVE_WINDOW, asked);
        let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.disturbed()?;
        self.connection.send_event(false, self.root, mask, message)?;
        self.connection.flush()?;
        let end = self.clock.mono() + RAISE;
        loop {
            stop.check()?;
            let hit = self.hit(at)?;
            let left = end.saturating_sub(self.clock.mono());
            if hit == Hit::Window(window) || left.is_zero() {
                self.settle(stop)?;
                return Ok(hit);
            }
            // The answers may have come with the event that is waited for.
            if self.take_events()? == 0 {
                await_event(&self.connection, Some(stop), left)?;
            }
        }
    }

    /// The title of a window.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn title(&mut self, window: u32) -> Result<String, DisplayError> {
        let windows = self.windows()?;
        let found = windows.into_iter().find(|other| super::popups::number(other) == Some(window));
        Ok(found.map(|window| window.title).unwrap_or_default())
    }
}
