//! The pointer: moves, clicks with real button holds, drags along a path, wheel notches.

use std::time::Duration;

use apprentice_protocol::{Button, Chord, ScreenPoint};
use x11rb::protocol::xproto::{BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt, MOTION_NOTIFY_EVENT};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::last_click::LastClick;
use super::own_timers::Input;
use super::{CancelToken, DisplayError, Screen};

/// How long a button stays down in a click, unless the program has noticed it earlier.
const HOLD: Duration = Duration::from_millis(20);
/// Pause between the clicks of a double click, far below any toolkit's limit.
const BETWEEN: Duration = Duration::from_millis(40);
/// Longest pause after a move, so that the program below notices the pointer.
const HOVER: Duration = Duration::from_millis(10);
/// Pause between the small moves of a drag.
const STRIDE: Duration = Duration::from_millis(8);
/// Longest single move of a drag, in pixels.
const STRIDE_PIXELS: i32 = 24;
/// Pause before a dragged item is dropped; applied twice.
const DWELL: Duration = Duration::from_millis(120);
/// Pause between two notches of the wheel.
const NOTCH: Duration = Duration::from_millis(6);

/// An action of the pointer.
#[derive(Clone, Debug)]
pub enum Pointer {
    /// Only move.
    Move,
    /// Press and release, some times over, with keys held.
    Click {
        /// The button.
        button: Button,
        /// The number of clicks: 2 for a double click.
        count: u8,
        /// Keys held down meanwhile.
        hold: Option<Chord>,
    },
    /// Press and keep down.
    Press(Button),
    /// Releases a button.
    Release(Button),
    /// Drag to these points.
    Drag {
        /// The button held down.
        button: Button,
        /// The points to pass, the last one where it is dropped.
        path: Vec<ScreenPoint>,
    },
    /// Turn the wheel.
    Scroll {
        /// Notches to the right.
        dx: i32,
        /// Notches down.
        dy: i32,
    },
}

const fn number(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
        Button::Back => 8,
        Button::Forward => 9,
    }
}

/// The steps from one point to another, including the last point.
fn strides(from: ScreenPoint, to: ScreenPoint) -> Vec<ScreenPoint> {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let count = (dx.abs().max(dy.abs()) / STRIDE_PIXELS).max(3);
    (1..=count).map(|step| ScreenPoint::new(from.x + dx * step / count, from.y + dy * step / count)).collect()
}

impl Screen {
    /// Uses the pointer at a point, or where it is. False if a key to be held cannot be typed.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled.
    pub fn use_pointer(
        &mut self,
        at: Option<ScreenPoint>,
        what: &Pointer,
        stop: &CancelToken,
    ) -> Result<bool, DisplayError> {
        if let Some(at) = at {
            self.move_to(at)?;
            self.await_taken(HOVER, stop)?;
        }
        match what {
            Pointer::Move => {}
            Pointer::Click { button, count, hold } => {
                let keys = match hold {
                    Some(chord) => match self.hold_chord(chord, stop)? {
                        Some(keys) => keys,
                        None => return Ok(false),
                    },
                    None => Vec::new(),
                };
                self.keep_apart(number(*button), stop)?;
                if *count == 1 {
                    self.button(number(*button), true)?;
                    self.await_taken(HOLD, stop)?;
                    self.button(number(*button), false)?;
                }
                // Several clicks are sent at once and timed by the server: on a busy machine they would otherwise drift
                // apart.
                for turn in (0..*count).filter(|_| *count > 1) {
                    let before = if turn == 0 { Duration::ZERO } else { BETWEEN };
                    self.button_after(before, number(*button), true)?;
                    self.button_after(HOLD, number(*button), false)?;
                }
                self.sync()?;
                self.last_click = Some(LastClick {
                    at: self.pointer()?,
                    button: number(*button),
                    sent: self.clock.mono(),
                    settled: false,
                });
                for key in keys.into_iter().rev() {
                    self.key(key, false)?;
                }
            }
            Pointer::Press(button) => self.button(number(*button), true)?,
            Pointer::Release(button) => self.button(number(*button), false)?,
            Pointer::Drag { button, path } => self.drag(number(*button), path, stop)?,
            Pointer::Scroll { dx, dy } => {
                for (turns, back, forth) in [(*dy, 4, 5), (*dx, 6, 7)] {
                    let wheel = if turns < 0 { back } else { forth };
                    for _ in 0..turns.unsigned_abs() {
                        self.button(wheel, true)?;
                        self.button(wheel, false)?;
                        self.pause(NOTCH, stop)?;
                    }
                }
            }
        }
        self.sync()?;
        Ok(true)
    }

