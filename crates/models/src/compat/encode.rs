//! Encodes `/chat/completions` requests.

use std::collections::BTreeSet;

use apprentice_protocol::{
    CallResult, ChatRequest, Content, Message, ModelError, ModelErrorKind, NamedSchema, ToolSpec,
};
use serde_json::{Value, json};

use super::adaptation::{Concession, adapted};
use super::likelihoods;
use super::named::{self, Screen};
use super::profile::{ActionFormat, Structured, StudentProfile};
use super::roles::arranged;
use super::{CompatConfig, text_format};
use crate::action_format::{pictures, summary, texts};
use crate::http::{Json, PictureCache, SchemaSubset, enforced_schema, list, object, ordered};
use crate::options::{CallOptions, Streaming};

/// Stands for a reply without words and calls. Some servers reject an empty turn, others two turns of one side.
const EMPTY_REPLY: &str = "[no words and no call]";
/// Replaces a picture in a tool's result; the picture follows in a user message.
const PICTURE_FOLLOWS: &str = "[the picture follows]";

/// Encodes the body of a request.
pub(super) fn body(
    config: &CompatConfig,
    request: &ChatRequest,
    found: &BTreeSet<Concession>,
    fragments: &PictureCache,
) -> Result<Vec<u8>, ModelError> {
    let student = &adapted(&config.student, found);
    let takes = |field: &'static str| !found.contains(&Concession::Without(field));
    let most = found.iter().find_map(|one| match one {
        Concession::MostOutput(most) => Some(*most),
        _ => None,
    });
    let streams = streams(&config.calls, student, request);
    let messages = arranged(messages(student, request, fragments)?, found);
    let mut body = object([("model", config.model.as_str().into())])
        .with("messages", Json::List(messages))
        .with(student.token_field.as_str(), request.max_output_tokens.min(most.unwrap_or(u32::MAX)))
        .with_some("stream", streams.then_some(true))
        // Without this, a stream tells no usage.
        .with_some(
            "stream_options",
            (streams && takes("stream_options")).then(|| json!({ "include_usage": true })),
        )
        .with_some("reasoning_effort", config.effort.as_deref().filter(|_| takes("reasoning_effort")))
        .with_some(
            "prompt_cache_key",
            config.calls.prompt_cache_key.as_deref().filter(|_| takes("prompt_cache_key")),
        )
        .with_some("service_tier", config.calls.service_tier.as_deref().filter(|_| takes("service_tier")))
        .with_some("temperature", student.temperature)
        .with_some("seed", request.seed.filter(|_| student.seed).map(|seed| seed & 0x7fff_ffff));
    if !student.stop.is_empty() {
        body = body.with("stop", list(student.stop.iter().map(|word| word.as_str().into())));
    }
    if !likelihoods::asked(request).is_empty() && takes("logprobs") {
        body = body.with("logprobs", true).with("top_logprobs", likelihoods::MOST_TOKENS);
    }
    let tools = match found.contains(&Concession::NoTools) {
        true => Vec::new(),
        false => server_tools(student, request),
    };
    if !tools.is_empty() {
        body = body.with("tools", list(tools.iter().map(declare)));
    }
    let enforced = match (&request.schema, request.world, student.dialect) {
        (Some(schema), _, _) => {
            let plain = likelihoods::without_keyword(&schema.schema);
            Some(NamedSchema { schema: plain, ..schema.clone() })
        }
        (None, Some(world), ActionFormat::Json) => Some(text_format::turn_schema(student, request, world)),
        (None, Some(_), ActionFormat::Named) => Some(Screen::of(request).schema(request)),
        (None, _, _) => None,
    };
    let body = body.with_some("response_format", enforced.and_then(|one| format(&one, student.structured)));
    body.to_bytes(4096).map_err(|error| {
        ModelError::never(ModelErrorKind::Request, format!("cannot encode the request: {error}"))
    })
}

/// Returns the messages and the declared tools of a conversation in the form in which a server gets them for a model of this
/// profile. A server that takes less got less: what it refused is not known here.
///
/// # Errors
///
/// Returns an error if a reply in it was not written by this adapter, or a picture has no bytes.
pub fn as_sent(
    student: &StudentProfile,
    request: &ChatRequest,
) -> Result<(Vec<Value>, Vec<Value>), ModelError> {
    let values = |all: Vec<Json>| {
        let values: serde_json::Result<Vec<Value>> = all.iter().map(serde_json::to_value).collect();
        values.map_err(|error| ModelError::never(ModelErrorKind::Request, format!("cannot encode: {error}")))
    };
    let messages = arranged(messages(student, request, &PictureCache::default())?, &BTreeSet::new());
    Ok((values(messages)?, values(server_tools(student, request).iter().map(declare).collect())?))
}

/// Whether the response to a request is asked for as a stream.
pub(super) fn streams(calls: &CallOptions, student: &StudentProfile, request: &ChatRequest) -> bool {
    match calls.stream {
        _ if !likelihoods::asked(request).is_empty() => false,
        Streaming::Never => false,
        Streaming::WithoutTools => server_tools(student, request).is_empty(),
        Streaming::Always => true,
    }
}

/// Returns the tools that the server itself presents to the model.
fn server_tools(student: &StudentProfile, request: &ChatRequest) -> Vec<ToolSpec> {
    // A conversation without a world (a manager's) uses the server's function calling.
    let by_server = student.dialect == ActionFormat::Tools || request.world.is_none();
    if !by_server {
        return Vec::new();
    }
    let own = request.world.map(|world| text_format::own_tool(student, world));
    own.into_iter().chain(request.tools.iter().cloned()).collect()
}

