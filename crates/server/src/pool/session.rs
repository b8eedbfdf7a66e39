//! A session over HTTP: one world at a time, one request at a time, until it is closed or idle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_protocol::Judged;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::episode::{Phase, ServedEpisode};
use super::fork::ForkedFrom;
use super::opening::Opening;
use super::refusal::Refusal;

/// A session.
pub(crate) struct Session {
    pub(crate) id: String,
    core: Arc<AsyncMutex<SessionCore>>,
    status: Mutex<Status>,
    /// When its last request began or ended, by the clock.
    used: Mutex<Duration>,
    /// Ends what runs, because the session ends.
    pub(crate) cancel: CancellationToken,
}

/// What one request works on.
pub(crate) struct SessionCore {
    pub(crate) opening: Opening,
    /// `None` after a reset that failed.
    pub(crate) episode: Option<ServedEpisode>,
    pub(crate) forked_from: Option<ForkedFrom>,
    /// The world before, while it is closed.
    pub(crate) leaving: Leaving,
    /// Its place in the pool, until its world is closed.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// What `GET /sessions/ID` tells.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Status {
    session: String,
    episode: Option<String>,
    task: Option<String>,
    seed: Option<u32>,
    instruction: Option<String>,
    step_count: u32,
    done: bool,
    terminated: bool,
    truncated: bool,
    reward: Option<f64>,
    verdict: Option<Judged>,
    forked_from: Option<ForkedFrom>,
    /// Why the world is void.
    #[serde(skip_serializing_if = "Option::is_none")]
    void: Option<String>,
}

impl Session {
    pub(crate) fn new(id: String, core: SessionCore, now: Duration) -> Self {
        let session = Self {
            id,
            status: Mutex::default(),
            used: Mutex::new(now),
            cancel: CancellationToken::new(),
            core: Arc::new(AsyncMutex::new(core)),
        };
        if let Ok(core) = session.core.try_lock() {
            session.note(&core);
        }
        session
    }

    /// Takes the session for one request.
    pub(crate) fn take(&self, now: Duration) -> Result<OwnedMutexGuard<SessionCore>, Refusal> {
        let taken = Arc::clone(&self.core).try_lock_owned().map_err(|_| {
            Refusal::conflict(
                "busy",
                "another request to this session is running: a session has one client at a time",
            )
        })?;
        self.touch(now);
        Ok(taken)
    }

    /// Waits for the session, to end it.
    pub(crate) async fn take_last(&self) -> OwnedMutexGuard<SessionCore> {
        Arc::clone(&self.core).lock_owned().await
    }

    /// A request begins or ends.
    pub(crate) fn touch(&self, now: Duration) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// How long no request has come. Zero while one runs.
    pub(crate) fn idle(&self, now: Duration) -> Duration {
        match self.core.try_lock() {
            Ok(_) => now.saturating_sub(*self.used.lock().unwrap_or_else(PoisonError::into_inner)),
            Err(_) => Duration::ZERO,
        }
    }

    fn status_mut(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> Status {
        self.status_mut().clone()
    }

    /// Notes how the session stands, for whoever asks while a request runs.
    pub(crate) fn note(&self, core: &SessionCore) {
        let mut status = Status {
            session: self.id.clone(),
            forked_from: core.forked_from.clone(),
            task: core.opening.task.clone(),
            ..Status::default()
        };
        if let Some(episode) = &core.episode {
            let task = &episode.plan.task.varied.task;
            status.episode = Some(episode.name.clone());
            status.task = Some(task.id.as_str().to_owned());
            status.seed = Some(episode.plan.seed);
            status.instruction = Some(task.instruction.clone());
            status.step_count = episode.step_count;
            status.done = !matches!(episode.phase, Phase::Running);
            status.terminated = matches!(episode.phase, Phase::Terminated);
            status.truncated = matches!(episode.phase, Phase::Truncated);
            status.reward = episode.reward;
            status.verdict.clone_from(&episode.verdict);
            if let Phase::Void(why) = &episode.phase {
                status.void = Some(why.clone());
            }
        }
        *self.status_mut() = status;
    }
}

/// A world that another has taken the place of, while it is closed: one at a time, so that no more than twice the places are taken.
#[derive(Default)]
pub(crate) struct Leaving(Option<JoinHandle<()>>);

impl Leaving {
    /// Begins to close an episode, once the one before it is closed.
    pub(crate) async fn begin(&mut self, before: Option<ServedEpisode>) {
        self.end().await;
        self.0 = before.map(ServedEpisode::leave);
    }

    /// Waits until the world is closed, which has a deadline of its own.
    pub(crate) async fn end(&mut self) {
        if let Some(closing) = self.0.take()
            && closing.await.is_err()
        {
            tracing::error!("closing a world ended unfinished");
        }
    }
}

impl SessionCore {
    /// The episode, or what is said where the last reset failed.
    pub(crate) fn episode(&mut self) -> Result<&mut ServedEpisode, Refusal> {
        let none = || {
            Refusal::conflict("no_episode", "no world is open, because the last reset failed: reset again")
        };
        self.episode.as_mut().ok_or_else(none)
    }

    /// What an opening is answered with.
    pub(crate) fn opened(&self, session: &str, observation: &Value) -> Value {
        let Some(episode) = &self.episode else { return Value::Null };
        let task = &episode.plan.task.varied.task;
        let mut told = json!({
            "session": session,
            "episode": episode.name,
            "task": task.id,
            "seed": episode.plan.seed,
            "instruction": task.instruction,
            "observation": observation,
        });
        if let Some(forked) = &self.forked_from {
            told["forked_from"] = json!(forked);
        }
        told
    }
}
