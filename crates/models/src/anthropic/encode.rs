//! Encodes Messages requests. Conversations are append-only: earlier turns are sent again byte for byte.

use std::collections::BTreeMap;

use apprentice_protocol::{
    ActionOutcome, Call, CallBody, CallId, CallResult, ChatRequest, Content, Message, ModelError,
    ModelErrorKind, ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::browser::{answers_with_tabs, browser_state, browser_toolset};
use super::{AnthropicConfig, Thinking};
use crate::action_format::{PAGE_TOOL, dialog_tool, page_tool, summary, texts};
use crate::http::{
    Json, PictureCache, Platform, SchemaSubset, enforced_schema, list, media_type, object, ordered,
};
use crate::options::CacheLifetime;

/// The result that the API requires for each skipped world action, per toolset.
const NOT_EXECUTED: &str = "Not executed: an earlier computer action in this turn failed.";
const NOT_EXECUTED_IN_BROWSER: &str = "Not executed: an earlier action in this turn failed.";
const CONTEXT_EDITING: &str = "context-management-2025-06-27";
/// How many tool results the server's context editing keeps, and the least it clears.
const KEPT_RESULTS: u32 = 10;
const CLEAR_AT_LEAST: u32 = 40_000;
/// Reasoning tokens, for models that take a budget.
const THINKING_TOKENS: u32 = 4096;

/// Returns the beta features that a request needs.
pub(super) fn betas(config: &AnthropicConfig, request: &ChatRequest) -> Option<String> {
    let tool = request.world.and_then(|_| config.facts.tool.legacy()).map(|(_, beta)| beta);
    let editing = clears_context(config, request).then_some(CONTEXT_EDITING);
    let all: Vec<&str> = tool.into_iter().chain(editing).collect();
    (!all.is_empty()).then(|| all.join(","))
}

fn clears_context(config: &AnthropicConfig, request: &ChatRequest) -> bool {
    config.forget_above.is_some() && request.world.is_some()
}

/// Encodes the body of a request.
pub(super) fn body(
    config: &AnthropicConfig,
    request: &ChatRequest,
    fragments: &PictureCache,
) -> Result<Vec<u8>, ModelError> {
    let mut body = head(config, request)
        .with("max_tokens", request.max_output_tokens)
        // Marks the last block that can be cached, so that the mark moves on as the conversation grows.
        .with("cache_control", cache_mark(config.calls.cache))
        .with_some("service_tier", config.calls.service_tier.as_deref());
    if !request.system.is_empty() {
        // Tools precede the system prompt, so this mark covers both.
        let mark = cache_mark(config.calls.cache);
        let system = json!({ "type": "text", "text": request.system, "cache_control": mark });
        body = body.with("system", list([system.into()]));
    }
    let tools = tools(config, request);
    if !tools.is_empty() {
        body = body.with("tools", Json::List(tools));
    }
    body = body
        .with_some("thinking", thinking(config, request))
        .with_some("output_config", output(config, request));
    if let Some(above) = config.forget_above.filter(|_| clears_context(config, request)) {
        let mut edit = json!({
            "type": "clear_tool_uses_20250919",
            "trigger": { "type": "input_tokens", "value": above },
            "keep": { "type": "tool_uses", "value": KEPT_RESULTS },
            "clear_at_least": { "type": "input_tokens", "value": CLEAR_AT_LEAST },
        });
        // Context editing clears observations but no function results: a skill's text among them may still be needed.
        let functions: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        if !functions.is_empty() {
            edit["exclude_tools"] = json!(functions);
        }
        body = body.with("context_management", json!({ "edits": [edit] }));
    }
    let body = body.with("messages", Json::List(messages(config, request, fragments)?));
    body.to_bytes(8192).map_err(|error| {
        ModelError::never(ModelErrorKind::Request, format!("cannot encode the request: {error}"))
    })
}

fn thinking(config: &AnthropicConfig, request: &ChatRequest) -> Option<Value> {
    match config.facts.thinking {
        Thinking::Adaptive => Some(json!({ "type": "adaptive" })),
        Thinking::Enabled => {
            let budget = config.calls.thinking_budget.unwrap_or(THINKING_TOKENS);
            // The budget is part of the output, and something must be left for the answer.
            let fits = request.max_output_tokens > budget;
            fits.then(|| json!({ "type": "enabled", "budget_tokens": budget }))
        }
        Thinking::None => None,
    }
}

/// The first fields of a body. Platforms that name the model in the path want the version here, and Bedrock the beta
/// features, too.
fn head(config: &AnthropicConfig, request: &ChatRequest) -> Json {
    let stream = config.calls.stream.always().then_some(true);
    let named = object([("anthropic_version", config.version.as_str().into())]);
    match config.endpoint.platform {
        Platform::Direct | Platform::Azure { .. } => {
            object([("model", config.model.as_str().into())]).with_some("stream", stream)
        }
        Platform::Vertex { .. } => named.with_some("stream", stream),
        Platform::Bedrock => {
            let betas = betas(config, request);
            named.with_some("anthropic_beta", betas.map(|betas| json!(betas.split(',').collect::<Vec<_>>())))
        }
    }
}

fn cache_mark(lifetime: CacheLifetime) -> Value {
    match lifetime {
        CacheLifetime::Minutes => json!({ "type": "ephemeral" }),
        CacheLifetime::Hour => json!({ "type": "ephemeral", "ttl": "1h" }),
    }
}

fn output(config: &AnthropicConfig, request: &ChatRequest) -> Option<Json> {
    let effort = config.effort.filter(|_| config.facts.thinking == Thinking::Adaptive);
    let format = request.schema.as_ref().map(|schema| {
        let schema = enforced_schema(&schema.schema, SchemaSubset::Optional);
        object([("type", "json_schema".into()), ("schema", ordered(&schema))])
    });
    let given = effort.is_some() || format.is_some();
    let output =
        object([]).with_some("effort", effort.map(|effort| effort.as_str())).with_some("format", format);
    given.then_some(output)
}

fn tools(config: &AnthropicConfig, request: &ChatRequest) -> Vec<Json> {
    let mut tools = Vec::new();
    if let Some(world) = request.world {
        tools.push(world_tool(config, world).into());
        if world.browser {
            let has_toolset = config.facts.tool.legacy().is_none();
            tools.push(declare(&if has_toolset { dialog_tool() } else { page_tool() }));
        }
    }
    tools.extend(request.tools.iter().map(declare));
    tools
}

fn world_tool(config: &AnthropicConfig, world: WorldTool) -> Value {
    if let Some((kind, _)) = config.facts.tool.legacy() {
        let mut tool = json!({
            "type": kind, "name": "computer",
            "display_width_px": world.display.width, "display_height_px": world.display.height,
        });
        if kind == "computer_20251124" {
            tool["enable_zoom"] = true.into();
        }
        return tool;
    }
    if !world.browser {
        return json!({ "type": "computer_toolset_20260801" });
    }
    browser_toolset(config.page_scripts)
}

fn declare(tool: &ToolSpec) -> Json {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }).into()
}

