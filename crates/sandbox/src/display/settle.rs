//! Waits on the screen: until it has settled after input, as the display's events tell, or for a fixed time.

use std::collections::BTreeMap;
use std::time::Duration;

use apprentice_protocol::Rect;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::damage::ConnectionExt as _;

use super::own_timers::Input;
use super::programs::{ProgramLook, Programs, SUPERVISOR};
use super::screen::Focus;
use super::{CancelToken, DisplayError, Screen, await_event, drawn_areas};
use crate::wire::DrawnSince;

/// Programs that carry the cell: names as the kernel cuts them, and what they are.
const CARRIERS: [(&str, &str); 7] = [
    (SUPERVISOR, "the supervisor of the cell"),
    ("Xvfb", "the display (Xvfb)"),
    ("Xorg", "the display (Xorg)"),
    ("openbox", "the window manager (openbox)"),
    ("dbus-daemon", "a message bus (dbus-daemon)"),
    ("at-spi-bus-laun", "the accessibility bus (at-spi-bus-launcher)"),
    ("at-spi2-registr", "the accessibility bus (at-spi2-registryd)"),
];
/// A wait for nothing but time wakes up this often, to show that it goes on.
const BEAT: Duration = Duration::from_secs(1);
/// Longest wait for the focus to arrive at another window after one has closed.
const FOCUS: Duration = Duration::from_secs(1);
/// Time between two looks at whether input was taken.
const TAKEN: Duration = Duration::from_millis(1);

impl Screen {
    /// Waits until the screen has come to rest since the last input: nothing is drawn, and the cell's programs have
    /// nothing left to do. The wait has a cap; [`Screen::busy_programs`] then names who is still at work.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, if `stop` was cancelled, or if a program that all others need, such as the window
    /// manager, is stopped.
    pub fn settle(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        // All input so far has reached the programs: they are awake from here on until they have dealt with it.
        self.sync()?;
        self.unrest.note_wait(self.clock.mono());
        loop {
            stop.check()?;
            self.watch_programs();
            self.take_events()?;
            let now = self.clock.mono();
            let Some(left) = self.unrest.left(now) else {
                self.unrest.note_end(now);
                if let Some(click) = &mut self.last_click {
                    click.settled = true;
                }
                return self.check_carriers();
            };
            await_event(&self.connection, Some(stop), left)?;
        }
    }

    /// Fails if a program that carries the cell was stopped: what is seen then is not what the other programs did.
    fn check_carriers(&self) -> Result<(), DisplayError> {
        let stopped: Vec<&String> = self.unrest.stopped().values().collect();
        match CARRIERS.iter().find(|(name, _)| stopped.iter().any(|stopped| stopped == name)) {
            Some((_, what)) => Err(DisplayError::Frozen(what)),
            None => Ok(()),
        }
    }

    /// The programs that a signal has stopped, by process id.
    pub fn stopped_programs(&self) -> BTreeMap<i32, String> {
        self.unrest.stopped().clone()
    }

    /// Looks at what the cell's programs are doing.
    fn watch_programs(&mut self) {
        let Some(programs) = &mut self.programs else { return };
        if let Some(idle) = self.unrest.note_look(self.clock.mono(), programs.look()) {
            let timers = programs.short_timers(&idle, self.clock.mono());
            self.unrest.note_idle(timers);
        }
    }

    /// Looks at what the cell's programs are doing between two waits.
    fn look_between(&mut self) -> Option<ProgramLook> {
        let look = self.programs.as_mut().and_then(Programs::look)?;
        self.unrest.note_ran(self.clock.mono(), &look);
        Some(look)
    }

    /// Whether a program runs, or waits for the disk, just now. Nobody does where programs cannot be watched.
    pub(super) fn is_anyone_running(&mut self) -> bool {
        self.look_between().is_some_and(|look| !look.running.is_empty())
    }

    /// Waits until the programs have taken the input sent so far, but not longer than a person would hold on.
    pub(super) fn await_taken(&mut self, cap: Duration, stop: &CancelToken) -> Result<(), DisplayError> {
        self.sync()?;
        let end = self.clock.mono() + cap;
        loop {
            stop.check()?;
            self.take_events()?;
            let resting = self.look_between().is_some_and(|look| look.running.is_empty());
            let left = end.saturating_sub(self.clock.mono());
            if resting || left.is_zero() {
                return Ok(());
            }
            await_event(&self.connection, Some(stop), left.min(TAKEN))?;
        }
    }

    /// Waits at least `floor`, and until two looks find that no program runs and none has run in between, but not longer than
    /// `cap`.
    pub(super) fn await_idle(
        &mut self,
        floor: Duration,
        cap: Duration,
        stop: &CancelToken,
    ) -> Result<(), DisplayError> {
        let begun = self.clock.mono();
        let mut before = None;
        self.pause(floor, stop)?;
        loop {
            stop.check()?;
            self.take_events()?;
            let Some(look) = self.look_between() else { return Ok(()) };
            let left = (begun + cap).saturating_sub(self.clock.mono());
            let is_idle = look.running.is_empty() && before.as_ref() == Some(&look.turns);
            if is_idle || left.is_zero() {
                return Ok(());
            }
            before = Some(look.turns);
            await_event(&self.connection, Some(stop), left.min(TAKEN))?;
        }
    }

    /// Names of the programs that were still at work when the last wait reached its cap.
    pub fn busy_programs(&self) -> Vec<String> {
        self.unrest.still_busy().to_vec()
    }

