//! What Chromium sends in CBOR is read as its JSON, and nothing malformed is.

use proptest::prelude::{Strategy, any, prop, proptest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ENVELOPE_HEAD, envelope_length, from_slice, members, message};

fn read(bytes: &[u8]) -> Value {
    from_slice(bytes).expect("a value")
}

/// A map of one member, as Chromium writes it.
fn with(value: &[u8]) -> Vec<u8> {
    let contents = [&[0xbf, 0x61, b'a'], value, &[0xff]].concat();
    let length = u8::try_from(contents.len()).expect("short");
    [&[0xd8, 24, 0x5a, 0, 0, 0, length], contents.as_slice()].concat()
}

#[test]
fn each_kind_of_chromium_is_read_as_its_json_would_be() {
    for (bytes, expected) in [
        (&[0x17][..], json!(23)),
        (&[0x18, 200], json!(200)),
        (&[0x39, 0x01, 0x00], json!(-257)),
        (&[0xfb, 0x40, 0x08, 0, 0, 0, 0, 0, 0], json!(3)),
        (&[0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], json!(1.5)),
        (&[0x63, 0xe2, 0x82, 0xac], json!("€")),
        (&[0x44, 0xac, 0x20, 0x3d, 0xd8], json!("€\u{fffd}")),
        (&[0xd6, 0x43, 1, 2, 3], json!("AQID")),
        (&[0xf4], json!(false)),
        (&[0xf6], json!(null)),
        (&[0x9f, 0x01, 0x9f, 0xff, 0xff], json!([1, []])),
    ] {
        assert_eq!(read(&with(bytes)), json!({"a": expected}), "{bytes:x?}");
    }
}

#[test]
fn fields_have_their_own_types() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Way {
        ThereAndBack,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Form {
        way: Way,
        place: f64,
        index: usize,
        none: Option<u8>,
        some: Option<u8>,
        #[serde(default)]
        missing: Vec<u8>,
    }
    let given = [
        ("way", json!("thereAndBack")),
        ("place", json!(3)),
        ("unknown", json!([{"deep": [1, 2]}, "x"])),
        ("index", json!(7.0)),
        ("none", json!(null)),
        ("some", json!(1)),
    ];
    let form: Form = from_slice(&message(&given).expect("short")).expect("the form");
    let wanted =
        Form { way: Way::ThereAndBack, place: 3.0, index: 7, none: None, some: Some(1), missing: Vec::new() };
    assert_eq!(form, wanted);
}

#[test]
fn a_message_is_split_without_reading_its_values() {
    let bytes = message(&[("id", json!(70_000)), ("result", json!({"x": [1.5, -3, {}]}))]).expect("short");
    let head = bytes.first_chunk::<ENVELOPE_HEAD>().expect("a head");
    assert_eq!(envelope_length(*head), Some(bytes.len()));
    let split = members(&bytes).expect("a map");
    assert_eq!(split.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["id", "result"]);
    assert_eq!(read(split[0].1), json!(70_000));
    assert_eq!(read(split[1].1), json!({"x": [1.5, -3, {}]}));
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let mut deep = vec![0x9f; 100_000];
    assert!(from_slice::<Value>(&deep).is_err());
    deep.insert(0, 0xbf);
    deep.splice(1..1, [0x61, b'a']);
    assert!(members(&deep).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = proptest::prop_oneof![
        proptest::strategy::Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        proptest::prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Numbers without a fraction are whole, whichever way they came.
fn wholes(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
            Some(double) if double.fract() == 0.0 && double.abs() < 9e15 => Value::from(double as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(wholes).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key, wholes(value))).collect())
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in any_json()) {
        let bytes = message(&[("a", value.clone())]).expect("short");
        assert_eq!(read(&bytes), json!({"a": wholes(value)}));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = from_slice::<Value>(&bytes);
        let _ = members(&bytes);
        let _ = from_slice::<Value>(&with(&bytes[..bytes.len().min(100)]));
    }
}
