//! JSON read within bounds: what it will take in memory is reckoned before it is read.

use serde::de::DeserializeOwned;

/// Bytes of a document that is read.
const TEXT_LIMIT: usize = 32 << 20;
/// Bytes of memory that it may take, by the reckoning below.
const LIMIT: usize = 256 << 20;
/// What an object, and what any value, takes at most beside the bytes of its texts.
const OBJECT: usize = 700;
const VALUE: usize = 40;

/// Reads a document; the error says why not.
pub(in crate::check) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if bytes.len() > TEXT_LIMIT {
        let size = bytes.len();
        return Err(format!("it has {size} bytes, more than the {TEXT_LIMIT} that are read as JSON"));
    }
    // Marks inside texts count as well: the reckoning is an upper bound.
    let weight = |byte: &u8| match byte {
        b'{' => OBJECT,
        b'[' | b',' => VALUE,
        _ => 1,
    };
    // Only what could reach the limit is reckoned.
    if bytes.len() > LIMIT / OBJECT && bytes.iter().map(weight).sum::<usize>() > LIMIT {
        return Err(format!("it would take more than the {} MB that are read as JSON", LIMIT >> 20));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    #[test]
    fn what_unfolds_to_too_much_is_refused_unread() {
        assert_eq!(read::<Value>(b"[1, {}]"), Ok(json!([1, {}])));
        let long = format!("[{}1]", "\"some longer text\", ".repeat(100_000));
        assert!(read::<Value>(long.as_bytes()).is_ok());
        for unit in ["{\"\":0},", "[],"] {
            let many = format!("[{}1]", unit.repeat(8_000_000 / unit.len()));
            let told = read::<Value>(many.as_bytes());
            assert_eq!(told.is_err(), unit.starts_with('{'), "{unit}");
        }
        assert!(read::<Value>("[".repeat(200_000).as_bytes()).is_err_and(|told| told.contains("recursion")));
    }
}
