//! JSON whose texts are borrowed from the line that is read. `serde_json::Value` copies each name and each text, which took half of
//! the time of reading a session.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::json::Json;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// Of two fields with one name, the last counts.
    Fields(Vec<(Words<'a>, Self)>),
}

/// A text. Serde borrows a `Cow` only where it is a whole field, and not inside of an `Option`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words<'a>(Cow<'a, str>);

impl Deref for Words<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&Node<'_>> for Value {
    fn from(node: &Node<'_>) -> Self {
        match node {
            Node::Null => Self::Null,
            Node::Bool(is) => Self::Bool(*is),
            Node::Number(number) => Self::Number(number.clone()),
            Node::Text(text) => Self::String(text.clone().into_owned()),
            Node::List(items) => items.iter().map(Self::from).collect(),
            Node::Fields(fields) => Self::Object(map(fields)),
        }
    }
}

fn map(fields: &[(Words<'_>, Node<'_>)]) -> Map<String, Value> {
    fields.iter().map(|(name, node)| (name.0.clone().into_owned(), Value::from(node))).collect()
}

impl Json for Node<'_> {
    fn field(&self, name: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().rev().find(|(known, _)| **known == *name).map(|(_, node)| node)
    }

    fn items(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    fn words(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn count(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    fn flag(&self) -> Option<bool> {
        if let Self::Bool(is) = self { Some(*is) } else { None }
    }

    fn is_nothing(&self) -> bool {
        *self == Self::Null
    }

    fn fields(&self) -> Option<Map<String, Value>> {
        if let Self::Fields(fields) = self { Some(map(fields)) } else { None }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Words<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, is: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool(is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node<'de>, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node<'de>, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node<'de>, E> {
        Ok(Number::from_f64(number).map_or(Node::Null, Node::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = from.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Node;
    use crate::json::{Json as _, arguments, at};

    #[test]
    fn a_borrowed_value_reads_as_one_that_copies_does() {
        for text in [
            r#"{"a": [1, -2, 3.5, 18446744073709551616, true, null, "x\ny", "é", "\ud83d\ude00"], "b": {"c": {}}}"#,
            r#"{"twice": 1, "twice": {"of": 2}}"#,
            r#""alone""#,
            "[]",
            "null",
        ] {
            let (node, value): (Node<'_>, Value) =
                (serde_json::from_str(text).expect("a node"), serde_json::from_str(text).expect("a value"));
            assert_eq!(Value::from(&node), value, "{text}");
            for path in ["", "/a/0", "/a/6", "/a/9", "/b/c", "/twice/of", "/twice"] {
                assert_eq!(at(&node, path).map(Value::from), at(&value, path).cloned(), "{text} {path}");
            }
            assert_eq!((node.words(), node.is_nothing()), (value.words(), value.is_nothing()));
            assert_eq!(arguments(&node), arguments(&value));
        }
        for damaged in ["{\"a\":", "[1,]", "\"\\ud800\"", "{\"a\" 1}", "\"\u{1}\""] {
            let node = serde_json::from_str::<Node<'_>>(damaged).expect_err(damaged);
            let value = serde_json::from_str::<Value>(damaged).expect_err(damaged);
            assert_eq!(node.to_string(), value.to_string());
        }
    }
}
