//! Sorts refusals by what providers publish: first codes and types, then words. Open-source servers send words alone.

use super::error_body::ErrorBody;

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// The conversation exceeds the model's context.
    Context,
    /// The request has more bytes or more pictures than somebody on the way takes.
    TooLarge,
    /// The model takes no pictures, or its server takes none for it.
    NoPictures,
    /// A policy refuses what the request says.
    Policy,
    /// The server cannot read what the model wrote.
    Unreadable,
    /// Payment or a person must lift a limit.
    Quota,
    /// The account's limit of tokens a minute is smaller than the request.
    MinuteTooSmall,
    /// The key is wrong, or may not do this.
    Key,
    /// There is no such model.
    Model,
    /// The model ended, or is being loaded.
    Crashed,
    /// None of these: the status decides.
    Other,
}

/// Codes, types and reasons in lower case, as providers publish them.
const CODES: &[(RefusalKind, &[&str])] = &[
    (
        RefusalKind::Context,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "contextwindowexceedederror",
            "request_too_large",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "model_max_prompt_tokens_exceeded",
            // Z.ai.
            "1261",
        ],
    ),
    (
        RefusalKind::Policy,
        &[
            "content_filter",
            "responsibleaipolicyviolation",
            "content_policy_violation",
            "contentpolicyviolationerror",
            "data_inspection_failed",
            "datainspectionfailed",
            "content_moderation",
            "moderation",
            "moderation_blocked",
            "content_blocked",
            "unsafe_content",
            "safety_check_failed",
            "sensitive_content",
            "prohibited_content",
            "guardrail_intervened",
            // Z.ai: unsafe or sensitive input or output.
            "1301",
        ],
    ),
    // What Groq's server could not read of the model's words.
    (RefusalKind::Unreadable, &["tool_use_failed", "output_parse_failed", "json_validate_failed"]),
    (
        RefusalKind::Quota,
        &[
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_credits",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "quota_exceeded_permanently",
            "exceeded_current_quota_error",
            "arrearage",
            "payment_required",
            // Z.ai: the balance is used up, or the account is locked or in arrears.
            "1112",
            "1113",
        ],
    ),
    (
        RefusalKind::Key,
        &[
            "invalid_api_key",
            "invalidapikey",
            "api_key_invalid",
            "authentication_error",
            "permission_error",
            "account_deactivated",
            "unrecognizedclientexception",
            "accessdeniedexception",
            "expiredtokenexception",
        ],
    ),
    (
        RefusalKind::Model,
        &["model_not_found", "modelnotfound", "deploymentnotfound", "model_not_available", "invalid_model"],
    ),
];

/// Parts of codes of limits that only payment lifts: `contract_spend_limit_reached`.
const QUOTA_PARTS: &[&str] = &["spend_limit", "billing", "credit"];

const POLICY_WORDS: &[&str] = &[
    "content management policy",
    "content policy",
    "usage policy",
    "usage policies",
    "safety policy",
    "policy violation",
    "requires moderation",
    "was flagged",
    "been flagged",
    "flagged as potentially",
    "inappropriate content",
    "sensitive content",
    "unsafe or sensitive",
    "limited access to this content for safety",
    "blocked by our safety",
    "content filter",
];
const UNREADABLE_WORDS: &[&str] = &[
    "failed to parse tool call",
    "error parsing tool call",
    "failed to parse input at pos",
    "failed to parse the tool call",
    "failed to parse function call",
    "failed to call a function",
    "invalid tool call arguments",
    "model produced invalid",
    "tool call parsing failed",
    "failed to parse output",
];
const QUOTA_WORDS: &[&str] = &[
    "credit balance is too low",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "balance is insufficient",
    "exceeded your current quota",
    "billing hard limit",
    "out of credits",
    "more credits",
    "overdue payment",
    "account is in arrears",
    "payment required",
    "spending limit",
];
const KEY_WORDS: &[&str] = &[
    "api key not valid",
    "invalid api key",
    "incorrect api key",
    "invalid api_key",
    "invalid x-api-key",
    "invalid token",
    "no auth credentials",
    "api key expired",
    "token has expired",
    "security token included in the request",
];
const MODEL_WORDS: &[&str] = &[
    "try pulling it first",
    "no models loaded",
    "model not found",
    "model does not exist",
    "invalid model name",
    "invalid model identifier",
    "is not a valid model",
    "no such model",
    "unknown model",
    "model is not available",
    "on-demand throughput isn",
];
const CRASHED_WORDS: &[&str] = &[
    "model has crashed",
    "model crashed",
    "loading model",
    "model is loading",
    "model is currently loading",
];
const NO_PICTURE_WORDS: &[&str] = &[
    "not a multimodal model",
    "does not support image",
    "doesn't support image",
    "do not support image",
    "not support image",
    "support image input",
    "image input is not supported",
    "images are not supported",
    "image_url is not supported",
    "image_url is only supported",
    "does not support vision",
    "does not support multimodal",
    "vision is not supported",
    "unknown variant `image_url`",
    "at most 0 image",
    "mmproj",
];
const TOO_LARGE_WORDS: &[&str] = &[
    "request entity too large",
    "payload too large",
    "content too large",
    "request body too large",
    "request body is too large",
    "body size limit",
    "exceeded the maximum request size",
    "request size exceeds",
    "request payload size exceeds",
    "length limit exceeded",
    "too many images",
    "too many image",
    "image(s) may be provided",
    "too much media",
];
/// With "image", these say that there are too many.
const MANY_PICTURES_WORDS: &[&str] =
    &["at most", "maximum of", "maximum number of", "up to", "more than", "exceed", "limit", "no more than"];

