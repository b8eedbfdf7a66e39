//! What a server was found not to take: a field, a role, an order of roles, tools. Its refusal says so once; from then on
//! requests go without, for as long as the run lasts, and each conversation records it.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ModelError, ModelErrorKind};

use super::profile::{ActionFormat, Structured, StudentProfile, TokenField};

/// So many things are left out for one request. A server that still refuses it does so for another reason.
pub(super) const MOST_CONCESSIONS: usize = 8;

/// Optional fields of a request, as they are named in it.
const FIELDS: [&str; 9] = [
    "logprobs",
    "temperature",
    "seed",
    "stop",
    "stream_options",
    "reasoning_effort",
    "prompt_cache_key",
    "service_tier",
    "top_p",
];
/// Names that are also plain words are looked for in quotes only.
const PLAIN_WORDS: [&str; 2] = ["seed", "stop"];
/// Words of a refusal that is about a field.
const REFUSALS: [&str; 18] = [
    "unsupported",
    "not support",
    "n't support",
    "unrecognized",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "not available",
    "not accepted",
    "extra input",
    "extra field",
    "extra_forbidden",
    "invalid",
    "only the default",
    "must be",
    "should be",
    "deprecated",
];

/// Words of servers that take no tools, or none without a parser of calls.
const TOOLS: [&str; 13] = [
    "tool choice requires",
    "tool-call-parser",
    "support tool",
    "support function call",
    "tools are not supported",
    "tools is not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "tool calls are not supported",
    "function calling is not",
    "field tools)",
    "field tool_choice)",
    "body.tools",
];
const USER_AFTER_TOOL: [&str; 5] = [
    "after role 'tool'",
    "after role \"tool\"",
    "after role `tool`",
    "user message after tool",
    "user after tool",
];
const ORDER_OF_ROLES: [&str; 5] =
    ["must alternate", "should alternate", "roles alternate", "consecutive user", "consecutive messages"];
const UNKNOWN_ROLE: [&str; 5] =
    ["alternat", "'tool' is not", "unknown role tool", "unexpected role tool", "invalid role: tool"];
const SYSTEM: [&str; 9] = [
    "system role",
    "system message",
    "system prompt",
    "role 'system'",
    "role: system",
    "role system",
    "\"system\"",
    "developer instruction",
    "system instruction",
];
const SYSTEM_REFUSED: [&str; 9] = [
    "not support",
    "n't support",
    "unsupported",
    "not enabled",
    "unknown",
    "unexpected",
    "invalid",
    "not allowed",
    "only user and assistant",
];
const FORM_OF_ANSWERS: [&str; 7] =
    ["response_format", "json_schema", "json schema", "structured output", "json mode", "guided", "grammar"];
/// Words by which a server refuses any form, not only a schema.
const NO_FORM: [&str; 4] = ["json_object", "json mode", "response_format is not", "response_format' is not"];

/// Something that is left out or written otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Concession {
    /// This optional field is left out.
    Without(&'static str),
    /// The limit on the output has the other name.
    TokenField(TokenField),
    /// A reply is asked for with at most so many tokens.
    MostOutput(u32),
    /// The form of an answer is enforced as a JSON object, or not at all.
    Structured(Structured),
    /// The system prompt stands in the first message of the user.
    SystemInUser,
    /// A message of the user never follows a tool's.
    NoUserAfterTool,
    /// Messages of user and model alternate, without a role for tools.
    Alternating,
    /// Calls are asked for and written as JSON in the words.
    NoTools,
}

impl Concession {
    /// Describes the concession, with the remedy where a setting of the server or of the profile would make it needless.
    fn told(&self) -> String {
        match self {
            Self::Without(field) => format!("the server refuses {field:?}: requests go without it"),
            Self::TokenField(field) => format!("the server wants the limit on the output as {:?}", field.as_str()),
            Self::MostOutput(most) => format!("the server gives at most {most} tokens a reply: max_output_tokens is lowered"),
            Self::Structured(Structured::JsonObject) => {
                "the server enforces no schema: answers are asked for as a JSON object (profile: structured = \"json_object\")".into()
            }
            Self::Structured(_) => {
                "the server enforces no form: the prompt asks for it (profile: structured = \"words\")".into()
            }
            Self::SystemInUser => "the server takes no system role: the system prompt stands in the first message".into(),
            Self::NoUserAfterTool => {
                "the server takes no message after a tool's: a turn of the model is put between them".into()
            }
            Self::Alternating => {
                "the server wants user and model to alternate: messages are joined, and calls are written as words".into()
            }
            Self::NoTools => "the server takes no tools: calls are asked for as JSON in words. If the model knows tools, start \
                              the server with its parser (vLLM: --enable-auto-tool-choice --tool-call-parser NAME, llama.cpp: \
                              --jinja, SGLang: --tool-call-parser NAME), else set dialect = \"json\" in the profile"
                .into(),
        }
    }
}

