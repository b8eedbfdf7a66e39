//! JSON parsing with a limit on memory, which is estimated before parsing.

use serde::de::DeserializeOwned;

/// Maximum size of a document in bytes.
const TEXT_LIMIT: usize = 32 << 20;
/// Maximum estimated memory of a parsed document in bytes.
const LIMIT: usize = 256 << 20;
/// Upper bounds of the memory of an object and of any other value, in bytes, excluding strings.
const OBJECT: usize = 700;
const VALUE: usize = 40;

/// Parses a document.
///
/// # Errors
///
/// Fails if the document is too large, is no JSON, or does not have the form of `T`.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if bytes.len() > TEXT_LIMIT {
        let size = bytes.len();
        return Err(format!("the JSON has {size} bytes, more than the limit of {TEXT_LIMIT}"));
    }
    // Delimiters inside strings count as well, so that the estimate is an upper bound.
    let weight = |byte: &u8| match byte {
        b'{' => OBJECT,
        b'[' | b',' => VALUE,
        _ => 1,
    };
    // Small documents cannot reach the limit.
    if bytes.len() > LIMIT / OBJECT && bytes.iter().map(weight).sum::<usize>() > LIMIT {
        return Err(format!("the JSON would take more than {} MB of memory", LIMIT >> 20));
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
