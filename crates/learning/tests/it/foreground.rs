//! Signals at the end of a turn, the gate for background reviews, the material of a review, and receipts.

use std::time::Duration;

use apprentice_learning::foreground::{
    AcceptedSignal, Budgets, BundleBudget, Counters, CoveredEvents, FinalReport, Gate, Invocation, Language,
    Limits, Origin, Reason, Receipt, Ruling, SkillKind, SummarizedEvent, Trigger, bundle, expand, gate,
    judge, receipt,
};
use jiff::Timestamp;
use serde_json::{Value, json};

fn learning(name: &str, refs: &[&str]) -> Value {
    json!({"kind": "create_candidate", "package_name_hint": name, "trigger": "recovered_surprise",
           "reason_not_written": "conversation_still_evolving", "event_refs": refs, "summary": "How to export."})
}

fn issue(name: &str, refs: &[&str]) -> Value {
    json!({"kind": "update_candidate", "skill_name": name, "issue": "missing_step",
           "reason_not_patched": "needs_full_context_review", "observed_effect": "manual_override",
           "event_refs": refs, "patch_hint": "Add the second step."})
}

fn turn() -> Invocation {
    Invocation {
        timeline: (1..=9).map(|number| format!("e{number}")).collect(),
        requests: vec!["e9".into()],
        skills: [("rl-export".into(), SkillKind::Open), ("right-learn-skill".into(), SkillKind::Core)].into(),
        ..Invocation::default()
    }
}

fn ruled(report: &Value, turn: &Invocation) -> &'static str {
    let report: FinalReport = serde_json::from_value(report.clone()).expect("a report");
    match judge(&report, turn) {
        Ruling::Silent => "silent",
        Ruling::AcceptedSignal(AcceptedSignal::Create(_)) => "create",
        Ruling::AcceptedSignal(AcceptedSignal::Update(_)) => "update",
        Ruling::Rejected { code, why } => {
            assert!(!why.is_empty());
            code
        }
    }
}

#[test]
pub(crate) fn a_signal_counts_only_if_everything_holds() {
    let check = |learning: Value, issue: Value, expected: &str| {
        let report = json!({"learning_signal": learning, "skill_issue_signal": issue});
        assert_eq!(ruled(&report, &turn()), expected, "{report}");
    };
    check(Value::Null, Value::Null, "silent");
    check(learning("rl-export", &["e1", "e2"]), Value::Null, "create");
    check(Value::Null, issue("rl-export", &["e1", "e2"]), "update");
    check(learning("rl-export", &["e1", "e2"]), issue("rl-export", &["e1", "e2"]), "both_signals");
    check(learning("rl-export", &["e1"]), Value::Null, "too_few_events");
    check(learning("rl-export", &["e1", "e1"]), Value::Null, "too_few_events");
    check(learning("rl-export", &["e9"]), Value::Null, "too_few_events");
    let mut asked = learning("rl-export", &["e9"]);
    asked["trigger"] = json!("explicit_user_request");
    check(asked.clone(), Value::Null, "create");
    asked["event_refs"] = json!(["e1"]);
    check(asked, Value::Null, "too_few_events");
    check(learning("rl-export", &["e1", "e77"]), Value::Null, "unknown_event");
    check(learning("export", &["e1", "e2"]), Value::Null, "wrong_prefix");
    check(learning("rl-Export It", &["e1", "e2"]), Value::Null, "wrong_prefix");
    check(Value::Null, issue("right-learn-skill", &["e1", "e2"]), "core_skill");
    check(Value::Null, issue("rl-unknown", &["e1", "e2"]), "unknown_skill");
    let mut silent = learning("rl-export", &["e1", "e2"]);
    silent["summary"] = json!(" ");
    check(silent, Value::Null, "empty_text");
    let finished = Invocation { finished: true, ..turn() };
    let report = json!({"learning_signal": learning("rl-export", &["e1", "e2"])});
    assert_eq!(ruled(&report, &finished), "finish_recorded");
    assert_eq!(ruled(&report, &Invocation { one_off: true, ..turn() }), "one_off");
}

#[test]
fn codes_outside_the_lists_are_no_report() {
    for (pointer, wrong) in
        [("trigger", "because"), ("reason_not_written", "tired"), ("kind", "update_candidate")]
    {
        let mut signal = learning("rl-export", &["e1", "e2"]);
        signal[pointer] = json!(wrong);
        let read = serde_json::from_value::<FinalReport>(json!({"learning_signal": signal}));
        assert!(read.is_err(), "{pointer}");
    }
    assert!(serde_json::from_value::<FinalReport>(json!({"skill_receipt": []})).is_err());
    assert_eq!(serde_json::from_value::<FinalReport>(json!({})).expect("reads"), FinalReport::default());
}

