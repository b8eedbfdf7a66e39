//! Identifiers as newtypes, so that different kinds of ids cannot be mixed up.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates an id from a string without validation.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the id as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// A run, for example `20261120T101500Z-x7k2`.
    RunId
}
text_id! {
    /// A trial: the first 12 hex digits of the hash of suite, task, role, model, arm and seed.
    TrialId
}
text_id! {
    /// A task's `id` as written in its suite file.
    TaskId
}
text_id! {
    /// The provider's id of one call, answered by exactly one [`CallResult`](crate::CallResult).
    CallId
}
text_id! {
    /// SHA-256 of a blob's bytes, as 64 hex digits.
    BlobHash
}

macro_rules! counted_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the next id.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let digits = text.strip_prefix($prefix).and_then(|digits| digits.parse().ok());
                digits.map(Self).ok_or_else(|| {
                    serde::de::Error::custom(format!(concat!("expected ", $prefix, "<number>, found {:?}"), text))
                })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": concat!("^", $prefix, "[0-9]+$") })
            }
        }
    };
}

counted_id! {
    /// An event of one attempt, counted from `e1`.
    EventId, "e"
}
counted_id! {
    /// A step (one model turn with its batch of actions) of one attempt, counted from `s1`.
    StepId, "s"
}

/// A skill's id, `<domain>/<slug>`: both parts consist of lower-case letters, digits and single hyphens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SkillId(String);

/// An error in a [`SkillId`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SkillIdError {
    /// The text does not contain exactly one `/`.
    #[error("skill id {0:?} is not of the form <domain>/<name>")]
    Shape(String),
    /// A part is not lower-case letters, digits and single inner hyphens, or is longer than 64.
    #[error(
        "{part:?} in skill id {id:?} must be 1 to 64 lower-case letters, digits and single inner hyphens"
    )]
    Part {
        /// The whole text.
        id: String,
        /// The invalid part.
        part: String,
    },
}

impl SkillId {
    /// Parses `<domain>/<slug>`.
    ///
    /// # Errors
    ///
    /// Fails if the text is not `<domain>/<slug>`, or if a part of it has characters that no id has.
    pub fn parse(text: &str) -> Result<Self, SkillIdError> {
        let Some((domain, slug)) = text.split_once('/').filter(|(_, slug)| !slug.contains('/')) else {
            return Err(SkillIdError::Shape(text.to_owned()));
        };
        for part in [domain, slug] {
            if !Self::is_slug(part) {
                return Err(SkillIdError::Part { id: text.to_owned(), part: part.to_owned() });
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether a text is a valid domain or slug.
    pub fn is_slug(text: &str) -> bool {
        (1..=64).contains(&text.len())
            && text.split('-').all(|word| {
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            })
    }

    /// Returns the part before the slash.
    pub fn domain(&self) -> &str {
        self.0.split_once('/').map_or("", |(domain, _)| domain)
    }

    /// Returns the part after the slash.
    pub fn slug(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, slug)| slug)
    }

    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SkillId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
