//! The keyboard of a display, whose map is changed only here: types any text and presses any chord.
//!
//! Keysyms in the map are typed with their own key, with Shift where needed. Missing ones are bound to spare keys,
//! many in one request, because a window manager reads the whole map again after each change. A binding stays until
//! its key is needed again; before that, programs get time to use it.

use std::collections::HashMap;
use std::time::Duration;

use apprentice_protocol::Chord;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, KeyButMask, Keycode,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::keyboard_map::Stroke;
use super::keysym::{self, Keysym};
use super::own_timers::Input;
use super::{CancelToken, DisplayError, Screen};

/// Least wait after binding keys, so that programs learn of the new bindings before they are used.
const BOUND: Duration = Duration::from_millis(30);
/// Least wait before a key is bound again, so that programs have used the old binding.
const USED: Duration = Duration::from_millis(150);
/// Longest of these waits: on a busy machine they last until the programs have nothing left to do, which a film never does.
const CAUGHT_UP: Duration = Duration::from_secs(2);
/// How long a key of a chord stays down, unless the program has noticed it earlier.
const HOLD: Duration = Duration::from_millis(12);
/// A button that is activated by its key is pressed for 250 ms, and ignores its key meanwhile (ACTIVATE_TIMEOUT in gtkbutton.c, GTK
/// 3.24): of `1-2-3` typed into a calculator `1-23` arrived.
const BUTTON: Duration = Duration::from_millis(270);
/// What begins the class of the part of each of Java's windows that takes the keys (`XFocusProxyWindow`).
const JAVA: &str = "Focus-Proxy-Window";
/// Characters typed between two round trips to the server.
const BURST: usize = 32;

/// Splits a text into runs, each with no more unknown keysyms than there are spare keys.
fn runs(keysyms: &[Keysym], spare: usize, known: impl Fn(Keysym) -> bool) -> Vec<&[Keysym]> {
    let mut runs = Vec::new();
    let (mut start, mut new) = (0, Vec::new());
    for (index, keysym) in keysyms.iter().enumerate() {
        if known(*keysym) || new.contains(keysym) {
            continue;
        }
        if new.len() == spare {
            runs.push(&keysyms[start..index]);
            start = index;
            new.clear();
        }
        new.push(*keysym);
    }
    runs.push(&keysyms[start..]);
    runs
}

/// What typed keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// A field, a terminal, or what is not known: each character is taken as fast as it comes.
    Text,
    /// Buttons that have a key each.
    Buttons,
}

impl Screen {
    /// Types a text; characters that no key can type are told.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled.
    pub fn type_text(&mut self, text: &str, to: Keys, stop: &CancelToken) -> Result<Vec<char>, DisplayError> {
        let mut pressed: HashMap<Keycode, Duration> = HashMap::new();
        let text = text.replace("\r\n", "\n");
        let is_wide = |character: char| u32::from(character) > 0xffff;
        let without_wide = text.chars().any(is_wide) && self.keeps_16_bits()?;
        let of_char =
            |character: char| keysym::of_char(character).filter(|_| !(without_wide && is_wide(character)));
        let untypable: Vec<char> = text.chars().filter(|c| of_char(*c).is_none()).collect();
        let keysyms: Vec<Keysym> = text.chars().filter_map(of_char).collect();
        let fixed: Vec<Keysym> = {
            let bound: Vec<Keysym> = self.keyboard.spare.iter().filter_map(|(_, bound)| *bound).collect();
            self.keyboard.strokes.keys().copied().filter(|keysym| !bound.contains(keysym)).collect()
        };
        for run in runs(&keysyms, self.keyboard.spare.len(), |keysym| fixed.contains(&keysym)) {
            self.bind(run, stop)?;
            for (index, keysym) in run.iter().enumerate() {
                stop.check()?;
                let Some(stroke) = self.keyboard.strokes.get(keysym).copied() else { continue };
                if to == Keys::Buttons {
                    let free = pressed.get(&stroke.code).map_or(Duration::ZERO, |at| *at + BUTTON);
                    self.pause(free.saturating_sub(self.clock.mono()), stop)?;
                    pressed.insert(stroke.code, self.clock.mono());
                }
                self.type_stroke(stroke, *keysym)?;
                if to == Keys::Buttons || index % BURST == BURST - 1 {
                    self.sync()?;
                }
            }
            self.sync()?;
        }
        self.pressed(Input::Text);
        Ok(untypable)
    }

    /// Returns whether keys go to a program that keeps 16 bits of each character: Java casts what a key types to a `char`
    /// (`XKeysym.convertKeysym` of OpenJDK 17), so another character would arrive. Its halves by UTF-16 are no way around: texts on
    /// the accessibility bus may hold no half.
    fn keeps_16_bits(&mut self) -> Result<bool, DisplayError> {
        let focus = self.connection.get_input_focus()?.reply()?.focus;
        let class = self.text(focus, AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into())?;
        Ok(class.starts_with(JAVA))
    }

