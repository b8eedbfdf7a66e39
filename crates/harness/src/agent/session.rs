//! A session: several instructions of one person, carried out one after the other in one world and one conversation.
//! Each instruction is a turn with its own limits. The trace has one `turn.started` and one `turn.ended` event per turn,
//! and one `stopped` event for the whole session.

use std::panic::AssertUnwindSafe;

use apprentice_protocol::{
    Environment, EventKind, EventSink, Finish, PersonAction, PersonEvent, ResourceUsage, Steering,
    StopReason, TurnStart, VoidCause,
};
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::agent_loop::{AgentLoop, AttemptInput};
use super::attempt::{AttemptResult, panic_text};
use super::budget::Budget;
use super::prompt;
use super::repeat::RepeatCounter;
use super::stop::Stop;

/// How one turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReport {
    /// Number of the turn, from 1.
    pub turn: u32,
    /// The stop reason, or the cause that voids the turn.
    pub stop: Result<StopReason, VoidCause>,
    /// The model's report: its `finish`, or a reply in words.
    pub finish: Option<Finish>,
    /// The stop reason or cause in words.
    pub detail: String,
    /// Steps, tokens, time and money used in the turn.
    pub spent: ResourceUsage,
}

impl TurnReport {
    /// Returns whether a further turn can follow. An interrupted turn, or one without an answer of the model's server,
    /// leaves world and trace as they are.
    pub fn may_go_on(&self) -> bool {
        matches!(
            self.stop,
            Ok(_) | Err(VoidCause::Interrupted | VoidCause::ModelUnavailable | VoidCause::ModelProtocol)
        )
    }
}

/// Several turns over one world and one conversation. The limits of the brief hold for each turn.
pub struct Session<'a> {
    agent: AgentLoop<'a>,
    turns: u32,
    opened: bool,
    spent: ResourceUsage,
    last: Option<Stop>,
}

impl<'a> Session<'a> {
    /// Prepares a session. Nothing is asked or recorded before the first instruction.
    pub fn new(
        attempt: AttemptInput<'a>,
        environment: &'a mut dyn Environment,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        let agent = AgentLoop::new(attempt, environment, sink);
        Self { agent, turns: 0, opened: false, spent: ResourceUsage::default(), last: None }
    }

    /// Lets a person steer the turns.
    #[must_use]
    pub fn steered_by(mut self, steering: &'a dyn Steering) -> Self {
        self.agent.steering = Some(steering);
        self
    }

    /// Carries out one instruction, even through a panic. Cancelling the token ends this turn as `interrupted`.
    pub async fn instruct(&mut self, start: TurnStart, cancel: CancellationToken) -> TurnReport {
        self.turns += 1;
        let agent = &mut self.agent;
        agent.attempt.cancel = cancel;
        agent.budget = Budget::new(agent.attempt.brief.limits, agent.attempt.clock);
        agent.repeats = RepeatCounter::default();
        (agent.unusable, agent.finish) = (0, None);
        let start = TurnStart { turn: self.turns, ..start };
        let work = AssertUnwindSafe(agent.take_turn(start, &mut self.opened)).catch_unwind();
        let stop = work.await.unwrap_or_else(|panic| {
            Stop::void(VoidCause::Internal, format!("panic: {}", panic_text(panic.as_ref())))
        });
        let spent = agent.budget.spent();
        self.spent = sum(self.spent, spent);
        let (reason, void, detail) = (stop.how.ok(), stop.how.err(), stop.detail.clone());
        let ended = EventKind::TurnEnded { turn: self.turns, reason, void, detail, spent };
        // A turn whose trace could not be written to its end is void.
        let stop = agent.emit(ended).err().filter(|_| stop.how.is_ok()).unwrap_or(stop);
        agent.step = agent.step.next();
        self.last = Some(stop.clone());
        let Stop { how, detail } = stop;
        TurnReport { turn: self.turns, stop: how, finish: agent.finish.clone(), detail, spent }
    }

    /// Records an action that somebody else did in the world between two turns. Returns why the trace could not be written, if
    /// so: the session then ends as void.
    pub fn record_action(&mut self, act: PersonAction) -> Result<(), String> {
        let event = EventKind::Person(PersonEvent::Acted(Box::new(act)));
        self.agent.emit(event).map_err(|stop| self.last.insert(stop).detail.clone())
    }

    /// Returns what all turns have used so far.
    pub fn spent(&self) -> ResourceUsage {
        self.spent
    }

    /// Ends the session and records its only `stopped` event, with the reason of the last turn.
    pub fn end(self) -> AttemptResult {
        let nothing = || Stop::void(VoidCause::Interrupted, "no instruction was given");
        let stop = self.last.unwrap_or_else(nothing);
        self.agent.end_with(stop, self.spent)
    }
}

impl AgentLoop<'_> {
    async fn take_turn(&mut self, start: TurnStart, opened: &mut bool) -> Stop {
        let instruction = start.instruction.clone();
        if let Err(stop) = self.emit(EventKind::TurnStarted(start)) {
            return stop;
        }
        let sight = match *opened {
            false => self.open(&instruction).await,
            true => self.follow_up(&instruction).await,
        };
        match sight {
            Ok(sight) => {
                *opened = true;
                self.work(sight).await
            }
            Err(stop) => stop,
        }
    }

    /// Looks at the world, which may have changed since the last turn, and adds the instruction to the conversation.
    async fn follow_up(&mut self, instruction: &str) -> Result<super::model_view::ModelView, Stop> {
        let sight = self.look().await?;
        let below = self.refresh(&sight)?;
        let seen = sight.contents(self.attempt.model.profile().outline);
        self.talk.instruct(prompt::follow_up(instruction), seen, below);
        Ok(sight)
    }
}

fn sum(one: ResourceUsage, other: ResourceUsage) -> ResourceUsage {
    let mut tokens = one.tokens;
    tokens += other.tokens;
    ResourceUsage {
        world_steps: one.world_steps.saturating_add(other.world_steps),
        turns: one.turns.saturating_add(other.turns),
        tokens,
        cost_usd: match (one.cost_usd, other.cost_usd) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
        },
        working_ms: one.working_ms.saturating_add(other.working_ms),
    }
}
