//! Reads what a message holds, as a deserializer. Its errors are those of JSON, so that both forms of a message have one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

use super::{
    ARRAY, BINARY, BYTES_32, DOUBLE, ENCODED_CBOR, ENVELOPE_HEAD, FALSE, MAP, NULL, STOP, TAG, TRUE,
    envelope_length,
};

/// How deep values may be nested, as in JSON that is read by `serde_json`.
const DEPTH: u32 = 128;
/// Whole numbers up to here are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Deserializes one value.
pub(crate) fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    let mut decoder = Decoder { rest: bytes, depth: DEPTH };
    let value = T::deserialize(&mut decoder)?;
    if decoder.rest.is_empty() { Ok(value) } else { Err(Error::custom("bytes after the value")) }
}

/// Splits a map into its keys and its values, which are not read.
pub(crate) fn members(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, Error> {
    let mut decoder = Decoder { rest: bytes, depth: DEPTH };
    let Item::Map = decoder.item()? else { return Err(Error::custom("a message that is no map")) };
    let mut members = Vec::new();
    while !decoder.stops()? {
        let Item::Text(key) = decoder.item()? else { return Err(Error::custom("a key that is no text")) };
        let before = decoder.rest;
        decoder.skip()?;
        members.push((key, &before[..before.len() - decoder.rest.len()]));
    }
    Ok(members)
}

/// What begins at a place.
enum Item<'de> {
    Whole(i64),
    Double(f64),
    Text(&'de str),
    Utf16(&'de [u8]),
    Binary(&'de [u8]),
    Bool(bool),
    Null,
    Map,
    Array,
}

struct Decoder<'de> {
    rest: &'de [u8],
    depth: u32,
}

impl<'de> Decoder<'de> {
    fn take(&mut self, count: usize) -> Result<&'de [u8], Error> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| Error::custom("the message is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(Error::custom)
    }

    /// The number that follows an initial byte, by its lower five bits.
    fn number(&mut self, initial: u8) -> Result<u64, Error> {
        Ok(match initial & 0x1f {
            small @ 0..24 => small.into(),
            24 => u8::from_be_bytes(self.array()?).into(),
            25 => u16::from_be_bytes(self.array()?).into(),
            26 => u32::from_be_bytes(self.array()?).into(),
            27 => u64::from_be_bytes(self.array()?),
            _ => return Err(Error::custom("an item of unknown length")),
        })
    }

    fn string(&mut self, initial: u8) -> Result<&'de [u8], Error> {
        let length = self.number(initial)?;
        self.take(usize::try_from(length).map_err(Error::custom)?)
    }

    fn item(&mut self) -> Result<Item<'de>, Error> {
        let [mut initial] = self.array()?;
        if initial == TAG {
            let [tag, bytes] = self.array()?;
            if (tag, bytes) != (ENCODED_CBOR, BYTES_32) {
                return Err(Error::custom("a tag that Chromium does not write"));
            }
            let length = u32::from_be_bytes(self.array()?);
            if usize::try_from(length).map_err(Error::custom)? > self.rest.len() {
                return Err(Error::custom("the message is cut off"));
            }
            [initial] = self.array()?;
            if !matches!(initial, MAP | ARRAY) {
                return Err(Error::custom("an envelope that holds neither a map nor an array"));
            }
        }
        Ok(match initial {
            MAP => Item::Map,
            ARRAY => Item::Array,
            FALSE => Item::Bool(false),
            TRUE => Item::Bool(true),
            NULL => Item::Null,
            DOUBLE => Item::Double(f64::from_be_bytes(self.array()?)),
            BINARY => {
                let [initial] = self.array()?;
                if initial >> 5 != 2 {
                    return Err(Error::custom("a binary that is no byte string"));
                }
                Item::Binary(self.string(initial)?)
            }
            _ => match initial >> 5 {
                0 => Item::Whole(i64::try_from(self.number(initial)?).map_err(Error::custom)?),
                1 => Item::Whole(-1 - i64::try_from(self.number(initial)?).map_err(Error::custom)?),
                2 => Item::Utf16(self.string(initial)?),
                3 => Item::Text(std::str::from_utf8(self.string(initial)?).map_err(Error::custom)?),
                _ => return Err(Error::custom(format!("an item of the unknown kind {initial:#x}"))),
            },
        })
    }

    /// Whether a map or an array ends here; if so, steps over its end.
    fn stops(&mut self) -> Result<bool, Error> {
        match self.rest {
            [STOP, rest @ ..] => {
                self.rest = rest;
                Ok(true)
            }
            [] => Err(Error::custom("the message is cut off")),
            _ => Ok(false),
        }
    }

    /// Steps over a value.
    fn skip(&mut self) -> Result<(), Error> {
        let head = self.rest.first_chunk::<ENVELOPE_HEAD>();
        if let Some(length) = head.and_then(|head| envelope_length(*head)) {
            return self.take(length).map(|_| ());
        }
        match self.item()? {
            Item::Map | Item::Array => self.nested(|decoder| {
                while !decoder.stops()? {
                    decoder.skip()?;
                }
                Ok(())
            }),
            _ => Ok(()),
        }
    }

    fn nested<R>(&mut self, read: impl FnOnce(&mut Self) -> Result<R, Error>) -> Result<R, Error> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| Error::custom("nested too deeply"))?;
        let done = read(self);
        self.depth += 1;
        done
    }

    fn value<V: Visitor<'de>>(&mut self, item: &Item<'de>, visitor: V) -> Result<V::Value, Error> {
        match item {
            Item::Whole(value) => whole(*value, visitor),
            Item::Double(value) => match as_whole(*value) {
                Some(value) => whole(value, visitor),
                None => visitor.visit_f64(*value),
            },
            Item::Text(text) => visitor.visit_borrowed_str(text),
            Item::Utf16(bytes) => visitor.visit_string(utf16(bytes)?),
            Item::Binary(bytes) => visitor.visit_string(BASE64.encode(bytes)),
            Item::Bool(value) => visitor.visit_bool(*value),
            Item::Null => visitor.visit_unit(),
            Item::Map => self.nested(|decoder| {
                let value = visitor.visit_map(Members(decoder))?;
                if decoder.stops()? { Ok(value) } else { Err(Error::custom("a map was not read to its end")) }
            }),
            Item::Array => self.nested(|decoder| {
                let value = visitor.visit_seq(Members(decoder))?;
                if decoder.stops()? { Ok(value) } else { Err(Error::custom("an array has too many items")) }
            }),
        }
    }
}

