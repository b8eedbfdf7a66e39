//! Reads the body of a refusal, in any provider's form: what it says, and the codes by which it can be sorted.

use std::time::Duration;

use serde_json::Value;

/// How deep errors inside errors are read: a gateway quotes a provider that quotes a server.
const DEEPEST: u32 = 3;

/// The parts of an error body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    /// Codes, types and names of the error in lower case, the most exact first.
    pub(super) codes: Vec<String>,
    /// What it says, with what it quotes from behind the server.
    pub(super) message: String,
    /// The field of the request that it names.
    pub(super) param: Option<String>,
    /// The delay in the body (Google's `RetryInfo`), if any.
    pub(super) delay: Option<Duration>,
    /// Whether the body is JSON, as a model's server sends, and not the page of a proxy.
    pub(super) is_json: bool,
}

impl ErrorBody {
    /// Reads the body of a response with an error status.
    pub(super) fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let message = if words.is_empty() { "no words".into() } else { words };
            return Self { message, ..Self::default() };
        };
        Self { is_json: true, ..Self::of(&value, 0) }
    }

    /// Reads an error object, or a body that holds one.
    pub(super) fn of(value: &Value, depth: u32) -> Self {
        match value {
            // Gemini wraps errors in a list when it streams.
            Value::Array(items) => items.first().map(|item| Self::of(item, depth)).unwrap_or_default(),
            Value::String(text) => Self { message: text.clone(), ..Self::default() },
            Value::Object(fields) => match fields.get("error").filter(|error| !error.is_null()) {
                Some(error) => {
                    let mut inner = Self::of(error, depth);
                    // xAI and others put the code beside the words.
                    inner.codes.extend(codes(value));
                    inner
                }
                None => Self::of_object(value, depth),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                Self { message: value.to_string(), ..Self::default() }
            }
        }
    }

    fn of_object(error: &Value, depth: u32) -> Self {
        let said = [&error["message"], &error["Message"], &error["detail"], &error["msg"], &error["errors"]];
        let mut body = Self {
            codes: codes(error),
            param: field_of(error),
            delay: delay(&error["details"]),
            ..Self::default()
        };
        body.message =
            said.into_iter().find_map(|value| text_of(value, &mut body)).unwrap_or_else(|| error.to_string());
        if depth < DEEPEST {
            body.add_quoted(&error["metadata"]["raw"], depth);
            body.add_quoted(&error["innererror"], depth);
        }
        if let Some(written) = error["failed_generation"].as_str() {
            body.message = format!("{}: {written}", body.message);
        }
        body
    }

    /// Adds an error that this one quotes, as a value or as JSON in a string.
    fn add_quoted(&mut self, quoted: &Value, depth: u32) {
        let parsed = quoted.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let quoted = parsed.as_ref().unwrap_or(quoted);
        if quoted.is_null() {
            return;
        }
        let inner = Self::of(quoted, depth + 1);
        self.codes.extend(inner.codes);
        self.param = self.param.take().or(inner.param);
        self.delay = self.delay.or(inner.delay);
        // Azure's inner error has codes and no words.
        let says_more =
            quoted.is_string() || ["message", "error", "detail"].iter().any(|key| !quoted[key].is_null());
        if says_more && !self.message.contains(&inner.message) {
            self.message = format!("{}: {}", self.message, inner.message);
        }
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn codes(error: &Value) -> Vec<String> {
    let places = [
        &error["details"]["error_code"],
        &error["code"],
        &error["error_code"],
        &error["type"],
        &error["status"],
        &error["error_type"],
        &error["__type"],
        &error["metadata"]["error_type"],
    ];
    let mut codes: Vec<String> =
        places.into_iter().filter_map(word).map(|code| code.to_lowercase()).collect();
    // OpenRouter gives the reasons of a moderation so.
    if error["metadata"]["reasons"].is_array() || error["metadata"]["flagged_input"].is_string() {
        codes.push("moderation".into());
    }
    // Google's details name the reason: `API_KEY_INVALID`.
    let details = error["details"].as_array().into_iter().flatten();
    codes.extend(details.filter_map(|one| word(&one["reason"])).map(|code| code.to_lowercase()));
    codes
}

/// The words of a message: a text, or the list of faults of a form that Python's servers send.
fn text_of(value: &Value, body: &mut ErrorBody) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(faults) if !faults.is_empty() => {
            let told = faults.iter().map(|fault| {
                let place: Vec<String> =
                    fault["loc"].as_array().into_iter().flatten().filter_map(word).collect();
                body.param =
                    body.param.take().or_else(|| place.iter().rev().find(|one| *one != "body").cloned());
                body.codes.extend(word(&fault["type"]));
                let said = word(&fault["msg"]).or_else(|| word(&fault["message"])).or_else(|| word(fault));
                format!("{}: {}", place.join("."), said.unwrap_or_else(|| fault.to_string()))
            });
            Some(told.collect::<Vec<_>>().join("; ").trim_start_matches(": ").to_owned())
        }
        // Mistral puts the list of faults one deeper.
        Value::Object(_) => ["detail", "message"].iter().find_map(|key| text_of(&value[key], body)),
        Value::String(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn field_of(error: &Value) -> Option<String> {
    word(&error["param"]).or_else(|| word(&error["field"]))
}

fn delay(details: &Value) -> Option<Duration> {
    let text = details.as_array()?.iter().find_map(|one| one["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}
