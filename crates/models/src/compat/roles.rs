//! Rearranges the messages of a request for servers that do not take every role, or not in every order.

use std::collections::BTreeSet;

use serde_json::Value;

use super::adaptation::Concession;
use crate::http::{Json, list, object};

/// Stands between the results of tools and a message of the user.
const RESULTS_READ: &str = "[results read]";

/// Returns the messages as the server takes them.
pub(super) fn arranged(messages: Vec<Json>, found: &BTreeSet<Concession>) -> Vec<Json> {
    let mut messages = messages;
    if found.contains(&Concession::Alternating) || found.contains(&Concession::NoTools) {
        messages = messages.into_iter().map(without_calls).collect();
    }
    if found.contains(&Concession::NoUserAfterTool) {
        messages = with_turns_between(messages);
    }
    if found.contains(&Concession::SystemInUser) {
        messages = with_system_in_user(messages);
    }
    match found.contains(&Concession::Alternating) {
        true => joined(messages),
        false => messages,
    }
}

/// One message, taken apart as far as needed.
struct Taken {
    role: String,
    content: Json,
}

impl Taken {
    fn into_json(self) -> Json {
        object([("role", self.role.into()), ("content", self.content)])
    }
}

fn field(message: &Json, name: &str) -> Option<Json> {
    match message {
        Json::Object(fields) => fields.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone()),
        Json::Value(value) => value.get(name).cloned().map(Json::Value),
        Json::Raw(raw) => {
            let value: Value = serde_json::from_str(raw.get()).ok()?;
            value.get(name).cloned().map(Json::Value)
        }
        Json::Text(_) | Json::List(_) => None,
    }
}

fn text_of(json: &Json) -> Option<String> {
    match json {
        Json::Text(text) => Some(text.clone()),
        Json::Value(Value::String(text)) => Some(text.clone()),
        Json::Value(_) | Json::Raw(_) | Json::List(_) | Json::Object(_) => None,
    }
}

fn role_of(message: &Json) -> String {
    field(message, "role").and_then(|role| text_of(&role)).unwrap_or_default()
}

fn taken(message: &Json) -> Taken {
    Taken { role: role_of(message), content: field(message, "content").unwrap_or_else(|| "".into()) }
}

/// Writes calls as JSON in the words of a turn, and what answers them as a message of the user.
fn without_calls(message: Json) -> Json {
    let role = role_of(&message);
    if role == "tool" {
        return Taken { role: "user".into(), ..taken(&message) }.into_json();
    }
    let calls = match field(&message, "tool_calls") {
        Some(Json::Value(Value::Array(calls))) if role == "assistant" => calls,
        Some(_) | None => return message,
    };
    let words = text_of(&taken(&message).content).filter(|words| !words.trim().is_empty());
    let written = calls.iter().map(|call| {
        let arguments = &call["function"]["arguments"];
        let parsed = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let (tool, arguments) = (&call["function"]["name"], parsed.as_ref().unwrap_or(arguments));
        // As the prompt asks for it: the tool before its arguments.
        format!("{{\"tool\":{tool},\"arguments\":{arguments}}}")
    });
    let content = words.into_iter().chain(written).collect::<Vec<_>>().join("\n");
    Taken { role, content: content.into() }.into_json()
}

fn with_turns_between(messages: Vec<Json>) -> Vec<Json> {
    let mut arranged: Vec<Json> = Vec::with_capacity(messages.len());
    for message in messages {
        if role_of(&message) == "user" && arranged.last().is_some_and(|before| role_of(before) == "tool") {
            arranged.push(object([("role", "assistant".into()), ("content", RESULTS_READ.into())]));
        }
        arranged.push(message);
    }
    arranged
}

fn with_system_in_user(messages: Vec<Json>) -> Vec<Json> {
    let (system, mut rest): (Vec<Json>, Vec<Json>) =
        messages.into_iter().partition(|message| role_of(message) == "system");
    let system = system.iter().map(|message| taken(message).content);
    let first = rest.iter().position(|message| role_of(message) == "user");
    match first {
        Some(place) => {
            let user = taken(&rest[place]);
            let content = system.chain([user.content]).reduce(both).unwrap_or_else(|| "".into());
            rest[place] = Taken { role: user.role, content }.into_json();
        }
        None => {
            if let Some(content) = system.reduce(both) {
                rest.insert(0, Taken { role: "user".into(), content }.into_json());
            }
        }
    }
    rest
}

/// Joins messages of one role that follow each other.
fn joined(messages: Vec<Json>) -> Vec<Json> {
    let mut arranged: Vec<Json> = Vec::with_capacity(messages.len());
    for message in messages {
        match arranged.last() {
            Some(before) if role_of(before) == role_of(&message) => {
                let (one, other) = (taken(before), taken(&message));
                arranged.pop();
                let content = both(one.content, other.content);
                arranged.push(Taken { role: one.role, content }.into_json());
            }
            Some(_) | None => arranged.push(message),
        }
    }
    arranged
}

/// Joins two contents: texts to a text, others to a list of parts.
fn both(one: Json, other: Json) -> Json {
    match (text_of(&one), text_of(&other)) {
        (Some(one), Some(other)) => format!("{one}\n\n{other}").into(),
        _ => list(parts(one).into_iter().chain(parts(other))),
    }
}

fn parts(content: Json) -> Vec<Json> {
    match content {
        Json::List(parts) => parts,
        Json::Value(Value::Array(parts)) => parts.into_iter().map(Json::Value).collect(),
        other => {
            let text = text_of(&other).filter(|text| !text.is_empty());
            text.map(|text| object([("type", "text".into()), ("text", text.into())])).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::super::adaptation::Concession;
    use super::{Json, arranged};

    fn check(found: Concession, expected: &Value) {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"computer","arguments":"{\"action\":\"wait\"}"}}]}"#;
        let messages = vec![
            json!({ "role": "system", "content": "rules" }).into(),
            json!({ "role": "user", "content": "task" }).into(),
            Json::raw(call).expect("JSON"),
            json!({ "role": "tool", "tool_call_id": "a", "content": "Done." }).into(),
            json!({ "role": "user", "content": [{ "type": "image_url" }] }).into(),
        ];
        let told: Vec<Value> = arranged(messages, &BTreeSet::from([found]))
            .iter()
            .map(|message| serde_json::to_value(message).expect("JSON"))
            .collect();
        assert_eq!(&Value::from(told), expected);
    }

    #[test]
    fn messages_are_arranged_as_a_server_takes_them() {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "computer", "arguments": "{\"action\":\"wait\"}" } });
        let calling = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        let result = json!({ "role": "tool", "tool_call_id": "a", "content": "Done." });
        let seen = json!({ "role": "user", "content": [{ "type": "image_url" }] });
        check(
            Concession::NoUserAfterTool,
            &json!([
                { "role": "system", "content": "rules" }, { "role": "user", "content": "task" },
                calling, result, { "role": "assistant", "content": "[results read]" }, seen,
            ]),
        );
        check(
            Concession::SystemInUser,
            &json!([{ "role": "user", "content": "rules\n\ntask" }, calling, result, seen]),
        );
        let written = json!({ "role": "assistant", "content": "{\"tool\":\"computer\",\"arguments\":{\"action\":\"wait\"}}" });
        let both = json!({ "role": "user", "content": [{ "type": "text", "text": "Done." }, { "type": "image_url" }] });
        check(
            Concession::Alternating,
            &json!([{ "role": "system", "content": "rules" }, { "role": "user", "content": "task" }, written, both]),
        );
    }
}