fn messages(
    config: &AnthropicConfig,
    request: &ChatRequest,
    fragments: &PictureCache,
) -> Result<Vec<Json>, ModelError> {
    let mut messages = Vec::new();
    // Adaptive thoughts are bound to everything before them, and need not be sent back. Thoughts with a budget are bound
    // to nothing, and a turn with calls must begin with them.
    let bound = config.facts.thinking == Thinking::Adaptive;
    let mut asked: BTreeMap<&CallId, Asked<'_>> = BTreeMap::new();
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { content } => messages.push(turn("user", blocks(content, fragments)?)),
            Message::Assistant { raw, calls, .. } => {
                let stale = bound && at < request.edited_before;
                let (kept, families) = original_blocks(&raw.blocks, stale)?;
                asked.extend(calls.iter().map(|call| {
                    let (family, member) = families.get(call.id.as_str()).cloned().unwrap_or_default();
                    (&call.id, Asked { call, family, member })
                }));
                if !kept.is_empty() {
                    messages.push(turn("assistant", kept));
                }
            }
            Message::Results { results, notices } => {
                let (mut answers, mut below) = (Vec::new(), Vec::new());
                for result in results {
                    answers.push(answer(result, asked.get(&result.id), fragments, &mut below)?);
                }
                answers.extend(below);
                answers.extend(blocks(notices, fragments)?);
                messages.push(turn("user", answers));
            }
        }
    }
    Ok(messages)
}

fn turn(role: &str, content: Vec<Json>) -> Json {
    object([("role", role.into()), ("content", Json::List(content))])
}

/// A call that waits for its result.
struct Asked<'c> {
    call: &'c Call,
    family: Toolset,
    /// The name of the function or of the toolset's member.
    member: String,
}

/// The toolset and the name of each call of a turn, by the call's id.
type Families = BTreeMap<String, (Toolset, String)>;

/// The toolset of a call, which its result must name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Toolset {
    #[default]
    Function,
    Computer,
    Browser,
}

