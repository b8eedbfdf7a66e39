//! The sessions of a pool: at most so many at once, a queue beyond, and an end of those that nobody uses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_protocol::{Clock, EnvironmentSource, Judged};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::episode::{PoolContext, ServedEpisode};
use super::fork::ForkedFrom;
use super::opening::{EpisodePlan, Opening, PoolTasks};
use super::record::EpisodeStore;
use super::refusal::Refusal;
use super::session::{Leaving, Session, SessionCore};
use super::step_body::SessionStep;

/// How long an opening waits for a place.
const QUEUE_DEADLINE: Duration = Duration::from_secs(600);
/// How many ended sessions are remembered, to say why they ended.
const REMEMBERED: usize = 1024;
/// How long closing worlds may delay the end.
const END_DEADLINE: Duration = Duration::from_secs(25);
/// The least time between two looks for idle sessions.
const LEAST_WATCH: Duration = Duration::from_millis(100);

/// The sizes and times of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// The most sessions at once.
    pub sessions: usize,
    /// The most openings that wait.
    pub queue: usize,
    /// After how long without a request a session ends.
    pub idle: Duration,
}

/// Where worlds come from, and where their attempts go.
pub struct PoolPorts {
    /// Opens worlds.
    pub source: Arc<dyn EnvironmentSource>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Keeps the attempts; `None` keeps none.
    pub store: Option<Arc<dyn EpisodeStore>>,
}

/// A pool of sessions.
pub struct Pool {
    pub(crate) context: Arc<PoolContext>,
    pub(crate) settings: PoolSettings,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    sessions: Mutex<Sessions>,
    /// Openings and endings that go on when their client is gone, and sockets.
    pub(crate) tasks: TaskTracker,
    pub(crate) cancel: CancellationToken,
}

#[derive(Default)]
struct Sessions {
    open: BTreeMap<String, Arc<Session>>,
    gone: VecDeque<GoneSession>,
}

struct GoneSession {
    id: String,
    why: &'static str,
}

