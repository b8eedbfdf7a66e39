//! Metrics of tasks that their own script grades.

use serde_json::Value;

use crate::evidence::{AnswerComparison, AnswerOutcome, AnswerQuestion, AnswerVerdict};
use crate::python;
use crate::scoring::{MetricError, MetricInput, Score, difference, show, task_error};

/// The reward of Harbor: that of the JSON file, or else the number in the text file, as version 0.26 reads them.
pub(super) fn harbor(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(absent) => return Ok(absent),
    };
    let rewards = &found["rewards"];
    let reward = if let Some(text) = rewards["json"].as_str() {
        of_json(text)?
    } else if let Some(text) = rewards["text"].as_str() {
        python::float(text)
            .ok_or_else(|| task_error(format!("the reward is no number: {}", show(&rewards["text"]))))?
    } else {
        return Err(task_error(format!("the script wrote no reward; it said {}", show(&found["output"]))));
    };
    if !(0.0..=1.0).contains(&reward) {
        return Err(task_error(format!("the reward {reward} is not from 0 to 1")));
    }
    Ok(Score { score: reward, explanation: format!("the task's script gives {reward}") })
}

/// One check of OpenComputer: what its verifier answered in the world, compared there. A fault of the world has no score.
pub(super) fn opencomputer(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(absent) => return Ok(absent),
    };
    let check = &found["check"];
    let told = [&check["description"], &check["command"]].into_iter().find_map(Value::as_str);
    let told = told.unwrap_or("a check");
    if check["judge"] == "llm" {
        return judged_output(case, found, told);
    }
    if let Some(fault) = found["fault"].as_str() {
        return Err(task_error(format!("{told}: {fault}")));
    }
    let Some(passed) = found["passed"].as_bool() else {
        return Err(task_error(format!("{told}: the evidence does not say whether it holds")));
    };
    let why = match (passed, check["eval"].as_str()) {
        (true, _) => return Ok(Score::full(told)),
        (false, Some(condition)) => format!("{condition} does not hold of {}", show(&found["result"])),
        (false, None) => {
            format!("{}: {}", show(&check["key"]), difference(&found["actual"], &check["expected"]))
        }
    };
    let error = found["result"]["error"].as_str().filter(|_| check["eval"].is_null());
    let error = error.map_or_else(String::new, |error| format!(" ({})", show(&error.into())));
    Ok(Score::none(format!("{told}: {why}{error}")))
}

/// The longest output of a verifier that a model judges, in characters: of a longer one, it would be told a part.
const JUDGED_OUTPUT: usize = 16_000;

/// A check whose criterion a model judges by what the verifier printed.
fn judged_output(case: &MetricInput<'_>, found: &Value, told: &str) -> Result<Score, MetricError> {
    if let Some(fault) = found["fault"].as_str() {
        return Err(task_error(format!("{told}: {fault}")));
    }
    let check = &found["check"];
    let Some(criterion) = check["prompt"].as_str() else {
        return Err(task_error(format!("{told}: the check has no prompt that a model could judge")));
    };
    if check["command"].is_null() {
        let why = "a model has to judge it by pictures of the screen alone, which is not done";
        return Err(task_error(format!("{told}: {why}")));
    }
    let output = match &found["result"] {
        Value::Null => {
            return Err(task_error(format!("{told}: the evidence lacks what its verifier printed")));
        }
        printed => printed.to_string(),
    };
    let length = output.chars().count();
    if length > JUDGED_OUTPUT {
        let limit = format!("the verifier printed {length} characters; a judge gets at most {JUDGED_OUTPUT}");
        return Err(task_error(format!("{told}: {limit}")));
    }
    let question = AnswerQuestion {
        compare: AnswerComparison::Output,
        reference: criterion.to_owned(),
        others: Vec::new(),
        answer: output,
        files: String::new(),
    };
    let Some(judgement) = case.judgements.iter().rfind(|judgement| judgement.question == question) else {
        return Err(MetricError::Unjudged(Box::new(question)));
    };
    let judge = &judgement.model;
    match &judgement.outcome {
        AnswerOutcome::Decided { verdict: AnswerVerdict::Correct, .. } => Ok(Score::full(told)),
        AnswerOutcome::Decided { reason, .. } => {
            Ok(Score::none(format!("{told}: {judge} judges that it is not met: {reason}")))
        }
        AnswerOutcome::Undecided { why } => {
            Err(task_error(format!("{told}: the judge {judge} gave no verdict: {why}")))
        }
    }
}

