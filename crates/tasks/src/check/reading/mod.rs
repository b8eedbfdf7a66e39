//! Readings: what programs of others make of a file of evidence, such as a document's text or a film's pictures.
//!
//! They are taken while evidence is collected, and are evidence themselves, so that the judge needs no program. A
//! program that reads a file runs on the grader's side, in namespaces of its own without network and home folder: a
//! virtual machine seldom has these programs. Tests of the model's own code run in the attempt's world.

mod film;
mod media;
mod pages;
mod picture_text;
mod program;
mod sound;
mod spectrum;
mod test_suite;

pub use self::program::ProgramError;
pub(super) use self::test_suite::run as run_test_suite;
use apprentice_metrics::{FileRef, Reading, ReadingContent, ReadingKind};

/// Reads one file with the program for this kind.
pub(super) async fn take(kind: ReadingKind, file: &FileRef) -> Result<Reading, ProgramError> {
    let read = match kind {
        ReadingKind::Pages => pages::read(&file.bytes).await,
        ReadingKind::Sound => sound::read(&file.bytes).await,
        ReadingKind::Film => film::read(&file.bytes).await,
        ReadingKind::PictureText => picture_text::read(&file.bytes).await,
        ReadingKind::TestSuite => Err(ProgramError::NoWorld),
    };
    let content = match read {
        Err(ProgramError::Refused(why)) => ReadingContent::Unreadable { why },
        other => other?,
    };
    Ok(Reading::new(kind, file.hash.clone(), &content))
}
