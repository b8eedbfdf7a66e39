//! Figures: pictures that a step of a skill points at, as `![what it shows](figures/SHA256.png)` in its guidance. The
//! bytes are attachments. A model gets the caption in the text, and the picture itself where its arm and its eyes allow.

use std::io::Cursor;
use std::sync::LazyLock;

use image::{ImageFormat, ImageReader, Limits};
use regex::{Captures, Regex};

use super::hash::hash;

/// Largest size of a figure, in bytes.
pub const MAX_FIGURE_BYTES: usize = 150_000;
/// Largest side of a figure, in pixels.
pub const MAX_FIGURE_SIDE_PIXELS: u32 = 2_048;
/// Largest number of figures of one skill.
pub const MAX_FIGURES: usize = 6;
/// Largest length of a figure's words, in characters.
pub const MAX_ALT_CHARS: usize = 300;
/// Memory that decoding a figure may take: four bytes for each pixel of the largest one, and as much again.
const MAX_DECODED_BYTES: u64 = 8 * (MAX_FIGURE_SIDE_PIXELS as u64) * (MAX_FIGURE_SIDE_PIXELS as u64);
/// The last chunk of a PNG file. What follows it is no picture.
const PNG_END: &[u8] = b"IEND\xae\x42\x60\x82";

static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"!\[([^\]\n]*)\]\(figures/([0-9a-f]{64})\.png\)").ok());
static ANY_REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\]\(\s*<?(\./)?figures/").ok());

/// A refusal: a code for programs and a sentence for the writer.
type Fault = (&'static str, String);

/// A figure that a text points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureRef {
    /// Description of the figure, in words.
    pub alt: String,
    /// SHA-256 of the picture's bytes.
    pub sha256: String,
}

/// A figure to add to a skill.
#[derive(Clone, Debug)]
pub struct NewFigure {
    /// The picture, as the bytes of a PNG file.
    pub png: Vec<u8>,
    /// Description of the picture, in one line.
    pub alt: String,
    /// True if it was cut from a view in which the trace marks a secret field. Such a figure is refused.
    pub shows_secret: bool,
}

impl NewFigure {
    /// Checks picture and words. Returns the hash of the picture.
    pub(crate) fn check(&self) -> Result<String, Fault> {
        if self.shows_secret {
            let why = "the figure comes from a view with a secret field; take another view".to_owned();
            return Err(("secret_field", why));
        }
        check_alt(&self.alt)?;
        check_png(&self.png)?;
        Ok(hash(&self.png))
    }
}

/// Returns the path of a figure within a package, as texts name it.
pub(crate) fn figure_path(sha256: &str) -> String {
    format!("figures/{sha256}.png")
}

/// Returns the reference to a figure as it stands in a text.
pub(crate) fn reference(alt: &str, sha256: &str) -> String {
    format!("![{}]({})", alt.trim(), figure_path(sha256))
}

/// Returns the figures that a text points at, in order, each once.
pub fn figure_refs(text: &str) -> Vec<FigureRef> {
    let mut found: Vec<FigureRef> = Vec::new();
    for captures in REFERENCE.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let figure = FigureRef { alt: captures[1].trim().to_owned(), sha256: captures[2].to_owned() };
        if !found.iter().any(|other| other.sha256 == figure.sha256) {
            found.push(figure);
        }
    }
    found
}

/// Returns a text with the words of each figure in the place of its reference: `[Figure 1: the Crop button]`.
pub fn with_captions(text: &str) -> String {
    let refs = figure_refs(text);
    if refs.is_empty() {
        return text.to_owned();
    }
    let caption = |captures: &Captures<'_>| {
        let number = refs.iter().position(|figure| figure.sha256 == captures[2]).map_or(0, |index| index + 1);
        format!("[Figure {number}: {}]", captures[1].trim())
    };
    REFERENCE
        .as_ref()
        .map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, caption).into_owned())
}

