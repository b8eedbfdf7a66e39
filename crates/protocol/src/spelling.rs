//! Suggestions for misspelt names.

/// Returns the valid name most similar to `name`, or `None` when none is similar enough: at most half of the letters
/// may differ. A name without a slash is also compared with the last part of a path.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let near = valid.into_iter().filter_map(|candidate| {
        let last = candidate.rsplit('/').next().filter(|_| !name.contains('/'));
        let parts = last.into_iter().chain([candidate]);
        Some((parts.filter_map(|part| distance(&name, part)).min()?, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// Returns the number of differing letters, or `None` when it is more than half of the candidate's.
fn distance(name: &str, candidate: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(name, &candidate.to_lowercase());
    (distance * 2 <= candidate.chars().count().max(3)).then_some(distance)
}

/// Returns the end of an error's text, `; did you mean "…"?`, or nothing when no valid name is similar enough.
pub fn did_you_mean<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, valid).map_or_else(String::new, |like| format!("; did you mean {like:?}?"))
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest};

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let names = ["launch", "execute", "write_file"];
        assert_eq!(nearest("lauch", names), Some("launch"));
        assert_eq!(nearest("EXECTUE", names), Some("execute"));
        assert_eq!(nearest("qqqqqqqqqqqqqqq", names), None);
        assert_eq!(did_you_mean("lauch", names), "; did you mean \"launch\"?");
        assert_eq!(did_you_mean("qqqqqqqqqqqqqqq", names), "");
    }

    #[test]
    fn half_of_the_letters_may_differ_and_no_more() {
        assert_eq!(nearest("lauxyz", ["launch"]), Some("launch"));
        assert_eq!(nearest("lawxyz", ["launch"]), None);
        assert_eq!(nearest("vx", ["vm"]), Some("vm"), "short names may differ in one letter");
        assert_eq!(nearest("xy", ["vm"]), None);
    }

    #[test]
    fn the_last_part_of_a_path_is_enough() {
        let prompts = ["agent/system", "reflect/system_text"];
        assert_eq!(nearest("sytem", prompts), Some("agent/system"));
        assert_eq!(nearest("agnt/system", prompts), Some("agent/system"));
        assert_eq!(nearest("other/system", ["a-long-folder-name/system"]), None);
    }
}
