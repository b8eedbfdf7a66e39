//! Finds a reply that repeats itself without an end, so that its stream can be stopped.
//!
//! Small models do so at a grammar that lets a list or a text go on: of 15 replies of SmolLM2 135M to a schema without
//! bounds, 15 ran in a list to the limit (llama.cpp b10434).

/// Bytes at the end of a text that must be one unit again and again. A longer one is rarer in what a person would have
/// typed, and costs more time of the server.
const REPEATED_BYTES: usize = 2048;
/// How often the unit stands in them at least.
const LEAST_TIMES: usize = 8;
/// Bytes after which the end is looked at again.
const STRIDE: usize = 256;

/// The end of a text that is still coming.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    end: Vec<u8>,
    unseen: usize,
}

impl Repetition {
    /// Takes the next piece, and returns whether the text now repeats itself.
    pub(super) fn take(&mut self, piece: &str) -> bool {
        self.end.extend_from_slice(piece.as_bytes());
        self.unseen += piece.len();
        if self.unseen < STRIDE || self.end.len() < REPEATED_BYTES {
            return false;
        }
        self.unseen = 0;
        self.end.drain(..self.end.len() - REPEATED_BYTES);
        period(&self.end) <= REPEATED_BYTES / LEAST_TIMES
    }
}

/// Returns the length of the shortest unit of which `text` is a repetition; the last one may be cut. (The failure
/// function of Knuth, Morris and Pratt.)
fn period(text: &[u8]) -> usize {
    let mut borders = vec![0; text.len()];
    for place in 1..text.len() {
        let mut border: usize = borders[place - 1];
        while border > 0 && text[border] != text[place] {
            border = borders[border - 1];
        }
        borders[place] = border + usize::from(text[border] == text[place]);
    }
    text.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{REPEATED_BYTES, Repetition, period};

    /// The bytes of a text after which it counts as a repetition, if it comes in pieces of this size.
    fn stopped(text: &str, size: usize) -> Option<usize> {
        let mut repetition = Repetition::default();
        let mut taken = 0;
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(size).find_map(|piece| {
            let piece: String = piece.iter().collect();
            taken += piece.len();
            repetition.take(&piece).then_some(taken)
        })
    }

    #[test]
    fn what_goes_on_without_an_end_is_found_soon() {
        for unit in ["1, ", "\n", "{\"x\": 0, \"y\": 0}, ", "I will click the button. ", "être ou ne pas "] {
            let text =
                format!("{{\"thought\": \"Let me see.\", \"items\": [{}", unit.repeat(8000 / unit.len()));
            for size in [1, 3, 700] {
                let at = stopped(&text, size).unwrap_or_else(|| panic!("{unit:?} goes on"));
                assert!(at < 2 * REPEATED_BYTES, "{unit:?} is stopped after {at} bytes");
            }
        }
    }

    #[test]
    fn what_a_person_would_have_typed_is_not() {
        let rows: String = (0..400).map(|row| format!("{row},{},open\n", row * 37 % 1000)).collect();
        let line = format!("{}\n{}", "-".repeat(1500), "words that differ, and go on; ".repeat(50));
        let prose: String =
            (0..200).map(|number| format!("In the sentence number {number} nothing is new. ")).collect();
        for text in [rows, line, prose] {
            assert_eq!(stopped(&text, 4), None, "{}", &text[..60]);
        }
    }

    #[test]
    fn a_unit_may_be_cut_at_both_ends() {
        assert_eq!(period(b"bcabcabcab"), 3);
        assert_eq!((period(b"aaaa"), period(b"abcd")), (1, 4));
    }
}