/// What was sent, as far as a refusal may be about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    /// The profile by which the request was written.
    pub(super) student: &'a StudentProfile,
    /// The body of the request.
    pub(super) body: &'a str,
}

/// What one server was found not to take. The conversations of a run share it.
#[derive(Debug, Default)]
pub struct Adaptation(Mutex<BTreeSet<Concession>>);

impl Adaptation {
    /// Returns what was found so far.
    pub(super) fn found(&self) -> BTreeSet<Concession> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes in that the server presents no tools to the model, as it says itself.
    pub fn without_tools(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Concession::NoTools);
    }

    /// Takes in what a refusal is about. Returns whether the request may be asked again in another form.
    pub(super) fn learn(&self, error: &ModelError, sent: Sent<'_>) -> bool {
        let sorted = matches!(
            error.fault,
            ModelErrorKind::Refused | ModelErrorKind::Unavailable | ModelErrorKind::Protocol
        );
        // A key or an account that is refused takes no other form, either.
        if !sorted || error.is_lasting() {
            return false;
        }
        let Some(one) = concession(&error.message.to_lowercase(), sent) else { return false };
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = found.insert(one.clone());
        drop(found);
        if is_new {
            tracing::warn!("{}", one.told());
        }
        is_new
    }
}

/// Describes what requests leave out.
pub(super) fn told(found: &BTreeSet<Concession>) -> Vec<String> {
    found.iter().map(Concession::told).collect()
}

/// Returns the profile by which requests are written and replies are read.
pub(super) fn adapted(student: &StudentProfile, found: &BTreeSet<Concession>) -> StudentProfile {
    let mut student = student.clone();
    for one in found {
        match one {
            Concession::Without("temperature") => student.temperature = None,
            Concession::Without("seed") => student.seed = false,
            Concession::Without("stop") => student.stop.clear(),
            Concession::TokenField(field) => student.token_field = *field,
            Concession::MostOutput(most) => student.max_output_tokens = student.max_output_tokens.min(*most),
            Concession::Structured(structured) => student.structured = *structured,
            Concession::NoTools | Concession::Alternating if student.dialect == ActionFormat::Tools => {
                student.dialect = ActionFormat::Json;
            }
            Concession::Without(_)
            | Concession::SystemInUser
            | Concession::NoUserAfterTool
            | Concession::Alternating
            | Concession::NoTools => {}
        }
    }
    student
}

fn concession(words: &str, sent: Sent<'_>) -> Option<Concession> {
    let was_sent = |field: &str| sent.body.contains(&format!("\"{field}\":"));
    if is_about_tools(words) && was_sent("tools") {
        return Some(Concession::NoTools);
    }
    if has(words, &USER_AFTER_TOOL) {
        return Some(Concession::NoUserAfterTool);
    }
    if has(words, &ORDER_OF_ROLES) || words.contains("role") && has(words, &UNKNOWN_ROLE) {
        return Some(Concession::Alternating);
    }
    if has(words, &SYSTEM) && has(words, &SYSTEM_REFUSED) {
        return Some(Concession::SystemInUser);
    }
    if let Some(limit) = limit_of_output(words, sent.student) {
        return Some(limit);
    }
    if has(words, &FORM_OF_ANSWERS) && was_sent("response_format") {
        return Some(Concession::Structured(weaker_form(words, sent.student.structured)));
    }
    let refused = |field: &&str| was_sent(field) && names(words, field) && has(words, &REFUSALS);
    FIELDS.into_iter().find(refused).map(Concession::Without)
}

fn has(words: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| words.contains(part))
}

fn is_about_tools(words: &str) -> bool {
    has(words, &TOOLS) || names(words, "tools") && has(words, &REFUSALS) && !words.contains("tools[")
}

/// Returns the next weaker way to ask for the form of an answer.
fn weaker_form(words: &str, structured: Structured) -> Structured {
    let is_schema = matches!(structured, Structured::JsonSchema | Structured::OpenaiSchema);
    if is_schema && !has(words, &NO_FORM) { Structured::JsonObject } else { Structured::Words }
}

/// The concession for a refusal of the limit on the output: its name, or its size.
fn limit_of_output(words: &str, student: &StudentProfile) -> Option<Concession> {
    let named = words.contains("max_tokens") || words.contains("max_completion_tokens");
    if !named || words.contains("context") {
        return None;
    }
    let most = ["at most ", "maximum of ", "less than or equal to ", "maximum allowed is ", "<= "]
        .iter()
        .find_map(|head| number(words.split_once(head)?.1))
        .filter(|most| *most > 0 && *most < student.max_output_tokens);
    if let Some(most) = most {
        return Some(Concession::MostOutput(most));
    }
    let refused = REFUSALS.iter().any(|part| words.contains(part));
    refused.then_some(Concession::TokenField(match student.token_field {
        TokenField::MaxTokens => TokenField::MaxCompletionTokens,
        TokenField::MaxCompletionTokens => TokenField::MaxTokens,
    }))
}

