//! Arguments: from the values of a call to those of a function, by its signature.

use rhai::Dynamic;
use serde_json::Value;

use crate::signature::{Parameter, ParameterKind, Signature};

/// Largest text in an argument, in characters.
const TEXT: usize = 4000;
/// Largest list in an argument.
const LIST: usize = 100;

/// Why arguments do not fit a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// They are no object.
    #[error("the arguments of {0} are an object with a value for each name")]
    Form(String),
    /// An argument is missing.
    #[error("{function} needs the argument {name:?} ({kind})")]
    Missing {
        /// The function.
        function: String,
        /// The argument.
        name: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The function has no such argument.
    #[error("{function} has no argument {name:?}; it has: {known}")]
    Unknown {
        /// The function.
        function: String,
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A value has another kind.
    #[error("the argument {name:?} of {function} is a {kind}, not {found}")]
    Kind {
        /// The function.
        function: String,
        /// The argument.
        name: String,
        /// The kind that it needs.
        kind: &'static str,
        /// What was given, shortened.
        found: String,
    },
}

/// Returns the values of a call in the order of a function's parameters.
///
/// # Errors
///
/// Fails if the arguments are no object, or if one is missing, unknown, or of another type than the parameter.
pub fn arguments_of(signature: &Signature, arguments: &Value) -> Result<Vec<Dynamic>, ArgumentError> {
    let function = || signature.name.clone();
    let given = match arguments {
        Value::Null if signature.parameters.is_empty() => return Ok(Vec::new()),
        Value::Object(given) => given,
        _ => return Err(ArgumentError::Form(function())),
    };
    let known = |name: &String| signature.parameters.iter().any(|one| one.name == *name);
    if let Some(name) = given.keys().find(|name| !known(name)) {
        let names: Vec<&str> = signature.parameters.iter().map(|one| one.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(ArgumentError::Unknown { function: function(), name: name.clone(), known });
    }
    let value = |one: &Parameter| {
        let kind = one.kind.word();
        let Some(value) = given.get(&one.name) else {
            return Err(ArgumentError::Missing { function: function(), name: one.name.clone(), kind });
        };
        converted(one.kind, value).ok_or_else(|| ArgumentError::Kind {
            function: function(),
            name: one.name.clone(),
            kind,
            found: value.to_string().chars().take(60).collect(),
        })
    };
    signature.parameters.iter().map(value).collect()
}

fn converted(kind: ParameterKind, value: &Value) -> Option<Dynamic> {
    let text = |value: &Value| {
        value.as_str().filter(|text| text.chars().count() <= TEXT).map(|text| Dynamic::from(text.to_owned()))
    };
    match kind {
        ParameterKind::Text => text(value),
        ParameterKind::Number => value.as_i64().map(Dynamic::from),
        ParameterKind::YesNo => value.as_bool().map(Dynamic::from),
        ParameterKind::Texts => {
            let list = value.as_array().filter(|list| list.len() <= LIST)?;
            list.iter().map(text).collect::<Option<Vec<Dynamic>>>().map(Dynamic::from_array)
        }
    }
}

/// Returns a value that a function returned, for its caller. What is no plain value becomes `null`.
pub(crate) fn returned(value: &Dynamic) -> Value {
    if let Ok(flag) = value.as_bool() {
        return Value::Bool(flag);
    }
    if let Ok(number) = value.as_int() {
        return Value::from(number);
    }
    if let Ok(text) = value.as_immutable_string_ref() {
        return Value::String(text.to_string());
    }
    match value.as_array_ref() {
        Ok(list) => list.iter().map(returned).collect(),
        Err(_) => Value::Null,
    }
}
