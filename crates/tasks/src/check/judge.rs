//! Grades evidence. The judge is a pure function: it needs no machine, no network and no clock.

use std::sync::LazyLock;

use apprentice_metrics::{
    AnswerQuestion, Compat, CompatProbe, Evidence, EvidenceValue, FileRef, Metric, MetricError, MetricInput,
    Score, compute, named,
};
use apprentice_protocol::{CheckRecord, Finish, Judged, StopReason, Verdict};
use apprentice_trace::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::list_shape::{self, ShapeError};
use crate::task::{CheckSpec, Conjunction, OneOrMany};

/// The metric that reads the attempt's ending alone.
const INFEASIBLE: &str = "infeasible";

/// The ending of an attempt, reduced to the cases that grading distinguishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnding {
    /// The model declared the task done, or the harness stopped it.
    Ended,
    /// The model gave an answer.
    Answered(String),
    /// The model declared the task infeasible (`FAIL` in OSWorld).
    GaveUp,
}

impl AttemptEnding {
    /// Removes known secrets from the answer. As with evidence, this happens before it is judged, shown to a judge and saved.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        match self {
            Self::Answered(text) => Self::Answered(redactor.apply_known(&text).into_owned()),
            Self::Ended | Self::GaveUp => self,
        }
    }

    /// Returns the ending of an attempt with this stop reason and final action.
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
    /// Returns whether the task is infeasible, so that giving up is the correct ending.
    pub fn is_infeasible(&self) -> bool {
        matches!(&self.func, OneOrMany::One(name) if name == INFEASIBLE)
    }

    /// Returns whether an attempt that gave up may pass. Elsewhere it fails, whatever the world is like.
    pub fn may_accept_giving_up(&self) -> bool {
        self.is_infeasible() || self.func.iter().any(|name| reads_answer(name))
    }
}

/// Grades collected evidence. A void verdict means that a metric is unknown or cannot read its evidence: the
/// record of that metric has no score, and the attempt is void with the cause `check_crashed`.
pub fn judge(spec: &CheckSpec, evidence: &Evidence, ending: &AttemptEnding) -> Judged {
    judge_with_compat(spec, evidence, ending, Compat::Fixed)
}

/// Grades with upstream's known bugs either fixed or reproduced. Where the choice changes a metric's score, its
/// record also has the other score.
pub fn judge_with_compat(
    spec: &CheckSpec,
    evidence: &Evidence,
    ending: &AttemptEnding,
    compat: Compat,
) -> Judged {
    if spec.is_infeasible() {
        let gave_up = *ending == AttemptEnding::GaveUp;
        let explanation = if gave_up {
            "declared the task infeasible, which is correct"
        } else {
            "never declared the task infeasible"
        };
        return verdict(
            f64::from(u8::from(gave_up)),
            explanation.into(),
            vec![record(INFEASIBLE, |_| Ok(Score::of(gave_up, explanation)), compat)],
        );
    }
    let misfit = list_shape::shape_error(spec, evidence, compat);
    if let Some(ShapeError::AtLoading(why)) = misfit {
        return void_for_shape(&why);
    }
    let answer = answer(spec, ending);
    if *ending == AttemptEnding::GaveUp && answer.is_none() {
        return verdict(0.0, "declared a feasible task infeasible".into(), Vec::new());
    }
    if let Some(ShapeError::AtGrading(why)) = misfit {
        return void_for_shape(&why);
    }
    let case = CheckCase { spec, evidence, answer, beside: evidence.files().collect() };
    let graded = |(at, name): (usize, &String)| {
        record(name, |reading: &CompatProbe| case.mark(at, name, reading), compat)
    };
    let checks: Vec<CheckRecord> = spec.func.iter().enumerate().map(graded).collect();
    match &spec.func {
        OneOrMany::One(_) => combined(&checks, Conjunction::And),
        OneOrMany::Many(_) => combined(&checks, spec.conj),
    }
}

