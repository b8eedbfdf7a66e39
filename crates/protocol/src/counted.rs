//! Counts with their nouns, in the singular for one.

use std::fmt::Display;

/// Returns a count with its noun: `1 trial`, `2 trials`, `0 trials`. A noun that ends in a consonant and `y` gets `ies`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("{count} {noun}") } else { format!("{count} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        Some(_) | None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!(counted(0_usize, "trial"), "0 trials");
        assert_eq!(counted(1_u32, "trial"), "1 trial");
        assert_eq!(counted(2_u64, "test template"), "2 test templates");
        assert_eq!((counted(2_u32, "query"), counted(2_u32, "day")), ("2 queries".into(), "2 days".into()));
    }
}
