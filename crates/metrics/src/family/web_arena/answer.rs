//! `string_match`: compares the attempt's answer with reference answers. Whether it means one of them is what a model said
//! when the evidence was collected.

use serde_json::Value;

use super::words;
use crate::evidence::{AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict};
use crate::python::strip;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error};

/// What an attempt answers that takes the task for impossible.
const IMPOSSIBLE: &str = "N/A";
/// The rule with the reason for which it is impossible.
const REASON: &str = "string_note";

/// Strips white space and one pair of quotation marks, in lower case.
pub(super) fn clean(text: &str) -> String {
    let text = strip(text);
    let quoted = ['\'', '"'].into_iter().find(|mark| text.starts_with(*mark) && text.ends_with(*mark));
    // A mark alone is its own pair, and leaves nothing.
    let inner = |mark: char| text.get(mark.len_utf8()..text.len() - mark.len_utf8()).unwrap_or_default();
    quoted.map_or(text, inner).to_lowercase()
}

/// Returns whether a text holds a phrase. `alone` asks for a phrase of one character as a word by itself.
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

/// The approaches of one answer. Every one must hold, in any order. (Upstream's product begins again with the comparison of
/// reasons, if it is zero by then; no task of WebArena has both.)
pub(crate) fn string_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    // Upstream cleans it here and in each comparison.
    let given = case.found()?.as_str().unwrap_or_default();
    let answer = &clean(given);
    let approaches = case.rule("reference_answers")?;
    let approaches =
        approaches.as_object().ok_or_else(|| task_error("\"reference_answers\" must be an object"))?;
    if approaches.is_empty() && !case.reproduces_bugs() {
        return Err(task_error("\"reference_answers\" is empty, so that every answer would pass"));
    }
    let (mut complaints, mut meaning) = (Vec::new(), Meaning::default());
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
            "fuzzy_match" if value == IMPOSSIBLE => {
                if clean(answer) != clean(IMPOSSIBLE) {
                    meaning = same_reason(case, given)?;
                }
            }
            "fuzzy_match" => meaning = same_meaning(case, &references(value, approach)?, given)?,
            _ if case.reproduces_bugs() => {}
            other => return Err(task_error(format!("unknown approach {other:?} in \"reference_answers\""))),
        }
    }
    complaints.extend(meaning.complaints);
    match meaning.open {
        // Whatever the judge says, the product is zero.
        Some(open) if complaints.is_empty() => Err(open),
        _ => Ok(Score::unless(&complaints, &format!("the answer is as the references{}", meaning.judged_by))),
    }
}

/// What comparisons by a model come to.
#[derive(Default)]
struct Meaning {
    complaints: Vec<String>,
    /// The reason why one of them has no outcome.
    open: Option<MetricError>,
    /// Names the model where it found nothing to complain about.
    judged_by: String,
}

/// Compares the answer with the reason for which the task cannot be done.
fn same_reason(case: &MetricInput<'_>, answer: &str) -> Result<Meaning, MetricError> {
    let reason = case.rule_str(REASON)?;
    if strip(reason).is_empty() {
        return Err(task_error(format!(
            "rule {REASON:?} is empty, so that no reason can be compared with it"
        )));
    }
    Ok(judged(case, AnswerComparison::SameReason, &[reason], answer))
}

/// Compares the answer with each of the references.
fn same_meaning(case: &MetricInput<'_>, references: &[&str], answer: &str) -> Result<Meaning, MetricError> {
    if references.is_empty() && !case.reproduces_bugs() {
        return Err(task_error("\"fuzzy_match\" is empty, so that every answer would pass"));
    }
    Ok(judged(case, AnswerComparison::MeansReference, references, answer))
}