/// Returns what a model must be asked before the evidence can be graded; `None` if it can be, or never can.
pub fn open_question(
    spec: &CheckSpec,
    evidence: &Evidence,
    ending: &AttemptEnding,
    compat: Compat,
) -> Option<AnswerQuestion> {
    let judged = judge_with_compat(spec, evidence, ending, compat);
    if judged.verdict != Verdict::Void {
        return None;
    }
    // The first metric without a score is the one that made the attempt void.
    let at = judged.checks.iter().position(|check| check.score.is_none())?;
    let answer = answer(spec, ending);
    let case = CheckCase { spec, evidence, answer, beside: evidence.files().collect() };
    match case.mark(at, spec.func.iter().nth(at)?, &CompatProbe::new(compat)) {
        Err(MetricError::Unjudged(question)) => Some(*question),
        Ok(_) | Err(_) => None,
    }
}

/// A check with all that its metrics evaluate.
struct CheckCase<'a> {
    spec: &'a CheckSpec,
    evidence: &'a Evidence,
    /// The attempt's answer, where a metric evaluates it.
    answer: Option<EvidenceValue>,
    beside: Vec<&'a FileRef>,
}

impl CheckCase<'_> {
    /// Evaluates the metric at this index.
    fn mark(&self, at: usize, name: &str, reading: &CompatProbe) -> Result<Score, MetricError> {
        let mut case = case(at, self.spec, self.evidence, reading, &self.beside);
        if let Some(answer) = self.answer.as_ref().filter(|_| reads_answer(name)) {
            case.result = answer;
        }
        // When `expected` is a list, upstream calls a getter for every entry.
        let is_list = matches!(&self.spec.expected, Some(OneOrMany::Many(_)));
        let lacks = case.expected.is_none() && !self.evidence.expected.is_empty() && is_list;
        if lacks && reading.reproduces_bugs() {
            let why = "this metric has no expected value, while others have one";
            return Err(MetricError::Task(why.into()));
        }
        compute(name, &case)
    }
}

/// What an attempt answers to a check of answers where it gave up.
const GIVEN_UP: &str = "N/A";

fn reads_answer(metric: &str) -> bool {
    named(metric).is_some_and(Metric::reads_answer)
}

/// Returns the attempt's answer as evidence, where a metric evaluates it: empty without one. Giving up is an answer there.
fn answer(spec: &CheckSpec, ending: &AttemptEnding) -> Option<EvidenceValue> {
    let answer = match ending {
        AttemptEnding::Ended => "",
        AttemptEnding::Answered(text) => text,
        AttemptEnding::GaveUp => GIVEN_UP,
    };
    let is_read = spec.func.iter().any(|name| reads_answer(name));
    is_read.then(|| EvidenceValue::Value { value: answer.into() })
}

/// Returns the void verdict of a check whose lists have different lengths.
fn void_for_shape(why: &str) -> Judged {
    let explanation = format!("the check's lists do not match: {why}");
    Judged { verdict: Verdict::Void, score: 0.0, explanation, checks: Vec::new() }
}

/// Maximum length of an explanation, in characters.
const MAX_EXPLANATION: usize = 2_000;
const MISSING_RESULT: &EvidenceValue = &EvidenceValue::Absent { why: String::new() };
static NO_OPTIONS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// Builds the input of the metric at this index.
fn case<'a>(
    at: usize,
    spec: &'a CheckSpec,
    evidence: &'a Evidence,
    reading: &'a CompatProbe,
    beside: &'a [&'a FileRef],
) -> MetricInput<'a> {
    MetricInput {
        result: evidence.results.get(at).map_or(MISSING_RESULT, |piece| &piece.found),
        expected: evidence.expected.get(at).and_then(Option::as_ref).map(|piece| &piece.found),
        options: spec.options(at).unwrap_or(&NO_OPTIONS),
        reading,
        beside,
        readings: &evidence.readings,
        judgements: &evidence.judgements,
    }
}

/// Computes a metric's record in the requested compatibility mode, with the other mode's score where it differs.
pub(super) fn record(
    metric: &str,
    mark: impl Fn(&CompatProbe) -> Result<Score, MetricError>,
    compat: Compat,
) -> CheckRecord {
    let reading = CompatProbe::new(compat);
    let (score, explanation) = match mark(&reading) {
        Ok(mark) => (Some(mark.score), mark.explanation),
        Err(fault) => (None, fault.message().to_owned()),
    };
    let other = match reading.other() {
        Some(other) => mark(&other).map(|mark| mark.score).ok(),
        None => score,
    };
    let differs = score != other;
    let explanation = truncated(explanation);
    CheckRecord { metric: metric.into(), score, explanation, other_reading: other.filter(|_| differs) }
}

