//! Suggestions for misspelt names in task files.

pub use apprentice_protocol::nearest;

/// Returns the end of an error's text: the valid name most similar to `name`, or nothing when none is similar enough.
pub(crate) fn nearest_hint<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, valid).map_or(String::new(), |like| format!("; nearest is {like:?}"))
}

#[cfg(test)]
mod tests {
    use super::nearest_hint;

    #[test]
    fn a_hint_names_the_nearest_name_or_is_empty() {
        let names = ["launch", "execute", "write_file"];
        assert_eq!(nearest_hint("lauch", names), "; nearest is \"launch\"");
        assert_eq!(nearest_hint("qqqqqqqqqqqqqqq", names), "");
    }
}