/// Returns the reward among named numbers: the one of that name, or the only one.
fn of_json(text: &str) -> Result<f64, MetricError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| task_error(format!("the reward is no JSON: {error}")))?;
    let named = match &value {
        Value::Object(all) if all.len() == 1 => all.values().next(),
        Value::Object(all) => all.get("reward"),
        single => Some(single),
    };
    let several = || task_error(format!("which of several rewards decides is not known: {}", show(&value)));
    named.and_then(Value::as_f64).ok_or_else(several)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::evidence::{AnswerComparison, EvidenceValue};
    use crate::family::compute;
    use crate::scoring::{Compat, CompatProbe, MetricError, MetricInput, Score};

    fn ask(found: &Value, judgements: &[Value]) -> Result<Score, MetricError> {
        let judgements: Vec<_> = judgements
            .iter()
            .map(|judgement| serde_json::from_value(judgement.clone()).expect("a judgement"))
            .collect();
        let input = MetricInput {
            result: &EvidenceValue::Value { value: found.clone() },
            expected: None,
            options: &serde_json::Map::new(),
            reading: &CompatProbe::new(Compat::Fixed),
            beside: &[],
            readings: &[],
            judgements: &judgements,
        };
        compute("opencomputer_check", &input)
    }

    #[test]
    fn a_model_judges_what_a_verifier_printed() {
        let check =
            json!({"judge": "llm", "prompt": "Is A tied to B?", "command": "edges", "description": "A to B"});
        let found = json!({"check": check, "code": 0, "passed": false, "result": {"edges": [["A", "B"]]}});
        let Err(MetricError::Unjudged(question)) = ask(&found, &[]) else { panic!("a model is asked") };
        assert_eq!(
            (question.compare, question.reference.as_str()),
            (AnswerComparison::Output, "Is A tied to B?")
        );
        assert_eq!(question.answer, r#"{"edges":[["A","B"]]}"#);
        let said = |verdict: &str, answer: &str| {
            json!({"compare": "output", "reference": "Is A tied to B?", "answer": answer, "task": "t", "outcome": "decided",
                "verdict": verdict, "reason": "r", "model": "compat/j", "prompt_hash": "x", "replies": [],
                "tokens": {"input": 1, "output": 1, "cached": 0}})
        };
        let score = |verdict: &str| ask(&found, &[said(verdict, &question.answer)]).expect("judged");
        assert_eq!(score("correct").score, 1.0);
        for verdict in ["partially_correct", "incorrect"] {
            let failed = score(verdict);
            assert_eq!(failed.score, 0.0);
            assert_eq!(failed.explanation, "A to B: compat/j judges that it is not met: r");
        }
        // A judgement of another output is none of this one.
        assert!(matches!(ask(&found, &[said("correct", "{}")]), Err(MetricError::Unjudged(_))));
    }

    #[test]
    fn what_no_model_can_judge_is_void() {
        let void = |change: &dyn Fn(&mut Value)| {
            let check = json!({"judge": "llm", "prompt": "p", "command": "edges", "description": "d"});
            let mut found = json!({"check": check, "code": 0, "result": {"n": 1}});
            change(&mut found);
            let Err(fault @ MetricError::Task(_)) = ask(&found, &[]) else { panic!("void: {found}") };
            fault.message().to_owned()
        };
        assert_eq!(void(&|found| found["fault"] = json!("it hangs")), "d: it hangs");
        let pictures = void(&|found| found["check"]["command"] = Value::Null);
        assert_eq!(pictures, "d: a model has to judge it by pictures of the screen alone, which is not done");
        let silent = void(&|found| found["result"] = Value::Null);
        assert_eq!(silent, "d: the evidence lacks what its verifier printed");
        let long = void(&|found| found["result"] = json!("x".repeat(16_000)));
        assert_eq!(long, "d: the verifier printed 16002 characters; a judge gets at most 16000");
    }
}
