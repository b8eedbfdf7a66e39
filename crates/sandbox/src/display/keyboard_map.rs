//! Our copy of a display's keyboard map: which key types a keysym, and which keys are spare for others.

use std::collections::HashMap;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt, Keycode};
use x11rb::rust_connection::RustConnection;

use super::DisplayError;
use super::keysym::{self, Keysym};

/// A key, and whether Shift is needed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) code: Keycode,
    pub(super) shift: bool,
}

/// Our copy of the display's keyboard map.
pub(super) struct Keyboard {
    first: Keycode,
    width: usize,
    map: Vec<Keysym>,
    pub(super) strokes: HashMap<Keysym, Stroke>,
    /// Keys available for binding with their current keysyms, the least recently used first.
    pub(super) spare: Vec<(Keycode, Option<Keysym>)>,
}

/// Removes the keysyms of media keys that drive no program, which makes those keys spare.
pub(super) fn clear_spare_keys(connection: &RustConnection) -> Result<(), DisplayError> {
    let (first, last) = (connection.setup().min_keycode, connection.setup().max_keycode);
    let count = last - first + 1;
    let mapping = connection.get_keyboard_mapping(first, count)?.reply()?;
    let width = mapping.keysyms_per_keycode;
    let mut map = mapping.keysyms;
    for key in map.chunks_mut(usize::from(width).max(1)) {
        if key.iter().all(|keysym| keysym::is_spare(*keysym)) {
            key.fill(0);
        }
    }
    connection.change_keyboard_mapping(count, first, width, &map)?.check()?;
    Ok(())
}

impl Keyboard {
    pub(super) fn read(connection: &RustConnection) -> Result<Self, DisplayError> {
        let (first, last) = (connection.setup().min_keycode, connection.setup().max_keycode);
        let mapping = connection.get_keyboard_mapping(first, last - first + 1)?.reply()?;
        Ok(Self::new(first, usize::from(mapping.keysyms_per_keycode), mapping.keysyms))
    }

    fn new(first: Keycode, width: usize, map: Vec<Keysym>) -> Self {
        let mut keyboard = Self { first, width, map, strokes: HashMap::new(), spare: Vec::new() };
        for (code, key) in (first..=Keycode::MAX).zip(keyboard.map.chunks(width.max(1))) {
            if key.iter().all(|keysym| *keysym == 0) {
                keyboard.spare.push((code, None));
                continue;
            }
            for (level, shift) in [(0, false), (1, true)] {
                if let Some(keysym) = key.get(level).copied().filter(|keysym| *keysym != 0) {
                    let known = keyboard.strokes.entry(keysym).or_insert(Stroke { code, shift });
                    // A stroke without Shift is preferred.
                    if known.shift && !shift {
                        *known = Stroke { code, shift };
                    }
                }
            }
        }
        keyboard
    }

    /// Binds the missing ones of these keysyms to spare keys, as far as those suffice. Tells which keys changed and
    /// whether a key lost an older meaning. Keysyms wanted now keep their keys.
    pub(super) fn bind(&mut self, wanted: &[Keysym]) -> Binding {
        let missing: Vec<Keysym> =
            wanted.iter().copied().filter(|keysym| !self.strokes.contains_key(keysym)).collect();
        let mut binding = Binding::default();
        for keysym in missing {
            // Keys bound for this text keep their bindings.
            let at =
                self.spare.iter().position(|(_, bound)| bound.is_none_or(|bound| !wanted.contains(&bound)));
            let Some(at) = at else { break };
            let (code, old) = self.spare.remove(at);
            if let Some(old) = old {
                self.strokes.remove(&old);
                binding.replaces = true;
            }
            self.spare.push((code, Some(keysym)));
            self.strokes.insert(keysym, Stroke { code, shift: false });
            let start = usize::from(code - self.first) * self.width;
            if let Some(key) = self.map.get_mut(start..start + self.width) {
                key.fill(0);
                key.iter_mut().take(2).for_each(|level| *level = keysym);
            }
            binding.codes.push(code);
        }
        binding
    }
    /// Returns the number of keysyms per key, and the keysyms of a range of keys.
    pub(super) fn keysyms_between(&self, first: Keycode, last: Keycode) -> (u8, &[Keysym]) {
        let place = |code: Keycode| usize::from(code - self.first) * self.width;
        let keysyms = self.map.get(place(first)..place(last) + self.width).unwrap_or_default();
        (u8::try_from(self.width).unwrap_or(u8::MAX), keysyms)
    }
}

/// Keys to bind, and whether an older binding is replaced.
#[derive(Debug, Default)]
pub(super) struct Binding {
    pub(super) codes: Vec<Keycode>,
    pub(super) replaces: bool,
}

#[cfg(test)]
mod tests {
    use super::{Keyboard, Stroke};

    /// Two keys with two levels each, then two spare keys.
    fn keyboard() -> Keyboard {
        Keyboard::new(8, 2, vec![0x61, 0x41, 0x31, 0x21, 0, 0, 0, 0])
    }

    #[test]
    fn known_characters_are_never_bound() {
        let mut keyboard = keyboard();
        assert_eq!(keyboard.strokes.get(&0x41), Some(&Stroke { code: 8, shift: true }));
        assert_eq!(keyboard.strokes.get(&0x31), Some(&Stroke { code: 9, shift: false }));
        assert!(keyboard.bind(&[0x61, 0x21]).codes.is_empty());
    }

    #[test]
    fn the_binding_used_longest_ago_gives_way() {
        let mut keyboard = keyboard();
        let first = keyboard.bind(&[0x100_4e2d, 0x100_65e5]);
        assert_eq!((first.codes.as_slice(), first.replaces), (&[10, 11][..], false));
        let second = keyboard.bind(&[0x100_65e5, 0x100_672c]);
        assert_eq!((second.codes.as_slice(), second.replaces), (&[10][..], true));
        assert!(!keyboard.strokes.contains_key(&0x100_4e2d));
        assert_eq!(keyboard.map[4..], [0x100_672c, 0x100_672c, 0x100_65e5, 0x100_65e5]);
    }
}
