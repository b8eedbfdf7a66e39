//! However an attempt ends, its trace says so exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_models::scripted::ScriptedReply;
use apprentice_protocol::{
    ActionOutcome, BoxFuture, EventKind, Limits, ModelError, ModelErrorKind, ReplyStop, StepRef, StopReason,
    Timing, Tool, ToolOutcome, ToolSpec, Usage, VoidCause,
};
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use proptest::test_runner::Config;
use serde_json::{Value, json};

use crate::bench::{Bench, Left, acts, call, done, editor, reply, says};

type Stop = Result<StopReason, VoidCause>;

/// The laws that hold for every attempt.
fn check_laws(left: &Left) {
    let stops: Vec<_> = left
        .trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Stopped { reason, void, .. } => Some((*reason, *void)),
            _ => None,
        })
        .collect();
    assert_eq!(stops, [(left.ended.stop.ok(), left.ended.stop.err())], "exactly one stopped event");
    let last = left.trace.events.last().expect("an event");
    assert!(matches!(last.kind, EventKind::Stopped { .. }), "nothing follows it");
    let mut calls = BTreeMap::new();
    for event in &left.trace.events {
        match &event.kind {
            EventKind::ModelReplied { calls: made, .. } => {
                made.iter().for_each(|call| _ = calls.insert(call.id.as_str().to_owned(), 0));
            }
            EventKind::CallAnswered(result) => *calls.get_mut(result.id.as_str()).expect("a call") += 1,
            _ => {}
        }
    }
    let judged = left.ended.stop.is_ok_and(|stop| !matches!(stop, StopReason::Loop | StopReason::Refused));
    let expected = |count: &i32| *count == 1 || (*count == 0 && !judged);
    assert!(calls.values().all(expected), "every call is answered once: {calls:?}");
}

async fn check(bench: Bench, expected: Stop) -> Left {
    let left = bench.run().await;
    check_laws(&left);
    assert_eq!(left.ended.stop, expected, "{}", left.ended.detail);
    left
}

fn with_limits(replies: Vec<ScriptedReply>, limits: Limits) -> Bench {
    let mut bench = Bench::new(editor(), replies);
    bench.limits = limits;
    bench
}

fn tabs(count: usize) -> Vec<ScriptedReply> {
    // The focus walks over two controls, so no two turns in a row see the same screen.
    std::iter::repeat_n(acts(json!([{ "do": "key", "chord": "tab" }])), count).collect()
}

#[tokio::test]
async fn a_model_ends_by_its_own_word() {
    let finish = |arguments| vec![reply(vec![call("finish", arguments)])];
    check(Bench::new(editor(), finish(json!({ "finish": "done" }))), Ok(StopReason::Done)).await;
    let gave_up = finish(json!({ "finish": "give_up", "reason": "no such menu" }));
    check(Bench::new(editor(), gave_up), Ok(StopReason::GaveUp)).await;
    let answer = finish(json!({ "finish": "answer", "text": "abc" }));
    check(Bench::new(editor(), answer), Ok(StopReason::Answered)).await;
    check(Bench::new(editor(), vec![says("abc")]), Ok(StopReason::Answered)).await;
}

#[tokio::test]
async fn caps_end_it_before_the_next_turn_and_between_actions() {
    let limits = Limits { world_steps: 3, ..Limits::default() };
    let left = check(with_limits(tabs(9), limits), Ok(StopReason::StepLimit)).await;
    assert_eq!((left.ended.spent.world_steps, left.ended.spent.turns), (3, 3));
    let batch = json!([
        { "do": "key", "chord": "tab" }, { "do": "key", "chord": "tab" },
        { "do": "key", "chord": "tab" }, { "do": "key", "chord": "tab" }
    ]);
    let left = check(with_limits(vec![acts(batch)], limits), Ok(StopReason::StepLimit)).await;
    let outcomes: Vec<_> = left
        .trace
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Action(record) => Some(record.outcome.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes[2..], [ActionOutcome::Done { text: None }, ActionOutcome::NotExecuted]);
    let turns = Limits { turns: 2, ..Limits::default() };
    check(with_limits(tabs(9), turns), Ok(StopReason::StepLimit)).await;
    let costly = ScriptedReply {
        usage: Usage { input: 600, output: 100, cached: 0 },
        cost_usd: Some(0.02),
        ..tabs(1).remove(0)
    };
    let tokens = Limits { tokens: Some(1000), ..Limits::default() };
    let left = check(with_limits(vec![costly.clone(); 9], tokens), Ok(StopReason::TokenLimit)).await;
    assert_eq!(left.ended.spent.turns, 2);
    let money = Limits { cost_usd: Some(0.05), ..Limits::default() };
    let left = check(with_limits(vec![costly; 9], money), Ok(StopReason::TrialCostLimit)).await;
    assert_eq!(left.ended.spent.turns, 3);
}