/// Truncates an explanation. Names and lists in evidence can be as long as whole files.
fn truncated(explanation: String) -> String {
    match explanation.char_indices().nth(MAX_EXPLANATION) {
        Some((end, _)) => format!("{}…", &explanation[..end]),
        None => explanation,
    }
}

/// Combines the metrics in order and stops where upstream stops, so that a metric after a short circuit cannot make
/// the attempt void.
fn combined(checks: &[CheckRecord], conj: Conjunction) -> Judged {
    let decides = |score: f64| match conj {
        Conjunction::And => score == 0.0,
        Conjunction::Or => is_full(score),
        Conjunction::Mean => false,
    };
    let mut scores = Vec::new();
    for check in checks {
        let Some(score) = check.score else {
            let explanation = format!("metric {} failed: {}", check.metric, check.explanation);
            return Judged { verdict: Verdict::Void, score: 0.0, explanation, checks: checks.to_vec() };
        };
        scores.push(score);
        if decides(score) {
            return verdict(score, check.explanation.clone(), checks.to_vec());
        }
    }
    let score = match conj {
        Conjunction::And | Conjunction::Mean if scores.is_empty() => 0.0,
        Conjunction::And | Conjunction::Mean => {
            scores.iter().sum::<f64>() / f64::from(u32::try_from(scores.len()).unwrap_or(u32::MAX))
        }
        Conjunction::Or => scores.iter().copied().fold(0.0, f64::max),
    };
    // Of many checks, only those that fail are told.
    let told = |check: &&CheckRecord| {
        conj != Conjunction::Mean || is_full(score) || !check.score.is_some_and(is_full)
    };
    let messages: Vec<&str> = checks.iter().filter(told).map(|check| check.explanation.as_str()).collect();
    verdict(score, messages.join("; "), checks.to_vec())
}

/// Returns whether a score is a pass: 1.0, less the rounding error of a floating-point sum.
fn is_full(score: f64) -> bool {
    score >= 1.0 - 1e-9
}

fn verdict(score: f64, explanation: String, checks: Vec<CheckRecord>) -> Judged {
    let verdict = if is_full(score) { Verdict::Pass } else { Verdict::Fail };
    Judged { verdict, score: score.clamp(0.0, 1.0), explanation, checks }
}

#[cfg(test)]
mod tests {
    use apprentice_metrics::{Compat, EVIDENCE_SCHEMA, Evidence, EvidenceItem, EvidenceValue};
    use apprentice_protocol::Verdict;
    use apprentice_trace::Redactor;
    use serde_json::{Value, json};

    use super::{AttemptEnding, judge, judge_with_compat};
    use crate::check::list_shape::is_empty_spec;
    use crate::task::{CheckSpec, OneOrMany};

    /// Randomly generated checks of several metrics that pass, fail, score partially or raise, with lists that are
    /// complete, short, long, empty or missing. Each has the score of OSWorld's own evaluator, or `null` if that
    /// gives none.
    const CASES: &str = include_str!("combined.jsonl");

    #[test]
    fn giving_up_fails_whatever_was_found_unless_the_check_reads_it() {
        let spec = |func: &str| -> CheckSpec {
            serde_json::from_value(json!({
                "func": func, "result": { "type": "rule", "rules": "" }, "expected": { "type": "rule", "rules": "" },
            }))
            .expect("a check")
        };
        for (func, may_pass) in
            [("exact_match", false), ("infeasible", true), ("webarena_string_match", true)]
        {
            assert_eq!(spec(func).may_accept_giving_up(), may_pass, "{func}");
        }
        let evidence = Evidence {
            schema: EVIDENCE_SCHEMA.into(),
            results: vec![piece(json!("as wanted"))],
            expected: vec![Some(piece(json!({ "expected": "as wanted" })))],
            readings: Vec::new(),
            judgements: Vec::new(),
        };
        let graded = |ending| judge(&spec("exact_match"), &evidence, &ending).verdict;
        assert_eq!(graded(AttemptEnding::Ended), Verdict::Pass);
        assert_eq!(graded(AttemptEnding::GaveUp), Verdict::Fail);
    }