#[test]
fn a_review_needs_a_reason_and_room() {
    let now: Timestamp = "2026-01-02T12:00:00Z".parse().expect("a time");
    let limits = Limits { interval: Duration::from_secs(600), ..Limits::default() };
    let check = |counters: Counters, budgets: Budgets, expected: Gate| {
        assert_eq!(gate(&counters, &limits, &budgets, now), expected, "{counters:?} {budgets:?}");
    };
    let hint = Counters { skill_issue_hints_since_review: 1, ..Counters::default() };
    check(Counters::default(), Budgets::default(), Gate::NotDue);
    check(hint, Budgets::default(), Gate::Run(Trigger::IssueHint, Origin::Reported));
    let skipped = Counters { skipped_foreground: 1, ..Counters::default() };
    check(skipped, Budgets::default(), Gate::Run(Trigger::SkippedForeground, Origin::Reported));
    let busy = Counters { tool_iters_since_review: limits.tool_iters, ..Counters::default() };
    check(busy, Budgets::default(), Gate::Run(Trigger::Threshold, Origin::Nudge));
    check(
        Counters { turns_since_review: limits.turns - 1, ..Counters::default() },
        Budgets::default(),
        Gate::NotDue,
    );
    let held = |budgets: Budgets| match gate(&hint, &limits, &budgets, now) {
        Gate::HeldBack(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(held(Budgets { running: true, ..Budgets::default() }), "a review is running");
    assert_eq!(held(Budgets { reviewing: true, ..Budgets::default() }), "a review does not review itself");
    assert!(held(Budgets { reviews_today: 12, ..Budgets::default() }).contains("used up"));
    assert!(held(Budgets { spent_today_usd: 1.9, ..Budgets::default() }).contains("money"));
    let at = |text: &str| Counters { last_review_at: Some(text.parse().expect("a time")), ..hint };
    check(
        at("2026-01-02T11:51:00Z"),
        Budgets::default(),
        Gate::HeldBack("the last review was a short while ago"),
    );
    check(at("2026-01-02T11:50:00Z"), Budgets::default(), Gate::Run(Trigger::IssueHint, Origin::Reported));
}

fn session() -> Vec<SummarizedEvent> {
    let reason = |number: u32| match number {
        1 => Reason::UserInput,
        12 | 30 => Reason::Error,
        31 => Reason::Retry,
        50 => Reason::FinalAnswer,
        _ => Reason::Ordinary,
    };
    let event = |number: u32| SummarizedEvent {
        id: format!("e{number}"),
        kind: if number.is_multiple_of(2) { "tool.called".into() } else { "model.replied".into() },
        tool: None,
        reason: reason(number),
        detail: format!("event {number} {}", "x".repeat(50)),
    };
    (1..=50).map(event).collect()
}

#[test]
fn a_bundle_holds_what_matters_and_counts_the_rest() {
    let time = Timestamp::UNIX_EPOCH;
    let scope = CoveredEvents {
        kind: "invocation".into(),
        session_id: "s".into(),
        invocation_id: "i".into(),
        started_at: time,
        finished_at: time,
    };
    let named = ["e20".to_owned()];
    let events = session();
    let small = BundleBudget { events: 3, event_chars: 20, ..BundleBudget::default() };
    let made = bundle(scope.clone(), Some((json!({"kind": "create_candidate"}), &named)), &events, &small);
    let included: Vec<(&str, Reason)> =
        made.included_events.iter().map(|event| (event.id.as_str(), event.reason)).collect();
    assert_eq!(included, [("e1", Reason::UserInput), ("e20", Reason::Signal), ("e50", Reason::FinalAnswer)]);
    assert!(made.included_events.iter().all(|event| event.detail.chars().count() <= 20));
    assert_eq!(made.omitted_spans[0].range, ["e2", "e19"]);
    assert_eq!(made.omitted_spans[0].summary, "9 model.replied, 9 tool.called");
    assert_eq!(made.timeline_index.len(), 50);
    assert!(
        expand(&events, "e30").is_some_and(|detail| detail.len() > 20) && expand(&events, "e99").is_none()
    );
    let many = ["e10", "e20", "e30", "e40"].map(str::to_owned);
    let forced = bundle(scope.clone(), Some((json!({}), &many)), &events, &small);
    let signalled = forced.included_events.iter().filter(|event| event.reason == Reason::Signal).count();
    assert_eq!(signalled, 4, "what a signal refers to is shown beyond the number of events");
    let all = bundle(scope.clone(), None, &events, &BundleBudget::default());
    assert_eq!((all.included_events.len(), all.omitted_spans.len()), (50, 0), "what fits is shown whole");
    let late = ["e49".to_owned()];
    let short = BundleBudget { index: 4, events: 5, ..BundleBudget::default() };
    let made = bundle(scope.clone(), Some((json!({}), &late)), &events, &short);
    assert!(made.timeline_index.iter().any(|event| event.id == "e49"), "what is shown is also named");
    let whole = bundle(scope, None, &events, &BundleBudget { events: 49, ..BundleBudget::default() });
    assert_eq!(whole.included_events.len(), 5, "every error and retry is there");
    let shown = whole.included_events.len()
        + whole
            .omitted_spans
            .iter()
            .map(|span| {
                let number = |id: &str| id[1..].parse::<usize>().expect("a number");
                number(&span.range[1]) - number(&span.range[0]) + 1
            })
            .sum::<usize>();
    assert_eq!(shown, 50, "nothing is lost without a word");
}

#[test]
fn receipts_speak_two_languages() {
    assert_eq!(
        receipt(Language::of_tag("de-AT"), Receipt::Learned, "rl-export"),
        "Fertigkeit gelernt: rl-export"
    );
    assert_eq!(receipt(Language::of_tag("fr"), Receipt::Updated, "rl-export"), "Updated skill: rl-export");
}
