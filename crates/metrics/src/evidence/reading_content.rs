//! What programs of others read from files of evidence: the kinds, the programs, and the form in which it is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MuPDF's program.
pub const DOCUMENT_READER: &str = "mutool";
/// FFmpeg's program.
pub const MEDIA_READER: &str = "ffmpeg";
/// Tesseract's program.
pub const TEXT_READER: &str = "tesseract";

/// What is read from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadingKind {
    /// The text of each page of a PDF document.
    Pages,
    /// How a sound goes: 20 cepstral coefficients for each 23 ms.
    Sound,
    /// The perceptual hashes of a film's first 100 pictures.
    Film,
    /// The text in a picture.
    PictureText,
    /// The outcome of a test suite of the task over files of the attempt.
    TestSuite,
}

/// What a program made of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "read", rename_all = "snake_case")]
pub enum ReadingContent {
    /// The text of each page of a document.
    Pages {
        /// One text for each page.
        pages: Vec<String>,
    },
    /// How a sound goes.
    Sound {
        /// 20 cepstral coefficients for each 512 samples at 22,050 Hz.
        coefficients: Vec<Vec<f32>>,
    },
    /// The pictures of a film.
    Film {
        /// The perceptual hash of each picture.
        hashes: Vec<u64>,
    },
    /// The text in a picture.
    PictureText {
        /// The text, its lines joined by blanks.
        text: String,
    },
    /// The outcome of a test suite.
    TestSuite {
        /// From 0 to 1.
        score: f64,
        /// What the tests returned or raised.
        said: String,
    },
    /// The program could not read the file.
    Unreadable {
        /// What the program says.
        why: String,
    },
}

impl ReadingKind {
    /// Returns the programs that this kind needs on this machine, each with Debian's package of it.
    pub fn programs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Pages => &[(DOCUMENT_READER, "mupdf-tools")],
            Self::Sound | Self::Film => &[(MEDIA_READER, "ffmpeg")],
            Self::PictureText => {
                &[(TEXT_READER, "tesseract-ocr tesseract-ocr-eng"), (MEDIA_READER, "ffmpeg")]
            }
            Self::TestSuite => &[],
        }
    }
}
