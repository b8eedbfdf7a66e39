//! A model adapter: Ollama's own chat API, for text alone.
//!
//! An adapter translates a request and a reply. It does not act, retry, wait or count money: the middleware around it
//! does. `crates/harness/tests/it/examples.rs` compiles this file and runs it against a server. ARCHITECTURE.md lists the
//! steps that turn it into a provider which users can name.

use apprentice_models::http::{HttpResponse, Transport};
use apprentice_protocol::{
    BoxFuture, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, Content, CoordinateSpace,
    HistoryRule, ImageRule, Message, ModelError, ModelErrorKind, ModelProfile, RawContent, ReplyStop, Timing,
    ToolRule, ToolSpec, Usage, ViewRule,
};
use serde_json::{Value, json};

/// A model behind an Ollama server.
#[derive(Debug)]
pub(crate) struct Ollama {
    /// Base URL of the server, without a slash at the end.
    base_url: String,
    /// The model's name on the server.
    model: String,
    profile: ModelProfile,
    transport: Transport,
}

impl Ollama {
    /// Creates a client of this server.
    pub(crate) fn new(base_url: &str, model: &str, transport: Transport) -> Self {
        let profile = ModelProfile {
            name: format!("ollama/{model}"),
            consumer: "small-text".to_owned(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::None,
            outline: true,
            views: ViewRule::Changes,
            history: HistoryRule::Window { images: 1, at_most: None, context: None },
            tools: ToolRule::MayChange,
            max_output_tokens: 1024,
        };
        Self { base_url: base_url.to_owned(), model: model.to_owned(), profile, transport }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let url = format!("{}/api/chat", self.base_url);
        let answer = self.transport.post(&url, &[], encode(&self.model, request).to_string().into()).await?;
        decode(&answer)
    }
}

impl ChatModel for Ollama {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// Translates a request. What the model itself said goes back as the server sent it.
fn encode(model: &str, request: &ChatRequest) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": request.system })];
    for message in &request.messages {
        match message {
            Message::User { content } => messages.push(json!({ "role": "user", "content": text(content) })),
            Message::Assistant { raw, .. } => {
                messages.extend(raw.blocks.iter().filter_map(|block| serde_json::from_str(block).ok()));
            }
            Message::Results { results, notices } => {
                for result in results {
                    messages.push(json!({ "role": "tool", "content": text(&result.content) }));
                }
                if !notices.is_empty() {
                    messages.push(json!({ "role": "user", "content": text(notices) }));
                }
            }
        }
    }
    let declare = |tool: &ToolSpec| {
        let function =
            json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
        json!({ "type": "function", "function": function })
    };
    json!({
        "model": model,
        "messages": messages,
        "tools": request.tools.iter().map(declare).collect::<Vec<_>>(),
        "options": { "num_predict": request.max_output_tokens, "seed": request.seed },
        "stream": false,
    })
}

fn text(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

/// Translates a reply. A call that cannot be read is passed on as such, so that the model learns of it; a reply without
/// a message is the server's fault.
fn decode(answer: &HttpResponse) -> Result<ChatReply, ModelError> {
    let protocol = |problem: &str| ModelError::never(ModelErrorKind::Protocol, problem);
    let body: Value = serde_json::from_slice(&answer.body).map_err(|_| protocol("the reply is not JSON"))?;
    let message = body.get("message").ok_or_else(|| protocol("the reply has no message"))?;
    let listed = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls: Vec<Call> = (1..).zip(listed).map(|(number, call)| read_call(number, call)).collect();
    let stop = match body["done_reason"].as_str() {
        Some("length") => ReplyStop::MaxTokens,
        _ if calls.is_empty() => ReplyStop::EndTurn,
        _ => ReplyStop::Calls,
    };
    let tokens = |name: &str| body[name].as_u64().unwrap_or_default();
    Ok(ChatReply {
        raw: RawContent { blocks: vec![message.to_string()] },
        say: message["content"]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .into_iter()
            .collect(),
        thoughts: Vec::new(),
        calls,
        stop,
        usage: Usage { input: tokens("prompt_eval_count"), output: tokens("eval_count"), cached: 0 },
        timing: Timing {
            working_ms: u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX),
            waiting_ms: 0,
        },
        cost_usd: None,
        estimated: false,
        adapted: Vec::new(),
        provider_model: body["model"].as_str().map(str::to_owned),
    })
}

fn read_call(number: u32, call: &Value) -> Call {
    let function = &call["function"];
    let body = match function["name"].as_str() {
        Some(name) => CallBody::Tool { name: name.to_owned(), arguments: function["arguments"].clone() },
        None => CallBody::Unusable { problem: "the call names no function".to_owned() },
    };
    // Ollama gives calls no ids; the agent loop needs one for each.
    Call { id: CallId::new(format!("call-{number}")), body }
}
