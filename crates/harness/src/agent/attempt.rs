//! What an attempt is given, and its outcome.

use std::sync::Arc;

use apprentice_protocol::{
    ChatModel, ChatRequest, Clock, Finish, Guidance, Header, ResourceUsage, SkillId, StopReason, TaskBrief,
    Tool, VoidCause,
};
use tokio_util::sync::CancellationToken;

/// The input of one attempt, except the world and the trace.
pub struct AttemptInput<'a> {
    /// The task and its limits.
    pub brief: &'a TaskBrief,
    /// The model under test.
    pub model: &'a dyn ChatModel,
    /// Guidance for the model; may be empty.
    pub guidance: &'a Guidance,
    /// Function tools, in addition to those that the guidance provides.
    pub tools: &'a [Arc<dyn Tool>],
    /// The clock that measures working time and times out waits.
    pub clock: &'a dyn Clock,
    /// The header of the trace. The caller records it as `started` before it opens the world; the loop reads the
    /// world's kind and screen size from it.
    pub header: Header,
    /// Sampling seed, sent to models that accept one.
    pub seed: Option<u64>,
    /// Cancelling this token ends the attempt as `interrupted`.
    pub cancel: CancellationToken,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptResult {
    /// The stop reason of a judged attempt, or the cause that voids it.
    pub stop: Result<StopReason, VoidCause>,
    /// The model's final `finish`. A reply in words without calls counts as an answer.
    pub finish: Option<Finish>,
    /// The stop reason or cause in words.
    pub detail: String,
    /// Whether every other attempt would end so, until a person changes something: the model's server refuses every request.
    pub lasting: bool,
    /// Steps, tokens, time and money used.
    pub spent: ResourceUsage,
    /// Characters of guidance delivered to the model.
    pub delivered_chars: u64,
    /// Skills whose text the model received, in order of first view, without duplicates.
    pub skills_viewed: Vec<SkillId>,
    /// The exact model name reported by the provider.
    pub provider_model: Option<String>,
    /// Whether what was used holds estimates, because the server did not say what some reply used.
    pub estimated: bool,
    /// The whole conversation, in the form of the next request.
    pub conversation: ChatRequest,
}

impl AttemptInput<'_> {
    /// Returns all function tools: those of the guidance first.
    pub(super) fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> + Clone {
        self.guidance.tools.iter().chain(self.tools)
    }
}
