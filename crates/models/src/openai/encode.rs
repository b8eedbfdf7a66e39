//! Encodes Responses requests.

use std::collections::BTreeMap;

use apprentice_protocol::{
    CallResult, ChatRequest, Content, Image, Message, ModelError, ModelErrorKind, NamedSchema, ToolSpec,
};
use serde_json::{Value, json};

use crate::action_format::{page_tool, pictures, summary, texts};
use crate::hosted::HostedConfig;
use crate::http::{Json, PictureCache, Platform, SchemaSubset, enforced_schema, list, object, ordered};

/// The only detail level at which points are exact.
const DETAIL: &str = "original";

/// A blank picture. It answers a computer call whose own picture was left out, because only a picture can; the text below
/// says so.
const BLANK: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mP4DwUMo4xRBukMAOPT/hAC2mzjAAAAAElFTkSuQmCC";

/// Encodes the body of a request.
pub(super) fn body(
    config: &HostedConfig,
    request: &ChatRequest,
    fragments: &PictureCache,
) -> Result<Vec<u8>, ModelError> {
    let reasoning = config.effort.as_ref().map(|effort| json!({ "effort": effort }));
    let calls = &config.calls;
    let unpadded = calls.stream.always() && config.endpoint.platform == Platform::Direct;
    let body = object([("model", config.model.as_str().into())])
        .with("store", false)
        .with_some("stream", calls.stream.always().then_some(true))
        // Without this, random letters pad every event. Older versions of the API on Azure do not know it.
        .with_some("stream_options", unpadded.then(|| json!({ "include_obfuscation": false })))
        .with_some("prompt_cache_key", calls.prompt_cache_key.as_deref())
        .with_some("service_tier", calls.service_tier.as_deref())
        // Without storage at the provider, reasoning is returned encrypted and sent back with the next request.
        .with("include", json!(["reasoning.encrypted_content"]))
        .with("max_output_tokens", request.max_output_tokens)
        .with_some("instructions", (!request.system.is_empty()).then_some(request.system.as_str()))
        .with_some("reasoning", reasoning)
        .with_some("text", request.schema.as_ref().map(format));
    let tools = tools(request);
    let body = if tools.is_empty() { body } else { body.with("tools", Json::List(tools)) };
    let body = body.with("input", Json::List(input(request, fragments)?));
    body.to_bytes(8192).map_err(|error| {
        ModelError::never(ModelErrorKind::Request, format!("cannot encode the request: {error}"))
    })
}

fn format(schema: &NamedSchema) -> Json {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = schema.name.chars().map(legal).take(64).collect();
    let schema = enforced_schema(&schema.schema, SchemaSubset::AllRequired);
    let format = object([
        ("type", "json_schema".into()),
        ("name", name.into()),
        ("strict", true.into()),
        ("schema", ordered(&schema)),
    ]);
    object([("format", format)])
}

fn tools(request: &ChatRequest) -> Vec<Json> {
    let native = request.world.map(|_| json!({ "type": "computer" }).into());
    let page = request.world.filter(|world| world.browser).map(|_| declare(&page_tool()));
    native.into_iter().chain(page).chain(request.tools.iter().map(declare)).collect()
}

fn declare(tool: &ToolSpec) -> Json {
    json!({
        "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema,
        "strict": false,
    })
    .into()
}

/// The kind of a call, which decides the form of its result.
#[derive(Debug)]
enum PendingCall {
    Function,
    /// A computer call, with the safety checks that are acknowledged because the attempt continued.
    Computer(Value),
}

