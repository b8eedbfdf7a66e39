//! The notations of calls, and the parsers by which servers read them.

/// A family of notations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// JSON in `<tool_call>` tags.
    Hermes,
    /// `<function=NAME><parameter=KEY>`.
    FunctionTags,
    /// `<invoke name="NAME"><parameter name="KEY">`.
    Invoke,
    /// `<arg_key>` and `<arg_value>`.
    ArgumentTags,
    /// OpenAI's channels.
    Harmony,
    /// Kimi's `<|tool_call_begin|>`.
    Kimi,
    /// DeepSeek's `<｜tool▁call▁begin｜>`.
    DeepSeek,
    /// Gemma's `call:NAME{…}`.
    Gemma,
    /// `[TOOL_CALLS]`.
    Mistral,
    /// Calls in Python.
    Pythonic,
    /// Llama's `<|python_tag|>`.
    Llama,
    /// JSON between other marks.
    MarkedJson,
    /// JSON alone, or in a fence.
    Json,
    /// `Action: NAME`, `Action Input: {…}`.
    React,
}

impl Notation {
    /// The parser's name for vLLM and for SGLang, where one parser reads the notation.
    pub(crate) fn parsers(self) -> Option<(&'static str, &'static str)> {
        // Names as vLLM 0.33.0 and SGLang 0.5.23 list them.
        match self {
            Self::Hermes => Some(("hermes", "qwen25")),
            Self::FunctionTags => Some(("qwen3_coder", "qwen3_coder")),
            Self::Invoke => Some(("minimax_m2", "minimax-m2")),
            Self::ArgumentTags => Some(("glm45", "glm45")),
            Self::Harmony => Some(("openai", "gpt-oss")),
            Self::Kimi => Some(("kimi_k2", "kimi_k2")),
            Self::DeepSeek => Some(("deepseek_v31", "deepseekv31")),
            Self::Gemma => Some(("gemma4", "gemma4")),
            Self::Mistral => Some(("mistral", "mistral")),
            Self::Pythonic => Some(("pythonic", "pythonic")),
            Self::Llama => Some(("llama3_json", "llama3")),
            Self::MarkedJson | Self::Json | Self::React => None,
        }
    }
}