impl Pool {
    /// Creates a pool that ends with the token.
    pub fn new(
        tasks: PoolTasks,
        settings: PoolSettings,
        ports: PoolPorts,
        cancel: CancellationToken,
    ) -> Self {
        let PoolPorts { source, clock, store } = ports;
        Self {
            context: Arc::new(PoolContext { tasks, source, clock, store, closing: TaskTracker::new() }),
            settings,
            places: Arc::new(Semaphore::new(settings.sessions)),
            waiting: AtomicUsize::new(0),
            sessions: Mutex::default(),
            tasks: TaskTracker::new(),
            cancel,
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Duration {
        self.context.clock.mono()
    }

    /// How many places are taken.
    pub(crate) fn taken(&self) -> usize {
        self.settings.sessions.saturating_sub(self.places.available_permits())
    }

    /// Takes a place at once, if one is free.
    pub(crate) fn place_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Takes so many places, and waits for them in the queue.
    async fn places(&self, count: u32) -> Result<OwnedSemaphorePermit, Refusal> {
        if count as usize > self.settings.sessions {
            let most = self.settings.sessions;
            return Err(Refusal::malformed(format!("count {count}: this pool has at most {most} sessions")));
        }
        let places = Arc::clone(&self.places);
        if let Ok(taken) = Arc::clone(&places).try_acquire_many_owned(count) {
            return Ok(taken);
        }
        let _waiter = Waiter::join(&self.waiting, self.settings.queue).ok_or_else(|| {
            let (most, queue) = (self.settings.sessions, self.settings.queue);
            Refusal::full(format!("all {most} sessions are open, and {queue} openings wait already"))
        })?;
        tokio::select! {
            taken = tokio::time::timeout(QUEUE_DEADLINE, places.acquire_many_owned(count)) => match taken {
                Ok(Ok(taken)) => Ok(taken),
                Ok(Err(_)) => Err(Refusal::ending()),
                Err(_) => Err(Refusal::full(format!("no place became free within {} s", QUEUE_DEADLINE.as_secs()))),
            },
            () = self.cancel.cancelled() => Err(Refusal::ending()),
        }
    }

    /// Opens a session, or as many as `count` says, all or none.
    pub(crate) async fn open(self: &Arc<Self>, opening: Opening) -> Result<Value, Refusal> {
        let plan = self.context.tasks.plan(&opening)?;
        let count = opening.count.unwrap_or(1);
        if count == 0 {
            return Err(Refusal::malformed("count is 1 or more"));
        }
        // Who waits and goes leaves the queue.
        let place = self.places(count).await?;
        let pool = Arc::clone(self);
        self.lasting(async move { pool.open_all(opening, plan, place).await }).await
    }

    async fn open_all(
        self: Arc<Self>,
        opening: Opening,
        plan: EpisodePlan,
        mut place: OwnedSemaphorePermit,
    ) -> Result<Opened, Refusal> {
        let count = opening.count.unwrap_or(1);
        let plans = (1..=count).map(|at| {
            let name = match (&plan.name, count) {
                (Some(name), 2..) => Some(format!("{name}-{at}")),
                (name, _) => name.clone(),
            };
            ServedEpisode::open(Arc::clone(&self.context), EpisodePlan { name, ..plan.clone() })
        });
        let mut opened = Opened::none(&self);
        let mut refused = None;
        for result in join_all(plans).await {
            match result {
                Ok((episode, observation)) => {
                    let core = SessionCore {
                        opening: opening.clone(),
                        episode: Some(episode),
                        forked_from: None,
                        leaving: Leaving::default(),
                        place: place.split(1),
                    };
                    opened.add(core, &observation);
                }
                Err(why) => refused = Some(why),
            }
        }
        match refused {
            None => Ok(opened),
            Some(why) => {
                opened.discard();
                Err(why)
            }
        }
    }

    /// Works to the end whether or not the client waits for it. Sessions that nobody hears of are closed.
    async fn lasting(
        &self,
        work: impl Future<Output = Result<Opened, Refusal>> + Send + 'static,
    ) -> Result<Value, Refusal> {
        let (sender, receiver) = oneshot::channel();
        self.tasks.spawn(async move {
            if let Err(Ok(unheard)) = sender.send(work.await) {
                unheard.discard();
            }
        });
        // One session is told as itself, a group as a list.
        let opened = receiver
            .await
            .map_err(|_| Refusal::void("a bug in this program: opening ended unfinished"))??;
        Ok(match opened.told.as_slice() {
            [one] => one.clone(),
            several => json!({ "sessions": several }),
        })
    }

    fn insert(&self, id: String, core: SessionCore) -> Arc<Session> {
        let session = Arc::new(Session::new(id, core, self.now()));
        self.sessions().open.insert(session.id.clone(), Arc::clone(&session));
        session
    }

    /// Finds a session, or says why it is gone.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        let sessions = self.sessions();
        if let Some(session) = sessions.open.get(id) {
            return Ok(Arc::clone(session));
        }
        let gone = sessions.gone.iter().rfind(|gone| gone.id == id);
        let why = gone.map_or("there is none of this id, or it ended long ago", |gone| gone.why);
        Err(Refusal::absent("no_session", format!("no session {id:?}: {why}")))
    }

    /// What `GET /sessions` tells.
    pub(crate) fn list(&self) -> Value {
        let open: Vec<Arc<Session>> = self.sessions().open.values().cloned().collect();
        let told: Vec<_> = open.iter().map(|session| session.status()).collect();
        json!({
            "sessions": told,
            "open": self.taken(),
            "max_sessions": self.settings.sessions,
            "waiting": self.waiting.load(Ordering::Relaxed),
        })
    }

    /// Carries out a request to its end, whether or not its client waits for it: a client that goes leaves no half step.
    pub(crate) async fn request(self: &Arc<Self>, id: &str, asked: SessionRequest) -> Result<Value, Refusal> {
        let session = self.find(id)?;
        let mut core = session.take(self.now())?;
        let pool = Arc::clone(self);
        let work = self.tasks.spawn(async move {
            let done = asked.carry_out(&pool, &session, &mut core).await;
            session.note(&core);
            session.touch(pool.now());
            done
        });
        work.await
            .unwrap_or_else(|_| Err(Refusal::void("a bug in this program: the request ended unfinished")))
    }

    /// Opens a session that repeats the first steps of another in a fresh world.
    pub(crate) async fn fork(self: &Arc<Self>, id: &str, step: usize) -> Result<Value, Refusal> {
        let session = self.find(id)?;
        let (opening, plan, played, first) = {
            let mut core = session.take(self.now())?;
            let opening = core.opening.clone();
            let episode = core.episode()?;
            let most = episode.played.len();
            if step > most {
                let why = format!("step {step}: the session has made {most} steps");
                return Err(Refusal::new(axum::http::StatusCode::BAD_REQUEST, "no_such_step", why));
            }
            (opening, episode.plan.clone(), episode.played[..step].to_vec(), episode.first.clone())
        };
        let place = self.places(1).await?;
        let (pool, parent) = (Arc::clone(self), session.id.clone());
        let work = async move {
            let plan = EpisodePlan { name: None, ..plan };
            let (mut episode, mut observation) = ServedEpisode::open(Arc::clone(&pool.context), plan).await?;
            let mut differences = first.differences(&episode.first);
            for (number, before) in (1..).zip(&played) {
                match episode.step(before.asked.clone()).await {
                    Ok(stepped) => observation = stepped.observation,
                    Err(why) => {
                        episode.close().await;
                        return Err(why);
                    }
                }
                if let Some(now) = episode.played.last() {
                    differences.extend(before.differences(number, now));
                }
            }
            let same_screen = differences.is_empty();
            let forked = ForkedFrom { session: parent, step: played.len(), same_screen, differences };
            let core = SessionCore {
                opening,
                episode: Some(episode),
                forked_from: Some(forked),
                leaving: Leaving::default(),
                place: Some(place),
            };
            let mut opened = Opened::none(&pool);
            opened.add(core, &observation);
            Ok(opened)
        };
        self.lasting(work).await
    }

    /// Ends a session: stops what it does, and closes its world.
    pub(crate) fn end(self: &Arc<Self>, id: &str, why: &'static str) -> Result<(), Refusal> {
        let session = self.find(id)?;
        {
            let mut sessions = self.sessions();
            if sessions.open.remove(id).is_none() {
                return Ok(());
            }
            sessions.gone.push_back(GoneSession { id: id.to_owned(), why });
            if sessions.gone.len() > REMEMBERED {
                sessions.gone.pop_front();
            }
        }
        session.cancel.cancel();
        self.tasks.spawn(async move {
            let mut core = session.take_last().await;
            if let Some(mut episode) = core.episode.take() {
                episode.close().await;
            }
            core.leaving.end().await;
            // Only now is there room for another world.
            drop(core.place.take());
        });
        Ok(())
    }

    /// Ends sessions without requests, until the pool ends; then ends all.
    pub async fn watch(self: Arc<Self>) {
        loop {
            let now = self.now();
            let open: Vec<Arc<Session>> = self.sessions().open.values().cloned().collect();
            let mut next = self.settings.idle;
            for session in open {
                match self.settings.idle.checked_sub(session.idle(now)) {
                    Some(left) if !left.is_zero() => next = next.min(left),
                    // It may have been closed meanwhile.
                    _ => drop(self.end(&session.id, "it was idle, and has ended")),
                }
            }
            let woken = tokio::time::timeout(next.max(LEAST_WATCH), self.cancel.cancelled()).await;
            if woken.is_ok() {
                break;
            }
        }
        let open: Vec<String> = self.sessions().open.keys().cloned().collect();
        for id in open {
            drop(self.end(&id, "the server ends"));
        }
        self.tasks.close();
        self.context.closing.close();
        let ended = async {
            self.tasks.wait().await;
            self.context.closing.wait().await;
        };
        if tokio::time::timeout(END_DEADLINE, ended).await.is_err() {
            tracing::warn!("some worlds were not closed in time; they end with this process");
        }
    }
}

/// Sessions that were opened for one request.
struct Opened {
    pool: Arc<Pool>,
    sessions: Vec<Arc<Session>>,
    told: Vec<Value>,
}

impl Opened {
    fn none(pool: &Arc<Pool>) -> Self {
        Self { pool: Arc::clone(pool), sessions: Vec::new(), told: Vec::new() }
    }

