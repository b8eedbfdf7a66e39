//! `string_match`: compares the attempt's answer with reference answers.

use serde_json::Value;

use super::words;
use crate::check::metric::input::MetricInput;
use crate::check::metric::python::strip;
use crate::check::metric::score::{MetricError, Score, quote, task_error};

/// What an attempt answers that takes the task for impossible.
const IMPOSSIBLE: &str = "N/A";

/// Strips white space and one pair of quotation marks, in lower case.
pub(super) fn clean(text: &str) -> String {
    let text = strip(text);
    let quoted = ['\'', '"'].into_iter().find(|mark| text.starts_with(*mark) && text.ends_with(*mark));
    // A mark alone is its own pair, and leaves nothing.
    let inner = |mark: char| text.get(mark.len_utf8()..text.len() - mark.len_utf8()).unwrap_or_default();
    quoted.map_or(text, inner).to_lowercase()
}

/// Whether a text holds a phrase. `alone` asks for a phrase of one character as a word by itself.
pub(super) fn includes(phrase: &str, text: &str, alone: bool) -> Result<bool, MetricError> {
    let (phrase, text) = (clean(phrase), clean(text));
    let mut characters = phrase.chars();
    match (characters.next(), characters.next()) {
        // White space is no word, so it is looked for anywhere.
        (Some(one), None) if alone && !strip(&phrase).is_empty() => words::has_word(&text, one),
        _ => Ok(text.contains(&phrase)),
    }
}

/// Returns a reference as a string; others are errors in upstream, too.
pub(super) fn reference(value: &Value) -> Result<&str, MetricError> {
    value.as_str().ok_or_else(|| task_error(format!("{value} is no reference, which must be a string")))
}

/// Returns a list of references.
pub(super) fn references<'a>(value: &'a Value, name: &str) -> Result<Vec<&'a str>, MetricError> {
    let list = value.as_array().ok_or_else(|| task_error(format!("{name:?} must be a list of strings")))?;
    list.iter().map(reference).collect()
}

/// The approaches of one answer, in the order in which they are written.
pub(in crate::check::metric) fn string_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    // Upstream cleans it here and in each comparison.
    let answer = &clean(case.found()?.as_str().unwrap_or_default());
    let approaches = case.rule("reference_answers")?;
    let approaches =
        approaches.as_object().ok_or_else(|| task_error("\"reference_answers\" must be an object"))?;
    if approaches.is_empty() && !case.reproduces_bugs() {
        return Err(task_error("\"reference_answers\" is empty, so that every answer would pass"));
    }
    let (mut complaints, mut unknown) = (Vec::new(), None);
    for (approach, value) in approaches {
        match approach.as_str() {
            "exact_match" => {
                let wanted = reference(value)?;
                if clean(wanted) != clean(answer) {
                    complaints.push(format!("the answer is {}, not {}", quote(answer), quote(wanted)));
                }
            }
            "must_include" => {
                let wanted = references(value, approach)?;
                for phrase in &wanted {
                    if !includes(phrase, answer, wanted.len() == 1)? {
                        complaints.push(format!("the answer {} lacks {}", quote(answer), quote(phrase)));
                    }
                }
            }
            "fuzzy_match" if value == IMPOSSIBLE && clean(answer) == clean(IMPOSSIBLE) => {}
            "fuzzy_match" => unknown = Some("a model must judge whether the answer means the reference"),
            _ if case.reproduces_bugs() => {}
            other => return Err(task_error(format!("unknown approach {other:?} in \"reference_answers\""))),
        }
    }
    match unknown {
        // Whatever the judge says, the product is zero.
        Some(why) if complaints.is_empty() => Err(task_error(format!("\"fuzzy_match\": {why}"))),
        _ => Ok(Score::unless(&complaints, "the answer is as the references")),
    }
}
