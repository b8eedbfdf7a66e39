//! Metrics of films, of text in pictures, and of programs that the model wrote, over what was read of them.

use crate::evidence::test_subject;
use crate::evidence::{FileRef, ReadingContent, ReadingKind, tested_files};
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, upstream_error};

/// Bits in which the hashes of equal pictures may differ, and pictures that may be unequal.
const BITS: u32 = 5;
const UNEQUAL: usize = 5;

/// Passes if the first 100 pictures of two films show the same, and both end at the same one of them or later.
pub(super) fn films(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.file()? {
        Ok(file) => file,
        // Upstream raises for a missing film.
        Err(score) => return Err(upstream_error(score.explanation)),
    };
    let wanted = case.expected_file()?;
    let (found, wanted) = (hashes(case, found)?, hashes(case, wanted)?);
    if wanted.is_empty() && !case.reproduces_bugs() {
        return Err(task_error("the expected film has no pictures"));
    }
    let differ = |pair: &(&u64, &u64)| (pair.0 ^ pair.1).count_ones() > BITS;
    let unequal = found.iter().zip(&wanted).filter(differ).count();
    if unequal > UNEQUAL {
        return Ok(Score::none(format!("{unequal} pictures differ")));
    }
    if found.len() != wanted.len() {
        let why = format!("of the first 100 pictures there are {} instead of {}", found.len(), wanted.len());
        return Ok(Score::none(why));
    }
    Ok(Score::full(format!("{} pictures are alike", found.len() - unequal)))
}

fn hashes(case: &MetricInput<'_>, file: &FileRef) -> Result<Vec<u64>, MetricError> {
    match case.reading(ReadingKind::Film, &file.hash)? {
        ReadingContent::Film { hashes } => Ok(hashes),
        ReadingContent::Unreadable { .. } => Ok(Vec::new()),
        other => Err(task_error(format!("the evidence holds no film, but {other:?}"))),
    }
}

/// Passes if a text can be read in the picture.
pub(super) fn picture_text(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let (kind, wanted) = (case.rule_str("type")?, case.rule_str("text")?);
    if kind != "text" {
        return Err(task_error(format!("{kind:?} is no kind of rule for a text in a picture")));
    }
    match case.reading(ReadingKind::PictureText, &file.hash)? {
        ReadingContent::PictureText { text } => Ok(Score::of(
            text.contains(wanted),
            format!("{} is wanted, and the picture says {}", quote(wanted), quote(&text)),
        )),
        ReadingContent::Unreadable { why } => Ok(Score::none(why)),
        other => Err(task_error(format!("the evidence holds no text of a picture, but {other:?}"))),
    }
}

/// Scores what the task's test suite said of the files.
pub(super) fn test_suite(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let suite = case.expected_file()?;
    let files = tested_files(case.result, case.expected);
    match case.reading(ReadingKind::TestSuite, &test_subject(&files, suite, case.options))? {
        ReadingContent::TestSuite { score, said } => Ok(Score { score, explanation: said }),
        other => Err(task_error(format!("the evidence holds no outcome of tests, but {other:?}"))),
    }
}
