//! The text in a picture, by Tesseract. Upstream reads it with the models of `easyocr`, which no package here has; both
//! read printed text, and a text that one of them reads the other may miss.

use apprentice_metrics::{MEDIA_READER, ReadingContent, TEXT_READER};

use super::media;
use super::program::{INPUT, ProgramError, ProgramRun, output};

/// Bytes of the scaled picture, and of the text.
const PICTURE_LIMIT: u64 = 256 << 20;
const TEXT_LIMIT: u64 = 4 << 20;

pub(super) async fn read(bytes: &[u8]) -> Result<ReadingContent, ProgramError> {
    // Letters of a screen are smaller than those that it is made for.
    let made =
        ["-frames:v", "1", "-vf", "scale=2*iw:2*ih:flags=lanczos", "-f", "image2pipe", "-c:v", "png", "-"];
    let arguments = media::arguments(media::PICTURES, &made);
    let run = ProgramRun {
        program: MEDIA_READER,
        arguments: &arguments,
        input: bytes,
        output_limit: PICTURE_LIMIT,
    };
    let scaled = output(&run).await?;
    let arguments = [INPUT, "stdout", "-l", "eng", "--psm", "11"];
    let run =
        ProgramRun { program: TEXT_READER, arguments: &arguments, input: &scaled, output_limit: TEXT_LIMIT };
    let printed = output(&run).await?;
    let text = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> =
        text.split(['\n', '\x0c']).map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(ReadingContent::PictureText { text: lines.join(" ") })
}
