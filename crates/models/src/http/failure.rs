//! Classifies a server's refusal: retry never, now, or after a delay, and whether any other request could succeed. One
//! policy covers all providers, and follows their own clients: the server's advice first, then the status.

mod error_body;
mod kinds;
mod wait;

use std::time::Duration;

use apprentice_protocol::{BoundedText, ModelError, ModelErrorKind, Retry, TextBudget};
use jiff::Timestamp;
use serde_json::Value;

use error_body::ErrorBody;
use kinds::RefusalKind;
use wait::Headers;

/// A server that asks for a longer delay than this is not asked again.
const MAX_WAIT: Duration = Duration::from_secs(120);
const MESSAGE_BUDGET: TextBudget = TextBudget(600);

/// Classifies a status outside 200..=299. `headers` looks up a header by its lower-case name.
pub(crate) fn classify_status(status: u16, headers: Headers<'_>, body: &[u8], now: Timestamp) -> ModelError {
    let told = ErrorBody::read(body);
    let request = headers("request-id").or_else(|| headers("x-request-id"));
    let request = request.map_or_else(String::new, |id| format!(" (request {id})"));
    let message = format!("the server answered {status}: {}{request}", words_of(&told));
    classify(&Refusal { status, told: &told, message }, headers, now)
}

/// What a refusal says, with the field that it names.
fn words_of(told: &ErrorBody) -> String {
    let story = BoundedText::cut(&told.message, MESSAGE_BUDGET).as_str().to_owned();
    match &told.param {
        Some(field) if !story.contains(field.as_str()) => format!("{story} (field {field})"),
        Some(_) | None => story,
    }
}

/// A refusal, in a response of its own or inside one that says that it succeeded.
struct Refusal<'a> {
    status: u16,
    told: &'a ErrorBody,
    message: String,
}

fn classify(refusal: &Refusal<'_>, headers: Headers<'_>, now: Timestamp) -> ModelError {
    let Refusal { status, told, message } = refusal;
    if let Some(error) = permanent_error(refusal) {
        return error;
    }
    let passes = matches!(status, 408 | 409 | 425 | 429) || *status >= 500;
    let again = match headers("x-should-retry").as_deref() {
        Some("true") => true,
        Some("false") => false,
        Some(_) | None => passes,
    };
    if !again {
        return match passes {
            true => ModelError::never(ModelErrorKind::Unavailable, message.clone()),
            false => {
                let hint = "; the model's profile decides which fields, roles and pictures are sent (--profile FILE)";
                ModelError::never(ModelErrorKind::Refused, format!("{message}{hint}"))
            }
        };
    }
    let limited = || matches!(status, 429 | 503).then(|| wait::reset(headers, now)).flatten();
    let delay =
        wait::asked(headers, now).or(told.delay).or_else(|| wait::in_words(&told.message)).or_else(limited);
    let retry = match delay {
        Some(time) if time > MAX_WAIT => {
            let seconds = time.as_secs();
            let told = format!("{message}; it asks to wait {seconds} s, which is too long: resume then");
            return ModelError::lasting(ModelErrorKind::Unavailable, told);
        }
        Some(time) => Retry::After(time),
        None => Retry::Now,
    };
    ModelError { fault: ModelErrorKind::Unavailable, retry, message: message.clone() }
}

