//! Help for an attempt: size-limited text and tools. Attempts without help use empty guidance and the same code.

use std::sync::Arc;

use crate::{BoundedText, ChatReply, ChatRequest, EventKind, Observation, StepRef, Tool};

/// A source of text that is appended to the next user turn when the state changes. Earlier turns are never edited.
pub trait GuidanceRefresh: Send + Sync {
    /// Returns the text to append after this observation, with the events to record, if any.
    fn refresh(&self, at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)>;

    /// Returns the same for a model that is shown the screen in short views, which can read as little of anything else.
    fn refresh_briefly(&self, at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        self.refresh(at, seen)
    }

    /// Returns a request that a model which is shown short views answers before [`Self::refresh_briefly`] is called: it says which
    /// advice its task asks for. Called again after each answer, until there is nothing more to ask.
    fn question(&self, _seen: &Observation) -> Option<ChatRequest> {
        None
    }

    /// Takes the reply to the last request of [`Self::question`].
    ///
    /// # Errors
    ///
    /// The reply is none of the answers that the request's schema allows. Says which reply.
    fn answer(&self, _reply: &ChatReply) -> Result<(), String> {
        Ok(())
    }
}

/// Help for one trial. `opening` and the tool list do not change during the trial.
#[derive(Clone, Default)]
pub struct Guidance {
    /// Text below the system prompt and the user's instruction, marked as advice.
    pub opening: BoundedText,
    /// What the trace records of the skills whose texts stand in `opening`.
    pub opening_events: Vec<EventKind>,
    /// What stands in place of `opening` and `opening_events` for a model that is shown short views, where that is something else.
    pub opening_briefly: Option<(BoundedText, Vec<EventKind>)>,
    /// Tools for the model.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Source of later text, if the arm has one.
    pub refresh: Option<Arc<dyn GuidanceRefresh>>,
}