    fn add(&mut self, core: SessionCore, observation: &Value) {
        let id = super::id("s");
        self.told.push(core.opened(&id, observation));
        self.sessions.push(self.pool.insert(id, core));
    }

    /// Closes the sessions, because nobody knows of them.
    fn discard(self) {
        for session in &self.sessions {
            drop(self.pool.end(&session.id, "its client left while it was opened"));
        }
    }
}

/// A request to an open session.
pub(crate) enum SessionRequest {
    Reset(Opening),
    Step(Box<SessionStep>),
    Judge,
}

impl SessionRequest {
    async fn carry_out(
        self,
        pool: &Arc<Pool>,
        session: &Session,
        core: &mut SessionCore,
    ) -> Result<Value, Refusal> {
        let gone = || Err(Refusal::absent("no_session", "the session was closed while this was done"));
        match self {
            // A world that is being opened is not left half open.
            Self::Reset(opening) => reset(pool, session, core, opening).await,
            Self::Step(step) => {
                let episode = core.episode()?;
                tokio::select! {
                    biased;
                    () = session.cancel.cancelled() => gone(),
                    stepped = episode.step(*step) => stepped.map(|step| json!(step)),
                }
            }
            Self::Judge => {
                let episode = core.episode()?;
                tokio::select! {
                    biased;
                    () = session.cancel.cancelled() => gone(),
                    judged = episode.judge() => judged.map(|judged: Judged| json!(judged)),
                }
            }
        }
    }
}

async fn reset(
    pool: &Arc<Pool>,
    session: &Session,
    core: &mut SessionCore,
    opening: Opening,
) -> Result<Value, Refusal> {
    if opening.count.is_some_and(|count| count != 1) {
        return Err(Refusal::malformed("a reset opens one world: `count` is for POST /sessions"));
    }
    let opening = opening.over(&core.opening);
    // What is refused leaves the session as it was.
    let plan = pool.context.tasks.plan(&opening)?;
    let before = core.episode.take();
    core.leaving.begin(before).await;
    core.forked_from = None;
    core.opening = Opening { episode: None, count: None, ..opening };
    let (episode, observation) = ServedEpisode::open(Arc::clone(&pool.context), plan).await?;
    core.episode = Some(episode);
    Ok(core.opened(&session.id, &observation))
}

/// One opening in the queue.
struct Waiter<'p>(&'p AtomicUsize);

impl<'p> Waiter<'p> {
    /// Joins the queue, unless it is full.
    fn join(waiting: &'p AtomicUsize, most: usize) -> Option<Self> {
        let joined =
            waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < most).then_some(now + 1));
        joined.ok().map(|_| Self(waiting))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
