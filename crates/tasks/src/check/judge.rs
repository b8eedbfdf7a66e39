//! Grades evidence: pure, without a world, a network or a clock.

use std::sync::LazyLock;

use apprentice_protocol::{CheckRecord, Finish, Judged, StopReason, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::evidence::{Evidence, FileRef, Found};
use super::form::{self, Misfit};
use super::metric::{self, Case, Compat, Fault, Mark, Reading};
use crate::suite::task::{CheckSpec, Conjunction, OneOrMany};

/// The only metric that looks at how the attempt ended and at nothing else.
const INFEASIBLE: &str = "infeasible";

/// How an attempt ended, as far as grading asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model said that it is done, or was stopped.
    Ended,
    /// The model gave an answer.
    Answered(String),
    /// The model said that the task cannot be done (`FAIL` in OSWorld's words).
    GaveUp,
}

impl Ending {
    /// The ending of an attempt that stopped for this reason, with what the model said last.
    pub fn of(stop: StopReason, finish: Option<&Finish>) -> Self {
        match (stop, finish) {
            (StopReason::GaveUp, _) => Self::GaveUp,
            (StopReason::Answered, Some(Finish::Answer { text })) => Self::Answered(text.clone()),
            (
                StopReason::Done
                | StopReason::Answered
                | StopReason::StepLimit
                | StopReason::TokenLimit
                | StopReason::TrialCostLimit
                | StopReason::WorkingTimeLimit
                | StopReason::Loop
                | StopReason::InvalidOutput
                | StopReason::Refused
                | StopReason::SafetyCheckDeclined
                | StopReason::ContextFull,
                _,
            ) => Self::Ended,
        }
    }
}

impl CheckSpec {
    /// Whether the right thing to do is to say that it cannot be done.
    pub fn is_infeasible(&self) -> bool {
        matches!(&self.func, OneOrMany::One(name) if name == INFEASIBLE)
    }
}

/// Grades what was collected. A verdict of void means that a metric is unknown or met evidence that it
/// cannot read: its record has no score, and the attempt is void with the cause `check_crashed`.
pub fn judge(spec: &CheckSpec, evidence: &Evidence, ending: &Ending) -> Judged {
    judge_as(spec, evidence, ending, Compat::Fixed)
}

/// Grades with upstream's known faults read one way or the other. Where a metric's score hangs on that, its
/// record says so.
pub fn judge_as(spec: &CheckSpec, evidence: &Evidence, ending: &Ending, compat: Compat) -> Judged {
    if spec.is_infeasible() {
        let gave_up = *ending == Ending::GaveUp;
        let explanation = if gave_up {
            "said that it cannot be done, which is right"
        } else {
            "never said that it cannot be done"
        };
        return verdict(
            f64::from(u8::from(gave_up)),
            explanation.into(),
            vec![record(INFEASIBLE, |_| Ok(Mark::of(gave_up, explanation)), compat)],
        );
    }
    let misfit = form::misfit(spec, evidence, compat);
    if let Some(Misfit::Loading(why)) = misfit {
        return unfit(&why);
    }
    if *ending == Ending::GaveUp {
        return verdict(0.0, "gave up a task that can be done".into(), Vec::new());
    }
    if let Some(Misfit::Grading(why)) = misfit {
        return unfit(&why);
    }
    let beside: Vec<&FileRef> = evidence.files().collect();
    let is_list = matches!(&spec.expected, Some(OneOrMany::Many(_)));
    let graded = |(at, name): (usize, &String)| {
        let mark = |reading: &Reading| {
            let case = case(at, spec, evidence, reading, &beside);
            // Upstream calls the getter of what is expected wherever there is a list of them.
            if case.expected.is_none() && !evidence.expected.is_empty() && is_list && reading.is_exact() {
                return Err(Fault::Task("nothing is expected of it, while something is of others".into()));
            }
            metric::mark(name, &case)
        };
        record(name, mark, compat)
    };
    let checks: Vec<CheckRecord> = spec.func.iter().enumerate().map(graded).collect();
    match &spec.func {
        OneOrMany::One(_) => joined(&checks, Conjunction::And),
        OneOrMany::Many(_) => joined(&checks, spec.conj),
    }
}

