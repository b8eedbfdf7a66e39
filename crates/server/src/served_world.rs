//! The one world that is open, and how a fresh one takes its place.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ChildProcess, Clock, Environment, EnvironmentKind, EnvironmentSource, Machine, World, WorldSpec,
};
use tempfile::TempDir;
use tokio::sync::{Mutex, RwLock};

use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::episode::Episode;
use crate::problem::{Answer, Problem};

const CLOSE_DEADLINE: Duration = Duration::from_secs(20);

/// The worlds of a server: one at a time, each fresh and prepared in the same way.
pub struct ServedWorld {
    source: Arc<dyn EnvironmentSource>,
    pub(crate) clock: Arc<dyn Clock>,
    given: WorldSpec,
    pub(crate) episode: Episode,
    pub(crate) checkpoints: Mutex<Checkpoints>,
    open: RwLock<Result<Arc<OpenWorld>, String>>,
}

/// An open world.
pub(crate) struct OpenWorld {
    pub(crate) machine: Arc<dyn Machine>,
    /// `None` once the world is closed.
    pub(crate) environment: Mutex<Option<Box<dyn Environment>>>,
    /// The recorder of the screen, while it runs.
    pub(crate) recorder: Mutex<Option<Box<dyn ChildProcess>>>,
    /// Where setup keeps what checks read.
    pub(crate) cache: Arc<TempDir>,
}

/// What a fresh world is prepared with.
#[derive(Clone, Copy)]
enum Start<'a> {
    Episode,
    Checkpoint(&'a Checkpoint),
}

impl ServedWorld {
    /// Creates the server's worlds; none is open before the first [`ServedWorld::reset`].
    pub fn new(
        source: Arc<dyn EnvironmentSource>,
        clock: Arc<dyn Clock>,
        given: WorldSpec,
        episode: Episode,
    ) -> Self {
        let open = RwLock::new(Err("none was opened yet".to_owned()));
        Self { source, clock, given, episode, checkpoints: Mutex::default(), open }
    }

    /// Closes the open world and opens a fresh one. After an error no world is open.
    pub async fn reset(&self) -> Result<(), String> {
        self.replace(Start::Episode).await
    }

    /// Closes the open world and opens a fresh one with the files of a checkpoint. After an error no world is open.
    pub(crate) async fn reset_to(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        self.replace(Start::Checkpoint(checkpoint)).await
    }

    /// Refuses checkpoints of worlds other than desktops: a browser has files of its home open from the start.
    pub(crate) fn check_has_checkpoints(&self) -> Answer<()> {
        match self.episode.world(&self.given).environment {
            EnvironmentKind::Desktop => Ok(()),
            _ => Err(Problem::request("only the files of a desktop can be kept and restored")),
        }
    }

    async fn replace(&self, start: Start<'_>) -> Result<(), String> {
        let mut slot = self.open.write().await;
        close(&mut slot, "the last reset did not finish").await;
        match self.fresh(start).await {
            Ok(world) => {
                *slot = Ok(Arc::new(world));
                Ok(())
            }
            Err(why) => {
                *slot = Err(why.clone());
                Err(why)
            }
        }
    }

    /// Returns the instruction of the task that worlds are prepared for.
    pub fn instruction(&self) -> Option<&str> {
        self.episode.instruction()
    }

    /// Closes the open world.
    pub async fn close(&self) {
        close(&mut *self.open.write().await, "the server ends").await;
    }

    async fn fresh(&self, start: Start<'_>) -> Result<OpenWorld, String> {
        let cache = match start {
            Start::Checkpoint(checkpoint) => checkpoint.cache.clone(),
            Start::Episode => {
                let made = tempfile::tempdir();
                Arc::new(made.map_err(|error| format!("no folder for the task's files: {error}"))?)
            }
        };
        let World { environment, machine, .. } =
            self.source.open(&self.episode.world(&self.given)).await.map_err(|error| error.to_string())?;
        let prepared = match start {
            Start::Checkpoint(checkpoint) => checkpoint.put_into(&*machine).await,
            Start::Episode => {
                let done = self.episode.prepare(&*machine, &*self.clock, cache.path()).await;
                done.map_err(|error| error.to_string())
            }
        };
        match prepared {
            Ok(()) => Ok(OpenWorld {
                machine,
                environment: Mutex::new(Some(environment)),
                recorder: Mutex::default(),
                cache,
            }),
            Err(error) => {
                if let Err(second) = environment.close(CLOSE_DEADLINE).await {
                    tracing::warn!(%second, "cannot close a world");
                }
                Err(format!("the world could not be prepared: {error}"))
            }
        }
    }

    /// Returns the open world.
    pub(crate) async fn current(&self) -> Answer<Arc<OpenWorld>> {
        self.open.read().await.as_ref().map(Arc::clone).map_err(|why| Problem::closed(why))
    }

    /// Returns the machine of the open world.
    pub(crate) async fn machine(&self) -> Answer<Arc<dyn Machine>> {
        Ok(Arc::clone(&self.current().await?.machine))
    }
}

async fn close(slot: &mut Result<Arc<OpenWorld>, String>, why: &str) {
    let Ok(world) = std::mem::replace(slot, Err(why.to_owned())) else { return };
    // A request that still uses the world gets its answer first; actions have deadlines of their own.
    let Some(environment) = world.environment.lock().await.take() else { return };
    if let Err(error) = environment.close(CLOSE_DEADLINE).await {
        tracing::warn!(%error, "cannot close a world");
    }
}
