//! What an agent tells of its turn: its words and thoughts, and all of it in order for the trace.

use serde_json::{Value, json};

/// The most updates that are kept of one turn, and their bytes. An agent that says more is still heard.
const MAX_UPDATES: usize = 2_000;
const MAX_UPDATES_BYTES: usize = 4 << 20;
/// The most text that is kept of one turn, in bytes.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// The updates since the last reply.
#[derive(Debug, Default)]
pub(super) struct Updates {
    blocks: Vec<String>,
    bytes: usize,
    left_out: u64,
    said: String,
    thought: String,
}

impl Updates {
    /// Takes an update in.
    pub(super) fn take(&mut self, update: &Value) {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => append(&mut self.said, text),
            Some("agent_thought_chunk") => append(&mut self.thought, text),
            _ => {}
        }
        let block = update.to_string();
        if self.blocks.len() >= MAX_UPDATES || self.bytes + block.len() > MAX_UPDATES_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += block.len();
        self.blocks.push(block);
    }

    /// Returns the updates as blocks, what was said and what was thought, and begins anew.
    pub(super) fn finish(&mut self) -> (Vec<String>, Vec<String>, Vec<String>) {
        let Self { mut blocks, left_out, said, thought, .. } = std::mem::take(self);
        if left_out > 0 {
            blocks.push(json!({ "updates_left_out": left_out }).to_string());
        }
        let text = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        (blocks, text(said).into_iter().collect(), text(thought).into_iter().collect())
    }
}

fn append(text: &mut String, more: &str) {
    if text.len() + more.len() <= MAX_TEXT_BYTES {
        text.push_str(more);
    }
}
