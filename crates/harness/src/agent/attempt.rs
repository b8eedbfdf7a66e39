//! The agent loop of one attempt: observe, ask the model, act, answer its calls, until one `stopped` event is recorded.

use std::panic::AssertUnwindSafe;

use apprentice_protocol::{
    ChatReply, ChatRequest, Content, Environment, EventKind, EventSink, Finish, Message, PortFuture,
    ResourceUsage, SkillId, Steering, StopReason, VoidCause,
};
use futures_util::FutureExt as _;

use super::agent_loop::{AgentLoop, AttemptInput};
use super::model_view::ModelView;
use super::prompt;
use super::stop::Stop;

/// The model is warned at this many repeats; [`Limits::repeats`](apprentice_protocol::Limits) ends the attempt.
const WARN_AT_REPEATS: u32 = 3;

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptResult {
    /// The stop reason of a judged attempt, or the cause that voids it.
    pub stop: Result<StopReason, VoidCause>,
    /// The model's final `finish`. A reply in words without calls counts as an answer.
    pub finish: Option<Finish>,
    /// The stop reason or cause in words.
    pub detail: String,
    /// Steps, tokens, time and money used.
    pub spent: ResourceUsage,
    /// Characters of guidance delivered to the model.
    pub delivered_chars: u64,
    /// Skills whose text the model received, in order of first view, without duplicates.
    pub skills_viewed: Vec<SkillId>,
    /// The exact model name reported by the provider.
    pub provider_model: Option<String>,
    /// The whole conversation, in the form of the next request.
    pub conversation: ChatRequest,
}

/// Runs one attempt to its end and records exactly one `stopped` event, even after a panic.
pub async fn run<'a>(
    attempt: AttemptInput<'a>,
    environment: &'a mut dyn Environment,
    sink: &'a mut dyn EventSink,
) -> AttemptResult {
    execute(AgentLoop::new(attempt, environment, sink)).await
}

/// Runs one attempt that a person may steer: pause, act in, and stop.
pub async fn run_steered<'a>(
    attempt: AttemptInput<'a>,
    environment: &'a mut dyn Environment,
    sink: &'a mut dyn EventSink,
    steering: &'a dyn Steering,
) -> AttemptResult {
    let steering = Some(steering);
    execute(AgentLoop { steering, ..AgentLoop::new(attempt, environment, sink) }).await
}

