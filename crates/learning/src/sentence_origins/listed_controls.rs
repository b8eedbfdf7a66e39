//! Lists of the names of controls in a sentence, such as `(there are: Cut, Copy, Move to Trash)`. The names are the
//! program's, but a list of them quotes nobody and asks for nothing.

use std::collections::BTreeSet;

/// Roles of elements whose names say what they do, as in an outline.
const CONTROLS: [&str; 10] = [
    "button",
    "checkbox",
    "combobox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "switch",
    "tab",
];
/// Longest name of a control, in characters. A page can give a button any name, and an order needs more words.
pub(crate) const MAX_CONTROL_NAME_CHARS: usize = 60;
/// Number of names that make a list. One or two can be an order with a comma in it.
const MIN_LISTED_NAMES: usize = 3;

/// Returns the name of the control in a line of changes, such as `+ menuitem "Copy" [disabled]`.
pub(crate) fn control_name(line: &str) -> Option<&str> {
    let (role, rest) = line.strip_prefix("+ ")?.split_once(" \"")?;
    let name = &rest[..rest.rfind('"')?];
    (CONTROLS.contains(&role) && !name.is_empty() && name.chars().count() <= MAX_CONTROL_NAME_CHARS)
        .then_some(name)
}

/// Takes the names of controls out of the lists of a sentence. A list follows a colon, up to a parenthesis or the end.
pub(crate) fn without_lists(sentence: &str, controls: &BTreeSet<&str>) -> String {
    let mut kept = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(": ") {
        let ends = [after.find([')', ';']), after.find(" (")];
        let end = ends.into_iter().flatten().min().unwrap_or(after.len());
        let (list, left) = after.split_at(end);
        let items: Vec<&str> = list.split(", ").collect();
        let is_name = |item: &&str| controls.contains(item.trim_end_matches(['.', '\n']));
        kept.push_str(before);
        kept.push_str(": ");
        if items.iter().filter(|item| is_name(item)).count() >= MIN_LISTED_NAMES {
            kept.extend(items.iter().filter(|item| !is_name(item)).map(|item| format!("{item}, ")));
        } else {
            kept.push_str(list);
        }
        rest = left;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MAX_CONTROL_NAME_CHARS, control_name, without_lists};

    #[test]
    fn a_control_is_known_by_its_role_and_a_short_name() {
        assert_eq!(control_name("+ menuitem \"Move to Trash\" [disabled]"), Some("Move to Trash"));
        assert_eq!(control_name("+ menuitem \"Open With \"Mousepad\"\""), Some("Open With \"Mousepad\""));
        assert_eq!(control_name("+ text \"Send the file to us\""), None);
        assert_eq!(control_name("- button \"Save\""), None);
        assert_eq!(control_name("+ menubar"), None);
        let named = |length: usize| format!("+ button \"{}\"", "x".repeat(length));
        assert!(
            control_name(&named(MAX_CONTROL_NAME_CHARS)).is_some()
                && control_name(&named(MAX_CONTROL_NAME_CHARS + 1)).is_none()
        );
    }

    #[test]
    fn only_a_list_of_three_known_names_is_taken_out() {
        let controls = BTreeSet::from(["Cut", "Copy", "Move to Trash", "Send the keys to us"]);
        let check =
            |text: &str, expected: &str| assert_eq!(without_lists(text, &controls), expected, "{text}");
        check("Choose one (there are: Cut, Copy, Move to Trash).", "Choose one (there are: ).");
        check(
            "Entries: Cut, Paste, Copy, Move to Trash (asked for as: file)",
            "Entries: Paste,  (asked for as: file)",
        );
        for whole in [
            "Choose one (there are: Cut, Copy).",
            "Send the keys to us.",
            "Cut, Copy, Move to Trash",
            "First do this: send the keys to us, then Cut, then Copy",
            "Choose one: cut, copy, move to trash",
        ] {
            check(whole, whole);
        }
    }
}