/// Checks the references to figures in a text: each has the full form with words, and there are not too many.
pub(crate) fn check_references(text: &str) -> Result<(), Fault> {
    let whole = REFERENCE.iter().flat_map(|pattern| pattern.captures_iter(text));
    let mut count = 0;
    for captures in whole {
        check_alt(&captures[1])?;
        count += 1;
    }
    let named = ANY_REFERENCE.as_ref().map_or(0, |pattern| pattern.find_iter(text).count());
    if named != count {
        let why = "a figure is written ![what it shows](figures/SHA256.png), with the hash of its content";
        return Err(("figure_reference", why.to_owned()));
    }
    if figure_refs(text).len() > MAX_FIGURES {
        return Err(("too_many_figures", format!("a skill has at most {MAX_FIGURES} figures")));
    }
    Ok(())
}

fn check_alt(alt: &str) -> Result<(), Fault> {
    let length = alt.trim().chars().count();
    if length == 0 {
        let why = "a figure needs words that say what it shows, for readers who cannot see it".to_owned();
        return Err(("no_alt_text", why));
    }
    if length > MAX_ALT_CHARS {
        return Err((
            "too_long",
            format!("the words of a figure have {length} characters; at most {MAX_ALT_CHARS} fit"),
        ));
    }
    if alt.contains(['[', ']', '\n']) || alt.chars().any(char::is_control) {
        return Err(("bad_alt_text", "the words of a figure are one line without [ and ]".to_owned()));
    }
    Ok(())
}

