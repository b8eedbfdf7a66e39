//! Checks of a skill's evaluation: what an answer says to the letter, and statements of which only a model can say whether they
//! hold of the answer and of the files that the attempt left.

use serde_json::Value;

use crate::evidence::{AnswerComparison, AnswerOutcome, AnswerQuestion, AnswerVerdict, EvidenceValue};
use crate::python::strip;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error};

/// The names of both metrics.
pub(super) const ANSWER: &str = "skill_answer";
pub(super) const STATEMENTS: &str = "skill_statements";
/// What both read of their options.
pub(super) const ANSWER_OPTIONS: &[&str] = &["include", "exclude", "pattern"];
pub(super) const STATEMENT_OPTIONS: &[&str] = &["statements"];
/// Largest size of a compiled pattern, so that a package cannot make the judge run out of memory.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Returns whether the answer holds texts, lacks others, and matches a pattern. Case does not count for texts.
pub(super) fn answer(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    known(case, ANSWER_OPTIONS)?;
    let given = case.found()?.as_str().unwrap_or_default();
    let lower = given.to_lowercase();
    let mut complaints = Vec::new();
    for wanted in texts(case, "include")?.into_iter().flatten() {
        if !lower.contains(&wanted.to_lowercase()) {
            complaints.push(format!("the answer lacks {}", quote(wanted)));
        }
    }
    for unwanted in texts(case, "exclude")?.into_iter().flatten() {
        if lower.contains(&unwanted.to_lowercase()) {
            complaints.push(format!("the answer holds {}", quote(unwanted)));
        }
    }
    if let Some(pattern) = case.options.get("pattern") {
        let pattern = pattern.as_str().ok_or_else(|| task_error("option \"pattern\" must be a string"))?;
        let built = regex::RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
        let built = built.map_err(|error| task_error(format!("option \"pattern\": {error}")))?;
        if !built.is_match(given) {
            complaints.push(format!("the answer does not match {}", quote(pattern)));
        }
    }
    if case.options.is_empty() {
        return Err(task_error("none of the options is given, so that every answer would pass"));
    }
    Ok(Score::unless(&complaints, "the answer is as its checks want it"))
}

/// The share of statements that hold of the answer and of the files, as a model judges. Each is a question of its own, so
/// that all are asked: the share shows how near a failed attempt came.
pub(super) fn statements(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    known(case, STATEMENT_OPTIONS)?;
    let statements = texts(case, "statements")?.unwrap_or_default();
    if statements.is_empty() {
        return Err(task_error("option \"statements\" is empty, so that every attempt would pass"));
    }
    let answer = strip(case.found()?.as_str().unwrap_or_default()).to_owned();
    let files = files(case)?;
    if answer.is_empty() && files.is_empty() {
        return Ok(Score::none("the attempt gave no answer and left no file"));
    }
    let (mut held, mut complaints, mut judge) = (0_u32, Vec::new(), String::new());
    for statement in &statements {
        let question = AnswerQuestion {
            compare: AnswerComparison::Holds,
            reference: (*statement).to_owned(),
            others: Vec::new(),
            answer: answer.clone(),
            files: files.clone(),
        };
        let Some(judgement) = case.judgements.iter().rfind(|one| one.question == question) else {
            return Err(MetricError::Unjudged(Box::new(question)));
        };
        judge.clone_from(&judgement.model);
        match &judgement.outcome {
            AnswerOutcome::Decided { verdict: AnswerVerdict::Correct, .. } => held += 1,
            AnswerOutcome::Decided { reason, .. } => {
                complaints.push(format!("{judge} judges that {} does not hold: {reason}", quote(statement)));
            }
            AnswerOutcome::Undecided { why } => {
                let statement = quote(statement);
                return Err(task_error(format!("the judge {judge} gave no verdict on {statement}: {why}")));
            }
        }
    }
    let all = u32::try_from(statements.len()).unwrap_or(u32::MAX);
    let score = f64::from(held) / f64::from(all);
    Ok(if complaints.is_empty() {
        Score::full(format!("all {all} statements hold, as {judge} judges"))
    } else {
        Score { score, explanation: complaints.join("; ") }
    })
}

/// What the attempt left, as a command listed it when the evidence was collected.
fn files(case: &MetricInput<'_>) -> Result<String, MetricError> {
    match case.expected {
        None => Ok(String::new()),
        Some(EvidenceValue::Value { value: Value::String(text) }) => Ok(text.trim().to_owned()),
        Some(EvidenceValue::Absent { why }) => Err(task_error(format!("the files were not listed: {why}"))),
        Some(EvidenceValue::Value { .. } | EvidenceValue::Files { .. }) => {
            Err(task_error("`expected` must be a command that lists the files"))
        }
    }
}

