//! Encodes Interactions requests.

use std::collections::BTreeMap;

use apprentice_protocol::{
    CallResult, ChatRequest, Content, Message, ModelError, ModelErrorKind, ToolSpec, WorldTool,
};
use serde_json::{Map, Value, json};

use crate::action_format::{page_tool, summary};
use crate::hosted::HostedConfig;
use crate::http::{Json, PictureCache, SchemaSubset, enforced_schema, media_type, object, ordered};

/// The first part of a result, which confirms a safety decision.
const ACKNOWLEDGED: &str = "{\"safety_acknowledgement\":true}";

/// Encodes the body of a request.
pub(super) fn body(
    config: &HostedConfig,
    request: &ChatRequest,
    fragments: &PictureCache,
) -> Result<Vec<u8>, ModelError> {
    let mut generation = Map::new();
    generation.insert("max_output_tokens".into(), request.max_output_tokens.into());
    if let Some(seed) = request.seed {
        // The API takes a signed 32-bit seed.
        generation.insert("seed".into(), (seed & 0x7fff_ffff).into());
    }
    if let Some(effort) = &config.effort {
        generation.insert("thinking_level".into(), effort.as_str().into());
    }
    let format = request.schema.as_ref().map(|schema| {
        let schema = enforced_schema(&schema.schema, SchemaSubset::Optional);
        object([
            ("type", "text".into()),
            ("mime_type", "application/json".into()),
            ("schema", ordered(&schema)),
        ])
    });
    let body = object([("model", config.model.as_str().into())])
        .with("store", false)
        .with_some("stream", config.calls.stream.always().then_some(true))
        .with_some("service_tier", config.calls.service_tier.as_deref())
        .with_some("system_instruction", (!request.system.is_empty()).then_some(request.system.as_str()))
        .with("generation_config", Value::Object(generation))
        .with_some("response_format", format);
    let tools = tools(request);
    let body = if tools.is_empty() { body } else { body.with("tools", Json::List(tools)) };
    let body = body.with("input", Json::List(steps(request, fragments)?));
    body.to_bytes(8192).map_err(|error| {
        ModelError::never(ModelErrorKind::Request, format!("cannot encode the request: {error}"))
    })
}

fn tools(request: &ChatRequest) -> Vec<Json> {
    let native = request.world.map(|world| computer_use(world).into());
    let page = request.world.filter(|world| world.browser).map(|_| declare(&page_tool()));
    native.into_iter().chain(page).chain(request.tools.iter().map(declare)).collect()
}

fn computer_use(world: WorldTool) -> Value {
    json!({
        "type": "computer_use",
        "environment": if world.browser { "browser" } else { "desktop" },
    })
}

fn declare(tool: &ToolSpec) -> Json {
    json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema })
        .into()
}

/// The parts of a call that its result must repeat.
#[derive(Debug)]
struct PendingCall {
    name: String,
    confirmed: bool,
}

fn steps(request: &ChatRequest, fragments: &PictureCache) -> Result<Vec<Json>, ModelError> {
    let mut steps = Vec::new();
    let mut asked: BTreeMap<String, PendingCall> = BTreeMap::new();
    for message in &request.messages {
        match message {
            Message::User { content } => steps.extend(user(content, fragments)?),
            Message::Assistant { raw, .. } => {
                let (before, mut only_thoughts) = (steps.len(), true);
                for block in &raw.blocks {
                    let value: Value = serde_json::from_str(block).map_err(|_| foreign_reply())?;
                    if value["type"] == "model_output"
                        && value["content"].as_array().is_none_or(Vec::is_empty)
                    {
                        continue;
                    }
                    only_thoughts &= value["type"] == "thought";
                    if let (Some(id), Some(name)) = (value["id"].as_str(), value["name"].as_str()) {
                        // The attempt continued past the call, so the decision was confirmed.
                        let confirmed = value["arguments"].get("safety_decision").is_some();
                        asked.insert(id.to_owned(), PendingCall { name: name.to_owned(), confirmed });
                    }
                    steps.push(Json::raw(block).map_err(|_| foreign_reply())?);
                }
                if only_thoughts {
                    // Thoughts belong to what the model then says or calls, and here it did neither.
                    steps.truncate(before);
                }
            }
            Message::Results { results, notices } => {
                for result in results {
                    steps.push(function_result(result, asked.get(result.id.as_str()), fragments)?);
                }
                steps.extend(user(notices, fragments)?);
            }
        }
    }
    Ok(steps)
}

fn foreign_reply() -> ModelError {
    ModelError::never(
        ModelErrorKind::Request,
        "a stored reply is not JSON; it was not written by this adapter",
    )
}

fn user(content: &[Content], fragments: &PictureCache) -> Result<Option<Json>, ModelError> {
    let parts = parts(content, fragments)?;
    Ok((!parts.is_empty()).then(|| object([("type", "user_input".into()), ("content", Json::List(parts))])))
}

fn parts(content: &[Content], fragments: &PictureCache) -> Result<Vec<Json>, ModelError> {
    content
        .iter()
        .filter(|part| part.as_text() != Some(""))
        .map(|part| {
            Ok(match part {
                Content::Text { text } => text_part(text),
                Content::Image { image } => object([
                    ("type", "image".into()),
                    ("data", fragments.base64(image)?),
                    ("mime_type", media_type(image.media).into()),
                ]),
            })
        })
        .collect()
}

fn text_part(text: &str) -> Json {
    object([("type", "text".into()), ("text", text.into())])
}

fn function_result(
    result: &CallResult,
    asked: Option<&PendingCall>,
    fragments: &PictureCache,
) -> Result<Json, ModelError> {
    let mut told = Vec::new();
    if asked.is_some_and(|asked| asked.confirmed) {
        told.push(text_part(ACKNOWLEDGED));
    }
    let summary = summary(result);
    if !summary.is_empty() {
        told.push(text_part(&summary));
    }
    told.extend(parts(&result.content, fragments)?);
    if told.is_empty() {
        told.push(text_part("Done."));
    }
    Ok(object([("type", "function_result".into()), ("call_id", result.id.as_str().into())])
        .with_some("name", asked.map(|asked| asked.name.as_str()))
        .with("is_error", result.is_error)
        .with("result", Json::List(told)))
}
