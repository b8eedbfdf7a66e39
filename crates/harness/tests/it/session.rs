//! Sessions of several turns: one world, one conversation, one trace; each turn with limits of its own.

use apprentice_protocol::{EventKind, Limits, Message, StopReason, VoidCause};
use serde_json::{Value, json};

use crate::bench::{Bench, Left, acts, done, editor, says};

fn kinds(left: &Left) -> Vec<String> {
    let shown = |kind: &EventKind| match kind {
        EventKind::TurnStarted(start) => Some(format!("started {} {}", start.turn, start.instruction)),
        EventKind::TurnEnded { turn, reason, void, .. } => Some(format!("ended {turn} {reason:?} {void:?}")),
        EventKind::Stopped { reason, void, .. } => Some(format!("stopped {reason:?} {void:?}")),
        _ => None,
    };
    left.trace.events.iter().filter_map(|event| shown(&event.kind)).collect()
}

/// Every call of the model is answered before the model is asked again, whatever ended a turn.
fn check_answered(left: &Left) {
    for request in &left.requests {
        for pair in request.messages.windows(2) {
            if let Message::Assistant { calls, .. } = &pair[0] {
                let answered = match &pair[1] {
                    Message::Results { results, .. } => results.len(),
                    Message::User { .. } | Message::Assistant { .. } => 0,
                };
                assert_eq!(answered, calls.len(), "{:?}", pair[1]);
            }
            let user = |message: &Message| !matches!(message, Message::Assistant { .. });
            assert!(!(user(&pair[0]) && user(&pair[1])), "two messages of the user in a row: {pair:?}");
        }
    }
}

fn click(id: &str) -> Value {
    json!([{ "do": "click", "at": { "ref": id } }])
}

#[tokio::test]
async fn turns_share_world_and_conversation_and_have_limits_of_their_own() {
    let replies =
        vec![acts(click("n2")), acts(click("n4")), done(), acts(click("n5")), says("It is in capitals.")];
    let bench = Bench {
        limits: Limits { world_steps: 3, ..Limits::default() },
        session: vec![("Open the menu.", false), ("No, convert it.", false)],
        ..Bench::new(editor(), replies)
    };
    let left = bench.run().await;
    assert_eq!(left.state().await["values"]["upper"], json!(true), "the menu was still open");
    assert_eq!(
        kinds(&left),
        [
            "started 1 Open the menu.",
            "ended 1 Some(Done) None",
            "started 2 No, convert it.",
            "ended 2 Some(Answered) None",
            "stopped Some(Answered) None"
        ]
    );
    let spent: Vec<(u32, u32)> =
        left.reports.iter().map(|turn| (turn.spent.world_steps, turn.spent.turns)).collect();
    assert_eq!(spent, [(2, 3), (1, 2)]);
    assert_eq!((left.ended.spent.world_steps, left.ended.spent.turns), (3, 5));
    check_answered(&left);
    let last = left.requests.last().expect("a request");
    let text = serde_json::to_string(last).expect("writes");
    assert_eq!(text.matches("<task>").count(), 2, "both instructions stand in one conversation");
}

#[tokio::test]
async fn a_turn_at_its_limit_does_not_shorten_the_next() {
    let replies = vec![acts(click("n2")), acts(click("n2")), acts(click("n2")), done()];
    let bench = Bench {
        limits: Limits { world_steps: 1, repeats: 9, ..Limits::default() },
        session: vec![("Open it.", false), ("Go on.", false)],
        ..Bench::new(editor(), replies)
    };
    let left = bench.run().await;
    let stops: Vec<_> = left.reports.iter().map(|turn| turn.stop).collect();
    assert_eq!(stops, [Ok(StopReason::StepLimit), Ok(StopReason::StepLimit)]);
    let steps: Vec<u32> = left.reports.iter().map(|turn| turn.spent.world_steps).collect();
    assert_eq!(steps, [1, 1]);
    check_answered(&left);
}

#[tokio::test]
async fn a_loop_or_an_interrupt_ends_a_turn_and_leaves_no_call_unanswered() {
    let same = || acts(click("n7"));
    let replies = vec![same(), same(), same(), done()];
    let bench = Bench {
        limits: Limits { repeats: 2, ..Limits::default() },
        session: vec![("Interrupted.", true), ("Click the note.", false), ("Stop that.", false)],
        ..Bench::new(editor(), replies)
    };
    let left = bench.run().await;
    assert_eq!(left.reports[0].stop, Err(VoidCause::Interrupted));
    assert!(left.reports[0].may_go_on());
    assert_eq!(left.reports[1].stop, Ok(StopReason::Loop));
    assert_eq!(kinds(&left).iter().filter(|kind| kind.starts_with("stopped")).count(), 1);
    check_answered(&left);
    let first = serde_json::to_string(&left.requests[0]).expect("writes");
    assert!(first.contains("Click the note.") && !first.contains("Interrupted."), "{first}");
}
