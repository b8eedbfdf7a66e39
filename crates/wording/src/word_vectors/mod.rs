//! An embedder without a server: a text's vector is the sum of the vectors of its word pieces, which are part of the
//! program. `scripts/book/word-vectors` computed them; `NOTICE.md` names their origin.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use apprentice_packed::{unpack, unpack_text};
use apprentice_protocol::{BoxFuture, EmbedError, Embedder, Side};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The known word pieces, one per line; `##` marks a piece that continues a word.
static PIECES: LazyLock<String> =
    LazyLock::new(|| unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/pieces.zz"))));
/// One row per piece: a scale in two bytes, then two numbers per byte.
static ROWS: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/vectors.zz"))));
/// Numbers in a row.
const DIRECTIONS: usize = 80;
/// Bytes of a row.
const ROW_BYTES: usize = 2 + DIRECTIONS / 2;
/// Longest word that is divided into pieces, in characters, as in the model that the pieces come from.
const MAX_WORD_CHARS: usize = 100;

static NUMBERS: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| PIECES.lines().zip(0..).collect());

/// Embeds texts by the vectors of their word pieces. English only; needs no server and no files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordVectors;

impl Embedder for WordVectors {
    fn name(&self) -> &str {
        "builtin"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(std::future::ready(Ok(texts.iter().map(|text| vector(text)).collect())))
    }
}

/// Returns the vector of a text. A text without a known piece points in a direction of its own, which the last number
/// stands for, so that it is similar to no other.
fn vector(text: &str) -> Vec<f32> {
    let mut sum = vec![0.0; DIRECTIONS + 1];
    for piece in pieces(text) {
        add(&mut sum, piece);
    }
    if sum.iter().all(|number| *number == 0.0) {
        sum[DIRECTIONS] = 1.0;
    }
    sum
}

/// Words with their vectors, for finding those that are nearest in meaning to another word.
pub struct Vocabulary<K> {
    entries: Vec<(K, [f32; DIRECTIONS])>,
}

/// A word of a vocabulary and its cosine similarity to another word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearWord<K> {
    /// Key of the word in its vocabulary.
    pub key: K,
    /// Cosine similarity, from 0 to 1.
    pub similarity: f32,
}

impl<K: Copy> Vocabulary<K> {
    /// Gathers words. Each has a key, and its spellings with their numbers; a word without known pieces is left out.
    pub fn of<'a>(words: impl Iterator<Item = (K, &'a BTreeMap<String, u32>)>) -> Self {
        let entry = |(key, spellings): (K, &BTreeMap<String, u32>)| {
            let mut sum = [0.0; DIRECTIONS];
            for (spelling, count) in spellings {
                let Some(vector) = word_vector(spelling) else { continue };
                #[expect(clippy::cast_precision_loss, reason = "a weight needs no more than a few digits")]
                sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += *count as f32 * number);
            }
            Some((key, unit(sum)?))
        };
        Self { entries: words.filter_map(entry).collect() }
    }

    /// Returns the words that are nearest to a word, nearest first; none of them points away from it.
    pub fn nearest(&self, word: &str, limit: usize) -> Vec<NearWord<K>> {
        let Some(wanted) = word_vector(word) else { return Vec::new() };
        let near = |(key, vector): &(K, [f32; DIRECTIONS])| {
            let similarity: f32 = vector.iter().zip(&wanted).map(|(left, right)| left * right).sum();
            NearWord { key: *key, similarity }
        };
        let mut all: Vec<_> = self.entries.iter().map(near).filter(|near| near.similarity > 0.0).collect();
        let order = |left: &NearWord<K>, right: &NearWord<K>| right.similarity.total_cmp(&left.similarity);
        if limit > 0 && limit < all.len() {
            all.select_nth_unstable_by(limit - 1, order);
        }
        all.truncate(limit);
        all.sort_by(order);
        all
    }
}

/// Returns the unit vector of a word, if it is made of known pieces.
fn word_vector(word: &str) -> Option<[f32; DIRECTIONS]> {
    let mut sum = [0.0; DIRECTIONS];
    pieces(word).into_iter().for_each(|piece| add(&mut sum, piece));
    unit(sum)
}

fn unit(mut vector: [f32; DIRECTIONS]) -> Option<[f32; DIRECTIONS]> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    (length > 0.0).then_some(vector)
}

fn add(sum: &mut [f32], piece: usize) {
    let Some(row) = ROWS.get(piece * ROW_BYTES..).and_then(|rest| rest.get(..ROW_BYTES)) else { return };
    let scale = f32::from_bits(u32::from(u16::from_le_bytes([row[0], row[1]])) << 16);
    for (numbers, byte) in sum.as_chunks_mut::<2>().0.iter_mut().zip(&row[2..]) {
        numbers[0] += scale * (f32::from(byte & 0xf) - 8.0);
        numbers[1] += scale * (f32::from(byte >> 4) - 8.0);
    }
}

