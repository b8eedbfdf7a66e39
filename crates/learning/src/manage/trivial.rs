//! Detects trivial guidance: a text whose words all belong to the basic handling of any program.

use apprentice_wording::words;

const BASIC: &[&str] = &[
    "a",
    "again",
    "all",
    "anything",
    "area",
    "bar",
    "button",
    "buttons",
    "c",
    "click",
    "clicking",
    "clipboard",
    "computer",
    "control",
    "copy",
    "ctrl",
    "cursor",
    "cut",
    "down",
    "drag",
    "element",
    "enter",
    "field",
    "icon",
    "input",
    "interact",
    "key",
    "keyboard",
    "left",
    "link",
    "more",
    "mouse",
    "move",
    "new",
    "open",
    "page",
    "paste",
    "press",
    "right",
    "screen",
    "scroll",
    "see",
    "select",
    "selected",
    "something",
    "text",
    "them",
    "thing",
    "type",
    "typing",
    "v",
    "window",
    "word",
    "x",
    "content",
];

/// Returns whether a guidance contains only the basics.
pub(crate) fn is_trivial(guidance: &str) -> bool {
    let basic: Vec<String> = BASIC.iter().flat_map(|word| words(word)).collect();
    words(guidance).iter().all(|word| basic.contains(word) || word.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_trivial;

    #[test]
    fn basics_are_told_from_knowledge() {
        for basic in
            ["Click buttons to interact with them.", "Scroll to see more content.", "Use Ctrl+C to copy."]
        {
            assert!(is_trivial(basic), "{basic}");
        }
        for knowledge in [
            "Color to Alpha is at Filters > Color, not in the toolbox.",
            "Ctrl+G opens cell navigation.",
            "Site permissions are behind the lock icon.",
        ] {
            assert!(!is_trivial(knowledge), "{knowledge}");
        }
    }
}
