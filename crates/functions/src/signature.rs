//! The signature of a function: what its comment says of it and of its arguments, and the schema for a caller.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a function acts on: the kind of its first parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The page of a browser.
    Page,
    /// The windows of a desktop.
    Desktop,
}

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// `true` or `false`.
    YesNo,
    /// A list of texts.
    Texts,
}

/// One argument of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ParameterKind,
    /// What it is, in words.
    pub about: String,
}

/// The signature of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    /// The function's name.
    pub name: String,
    /// What it acts on.
    pub surface: Surface,
    /// What it does, in words.
    pub about: String,
    /// Its arguments, without the page or desktop.
    pub parameters: Vec<Parameter>,
    /// A call of it, for example `rename("Draft 2")`.
    pub example: String,
}

impl Surface {
    /// Returns the name of the first parameter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Desktop => "desktop",
        }
    }

    /// Returns the surface of a first parameter.
    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Page, Self::Desktop].into_iter().find(|one| one.word() == word)
    }
}

impl ParameterKind {
    /// Every kind, with its word in a comment.
    pub(crate) const WORDS: [(&'static str, Self); 4] =
        [("text", Self::Text), ("number", Self::Number), ("yes/no", Self::YesNo), ("texts", Self::Texts)];

    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, kind)| kind)
    }

    /// Returns the word for the kind in a comment.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Number => json!({ "type": "integer" }),
            Self::YesNo => json!({ "type": "boolean" }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        }
    }
}

impl Signature {
    /// Returns the schema of the arguments.
    pub fn schema(&self) -> Value {
        let mut properties = Map::new();
        for one in &self.parameters {
            let mut schema = one.kind.schema();
            schema["description"] = Value::String(one.about.clone());
            properties.insert(one.name.clone(), schema);
        }
        let required: Vec<&str> = self.parameters.iter().map(|one| one.name.as_str()).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    /// Returns the signature in a few lines for a model: name, arguments, what it does, an example.
    pub fn told(&self) -> String {
        let named: Vec<String> =
            self.parameters.iter().map(|one| format!("{}: {}", one.name, one.kind.word())).collect();
        let mut text = format!("{}({})\n  {}\n", self.name, named.join(", "), self.about);
        for one in &self.parameters {
            let _ = writeln!(text, "  - {}: {}", one.name, one.about);
        }
        let _ = writeln!(text, "  Example: {}", self.example);
        text
    }
}

/// The comment above a function, read line by line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) about: String,
    pub(crate) arguments: Vec<(u32, String, String, String)>,
    pub(crate) example: Option<(u32, String)>,
}

impl Comment {
    /// Reads the lines `///` directly above line `line` (from 1) of a text.
    pub(crate) fn above(text: &str, line: u32) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let end = (line as usize).saturating_sub(1).min(lines.len());
        let doc = |line: &&str| line.trim_start().starts_with("///");
        let begin = end - lines[..end].iter().rev().take_while(|line| doc(line)).count();
        let mut comment = Self::default();
        for (number, line) in (1_u32..).zip(&lines).skip(begin).take(end - begin) {
            comment.read(number, line.trim_start().trim_start_matches('/').trim());
        }
        comment
    }

    fn read(&mut self, number: u32, said: &str) {
        if let Some(call) = said.strip_prefix("Example:") {
            self.example = Some((number, call.trim().to_owned()));
            return;
        }
        let argument = said.strip_prefix("- ").and_then(|rest| rest.split_once(':'));
        let argument = argument.and_then(|(head, about)| {
            let (name, kind) = head.split_once('(')?;
            Some((name.trim(), kind.trim().trim_end_matches(')'), about.trim()))
        });
        if let Some((name, kind, about)) = argument {
            self.arguments.push((number, name.to_owned(), kind.to_owned(), about.to_owned()));
        } else if !said.is_empty() {
            if !self.about.is_empty() {
                self.about.push(' ');
            }
            self.about.push_str(said);
        }
    }
}
