//! Options that were renamed: the old spelling still works for one release, with a hint.

use std::ffi::OsStr;

/// Old and new spelling of each renamed option.
const OPTIONS: [(&str, &str); 3] =
    [("--order", "--order-seed"), ("--steps", "--max-steps"), ("--most", "--max-bytes")];

/// Returns a hint for each renamed option among the words of a command line. Words after `--` are not options.
pub(crate) fn hints<'a>(words: impl Iterator<Item = &'a OsStr>) -> Vec<String> {
    let words: Vec<String> =
        words.map_while(|word| word.to_str().filter(|word| *word != "--").map(str::to_owned)).collect();
    // `explore` has an option of its own with this name.
    let own = |old: &str| old == "--steps" && words.iter().any(|word| word == "explore");
    let uses = |old: &str| !own(old) && words.iter().any(|word| word.split('=').next() == Some(old));
    let renamed = OPTIONS.iter().filter(|(old, _)| uses(old));
    renamed.map(|(old, new)| format!("hint: {old} is now {new}; the next release drops {old}")).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::hints;

    #[test]
    fn only_an_old_spelling_gets_a_hint() {
        let of = |line: &str| hints(line.split(' ').map(OsStr::new));
        assert_eq!(
            of("run tasks/starter --order 7 --steps=3"),
            [
                "hint: --order is now --order-seed; the next release drops --order",
                "hint: --steps is now --max-steps; the next release drops --steps",
            ]
        );
        assert!(of("run tasks/starter --order-seed 7 --max-steps 3").is_empty());
        assert!(of("do text -- --most").is_empty());
        assert!(of("explore --app mousepad --steps 3").is_empty());
    }
}
