//! `apprentice do --chat`: several instructions over one world and one conversation.

use std::sync::Arc;

use apprentice_harness::agent::{AttemptResult, Session, TurnReport};
use apprentice_learning::foreground::remember_instruction;
use apprentice_protocol::{Finish, TurnStart, World};

use tokio_util::sync::CancellationToken;

use crate::commands::interrupts::SessionInterrupts;
use crate::commands::session::client_session::{ClientRequest, ClientSession};
use crate::commands::session::learning::SessionLearning;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;
use crate::terminal::chat_input::{ChatInput, ChatLine};

/// Who talks, and how they stop the agent.
pub(in crate::commands) struct Chat {
    input: Talker,
    interrupts: Arc<SessionInterrupts>,
}

/// Where instructions come from and reports go.
enum Talker {
    /// A person at the terminal.
    Terminal(ChatInput),
    /// A program that speaks MCP.
    Client(ClientSession),
}

/// The end of a session, with the first failure on the terminal's side of it.
pub(in crate::commands) struct ChatResult {
    /// How the agent's side ended.
    pub(in crate::commands) ended: AttemptResult,
    /// A failure to read input or to write the record of a turn.
    pub(in crate::commands) told: Result<(), Failure>,
}

impl Chat {
    /// Prepares to read instructions from standard input.
    pub(in crate::commands) fn open(interrupts: Arc<SessionInterrupts>) -> Result<Self, Failure> {
        Ok(Self { input: Talker::Terminal(ChatInput::open().kind(Kind::Environment)?), interrupts })
    }

    /// Prepares to take instructions of a client.
    pub(in crate::commands) fn of_client(client: ClientSession, interrupts: Arc<SessionInterrupts>) -> Self {
        Self { input: Talker::Client(client), interrupts }
    }

    /// Lends the world to the client, if there is one, so that it can act between the turns.
    pub(in crate::commands) fn share(&mut self, world: &mut World) {
        if let Talker::Client(client) = &mut self.input {
            client.share(world);
        }
    }

    /// Returns the token that ends the session.
    pub(in crate::commands) fn session_token(&self) -> CancellationToken {
        self.interrupts.session().clone()
    }

    /// Waits for the next instruction. `None` at the end of the input, or when the session is interrupted.
    pub(in crate::commands) async fn instruction(
        &mut self,
        mut session: Option<&mut Session<'_>>,
        may_learn: bool,
    ) -> Result<Option<TurnStart>, Failure> {
        loop {
            let input = match &mut self.input {
                Talker::Terminal(input) => input,
                Talker::Client(client) => match client.next(self.interrupts.session()).await {
                    Some(ClientRequest::Turn(start)) => return Ok(Some(start)),
                    Some(ClientRequest::Act(act)) => {
                        act.record(|act| match session.as_deref_mut() {
                            Some(session) => session.record_action(act),
                            None => Err("the session has not begun".to_owned()),
                        });
                        continue;
                    }
                    None => return Ok(None),
                },
            };
            terminal::prompt();
            let line = tokio::select! {
                biased;
                () = self.interrupts.session().cancelled() => return Ok(None),
                line = input.next() => line.kind(Kind::Environment)?,
            };
            match line {
                ChatLine::End => return Ok(None),
                ChatLine::Unusable(why) => terminal::note(format_args!("{why}")),
                ChatLine::Remember(_) if !may_learn => {
                    terminal::note(format_args!(
                        "/remember requires --learn: without it no skills are written"
                    ));
                }
                ChatLine::Remember(words) => {
                    let instruction = remember_instruction(&words);
                    return Ok(Some(TurnStart { instruction, asks_to_learn: true, ..TurnStart::default() }));
                }
                ChatLine::Instruction(instruction) => {
                    return Ok(Some(TurnStart { instruction, ..TurnStart::default() }));
                }
            }
        }
    }

    /// Carries out instructions until the person ends the session, or no further turn can follow.
    pub(in crate::commands) async fn converse(
        &mut self,
        mut session: Session<'_>,
        first: Option<TurnStart>,
        learning: Option<&SessionLearning<'_>>,
    ) -> ChatResult {
        let mut told = Ok(());
        let mut next = match first {
            Some(first) => Some(first),
            None => {
                self.instruction(Some(&mut session), learning.is_some()).await.unwrap_or_else(|failure| {
                    told = Err(failure);
                    None
                })
            }
        };
        while let Some(start) = next.take() {
            if let Some(learning) = learning {
                learning.begin_turn();
            }
            let turn = self.interrupts.begin_turn();
            if let Talker::Client(client) = &self.input {
                client.cancels(&turn);
            }
            let report = session.instruct(start, turn).await;
            match &mut self.input {
                Talker::Terminal(_) => tell(&report),
                Talker::Client(client) => client.tell(&report),
            }
            if let Some(learning) = learning
                && let Err(failure) = learning.end_turn(report.turn)
            {
                told = Err(failure);
                break;
            }
            if !report.may_go_on() {
                break;
            }
            match self.instruction(Some(&mut session), learning.is_some()).await {
                Ok(instruction) => next = instruction,
                Err(failure) => told = Err(failure),
            }
        }
        ChatResult { ended: session.end(), told }
    }
}

/// Prints the agent's report.
fn tell(report: &TurnReport) {
    match &report.finish {
        Some(Finish::Answer { text }) => terminal::line(format_args!("{text}")),
        Some(Finish::Done) => terminal::line(format_args!("done")),
        Some(Finish::GiveUp { reason }) => terminal::line(format_args!("given up: {reason}")),
        None => terminal::line(format_args!("not finished: {}", report.detail)),
    }
}