/// Checks that bytes are a PNG picture within the caps, and nothing besides. Returns its width and height in pixels.
///
/// # Errors
///
/// A code and the reason: no PNG, too large in bytes or pixels, or followed by other data.
pub fn check_png(bytes: &[u8]) -> Result<(u32, u32), Fault> {
    if bytes.len() > MAX_FIGURE_BYTES {
        let why = format!(
            "the figure has {} bytes; at most {MAX_FIGURE_BYTES} fit: cut out less of the view",
            bytes.len()
        );
        return Err(("figure_too_large", why));
    }
    let no_picture = |why: String| ("no_picture", format!("the figure is no PNG picture: {why}"));
    if image::guess_format(bytes).ok() != Some(ImageFormat::Png) {
        return Err(no_picture("its first bytes are those of another format".to_owned()));
    }
    if !bytes.ends_with(PNG_END) {
        return Err(no_picture("it is cut off, or something follows the picture".to_owned()));
    }
    let mut limits = Limits::default();
    // The sides are checked apart, so that the answer names them.
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    let reader = || {
        let mut reader = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Png);
        reader.limits(limits.clone());
        reader
    };
    let (width, height) = reader().into_dimensions().map_err(|error| no_picture(error.to_string()))?;
    if width > MAX_FIGURE_SIDE_PIXELS || height > MAX_FIGURE_SIDE_PIXELS {
        let why = format!(
            "the figure measures {width} x {height}; at most {MAX_FIGURE_SIDE_PIXELS} pixels a side fit"
        );
        return Err(("figure_too_large", why));
    }
    reader().decode().map_err(|error| no_picture(error.to_string()))?;
    Ok((width, height))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::codecs::png::{CompressionType, FilterType, PngEncoder};
    use image::{ImageBuffer, ImageFormat, RgbImage, Rgba};

    use super::{NewFigure, check_png, check_references, figure_refs, reference, with_captions};

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        RgbImage::new(width, height).write_to(&mut bytes, ImageFormat::Png).expect("encodes");
        bytes.into_inner()
    }

    /// Returns a picture of exactly this many bytes: a text chunk before the end fills it up.
    fn png_of(length: usize) -> Vec<u8> {
        let plain = png(2, 2);
        let (head, end) = plain.split_at(plain.len() - 12);
        let room = length - plain.len() - 12;
        let mut chunk = b"tEXtk\0".to_vec();
        chunk.resize(room + 4, b'a');
        let mut bytes = head.to_vec();
        bytes.extend(u32::try_from(room).expect("fits").to_be_bytes());
        bytes.extend(&chunk);
        bytes.extend(crc(&chunk).to_be_bytes());
        bytes.extend(end);
        bytes
    }

    fn crc(bytes: &[u8]) -> u32 {
        let step = |mut crc: u32, byte: &u8| {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = (crc >> 1) ^ (0xedb8_8320 & (0_u32.wrapping_sub(crc & 1))));
            crc
        };
        !bytes.iter().fold(u32::MAX, step)
    }

    fn code<T: std::fmt::Debug>(answer: Result<T, (&'static str, String)>) -> &'static str {
        answer.expect_err("refused").0
    }

    #[test]
    fn a_picture_is_taken_up_to_its_caps_and_nothing_else_is() {
        assert_eq!(check_png(&png(3, 2)), Ok((3, 2)));
        assert_eq!(check_png(&png(2_048, 1)), Ok((2_048, 1)));
        assert_eq!(code(check_png(&png(2_049, 1))), "figure_too_large");
        assert_eq!(code(check_png(&png(1, 2_049))), "figure_too_large");
        assert_eq!(check_png(&png(1, 2_048)), Ok((1, 2_048)));
        // The largest picture has 16 bits in each of four channels.
        let mut deep = Cursor::new(Vec::new());
        let side = ImageBuffer::<Rgba<u16>, _>::new(2_048, 2_048);
        let small = PngEncoder::new_with_quality(&mut deep, CompressionType::Best, FilterType::NoFilter);
        side.write_with_encoder(small).expect("encodes");
        assert_eq!(check_png(&deep.into_inner()), Ok((2_048, 2_048)));
        assert_eq!(check_png(&png_of(150_000)), Ok((2, 2)));
        assert_eq!(code(check_png(&png_of(150_001))), "figure_too_large");
        assert_eq!(code(check_png(b"<svg/>")), "no_picture");
        assert_eq!(code(check_png(b"\xff\xd8\xff\xe0 a photograph")), "no_picture");
        assert_eq!(code(check_png(&[png(2, 2), b"#!/bin/sh".to_vec()].concat())), "no_picture");
        let whole = png(40, 40);
        assert_eq!(code(check_png(&whole[..whole.len() - 1])), "no_picture");
        let mut broken = whole;
        broken[20] ^= 1;
        assert_eq!(code(check_png(&broken)), "no_picture");
    }

    #[test]
    fn a_figure_has_words_and_shows_no_secret() {
        let figure =
            |alt: &str, shows_secret| NewFigure { png: png(2, 2), alt: alt.to_owned(), shows_secret }.check();
        assert!(figure("The Crop button, marked", false).is_ok_and(|hash| hash.len() == 64));
        assert_eq!(code(figure("The Crop button", true)), "secret_field");
        assert_eq!(code(figure("  ", false)), "no_alt_text");
        assert_eq!(code(figure("a]b", false)), "bad_alt_text");
        assert!(figure(&"a".repeat(300), false).is_ok());
        assert_eq!(code(figure(&"a".repeat(301), false)), "too_long");
    }

    #[test]
    fn references_are_whole_or_refused() {
        let (one, other) = ("a".repeat(64), "b".repeat(64));
        let text = format!(
            "1. Click it. {}\n2. {}\n3. {}",
            reference("Crop", &one),
            reference("OK", &other),
            reference("Crop", &one)
        );
        assert_eq!(check_references(&text), Ok(()));
        assert_eq!(figure_refs(&text).len(), 2);
        assert_eq!(
            with_captions(&text),
            "1. Click it. [Figure 1: Crop]\n2. [Figure 2: OK]\n3. [Figure 1: Crop]"
        );
        assert_eq!(code(check_references("![x](figures/abc.png)")), "figure_reference");
        assert_eq!(code(check_references(&format!("[x](<./figures/{one}.png>)"))), "figure_reference");
        assert_eq!(code(check_references(&reference("", &one))), "no_alt_text");
        let many =
            |count: usize| (0..count).map(|n| reference("x", &format!("{n:064x}"))).collect::<String>();
        assert_eq!(check_references(&many(6)), Ok(()));
        assert_eq!(code(check_references(&many(7))), "too_many_figures");
        assert_eq!(with_captions("no figures/ here"), "no figures/ here");
    }
}
