//! Metrics of documents that hold records or answers, one per line.

use std::collections::BTreeSet;

use serde_json::Value;

use super::comparison::{similarity, word_texts};
use super::pair::{expected_fault, files};
use super::word::WordFile;
use crate::evidence::{EvidenceValue, FileRef};
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, upstream_error};

/// The texts of a document's paragraphs, or why it cannot be read.
fn texts(file: &FileRef) -> Result<Vec<String>, String> {
    let opened = WordFile::open(file, false)?;
    opened.parse()?.texts().map_err(|error| error.message().to_owned())
}

/// Returns the second field of a line of four fields.
fn train(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split(',').collect();
    (fields.len() == 4).then(|| fields[1].trim())
}

/// Passes if the second document has the trains of the first, each once. The first may be unreadable: it then has
/// none.
pub(crate) fn no_duplicates(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    let lines = word_texts(pair.found, false)?.unwrap_or_default();
    let expected: BTreeSet<&str> = lines.iter().filter_map(|line| train(line)).collect();
    let processed = match word_texts(pair.wanted, true)? {
        Ok(processed) => processed,
        Err(why) => return expected_fault(case, why),
    };
    let mut found = BTreeSet::new();
    for name in processed.iter().filter_map(|line| train(line)) {
        if !found.insert(name) {
            return Ok(Score::none(format!("{} occurs twice", quote(name))));
        }
    }
    Ok(Score::of(found == expected, format!("{} trains, expected {}", found.len(), expected.len())))
}

/// Passes if the result has lines of the initial document only, and the trains of the expected one, each once.
pub(crate) fn unique_records(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let (gold, initial) = match case.expected {
        Some(EvidenceValue::Files { files, .. }) => match files.as_slice() {
            [Some(gold), Some(initial), ..] => (gold, initial),
            _ => {
                return expected_fault(case, "`expected` must be the wanted and the initial document".into());
            }
        },
        _ => return expected_fault(case, "`expected` must be a list of two documents".into()),
    };
    let trimmed = |file: &FileRef| -> Result<Vec<String>, String> {
        let lines = texts(file)?;
        Ok(lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect())
    };
    let found = match trimmed(file) {
        Ok(found) => found,
        Err(why) => return Ok(Score::none(why)),
    };
    let (gold, initial) = match trimmed(gold).and_then(|gold| Ok((gold, trimmed(initial)?))) {
        Ok(both) => both,
        Err(why) => return expected_fault(case, why),
    };
    let known: BTreeSet<&String> = initial.iter().collect();
    if let Some(line) = found.iter().find(|line| !known.contains(line)) {
        return Ok(Score::none(format!("{} is no line of the initial document", quote(line))));
    }
    let trains: Vec<&str> = found.iter().filter_map(|line| train(line)).collect();
    let distinct: BTreeSet<&str> = trains.iter().copied().collect();
    let expected: BTreeSet<&str> = gold.iter().filter_map(|line| train(line)).collect();
    let mut complaints = Vec::new();
    if trains.len() != distinct.len() {
        complaints.push("a train occurs twice".to_owned());
    }
    if distinct != expected {
        complaints.push(format!("{} trains other than the {} expected", distinct.len(), expected.len()));
    }
    if found.len() != gold.len() {
        complaints.push(format!("{} lines, expected {}", found.len(), gold.len()));
    }
    Ok(Score::unless(&complaints, "the records are as expected"))
}

/// Returns the mean similarity of the three words of a document to the nearest answers.
pub(crate) fn place_answers(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(score) => return Ok(score),
    };
    let answers = case.rule("expected")?.as_array();
    let answers = answers.ok_or_else(|| task_error("rule \"expected\" must be a list"))?;
    let lines = texts(file).map_err(upstream_error)?;
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    let mut scores = Vec::new();
    for word in &words {
        let mut best = 0.0_f64;
        for answer in answers {
            let answer = answer.as_str();
            let answer = answer.ok_or_else(|| task_error("rule \"expected\" must be a list of texts"))?;
            best = best.max(similarity(word, answer)?);
        }
        scores.push(best);
        if scores.len() > 3 {
            break;
        }
    }
    if words.len() != 3 {
        return Ok(Score::none(format!("{} words, expected three", words.len())));
    }
    let score = scores.iter().sum::<f64>() / 3.0;
    let words = Value::from(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    Ok(Score { score, explanation: format!("the answers {words} are similar by {score}") })
}