/// Returns the blocks of an assistant turn as received, and each call's toolset. Left out are the blocks that the API
/// sometimes returns and rejects when they are sent back: blank texts, and thoughts that nothing follows; and all thoughts
/// if they are stale, because what stood before them has changed.
fn original_blocks(raw: &[String], stale: bool) -> Result<(Vec<Json>, Families), ModelError> {
    let mut kept = Vec::with_capacity(raw.len());
    let mut families = Families::new();
    let mut length = 0;
    for block in raw {
        let value: Value = serde_json::from_str(block).map_err(|_| foreign_reply())?;
        let family = match value["toolset_name"].as_str() {
            Some("computer") => Toolset::Computer,
            Some("browser") => Toolset::Browser,
            Some(_) | None => Toolset::Function,
        };
        if let Some(id) = value["id"].as_str() {
            families.insert(id.to_owned(), (family, value["name"].as_str().unwrap_or_default().to_owned()));
        }
        if value["type"] == "text" && value["text"].as_str().is_some_and(|text| text.trim().is_empty()) {
            continue;
        }
        if stale && is_thought(&value) {
            continue;
        }
        kept.push(Json::raw(block).map_err(|_| foreign_reply())?);
        if !is_thought(&value) {
            length = kept.len();
        }
    }
    kept.truncate(length);
    Ok((kept, families))
}

fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

fn foreign_reply() -> ModelError {
    ModelError::never(
        ModelErrorKind::Request,
        "a stored reply is not JSON; it was not written by this adapter",
    )
}

fn blocks(content: &[Content], fragments: &PictureCache) -> Result<Vec<Json>, ModelError> {
    content
        .iter()
        .filter(|part| part.as_text() != Some(""))
        .map(|part| {
            Ok(match part {
                Content::Text { text } => object([("type", "text".into()), ("text", text.as_str().into())]),
                Content::Image { image } => {
                    let source = object([
                        ("type", "base64".into()),
                        ("media_type", media_type(image.media).into()),
                        ("data", fragments.base64(image)?),
                    ]);
                    object([("type", "image".into()), ("source", source)])
                }
            })
        })
        .collect()
}

/// Encodes one result. An error result may hold text only, so the observation goes below all results.
fn answer(
    result: &CallResult,
    asked: Option<&Asked<'_>>,
    fragments: &PictureCache,
    below: &mut Vec<Json>,
) -> Result<Json, ModelError> {
    let family = asked.map(|asked| asked.family).unwrap_or_default();
    let mut answer = object([("type", "tool_result".into()), ("tool_use_id", result.id.as_str().into())]);
    answer = match family {
        Toolset::Function => answer,
        Toolset::Computer => answer.with("toolset_name", "computer"),
        Toolset::Browser => answer.with("toolset_name", "browser"),
    };
    let world = asked.is_some_and(|asked| matches!(&asked.call.body, CallBody::World { .. }));
    let skipped = !result.per_action.is_empty()
        && result.per_action.iter().all(|one| matches!(one, ActionOutcome::NotExecuted));
    if result.is_error {
        let words = match (skipped, family) {
            (true, Toolset::Browser) => NOT_EXECUTED_IN_BROWSER.to_owned(),
            (true, Toolset::Computer) => NOT_EXECUTED.to_owned(),
            (true, Toolset::Function) => summary(result),
            (false, _) if world => summary(result),
            (false, _) => {
                let words: Vec<&str> = result.content.iter().filter_map(Content::as_text).collect();
                return Ok(answer.with("is_error", true).with("content", words.join("\n")));
            }
        };
        below.extend(blocks(&result.content, fragments)?);
        return Ok(answer.with("is_error", true).with("content", words));
    }
    if let Some(asked) = asked.filter(|asked| family == Toolset::Browser && answers_with_tabs(&asked.member))
    {
        return tabs_answer(answer, result, &asked.member, fragments, below);
    }
    let mut content = Vec::new();
    let told = summary(result);
    if world && !told.is_empty() {
        content.push(object([("type", "text".into()), ("text", told.into())]));
    }
    content.extend(blocks(&result.content, fragments)?);
    if content.is_empty() {
        return Ok(answer.with("content", "Done."));
    }
    Ok(answer.with("content", Json::List(content)))
}

/// Encodes the result of a member about tabs: the list of tabs alone, and whatever else there is below all results.
fn tabs_answer(
    answer: Json,
    result: &CallResult,
    member: &str,
    fragments: &PictureCache,
    below: &mut Vec<Json>,
) -> Result<Json, ModelError> {
    // The list may have been left out of a long conversation.
    let state =
        browser_state(texts(&result.content), member).unwrap_or_else(|| json!({ "type": "browser_state" }));
    let told = summary(result);
    if told != "Done." {
        below.push(object([("type", "text".into()), ("text", told.into())]));
    }
    let is_list = |part: &Content| part.as_text().is_some_and(|text| browser_state([text], member).is_some());
    let rest: Vec<Content> = result.content.iter().filter(|part| !is_list(part)).cloned().collect();
    below.extend(blocks(&rest, fragments)?);
    Ok(answer.with("content", list([state.into()])))
}

/// Returns whether this is one of our functions that act on the world.
pub(super) fn acts(name: &str) -> bool {
    name == PAGE_TOOL
}