fn declare(tool: &ToolSpec) -> Json {
    let function = object([
        ("name", tool.name.as_str().into()),
        ("description", tool.description.as_str().into()),
        ("parameters", ordered(&tool.schema)),
    ]);
    object([("type", "function".into()), ("function", function)])
}

fn format(schema: &NamedSchema, structured: Structured) -> Option<Json> {
    // The API restricts names to 64 of these characters.
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = schema.name.chars().map(legal).take(64).collect();
    let subset = match structured {
        Structured::OpenaiSchema => SchemaSubset::AllRequired,
        Structured::JsonSchema | Structured::JsonObject | Structured::Words => SchemaSubset::Bounded,
    };
    match structured {
        Structured::JsonSchema | Structured::OpenaiSchema => {
            let schema = ordered(&enforced_schema(&schema.schema, subset));
            let named = object([("name", name.into()), ("strict", true.into()), ("schema", schema)]);
            Some(object([("type", "json_schema".into()), ("json_schema", named)]))
        }
        Structured::JsonObject => Some(json!({ "type": "json_object" }).into()),
        Structured::Words => None,
    }
}

fn messages(
    student: &StudentProfile,
    request: &ChatRequest,
    fragments: &PictureCache,
) -> Result<Vec<Json>, ModelError> {
    let mut system = request.system.clone();
    let told = text_format::instructions(student, request);
    if !told.is_empty() {
        system = format!("{system}\n\n{told}");
    }
    if let Some(schema) = request
        .schema
        .as_ref()
        .filter(|_| matches!(student.structured, Structured::JsonObject | Structured::Words))
    {
        let asked = "Answer with one JSON object that follows this schema, and nothing else:";
        system = format!("{system}\n\n{asked}\n{}", schema.schema);
    }
    let mut messages = vec![object([("role", "system".into()), ("content", system.into())])];
    let by_names = student.dialect == ActionFormat::Named && request.world.is_some();
    let shown = by_names.then(|| named::as_shown(&request.messages));
    if by_names {
        messages.extend(named::examples());
    }
    // Whether the model's last turn used the server's function calling.
    let mut called = false;
    for message in shown.as_ref().unwrap_or(&request.messages) {
        match message {
            Message::User { content } => messages.push(user(&content.iter().collect::<Vec<_>>(), fragments)?),
            Message::Assistant { raw, .. } => {
                for block in &raw.blocks {
                    let Ok(json) = Json::raw(block) else {
                        let story = "a stored reply is not JSON; it was not written by this adapter";
                        return Err(ModelError::never(ModelErrorKind::Request, story));
                    };
                    let value = serde_json::from_str::<Value>(block).unwrap_or_default();
                    called = value["tool_calls"].is_array();
                    messages.push(match called || says_something(&value["content"]) {
                        true => json,
                        false => json!({ "role": "assistant", "content": EMPTY_REPLY }).into(),
                    });
                }
            }
            Message::Results { results, notices } => {
                messages.extend(answers(results, notices, called, fragments)?);
            }
        }
    }
    Ok(messages)
}

fn says_something(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Encodes the results of a turn. A call made with the server's function calling gets a `tool` message, which holds
/// text only; its pictures follow in a user message.
fn answers(
    results: &[CallResult],
    notices: &[Content],
    called: bool,
    fragments: &PictureCache,
) -> Result<Vec<Json>, ModelError> {
    if !called {
        let told: Vec<Content> = results.iter().map(|result| Content::text(summary(result))).collect();
        let parts: Vec<&Content> = results
            .iter()
            .zip(&told)
            .flat_map(|(result, told)| std::iter::once(told).chain(&result.content))
            .chain(notices)
            .filter(|part| part.as_text() != Some(""))
            .collect();
        return Ok(vec![user(&parts, fragments)?]);
    }
    let mut messages = Vec::new();
    let mut below: Vec<&Content> = Vec::new();
    for result in results {
        let summary = summary(result);
        let mut words: Vec<&str> = std::iter::once(summary.as_str()).chain(texts(&result.content)).collect();
        if pictures(&result.content).next().is_some() {
            words.push(PICTURE_FOLLOWS);
            below.extend(result.content.iter().filter(|part| part.as_text().is_none()));
        }
        words.retain(|text| !text.is_empty());
        messages.push(object([
            ("role", "tool".into()),
            ("tool_call_id", result.id.as_str().into()),
            ("content", words.join("\n").into()),
        ]));
    }
    below.extend(notices);
    if !below.is_empty() {
        messages.push(user(&below, fragments)?);
    }
    Ok(messages)
}

/// Encodes a user message. Text alone is sent as a plain string, because the smallest servers do not support parts.
fn user(parts: &[&Content], fragments: &PictureCache) -> Result<Json, ModelError> {
    let plain = parts.iter().all(|part| part.as_text().is_some());
    let content = if plain {
        parts.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n\n").into()
    } else {
        Json::List(parts.iter().map(|part| part_of(part, fragments)).collect::<Result<_, _>>()?)
    };
    Ok(object([("role", "user".into()), ("content", content)]))
}

fn part_of(part: &Content, fragments: &PictureCache) -> Result<Json, ModelError> {
    Ok(match part {
        Content::Text { text } => object([("type", "text".into()), ("text", text.as_str().into())]),
        Content::Image { image } => {
            let url = object([("url", fragments.data_url(image)?)]);
            object([("type", "image_url".into()), ("image_url", url)])
        }
    })
}
