//! Classifies a server's refusal: retry never, now, or after a delay. One policy covers all providers, and follows
//! their own clients: the server's advice first, then the status.

use std::time::Duration;

use apprentice_protocol::{BoundedText, ModelError, ModelErrorKind, Retry, TextBudget};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

/// A server that asks for a longer delay than this is not asked again.
const MAX_WAIT: Duration = Duration::from_secs(120);
const MESSAGE_BUDGET: TextBudget = TextBudget(600);

/// Parts of error codes for limits that only payment or a person can lift.
const QUOTA_CODES: &[&str] =
    &["insufficient_quota", "spend_limit", "billing", "credit", "quota_exceeded_permanently"];
/// Parts of error texts for the same: some providers send a general code with status 400.
const QUOTA_PHRASES: &[&str] =
    &["credit balance is too low", "insufficient credit", "insufficient balance", "billing hard limit"];
/// Error codes of requests that exceed the context.
const CONTEXT_CODES: &[&str] = &[
    "context_length_exceeded",
    "request_too_large",
    "exceed_context_size_error",
    "model_context_window_exceeded",
];
/// Error texts for the same: open-source servers send no code for it.
const CONTEXT_PHRASES: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "maximum model length",
    "model's context length",
    "context size",
    "exceed context limit",
    "exceeds the context",
    "exceeds the available context",
    "exceeds the maximum number of tokens",
    "contextwindowexceeded",
    "`max_new_tokens` must be",
];
/// Error texts of servers whose model takes no pictures, or fewer than were sent.
const NO_IMAGE_PHRASES: &[&str] = &[
    "not a multimodal model",
    "does not support image",
    "doesn't support image",
    "image input is not supported",
    "image(s) may be provided",
    "mmproj",
];

/// The parts of an error body, in any provider's format.
#[derive(Debug, Default)]
struct ErrorBody {
    code: String,
    message: String,
    /// The delay in the body (Google's `RetryInfo`), if any.
    delay: Option<Duration>,
}

/// Classifies a status outside 200..=299. `headers` looks up a header by its lower-case name.
pub(crate) fn classify_status(
    status: u16,
    headers: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
    now: Timestamp,
) -> ModelError {
    let told = told(body);
    let story = BoundedText::cut(&told.message, MESSAGE_BUDGET);
    let request = headers("request-id").or_else(|| headers("x-request-id"));
    let request = request.map_or_else(String::new, |id| format!(" (request {id})"));
    let message = format!("the server answered {status}: {}{request}", story.as_str());
    if let Some(error) = permanent_error(status, &told, &message) {
        return error;
    }
    let again = match headers("x-should-retry").as_deref() {
        Some("true") => true,
        Some("false") => false,
        Some(_) | None => matches!(status, 408 | 409 | 429) || status >= 500,
    };
    if !again {
        let fault = if status >= 500 || matches!(status, 408 | 409 | 429) {
            ModelErrorKind::Unavailable
        } else {
            ModelErrorKind::Request
        };
        return ModelError::never(fault, message);
    }
    let retry = match wait(headers, now).or(told.delay) {
        Some(time) if time > MAX_WAIT => {
            let message = format!("{message}; it asks to wait {} s, which is too long", time.as_secs());
            return ModelError::never(ModelErrorKind::Unavailable, message);
        }
        Some(time) => Retry::After(time),
        None => Retry::Now,
    };
    ModelError { fault: ModelErrorKind::Unavailable, retry, message }
}