fn known(case: &MetricInput<'_>, names: &[&str]) -> Result<(), MetricError> {
    match case.options.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(task_error(format!("unknown option {name:?}"))),
        None => Ok(()),
    }
}

fn texts<'a>(case: &MetricInput<'a>, name: &str) -> Result<Option<Vec<&'a str>>, MetricError> {
    let Some(value) = case.options.get(name) else { return Ok(None) };
    let list = value.as_array().ok_or_else(|| task_error(format!("option {name:?} must be a list")))?;
    let text = |one: &'a Value| match one.as_str().filter(|text| !strip(text).is_empty()) {
        Some(text) => Ok(text),
        None => Err(task_error(format!("option {name:?} must be a list of texts"))),
    };
    list.iter().map(text).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::evidence::EvidenceValue;
    use crate::family::compute;
    use crate::scoring::{Compat, CompatProbe, MetricError, MetricInput, Score};

    fn ask(
        metric: &str,
        answer: &str,
        files: Option<&str>,
        options: &Value,
        judgements: &[Value],
    ) -> Result<Score, MetricError> {
        let judgements: Vec<_> = judgements
            .iter()
            .map(|judgement| serde_json::from_value(judgement.clone()).expect("a judgement"))
            .collect();
        let files = files.map(|text| EvidenceValue::Value { value: text.into() });
        compute(
            metric,
            &MetricInput {
                result: &EvidenceValue::Value { value: answer.into() },
                expected: files.as_ref(),
                options: options.as_object().expect("options"),
                reading: &CompatProbe::new(Compat::Fixed),
                beside: &[],
                readings: &[],
                judgements: &judgements,
            },
        )
    }

    fn said(statement: &str, answer: &str, files: &str, verdict: &str) -> Value {
        let mut judgement = json!({"compare": "holds", "reference": statement, "answer": answer, "task": "t",
            "outcome": "decided", "verdict": verdict, "reason": "r", "model": "compat/j", "prompt_hash": "x",
            "replies": [], "tokens": {"input": 1, "output": 1, "cached": 0}});
        if !files.is_empty() {
            judgement["files"] = files.into();
        }
        judgement
    }

    #[test]
    fn an_answer_is_read_to_the_letter() {
        let options = json!({"include": ["Total"], "exclude": ["sorry"], "pattern": "\\b42\\b"});
        let score = |answer: &str| ask("skill_answer", answer, None, &options, &[]).expect("a score").score;
        assert!((score("The total is 42.") - 1.0).abs() < 1e-9);
        for wrong in ["42", "The total is 42, sorry.", "The total is 420.", ""] {
            assert!(score(wrong).abs() < 1e-9, "{wrong}");
        }
        for broken in
            [json!({}), json!({"includes": ["x"]}), json!({"include": [""]}), json!({"pattern": "("})]
        {
            ask("skill_answer", "x", None, &broken, &[]).expect_err("no such options");
        }
    }

    #[test]
    fn every_statement_is_a_question_and_the_share_that_holds_is_the_score() {
        let options = json!({"statements": ["It is sorted.", "It has a head."]});
        let open = ask("skill_statements", "Done.", Some("== a.csv\n"), &options, &[]);
        assert!(matches!(&open, Err(MetricError::Unjudged(asked)) if asked.files == "== a.csv"), "{open:?}");
        let first = said("It is sorted.", "Done.", "== a.csv", "incorrect");
        let judged = |second: &str| {
            let second = said("It has a head.", "Done.", "== a.csv", second);
            ask("skill_statements", "Done.", Some("== a.csv\n"), &options, &[first.clone(), second])
        };
        let half = judged("correct").expect("a score");
        assert!((half.score - 0.5).abs() < 1e-9 && half.explanation.contains("It is sorted."), "{half:?}");
        assert!(judged("partially_correct").expect("a score").score.abs() < 1e-9, "a part is not enough");
        // Without anything to judge, no model is asked.
        let nothing = ask("skill_statements", " ", Some(""), &options, &[]).expect("a score");
        assert!(nothing.score.abs() < 1e-9, "{nothing:?}");
        ask("skill_statements", "x", None, &json!({"statements": []}), &[]).expect_err("nothing to hold");
    }
}
