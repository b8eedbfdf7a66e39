//! X keysyms of characters and named keys. Pure.

use apprentice_protocol::Key;

/// An X keysym: what a key prints or does.
pub(super) type Keysym = u32;

pub(super) const SHIFT: Keysym = 0xffe1;
pub(super) const RETURN: Keysym = 0xff0d;
pub(super) const TAB: Keysym = 0xff09;

/// Keysyms of media keys. Programs are not driven by them, so their keys serve as spare keys.
pub(super) const MEDIA: std::ops::RangeInclusive<Keysym> = 0x1008_fe01..=0x1008_ffff;

/// The keysym that types a character. `None` for control characters.
pub(super) fn of_char(character: char) -> Option<Keysym> {
    match character {
        '\n' | '\r' => Some(RETURN),
        '\t' => Some(TAB),
        character if character.is_control() => None,
        character => Some(match u32::from(character) {
            latin @ (0x20..=0x7e | 0xa0..=0xff) => latin,
            other => 0x0100_0000 | other,
        }),
    }
}

/// The keysym of a key of a chord.
pub(super) fn of_key(key: &Key) -> Option<Keysym> {
    let named = match key.as_str() {
        "ctrl" => 0xffe3,
        "shift" => SHIFT,
        "alt" => 0xffe9,
        "super" => 0xffeb,
        "enter" => RETURN,
        "tab" => TAB,
        "escape" => 0xff1b,
        "backspace" => 0xff08,
        "delete" => 0xffff,
        "insert" => 0xff63,
        "space" => 0x20,
        "plus" => 0x2b,
        "up" => 0xff52,
        "down" => 0xff54,
        "left" => 0xff51,
        "right" => 0xff53,
        "home" => 0xff50,
        "end" => 0xff57,
        "page_up" => 0xff55,
        "page_down" => 0xff56,
        "caps_lock" => 0xffe5,
        "print" => 0xff61,
        "menu" => 0xff67,
        "num_lock" => 0xff7f,
        "scroll_lock" => 0xff14,
        "pause" => 0xff13,
        "kp_multiply" => 0xffaa,
        "kp_add" => 0xffab,
        "kp_subtract" => 0xffad,
        "kp_decimal" => 0xffae,
        "kp_divide" => 0xffaf,
        "kp_equal" => 0xffbd,
        other => {
            let mut characters = other.chars();
            if let (Some(only), None) = (characters.next(), characters.next()) {
                return of_char(only);
            }
            if let Some(digit) = other.strip_prefix("kp_") {
                return digit.parse::<u32>().ok().filter(|digit| *digit < 10).map(|digit| 0xffb0 + digit);
            }
            let number: u32 = other.strip_prefix('f')?.parse().ok()?;
            return (1..=24).contains(&number).then(|| 0xffbe + number - 1);
        }
    };
    Some(named)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Key;

    use super::{of_char, of_key};

    #[test]
    fn characters_have_keysyms() {
        let check = |character, expected| assert_eq!(of_char(character), expected, "{character:?}");
        check('a', Some(0x61));
        check('é', Some(0xe9));
        check('€', Some(0x0100_20ac));
        check('😀', Some(0x0101_f600));
        check('\n', Some(0xff0d));
        check('\u{7}', None);
    }

    #[test]
    fn every_key_of_a_chord_has_a_keysym() {
        for name in Key::NAMED {
            let key = Key::parse(name).expect("a key");
            assert!(of_key(&key).is_some(), "{name}");
        }
        assert_eq!(of_key(&Key::parse("F11").expect("a key")), Some(0xffc8));
        assert_eq!(of_key(&Key::parse("é").expect("a key")), Some(0xe9));
    }
}
