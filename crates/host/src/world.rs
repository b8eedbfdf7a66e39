//! The user's own desktop as a world. One thread owns screen, pointer and keyboard, and polls the stop key.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, BoxFuture, Clock, Environment, EnvironmentKind, EnvironmentSource, Image, Isolation,
    Observation, ScreenPoint, Size, Want, Why, World, WorldError, WorldErrorKind, WorldSpec,
};
use device_query::{DeviceQuery as _, DeviceState, Keycode};
use tokio::sync::oneshot;

use crate::input::Input;
use crate::machine::HostMachine;
use crate::screen::Screen;

/// The key that the user holds to stop a run.
pub const STOP_KEY: &str = "Escape";

/// How often the stop key is polled while the thread is idle.
const STOP_KEY_POLL: Duration = Duration::from_millis(50);

/// Opens the user's own desktop as a world.
pub struct HostSource {
    clock: Arc<dyn Clock>,
    on_stop: Arc<dyn Fn() + Send + Sync>,
}

impl HostSource {
    /// Creates a source that calls `on_stop` when the user holds the stop key.
    pub fn new(clock: Arc<dyn Clock>, on_stop: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { clock, on_stop }
    }
}

enum Request {
    Picture(oneshot::Sender<Result<Image, WorldError>>),
    Act(Action<ScreenPoint>, oneshot::Sender<Result<ActReport, WorldError>>),
}

struct HostEnvironment {
    requests: mpsc::Sender<Request>,
    clock: Arc<dyn Clock>,
}

impl EnvironmentSource for HostSource {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            if spec.environment != EnvironmentKind::Host {
                return Err(WorldError::new(
                    WorldErrorKind::Start,
                    "this source opens only the user's own desktop",
                ));
            }
            let (requests, inbox) = mpsc::channel();
            let (ready, opened) = oneshot::channel();
            let on_stop = Arc::clone(&self.on_stop);
            thread::Builder::new()
                .name("host-desktop".into())
                .spawn(move || serve(&inbox, ready, &*on_stop))
                .map_err(|error| WorldError::new(WorldErrorKind::Start, format!("no thread: {error}")))?;
            let screen = opened.await.unwrap_or_else(|_| Err(gone()))?;
            Ok(World {
                environment: Box::new(HostEnvironment { requests, clock: Arc::clone(&self.clock) }),
                machine: Arc::new(HostMachine::new(screen)),
                isolation: Isolation::None,
            })
        })
    }
}

fn gone() -> WorldError {
    WorldError::new(WorldErrorKind::Lost, "the thread that drives the desktop ended")
}

fn serve(
    inbox: &mpsc::Receiver<Request>,
    ready: oneshot::Sender<Result<Size, WorldError>>,
    on_stop: &dyn Fn(),
) {
    let opened = Screen::open().and_then(|screen| Ok((Input::open()?, screen)));
    let (mut input, screen) = match opened {
        Ok(opened) => opened,
        // If the caller has gone, the error has no reader.
        Err(error) => return drop(ready.send(Err(error))),
    };
    if ready.send(Ok(screen.size())).is_err() {
        return;
    }
    let keyboard = DeviceState::checked_new();
    let stopped = || keyboard.as_ref().is_some_and(|keys| keys.get_keys().contains(&Keycode::Escape));
    loop {
        // The stop key is polled only between requests: during an action, we may be pressing it ourselves.
        match inbox.recv_timeout(STOP_KEY_POLL) {
            Ok(Request::Picture(answer)) => drop(answer.send(screen.picture())),
            Ok(Request::Act(action, answer)) => drop(answer.send(input.act(&action, &screen))),
            Err(RecvTimeoutError::Timeout) if stopped() => on_stop(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl HostEnvironment {
    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, WorldError>>) -> Request,
    ) -> Result<T, WorldError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Environment for HostEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            let screenshot = if want.screenshot { Some(self.ask(Request::Picture).await?) } else { None };
            Ok(Observation { screenshot, ..Observation::default() })
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            if let Action::Wait { ms } = action {
                self.clock.pause(Duration::from_millis(u64::from(*ms)), Why::ModelAsked).await;
                return Ok(ActReport::delivered());
            }
            self.ask(|answer| Request::Act(action.clone(), answer)).await
        })
    }

    fn close(self: Box<Self>, _: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(async { Ok(()) })
    }
}