/// Looks the comparisons up in the evidence, up to the first one that decides or that is not there.
fn judged(case: &MetricInput<'_>, compare: AnswerComparison, references: &[&str], answer: &str) -> Meaning {
    let mut found = Meaning::default();
    let answer = strip(answer);
    for (at, reference) in references.iter().enumerate() {
        // No model is needed to see that nothing was answered.
        if answer.is_empty() {
            found.complaints.push(format!("there is no answer, instead of {}", quote(reference)));
            return found;
        }
        let others = references.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, other)| (*other).to_owned()).collect();
        let (reference, answer) = ((*reference).to_owned(), answer.to_owned());
        let question = AnswerQuestion { compare, reference, others, answer, files: String::new() };
        let Some(judgement) = case.judgements.iter().rfind(|one| one.question == question) else {
            found.open = Some(MetricError::Unjudged(Box::new(question)));
            return found;
        };
        let AnswerJudgement { model, outcome, .. } = judgement;
        match outcome {
            AnswerOutcome::Decided { verdict: AnswerVerdict::Correct, .. } => {
                found.judged_by = format!(", as {model} judges");
            }
            AnswerOutcome::Decided { reason, .. } => {
                let (answer, reference) = (quote(&question.answer), quote(&question.reference));
                found.complaints.push(format!("{model} judges that {answer} is not {reference}: {reason}"));
                return found;
            }
            AnswerOutcome::Undecided { why } => {
                found.open =
                    Some(task_error(format!("\"fuzzy_match\": the judge {model} gave no verdict: {why}")));
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::evidence::EvidenceValue;
    use crate::family::compute;
    use crate::scoring::{Compat, CompatProbe, MetricInput};

    /// A score, or the reason for none.
    #[derive(Debug)]
    struct Graded {
        score: Option<f64>,
        explanation: Option<String>,
        error: Option<String>,
    }

    fn ask(result: &str, expected: &Value, judgements: &[Value], compat: Compat) -> Graded {
        let judgements: Vec<_> = judgements
            .iter()
            .map(|judgement| serde_json::from_value(judgement.clone()).expect("a judgement"))
            .collect();
        let input = MetricInput {
            result: &EvidenceValue::Value { value: result.into() },
            expected: Some(&EvidenceValue::Value { value: expected.clone() }),
            options: &serde_json::Map::new(),
            reading: &CompatProbe::new(compat),
            beside: &[],
            readings: &[],
            judgements: &judgements,
        };
        match compute("webarena_string_match", &input) {
            Ok(score) => {
                Graded { score: Some(score.score), explanation: Some(score.explanation), error: None }
            }
            Err(error) => Graded { score: None, explanation: None, error: Some(error.message().to_owned()) },
        }
    }

    fn said(question: &Value, outcome: &Value) -> Value {
        let mut all = json!({"task": "How many?", "model": "compat/j", "prompt_hash": "x", "replies": [],
            "tokens": {"input": 1, "output": 1, "cached": 0}});
        for part in [question, outcome] {
            let part = part.as_object().expect("an object").clone();
            all.as_object_mut().expect("an object").extend(part);
        }
        all
    }

    fn verdict(verdict: &str) -> Value {
        json!({"outcome": "decided", "verdict": verdict, "reason": "r"})
    }

    #[test]
    fn each_reference_is_a_question_and_only_correct_passes() {
        let rules = json!({"reference_answers": {"fuzzy_match": ["two", "red"]}});
        let two =
            json!({"compare": "means_reference", "reference": "two", "others": ["red"], "answer": "2 Red"});
        let red =
            json!({"compare": "means_reference", "reference": "red", "others": ["two"], "answer": "2 Red"});
        let score = |judgements: &[Value]| ask(" 2 Red\n", &rules, judgements, Compat::Fixed);
        let open = score(&[]);
        assert!(open.score.is_none() && open.error.as_deref().expect("why").contains("--judge"), "{open:?}");
        assert!(score(&[said(&two, &verdict("correct"))]).score.is_none(), "one of two is open");
        let both = |second| score(&[said(&two, &verdict("correct")), said(&red, &verdict(second))]);
        assert_eq!(both("correct").score, Some(1.0));
        assert!(both("correct").explanation.expect("a word").contains("compat/j"), "the judge is named");
        for zero in ["incorrect", "partially_correct"] {
            assert_eq!(both(zero).score, Some(0.0), "{zero}");
            assert_eq!(score(&[said(&two, &verdict(zero))]).score, Some(0.0), "{zero} decides");
        }
        let undecided = json!({"outcome": "undecided", "why": "it is down"});
        let void = score(&[said(&two, &undecided)]);
        assert!(
            void.score.is_none() && void.error.as_deref().expect("why").contains("it is down"),
            "{void:?}"
        );
        // A later judgement of the same question stands.
        let again = score(&[said(&two, &undecided), said(&two, &verdict("incorrect"))]);
        assert_eq!(again.score, Some(0.0));
        // A judgement of another answer says nothing.
        assert!(ask("3", &rules, &[said(&two, &verdict("correct"))], Compat::Fixed).score.is_none());
        assert_eq!(ask(" ", &rules, &[], Compat::Fixed).score, Some(0.0), "no answer needs no judge");
        let empty = json!({"reference_answers": {"fuzzy_match": []}});
        assert!(ask("2", &empty, &[], Compat::Fixed).score.is_none());
        assert_eq!(ask("2", &empty, &[], Compat::Exact).score, Some(1.0));
    }

    #[test]
    fn what_cannot_be_done_needs_the_reason_unless_the_answer_is_the_mark() {
        let rules = json!({"reference_answers": {"fuzzy_match": "N/A"}, "string_note": "no such shop"});
        let same = json!({"compare": "same_reason", "reference": "no such shop", "answer": "It is closed."});
        assert_eq!(ask(" n/a ", &rules, &[], Compat::Fixed).score, Some(1.0));
        assert!(ask("It is closed.", &rules, &[], Compat::Fixed).score.is_none());
        for (word, score) in [("correct", 1.0), ("incorrect", 0.0)] {
            let judged = ask("It is closed.", &rules, &[said(&same, &verdict(word))], Compat::Fixed);
            assert_eq!(judged.score, Some(score));
        }
        for note in [json!(null), json!(""), json!(" ")] {
            let rules = json!({"reference_answers": {"fuzzy_match": "N/A"}, "string_note": note});
            assert!(
                ask("x", &rules, &[said(&same, &verdict("correct"))], Compat::Fixed).score.is_none(),
                "{note}"
            );
        }
        // A product with a zero is zero, so that nothing is asked.
        let both = json!({"reference_answers": {"exact_match": "y", "fuzzy_match": "N/A"}, "string_note": "no such shop"});
        assert_eq!(ask("It is closed.", &both, &[], Compat::Fixed).score, Some(0.0));
    }
}