/// Returns an error for refusals that a retry cannot resolve, whatever the server advises.
fn permanent_error(status: u16, told: &ErrorBody, message: &str) -> Option<ModelError> {
    let code = told.code.to_lowercase();
    let words = told.message.to_lowercase();
    let never = |fault, hint: &str| Some(ModelError::never(fault, format!("{message}{hint}")));
    if CONTEXT_CODES.contains(&code.as_str())
        || status == 413
        || CONTEXT_PHRASES.iter().any(|part| words.contains(part))
    {
        return never(ModelErrorKind::ContextFull, "");
    }
    if QUOTA_PHRASES.iter().any(|part| words.contains(part)) {
        return never(
            ModelErrorKind::Unavailable,
            "; the account's credit is too low: add credit, then resume",
        );
    }
    match status {
        401 | 403 => never(ModelErrorKind::Unavailable, "; check the key"),
        402 => never(ModelErrorKind::Unavailable, "; check the account's balance"),
        404 | 405 => never(ModelErrorKind::Unavailable, "; check the model's name and the base URL"),
        300..=399 => {
            never(ModelErrorKind::Unavailable, "; it sends one on to another address: set that as base_url")
        }
        _ if NO_IMAGE_PHRASES.iter().any(|part| words.contains(part)) => {
            let hint =
                "; choose a profile that sends fewer pictures (history_images), or none (--profile text)";
            never(ModelErrorKind::Request, hint)
        }
        429 if QUOTA_CODES.iter().any(|part| code.contains(part)) => {
            never(ModelErrorKind::Unavailable, "; a spending limit does not pass by waiting")
        }
        _ => None,
    }
}

/// Classifies a refusal that stands in a file of answers, where it has no headers.
pub(crate) fn refused_in_file(status: u16, body: &[u8]) -> ModelError {
    classify_status(status, &|_| None, body, Timestamp::UNIX_EPOCH)
}

/// Returns the error inside a body with status 200, if there is one.
pub(crate) fn error_in_success(body: &Value) -> Option<ModelError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let told = error_body_of(error);
    let story = BoundedText::cut(&told.message, MESSAGE_BUDGET);
    let message = format!("the server answered 200 with an error inside: {} {}", told.code, story.as_str());
    let code = told.code.to_lowercase();
    if CONTEXT_CODES.contains(&code.as_str()) {
        return Some(ModelError::never(ModelErrorKind::ContextFull, message));
    }
    let passing =
        ["server_error", "rate_limit", "overloaded", "unavailable", "internal", "timeout", "50", "429"];
    Some(match passing.iter().any(|part| code.contains(part)) {
        true => ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message },
        false => ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message },
    })
}

fn told(body: &[u8]) -> ErrorBody {
    match serde_json::from_slice::<Value>(body) {
        // Gemini wraps errors in a list when it streams.
        Ok(Value::Array(items)) => {
            items.first().map(|item| error_body_of(&item["error"])).unwrap_or_default()
        }
        Ok(value) if value.get("error").is_some() => error_body_of(&value["error"]),
        Ok(value) => error_body_of(&value),
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let message = if words.is_empty() { "no words".into() } else { words };
            ErrorBody { message, ..ErrorBody::default() }
        }
    }
}

fn error_body_of(error: &Value) -> ErrorBody {
    if let Some(text) = error.as_str() {
        return ErrorBody { message: text.to_owned(), ..ErrorBody::default() };
    }
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let codes = [&error["details"]["error_code"], &error["code"], &error["type"], &error["status"]];
    let message = word(&error["message"]).or_else(|| word(&error["detail"]));
    ErrorBody {
        code: codes.into_iter().find_map(word).unwrap_or_default(),
        message: message.unwrap_or_else(|| error.to_string()),
        delay: delay(&error["details"]),
    }
}