    /// Uses the pointer at several places while keys are held. False if a key cannot be typed.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled. Keys that are held are released first.
    pub fn use_pointer_holding(
        &mut self,
        hold: &Chord,
        steps: &[(Option<ScreenPoint>, Pointer)],
        stop: &CancelToken,
    ) -> Result<bool, DisplayError> {
        let Some(keys) = self.hold_chord(hold, stop)? else { return Ok(false) };
        let done = steps.iter().try_for_each(|(at, what)| self.use_pointer(*at, what, stop).map(drop));
        for key in keys.into_iter().rev() {
            self.key(key, false)?;
        }
        self.sync()?;
        done.map(|()| true)
    }

    /// Waits until a click is one by itself, where the one before was seen to its end: two acts are no double click, however soon
    /// the second follows.
    fn keep_apart(&mut self, button: u8, stop: &CancelToken) -> Result<(), DisplayError> {
        let Some(last) = self.last_click else { return Ok(()) };
        match last.keeps_apart(self.pointer()?, button, self.clock.mono()) {
            Some(left) => self.pause(left, stop),
            None => Ok(()),
        }
    }

    /// Returns where the pointer is.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn pointer(&self) -> Result<ScreenPoint, DisplayError> {
        let found = self.connection.query_pointer(self.root)?.reply()?;
        Ok(ScreenPoint::new(found.root_x.into(), found.root_y.into()))
    }

    fn drag(&mut self, button: u8, path: &[ScreenPoint], stop: &CancelToken) -> Result<(), DisplayError> {
        let start = self.connection.query_pointer(self.root)?.reply()?;
        let mut from = ScreenPoint::new(start.root_x.into(), start.root_y.into());
        self.button(button, true)?;
        self.pause(HOLD, stop)?;
        for (leg, to) in path.iter().enumerate() {
            for (stride, step) in strides(from, *to).into_iter().enumerate() {
                self.move_to(step)?;
                self.pause(STRIDE, stop)?;
                if leg == 0 && stride == 2 {
                    // By now the program has recognised a drag; give it time to pick the item up.
                    self.rest(stop)?;
                }
            }
            from = *to;
        }
        // Drag and drop negotiates the target between programs, invisibly and again at each move. An early release
        // drops the item nowhere. A person hesitates here too.
        self.rest(stop)?;
        for place in [ScreenPoint::new(from.x + 1, from.y), from] {
            self.move_to(place)?;
            self.pause(DWELL, stop)?;
        }
        self.button(button, false)
    }

    /// Waits until the screen shows the effect of all input so far.
    fn rest(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        self.disturbed()?;
        self.settle(stop)
    }

    fn move_to(&mut self, to: ScreenPoint) -> Result<(), DisplayError> {
        let place = |value: i32| i16::try_from(value).unwrap_or(i16::MAX);
        let (x, y) = (place(to.x), place(to.y));
        self.connection.xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, self.root, x, y, 0)?;
        self.sync()
    }

    fn button(&mut self, button: u8, down: bool) -> Result<(), DisplayError> {
        self.button_after(Duration::ZERO, button, down)?;
        self.sync()
    }

    /// Presses or releases a button, delayed after the previous input.
    fn button_after(&mut self, delay: Duration, button: u8, down: bool) -> Result<(), DisplayError> {
        let kind = if down { BUTTON_PRESS_EVENT } else { BUTTON_RELEASE_EVENT };
        let delay = u32::try_from(delay.as_millis()).unwrap_or(0);
        self.connection.xtest_fake_input(kind, button, delay, self.root, 0, 0, 0)?;
        self.held_buttons.retain(|held| *held != button);
        if down {
            self.held_buttons.push(button);
            let at = self.pointer()?;
            self.pressed(Input::Button(button, at));
        }
        Ok(())
    }

    /// Releases every key and button that is held.
    pub fn release_all(&mut self) {
        let keys = std::mem::take(&mut self.held_keys);
        let buttons = std::mem::take(&mut self.held_buttons);
        // A display that accepts no input has no keys held either.
        let _ = keys.into_iter().rev().try_for_each(|code| self.key(code, false));
        let _ = buttons.into_iter().try_for_each(|button| self.button(button, false));
        let _ = self.sync();
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::ScreenPoint;

    use super::{STRIDE_PIXELS, strides};

    #[test]
    fn a_drag_goes_there_in_small_steps() {
        for (from, to) in [((0, 0), (400, 30)), ((10, 10), (11, 10)), ((500, 20), (0, 900)), ((5, 5), (5, 5))]
        {
            let (from, to) = (ScreenPoint::new(from.0, from.1), ScreenPoint::new(to.0, to.1));
            let steps = strides(from, to);
            assert_eq!(steps.last(), Some(&to));
            let mut last = from;
            for step in steps {
                assert!(
                    (step.x - last.x).abs() <= STRIDE_PIXELS + 1
                        && (step.y - last.y).abs() <= STRIDE_PIXELS + 1
                );
                last = step;
            }
        }
    }
}
