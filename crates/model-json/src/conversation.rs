//! Continues a conversation with a model whose last message may hold calls.

use apprentice_protocol::{CallResult, ChatRequest, Content, Message};

/// Appends a user message to a conversation. Answers open calls first.
pub fn append_user_message(request: &mut ChatRequest, words: Content, unanswered: &str) {
    let open: Vec<CallResult> = match request.messages.last() {
        Some(Message::Assistant { calls, .. }) => calls
            .iter()
            .map(|call| CallResult {
                id: call.id.clone(),
                per_action: Vec::new(),
                content: vec![Content::text(unanswered)],
                is_error: true,
            })
            .collect(),
        Some(Message::User { .. } | Message::Results { .. }) | None => Vec::new(),
    };
    match request.messages.last_mut() {
        _ if !open.is_empty() => {
            request.messages.push(Message::Results { results: open, notices: vec![words] });
        }
        // Merges the words into one user turn instead of sending two in a row.
        Some(Message::Results { notices, .. }) => notices.push(words),
        Some(Message::User { content }) => content.push(words),
        Some(Message::Assistant { .. }) | None => {
            request.messages.push(Message::User { content: vec![words] });
        }
    }
}
