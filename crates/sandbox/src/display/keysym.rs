//! X keysyms of characters and named keys. Pure.

use apprentice_protocol::Key;

/// An X keysym: what a key prints or does.
pub(super) type Keysym = u32;

pub(super) const SHIFT: Keysym = 0xffe1;
pub(super) const RETURN: Keysym = 0xff0d;
pub(super) const TAB: Keysym = 0xff09;

/// Keysyms of media keys.
const MEDIA: std::ops::RangeInclusive<Keysym> = 0x1008_fe01..=0x1008_ffff;
/// Those of commands that browsers carry out by the key's number, whatever keysym it has: play, stop, previous, next, home page,
/// search, back, forward, stop, refresh, favourites, pause, reload.
const COMMANDS: [Keysym; 13] = [
    0x1008_ff14,
    0x1008_ff15,
    0x1008_ff16,
    0x1008_ff17,
    0x1008_ff18,
    0x1008_ff1b,
    0x1008_ff26,
    0x1008_ff27,
    0x1008_ff28,
    0x1008_ff29,
    0x1008_ff30,
    0x1008_ff31,
    0x1008_ff73,
];

/// Returns whether a key with this keysym drives no program, so that it may type another one.
pub(super) fn is_spare(keysym: Keysym) -> bool {
    keysym == 0 || (MEDIA.contains(&keysym) && !COMMANDS.contains(&keysym))
}

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

    use super::{is_spare, of_char, of_key};

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
    fn keys_of_a_browsers_commands_are_not_spare() {
        let (mute, back) = (0x1008_ff12, 0x1008_ff26);
        assert!(is_spare(0) && is_spare(mute));
        assert!(!is_spare(back) && !is_spare(0x61));
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