#[tokio::test]
async fn working_time_excludes_waiting_for_the_provider() {
    let wait = json!([{ "do": "wait", "ms": 4000 }]);
    let limits = Limits { working_s: 10, ..Limits::default() };
    let left = check(with_limits(vec![acts(wait); 9], limits), Ok(StopReason::WorkingTimeLimit)).await;
    assert_eq!((left.ended.spent.turns, left.ended.spent.working_ms), (3, 10_000));
    let timing = Timing { working_ms: 0, waiting_ms: 3000 };
    let slow = |ms: u32| ScriptedReply { timing, ..acts(json!([{ "do": "wait", "ms": ms }])) };
    let replies = (0..4).map(|_| slow(3000)).chain([done()]).collect();
    let left = check(with_limits(replies, limits), Ok(StopReason::Done)).await;
    assert_eq!(left.ended.spent.working_ms, 0);
    // Nor does the time in which the model answers.
    let timing = Timing { working_ms: 3000, waiting_ms: 0 };
    let slow = |ms: u32| ScriptedReply { timing, ..acts(json!([{ "do": "wait", "ms": ms }])) };
    let replies = (0..4).map(|_| slow(3000)).chain([done()]).collect();
    let left = check(with_limits(replies, limits), Ok(StopReason::Done)).await;
    assert_eq!((left.ended.spent.working_ms, left.ended.spent.model_ms), (0, 12_000));
}

#[tokio::test]
async fn repeating_is_told_once_and_then_ends_it() {
    let replies = vec![acts(json!([{ "do": "key", "chord": "f5" }])); 9];
    let left = check(Bench::new(editor(), replies), Ok(StopReason::Loop)).await;
    assert_eq!(left.ended.spent.turns, 5);
    assert_eq!(left.ended.spent.world_steps, 4);
    let told = left.trace.events.iter().filter(|event| matches!(event.kind, EventKind::Notice { .. }));
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn replies_that_say_how_they_ended() {
    let stops = |stop| vec![ScriptedReply { stop: Some(stop), ..ScriptedReply::default() }; 4];
    let check_stop = async |stop, expected| {
        check(Bench::new(editor(), stops(stop)), Ok(expected)).await;
    };
    check_stop(ReplyStop::Refusal, StopReason::Refused).await;
    check_stop(ReplyStop::ContextFull, StopReason::ContextFull).await;
    check_stop(ReplyStop::SafetyDeclined, StopReason::SafetyCheckDeclined).await;
    check_stop(ReplyStop::MaxTokens, StopReason::InvalidOutput).await;
    check_stop(ReplyStop::EndTurn, StopReason::InvalidOutput).await;
    let cut = ScriptedReply { say: Some("I will".into()), stop: Some(ReplyStop::MaxTokens), ..done() };
    check(Bench::new(editor(), vec![cut]), Ok(StopReason::Done)).await;
}

#[tokio::test]
async fn a_failing_model_is_void_unless_the_fault_is_its_own() {
    let check_fault = async |fault, expected| {
        let mut bench = Bench::new(editor(), tabs(2));
        bench.script = bench.script.then_fail(ModelError::never(fault, "scripted fault"));
        let left = check(bench, expected).await;
        assert_eq!(left.ended.detail, "scripted fault");
    };
    check_fault(ModelErrorKind::Unavailable, Err(VoidCause::ModelUnavailable)).await;
    check_fault(ModelErrorKind::Protocol, Err(VoidCause::ModelProtocol)).await;
    check_fault(ModelErrorKind::Request, Err(VoidCause::Internal)).await;
    check_fault(ModelErrorKind::Refused, Err(VoidCause::RequestRefused)).await;
    check_fault(ModelErrorKind::Policy, Ok(StopReason::Refused)).await;
    check_fault(ModelErrorKind::Budget, Ok(StopReason::TrialCostLimit)).await;
    check_fault(ModelErrorKind::ContextFull, Ok(StopReason::ContextFull)).await;
}

fn faulty(fault: Value) -> Value {
    let mut scene = editor();
    scene["faults"] = Value::Array(vec![fault]);
    scene
}

#[tokio::test]
async fn a_failing_world_is_void_and_never_shown_to_the_model() {
    for (fault, cause) in [
        ("lost", VoidCause::WorldLost),
        ("input", VoidCause::InputLost),
        ("disk_full", VoidCause::DiskFull),
        ("missing_program", VoidCause::MissingProgram),
    ] {
        let act = faulty(json!({ "at": "act", "after": 1, "fault": fault }));
        let left = check(Bench::new(act, tabs(9)), Err(cause)).await;
        assert_eq!(left.requests.len(), 2, "the fault was not sent on");
        let observe = faulty(json!({ "at": "observe", "after": 1, "fault": fault }));
        let left = check(Bench::new(observe, tabs(9)), Err(cause)).await;
        assert_eq!(left.requests.len(), 1);
    }
}

#[tokio::test]
async fn cancelling_in_mid_batch_answers_the_rest_as_not_executed() {
    let scene = faulty(json!({ "at": "act", "after": 1 }));
    let three = json!([
        { "do": "key", "chord": "tab" }, { "do": "key", "chord": "tab" }, { "do": "key", "chord": "tab" }
    ]);
    let bench = Bench::new(scene, vec![acts(three)]);
    let cancel = bench.cancel.clone();
    let running = tokio::spawn(bench.run());
    // The attempt hangs in its second action; yielding gives it every chance to get there.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    let left = running.await.expect("runs");
    check_laws(&left);
    assert_eq!(left.ended.stop, Err(VoidCause::Interrupted));
    let answered = left.trace.events.iter().find_map(|event| match &event.kind {
        EventKind::CallAnswered(result) => Some(result.per_action.clone()),
        _ => None,
    });
    let answered = answered.expect("an answer");
    assert_eq!(answered[0], ActionOutcome::Done { text: None });
    assert!(matches!(answered[1], ActionOutcome::Failed { .. }));
    assert_eq!(answered[2], ActionOutcome::NotExecuted);
}

/// A tool with a bug.
struct Broken(ToolSpec);

impl Tool for Broken {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Value, _: StepRef) -> BoxFuture<'a, ToolOutcome> {
        panic!("a bug in a tool")
    }
}

