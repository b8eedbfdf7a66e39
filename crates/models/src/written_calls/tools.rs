//! The tools that a model may call, and the spellings of their names.

use apprentice_protocol::ToolSpec;
use serde_json::Value;

/// Prefixes under which templates present tools: OpenAI's harmony, Gemini and Gemma, Llama's Python examples.
const NAMESPACES: &[&str] =
    &["functions.", "function.", "tools.", "tool.", "default_api.", "default_tools.", "api."];

/// The tools that a request offers.
#[derive(Clone, Debug)]
pub(crate) struct CallableTools<'a> {
    specs: Vec<&'a ToolSpec>,
}

impl<'a> CallableTools<'a> {
    pub(crate) fn new(specs: impl IntoIterator<Item = &'a ToolSpec>) -> Self {
        Self { specs: specs.into_iter().collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|tool| tool.name.as_str())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name) || (name == "computer_use" && self.has("computer"))
    }

    /// Returns the offered tool that a name means, without the marks and namespaces that templates add; the name itself
    /// when it means none.
    pub(crate) fn resolve(&self, written: &str) -> String {
        let name = written.trim().trim_matches(|c| matches!(c, '"' | '\'' | '`'));
        if self.has(name) {
            return name.to_owned();
        }
        // `computer<|channel|>commentary`
        let name = name.split("<|").next().unwrap_or(name).trim();
        let bare = NAMESPACES.iter().find_map(|space| name.strip_prefix(space)).unwrap_or(name);
        // Kimi numbers its calls, `functions.computer:0`; Llama calls a tool as an object's method.
        let bare = match bare.rsplit_once(':') {
            Some((before, count)) if count.chars().all(|c| c.is_ascii_digit()) => before,
            _ => bare,
        };
        let bare = bare.strip_suffix(".call").unwrap_or(bare);
        if self.has(bare) || !name.is_empty() && !bare.is_empty() {
            bare.to_owned()
        } else {
            written.to_owned()
        }
    }

    fn properties(&self, name: &str) -> Option<&'a Value> {
        let name = if name == "computer_use" { "computer" } else { name };
        let spec = self.specs.iter().find(|tool| tool.name == name)?;
        spec.schema.get("properties")
    }

    /// Whether an argument of this tool is declared as a text.
    pub(crate) fn takes_text(&self, tool: &str, argument: &str) -> bool {
        let declared = self.properties(tool).and_then(|all| all.get(argument));
        declared.is_some_and(|one| one["type"] == "string")
    }

    /// Whether an argument of this tool is one of a list.
    pub(crate) fn lists_values(&self, tool: &str, argument: &str) -> bool {
        let declared = self.properties(tool).and_then(|all| all.get(argument));
        declared.is_some_and(|one| one["enum"].is_array())
    }

    /// Returns the one tool whose arguments an object is: it has those that the tool requires, none that it does not
    /// know, and only values that the tool lists.
    pub(crate) fn taking(&self, arguments: &Value) -> Option<&str> {
        let given = arguments.as_object().filter(|given| !given.is_empty())?;
        let mut fitting = self.specs.iter().filter(|tool| {
            let (properties, required) = (&tool.schema["properties"], &tool.schema["required"]);
            let required = required.as_array().map(Vec::as_slice).unwrap_or_default();
            let fits = |(name, value): (&String, &Value)| {
                properties.get(name).is_some_and(|declared| {
                    declared["enum"].as_array().is_none_or(|listed| listed.contains(value))
                })
            };
            !required.is_empty()
                && required.iter().all(|name| name.as_str().is_some_and(|name| given.contains_key(name)))
                && given.iter().all(fits)
        });
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first.name.as_str())
    }
}
