//! What a model sent is sent back byte for byte, whatever stands in it and however its server spells JSON.

use apprentice_protocol::{
    ActionOutcome, CallResult, ChatRequest, Content, Message, Size, ToolSpec, WorldTool,
};
use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use super::adapters::{ALL, Adapter};
use super::transport;
use crate::server::{Server, Speak};

/// How a server spells JSON.
#[derive(Clone, Copy, Debug)]
struct Style {
    space: &'static str,
    escaped: bool,
}

impl Style {
    fn spell(self, value: &Value) -> String {
        let Self { space, .. } = self;
        match value {
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| format!("{}{space}:{space}{}", self.text(key), self.spell(value)));
                format!("{{{space}{}{space}}}", fields.collect::<Vec<_>>().join(&format!("{space},{space}")))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.spell(item)).collect::<Vec<_>>();
                format!("[{space}{}{space}]", items.join(&format!(",{space}")))
            }
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        }
    }

    fn text(self, text: &str) -> String {
        let plain = Value::from(text).to_string();
        if !self.escaped {
            return plain;
        }
        let units =
            |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        plain.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect()
    }
}

/// The parts of a reply that have to come back, in a provider's words, with a field that nobody knows in each.
fn parts(adapter: Adapter, words: &str) -> Vec<Value> {
    let finish = "{\"finish\": \"done\"}";
    match adapter {
        Adapter::Anthropic => vec![
            json!({ "type": "thinking", "thinking": words, "signature": "c2ln", "later": words }),
            json!({ "type": "text", "text": format!("I see {words}"), "later": [1.50, null] }),
            json!({ "type": "tool_use", "id": "t1", "name": "finish", "input": { "finish": "done", "text": words } }),
        ],
        Adapter::OpenAi => vec![
            json!({ "type": "reasoning", "id": "r1", "summary": [], "encrypted_content": words, "later": 1e3 }),
            json!({ "type": "function_call", "id": "f1", "call_id": "c1", "name": "finish", "arguments": finish,
                "status": "completed", "later": words }),
        ],
        Adapter::Gemini => vec![
            json!({ "type": "thought", "signature": words, "later": words }),
            json!({ "type": "function_call", "id": "f1", "name": "finish", "arguments": { "finish": "done" },
                "later": words }),
        ],
        Adapter::Compat => vec![
            json!(format!("I see {words}")),
            json!({ "id": "c1", "type": "function", "later": words,
                "function": { "name": "finish", "arguments": finish } }),
        ],
    }
}

fn body(adapter: Adapter, parts: &[String]) -> String {
    let list = parts.join(",");
    match adapter {
        Adapter::Anthropic => format!(r#"{{"content":[{list}],"stop_reason":"tool_use","usage":{{}}}}"#),
        Adapter::OpenAi => format!(r#"{{"status":"completed","output":[{list}],"usage":{{}}}}"#),
        Adapter::Gemini => format!(r#"{{"status":"requires_action","steps":[{list}],"usage":{{}}}}"#),
        Adapter::Compat => {
            let message = format!(r#"{{"content":{},"tool_calls":[{}]}}"#, parts[0], parts[1]);
            format!(r#"{{"choices":[{{"message":{message},"finish_reason":"tool_calls"}}]}}"#)
        }
    }
}

async fn check(adapter: Adapter, words: &str, style: Style) {
    let parts: Vec<String> = parts(adapter, words).iter().map(|part| style.spell(part)).collect();
    let answer = body(adapter, &parts);
    let server = Server::start(move |_, _| Speak::ok(&answer)).await;
    let model = adapter.model(&server.base, transport(), None);
    let finish = ToolSpec { name: "finish".into(), description: "Ends.".into(), schema: json!({}) };
    let mut request = ChatRequest {
        messages: vec![Message::User { content: vec![Content::text("Go.")] }],
        tools: vec![finish],
        world: Some(WorldTool { browser: false, display: Size::new(640, 400) }),
        max_output_tokens: 99,
        ..ChatRequest::default()
    };
    let reply = model.reply(&request).await.expect("answers");
    let results = reply.calls.iter().map(|call| CallResult {
        id: call.id.clone(),
        per_action: vec![ActionOutcome::Done { text: None }],
        content: vec![Content::text("Noted.")],
        is_error: false,
    });
    let results = results.collect();
    request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
    request.messages.push(Message::Results { results, notices: Vec::new() });
    model.reply(&request).await.expect("answers");
    let sent = server.heard().pop().expect("a request").body;
    for part in &parts {
        let stands = sent.windows(part.len()).any(|bytes| bytes == part.as_bytes());
        assert!(stands, "{adapter:?}: {part} is not in {}", String::from_utf8_lossy(&sent));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_a_model_sent_is_sent_back_byte_for_byte(
        words in "[\\PC\n\t\"\\\\]{0,30}",
        spaced in any::<bool>(),
        escaped in any::<bool>(),
    ) {
        let style = Style { space: if spaced { " " } else { "" }, escaped };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            for adapter in ALL {
                check(adapter, &words, style).await;
            }
        });
    }
}