    #[test]
    fn an_answer_keeps_no_known_secret() {
        let redactor = Redactor::new(["sk-abcdefgh12345678"]).expect("builds");
        let ending = AttemptEnding::Answered("the key is sk-abcdefgh12345678, not 42".into());
        let AttemptEnding::Answered(text) = ending.redacted(&redactor) else { panic!("still an answer") };
        assert!(text.starts_with("the key is ") && text.ends_with(", not 42"), "{text}");
        assert!(!text.contains("abcdefgh"), "{text}");
    }

    fn piece(value: Value) -> EvidenceItem {
        EvidenceItem {
            getter: "rule".into(),
            command: None,
            code: None,
            errors: None,
            took_ms: 0,
            found: EvidenceValue::Value { value },
        }
    }

    /// Judges numbers against 1, one metric per number.
    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(func: Value, conj: &str, values: &[i32], ending: &AttemptEnding, expected: (Verdict, f64)) {
        let spec: CheckSpec = serde_json::from_value(json!({"func": func, "conj": conj})).expect("reads");
        let evidence = Evidence {
            schema: EVIDENCE_SCHEMA.into(),
            results: values.iter().map(|value| piece(json!(value))).collect(),
            expected: values.iter().map(|_| Some(piece(json!({"expected": 1})))).collect(),
            readings: Vec::new(),
            judgements: Vec::new(),
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
        let ended = &AttemptEnding::Ended;
        let three = json!(["exact_match", "exact_match", "exact_match"]);
        check(json!("exact_match"), "and", &[1], ended, (Verdict::Pass, 1.0));
        check(json!("exact_match"), "or", &[0], ended, (Verdict::Fail, 0.0));
        check(three.clone(), "and", &[1, 1, 1], ended, (Verdict::Pass, 1.0));
        check(three.clone(), "and", &[1, 0, 1], ended, (Verdict::Fail, 0.0));
        check(three.clone(), "or", &[0, 0, 1], ended, (Verdict::Pass, 1.0));
        check(three.clone(), "or", &[0, 0, 0], ended, (Verdict::Fail, 0.0));
        // Ours: the share of the metrics that pass, where none decides alone.
        check(three.clone(), "mean", &[1, 1, 1], ended, (Verdict::Pass, 1.0));
        check(three.clone(), "mean", &[0, 1, 0], ended, (Verdict::Fail, 1.0 / 3.0));
        check(three, "mean", &[0, 0, 0], ended, (Verdict::Fail, 0.0));
        check(json!(["exact_match", "no_such"]), "mean", &[0, 1], ended, (Verdict::Void, 0.0));
    }

    #[test]
    fn an_unknown_metric_is_void_unless_a_short_circuit_stands_before_it() {
        let ended = &AttemptEnding::Ended;
        check(json!("no_such"), "and", &[1], ended, (Verdict::Void, 0.0));
        check(json!(["exact_match", "no_such"]), "and", &[1, 1], ended, (Verdict::Void, 0.0));
        check(json!(["exact_match", "no_such"]), "and", &[0, 1], ended, (Verdict::Fail, 0.0));
        check(json!(["exact_match", "no_such"]), "or", &[1, 1], ended, (Verdict::Pass, 1.0));
    }

    #[test]
    fn giving_up_is_right_for_infeasible_tasks_alone() {
        check(json!("infeasible"), "and", &[], &AttemptEnding::GaveUp, (Verdict::Pass, 1.0));
        check(json!("infeasible"), "and", &[], &AttemptEnding::Ended, (Verdict::Fail, 0.0));
        check(json!("exact_match"), "and", &[1], &AttemptEnding::GaveUp, (Verdict::Fail, 0.0));
        check(json!("no_such"), "and", &[1], &AttemptEnding::GaveUp, (Verdict::Fail, 0.0));
    }

    /// The evidence of a getter that carries its own value.
    fn found(getter: &Value) -> EvidenceItem {
        let value = if getter["type"] == "rule" { &getter["rules"] } else { &getter["value"] };
        let mut piece = piece(value.clone());
        if value.is_null() {
            piece.found = EvidenceValue::Absent { why: "nothing".into() };
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
                expected: expected.map(|getter| (!is_empty_spec(getter)).then(|| found(getter))).collect(),
                readings: Vec::new(),
                judgements: Vec::new(),
            };
            let ending = if case["gave_up"] == true { AttemptEnding::GaveUp } else { AttemptEnding::Ended };
            let judged = judge_with_compat(&spec, &evidence, &ending, Compat::Exact);
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
