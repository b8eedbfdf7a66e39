//! Translation of our key names to enigo's.

use enigo::Key as Native;

use apprentice_protocol::Key;

/// The native key. `None` for a key that this platform cannot press.
pub(crate) fn native(key: &Key) -> Option<Native> {
    let name = key.as_str();
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(Native::Unicode(only));
    }
    Some(match name {
        "ctrl" => Native::Control,
        "shift" => Native::Shift,
        "alt" => Native::Alt,
        "super" => Native::Meta,
        "enter" => Native::Return,
        "tab" => Native::Tab,
        "escape" => Native::Escape,
        "backspace" => Native::Backspace,
        "delete" => Native::Delete,
        "space" => Native::Space,
        "plus" => Native::Unicode('+'),
        "up" => Native::UpArrow,
        "down" => Native::DownArrow,
        "left" => Native::LeftArrow,
        "right" => Native::RightArrow,
        "home" => Native::Home,
        "end" => Native::End,
        "page_up" => Native::PageUp,
        "page_down" => Native::PageDown,
        "caps_lock" => Native::CapsLock,
        "f1" => Native::F1,
        "f2" => Native::F2,
        "f3" => Native::F3,
        "f4" => Native::F4,
        "f5" => Native::F5,
        "f6" => Native::F6,
        "f7" => Native::F7,
        "f8" => Native::F8,
        "f9" => Native::F9,
        "f10" => Native::F10,
        "f11" => Native::F11,
        "f12" => Native::F12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Key;

    use super::native;

    #[test]
    fn every_named_key_is_pressed_or_known_to_be_missing() {
        let missing: Vec<&str> = Key::NAMED
            .iter()
            .copied()
            .filter(|name| Key::parse(name).is_none_or(|key| native(&key).is_none()))
            .collect();
        assert_eq!(missing[..3], ["insert", "print", "menu"]);
        let rare = |name: &&str| {
            name.starts_with("kp_")
                || matches!(*name, "num_lock" | "scroll_lock" | "pause")
                || name
                    .strip_prefix('f')
                    .is_some_and(|number| number.parse().is_ok_and(|number: u8| number > 12))
        };
        assert!(missing[3..].iter().all(rare), "{missing:?}");
    }
}