fn input(request: &ChatRequest, fragments: &PictureCache) -> Result<Vec<Json>, ModelError> {
    let mut items = Vec::new();
    let mut asked: BTreeMap<String, PendingCall> = BTreeMap::new();
    let mut seen: Option<&Image> = None;
    for message in &request.messages {
        match message {
            Message::User { content } => {
                seen = pictures(content).last().or(seen);
                items.extend(user(content.iter(), fragments)?);
            }
            Message::Assistant { raw, .. } => {
                let mut length = items.len();
                for block in &raw.blocks {
                    let value: Value = serde_json::from_str(block).map_err(|_| foreign_reply())?;
                    if value["type"] == "message" && value["content"].as_array().is_some_and(Vec::is_empty) {
                        continue;
                    }
                    let call = value["call_id"].as_str().map(str::to_owned);
                    match (call, value["type"].as_str()) {
                        (Some(id), Some("computer_call")) => {
                            let checks = value["pending_safety_checks"].as_array().cloned();
                            asked.insert(id, PendingCall::Computer(checks.unwrap_or_default().into()));
                        }
                        (Some(id), _) => drop(asked.insert(id, PendingCall::Function)),
                        (None, _) => {}
                    }
                    items.push(Json::raw(block).map_err(|_| foreign_reply())?);
                    if value["type"] != "reasoning" {
                        length = items.len();
                    }
                }
                // The API rejects reasoning that no item of the same reply follows.
                items.truncate(length);
            }
            Message::Results { results, notices } => {
                let all = results.iter().flat_map(|result| pictures(&result.content));
                seen = all.last().or(seen);
                let mut below = Vec::new();
                for result in results {
                    let (item, rest) = match asked.get(result.id.as_str()) {
                        Some(PendingCall::Computer(checks)) => view(result, checks, seen, fragments)?,
                        Some(PendingCall::Function) | None => {
                            (function_output(result, fragments)?, Vec::new())
                        }
                    };
                    items.push(item);
                    below.extend(rest);
                }
                items.extend(user(below.iter().chain(notices), fragments)?);
            }
        }
    }
    Ok(items)
}

fn foreign_reply() -> ModelError {
    ModelError::never(
        ModelErrorKind::Request,
        "a stored reply is not JSON; it was not written by this adapter",
    )
}

/// Encodes a user message, unless it is empty.
fn user<'a>(
    content: impl Iterator<Item = &'a Content>,
    fragments: &PictureCache,
) -> Result<Option<Json>, ModelError> {
    let parts = parts(content, fragments)?;
    Ok((!parts.is_empty()).then(|| object([("role", "user".into()), ("content", Json::List(parts))])))
}

fn parts<'a>(
    content: impl Iterator<Item = &'a Content>,
    fragments: &PictureCache,
) -> Result<Vec<Json>, ModelError> {
    content
        .filter(|part| part.as_text() != Some(""))
        .map(|part| {
            Ok(match part {
                Content::Text { text } => text_part(text),
                Content::Image { image } => object([
                    ("type", "input_image".into()),
                    ("image_url", fragments.data_url(image)?),
                    ("detail", DETAIL.into()),
                ]),
            })
        })
        .collect()
}

fn text_part(text: &str) -> Json {
    object([("type", "input_text".into()), ("text", text.into())])
}

/// Encodes the result of a computer call, which is exactly one picture; any text goes below it.
fn view(
    result: &CallResult,
    checks: &Value,
    seen: Option<&Image>,
    fragments: &PictureCache,
) -> Result<(Json, Vec<Content>), ModelError> {
    let url = match pictures(&result.content).last().or(seen) {
        Some(image) => fragments.data_url(image)?,
        None => BLANK.into(),
    };
    let output =
        object([("type", "computer_screenshot".into()), ("image_url", url), ("detail", DETAIL.into())]);
    let mut item = object([
        ("type", "computer_call_output".into()),
        ("call_id", result.id.as_str().into()),
        ("output", output),
    ]);
    if checks.as_array().is_some_and(|checks| !checks.is_empty()) {
        item = item.with("acknowledged_safety_checks", checks.clone());
    }
    let told = summary(result);
    let told = Some(told).filter(|told| result.is_error && !told.is_empty());
    let words = told.into_iter().chain(texts(&result.content).map(str::to_owned));
    Ok((item, words.map(Content::text).collect()))
}

fn function_output(result: &CallResult, fragments: &PictureCache) -> Result<Json, ModelError> {
    let told = summary(result);
    let head = (!told.is_empty()).then(|| text_part(&told));
    let mut output: Vec<Json> = head.into_iter().chain(parts(result.content.iter(), fragments)?).collect();
    if output.is_empty() {
        output.push(text_part("Done."));
    }
    Ok(object([
        ("type", "function_call_output".into()),
        ("call_id", result.id.as_str().into()),
        ("output", list(output)),
    ]))
}
