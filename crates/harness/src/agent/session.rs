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

use super::agent_loop::AgentLoop;
use super::attempt::{AttemptInput, AttemptResult};
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
            Ok(_)
                | Err(VoidCause::Interrupted
                    | VoidCause::ModelUnavailable
                    | VoidCause::ModelProtocol
                    | VoidCause::RequestRefused)
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
        self.agent = self.agent.steered_by(steering);
        self
    }

    /// Carries out one instruction, even through a panic. Cancelling the token ends this turn as `interrupted`.
    pub async fn instruct(&mut self, start: TurnStart, cancel: CancellationToken) -> TurnReport {
        self.turns += 1;
        let agent = &mut self.agent;
        agent.begin_turn(cancel);
        let start = TurnStart { turn: self.turns, ..start };
        let work = AssertUnwindSafe(agent.take_turn(start, &mut self.opened)).catch_unwind();
        let stop = work.await.unwrap_or_else(|panic| Stop::panicked(&*panic));
        let spent = agent.spent();
        self.spent = sum(self.spent, spent);
        let (reason, void, detail) = (stop.how.ok(), stop.how.err(), stop.detail.clone());
        let ended = EventKind::TurnEnded { turn: self.turns, reason, void, detail, spent };
        // A turn whose trace could not be written to its end is void.
        let stop = agent.end_turn(ended).err().filter(|_| stop.how.is_ok()).unwrap_or(stop);
        self.last = Some(stop.clone());
        let Stop { how, detail, .. } = stop;
        TurnReport { turn: self.turns, stop: how, finish: agent.finish().cloned(), detail, spent }
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
        self.agent.end(stop, self.spent)
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
        model_ms: one.model_ms.saturating_add(other.model_ms),
    }
}
