//! Tells a model the turns that another model took. A provider accepts only its own blocks as a turn of its model, so
//! the turns before the fork become parts of the first user message.

use apprentice_protocol::{ActionOutcome, Call, CallResult, ChatRequest, Content, Message, Prompt};

pub(crate) const TURN: Prompt = Prompt::new("fork/turn", include_str!("prompts/turn.md"), &["said", "calls"]);

/// Returns the request with its first `turns` turns and their results told in the first user message.
pub(super) fn with_turns_as_text(request: &ChatRequest, turns: usize) -> ChatRequest {
    let (mut told, mut rest) = (Vec::new(), Vec::new());
    let mut passed = 0;
    for message in &request.messages {
        passed += usize::from(matches!(message, Message::Assistant { .. }));
        if passed > turns {
            rest.push(message.clone());
            continue;
        }
        match message {
            Message::User { content } => told.extend(content.iter().cloned()),
            Message::Assistant { say, calls, .. } => told.push(turn(say, calls)),
            Message::Results { results, notices } => {
                told.extend(results.iter().flat_map(result).chain(notices.iter().cloned()));
            }
        }
    }
    let messages = std::iter::once(Message::User { content: told }).chain(rest).collect();
    ChatRequest { messages, ..request.clone() }
}

fn turn(say: &[String], calls: &[Call]) -> Content {
    let said: String = say.iter().map(|text| format!("You said: {}\n", text.trim())).collect();
    // A call body is plain data, so it is always JSON.
    let calls: Vec<String> = calls.iter().filter_map(|call| serde_json::to_string(&call.body).ok()).collect();
    let calls = if calls.is_empty() { String::new() } else { format!("You did: {}", calls.join("\n")) };
    Content::text(TURN.fill(&[("said", &said), ("calls", &calls)]))
}

/// What happened, then what was seen.
fn result(result: &CallResult) -> Vec<Content> {
    let problems = result.per_action.iter().filter_map(|outcome| match outcome {
        ActionOutcome::Done { text } => text.clone(),
        ActionOutcome::Failed { problem } => Some(format!("It failed: {problem}")),
        ActionOutcome::NotExecuted => Some("It was not tried.".to_owned()),
    });
    problems.map(Content::text).chain(result.content.iter().cloned()).collect()
}
