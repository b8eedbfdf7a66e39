//! Waits until the program in front has drawn its window, before the first view of a desktop.
//!
//! A painting or modelling program shows a splash screen, or a window of one colour, while it loads, and has nothing to draw
//! meanwhile: that it is silent says nothing, and that it works does.

use std::collections::HashMap;
use std::time::Duration;

use apprentice_protocol::Window;
use x11rb::protocol::xproto::AtomEnum;

use super::{CancelToken, DisplayError, Screen};

/// Longest wait while nobody works: GTK 4 draws about a second after it has shown its window.
const RESTING: Duration = Duration::from_millis(2500);
/// Longest wait while programs work: Blender compiles its shaders for 8 s behind an empty window, and longer where several start at
/// once.
const LOADING: Duration = Duration::from_secs(75);
/// Time between two looks at whether programs work.
const LOOK: Duration = Duration::from_millis(250);
/// A window of which this share is of one colour has drawn a frame or a bar at most.
const EMPTY: f64 = 0.99;

/// How much the window in front has drawn.
enum Drawn {
    /// More than a frame, or there is no window to wait for.
    Something,
    /// A frame or a bar: of a program that rests, this is its window.
    Little,
    /// Nothing, or only a splash screen is there.
    Nothing,
}

impl Screen {
    /// Waits until the window in front has drawn more than one colour and no splash screen stands before it. A window may stay
    /// so: the wait then ends soon after the programs rest, and [`Screen::undrawn_window`] names it.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, or if `stop` was cancelled.
    pub fn await_first_drawing(&mut self, stop: &CancelToken) -> Result<(), DisplayError> {
        let begun = self.clock.mono();
        let mut worked = begun;
        self.settle(stop)?;
        let mut is_working = !self.busy_programs().is_empty();
        loop {
            let (changes, _) = self.activity()?;
            let drawn = self.drawn_in_front()?;
            let now = self.clock.mono();
            if is_working {
                worked = now;
            }
            let rests_for = match drawn {
                Drawn::Something => return Ok(()),
                Drawn::Little => Duration::ZERO,
                Drawn::Nothing => RESTING,
            };
            let left = (worked + rests_for).min(begun + LOADING).saturating_sub(now);
            if left.is_zero() && !(is_working && now < begun + LOADING) {
                return Ok(());
            }
            if self.await_change(changes, LOOK, stop)? {
                self.settle(stop)?;
            }
            is_working = !self.busy_programs().is_empty() || self.is_anyone_running();
        }
    }

    /// The window in front, if it is of one colour.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn undrawn_window(&mut self) -> Result<Option<Window>, DisplayError> {
        let Some(front) = self.windows()?.into_iter().find(|window| window.active) else { return Ok(None) };
        Ok(self.is_plain(front.bounds)?.then_some(front))
    }

    fn drawn_in_front(&mut self) -> Result<Drawn, DisplayError> {
        let windows = self.windows()?;
        let mut splash = false;
        for window in &windows {
            splash |= self.is_splash(window)?;
        }
        if splash {
            return Ok(Drawn::Nothing);
        }
        let Some(front) = windows.into_iter().find(|window| window.active) else {
            return Ok(Drawn::Something);
        };
        let Some(pixels) = self.area(front.bounds)? else { return Ok(Drawn::Something) };
        Ok(match share_of_one_colour(&pixels) {
            share if share >= 1.0 => Drawn::Nothing,
            share if share >= EMPTY => Drawn::Little,
            _ => Drawn::Something,
        })
    }

    fn is_splash(&self, window: &Window) -> Result<bool, DisplayError> {
        let Some(id) = window.id.strip_prefix("0x").and_then(|id| u32::from_str_radix(id, 16).ok()) else {
            return Ok(false);
        };
        let kinds = self.numbers(id, self.atoms._NET_WM_WINDOW_TYPE, AtomEnum::ATOM.into())?;
        Ok(kinds.first() == Some(&self.atoms._NET_WM_WINDOW_TYPE_SPLASH))
    }
}

/// The share of the most frequent colour among pixels of four bytes.
fn share_of_one_colour(pixels: &[u8]) -> f64 {
    let mut counts: HashMap<&[u8], u32> = HashMap::new();
    for pixel in pixels.chunks_exact(4) {
        *counts.entry(&pixel[..3]).or_default() += 1;
    }
    let all: u32 = counts.values().sum();
    let most = counts.values().copied().max().unwrap_or_default();
    f64::from(most) / f64::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::share_of_one_colour;

    #[test]
    fn the_most_frequent_colour_counts_whatever_the_fourth_byte_holds() {
        let (black, white) = ([0, 0, 0, 0], [255, 255, 255, 0]);
        assert!(
            (share_of_one_colour(&[black, black, [0, 0, 0, 9], white].concat()) - 0.75).abs() < f64::EPSILON
        );
        assert!((share_of_one_colour(&[white, white].concat()) - 1.0).abs() < f64::EPSILON);
        assert!(share_of_one_colour(&[]).abs() < f64::EPSILON);
    }
}
