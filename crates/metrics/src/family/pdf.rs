//! Metrics of PDF documents, over the text of their pages.

use serde_json::Value;

use super::document::similarity;
use crate::evidence::{EvidenceValue, FileRef, ReadingContent, ReadingKind};
use crate::python::strip;
use crate::scoring::{MetricError, MetricInput, Score, task_error, upstream_error};

/// Passes if the number of pages is in the relation to a number that the rules name.
pub(super) fn page_count(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let pages = match pages(case, file)? {
        Ok(pages) => pages.len(),
        Err(why) => return Err(upstream_error(why)),
    };
    let (relation, wanted) = (case.rule_str("relation")?, case.rule("ref_value")?);
    let count = f64::from(u32::try_from(pages).unwrap_or(u32::MAX));
    let number = match wanted {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    };
    let holds = match (relation, number) {
        ("eq", number) => number == Some(count),
        ("ne", number) => number != Some(count),
        ("lt", Some(number)) => count < number,
        ("le", Some(number)) => count <= number,
        ("gt", Some(number)) => count > number,
        ("ge", Some(number)) => count >= number,
        ("lt" | "le" | "gt" | "ge", None) => {
            return Err(task_error(format!("rule \"ref_value\" must be a number, but is {wanted}")));
        }
        (other, _) => return Err(task_error(format!("{other:?} is no relation between numbers of pages"))),
    };
    Ok(Score::of(holds, format!("the document has {pages} pages, wanted is {relation} {wanted}")))
}

/// Scores how alike the texts of two documents are, or the mean over two lists of documents.
pub(super) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = match case.expected {
        Some(EvidenceValue::Files { files, .. }) => files.as_slice(),
        Some(EvidenceValue::Absent { .. } | EvidenceValue::Value { .. }) | None => &[],
    };
    if wanted.is_empty() {
        return match case.expected {
            Some(EvidenceValue::Absent { why }) if case.reproduces_bugs() => Ok(Score::none(why.clone())),
            _ => Err(task_error("`expected` must be a file or a list of files")),
        };
    }
    let found = case.result.files();
    let (mut total, mut told) = (0.0, Vec::new());
    for (at, wanted) in wanted.iter().enumerate() {
        match alike(case, found.get(at).and_then(Option::as_ref), wanted.as_ref())? {
            Ok(ratio) => {
                told.push(format!("the texts are {:.1} % alike", ratio * 100.0));
                total += ratio;
            }
            Err(why) => told.push(why),
        }
    }
    let count = f64::from(u32::try_from(wanted.len()).unwrap_or(u32::MAX));
    Ok(Score { score: total / count, explanation: told.join("; ") })
}

/// Returns how alike two texts are, from 0 to 1, or why this pair adds nothing.
fn alike(
    case: &MetricInput<'_>,
    found: Option<&FileRef>,
    wanted: Option<&FileRef>,
) -> Result<Result<f64, String>, MetricError> {
    let broken = |why: String| if case.reproduces_bugs() { Ok(Err(why)) } else { Err(task_error(why)) };
    let wanted = match wanted.map(|file| pages(case, file)).transpose()? {
        Some(Ok(pages)) => pages.concat(),
        Some(Err(why)) => return broken(format!("the expected document: {why}")),
        None => return broken("there is no expected document".into()),
    };
    let found = match found.map(|file| pages(case, file)).transpose()? {
        Some(Ok(pages)) => pages.concat(),
        Some(Err(why)) => return Ok(Err(why)),
        None => return Ok(Err("the document does not exist".into())),
    };
    similarity(strip(&found), strip(&wanted)).map(Ok)
}

/// Returns the text of each page, or why the document cannot be read.
pub(super) fn pages(
    case: &MetricInput<'_>,
    file: &FileRef,
) -> Result<Result<Vec<String>, String>, MetricError> {
    match case.reading(ReadingKind::Pages, &file.hash)? {
        ReadingContent::Pages { pages } => Ok(Ok(pages)),
        ReadingContent::Unreadable { why } => Ok(Err(why)),
        other => Err(task_error(format!("the evidence holds no pages of a document, but {other:?}"))),
    }
}