fn whole<'de, V: Visitor<'de>>(value: i64, visitor: V) -> Result<V::Value, Error> {
    match u64::try_from(value) {
        Ok(value) => visitor.visit_u64(value),
        Err(_) => visitor.visit_i64(value),
    }
}

/// A double without a fraction as a whole number, as Chromium writes it in JSON.
fn as_whole(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "exact within these bounds")]
    (value.abs() <= EXACT && value.fract() == 0.0).then_some(value as i64)
}

/// Text of a page may hold halves of characters, which have no UTF-8.
fn utf16(bytes: &[u8]) -> Result<String, Error> {
    let (units, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return Err(Error::custom("UTF-16 of an odd length"));
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    Ok(char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let item = self.item()?;
        self.value(&item, visitor)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.item()? {
            Item::Double(value) => visitor.visit_f64(value),
            other => self.value(&other, visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.item()? {
            Item::Binary(bytes) => visitor.visit_borrowed_bytes(bytes),
            other => self.value(&other, visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.rest.first() == Some(&NULL) {
            self.take(1)?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let named = |name: StrDeserializer<'_, Error>| visitor.visit_enum(name);
        match self.item()? {
            Item::Text(text) => named(text.into_deserializer()),
            Item::Utf16(bytes) => named(utf16(bytes)?.as_str().into_deserializer()),
            _ => Err(Error::custom("a choice that is no text")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// The members of a map or the items of an array.
struct Members<'a, 'de>(&'a mut Decoder<'de>);

impl<'de> Members<'_, 'de> {
    fn ended(&self) -> bool {
        self.0.rest.first() == Some(&STOP)
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.ended() {
            return Ok(None);
        }
        seed.deserialize(&mut *self.0).map(Some)
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.ended() {
            return Ok(None);
        }
        seed.deserialize(&mut *self.0).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(&mut *self.0)
    }
}
