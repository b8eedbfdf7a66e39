//! Value types of settings.

/// The type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// A string.
    Text,
    /// A non-negative integer.
    Whole,
    /// A finite number.
    Number,
    /// True or false.
    Switch,
    /// A list of strings; in one string, each on a line of its own.
    Lines,
}

impl ValueType {
    /// Returns the type of a value.
    pub(crate) fn of(value: &toml::Value) -> Self {
        match value {
            toml::Value::Integer(_) => Self::Whole,
            toml::Value::Float(_) => Self::Number,
            toml::Value::Boolean(_) => Self::Switch,
            toml::Value::Array(_) => Self::Lines,
            _ => Self::Text,
        }
    }

    /// Whether a value has this type. The contents of strings and the ranges of numbers are validated later.
    pub(crate) fn holds(self, value: &toml::Value) -> bool {
        match self {
            Self::Text => value.is_str(),
            Self::Whole => value.as_integer().is_some_and(|number| number >= 0),
            Self::Number => value.is_float() || value.is_integer(),
            Self::Switch => value.is_bool(),
            Self::Lines => value.as_array().is_some_and(|lines| lines.iter().all(toml::Value::is_str)),
        }
    }

    /// Parses a string as a value of this type.
    pub(crate) fn read(self, text: &str) -> Option<toml::Value> {
        match self {
            Self::Text => Some(toml::Value::String(text.to_owned())),
            Self::Whole => text.parse().ok().map(toml::Value::Integer),
            Self::Number => {
                text.parse().ok().filter(|number: &f64| number.is_finite()).map(toml::Value::Float)
            }
            Self::Switch => text.parse().ok().map(toml::Value::Boolean),
            Self::Lines => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                Some(lines.map(|line| toml::Value::String(line.to_owned())).collect::<Vec<_>>().into())
            }
        }
    }

    /// Returns the name of the type for error messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Switch => "true or false",
            Self::Lines => "a list of strings",
        }
    }
}
