//! Metrics of tasks that their own script grades.

use serde_json::Value;

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
        return Err(task_error(format!(
            "{told}: a model has to judge it by pictures of the screen, which is not done"
        )));
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