impl RefusalKind {
    /// Sorts a refusal.
    pub(super) fn of(status: u16, told: &ErrorBody) -> Self {
        let words = told.message.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        if is_rate(&words) {
            // A request that is larger than the limit of a minute passes in no minute.
            let too_large = status == 413 || words.contains("request too large");
            return if too_large { Self::MinuteTooSmall } else { by_code(told).unwrap_or(Self::Other) };
        }
        if let Some(kind) = by_code(told) {
            return kind;
        }
        // OpenAI's code for a policy's refusal; gateways use it for broken requests, too.
        if told.codes.iter().any(|code| code == "invalid_prompt")
            && has(&["flagged", "policy", "safety", "violat"])
        {
            return Self::Policy;
        }
        let listed = [
            (Self::Unreadable, UNREADABLE_WORDS),
            (Self::NoPictures, NO_PICTURE_WORDS),
            (Self::TooLarge, TOO_LARGE_WORDS),
        ];
        if let Some((kind, _)) = listed.iter().find(|(_, parts)| has(parts)) {
            return *kind;
        }
        if has(&["image", "picture", "media"])
            && has(MANY_PICTURES_WORDS)
            && words.contains(|c: char| c.is_ascii_digit())
        {
            return Self::TooLarge;
        }
        if is_context(&words) {
            return Self::Context;
        }
        let listed = [
            (Self::Quota, QUOTA_WORDS),
            (Self::Policy, POLICY_WORDS),
            (Self::Key, KEY_WORDS),
            (Self::Model, MODEL_WORDS),
            (Self::Crashed, CRASHED_WORDS),
        ];
        let listed = listed.iter().find(|(_, parts)| has(parts)).map(|(kind, _)| *kind);
        let unlisted = || match status {
            413 => Self::TooLarge,
            _ if words.contains("model") && has(&["does not exist", "not found"]) => Self::Model,
            _ => Self::Other,
        };
        listed.unwrap_or_else(unlisted)
    }
}

fn by_code(told: &ErrorBody) -> Option<RefusalKind> {
    let listed = |code: &String| {
        let fits = CODES.iter().find(|(_, codes)| codes.contains(&code.as_str()));
        let part = || QUOTA_PARTS.iter().any(|part| code.contains(part)).then_some(RefusalKind::Quota);
        fits.map(|(kind, _)| *kind).or_else(part)
    };
    told.codes.iter().find_map(listed)
}

/// Whether the words are about how much may be sent in a time.
fn is_rate(words: &str) -> bool {
    let rates = [
        "per min",
        "per-minute",
        "per day",
        "per hour",
        "per second",
        "rate limit",
        "rate_limit",
        "(tpm)",
        "(rpm)",
    ];
    rates.iter().any(|part| words.contains(part))
}