    /// Presses a chord and lets go of it; false if a key of it cannot be typed.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled.
    pub fn press_chord(
        &mut self,
        chord: &Chord,
        hold: Option<Duration>,
        stop: &CancelToken,
    ) -> Result<bool, DisplayError> {
        let Some(held) = self.hold_chord(chord, stop)? else { return Ok(false) };
        let held_out = match hold {
            Some(hold) => self.pause(hold, stop),
            None => self.await_taken(HOLD, stop),
        };
        for code in held.into_iter().rev() {
            self.key(code, false)?;
        }
        self.sync()?;
        held_out.map(|()| true)
    }

    /// Presses keys and keeps them down until they are released, or releases them; false if a key of them cannot be
    /// typed.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken or if `stop` was cancelled.
    pub fn keep_down(&mut self, keys: &Chord, down: bool, stop: &CancelToken) -> Result<bool, DisplayError> {
        if down {
            return Ok(self.hold_chord(keys, stop)?.is_some());
        }
        let keysyms: Option<Vec<Keysym>> = keys.keys().iter().map(keysym::of_key).collect();
        let Some(keysyms) = keysyms else { return Ok(false) };
        for keysym in keysyms.iter().rev() {
            let Some(stroke) = self.keyboard.strokes.get(keysym).copied() else { return Ok(false) };
            self.key(stroke.code, false)?;
        }
        self.sync()?;
        Ok(true)
    }

    /// Presses a chord's keys and keeps them down. Returns `None`, without pressing any, if one of them cannot be
    /// typed.
    pub(super) fn hold_chord(
        &mut self,
        chord: &Chord,
        stop: &CancelToken,
    ) -> Result<Option<Vec<Keycode>>, DisplayError> {
        let keysyms: Option<Vec<Keysym>> = chord.keys().iter().map(keysym::of_key).collect();
        let Some(keysyms) = keysyms else { return Ok(None) };
        self.bind(&keysyms, stop)?;
        let mut held = Vec::new();
        for keysym in &keysyms {
            let Some(stroke) = self.keyboard.strokes.get(keysym).copied() else { return Ok(None) };
            let shift = self.keyboard.strokes.get(&keysym::SHIFT).copied().filter(|_| stroke.shift);
            for code in shift.map(|shift| shift.code).into_iter().chain([stroke.code]) {
                if !held.contains(&code) {
                    self.key(code, true)?;
                    held.push(code);
                }
            }
        }
        self.sync()?;
        Ok(Some(held))
    }

    /// Binds keysyms on the server and gives programs time to learn of the new bindings.
    fn bind(&mut self, wanted: &[Keysym], stop: &CancelToken) -> Result<(), DisplayError> {
        let mut distinct = wanted.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let binding = self.keyboard.bind(&distinct);
        let (Some(first), Some(last)) = (binding.codes.iter().min(), binding.codes.iter().max()) else {
            return Ok(());
        };
        if binding.replaces {
            self.await_idle(USED, CAUGHT_UP, stop)?;
        }
        let (width, changed) = self.keyboard.keysyms_between(*first, *last);
        self.connection.change_keyboard_mapping(last - first + 1, *first, width, changed)?.check()?;
        self.await_idle(BOUND, CAUGHT_UP, stop)
    }

    /// Types one key, with Shift where it is needed.
    fn type_stroke(&mut self, stroke: Stroke, keysym: Keysym) -> Result<(), DisplayError> {
        // Caps Lock inverts the case of letters; Shift inverts it back.
        let letter = char::from_u32(keysym & 0x00ff_ffff).is_some_and(char::is_alphabetic);
        let shifted = stroke.shift ^ (letter && self.caps_lock);
        let shift = self.keyboard.strokes.get(&keysym::SHIFT).copied().filter(|_| shifted);
        if let Some(shift) = shift {
            self.key(shift.code, true)?;
        }
        self.key(stroke.code, true)?;
        self.key(stroke.code, false)?;
        if let Some(shift) = shift {
            self.key(shift.code, false)?;
        }
        Ok(())
    }

    /// Presses or releases one key and keeps track of held keys.
    pub(super) fn key(&mut self, code: Keycode, down: bool) -> Result<(), DisplayError> {
        let kind = if down { KEY_PRESS_EVENT } else { KEY_RELEASE_EVENT };
        self.connection.xtest_fake_input(kind, code, 0, self.root, 0, 0, 0)?;
        self.held_keys.retain(|held| *held != code);
        if down {
            self.held_keys.push(code);
            self.pressed(Input::Key(code));
        }
        Ok(())
    }

    /// Waits until the server has processed all input, and reads the state of Caps Lock.
    pub(super) fn sync(&mut self) -> Result<(), DisplayError> {
        let pointer = self.connection.query_pointer(self.root)?.reply()?;
        self.caps_lock = pointer.mask.contains(KeyButMask::LOCK);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn a_text_is_cut_where_the_spare_keys_end() {
        let known = |keysym| keysym < 10;
        assert_eq!(runs(&[1, 20, 21, 20, 2, 22, 3], 2, known), [&[1, 20, 21, 20, 2][..], &[22, 3]]);
        assert_eq!(runs(&[], 2, known), [&[0u32; 0][..]]);
    }
}
