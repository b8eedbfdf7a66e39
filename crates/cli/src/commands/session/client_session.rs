//! A session whose instructions come from a program: it hands over an instruction, waits for the report, and acts in the same
//! world between the turns.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::agent::TurnReport;
use apprentice_protocol::{
    ActReport, Action, ActionOrigin, ActionOutcome, BoxFuture, ChangeWait, ConnectionReport, Delivery,
    Environment, Observation, PersonAction, ScreenPoint, Size, TurnStart, Want, World, WorldError,
    WorldErrorKind,
};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// An instruction of a client.
struct Instruction {
    text: String,
    cancel: CancellationToken,
    report: oneshot::Sender<TurnReport>,
}

/// An action that the client did in the world, on its way to the trace.
pub(in crate::commands) struct ClientAct {
    act: PersonAction,
    recorded: oneshot::Sender<Result<(), String>>,
}

/// What a client wants of the session.
pub(in crate::commands) enum ClientRequest {
    /// An instruction for the model.
    Turn(TurnStart),
    /// A record of its own action.
    Act(ClientAct),
}

/// The session's side: takes instructions, gives reports.
pub(in crate::commands) struct ClientSession {
    instructions: mpsc::Receiver<Instruction>,
    acts: mpsc::Receiver<ClientAct>,
    opened: watch::Sender<Option<SharedWorld>>,
    /// The instruction that is being carried out.
    current: Option<Instruction>,
}

/// The client's side.
#[derive(Clone)]
pub(in crate::commands) struct SessionClient {
    instructions: mpsc::Sender<Instruction>,
    acts: mpsc::Sender<ClientAct>,
    opened: watch::Receiver<Option<SharedWorld>>,
}

/// An open world that the agent and the client use by turns.
#[derive(Clone)]
pub(in crate::commands) struct SharedWorld {
    environment: SharedEnvironment,
    /// The screen, if the world tells it.
    pub(in crate::commands) screen: Option<Size>,
}

#[derive(Clone)]
struct SharedEnvironment(Arc<Mutex<Option<Box<dyn Environment>>>>);

/// Creates both sides of a session.
pub(in crate::commands) fn client_session() -> (SessionClient, ClientSession) {
    let (to_session, instructions) = mpsc::channel(1);
    let (to_trace, acts) = mpsc::channel(1);
    let (opened, seen) = watch::channel(None);
    let client = SessionClient { instructions: to_session, acts: to_trace, opened: seen };
    (client, ClientSession { instructions, acts, opened, current: None })
}

impl ClientSession {
    /// Lends the world to the client.
    pub(in crate::commands) fn share(&mut self, world: &mut World) {
        let inner = SharedEnvironment(Arc::default());
        let own = std::mem::replace(&mut world.environment, Box::new(inner.clone()));
        // Nobody else has the lock yet.
        if let Ok(mut slot) = inner.0.try_lock() {
            *slot = Some(own);
        }
        let screen = world.machine.offers().screen;
        let _ = self.opened.send(Some(SharedWorld { environment: inner, screen }));
    }

    /// Waits for the next instruction or action. `None` once the client is gone or the session is interrupted.
    pub(in crate::commands) async fn next(&mut self, session: &CancellationToken) -> Option<ClientRequest> {
        let next = tokio::select! {
            biased;
            () = session.cancelled() => None,
            Some(act) = self.acts.recv() => return Some(ClientRequest::Act(act)),
            next = self.instructions.recv() => next,
        };
        let next = self.current.insert(next?);
        Some(ClientRequest::Turn(TurnStart { instruction: next.text.clone(), ..TurnStart::default() }))
    }

    /// Has the client's cancellation end the turn.
    pub(in crate::commands) fn cancels(&self, turn: &CancellationToken) {
        let Some(current) = &self.current else { return };
        let (asked, turn) = (current.cancel.clone(), turn.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = asked.cancelled() => turn.cancel(),
                () = turn.cancelled() => {}
            }
        });
    }

    /// Reports how a turn ended.
    pub(in crate::commands) fn tell(&mut self, report: &TurnReport) {
        if let Some(current) = self.current.take() {
            // Ends the wait for a cancellation. The client may be gone.
            current.cancel.cancel();
            let _ = current.report.send(report.clone());
        }
    }
}

