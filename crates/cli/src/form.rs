//! The forms that values of settings have.

/// The form of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Number,
}

impl Form {
    /// The form of a value.
    pub(crate) fn of(value: &toml::Value) -> Self {
        match value {
            toml::Value::Integer(_) => Self::Whole,
            toml::Value::Float(_) => Self::Number,
            _ => Self::Text,
        }
    }

    /// Whether a value has this form. What a text may say, and how large a number may be, is told later.
    pub(crate) fn holds(self, value: &toml::Value) -> bool {
        match self {
            Self::Text => value.is_str(),
            Self::Whole => value.as_integer().is_some_and(|number| number >= 0),
            Self::Number => value.is_float() || value.is_integer(),
        }
    }

    /// The value that a text spells in this form.
    pub(crate) fn read(self, text: &str) -> Option<toml::Value> {
        match self {
            Self::Text => Some(toml::Value::String(text.to_owned())),
            Self::Whole => text.parse().ok().map(toml::Value::Integer),
            Self::Number => {
                text.parse().ok().filter(|number: &f64| number.is_finite()).map(toml::Value::Float)
            }
        }
    }

    /// The form in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Whole => "a whole number",
            Self::Number => "a number",
        }
    }
}