/// Returns the known pieces of a text. A word that is not made of known pieces has none.
fn pieces(text: &str) -> Vec<usize> {
    let plain: String = text.to_lowercase().nfd().filter(|letter| !is_combining_mark(*letter)).collect();
    plain.split(|letter: char| !letter.is_alphanumeric()).flat_map(pieces_of_word).collect()
}

/// Returns whether a lower-case word, or each part of one with hyphens, is a common English word.
pub fn is_word(word: &str) -> bool {
    word.split(['-', '\'']).all(|part| NUMBERS.contains_key(part) || part.is_empty())
}

/// Divides a word into the longest pieces, from its beginning.
fn pieces_of_word(word: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = word;
    if word.chars().count() > MAX_WORD_CHARS {
        return found;
    }
    while !rest.is_empty() {
        let longest_piece = |end: usize| {
            let head = rest.get(..end)?;
            let number =
                if found.is_empty() { NUMBERS.get(head) } else { NUMBERS.get(format!("##{head}").as_str()) };
            number.map(|number| (*number, end))
        };
        let Some((number, end)) = (1..=rest.len()).rev().find_map(longest_piece) else { return Vec::new() };
        found.push(number);
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{DIRECTIONS, NUMBERS, PIECES, ROW_BYTES, ROWS, Vocabulary, pieces, vector};

    fn cosine(one: &str, other: &str) -> f32 {
        let (one, other) = (vector(one), vector(other));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
    }

    #[test]
    fn each_piece_has_one_row() {
        assert_eq!(ROWS.len(), PIECES.lines().count() * ROW_BYTES);
        assert_eq!(NUMBERS.len(), PIECES.lines().count(), "each piece is there once");
    }

    #[test]
    fn words_are_divided_as_the_model_does_it() {
        let named = |text: &str| {
            let names: Vec<&str> = PIECES.lines().collect();
            pieces(text).into_iter().map(|piece| names[piece]).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named("Unticks the café's checkbox!"), "un ##tick ##s the cafe s check ##box");
        assert_eq!(named("日本 § ☃"), "");
        assert_eq!(named(&"a".repeat(101)), "", "no word is that long");
        assert!(!pieces(&"a".repeat(100)).is_empty());
    }

    #[test]
    fn texts_that_mean_the_same_are_nearer_than_others() {
        let wanted = cosine("shrink the photo", "making a picture smaller");
        let other = cosine("shrink the photo", "sorting rows by date");
        assert!(wanted > other + 0.2, "{wanted} {other}");
        assert_eq!(vector("日本")[DIRECTIONS].to_bits(), 1f32.to_bits());
        assert!(cosine("日本", "making a picture smaller").abs() < 1e-6);
    }
    #[test]
    fn the_words_nearest_to_a_word_come_first_and_unknown_words_are_near_none() {
        let written: Vec<BTreeMap<String, u32>> = ["spreadsheet", "photo", "photos", "日本", "delete"]
            .into_iter()
            .map(|word| BTreeMap::from([(word.to_owned(), 1)]))
            .collect();
        let vocabulary = Vocabulary::of((0..).zip(&written));
        let near = |word: &str, limit| {
            vocabulary.nearest(word, limit).into_iter().map(|near| near.key).collect::<Vec<usize>>()
        };
        assert_eq!(near("picture", 2), [1, 2]);
        assert_eq!(near("erase", 1), [4]);
        assert!(near("日本", 9).is_empty() && !near("picture", 9).contains(&3));
        let own = vocabulary.nearest("photo", 1);
        assert!(own[0].key == 1 && (own[0].similarity - 1.0).abs() < 1e-5, "{own:?}");
    }

    #[test]
    fn a_row_is_a_scale_in_two_bytes_and_two_numbers_from_minus_eight_in_each_further_one() {
        let row = &ROWS[NUMBERS["photo"] * 42..][..42];
        let scale = f32::from_bits(u32::from_be_bytes([row[1], row[0], 0, 0]));
        assert!(scale > 0.0 && row[2..].iter().any(|byte| *byte != row[2]));
        let numbers = vector("photo");
        let (pairs, _) = numbers.as_chunks::<2>();
        assert_eq!(pairs.len(), 40);
        for ([low, high], byte) in pairs.iter().zip(row.iter().skip(2)) {
            let read = |number: f32| number / scale + 8.0;
            let (low, high) = (read(*low) - f32::from(byte % 16), read(*high) - f32::from(byte / 16));
            assert!(low.abs() < 1e-3 && high.abs() < 1e-3, "{low} {high}");
        }
    }
}
