//! A metric: counts the words of a text file.
//!
//! A metric is a function of its input, without a world, a clock or a network. `crates/metrics/src/family/mod.rs`
//! compiles this file into its tests. ARCHITECTURE.md lists the steps that turn it into a metric which tasks can name.

use serde_json::Value;

use crate::python;
use crate::scoring::{MetricError, MetricInput, Score, task_error};

/// Passes if the text file has at least `min` and at most `max` words; a missing bound does not limit. A bound that is
/// not a number is an error of the task, and a missing file is a failure of the model.
pub(super) fn check_word_count(input: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (min, max) = (bound(input, "min", 0)?, bound(input, "max", u64::MAX)?);
    let text = match input.file()? {
        Ok(file) => python::text(file)?,
        Err(score) => return Ok(score),
    };
    let words = text.split_whitespace().count() as u64;
    Ok(Score::of((min..=max).contains(&words), format!("the file has {words} words")))
}

fn bound(input: &MetricInput<'_>, name: &str, default: u64) -> Result<u64, MetricError> {
    match input.rules()?.get(name) {
        None => Ok(default),
        Some(Value::Number(number)) if number.is_u64() => Ok(number.as_u64().unwrap_or(default)),
        Some(other) => Err(task_error(format!("rule {name:?} must be a whole number, not {other}"))),
    }
}

#[test]
fn words_are_counted_within_both_bounds() {
    use serde_json::{Map, json};

    use crate::evidence::{EvidenceValue, FileRef};
    use crate::scoring::{Compat, CompatProbe};

    let score = |text: &str, rules: Value| {
        let found = EvidenceValue::files_of(vec![Some(FileRef::new("letter.txt", text.into()))]);
        let rules = EvidenceValue::Value { value: rules };
        let reading = CompatProbe::new(Compat::Fixed);
        let input = MetricInput {
            result: &found,
            expected: Some(&rules),
            options: &Map::new(),
            reading: &reading,
            beside: &[],
            readings: &[],
            judgements: &[],
        };
        check_word_count(&input).map(|score| score.score)
    };
    assert_eq!(score("one two  three\n", json!({"min": 3, "max": 3})), Ok(1.0));
    assert_eq!(score("one two", json!({"min": 3})), Ok(0.0));
    assert_eq!(score("one two three four", json!({"max": 3})), Ok(0.0));
    assert_eq!(score("", json!({})), Ok(1.0));
    assert!(matches!(score("one", json!({"min": "three"})), Err(MetricError::Task(_))));
}
