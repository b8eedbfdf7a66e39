//! Thrift's compact protocol, as far as the metadata of Parquet needs it.

/// The number of elements from which a list's length does not fit its first byte.
const LONG_LIST: usize = 15;

/// The types that occur in Parquet's metadata.
#[derive(Clone, Copy)]
pub(super) enum ElementType {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Struct = 12,
}

/// A structure under way. Fields are written in the order of their numbers.
pub(super) struct Structure<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

/// Writes a structure at the end of `out`.
pub(super) fn structure(out: &mut Vec<u8>, write: impl FnOnce(&mut Structure<'_>)) {
    let mut fields = Structure { out, last: 0 };
    write(&mut fields);
    fields.out.push(0);
}

impl Structure<'_> {
    fn header(&mut self, number: u8, kind: ElementType) {
        // Numbers in Parquet's metadata are at most 15 apart, so the difference fits the first byte.
        self.out.push((number - self.last) << 4 | kind as u8);
        self.last = number;
    }

    pub(super) fn i32(&mut self, number: u8, value: i32) {
        self.header(number, ElementType::I32);
        zigzag(self.out, i64::from(value));
    }

    pub(super) fn i64(&mut self, number: u8, value: i64) {
        self.header(number, ElementType::I64);
        zigzag(self.out, value);
    }

    pub(super) fn text(&mut self, number: u8, value: &str) {
        self.header(number, ElementType::Binary);
        binary(self.out, value);
    }

    pub(super) fn structure(&mut self, number: u8, write: impl FnOnce(&mut Structure<'_>)) {
        self.header(number, ElementType::Struct);
        structure(self.out, write);
    }

    pub(super) fn structures<T>(&mut self, number: u8, items: &[T], write: impl Fn(&T, &mut Structure<'_>)) {
        self.list(number, ElementType::Struct, items.len());
        for item in items {
            structure(self.out, |fields| write(item, fields));
        }
    }

    pub(super) fn texts(&mut self, number: u8, items: &[&str]) {
        self.list(number, ElementType::Binary, items.len());
        items.iter().for_each(|item| binary(self.out, item));
    }

    pub(super) fn i32s(&mut self, number: u8, items: &[i32]) {
        self.list(number, ElementType::I32, items.len());
        items.iter().for_each(|item| zigzag(self.out, i64::from(*item)));
    }

    fn list(&mut self, number: u8, kind: ElementType, length: usize) {
        self.header(number, ElementType::List);
        match u8::try_from(length) {
            Ok(short) if length < LONG_LIST => self.out.push(short << 4 | kind as u8),
            _ => {
                self.out.push(0xf0 | kind as u8);
                varint(self.out, length as u64);
            }
        }
    }
}

fn binary(out: &mut Vec<u8>, value: &str) {
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

/// Signed numbers: small ones of either sign take few bytes.
fn zigzag(out: &mut Vec<u8>, value: i64) {
    varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Seven bits per byte, the lowest first.
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::structure;

    #[test]
    fn fields_are_written_as_the_protocol_says() {
        let mut out = Vec::new();
        structure(&mut out, |fields| {
            fields.i32(1, -1);
            fields.text(4, "ab");
            fields.structure(5, |inner| inner.i64(2, 150));
            fields.i32s(6, &[1, 2]);
            fields.structures(7, &[3; 16], |item, inner| inner.i32(1, *item));
        });
        let expected: Vec<u8> = [
            // Field 1, type 5: -1 in zigzag is 1. Field 4 is three on, type 8: two bytes.
            vec![0x15, 0x01, 0x38, 2, b'a', b'b'],
            // Field 5, type 12: a structure whose field 2 (type 6) is 150, 300 in zigzag; then its end.
            vec![0x1c, 0x26, 0xac, 0x02, 0x00],
            // Field 6, type 9: two elements of type 5.
            vec![0x19, 0x25, 2, 4],
            // Field 7, type 9: sixteen structures, so that the length stands in a byte of its own.
            vec![0x19, 0xfc, 16],
            [0x15, 6, 0].repeat(16),
            vec![0],
        ]
        .concat();
        assert_eq!(out, expected);
    }
}