fn number(text: &str) -> Option<u32> {
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Whether the words name a field, and not a longer one or a plain word.
fn names(words: &str, field: &str) -> bool {
    let quoted = |before: char, after: char| {
        let pairs = ["''", "\"\"", "``", "“”"];
        pairs.iter().any(|pair| pair.starts_with(before) && pair.ends_with(after))
    };
    words.match_indices(field).any(|(place, _)| {
        let before = words[..place].chars().next_back().unwrap_or(' ');
        let after = words[place + field.len()..].chars().next().unwrap_or(' ');
        let whole = |c: char| !(c.is_alphanumeric() || c == '_');
        let stands = whole(before) && whole(after);
        let marked = quoted(before, after)
            || words[..place].ends_with("body.")
            || words[..place].ends_with("field ")
            || words[..place].ends_with("parameter ")
            || words[..place].ends_with("parameter: ");
        stands && (marked || !PLAIN_WORDS.contains(&field))
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ModelError, ModelErrorKind};

    use super::{Adaptation, Concession, Sent, Structured, StudentProfile, TokenField};

    const BODY: &str = r#"{"model":"m","messages":[],"max_tokens":2048,"temperature":0.0,"seed":1,"stop":["x"],"stream_options":{},"tools":[],"response_format":{}}"#;

    fn found(words: &str) -> Option<Concession> {
        let student = StudentProfile::load("generic").expect("is sound");
        let adaptation = Adaptation::default();
        let error = ModelError::never(ModelErrorKind::Refused, format!("the server answered 400: {words}"));
        let learned = adaptation.learn(&error, Sent { student: &student, body: BODY });
        assert!(
            !learned || !adaptation.learn(&error, Sent { student: &student, body: BODY }),
            "once: {words}"
        );
        adaptation.found().into_iter().next()
    }

    #[test]
    fn a_refusal_tells_what_to_leave_out() {
        use Concession::{Alternating, MostOutput, NoTools, NoUserAfterTool, SystemInUser, Without};
        for (words, expected) in [
            (
                "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
                Without("temperature"),
            ),
            ("`temperature` is deprecated for this model.", Without("temperature")),
            ("body.seed: Extra inputs are not permitted", Without("seed")),
            ("Unrecognized request argument supplied (field seed)", Without("seed")),
            ("Unsupported parameter: 'stop' is not supported with this model.", Without("stop")),
            ("Unknown parameter: stream_options", Without("stream_options")),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Concession::TokenField(TokenField::MaxCompletionTokens),
            ),
            (
                "max_tokens is too large: 2048. This model supports at most 1024 completion tokens, whereas you provided 2048.",
                MostOutput(1024),
            ),
            ("System role not supported", SystemInUser),
            ("Developer instruction is not enabled for models/gemma-3-27b-it", SystemInUser),
            ("messages[0]: unknown role 'system'", SystemInUser),
            ("Unexpected role 'user' after role 'tool'", NoUserAfterTool),
            ("Conversation roles must alternate user/assistant/user/assistant/...", Alternating),
            (
                "After the optional system message, conversation roles must alternate user and assistant roles",
                Alternating,
            ),
            (
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                NoTools,
            ),
            ("registry.ollama.ai/library/gemma3:4b does not support tools", NoTools),
            ("No endpoints found that support tool use. Try disabling \"computer\".", NoTools),
            ("tools is not supported in this model.", NoTools),
            (
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                Concession::Structured(Structured::JsonObject),
            ),
            ("response_format is not supported by this server", Concession::Structured(Structured::Words)),
        ] {
            assert_eq!(found(words), Some(expected), "{words}");
        }
    }

    #[test]
    fn other_refusals_leave_nothing_out() {
        for words in [
            "the server stopped: a seed of doubt",
            "Invalid 'messages[3].content': expected a string",
            "Invalid 'tools[0].function.name': string does not match pattern",
            "top_p must be below 1",
            "bad request",
            "'prompt_cache_key' is not permitted",
        ] {
            assert_eq!(found(words), None, "{words}");
        }
        let student = StudentProfile::load("generic").expect("is sound");
        let key = ModelError::lasting(ModelErrorKind::Unavailable, "invalid key: system role not supported");
        assert!(!Adaptation::default().learn(&key, Sent { student: &student, body: BODY }));
    }
}