impl SessionClient {
    /// Waits until the world is open. `None` if it could not be opened.
    pub(in crate::commands) async fn world(&mut self) -> Option<SharedWorld> {
        let opened = self.opened.wait_for(Option::is_some).await.ok()?;
        opened.clone()
    }

    /// Has an instruction carried out. `None` if the session has ended.
    pub(in crate::commands) async fn instruct(
        &self,
        text: String,
        cancel: CancellationToken,
    ) -> Option<TurnReport> {
        let (report, told) = oneshot::channel();
        self.instructions.send(Instruction { text, cancel, report }).await.ok()?;
        told.await.ok()
    }
}

impl SharedWorld {
    /// Returns the environment for the own actions of a client of this name.
    pub(in crate::commands) fn environment(
        &self,
        client: &SessionClient,
        by: String,
    ) -> Box<dyn Environment> {
        Box::new(RecordedEnvironment { world: self.environment.clone(), acts: client.acts.clone(), by })
    }
}

impl ClientAct {
    /// Has the action recorded, and tells the client.
    pub(in crate::commands) fn record(self, record: impl FnOnce(PersonAction) -> Result<(), String>) {
        // The client may be gone.
        let _ = self.recorded.send(record(self.act));
    }
}

/// The client's handle on the world: each of its actions stands in the trace before it is answered.
struct RecordedEnvironment {
    world: SharedEnvironment,
    acts: mpsc::Sender<ClientAct>,
    /// The name that the client gave.
    by: String,
}

impl RecordedEnvironment {
    async fn record(&self, sent: Action<ScreenPoint>, report: &ActReport) -> Result<(), WorldError> {
        let outcome = match &report.delivery {
            Delivery::Delivered => ActionOutcome::Done { text: report.text.clone() },
            Delivery::Refused { problem } => ActionOutcome::Failed { problem: problem.clone() },
        };
        let (by, origin) = (self.by.clone(), ActionOrigin::Client);
        let act = PersonAction { by, origin, sent, outcome, screenshot: None };
        let (recorded, told) = oneshot::channel();
        self.acts.send(ClientAct { act, recorded }).await.map_err(|_| gone())?;
        let unwritten = |why: String| WorldError::new(WorldErrorKind::DiskFull, format!("the trace: {why}"));
        told.await.map_err(|_| gone())?.map_err(unwritten)
    }
}

impl Environment for RecordedEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        self.world.observe(want)
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            let report = self.world.act(action).await?;
            self.record(action.clone(), &report).await?;
            Ok(report)
        })
    }

    fn await_change(&mut self, cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        self.world.await_change(cap)
    }

    fn take_connections(&mut self) -> ConnectionReport {
        self.world.take_connections()
    }

    /// Does nothing: the session closes the world.
    fn close(self: Box<Self>, _deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn gone() -> WorldError {
    WorldError::new(WorldErrorKind::Lost, "the world is closed")
}

impl Environment for SharedEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            let mut slot = self.0.lock().await;
            slot.as_mut().ok_or_else(gone)?.observe(want).await
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            let mut slot = self.0.lock().await;
            slot.as_mut().ok_or_else(gone)?.act(action).await
        })
    }

    fn await_change(&mut self, cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        Box::pin(async move {
            let mut slot = self.0.lock().await;
            slot.as_mut().ok_or_else(gone)?.await_change(cap).await
        })
    }

    /// Waits for nobody: while another call uses the world, its connections are left for the next report.
    fn take_connections(&mut self) -> ConnectionReport {
        let slot = self.0.try_lock().ok();
        let report =
            slot.and_then(|mut slot| slot.as_mut().map(|environment| environment.take_connections()));
        report.unwrap_or_default()
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(async move {
            let taken = self.0.lock().await.take();
            match taken {
                Some(environment) => environment.close(deadline).await,
                None => Ok(()),
            }
        })
    }
}
