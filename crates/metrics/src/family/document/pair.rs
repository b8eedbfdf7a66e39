//! The two documents that a metric compares, or the one that it looks at.

use super::word::{Word, WordFile};
use crate::evidence::FileRef;
use crate::scoring::{MetricError, MetricInput, Score, task_error};

/// A metric's answer, or the score that an absent or unreadable document has.
pub(super) type OrScore<T> = Result<Result<T, Score>, MetricError>;

/// The file of the result and the expected one.
pub(super) struct Pair<'a> {
    pub(super) found: &'a FileRef,
    pub(super) wanted: &'a FileRef,
}

/// Returns both files. Upstream scores zero when either is missing; that the expected one is missing is the task's
/// fault.
pub(super) fn files<'a>(case: &MetricInput<'a>) -> OrScore<Pair<'a>> {
    let found = match case.file()? {
        Ok(found) => found,
        Err(score) => return Ok(Err(score)),
    };
    match case.expected_file() {
        Ok(wanted) => Ok(Ok(Pair { found, wanted })),
        Err(error) => expected_fault(case, error.message().to_owned()).map(Err),
    }
}

/// Returns what an unusable expected document means: upstream's score of zero, or a fault of the task.
pub(super) fn expected_fault(case: &MetricInput<'_>, why: String) -> Result<Score, MetricError> {
    if case.reproduces_bugs() { Ok(Score::none(why)) } else { Err(task_error(why)) }
}

/// Runs a metric of one document. One that cannot be opened scores nothing.
pub(super) fn with_one(
    case: &MetricInput<'_>,
    run: impl FnOnce(&Word<'_>) -> Result<Score, MetricError>,
) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let opened = match WordFile::open(file, false) {
        Ok(opened) => opened,
        Err(why) => return Ok(Score::none(why)),
    };
    match opened.parse() {
        Ok(word) => run(&word),
        Err(why) => Ok(Score::none(why)),
    }
}

/// Runs a metric of two documents: the result and the expected one.
pub(super) fn with_both(
    case: &MetricInput<'_>,
    run: impl FnOnce(&Word<'_>, &Word<'_>) -> Result<Score, MetricError>,
) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    let found = match WordFile::open(pair.found, false) {
        Ok(found) => found,
        Err(why) => return Ok(Score::none(why)),
    };
    let wanted = match WordFile::open(pair.wanted, true) {
        Ok(wanted) => wanted,
        Err(why) => return expected_fault(case, why),
    };
    match (found.parse(), wanted.parse()) {
        (Ok(found), Ok(wanted)) => run(&found, &wanted),
        (Err(why), _) => Ok(Score::none(why)),
        (_, Err(why)) => expected_fault(case, why),
    }
}
