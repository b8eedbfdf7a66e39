//! Named prompts for models. A user may replace them once, before the first use.
//!
//! Prompts are process-wide constants, not arguments: all code of a run uses the same texts, identified by their hash.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The replacements of built-in prompts, by name.
static REPLACED: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// A prompt template with its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The name, `<area>/<word>`, such as `agent/system`.
    pub name: &'static str,
    /// The built-in text.
    pub shipped: &'static str,
    /// The variables, written in braces in the text. A replacement must contain all of them and no others.
    pub variables: &'static [&'static str],
}

/// An error in the replacement of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The text contains an unknown variable.
    #[error("line {line}: nothing fills in {{{variable}}}; there is {known}")]
    Unknown {
        /// The line number, from 1.
        line: usize,
        /// The variable's name.
        variable: String,
        /// The known variables, for the message.
        known: String,
    },
    /// A variable is missing in the text.
    #[error("{{{variable}}} is missing: what belongs there would never reach the model")]
    Missing {
        /// The variable's name.
        variable: String,
    },
    /// The text is empty.
    #[error("the text is empty")]
    Empty,
    /// Prompts were already replaced with other texts.
    #[error("other prompts were put in place already")]
    Fixed,
}

impl Prompt {
    /// Creates a prompt from its name, built-in text and variables.
    pub const fn new(name: &'static str, shipped: &'static str, variables: &'static [&'static str]) -> Self {
        Self { name, shipped, variables }
    }

    /// Returns the effective text.
    pub fn text(&self) -> &'static str {
        let replaced = REPLACED.get().and_then(|replaced| replaced.get(self.name));
        replaced.map_or(self.shipped, String::as_str)
    }

    /// Returns the effective text without trailing white space, with the variables filled in. Values are not searched
    /// for variables.
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        let mut filled = String::new();
        let mut rest = self.text().trim_end();
        while let Some((start, name)) = next_variable(rest) {
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

    /// Checks that a text is a valid replacement.
    ///
    /// # Errors
    ///
    /// Fails if the text is empty, names a variable that nothing fills in, or leaves out one that the model must get.
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

/// Replaces prompts by name for the rest of the process. The caller must have checked each text, and must call this
/// before the first request to a model. A second call with the same texts is allowed.
///
/// # Errors
///
/// Fails if other texts were put in place before.
pub fn replace_prompts(texts: BTreeMap<String, String>) -> Result<(), PromptError> {
    match REPLACED.get() {
        Some(held) if *held == texts => Ok(()),
        Some(_) => Err(PromptError::Fixed),
        None => REPLACED.set(texts).map_err(|_| PromptError::Fixed),
    }
}

/// Iterates over the replaced prompts: name and text.
pub fn replaced_prompts() -> impl Iterator<Item = (&'static str, &'static str)> {
    REPLACED.get().into_iter().flatten().map(|(name, text)| (name.as_str(), text.as_str()))
}

/// Returns the variables of a text, in order. Braces of code and JSON do not enclose a plain word and are skipped.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (start, name) = next_variable(rest)?;
        rest = &rest[start + name.len() + 2..];
        Some(name)
    })
}

/// Returns the position and name of the next variable. A name between two pairs of braces is a placeholder of a task, of which
/// a prompt may speak.
fn next_variable(text: &str) -> Option<(usize, &str)> {
    text.match_indices('{').find_map(|(start, _)| {
        let (name, rest) = text[start + 1..].split_once('}')?;
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let is_placeholder = text[..start].ends_with('{') && rest.starts_with('}');
        (plain && !is_placeholder).then_some((start, name))
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
        // A prompt may speak of the placeholders of tasks.
        let spoken = Prompt::new("a/b", "{{task}} stands for {task}, {{{task}}", &["task"]);
        assert_eq!(spoken.fill(&[("task", "it")]), "{{task}} stands for it, {{{task}}");
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