/// A check that cannot be made.
fn unfit(why: &str) -> Judged {
    let explanation = format!("the check's lists do not fit each other: {why}");
    Judged { verdict: Verdict::Void, score: 0.0, explanation, checks: Vec::new() }
}

/// Characters of an explanation.
const EXPLANATION: usize = 2_000;
const NOTHING: &Found = &Found::Absent { why: String::new() };
static NO_OPTIONS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// What the metric at a place of the list is given.
fn case<'a>(
    at: usize,
    spec: &'a CheckSpec,
    evidence: &'a Evidence,
    reading: &'a Reading,
    beside: &'a [&'a FileRef],
) -> Case<'a> {
    Case {
        result: evidence.results.get(at).map_or(NOTHING, |piece| &piece.found),
        expected: evidence.expected.get(at).and_then(Option::as_ref).map(|piece| &piece.found),
        options: spec.options(at).unwrap_or(&NO_OPTIONS),
        reading,
        beside,
    }
}

/// A metric's record by the reading asked for, with the other reading's score where it differs.
pub(super) fn record(
    metric: &str,
    mark: impl Fn(&Reading) -> Result<Mark, Fault>,
    compat: Compat,
) -> CheckRecord {
    let reading = Reading::new(compat);
    let (score, explanation) = match mark(&reading) {
        Ok(mark) => (Some(mark.score), mark.explanation),
        Err(fault) => (None, fault.story().to_owned()),
    };
    let other = match reading.other() {
        Some(other) => mark(&other).map(|mark| mark.score).ok(),
        None => score,
    };
    let differs = score != other;
    let explanation = brief(explanation);
    CheckRecord { metric: metric.into(), score, explanation, other_reading: other.filter(|_| differs) }
}

/// Names and lists in what was found can be as long as files.
fn brief(explanation: String) -> String {
    match explanation.char_indices().nth(EXPLANATION) {
        Some((end, _)) => format!("{}…", &explanation[..end]),
        None => explanation,
    }
}

/// Joins the metrics in order, stopping where upstream stops: what lies behind a short circuit cannot
/// make the attempt void.
fn joined(checks: &[CheckRecord], conj: Conjunction) -> Judged {
    let decides = |score: f64| match conj {
        Conjunction::And => score == 0.0,
        Conjunction::Or => is_full(score),
    };
    let mut scores = Vec::new();
    for check in checks {
        let Some(score) = check.score else {
            let explanation = format!("{} could not be computed: {}", check.metric, check.explanation);
            return Judged { verdict: Verdict::Void, score: 0.0, explanation, checks: checks.to_vec() };
        };
        scores.push(score);
        if decides(score) {
            return verdict(score, check.explanation.clone(), checks.to_vec());
        }
    }
    let score = match conj {
        Conjunction::And if scores.is_empty() => 0.0,
        Conjunction::And => {
            scores.iter().sum::<f64>() / f64::from(u32::try_from(scores.len()).unwrap_or(u32::MAX))
        }
        Conjunction::Or => scores.iter().copied().fold(0.0, f64::max),
    };
    let said: Vec<&str> = checks.iter().map(|check| check.explanation.as_str()).collect();
    verdict(score, said.join("; "), checks.to_vec())
}

/// A pass is a full score; floating sums may miss it by a hair.
fn is_full(score: f64) -> bool {
    score >= 1.0 - 1e-9
}

