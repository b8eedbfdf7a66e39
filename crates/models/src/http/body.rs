//! JSON for requests. It keeps the order of fields, and copies raw fragments byte for byte.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A piece of a request. Raw fragments (a provider's own blocks, or an encoded picture) are copied, never parsed or
/// escaped again.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Raw(Arc<RawValue>),
    Value(Value),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

impl Json {
    /// Creates a fragment of JSON text that is copied unchanged.
    pub(crate) fn raw(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self::Raw(RawValue::from_string(text.to_owned())?.into()))
    }

    /// Adds a field to an object; any other value is returned unchanged.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Self>) -> Self {
        if let Self::Object(fields) = &mut self {
            fields.push((name, value.into()));
        }
        self
    }

    /// Adds a field if it has a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Into<Self>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Serializes to JSON text; `expected` is the capacity to reserve.
    pub(crate) fn to_bytes(&self, expected: usize) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = Vec::with_capacity(expected);
        serde_json::to_writer(&mut bytes, self)?;
        Ok(bytes)
    }
}

/// Builds an object with these fields, in this order.
pub(crate) fn object<const N: usize>(fields: [(&'static str, Json); N]) -> Json {
    Json::Object(fields.into())
}

/// Builds a list.
pub(crate) fn list(items: impl IntoIterator<Item = Json>) -> Json {
    Json::List(items.into_iter().collect())
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Value(value.into())
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Value(value.into())
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Value(value.into())
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Value(value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, list, object};

    #[test]
    fn order_and_raw_bytes_are_kept() {
        let raw = r#"{ "b":1.50,"a":"\u0041" }"#;
        let body = object([("z", "x\"y".into()), ("raw", Json::raw(raw).expect("JSON"))])
            .with("a", list([true.into(), 3u32.into()]))
            .with_some("none", None::<&str>);
        let text = String::from_utf8(body.to_bytes(0).expect("writes")).expect("UTF-8");
        assert_eq!(text, r#"{"z":"x\"y","raw":{ "b":1.50,"a":"\u0041" },"a":[true,3]}"#);
    }
}