/// Whether the words say that the input exceeds what the model holds. No list of sentences holds: each server has its own.
fn is_context(words: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    // Limits of the output, of one text or of one name are limits of fields.
    let of_output = has(&["completion tokens", "output tokens"]) && !has(&["context", "prompt"]);
    if of_output || has(&["string too long", "stop sequence", "tool name", "function name", "file size"]) {
        return false;
    }
    // vLLM: what is left for the output is less than nothing.
    if words.contains("max_tokens must be at least 1, got -") || words.contains("`max_new_tokens` must be") {
        return true;
    }
    let excess = has(&[
        "exceed",
        "too long",
        "too many tokens",
        "too many input tokens",
        "too large for model",
        "longer than",
        "greater than the context",
        "larger than the context",
        "over the context",
        "overflow",
        "maximum context",
        "maximum model length",
        "maximum prompt length",
        "model's context length",
        "context length of only",
        "reduce the length",
        "length should be [",
        "must have less than",
        "must be <=",
        "does not fit",
        "超长",
    ]);
    excess && has(&["context", "token", "prompt", "input", "conversation", "messages"])
}

#[cfg(test)]
mod tests {
    use super::super::error_body::ErrorBody;
    use super::RefusalKind;

    fn kind(status: u16, message: &str) -> RefusalKind {
        RefusalKind::of(status, &ErrorBody { message: message.into(), ..ErrorBody::default() })
    }

    #[test]
    fn a_full_context_is_known_in_any_servers_words() {
        for words in [
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
            "Reached context length of 4096 tokens with model m, which does not support mid-generation context overflow",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
            "Prompt exceeds max length",
            "invalid params, context window exceeds limit (2013)",
            "prompt too long; exceeded max context length by 4000 tokens",
            "the input length exceeds the context length",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
            "Input is too long for requested model.",
            "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.",
            "prompt token count of 140000 exceeds the limit of 128000",
            "max_tokens must be at least 1, got -904.",
            "'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens",
            "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
            "`inputs` must have less than 4096 tokens. Given: 5000",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
            "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "Requested token count exceeds the model's maximum context length of 4096 tokens.",
            "the request exceeds the available context size, try increasing it",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
        ] {
            assert_eq!(kind(400, words), RefusalKind::Context, "{words}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of refusals, as servers word them")]
    fn other_limits_are_no_full_context() {
        for (status, words, expected) in [
            (
                413,
                "<html><head><title>413 Request Entity Too Large</title></head></html>",
                RefusalKind::TooLarge,
            ),
            (413, "", RefusalKind::TooLarge),
            (
                413,
                "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size",
                RefusalKind::MinuteTooSmall,
            ),
            (
                429,
                "Rate limit reached for tokens per min (TPM): Limit 30000, Used 29000, Requested 4000.",
                RefusalKind::Other,
            ),
            (
                400,
                "max_tokens is too large: 32768. This model supports at most 16384 completion tokens",
                RefusalKind::Other,
            ),
            (
                400,
                "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
                RefusalKind::Other,
            ),
            (
                400,
                "Too many images in request: 2 images provided, but the model supports a maximum of 1 images.",
                RefusalKind::TooLarge,
            ),
            (400, "At most 2 image(s) may be provided in one request.", RefusalKind::TooLarge),
            (400, "messages: number of images exceeds the limit: 101 > 100", RefusalKind::TooLarge),
            (400, "You can upload up to 5 images per message", RefusalKind::TooLarge),
            (400, "At most 0 image(s) may be provided in one prompt.", RefusalKind::NoPictures),
            (404, "No endpoints found that support image input", RefusalKind::NoPictures),
            (
                500,
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
                RefusalKind::NoPictures,
            ),
            (
                500,
                "Failed to parse tool call arguments as JSON: parse error at line 1",
                RefusalKind::Unreadable,
            ),
            (
                500,
                "error parsing tool call: raw='{', err=unexpected end of JSON input",
                RefusalKind::Unreadable,
            ),
            (
                400,
                "The model has crashed without additional information. (Exit code: 6)",
                RefusalKind::Crashed,
            ),
            (400, "No models loaded. Please load a model in the developer page", RefusalKind::Model),
            (404, "model \"m\" not found, try pulling it first", RefusalKind::Model),
            (400, "The model `m` does not exist or you do not have access to it.", RefusalKind::Model),
            (403, "m requires moderation. Your input was flagged", RefusalKind::Policy),
            (
                400,
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
                RefusalKind::Policy,
            ),
            (
                429,
                "You exceeded your current quota, please check your plan and billing details.",
                RefusalKind::Quota,
            ),
            (400, "Your credit balance is too low to access the Anthropic API.", RefusalKind::Quota),
            (400, "API key not valid. Please pass a valid API key.", RefusalKind::Key),
            (400, "wrong field", RefusalKind::Other),
        ] {
            assert_eq!(kind(status, words), expected, "{words}");
        }
    }
}