#[tokio::test]
async fn a_panic_is_our_bug_and_still_recorded() {
    let mut bench = Bench::new(editor(), vec![reply(vec![call("broken", json!({}))])]);
    let spec = ToolSpec { name: "broken".into(), description: String::new(), schema: json!({}) };
    bench.tools = vec![Arc::new(Broken(spec))];
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Err(VoidCause::Internal));
    assert_eq!(left.ended.detail, "panic: a bug in a tool");
    let stopped = left.trace.events.iter().filter(|event| matches!(event.kind, EventKind::Stopped { .. }));
    assert_eq!(stopped.count(), 1);
}

fn any_reply() -> impl Strategy<Value = ScriptedReply> {
    let actions = prop_oneof![
        Just(json!({ "do": "key", "chord": "tab" })),
        Just(json!({ "do": "click", "at": { "ref": "n2" } })),
        Just(json!({ "do": "click", "at": { "ref": "n99" } })),
        Just(json!({ "do": "click", "at": { "point": { "x": -4, "y": 2 } } })),
        Just(json!({ "do": "wait", "ms": 90_000 })),
        Just(json!({ "do": "screenshot" })),
    ];
    let batch = proptest::collection::vec(actions, 0..4);
    let one_call = prop_oneof![
        4 => batch.prop_map(|actions| call("computer", json!({ "actions": actions }))),
        1 => Just(call("nothing", json!({}))),
        1 => Just(call("finish", json!({ "finish": "done" }))),
    ];
    let stop = prop_oneof![
        8 => Just(None),
        1 => Just(Some(ReplyStop::MaxTokens)),
        1 => Just(Some(ReplyStop::Refusal)),
    ];
    let calls = proptest::collection::vec(one_call, 0..3);
    (calls, proptest::option::of(Just("words".to_owned())), stop)
        .prop_map(|(calls, say, stop)| ScriptedReply { calls, say, stop, ..ScriptedReply::default() })
}

fn any_fault() -> impl Strategy<Value = Option<Value>> {
    let fault = (prop_oneof![Just("observe"), Just("act")], 0u32..5)
        .prop_map(|(at, after)| json!({ "at": at, "after": after, "fault": "lost" }));
    proptest::option::of(fault)
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]
    #[test]
    fn every_attempt_ends_once(
        replies in proptest::collection::vec(any_reply(), 0..8),
        fault in any_fault(),
        steps in 1u32..8,
        cancelled in proptest::bool::weighted(0.1),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let mut bench = Bench::new(fault.map_or_else(editor, faulty), replies);
        bench.limits = Limits { world_steps: steps, ..Limits::default() };
        if cancelled {
            bench.cancel.cancel();
        }
        check_laws(&runtime.block_on(bench.run()));
    }
}
