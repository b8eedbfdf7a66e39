//! What a Python comment says of a function and of its arguments.

use std::collections::BTreeMap;

/// Headings under which comments list the arguments.
const HEADINGS: [&str; 3] = ["Args:", "Arguments:", "Parameters:"];

/// What a comment says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Docs {
    /// Its first paragraph, on one line.
    pub(super) about: String,
    /// What it says of each argument.
    pub(super) arguments: BTreeMap<String, String>,
    /// What it says of the type of an argument, in brackets behind the name.
    pub(super) kinds: BTreeMap<String, String>,
}

impl Docs {
    /// Reads a comment, with or without its quotes.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim_matches('"').trim_matches('\'');
        let mut docs = Self::default();
        for line in text.lines().map(str::trim).skip_while(|line| line.is_empty()) {
            if line.is_empty() || HEADINGS.contains(&line) {
                break;
            }
            docs.about.extend([if docs.about.is_empty() { "" } else { " " }, line]);
        }
        for line in text.lines().map(str::trim).skip_while(|line| !HEADINGS.contains(line)).skip(1) {
            let Some((name, about)) = line.split_once(':') else { break };
            let (name, kind) = name.trim_start_matches("- ").split_once('(').unwrap_or((name, ""));
            let name = name.trim_start_matches("- ").trim().to_owned();
            if let Some(kind) = kind.trim().strip_suffix(')') {
                docs.kinds.insert(name.clone(), kind.to_owned());
            }
            docs.arguments.insert(name, about.trim().to_owned());
        }
        docs
    }
}

#[cfg(test)]
mod tests {
    use super::Docs;

    #[test]
    fn a_comment_is_its_first_paragraph_and_its_arguments() {
        let docs = Docs::read(
            "\"\"\"\nOpens a page\nof the shop.\n\nMore.\n\nParameters:\n- page : The page.\n- name (str): Its name: whole.\nReturns\n- other: no\n\"\"\"",
        );
        assert_eq!(docs.about, "Opens a page of the shop.");
        assert_eq!(docs.arguments.get("name").map(String::as_str), Some("Its name: whole."));
        assert_eq!((docs.arguments.len(), docs.kinds.get("name").map(String::as_str)), (2, Some("str")));
    }
}
