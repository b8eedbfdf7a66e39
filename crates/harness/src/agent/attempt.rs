//! The agent loop of one attempt: observe, ask the model, act, answer its calls, until one `stopped` event is recorded.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Call, ChatModel, ChatReply, ChatRequest, Clock, Content, Environment, EnvironmentKind, EventKind,
    EventSink, Finish, Guidance, Header, Message, ResourceUsage, SkillEventKind, SkillId, StepId, StopReason,
    TaskBrief, Tool, VoidCause, WorldTool,
};
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::batch::Turn;
use super::budget::Budget;
use super::conversation::Conversation;
use super::model_view::ModelView;
use super::repeat::RepeatCounter;
use super::stop::Stop;
use super::{picture, prompt};

/// The model is warned at this many repeats; [`Limits::repeats`](apprentice_protocol::Limits) ends the attempt.
const WARN_AT_REPEATS: u32 = 3;

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
    let mut run = AgentLoop::new(attempt, environment, sink);
    let stop = match AssertUnwindSafe(run.execute()).catch_unwind().await {
        Ok(stop) => stop,
        Err(panic) => Stop::void(VoidCause::Internal, format!("panic: {}", panic_text(panic.as_ref()))),
    };
    run.end(stop)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// The state of one running attempt.
pub(super) struct AgentLoop<'a> {
    pub(super) attempt: AttemptInput<'a>,
    pub(super) environment: &'a mut dyn Environment,
    pub(super) sink: &'a mut dyn EventSink,
    pub(super) budget: Budget<'a>,
    pub(super) talk: Conversation,
    repeats: RepeatCounter,
    pub(super) step: StepId,
    pub(super) unusable: u32,
    pub(super) finish: Option<Finish>,
    pub(super) delivered_chars: u64,
    skills_viewed: Vec<SkillId>,
    pub(super) provider_model: Option<String>,
}

impl<'a> AgentLoop<'a> {
    fn new(
        attempt: AttemptInput<'a>,
        environment: &'a mut dyn Environment,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        let (profile, world) = (attempt.model.profile(), &attempt.header.world);
        let display = picture::fit(&profile.images, world.screen).unwrap_or(world.screen);
        let world = WorldTool { browser: world.environment == EnvironmentKind::Browser, display };
        let lent = attempt.guidance.tools.iter().chain(attempt.tools).map(|tool| tool.spec().clone());
        Self {
            talk: Conversation::new(profile, world, lent, attempt.seed),
            budget: Budget::new(attempt.brief.limits, attempt.clock),
            attempt,
            environment,
            sink,
            repeats: RepeatCounter::default(),
            step: StepId(1),
            unusable: 0,
            finish: None,
            delivered_chars: 0,
            skills_viewed: Vec::new(),
            provider_model: None,
        }
    }

    async fn execute(&mut self) -> Stop {
        let mut sight = match self.open().await {
            Ok(sight) => sight,
            Err(stop) => return stop,
        };
        loop {
            match self.turn(&sight).await {
                Ok(Some(next)) => sight = next,
                Ok(None) => {}
                Err(stop) => return stop,
            }
        }
    }

    /// Takes the first observation and builds the first user message.
    async fn open(&mut self) -> Result<ModelView, Stop> {
        let sight = self.look().await?;
        let guidance = self.attempt.guidance;
        let mut told = vec![prompt::task(&self.attempt.brief.instruction)];
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
        let next = self.look().await?;
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

    /// Records the events that a tool or the guidance reports, and counts the skills viewed.
    pub(super) fn emit_all(&mut self, events: Vec<EventKind>) -> Result<(), Stop> {
        for event in events {
            if let EventKind::Skill(skill) = &event {
                self.delivered_chars += skill.delivered_chars;
                let viewed = skill.happening == SkillEventKind::Viewed;
                if let Some(id) = skill.skill.iter().find(|id| viewed && !self.skills_viewed.contains(*id)) {
                    self.skills_viewed.push(id.clone());
                }
            }
            self.emit(event)?;
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, kind: EventKind) -> Result<(), Stop> {
        self.sink.emit(Some(self.step), kind)?;
        Ok(())
    }

    /// Returns the milliseconds since `begun` on the attempt's clock.
    pub(super) fn since(&self, begun: Duration) -> u64 {
        let took = self.attempt.clock.mono().saturating_sub(begun);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }

    fn end(mut self, stop: Stop) -> AttemptResult {
        let Stop { mut how, mut detail } = stop;
        let spent = self.budget.spent();
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

    async fn answer(&mut self, calls: &[Call], sight: &ModelView) -> Result<Turn, Stop> {
        let mut turn = Turn::default();
        for call in calls {
            let result = self.answer_call(call, sight, &mut turn).await?;
            self.emit(EventKind::CallAnswered(result.clone()))?;
            turn.results.push(result);
        }
        Ok(turn)
    }
}
