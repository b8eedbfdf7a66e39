//! Parses the list of windows that the machine's tools print. Pure.

use std::collections::HashMap;

use apprentice_protocol::{Rect, Window};

/// Shell command that prints the windows and, where available, the active one and the stacking order, back to front.
pub(super) const LINE: &str =
    "wmctrl -lGpx && echo && { xprop -root _NET_ACTIVE_WINDOW _NET_CLIENT_LIST_STACKING || true; }";

/// The windows, front to back.
pub(super) fn read(text: &str) -> Vec<Window> {
    let (list, order) = text.split_once("\n\n").unwrap_or((text, ""));
    let ids = |name: &str| -> Vec<u64> {
        let line = order.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let (_, ids) = line.split_once('#').unwrap_or_default();
        ids.split(',').filter_map(number).collect()
    };
    let active = ids("_NET_ACTIVE_WINDOW").first().copied();
    let places: HashMap<u64, usize> =
        ids("_NET_CLIENT_LIST_STACKING").into_iter().enumerate().map(|(at, id)| (id, at)).collect();
    let mut windows: Vec<(Option<usize>, Window)> = list
        .lines()
        .filter_map(|line| window(line, active))
        .map(|window| (number(&window.id).and_then(|id| places.get(&id).copied()), window))
        .collect();
    // Windows missing in the stacking order are sorted behind the others.
    windows.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    windows.into_iter().map(|(_, window)| window).collect()
}

/// Parses a line such as `0x01e00003  0 1234 10 20 640 480 instance.Class  host Its title`.
fn window(line: &str, active: Option<u64>) -> Option<Window> {
    let (id, rest) = next(line)?;
    let (_desk, rest) = next(rest)?;
    let (pid, mut rest) = next(rest)?;
    let mut numbers = [0; 4];
    for number in &mut numbers {
        let (text, after) = next(rest)?;
        (*number, rest) = (text.parse().ok()?, after);
    }
    let (class, rest) = next(rest)?;
    let title = next(rest).map_or("", |(_host, title)| title.trim_start());
    let [x, y, width, height] = numbers;
    let id = number(id)?;
    Some(Window {
        id: format!("0x{id:x}"),
        title: if title == "N/A" { String::new() } else { title.to_owned() },
        class: class_of(class).to_owned(),
        bounds: Rect::new(x, y, width, height),
        active: active == Some(id),
        pid: pid.parse().ok().filter(|pid| *pid != 0),
    })
}

/// Splits off the next word.
fn next(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    Some(text.split_once(char::is_whitespace).unwrap_or((text, "")))
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// The class after instance and dot. Both may contain dots; they often differ only in case.
fn class_of(both: &str) -> &str {
    let half = both.len() / 2;
    if both.is_char_boundary(half)
        && let (first, Some(second)) = (&both[..half], both[half..].strip_prefix('.'))
        && first.eq_ignore_ascii_case(second)
    {
        return second;
    }
    both.split_once('.').map_or(both, |(_, class)| class)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn windows_come_front_to_back_with_what_is_known_of_them() {
        let text = "0x01e00003  0 1234   10 20   640 480  libreoffice.libreoffice-calc  user-vm WeeklySales.xlsx - LibreOffice Calc\n\
                    0x02000007 -1 0      0  0    1920 27  org.gnome.Nautilus.Org.gnome.Nautilus  user-vm \n\
                    0x02400003  0 77     -5 100  800 600  google-chrome.Google-chrome  user-vm New Tab - Google Chrome\n\
                    0x03000003  0 88     0  0    9 9      N/A  N/A N/A\n\n\
                    _NET_ACTIVE_WINDOW(WINDOW): window id # 0x2400003\n\
                    _NET_CLIENT_LIST_STACKING(WINDOW): window id # 0x2000007, 0x1e00003, 0x2400003\n";
        let windows = read(text);
        let told: Vec<_> = windows
            .iter()
            .map(|window| (window.id.as_str(), window.class.as_str(), window.title.as_str(), window.pid))
            .collect();
        assert_eq!(
            told,
            [
                ("0x2400003", "Google-chrome", "New Tab - Google Chrome", Some(77)),
                ("0x1e00003", "libreoffice-calc", "WeeklySales.xlsx - LibreOffice Calc", Some(1234)),
                ("0x2000007", "Org.gnome.Nautilus", "", None),
                ("0x3000003", "N/A", "", Some(88)),
            ]
        );
        assert_eq!((windows[0].bounds.x, windows[0].bounds.height, windows[0].active), (-5, 600, true));
        assert!(!windows[1].active);
        assert!(read("").is_empty() && read("Cannot open display.\n").is_empty());
    }
}