/// Returns an error for refusals that a retry cannot resolve, whatever the server advises.
fn permanent_error(refusal: &Refusal<'_>) -> Option<ModelError> {
    let Refusal { status, told, message } = refusal;
    let said = |hint: &str| format!("{message}{hint}");
    let never = |kind, hint: &str| Some(ModelError::never(kind, said(hint)));
    let lasting = |hint: &str| Some(ModelError::lasting(ModelErrorKind::Unavailable, said(hint)));
    match RefusalKind::of(*status, told) {
        RefusalKind::Context => never(ModelErrorKind::ContextFull, ""),
        RefusalKind::TooLarge => never(
            ModelErrorKind::TooLarge,
            "; choose a profile that sends fewer pictures (history_images), or raise the limit of the server or of the proxy before it",
        ),
        RefusalKind::NoPictures => never(
            ModelErrorKind::Refused,
            "; choose a profile that sends fewer pictures (history_images), or none (--profile text)",
        ),
        RefusalKind::Policy => never(ModelErrorKind::Policy, ""),
        RefusalKind::Unreadable => never(ModelErrorKind::Unreadable, ""),
        RefusalKind::Quota => lasting("; the account's credit or limit is used up: add credit, then resume"),
        RefusalKind::MinuteTooSmall => never(
            ModelErrorKind::Unavailable,
            "; the account's limit of tokens a minute is smaller than this request: raise it, or set a smaller context_tokens",
        ),
        RefusalKind::Key => lasting("; check the key"),
        RefusalKind::Model => lasting("; check the model's name, and that the server has loaded it"),
        RefusalKind::Crashed => {
            Some(ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message: said("") })
        }
        RefusalKind::Other => match status {
            401 | 403 => lasting("; check the key"),
            402 => lasting("; check the account's balance"),
            404 if told.message.to_lowercase().contains("tool") => never(
                ModelErrorKind::Refused,
                "; choose a model or a provider with tools, or a profile with dialect = \"json\"",
            ),
            404 | 405 | 410 => lasting("; check the model's name and the base URL"),
            300..=399 => lasting("; it sends one on to another address: set that as base_url"),
            _ => None,
        },
    }
}

/// Classifies a refusal that stands in a file of answers, where it has no headers.
pub(crate) fn refused_in_file(status: u16, body: &[u8]) -> ModelError {
    classify_status(status, &|_| None, body, Timestamp::UNIX_EPOCH)
}

/// Returns the error inside a body with status 200, if there is one.
pub(crate) fn error_in_success(body: &Value) -> Option<ModelError> {
    let error = body.get("error").filter(|error| says_something(error))?;
    let mut told = ErrorBody::of(error, 0);
    told.codes.extend(body.get("code").and_then(Value::as_str).map(str::to_lowercase));
    let code = told.codes.first().map_or("", String::as_str);
    let message = format!("the server answered 200 with an error inside: {code} {}", words_of(&told));
    // Without a status of its own, an error of a body that is no reply is asked about again.
    let Some(status) = status_of(&told) else {
        let refusal = Refusal { status: 200, told: &told, message };
        return Some(permanent_error(&refusal).unwrap_or(ModelError {
            fault: ModelErrorKind::Protocol,
            retry: Retry::Now,
            message: refusal.message,
        }));
    };
    Some(classify(&Refusal { status, told: &told, message }, &|_| None, Timestamp::UNIX_EPOCH))
}

