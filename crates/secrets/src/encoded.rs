//! Parts of a text that are Base64 of another text.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::Regex;

/// Characters of one part that are decoded. What is longer is a picture or the like.
const LONGEST: usize = 64 << 10;

static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{24,}={0,2}").ok());
static ENGINES: LazyLock<[GeneralPurpose; 2]> = LazyLock::new(|| {
    let engine = |alphabet: &Alphabet| {
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        GeneralPurpose::new(alphabet, config)
    };
    [engine(&STANDARD), engine(&URL_SAFE)]
});

/// Returns each part with what it says.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = (Range<usize>, String)> + '_ {
    let found = PARTS.as_ref().map(|parts| parts.find_iter(text)).into_iter().flatten();
    found.filter(|part| part.len() <= LONGEST).filter_map(|part| {
        let bytes = ENGINES.iter().find_map(|engine| engine.decode(part.as_str()).ok())?;
        Some((part.range(), String::from_utf8(bytes).ok()?))
    })
}
