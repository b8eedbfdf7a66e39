//! The picture of a screen that one window fills: how a browser without a window manager shows a page.

use std::time::Duration;

use apprentice_protocol::{Image, Rect, Size};
use x11rb::protocol::xproto::{ConnectionExt as _, MapState, WindowClass};

use super::screen::{encoded, gone};
use super::{CancelToken, DisplayError, Screen, await_event};

/// A program puts the parts of a frame on the screen within less than this. A quarter of a frame, so that a page that moves all the
/// time is still between two frames.
const UNDRAWN: Duration = Duration::from_millis(4);
/// Longest wait for a screen that is drawn on without a pause.
const CAP: Duration = Duration::from_millis(50);

/// The picture of the only window.
#[derive(Clone, Debug)]
pub struct SoleWindow {
    /// The picture.
    pub picture: Image,
    /// The number of the screen's changes up to it.
    pub changes: u64,
}

impl Screen {
    /// Moves the pointer to the last pixel of the screen. Beside a window that leaves this pixel free, nothing lies under it.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn park_pointer(&mut self) -> Result<(), DisplayError> {
        let (width, height) = self.size();
        let last = |side: u32| i16::try_from(side.saturating_sub(1)).unwrap_or(i16::MAX);
        self.connection
            .warp_pointer(x11rb::NONE, self.root, 0, 0, 0, 0, last(width), last(height))?
            .check()?;
        Ok(())
    }

    /// The picture of the only window on the screen, once nothing has been drawn for a moment. `None` if there is another one, such
    /// as a list that has popped up, or if it does not reach from the top left corner over all of `size`.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, if `stop` was cancelled, or if the picture cannot be encoded.
    pub fn sole_window(
        &mut self,
        size: Size,
        stop: &CancelToken,
    ) -> Result<Option<SoleWindow>, DisplayError> {
        self.await_undrawn(stop)?;
        let (changes, _) = self.activity()?;
        if !self.is_filled(size)? {
            return Ok(None);
        }
        let frame = self.frame_of(size)?;
        // A window that has come meanwhile may be in the picture.
        if !self.is_filled(size)? {
            return Ok(None);
        }
        Ok(Some(SoleWindow { picture: encoded(&frame)?, changes }))
    }

    /// Waits until nothing has been drawn for a moment.
    fn await_undrawn(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        self.sync()?;
        let end = self.clock.mono() + CAP;
        loop {
            stop.check()?;
            self.activity()?;
            let now = self.clock.mono();
            let left = UNDRAWN.saturating_sub(self.unrest.undrawn(now)).min(end.saturating_sub(now));
            if left.is_zero() {
                return Ok(());
            }
            await_event(&self.connection, Some(stop), left)?;
        }
    }

    /// Returns whether a single window is on the screen, and fills it.
    fn is_filled(&self, size: Size) -> Result<bool, DisplayError> {
        let whole = Rect::new(0, 0, size.width.cast_signed(), size.height.cast_signed());
        Ok(self.shown_windows()? == [whole])
    }

    /// Where windows are shown, those without a frame too, from the lowest to the topmost.
    pub(super) fn shown_windows(&self) -> Result<Vec<Rect>, DisplayError> {
        let children = self.connection.query_tree(self.root)?.reply()?.children;
        let mut requests = Vec::with_capacity(children.len());
        for window in children {
            requests.push((
                self.connection.get_window_attributes(window)?,
                self.connection.get_geometry(window)?,
            ));
        }
        let mut windows = Vec::with_capacity(requests.len());
        for (attributes, geometry) in requests {
            let (Some(attributes), Some(geometry)) = (gone(attributes.reply())?, gone(geometry.reply())?)
            else {
                continue;
            };
            let shows =
                attributes.map_state == MapState::VIEWABLE && attributes.class == WindowClass::INPUT_OUTPUT;
            if shows {
                let (x, y) = (geometry.x.into(), geometry.y.into());
                windows.push(Rect::new(x, y, geometry.width.into(), geometry.height.into()));
            }
        }
        Ok(windows)
    }
}