/// Whether an `error` field holds an error. Some servers always have the field.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => fields.values().any(|value| !value.is_null()),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// The status that an error would have had in a response of its own.
fn status_of(told: &ErrorBody) -> Option<u16> {
    let number = |code: &String| code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
    let named = |code: &String| {
        let has = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
        match () {
            () if has(&["rate_limit", "resource_exhausted", "too_many_requests"]) => Some(429),
            () if has(&["overloaded", "unavailable"]) => Some(503),
            () if has(&["server_error", "internal", "api_error", "timeout", "upstream"]) => Some(500),
            () if has(&["authentication"]) => Some(401),
            () if has(&["permission"]) => Some(403),
            () if has(&["invalid_request", "badrequest", "bad_request", "invalid_argument"]) => Some(400),
            () => None,
        }
    };
    told.codes.iter().find_map(number).or_else(|| told.codes.iter().find_map(named))
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
        check(503, &[("retry-after", "Thu, 01 Jan 1970 00:00:07 GMT")], "{}", after(8000));
        check(503, &[("retry-after", "Wed, 31 Dec 1969 23:59:00 GMT")], "{}", after(0));
        check(429, &[("retry-after", "soon")], "{}", (UNAVAILABLE, Retry::Now));
        check(429, &[("retry-after", "3600")], "{}", (UNAVAILABLE, Retry::Lasting));
        check(429, &[("x-ratelimit-reset-tokens", "1.2s")], "{}", after(1200));
        check(429, &[], r#"{"error":{"message":"Please try again in 40s."}}"#, after(40_000));
        let google = r#"{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"4.5s"}]}}"#;
        check(429, &[], google, after(4500));
        check(529, &[], r#"{"type":"error","error":{"type":"overloaded_error"}}"#, (UNAVAILABLE, Retry::Now));
        check(500, &[("x-should-retry", "false")], "{}", (UNAVAILABLE, Retry::Never));
        check(422, &[("x-should-retry", "true")], "{}", (UNAVAILABLE, Retry::Now));
    }

    #[test]
    fn some_refusals_are_lasting_whatever_the_server_advises() {
        let spent = r#"{"error":{"type":"rate_limit_error","details":{"error_code":"contract_spend_limit_reached"}}}"#;
        check(429, &[("retry-after", "1")], spent, (UNAVAILABLE, Retry::Lasting));
        check(429, &[], r#"{"error":{"code":"insufficient_quota"}}"#, (UNAVAILABLE, Retry::Lasting));
        check(401, &[("x-should-retry", "true")], "{}", (UNAVAILABLE, Retry::Lasting));
        check(404, &[], "not here", (UNAVAILABLE, Retry::Lasting));
        check(400, &[], r#"{"error":{"message":"wrong field"}}"#, (ModelErrorKind::Refused, Retry::Never));
        let long = r#"{"error":{"code":"context_length_exceeded"}}"#;
        check(400, &[], long, (ModelErrorKind::ContextFull, Retry::Never));
        let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens"}"#;
        check(400, &[], vllm, (ModelErrorKind::ContextFull, Retry::Never));
        check(413, &[], "", (ModelErrorKind::TooLarge, Retry::Never));
        let bytes = r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
        check(413, &[], bytes, (ModelErrorKind::ContextFull, Retry::Never));
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
        assert_eq!((poor.fault, poor.retry), (UNAVAILABLE, Retry::Lasting));
        assert!(poor.message.contains("add credit"), "{poor}");
        let moved = told(308, "");
        assert_eq!((moved.fault, moved.retry), (UNAVAILABLE, Retry::Lasting));
        assert!(moved.message.contains("base_url"), "{moved}");
        let blind = told(400, r#"{"error":{"message":"At most 0 image(s) may be provided in one prompt."}}"#);
        assert_eq!(blind.fault, ModelErrorKind::Refused);
        assert!(blind.message.contains("--profile text"), "{blind}");
    }

    #[test]
    fn what_a_gateway_quotes_is_said_and_sorted() {
        let raw = r#"{"object":"error","message":"Unexpected role 'user' after role 'tool'","code":"3230"}"#;
        let body = json!({ "error": { "message": "Provider returned error", "code": 400,
            "metadata": { "raw": raw, "provider_name": "Mistral" } } });
        let quoted = classify_status(400, &|_| None, body.to_string().as_bytes(), Timestamp::UNIX_EPOCH);
        assert!(quoted.message.contains("after role 'tool'"), "{quoted}");
        let azure = r#"{"error":{"message":"filtered","param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
        check(400, &[], azure, (ModelErrorKind::Policy, Retry::Never));
        let xai = r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}"#;
        check(400, &[], xai, (ModelErrorKind::ContextFull, Retry::Never));
        let pydantic = r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}"#;
        let told = classify_status(422, &|_| None, pydantic.as_bytes(), Timestamp::UNIX_EPOCH);
        assert!(told.message.contains("body.seed: Extra inputs are not permitted"), "{told}");
        check(422, &[], pydantic, (ModelErrorKind::Refused, Retry::Never));
    }

    #[test]
    fn an_error_inside_a_200_is_one() {
        let fault = |body| error_in_success(&body).map(|error| (error.fault, error.retry));
        for empty in
            [json!({ "error": null }), json!({ "error": "" }), json!({ "error": {} }), json!({ "a": 1 })]
        {
            assert_eq!(fault(empty), None);
        }
        for (code, message, expected) in [
            (json!("server_error"), "", (UNAVAILABLE, Retry::Now)),
            (json!(402), "Insufficient credits", (UNAVAILABLE, Retry::Lasting)),
            (json!(401), "", (UNAVAILABLE, Retry::Lasting)),
            (json!(502), "Upstream provider disconnected", (UNAVAILABLE, Retry::Now)),
            (json!(429), "", (UNAVAILABLE, Retry::Now)),
            (json!(400), "maximum context length is 9", (ModelErrorKind::ContextFull, Retry::Never)),
            (json!(null), "maximum context length is 9", (ModelErrorKind::ContextFull, Retry::Never)),
            (json!("invalid_image"), "", (ModelErrorKind::Protocol, Retry::Now)),
        ] {
            let body = json!({ "error": { "code": code, "message": message } });
            assert_eq!(fault(body), Some(expected), "{code} {message}");
        }
    }
}