fn delay(details: &Value) -> Option<Duration> {
    let text = details.as_array()?.iter().find_map(|one| one["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

/// Returns the delay that the server requests: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn wait(headers: &dyn Fn(&str) -> Option<String>, now: Timestamp) -> Option<Duration> {
    let seconds = |text: &str, scale: f64| {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
        Duration::try_from_secs_f64(value * scale).ok()
    };
    if let Some(time) = headers("retry-after-ms").and_then(|text| seconds(&text, 0.001)) {
        return Some(time);
    }
    let text = headers("retry-after")?;
    if let Some(time) = seconds(&text, 1.0) {
        return Some(time);
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::{ModelErrorKind, Retry};
    use jiff::Timestamp;
    use serde_json::json;

    use super::{classify_status, error_in_success};

    fn check(status: u16, headers: &[(&str, &str)], body: &str, expected: (ModelErrorKind, Retry)) {
        let find =
            |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let error = classify_status(status, &find, body.as_bytes(), Timestamp::UNIX_EPOCH);
        assert_eq!((error.fault, error.retry), expected, "{status} {headers:?} {body}: {error}");
    }

    const UNAVAILABLE: ModelErrorKind = ModelErrorKind::Unavailable;

    #[test]
    fn the_servers_word_comes_first_and_then_the_status() {
        let after = |ms| (UNAVAILABLE, Retry::After(Duration::from_millis(ms)));
        check(429, &[("retry-after-ms", "1500"), ("retry-after", "9")], "{}", after(1500));
        check(429, &[("retry-after", "2.5")], "{}", after(2500));
        check(503, &[("retry-after", "Thu, 01 Jan 1970 00:00:07 GMT")], "{}", after(7000));
        check(503, &[("retry-after", "Wed, 31 Dec 1969 23:59:00 GMT")], "{}", after(0));
        check(429, &[("retry-after", "soon")], "{}", (UNAVAILABLE, Retry::Now));
        check(429, &[("retry-after", "3600")], "{}", (UNAVAILABLE, Retry::Never));
        let google = r#"{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"4.5s"}]}}"#;
        check(429, &[], google, after(4500));
        check(529, &[], r#"{"type":"error","error":{"type":"overloaded_error"}}"#, (UNAVAILABLE, Retry::Now));
        check(500, &[("x-should-retry", "false")], "{}", (UNAVAILABLE, Retry::Never));
        check(422, &[("x-should-retry", "true")], "{}", (UNAVAILABLE, Retry::Now));
    }

    #[test]
    fn some_refusals_are_lasting_whatever_the_server_advises() {
        let spent = r#"{"error":{"type":"rate_limit_error","details":{"error_code":"contract_spend_limit_reached"}}}"#;
        check(429, &[("retry-after", "1")], spent, (UNAVAILABLE, Retry::Never));
        check(429, &[], r#"{"error":{"code":"insufficient_quota"}}"#, (UNAVAILABLE, Retry::Never));
        check(401, &[("x-should-retry", "true")], "{}", (UNAVAILABLE, Retry::Never));
        check(404, &[], "not here", (UNAVAILABLE, Retry::Never));
        check(400, &[], r#"{"error":{"message":"wrong field"}}"#, (ModelErrorKind::Request, Retry::Never));
        let long = r#"{"error":{"code":"context_length_exceeded"}}"#;
        check(400, &[], long, (ModelErrorKind::ContextFull, Retry::Never));
        let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens"}"#;
        check(400, &[], vllm, (ModelErrorKind::ContextFull, Retry::Never));
        check(413, &[], "", (ModelErrorKind::ContextFull, Retry::Never));
        for (status, words) in [
            (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
            (400, "The input (8192 tokens) is longer than the model's context length (4096 tokens)."),
            (400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
            (500, "the request exceeds the available context size, try increasing it"),
            (422, "`inputs` tokens + `max_new_tokens` must be <= 4096."),
        ] {
            let body = json!({ "error": { "message": words } }).to_string();
            check(status, &[], &body, (ModelErrorKind::ContextFull, Retry::Never));
        }
    }

    #[test]
    fn what_a_person_can_mend_is_said() {
        let told =
            |status, body: &str| classify_status(status, &|_| None, body.as_bytes(), Timestamp::UNIX_EPOCH);
        let poor = told(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
        );
        assert_eq!((poor.fault, poor.retry), (UNAVAILABLE, Retry::Never));
        assert!(poor.message.contains("add credit"), "{poor}");
        let moved = told(308, "");
        assert_eq!((moved.fault, moved.retry), (UNAVAILABLE, Retry::Never));
        assert!(moved.message.contains("base_url"), "{moved}");
        let blind = told(400, r#"{"error":{"message":"At most 0 image(s) may be provided in one prompt."}}"#);
        assert_eq!(blind.fault, ModelErrorKind::Request);
        assert!(blind.message.contains("--profile text"), "{blind}");
    }

    #[test]
    fn an_error_inside_a_200_is_one() {
        let fault = |body| error_in_success(&body).map(|error| (error.fault, error.retry));
        assert_eq!(fault(json!({ "error": null })), None);
        assert_eq!(fault(json!({ "error": { "code": "server_error" } })), Some((UNAVAILABLE, Retry::Now)));
        assert_eq!(
            fault(json!({ "error": { "code": "invalid_image" } })),
            Some((ModelErrorKind::Protocol, Retry::Now))
        );
    }
}
