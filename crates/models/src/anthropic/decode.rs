//! Parses Messages replies.

use apprentice_protocol::{Call, CallBody, CallId, RawContent, ReplyStop};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::browser::read_browser;
use super::encode::acts;
use crate::action_format::{ModelOutput, read_computer, read_page};
use crate::http::{DecodeError, ParsedReply, cut_last_call, read_body, value_of};
use crate::price::Tokens;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    model: Option<String>,
}

/// Parses a response body. `front` is the tab that the model sees. Blocks of unknown kinds are kept and sent back, and otherwise ignored.
pub(super) fn reply(body: &[u8], mut front: Option<String>) -> Result<ParsedReply, DecodeError> {
    let body: Body<'_> = read_body(body)?;
    let (mut say, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for raw in &body.content {
        let block = value_of(raw)?;
        match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default();
                say.extend((!text.trim().is_empty()).then(|| text.to_owned()));
            }
            Some("thinking") => {
                let text = block["thinking"].as_str().unwrap_or_default();
                thoughts.extend((!text.trim().is_empty()).then(|| text.to_owned()));
            }
            Some("tool_use") => {
                calls.push(call(&block, front.as_deref())?);
                if let (Some("browser"), Some("switch_tab"), Some(tab)) = (
                    block["toolset_name"].as_str(),
                    block["name"].as_str(),
                    block["input"]["tab_id"].as_str(),
                ) {
                    // What follows in the same reply is meant for this tab.
                    front = Some(tab.to_owned());
                }
            }
            Some(_) | None => {}
        }
    }
    let stop = stop(body.stop_reason.as_deref(), calls.is_empty());
    let tokens = tokens(&body.usage);
    if body.stop_reason.as_deref() == Some("max_tokens") {
        cut_last_call(&mut calls, tokens.map(|tokens| tokens.output));
    }
    Ok(ParsedReply {
        raw: RawContent { blocks: body.content.iter().map(|raw| raw.get().to_owned()).collect() },
        say,
        thoughts,
        calls,
        stop,
        tokens,
        cost_usd: None,
        provider_model: body.model,
    })
}

/// A call belongs to the toolset that it names: a function may share its name with a toolset's member.
fn call(block: &Value, front: Option<&str>) -> Result<Call, DecodeError> {
    let id = block["id"].as_str().ok_or_else(|| DecodeError::form("a tool_use block has no id"))?;
    let name = block["name"].as_str().unwrap_or_default();
    let input = &block["input"];
    let body = match block["toolset_name"].as_str() {
        Some("computer") => ModelOutput::body(read_computer(name, input)),
        Some("browser") => ModelOutput::body(read_browser(name, input, front)),
        Some(other) => CallBody::Unusable { problem: format!("there is no toolset {other:?}") },
        None if name == "computer" => match input["action"].as_str() {
            Some(member) => ModelOutput::body(read_computer(member, input)),
            None => CallBody::Unusable { problem: "action is missing".into() },
        },
        None if acts(name) => ModelOutput::body(read_page(input)),
        None => CallBody::Tool { name: name.to_owned(), arguments: input.clone() },
    };
    Ok(Call { id: CallId::new(id), body })
}

fn stop(reason: Option<&str>, no_calls: bool) -> ReplyStop {
    match reason {
        Some("refusal") => ReplyStop::Refusal,
        Some("model_context_window_exceeded") => ReplyStop::ContextFull,
        _ if !no_calls => ReplyStop::Calls,
        None | Some("end_turn" | "stop_sequence" | "tool_use") => ReplyStop::EndTurn,
        // Cut short, paused, or ended for an unknown reason: the text does not count as an answer.
        Some(_) => ReplyStop::MaxTokens,
    }
}

/// Input excludes tokens read from and written to a cache.
fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let written = count(&usage["cache_creation_input_tokens"]);
    let long = count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]).min(written);
    let tokens = Tokens {
        fresh: count(&usage["input_tokens"]),
        cache_read: count(&usage["cache_read_input_tokens"]),
        cache_write: written - long,
        cache_write_long: long,
        output: count(&usage["output_tokens"]),
    };
    // None at all is no number.
    (tokens.input() + tokens.output > 0).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CallBody, ReplyStop};
    use serde_json::json;

    use super::reply;

    #[test]
    fn blocks_are_kept_and_calls_are_told_apart_by_family() {
        let thinking = r#"{"type":"thinking","thinking":"","signature":"c2ln\u003d"}"#;
        let later = r#"{ "type" : "from_later", "x": 1.50 }"#;
        let click = r#"{"type":"tool_use","id":"t1","name":"left_click","toolset_name":"computer","input":{"coordinate":[1,2]}}"#;
        let twin = r#"{"type":"tool_use","id":"t2","name":"left_click","input":{}}"#;
        let body = format!(
            r#"{{"content":[{thinking},{later},{click},{twin}],"stop_reason":"tool_use","model":"claude-x",
                "usage":{{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":30,
                "cache_creation":{{"ephemeral_1h_input_tokens":20}},"output_tokens":5}}}}"#
        );
        let read = reply(body.as_bytes(), None).expect("reads");
        assert_eq!(read.raw.blocks, [thinking, later, click, twin]);
        assert_eq!(read.stop, ReplyStop::Calls);
        assert!(matches!(&read.calls[0].body, CallBody::World { actions } if actions.len() == 1));
        assert!(matches!(&read.calls[1].body, CallBody::Tool { name, .. } if name == "left_click"));
        let tokens = read.tokens.expect("usage");
        assert_eq!(
            (tokens.fresh, tokens.cache_read, tokens.cache_write, tokens.cache_write_long),
            (10, 90, 10, 20)
        );
        assert_eq!(tokens.input(), 130);
    }

    #[test]
    fn every_ending_has_its_meaning() {
        let check = |reason: serde_json::Value, expected: ReplyStop| {
            let body = json!({ "content": [{ "type": "text", "text": "x" }], "stop_reason": reason });
            assert_eq!(reply(body.to_string().as_bytes(), None).expect("reads").stop, expected, "{reason}");
        };
        check(json!("end_turn"), ReplyStop::EndTurn);
        check(json!("max_tokens"), ReplyStop::MaxTokens);
        check(json!("pause_turn"), ReplyStop::MaxTokens);
        check(json!("from_later"), ReplyStop::MaxTokens);
        check(json!("refusal"), ReplyStop::Refusal);
        check(json!("model_context_window_exceeded"), ReplyStop::ContextFull);
        check(json!(null), ReplyStop::EndTurn);
        let empty = reply(br#"{"content":[],"stop_reason":"end_turn"}"#, None).expect("reads");
        assert!(empty.say.is_empty() && empty.calls.is_empty());
        let cut = json!({ "stop_reason": "max_tokens", "content": [
            { "type": "tool_use", "id": "t", "name": "type", "toolset_name": "computer", "input": { "text": "hal" } },
        ] });
        let cut = reply(cut.to_string().as_bytes(), None).expect("reads");
        assert!(matches!(&cut.calls[0].body, CallBody::Unusable { .. }));
    }
}