    /// Returns whether the last input changed anything on the screen.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn changed_since_input(&mut self) -> Result<bool, DisplayError> {
        self.take_events()?;
        Ok(self.unrest.changed_since_input())
    }

    /// Waits until the screen shows more changes than `seen`, as [`Screen::activity`] counts them, and returns whether it did
    /// before the cap.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled. That nothing changed is no error.
    pub fn await_change(
        &mut self,
        seen: u64,
        cap: Duration,
        stop: &CancelToken,
    ) -> Result<bool, DisplayError> {
        let end = self.clock.mono() + cap;
        loop {
            stop.check()?;
            self.take_events()?;
            let left = end.saturating_sub(self.clock.mono());
            if self.unrest.changes() > seen || left.is_zero() {
                return Ok(self.unrest.changes() > seen);
            }
            await_event(&self.connection, Some(stop), left.min(BEAT))?;
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
            await_event(&self.connection, Some(stop), left.min(BEAT))?;
        }
    }

    /// Waits until a window has the focus: keys that are sent while a dialog closes reach nobody.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled. That no window got the focus in time is no error.
    pub fn await_focus(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        self.take_events()?;
        let end = self.clock.mono() + FOCUS;
        loop {
            stop.check()?;
            let focus = self.focus()?;
            let left = end.saturating_sub(self.clock.mono());
            if has_arrived(&focus, self.unrest.window_changed()) || left.is_zero() {
                return Ok(());
            }
            // The answers may have come with the event that is waited for.
            if self.take_events()? == 0 {
                await_event(&self.connection, Some(stop), left)?;
            }
        }
    }

    /// Remembers that input is sent now, or that something else is about to change the screen.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn disturbed(&mut self) -> Result<(), DisplayError> {
        self.take_events()?;
        self.unrest.note_input(self.clock.mono());
        Ok(())
    }

    /// Remembers that a button or a key was pressed just now.
    pub(super) fn pressed(&mut self, what: Input) {
        self.unrest.note_pressed(what, self.clock.mono());
    }

    /// Returns the number of changes of the screen so far, and whether a window was opened or closed since the last
    /// input.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn activity(&mut self) -> Result<(u64, bool), DisplayError> {
        self.take_events()?;
        Ok((self.unrest.changes(), self.unrest.window_changed()))
    }

    /// Processes the display's pending events, and returns their number.
    pub(super) fn take_events(&mut self) -> Result<usize, DisplayError> {
        self.beats.note();
        let (mut drawn, mut count) = (false, 0);
        while let Some(event) = self.connection.poll_for_event()? {
            count += 1;
            match event {
                Event::DamageNotify(event) => {
                    let area = event.area;
                    let area = Rect::new(area.x.into(), area.y.into(), area.width.into(), area.height.into());
                    self.drawn.note(area);
                    self.unrest.note_drawing(self.clock.mono(), Some(area));
                    drawn = true;
                }
                Event::PropertyNotify(event) if event.atom == self.atoms._NET_CLIENT_LIST => {
                    self.unrest.note_window(self.clock.mono());
                }
                // A window manager hands the focus on after it has shown a window.
                Event::PropertyNotify(event) if event.atom == self.atoms._NET_ACTIVE_WINDOW => {
                    self.unrest.note_drawing(self.clock.mono(), None);
                }
                Event::MapNotify(_) | Event::UnmapNotify(_) => {
                    self.unrest.note_drawing(self.clock.mono(), None);
                }
                _ => {}
            }
        }
        if drawn {
            // Each of its areas has been told by then, so none is lost.
            self.connection.damage_subtract(self.damage, x11rb::NONE, x11rb::NONE)?;
            self.connection.flush()?;
        }
        Ok(count)
    }

    /// What was drawn since the last call.
    pub(crate) fn take_drawn(&mut self) -> Result<DrawnSince, DisplayError> {
        self.take_events()?;
        let pixels = if self.drawn.any() { Some(self.pixels()?) } else { None };
        let overlaps = drawn_areas::overlaps(&self.shown_windows()?);
        Ok(self.drawn.take(overlaps, pixels))
    }
}

/// Returns whether keys reach a window. Without any window there is none to wait for; with all of them out of sight none gets the
/// focus, unless one has just gone.
fn has_arrived(focus: &Focus, window_changed: bool) -> bool {
    match focus.active.filter(|active| *active != x11rb::NONE) {
        _ if focus.listed.is_empty() => true,
        Some(active) => focus.in_active && focus.listed.contains(&active),
        None => !window_changed,
    }
}

#[cfg(test)]
mod tests {
    use super::{Focus, has_arrived};

    #[test]
    fn keys_wait_until_the_active_window_gets_them() {
        let arrived = |active: Option<u32>, listed: &[u32], in_active: bool, window_changed: bool| {
            has_arrived(&Focus { active, listed: listed.to_vec(), in_active }, window_changed)
        };
        assert!(arrived(Some(7), &[5, 7], true, true) && arrived(None, &[], false, true));
        assert!(!arrived(Some(7), &[5], true, true), "the active window is gone");
        assert!(
            !arrived(Some(7), &[5, 7], false, false),
            "the window manager does not know yet that it is gone"
        );
        for none in [None, Some(0)] {
            assert!(!arrived(none, &[5], false, true), "the dialog has closed, and no window is active");
            assert!(arrived(none, &[5], false, false), "no window is in sight");
        }
    }
}