async fn execute(mut run: AgentLoop<'_>) -> AttemptResult {
    let stop = match AssertUnwindSafe(run.execute()).catch_unwind().await {
        Ok(stop) => stop,
        Err(panic) => Stop::void(VoidCause::Internal, format!("panic: {}", panic_text(panic.as_ref()))),
    };
    run.end(stop)
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

impl AgentLoop<'_> {
    async fn execute(&mut self) -> Stop {
        let instruction = self.attempt.brief.instruction.clone();
        match self.open(&instruction).await {
            Ok(sight) => self.work(sight).await,
            Err(stop) => stop,
        }
    }

    /// Asks and acts until something stops the work.
    /// The future is boxed: crates that run attempts or sessions would each compile all of it again.
    pub(super) fn work(&mut self, mut sight: ModelView) -> PortFuture<'_, Stop> {
        Box::pin(async move {
            loop {
                match self.follow_person().await {
                    Ok(Some(next)) => sight = next,
                    Ok(None) => {}
                    Err(stop) => return stop,
                }
                match self.turn(&sight).await {
                    Ok(Some(next)) => sight = next,
                    Ok(None) => {}
                    Err(stop) => return stop,
                }
            }
        })
    }

    /// Takes the first observation and builds the first user message.
    pub(super) async fn open(&mut self, instruction: &str) -> Result<ModelView, Stop> {
        let sight = self.look().await?;
        let guidance = self.attempt.guidance;
        let mut told = vec![prompt::task(instruction)];
        if !guidance.opening.is_empty() {
            let advice = prompt::advice(&guidance.opening);
            self.deliver(&guidance.opening, vec![advice.clone()])?;
            told.push(advice);
        }
        let seen = sight.contents(self.attempt.model.profile().outline);
        let below = self.refresh(&sight)?;
        self.talk.open(told, seen, below);
        Ok(sight)
    }

    /// Runs one model turn with its batch of calls. Returns the new observation when a call touched the world.
    async fn turn(&mut self, sight: &ModelView) -> Result<Option<ModelView>, Stop> {
        if let Some(reason) = self.budget.reached() {
            return Err(Stop::at_limit(reason));
        }
        let reply = self.ask().await?;
        if reply.calls.is_empty() {
            self.handle_text_reply(&reply)?;
            self.step = self.step.next();
            return Ok(None);
        }
        let told = self.check_repeats(&reply, sight)?;
        let mut turn = self.answer(&reply.calls, sight).await?;
        if let Some(stop) = turn.stop {
            // The model is not asked again, but the results still belong to its calls in the conversation.
            self.talk.push(Message::Results { results: turn.results, notices: Vec::new() });
            return Err(stop);
        }
        if turn.all_unusable {
            self.count_unusable()?;
        } else {
            self.unusable = 0;
        }
        self.step = self.step.next();
        let mut notices: Vec<Content> = told.into_iter().collect();
        let Some(place) = turn.last_world_call else {
            self.talk.push(Message::Results { results: turn.results, notices });
            return Ok(None);
        };
        let next = match self.look().await {
            Ok(next) => next,
            Err(stop) => {
                // Without a view the results still belong to their calls, should a further turn follow.
                self.talk.push(Message::Results { results: turn.results, notices });
                return Err(stop);
            }
        };
        turn.results[place].content.extend(next.contents(self.attempt.model.profile().outline));
        notices.extend(self.refresh(&next)?);
        self.talk.push_view(Message::Results { results: turn.results, notices });
        Ok(Some(next))
    }

    /// Warns a model that repeats itself, and ends the attempt when it continues.
    fn check_repeats(&mut self, reply: &ChatReply, sight: &ModelView) -> Result<Option<Content>, Stop> {
        let repeats = self.repeats.note(&reply.calls, &sight.fingerprint);
        let limit = self.attempt.brief.limits.repeats.max(2);
        if repeats >= limit {
            self.emit(EventKind::LoopSuspected { repeats })?;
            let detail = format!("the same calls on the same screen {repeats} times in a row");
            return Err(Stop::judged(StopReason::Loop, detail));
        }
        if repeats != WARN_AT_REPEATS {
            return Ok(None);
        }
        self.emit(EventKind::LoopSuspected { repeats })?;
        let told = prompt::repeat(repeats);
        self.emit(EventKind::Notice { content: vec![told.clone()] })?;
        Ok(Some(told))
    }

    fn end(self, stop: Stop) -> AttemptResult {
        let spent = self.budget.spent();
        self.end_with(stop, spent)
    }

    /// Records the only `stopped` event, with everything that was used.
    pub(super) fn end_with(mut self, stop: Stop, spent: ResourceUsage) -> AttemptResult {
        let Stop { mut how, mut detail } = self.stopped_by_person(stop);
        let (reason, void) = (how.ok(), how.err());
        let stopped = EventKind::Stopped { reason, void, detail: detail.clone(), spent };
        // An attempt whose trace could not be written to its end must not be judged.
        if let Err(unwritten) = self.emit(stopped)
            && how.is_ok()
        {
            Stop { how, detail } = unwritten;
        }
        AttemptResult {
            stop: how,
            finish: self.finish,
            detail,
            spent,
            delivered_chars: self.delivered_chars,
            skills_viewed: self.skills_viewed,
            provider_model: self.provider_model,
            conversation: self.talk.into_request(),
        }
    }
}
