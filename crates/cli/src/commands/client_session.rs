//! A session whose instructions come from a program: it hands over an instruction, waits for the report, and acts in the same
//! world between the turns.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::agent::TurnReport;
use apprentice_protocol::{
    ActReport, Action, ConnectionReport, Environment, Observation, PortFuture, ScreenPoint, Size, TurnStart,
    Want, World, WorldError, WorldErrorKind,
};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// An instruction of a client.
struct Instruction {
    text: String,
    cancel: CancellationToken,
    report: oneshot::Sender<TurnReport>,
}

/// The session's side: takes instructions, gives reports.
pub(super) struct ClientSession {
    instructions: mpsc::Receiver<Instruction>,
    opened: watch::Sender<Option<SharedWorld>>,
    /// The instruction that is being carried out.
    current: Option<Instruction>,
}

/// The client's side.
#[derive(Clone)]
pub(super) struct SessionClient {
    instructions: mpsc::Sender<Instruction>,
    opened: watch::Receiver<Option<SharedWorld>>,
}

/// An open world that the agent and the client use by turns.
#[derive(Clone)]
pub(super) struct SharedWorld {
    environment: SharedEnvironment,
    /// The screen, if the world tells it.
    pub(super) screen: Option<Size>,
}

#[derive(Clone)]
struct SharedEnvironment(Arc<Mutex<Option<Box<dyn Environment>>>>);

/// Creates both sides of a session.
pub(super) fn client_session() -> (SessionClient, ClientSession) {
    let (to_session, instructions) = mpsc::channel(1);
    let (opened, seen) = watch::channel(None);
    let client = SessionClient { instructions: to_session, opened: seen };
    (client, ClientSession { instructions, opened, current: None })
}

impl ClientSession {
    /// Lends the world to the client.
    pub(super) fn share(&mut self, world: &mut World) {
        let inner = SharedEnvironment(Arc::default());
        let own = std::mem::replace(&mut world.environment, Box::new(inner.clone()));
        // Nobody else has the lock yet.
        if let Ok(mut slot) = inner.0.try_lock() {
            *slot = Some(own);
        }
        let screen = world.machine.offers().screen;
        let _ = self.opened.send(Some(SharedWorld { environment: inner, screen }));
    }

    /// Waits for the next instruction. `None` once the client is gone or the session is interrupted.
    pub(super) async fn instruction(&mut self, session: &CancellationToken) -> Option<TurnStart> {
        let next = tokio::select! {
            biased;
            () = session.cancelled() => None,
            next = self.instructions.recv() => next,
        };
        let next = self.current.insert(next?);
        Some(TurnStart { instruction: next.text.clone(), ..TurnStart::default() })
    }

    /// Has the client's cancellation end the turn.
    pub(super) fn cancels(&self, turn: &CancellationToken) {
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
    pub(super) fn tell(&mut self, report: &TurnReport) {
        if let Some(current) = self.current.take() {
            // Ends the wait for a cancellation. The client may be gone.
            current.cancel.cancel();
            let _ = current.report.send(report.clone());
        }
    }
}

impl SessionClient {
    /// Waits until the world is open. `None` if it could not be opened.
    pub(super) async fn world(&mut self) -> Option<SharedWorld> {
        let opened = self.opened.wait_for(Option::is_some).await.ok()?;
        opened.clone()
    }

    /// Has an instruction carried out. `None` if the session has ended.
    pub(super) async fn instruct(&self, text: String, cancel: CancellationToken) -> Option<TurnReport> {
        let (report, told) = oneshot::channel();
        self.instructions.send(Instruction { text, cancel, report }).await.ok()?;
        told.await.ok()
    }
}

impl SharedWorld {
    /// Returns the environment for the client's own actions.
    pub(super) fn environment(&self) -> Box<dyn Environment> {
        Box::new(self.environment.clone())
    }
}

fn gone() -> WorldError {
    WorldError::new(WorldErrorKind::Lost, "the world is closed")
}

impl Environment for SharedEnvironment {
    fn observe(&mut self, want: Want) -> PortFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            let mut slot = self.0.lock().await;
            slot.as_mut().ok_or_else(gone)?.observe(want).await
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> PortFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            let mut slot = self.0.lock().await;
            slot.as_mut().ok_or_else(gone)?.act(action).await
        })
    }

    /// Waits for nobody: while another call uses the world, its connections are left for the next report.
    fn take_connections(&mut self) -> ConnectionReport {
        let slot = self.0.try_lock().ok();
        let report =
            slot.and_then(|mut slot| slot.as_mut().map(|environment| environment.take_connections()));
        report.unwrap_or_default()
    }

    fn close(self: Box<Self>, deadline: Duration) -> PortFuture<'static, Result<(), WorldError>> {
        Box::pin(async move {
            let taken = self.0.lock().await.take();
            match taken {
                Some(environment) => environment.close(deadline).await,
                None => Ok(()),
            }
        })
    }
}
