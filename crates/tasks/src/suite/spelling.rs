//! Suggestions for misspelt names.

/// Returns the valid name most similar to `name`, or `None` when none is similar enough.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance * 2 <= candidate.chars().count().max(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the end of an error's text: the valid name most similar to `name`, or nothing when none is similar enough.
pub(crate) fn nearest_hint<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, valid).map_or(String::new(), |like| format!("; nearest is {like:?}"))
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_hint};

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let names = ["launch", "execute", "write_file"];
        assert_eq!(nearest("lauch", names), Some("launch"));
        assert_eq!(nearest("exectue", names), Some("execute"));
        assert_eq!(nearest("qqqqqqqqqqqqqqq", names), None);
        assert_eq!(nearest_hint("lauch", names), "; nearest is \"launch\"");
        assert_eq!(nearest_hint("qqqqqqqqqqqqqqq", names), "");
    }
}
