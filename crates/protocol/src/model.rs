//! The port for models: a provider-independent request and reply.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Action, BoxFuture, CallId, Content, Finish, ImagePoint, ModelProfile, Size, VoidCause};

/// The purpose of a call, for cost accounting. It is not sent to the provider.
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
    /// Giving an opinion on an attempt without checks.
    Judge,
    /// Computing embeddings.
    Embed,
}

/// The native world tool of a request; adapters convert it to the provider's computer-use tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorldTool {
    /// Whether the world is a browser without a desktop.
    pub browser: bool,
    /// Size of the pictures for the model, or of the screen if the model gets no pictures.
    pub display: Size,
}

/// The description of a tool for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

/// A named JSON Schema that the reply must follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedSchema {
    /// The schema's name.
    pub name: String,
    /// The schema.
    pub schema: Value,
}

/// The provider's original content of a reply: the JSON of each block, exactly as it is sent back in later requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawContent {
    /// Compact JSON, one string per block.
    pub blocks: Vec<String>,
}

/// A call in a model's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The provider's id of the call.
    pub id: CallId,
    /// The content of the call.
    #[serde(flatten)]
    pub body: CallBody,
}

/// The kinds of calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum CallBody {
    /// Actions in the world, in order.
    World {
        /// The actions, in order.
        actions: Vec<Action<ImagePoint>>,
    },
    /// A call of a function tool.
    Tool {
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// The model declares that it is finished.
    Finish(Finish),
    /// Output of the model that the adapter could not parse.
    Unusable {
        /// The problem, as a message for the model.
        problem: String,
    },
}

/// The outcome of one action of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ActionOutcome {
    /// The action was delivered.
    Done {
        /// Message for the model, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The action was tried and rejected.
    Failed {
        /// The reason.
        problem: String,
    },
    /// The action was not tried, because an earlier action or call of the reply failed.
    NotExecuted,
}

/// The result of one [`Call`]; every call gets exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallResult {
    /// The id of the call.
    pub id: CallId,
    /// One outcome per action of a world call. For any other call it is empty, or [`ActionOutcome::NotExecuted`] when
    /// the call was not tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_action: Vec<ActionOutcome>,
    /// The tool's result, or the observation after the batch.
    pub content: Vec<Content>,
    /// Whether the result is an error for the model.
    #[serde(default)]
    pub is_error: bool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A user message.
    User {
        /// The parts of the message.
        content: Vec<Content>,
    },
    /// The model's turn.
    Assistant {
        /// The provider's original content.
        raw: RawContent,
        /// The text parts.
        say: Vec<String>,
        /// The calls.
        calls: Vec<Call>,
    },
    /// The results of the previous turn's calls, with appended notices.
    Results {
        /// One result per call, in order.
        results: Vec<CallResult>,
        /// Notices and refreshed guidance.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<Content>,
    },
}

/// One request. Middleware accounts for it and adapters translate it; neither changes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// The purpose for cost accounting; not sent.
    #[serde(skip)]
    pub purpose: Purpose,
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The number of messages that stood when an earlier part was last left out. Thoughts in them may be bound to a form
    /// that is no longer sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub edited_before: usize,
    /// Function tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The native world tool, if the model may act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldTool>,
    /// The schema that the reply must follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<NamedSchema>,
    /// Sampling seed, for providers that accept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Maximum number of output tokens.
    pub max_output_tokens: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The reason why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStop {
    /// The turn is complete.
    EndTurn,
    /// The model waits for the results of its calls.
    Calls,
    /// The output limit cut the reply off.
    MaxTokens,
    /// The turn is complete, but its words hold the marks of a call that was not made, so they are no answer.
    UnreadCall,
    /// The provider refused the request.
    Refusal,
    /// The conversation exceeds the model's context.
    ContextFull,
    /// A pending safety check was declined.
    SafetyDeclined,
}

/// Token usage. `input` counts every input token once, including cached ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens that were read from a cache.
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// The time spent on a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The HTTP exchange itself, in milliseconds.
    pub working_ms: u64,
    /// Waiting for rate limits and retries, in milliseconds.
    pub waiting_ms: u64,
}

/// One reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatReply {
    /// The provider's original content.
    pub raw: RawContent,
    /// The text parts.
    pub say: Vec<String>,
    /// The model's thoughts, as far as the provider shows them. They are neither an answer nor a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<String>,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The reason why the reply ended.
    pub stop: ReplyStop,
    /// Token usage.
    pub usage: Usage,
    /// Time spent.
    pub timing: Timing,
    /// Cost in US dollars; `None` if the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether the server did not say what the call used: usage and cost are what the program reckoned with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What the request went without, because the server refuses it; only what no earlier reply of the conversation told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapted: Vec<String>,
    /// The exact model that replied, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_model: Option<String>,
}

/// When the same request may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never: a retry would fail again.
    Never,
    /// Not before a person has changed something: any other request to this server would fail, too. The key, the account's
    /// credit, the model's name or the address is wrong, or the server takes no request of this form.
    Lasting,
    /// Immediately.
    Now,
    /// After this delay.
    After(Duration),
}

/// The kind of a model error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The model is unreachable or overloaded, or its key was rejected.
    Unavailable,
    /// The server sent an invalid response.
    Protocol,
    /// The call would have exceeded a cost cap and was not made.
    Budget,
    /// The context limit was reached.
    ContextFull,
    /// The request can never succeed: a bug.
    Request,
    /// The server refused the form of the request: a field, a role, a tool or a picture.
    Refused,
    /// The request has more bytes or more pictures than the server, or a proxy before it, takes.
    TooLarge,
    /// The provider's policy refused what the request says.
    Policy,
    /// The server could not read what the model wrote, as a call that is no JSON, and gave an error in place of it.
    Unreadable,
    /// Recorded turns do not fit the present world.
    Replay,
}

/// An error of a model call.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of error.
    pub fault: ModelErrorKind,
    /// When to retry.
    pub retry: Retry,
    /// The message, without secrets.
    pub message: String,
}

impl ModelError {
    /// Creates an error that a retry cannot fix.
    pub fn never(fault: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { fault, retry: Retry::Never, message: message.into() }
    }

    /// Creates an error that every request to this server would get, until a person changes something.
    pub fn lasting(fault: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { fault, retry: Retry::Lasting, message: message.into() }
    }

    /// Returns whether every request to this server would fail, until a person changes something.
    pub fn is_lasting(&self) -> bool {
        self.retry == Retry::Lasting
    }

    /// When the same request may be retried.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// Returns the void cause of the attempt; `None` if the error ends the attempt regularly, so that it is judged.
    pub fn void_cause(&self) -> Option<VoidCause> {
        match self.fault {
            ModelErrorKind::Unavailable => Some(VoidCause::ModelUnavailable),
            ModelErrorKind::Protocol => Some(VoidCause::ModelProtocol),
            ModelErrorKind::Request => Some(VoidCause::Internal),
            ModelErrorKind::Refused | ModelErrorKind::TooLarge => Some(VoidCause::RequestRefused),
            // Repeating recorded turns sets a world up.
            ModelErrorKind::Replay => Some(VoidCause::Setup),
            ModelErrorKind::Budget
            | ModelErrorKind::ContextFull
            | ModelErrorKind::Policy
            | ModelErrorKind::Unreadable => None,
        }
    }
}

/// A model that answers requests.
pub trait ChatModel: Send + Sync {
    /// Returns the model's profile.
    fn profile(&self) -> &ModelProfile;
    /// Sends one request. Dropping the future cancels it.
    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>>;
}
