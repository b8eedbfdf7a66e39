//! Writes a message.

use serde_json::Value;

use super::{ARRAY, BYTES_32, DOUBLE, ENCODED_CBOR, ENVELOPE_HEAD, FALSE, MAP, NULL, STOP, TAG, TRUE};

/// Major types, in the upper three bits of an initial byte.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const TEXT: u8 = 3;

/// Encodes a map. `None` if a part of it is longer than its length can say.
pub(crate) fn message(members: &[(&str, Value)]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    enveloped(&mut out, |out| {
        out.push(MAP);
        for (key, value) in members {
            text(out, key)?;
            encode(out, value)?;
        }
        out.push(STOP);
        Some(())
    })?;
    Some(out)
}

fn encode(out: &mut Vec<u8>, value: &Value) -> Option<()> {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::Number(number) => match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
            Some(whole) if whole >= 0 => head(out, UNSIGNED, whole.unsigned_abs()),
            Some(whole) => head(out, NEGATIVE, (-1 - whole).unsigned_abs()),
            // Larger whole numbers are doubles in Chromium's encoder, too.
            None => {
                out.push(DOUBLE);
                out.extend_from_slice(&number.as_f64()?.to_be_bytes());
            }
        },
        Value::String(value) => text(out, value)?,
        Value::Array(items) => enveloped(out, |out| {
            out.push(ARRAY);
            items.iter().try_for_each(|item| encode(out, item))?;
            out.push(STOP);
            Some(())
        })?,
        Value::Object(members) => enveloped(out, |out| {
            out.push(MAP);
            for (key, value) in members {
                text(out, key)?;
                encode(out, value)?;
            }
            out.push(STOP);
            Some(())
        })?,
    }
    Some(())
}

fn enveloped(out: &mut Vec<u8>, contents: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
    out.extend_from_slice(&[TAG, ENCODED_CBOR, BYTES_32, 0, 0, 0, 0]);
    let start = out.len();
    contents(out)?;
    let length = u32::try_from(out.len() - start).ok()?;
    out[start - size_of::<u32>()..start].copy_from_slice(&length.to_be_bytes());
    debug_assert!(start >= ENVELOPE_HEAD);
    Some(())
}

fn text(out: &mut Vec<u8>, text: &str) -> Option<()> {
    head(out, TEXT, u32::try_from(text.len()).ok()?);
    out.extend_from_slice(text.as_bytes());
    Some(())
}

/// The initial byte of an item and the bytes of its number, in the shortest form.
fn head(out: &mut Vec<u8>, major: u8, number: u32) {
    let major = major << 5;
    match (u8::try_from(number), u16::try_from(number)) {
        (Ok(small @ 0..24), _) => out.push(major | small),
        (Ok(byte), _) => out.extend_from_slice(&[major | 24, byte]),
        (_, Ok(short)) => {
            out.push(major | 25);
            out.extend_from_slice(&short.to_be_bytes());
        }
        _ => {
            out.push(major | 26);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}
