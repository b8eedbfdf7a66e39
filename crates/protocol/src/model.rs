//! The port for models: one request, one reply, whatever the provider.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Action, CallId, Content, Finish, ImagePoint, ModelProfile, PortFuture, Size, ToolSpec, VoidCause,
};

/// What a call is booked under. It is never sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Acting in a world.
    #[default]
    Act,
    /// Reflecting on a trajectory.
    Reflect,
    /// Managing the skillbook.
    Manage,
    /// Calibrating coordinates.
    Calibrate,
    /// Grading.
    Check,
    /// Turning texts into vectors.
    Embed,
}

/// The native world tool of a request: adapters turn it into the provider's own computer-use tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorldTool {
    /// Whether the world is a browser without a desktop around it.
    pub browser: bool,
    /// The size of the pictures the model will get, or the screen's if it gets none.
    pub display: Size,
}

/// A named JSON Schema that the reply must follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedSchema {
    /// Its name.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

/// The provider's own content of one reply: each block's JSON exactly as it will be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawContent {
    /// Compact JSON, one text per block.
    pub blocks: Vec<String>,
}

/// What a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The provider's id.
    pub id: CallId,
    /// What is asked.
    #[serde(flatten)]
    pub body: CallBody,
}

/// The kinds of call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum CallBody {
    /// Actions in the world, in order.
    World {
        /// The batch.
        actions: Vec<Action<ImagePoint>>,
    },
    /// A function tool.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// The model is finished.
    Finish(Finish),
    /// The adapter could not read what the model wrote.
    Unusable {
        /// What was wrong, in words for the model.
        problem: String,
    },
}

/// What became of one action of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PerAction {
    /// Delivered.
    Done {
        /// Text for the model, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Tried and refused.
    Failed {
        /// Why.
        problem: String,
    },
    /// Not tried, because an earlier world action of the turn failed.
    NotExecuted,
}

/// The answer to one [`Call`]; every call gets exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallResult {
    /// Which call.
    pub id: CallId,
    /// One entry per action of a world call; empty for tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_action: Vec<PerAction>,
    /// A tool's answer, or the observation after the batch.
    pub content: Vec<Content>,
    /// Whether the model should read it as an error.
    #[serde(default)]
    pub is_error: bool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The user's words.
    User {
        /// The parts.
        content: Vec<Content>,
    },
    /// The model's turn.
    Assistant {
        /// As the provider wrote it.
        raw: RawContent,
        /// Its words.
        say: Vec<String>,
        /// Its calls.
        calls: Vec<Call>,
    },
    /// The answers to the calls of the turn before, with anything appended below them.
    Results {
        /// One per call, in order.
        results: Vec<CallResult>,
        /// Notices and refreshed guidance.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<Content>,
    },
}

/// One request. Wrappers book it; adapters translate it; nobody edits it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// What it is booked under; never sent.
    #[serde(skip)]
    pub purpose: Purpose,
    /// The standing instructions.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Function tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The native world tool, when the model may act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldTool>,
    /// The schema that the reply must follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<NamedSchema>,
    /// Sent to providers that take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Largest number of output tokens.
    pub max_output_tokens: u32,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStop {
    /// The turn is complete.
    EndTurn,
    /// It waits for results.
    Calls,
    /// The output limit cut it.
    MaxTokens,
    /// The provider refused.
    Refusal,
    /// The conversation no longer fits.
    ContextFull,
    /// A pending safety check was declined.
    SafetyDeclined,
}

/// Tokens. `input` counts every input token once, cached ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    /// Input tokens that came from a cache.
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// Where the time of a call went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The exchange itself, in milliseconds.
    pub working_ms: u64,
    /// Waiting for rate limits and retries, in milliseconds.
    pub waiting_ms: u64,
}

/// One reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatReply {
    /// As the provider wrote it.
    pub raw: RawContent,
    /// The model's words.
    pub say: Vec<String>,
    /// Its calls, in order.
    pub calls: Vec<Call>,
    /// Why it ended.
    pub stop: ReplyStop,
    /// Tokens.
    pub usage: Usage,
    /// Time.
    pub timing: Timing,
    /// Money in US dollars; none when the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The exact model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_model: Option<String>,
}

/// When the same request may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never: it would fail again.
    Never,
    /// At once.
    Now,
    /// After this long.
    After(Duration),
}

/// What failed around a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// It could not be reached, is overloaded, or its key was refused.
    Unavailable,
    /// It broke its own format.
    Protocol,
    /// A money cap would have been passed: refused before the call.
    Budget,
    /// A limit of the context was reached.
    ContextFull,
    /// The request can never succeed: a bug or a wrong profile.
    Request,
}

/// A failed exchange.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What failed.
    pub fault: ModelFault,
    /// When to try again.
    pub retry: Retry,
    /// In words, without secrets.
    pub message: String,
}

impl ModelError {
    /// A fault that another try would not mend.
    pub fn never(fault: ModelFault, message: impl Into<String>) -> Self {
        Self { fault, retry: Retry::Never, message: message.into() }
    }

    /// When the same request may be tried again.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// The cause under which an attempt becomes void, unless the fault ends it in a judged way.
    pub fn void_cause(&self) -> Option<VoidCause> {
        match self.fault {
            ModelFault::Unavailable => Some(VoidCause::ModelUnavailable),
            ModelFault::Protocol => Some(VoidCause::ModelProtocol),
            ModelFault::Request => Some(VoidCause::Internal),
            ModelFault::Budget | ModelFault::ContextFull => None,
        }
    }
}

/// A model that answers requests.
pub trait ChatModel: Send + Sync {
    /// What is known of it, as data.
    fn profile(&self) -> &ModelProfile;
    /// Answers one request. Dropping the future cancels it.
    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>>;
}
