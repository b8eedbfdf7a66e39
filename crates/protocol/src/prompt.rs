//! Prompts: texts that reach a model, by name. A user may replace them, once, before the first one is read.
//!
//! Texts are constants of the process rather than arguments: whatever is said to a model in one run is said alike
//! everywhere, and its hash names it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What stands in place of shipped texts.
static REPLACED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// One text, with the places that are filled in when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its name: a room and a word, such as `agent/system`.
    pub name: &'static str,
    /// The text that the program brings along.
    pub shipped: &'static str,
    /// The names that stand in it in braces. Each must stand in every replacement, and no other may.
    pub variables: &'static [&'static str],
}

/// Why a text cannot stand in place of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A name in braces that nothing fills in.
    #[error("line {line}: nothing fills in {{{variable}}}; there is {known}")]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// The name.
        variable: String,
        /// Those that there are, in words.
        known: String,
    },
    /// A name in braces that is missing.
    #[error("{{{variable}}} is missing: what belongs there would never reach the model")]
    Missing {
        /// The name.
        variable: String,
    },
    /// Nothing would be said.
    #[error("the text is empty")]
    Empty,
    /// Prompts are replaced at most once.
    #[error("other prompts were put in place already")]
    Fixed,
}

impl Prompt {
    /// A prompt of this name, with the names of what is filled in.
    pub const fn new(name: &'static str, shipped: &'static str, variables: &'static [&'static str]) -> Self {
        Self { name, shipped, variables }
    }

    /// The text in force.
    pub fn text(&self) -> &'static str {
        let replaced = REPLACED.get().and_then(|replaced| replaced.get(self.name));
        replaced.map_or(self.shipped, String::as_str)
    }

    /// The text in force without blanks at its end, filled in. A filled-in value is never searched for names.
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        let mut filled = String::new();
        let mut rest = self.text().trim_end();
        while let Some((start, name)) = next_name(rest) {
            filled.push_str(&rest[..start]);
            match values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => filled.push_str(value),
                None => filled.push_str(&rest[start..start + name.len() + 2]),
            }
            rest = &rest[start + name.len() + 2..];
        }
        filled.push_str(rest);
        filled
    }

    /// Whether this text may stand in place of the shipped one.
    pub fn check(&self, text: &str) -> Result<(), PromptError> {
        if text.trim().is_empty() {
            return Err(PromptError::Empty);
        }
        for (line, words) in (1..).zip(text.lines()) {
            if let Some(variable) = names(words).find(|name| !self.variables.contains(name)) {
                let known = match self.variables {
                    [] => "nothing to fill in".to_owned(),
                    known => known.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", "),
                };
                return Err(PromptError::Unknown { line, variable: variable.to_owned(), known });
            }
        }
        match self.variables.iter().find(|name| !names(text).any(|found| found == **name)) {
            Some(missing) => Err(PromptError::Missing { variable: (*missing).to_owned() }),
            None => Ok(()),
        }
    }
}

/// Puts texts in place of prompts, by name, for the rest of the process. Whoever calls has checked each of them, and
/// calls before anything is said to a model. The same texts may be put in place again.
pub fn replace_prompts(texts: BTreeMap<String, String>) -> Result<(), PromptError> {
    match REPLACED.get() {
        Some(held) if *held == texts => Ok(()),
        Some(_) => Err(PromptError::Fixed),
        None => REPLACED.set(texts).map_err(|_| PromptError::Fixed),
    }
}

/// The texts that stand in place of shipped ones, by name.
pub fn replaced_prompts() -> impl Iterator<Item = (&'static str, &'static str)> {
    REPLACED.get().into_iter().flatten().map(|(name, text)| (name.as_str(), text.as_str()))
}

/// The names in braces of a text, in order. Braces of code and JSON hold other things than a plain word.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (start, name) = next_name(rest)?;
        rest = &rest[start + name.len() + 2..];
        Some(name)
    })
}

/// The place and the name of the next word in braces.
fn next_name(text: &str) -> Option<(usize, &str)> {
    text.match_indices('{').find_map(|(start, _)| {
        let (name, _) = text[start + 1..].split_once('}')?;
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        plain.then_some((start, name))
    })
}

#[cfg(test)]
mod tests {
    use super::{Prompt, PromptError};

    const TASK: Prompt =
        Prompt::new("agent/task", "Do {task} with {care}.\n{\"a\": {b c}, \"d\": {}}\n", &["task", "care"]);

    #[test]
    fn a_text_is_filled_in_once() {
        assert_eq!(
            TASK.fill(&[("care", "{task}"), ("task", "it")]),
            "Do it with {task}.\n{\"a\": {b c}, \"d\": {}}"
        );
        assert_eq!(TASK.fill(&[("task", "it")]), "Do it with {care}.\n{\"a\": {b c}, \"d\": {}}");
    }

    #[test]
    fn a_replacement_fills_in_what_there_is_and_leaves_nothing_out() {
        assert_eq!(TASK.check(TASK.shipped), Ok(()));
        assert_eq!(TASK.check("{task}, {care}, {task}; {\"json\": {}}"), Ok(()));
        assert_eq!(TASK.check(" \n"), Err(PromptError::Empty));
        assert_eq!(TASK.check("{care}"), Err(PromptError::Missing { variable: "task".into() }));
        let unknown = TASK.check("{task} {care}\n{mood}").expect_err("nothing fills it in");
        assert_eq!(unknown.to_string(), "line 2: nothing fills in {mood}; there is {task}, {care}");
        let none = Prompt::new("a/b", "x", &[]).check("{mood}").expect_err("nothing fills it in");
        assert_eq!(none.to_string(), "line 1: nothing fills in {mood}; there is nothing to fill in");
    }
}
