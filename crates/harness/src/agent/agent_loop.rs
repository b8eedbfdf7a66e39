//! The state of one running attempt, and the record of its events.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ChatModel, Clock, Environment, EnvironmentKind, EventKind, EventSink, Finish, Guidance, Header,
    SkillEventKind, SkillId, Steering, StepId, TaskBrief, Tool, WorldTool,
};
use tokio_util::sync::CancellationToken;

use super::budget::Budget;
use super::conversation::Conversation;
use super::known::Known;
use super::picture;
use super::repeat::RepeatCounter;
use super::stop::Stop;

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

/// The state of one running attempt.
pub(super) struct AgentLoop<'a> {
    pub(super) attempt: AttemptInput<'a>,
    pub(super) environment: &'a mut dyn Environment,
    pub(super) sink: &'a mut dyn EventSink,
    pub(super) budget: Budget<'a>,
    pub(super) talk: Conversation,
    pub(super) repeats: RepeatCounter,
    pub(super) step: StepId,
    pub(super) unusable: u32,
    /// How many messages of the conversation the trace has.
    pub(super) recorded_messages: usize,
    pub(super) finish: Option<Finish>,
    pub(super) delivered_chars: u64,
    pub(super) skills_viewed: Vec<SkillId>,
    pub(super) provider_model: Option<String>,
    /// What the model knows of the screen; `None` when it has to get the whole list.
    pub(super) known: Known,
    /// The person's hold on the attempt, if there may be one.
    pub(super) steering: Option<&'a dyn Steering>,
}

impl<'a> AgentLoop<'a> {
    /// The state of an attempt that has not begun.
    pub(super) fn new(
        attempt: AttemptInput<'a>,
        environment: &'a mut dyn Environment,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        let (profile, world) = (attempt.model.profile(), &attempt.header.world);
        let screen = world.screen.screen();
        let display = picture::fit(&profile.images, screen).unwrap_or(screen);
        let world = WorldTool { browser: world.environment == EnvironmentKind::Browser, display };
        let tools = attempt.guidance.tools.iter().chain(attempt.tools).map(|tool| tool.spec().clone());
        Self {
            talk: Conversation::new(profile, world, tools, attempt.seed),
            budget: Budget::new(attempt.brief.limits, attempt.clock),
            attempt,
            environment,
            sink,
            repeats: RepeatCounter::default(),
            step: StepId(1),
            unusable: 0,
            recorded_messages: 0,
            finish: None,
            delivered_chars: 0,
            skills_viewed: Vec::new(),
            provider_model: None,
            known: Known::default(),
            steering: None,
        }
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
}
