//! `acp:COMMAND`: another's agent, started by a command, that speaks the Agent Client Protocol. It drives itself; here it looks like
//! a model all the same, so that an attempt of it has the views, the limits, the trace and the checks of any other: what a model
//! would get as tools it gets as an MCP server (`tools.rs`), a call of one of these is a turn, and the next request answers the
//! call. The end of its own turn is the end of the attempt.
//!
//! What the SDKs leave to their callers is done here: the version is compared, updates are taken in order out of one queue,
//! permissions are answered, and those that are open when a turn is cancelled are answered `cancelled`.

mod process;
mod running;
mod tools;
mod updates;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, CoordinateSpace, HistoryRule, ImageRule, Message,
    ModelError, ModelErrorKind, ModelProfile, Prompt, Timing, ToolRule, ViewRule,
};
use tokio::sync::Mutex;

use self::running::Running;

/// What an agent is told before its instruction.
pub(crate) const WORLD: Prompt = Prompt::new("acp/world", include_str!("prompts/world.md"), &[]);

/// How an agent is started and reached.
#[derive(Clone, Debug)]
pub struct AcpConfig {
    /// The command, as a shell reads it.
    pub command: String,
    /// A program with arguments that joins its standard streams to a Unix socket, whose path is the last argument: the agent starts
    /// it as its MCP server.
    pub relay: Vec<String>,
    /// Deadline for each answer before the first turn.
    pub start: Duration,
    /// The longest time without a word, a call or an end.
    pub silence: Duration,
}

impl AcpConfig {
    /// The usual deadlines: an agent may load for a while, and its model may think for long.
    pub fn new(command: impl Into<String>, relay: Vec<String>) -> Self {
        Self {
            command: command.into(),
            relay,
            start: Duration::from_secs(60),
            silence: Duration::from_secs(600),
        }
    }
}

/// Another's agent in one conversation. Its process starts with the first request and ends when this is dropped.
pub struct AcpAgent {
    config: AcpConfig,
    profile: ModelProfile,
    clock: Arc<dyn Clock>,
    running: Arc<Mutex<Option<Running>>>,
    /// The wait for a reply was dropped, and the agent has not heard of it.
    interrupted: Arc<AtomicBool>,
}

impl AcpAgent {
    /// The agent of a command. Must be dropped in the async runtime in which it was asked.
    pub fn new(config: AcpConfig, clock: Arc<dyn Clock>) -> Self {
        let profile = ModelProfile {
            name: format!("acp:{}", config.command),
            consumer: "acp".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::AsIs,
            outline: true,
            views: ViewRule::Changes,
            // The conversation is the agent's: of a request, only what is new is told.
            history: HistoryRule::AppendOnly { max_request_bytes: 1 << 40, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        };
        Self { config, profile, clock, running: Arc::default(), interrupted: Arc::default() }
    }

    async fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if request.world.is_none() {
            let problem = "an agent acts in a world; it neither reviews nor judges";
            return Err(ModelError::lasting(ModelErrorKind::Request, problem));
        }
        let begun = self.clock.mono();
        let mut slot = Arc::clone(&self.running).lock_owned().await;
        cancel_interrupted(&mut slot, &self.interrupted).await;
        let running = match slot.as_mut() {
            Some(running) => running,
            None => slot.insert(Running::start(&self.config, request).await?),
        };
        let unless_done = CancelOnDrop {
            running: Some(Arc::clone(&self.running)),
            interrupted: Arc::clone(&self.interrupted),
        };
        let replied = running.turn(request, new_messages(request), self.config.silence).await;
        unless_done.defuse();
        if replied.is_err() {
            // Nothing can be asked of it any more.
            *slot = None;
        }
        drop(slot);
        let mut reply = replied?;
        let working_ms =
            u64::try_from(self.clock.mono().saturating_sub(begun).as_millis()).unwrap_or(u64::MAX);
        reply.timing = Timing { working_ms, waiting_ms: 0 };
        Ok(reply)
    }
}

/// What the agent has not heard: all after the last reply.
fn new_messages(request: &ChatRequest) -> &[Message] {
    let last = request.messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    last.map_or(&request.messages[..], |last| &request.messages[last + 1..])
}

impl ChatModel for AcpAgent {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.answer(request))
    }
}

impl Drop for AcpAgent {
    fn drop(&mut self) {
        let running = Arc::clone(&self.running);
        // Without a runtime the process is killed where it is dropped.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Some(running) = running.lock().await.take() {
                    running.end().await;
                }
            });
        }
    }
}

/// Cancels the agent's turn when the wait for its reply is dropped, as on an interrupt.
struct CancelOnDrop {
    running: Option<Arc<Mutex<Option<Running>>>>,
    interrupted: Arc<AtomicBool>,
}

/// Cancels a turn that nobody waits for any more. An agent that does not end it is ended.
async fn cancel_interrupted(slot: &mut Option<Running>, interrupted: &AtomicBool) {
    if interrupted.swap(false, Ordering::Relaxed)
        && let Some(agent) = slot.as_mut()
        && let Err(error) = agent.cancel().await
    {
        tracing::debug!(%error, "an agent is ended, as it did not end its turn");
        *slot = None;
    }
}

impl CancelOnDrop {
    fn defuse(mut self) {
        self.running = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        let interrupted = Arc::clone(&self.interrupted);
        interrupted.store(true, Ordering::Relaxed);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { cancel_interrupted(&mut *running.lock().await, &interrupted).await });
        }
    }
}