fn verdict(score: f64, explanation: String, checks: Vec<CheckRecord>) -> Judged {
    let verdict = if is_full(score) { Verdict::Pass } else { Verdict::Fail };
    Judged { verdict, score: score.clamp(0.0, 1.0), explanation, checks }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Verdict;
    use serde_json::{Value, json};

    use super::{Ending, judge, judge_as};
    use crate::check::evidence::{EVIDENCE_SCHEMA, Evidence, Found, Piece};
    use crate::check::form::is_nothing;
    use crate::check::metric::Compat;
    use crate::suite::task::{CheckSpec, OneOrMany};

    /// Checks of several metrics, as made by chance from metrics that pass, fail, score in part and raise, with lists
    /// that are whole, short, long, empty or none, and the score of the suite's own harness (none where it has none).
    const CASES: &str = include_str!("joined.jsonl");

    fn piece(value: Value) -> Piece {
        Piece { getter: "rule".into(), command: None, code: None, took_ms: 0, found: Found::Value { value } }
    }

    /// Judges numbers against 1 with `exact_match`, one metric per number; `null` is an unknown metric.
    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(func: Value, conj: &str, values: &[i32], ending: &Ending, expected: (Verdict, f64)) {
        let spec: CheckSpec = serde_json::from_value(json!({"func": func, "conj": conj})).expect("reads");
        let evidence = Evidence {
            schema: EVIDENCE_SCHEMA.into(),
            results: values.iter().map(|value| piece(json!(value))).collect(),
            expected: values.iter().map(|_| Some(piece(json!({"expected": 1})))).collect(),
        };
        let judged = judge(&spec, &evidence, ending);
        assert_eq!(
            (judged.verdict, judged.score),
            expected,
            "{func} {conj} {values:?}: {}",
            judged.explanation
        );
    }

    #[test]
    fn metrics_are_joined_as_upstream_joins_them() {
        let ended = &Ending::Ended;
        let three = json!(["exact_match", "exact_match", "exact_match"]);
        check(json!("exact_match"), "and", &[1], ended, (Verdict::Pass, 1.0));
        check(json!("exact_match"), "or", &[0], ended, (Verdict::Fail, 0.0));
        check(three.clone(), "and", &[1, 1, 1], ended, (Verdict::Pass, 1.0));
        check(three.clone(), "and", &[1, 0, 1], ended, (Verdict::Fail, 0.0));
        check(three.clone(), "or", &[0, 0, 1], ended, (Verdict::Pass, 1.0));
        check(three, "or", &[0, 0, 0], ended, (Verdict::Fail, 0.0));
    }

    #[test]
    fn an_unknown_metric_is_void_unless_a_short_circuit_stands_before_it() {
        let ended = &Ending::Ended;
        check(json!("no_such"), "and", &[1], ended, (Verdict::Void, 0.0));
        check(json!(["exact_match", "no_such"]), "and", &[1, 1], ended, (Verdict::Void, 0.0));
        check(json!(["exact_match", "no_such"]), "and", &[0, 1], ended, (Verdict::Fail, 0.0));
        check(json!(["exact_match", "no_such"]), "or", &[1, 1], ended, (Verdict::Pass, 1.0));
    }

    #[test]
    fn giving_up_is_right_for_infeasible_tasks_alone() {
        check(json!("infeasible"), "and", &[], &Ending::GaveUp, (Verdict::Pass, 1.0));
        check(json!("infeasible"), "and", &[], &Ending::Ended, (Verdict::Fail, 0.0));
        check(json!("exact_match"), "and", &[1], &Ending::GaveUp, (Verdict::Fail, 0.0));
        check(json!("no_such"), "and", &[1], &Ending::GaveUp, (Verdict::Fail, 0.0));
    }

    /// What is found where each getter says it itself.
    fn found(getter: &Value) -> Piece {
        let value = if getter["type"] == "rule" { &getter["rules"] } else { &getter["value"] };
        let mut piece = piece(value.clone());
        if value.is_null() {
            piece.found = Found::Absent { why: "nothing".into() };
        }
        piece
    }

    #[test]
    fn checks_come_out_as_in_the_suites_own_harness() {
        let mut seen = [0; 3];
        for line in CASES.lines() {
            let case: Value = serde_json::from_str(line).expect("json");
            let spec: CheckSpec = serde_json::from_value(case["check"].clone()).expect("a check");
            let expected = spec.expected.iter().flat_map(OneOrMany::iter);
            let evidence = Evidence {
                schema: EVIDENCE_SCHEMA.into(),
                results: spec.result.iter().flat_map(OneOrMany::iter).map(found).collect(),
                expected: expected.map(|getter| (!is_nothing(getter)).then(|| found(getter))).collect(),
            };
            let ending = if case["gave_up"] == true { Ending::GaveUp } else { Ending::Ended };
            let judged = judge_as(&spec, &evidence, &ending, Compat::Exact);
            let ours = (judged.verdict != Verdict::Void).then_some(judged.score);
            let near = match (ours, case["score"].as_f64()) {
                (Some(ours), Some(theirs)) => (ours - theirs).abs() < 1e-6,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(near, "{line}\nours: {ours:?}, {}", judged.explanation);
            seen[ours.map_or(0, |score| if score > 0.0 { 1 } else { 2 })] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }
}
