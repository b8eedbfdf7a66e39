//! Options, values and commands that were renamed: the old spelling still works for one release, with a hint.

use std::ffi::OsStr;

/// Old and new spelling of each renamed option.
const OPTIONS: [(&str, &str); 5] = [
    ("--order", "--order-seed"),
    ("--steps", "--max-steps"),
    ("--most", "--max-bytes"),
    ("--admit", "--only-skills"),
    ("--dialect", "--skill-tools"),
];
/// Words before it, and old and new spelling of each renamed value and command.
const WORDS: [(&str, &str, &str); 6] = [
    ("--format", "film", "video"),
    ("--dialect", "own", "native"),
    ("--dialect", "seed", "block"),
    ("--skill-tools", "own", "native"),
    ("--skill-tools", "seed", "block"),
    ("skills", "refuse", "reject"),
];

/// Returns a hint for each renamed option among the words of a command line. Words after `--` are not options.
pub(crate) fn hints<'a>(words: impl Iterator<Item = &'a OsStr>) -> Vec<String> {
    let words: Vec<String> =
        words.map_while(|word| word.to_str().filter(|word| *word != "--").map(str::to_owned)).collect();
    // `explore` has an option of its own with this name.
    let own = |old: &str| old == "--steps" && words.iter().any(|word| word == "explore");
    let uses = |old: &str| !own(old) && words.iter().any(|word| word.split('=').next() == Some(old));
    // Options of `skills` may stand before its own command.
    let stands = |before: &str, old: &str| match before {
        "skills" => words.iter().skip_while(|word| *word != before).any(|word| word == old),
        _ => words.windows(2).any(|pair| pair == [before, old]) || words.contains(&format!("{before}={old}")),
    };
    let options = OPTIONS.iter().filter(|(old, _)| uses(old)).copied();
    let others =
        WORDS.iter().filter(|(before, old, _)| stands(before, old)).map(|(_, old, new)| (*old, *new));
    let hint = |(old, new): (&str, &str)| format!("hint: {old} is now {new}; the next release drops {old}");
    options.chain(others).map(hint).collect()
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
        assert_eq!(
            of("bench s --dialect seed --admit human"),
            [
                "hint: --admit is now --only-skills; the next release drops --admit",
                "hint: --dialect is now --skill-tools; the next release drops --dialect",
                "hint: seed is now block; the next release drops seed",
            ]
        );
        assert_eq!(
            of("skills --json refuse o3"),
            ["hint: refuse is now reject; the next release drops refuse"]
        );
        assert_eq!(of("export r --format=film").len(), 1);
        assert!(of("export film --format video").is_empty());
        assert!(of("do text -- --most").is_empty());
        assert!(of("explore --app mousepad --steps 3").is_empty());
    }
}
