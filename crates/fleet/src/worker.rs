//! A worker: claims attempts of any run that it can carry out, keeps its leases, and delivers results with their artifacts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_evaluator::arms::ArmError;
use apprentice_evaluator::run::{
    CarriedOut, Claim, Delivery, Lease, QueueError, RunControl, RunDeps, RunError, RunFolder, RunPlan,
    Runner, TrialQueue, TrialSpec, work,
};
use apprentice_protocol::{BoxFuture, RunId, Why};
use apprentice_runs::layout::{LOCK_FILE, PLAN_FILE, PROBE_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::artifacts::{ArtifactError, Artifacts, files_below};
use crate::database::DatabaseError;
use crate::error_chain::error_chain;
use crate::fetch::{FetchError, bring_prerequisite};
use crate::leader::{LeadExperiment, Leader, LeaderSettings};
use crate::prepare_run::{PrepareRun, Prepared, UnfitRun};
use crate::queue::{Claimant, Claimed, Outcome, Queue, Renewed, Stored};

/// Files of a lease's folder that are not artifacts of its attempt.
const NO_ARTIFACTS: [&str; 4] = [PLAN_FILE, LOCK_FILE, ROWS_FILE, PROBE_FILE];
/// How long a worker holds a lease without a sign of life, where it is given no other time.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(60);
/// The longest wait for news of the queue.
const LONGEST_POLL: Duration = Duration::from_secs(5);

/// How a worker claims.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerLimits {
    /// The worker's name, which no other worker has.
    pub name: String,
    /// The build whose runs it carries out.
    pub build: String,
    /// Attempts at a time.
    pub jobs: usize,
    /// Worlds that may start, set up or be checked at a time.
    pub cpu: usize,
    /// How long a lease lasts without a sign of life.
    pub lease: Duration,
    /// How long a run is left to others for a reason that may pass.
    pub retry: Duration,
    /// Whether to end when no trial that it could carry out waits or runs.
    pub until_done: bool,
}

/// A worker of a queue.
pub struct Worker {
    queue: Arc<Queue>,
    /// For signs of life, which must not wait for a result to be on the disk.
    signs: Queue,
    limits: WorkerLimits,
    prepare: Box<dyn PrepareRun>,
    leader: Mutex<Option<Box<dyn LeadExperiment>>>,
    /// The folder below which each attempt gets its own.
    scratch: PathBuf,
    control: RunControl,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    prepared: BTreeMap<RunId, Prepared>,
    unfit: BTreeMap<RunId, LeftRun>,
    /// Experiments that this worker cannot lead.
    unled: Vec<String>,
    /// Leases so far, by which their folders are told apart.
    leases: u64,
    /// When it was last asked what trials need.
    asked: Option<Duration>,
    /// What this machine has of what the queue's trials need.
    offers: Vec<String>,
    /// The leases, each with the token that is cancelled when it is lost.
    held: BTreeMap<Renewed, CancellationToken>,
}

/// A run that is left to others.
struct LeftRun {
    why: String,
    /// When it is tried again; `None` for never.
    until: Option<Duration>,
}

fn remote(error: impl std::error::Error + Send + Sync + 'static) -> QueueError {
    QueueError::Remote(Box::new(error))
}

impl From<&Claimed> for Renewed {
    fn from(one: &Claimed) -> Self {
        Self { run: one.run.clone(), trial: one.trial.trial.clone(), attempt: one.attempt }
    }
}

impl Worker {
    /// Creates a worker that writes below `scratch`.
    pub fn new(
        queue: Queue,
        limits: WorkerLimits,
        prepare: Box<dyn PrepareRun>,
        scratch: PathBuf,
        control: RunControl,
    ) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(limits.cpu.max(1)));
        let signs = queue.beside();
        let (queue, leader, state) = (Arc::new(queue), Mutex::default(), Mutex::default());
        Arc::new(Self { queue, signs, limits, prepare, leader, scratch, control, permits, state })
    }

    /// Has it lead experiments, too.
    #[must_use]
    pub fn leading(self: Arc<Self>, port: Box<dyn LeadExperiment>) -> Arc<Self> {
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = Some(port);
        self
    }

    /// Works until it is cancelled or drained, or until nothing is left to do if it ends then.
    ///
    /// # Errors
    ///
    /// Fails if the queue cannot be used at all: the database was out of reach for too long or refuses this worker, or the disk is full.
    pub async fn run(self: &Arc<Self>) -> Result<(), RunError> {
        let WorkerLimits { name, jobs, .. } = &self.limits;
        self.queue.check_rights().await.map_err(remote)?;
        self.enter().await?;
        let beating = AbortOnDropHandle::new(tokio::spawn(Arc::clone(self).renew_leases()));
        let stepping_down = self.control.cancel.child_token();
        let leading = tokio::spawn(Arc::clone(self).lead_experiments(stepping_down.clone()));
        let worked = work(Arc::clone(self) as Arc<dyn TrialQueue>, *jobs, &self.control.cancel).await;
        stepping_down.cancel();
        if let Err(error) = leading.await {
            tracing::error!(%error, "leading experiments ended");
        }
        drop(beating);
        let left = self.queue.leave(name).await;
        worked.and(left.map_err(|error| RunError::from(remote(error))))
    }

    /// Leads experiments beside the trials, if this worker does.
    async fn lead_experiments(self: Arc<Self>, cancel: CancellationToken) {
        let Some(port) = self.leader.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let WorkerLimits { name, build, lease, .. } = &self.limits;
        let settings = LeaderSettings {
            name: name.clone(),
            build: build.clone(),
            lease: *lease,
            scratch: self.scratch.clone(),
        };
        let leader = Leader { queue: Arc::clone(&self.queue), settings, port, control: self.control.clone() };
        let unfit = |another: Option<String>| {
            let mut state = self.lock();
            state.unled.extend(another);
            state.unled.clone()
        };
        leader.run(&cancel, &unfit).await;
    }

    /// The folder of an attempt, which no other one gets.
    fn attempt_folder(&self, claimed: &Claimed) -> PathBuf {
        let mut state = self.lock();
        state.leases += 1;
        self.scratch.join(format!("{}-{}-{}", claimed.trial.trial, claimed.attempt, state.leases))
    }

    /// Holds a lease. A crashed database may hand out a number again to the same worker: the lease before is lost then.
    fn hold(&self, claimed: &Claimed) {
        let before = self.lock().held.insert(Renewed::from(claimed), CancellationToken::new());
        if let Some(before) = before {
            before.cancel();
        }
    }

    /// Enters this worker with what it offers of what the queue's trials need now. Returns whether that has grown.
    async fn enter(&self) -> Result<bool, QueueError> {
        let WorkerLimits { name, build, .. } = &self.limits;
        let now = self.queue.database().clock().mono();
        {
            let mut state = self.lock();
            if state.asked.is_some_and(|asked| now.saturating_sub(asked) < self.poll()) {
                return Ok(false);
            }
            state.asked = Some(now);
        }
        let mut offers = self.queue.needs(build).await.map_err(remote)?;
        offers.retain(|need| self.prepare.offers(need));
        let grown = {
            let mut state = self.lock();
            let grown = offers.iter().any(|offer| !state.offers.contains(offer));
            offers.append(&mut state.offers);
            offers.sort();
            offers.dedup();
            state.offers.clone_from(&offers);
            grown
        };
        if grown || offers.is_empty() {
            self.queue.enter(name, build, &offers).await.map_err(remote)?;
        }
        Ok(grown)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the leases for ever, tells those whose lease was lost, and returns others' expired ones to the queue.
    async fn renew_leases(self: Arc<Self>) {
        loop {
            self.queue.database().clock().pause(self.limits.lease / 3, Why::PollFloor).await;
            let held: Vec<Renewed> = self.lock().held.keys().cloned().collect();
            match self.signs.renew(&self.limits.name, &held, self.limits.lease).await {
                Ok(kept) => {
                    let state = self.lock();
                    let lost = held.iter().filter(|one| !kept.contains(one));
                    lost.filter_map(|one| state.held.get(one)).for_each(CancellationToken::cancel);
                }
                Err(error) => tracing::warn!(why = error_chain(&error), "the leases could not be renewed"),
            }
            if let Err(error) = self.signs.expire().await {
                tracing::warn!(why = error_chain(&error), "expired leases could not be returned");
            }
        }
    }

    fn poll(&self) -> Duration {
        LONGEST_POLL.min(self.limits.lease / 3)
    }

    async fn next(&self) -> Result<Claim, QueueError> {
        let WorkerLimits { name, build, lease, until_done, .. } = &self.limits;
        loop {
            let (left, offers) = (self.left(), self.lock().offers.clone());
            let by = Claimant { worker: name, build, offers: &offers, unfit: &left.now };
            let claimed = self.queue.claim(&by, *lease).await.map_err(remote)?;
            let Some(claimed) = claimed else {
                if self.enter().await? {
                    continue;
                }
                let ever = Claimant { unfit: &left.for_good, ..by };
                let done = self.queue.is_draining(name).await.map_err(remote)?
                    || (*until_done && !self.queue.has_work(&ever).await.map_err(remote)?);
                return Ok(if done { Claim::Done } else { Claim::Later });
            };
            // Held from here on, so that the lease lasts while the run is made ready.
            self.hold(&claimed);
            match self.lease(&claimed).await {
                Ok(lease) => return Ok(Claim::Leased(lease)),
                Err(Unable::Unfit(UnfitRun { why, passing })) => {
                    tracing::warn!(run = %claimed.run, why, "this worker leaves a run to others");
                    let until = passing.then(|| self.queue.database().clock().mono() + self.limits.retry);
                    self.lock().unfit.insert(claimed.run.clone(), LeftRun { why, until });
                    self.lock().held.remove(&Renewed::from(&claimed));
                    self.queue.give_back(name, &claimed).await.map_err(remote)?;
                }
                Err(Unable::Failed(error)) => {
                    self.lock().held.remove(&Renewed::from(&claimed));
                    self.queue.give_back(name, &claimed).await.map_err(remote)?;
                    return Err(error);
                }
            }
        }
    }

    async fn lease(&self, claimed: &Claimed) -> Result<Lease, Unable> {
        let existing = self.lock().prepared.get(&claimed.run).cloned();
        let prepared = match existing {
            Some(prepared) => prepared,
            None => {
                self.forget_ended().await.map_err(remote)?;
                let record = self.queue.record(&claimed.run).await.map_err(remote)?;
                let gone = || UnfitRun { why: "the run has disappeared".to_owned(), passing: false };
                let record = record.ok_or_else(|| Unable::Unfit(gone()))?;
                let prepared = self.prepare.prepare(&record).await.map_err(Unable::Unfit)?;
                self.lock().prepared.insert(claimed.run.clone(), prepared.clone());
                prepared
            }
        };
        // Each attempt has a folder of its own, with a plan of this one trial.
        let plan = RunPlan { trials: vec![claimed.trial.clone()], ..RunPlan::clone(&prepared.plan) };
        let deps = self.with_prerequisite(claimed, &prepared).await?;
        let root = self.attempt_folder(claimed);
        let folder = RunFolder::create(&root, plan).map_err(QueueError::from)?;
        let runner = Runner::new(folder, prepared.suite, deps, self.control.clone());
        let runner = Arc::new(runner.sharing(Arc::clone(&self.permits)));
        Ok(Lease { runner, trial: claimed.trial.clone(), attempt: claimed.attempt })
    }

    /// Forgets the runs that have ended, of which no attempt is under way here, so that a worker that lives for weeks keeps no room.
    async fn forget_ended(&self) -> Result<(), DatabaseError> {
        let kept: Vec<String> = {
            let state = self.lock();
            let held = |run: &&RunId| state.held.keys().any(|one| one.run == **run);
            state.prepared.keys().filter(|run| !held(run)).map(ToString::to_string).collect()
        };
        if kept.is_empty() {
            return Ok(());
        }
        for run in self.queue.ended(&kept).await? {
            self.lock().prepared.remove(&run);
            self.prepare.forget(&run);
        }
        Ok(())
    }

    /// Brings what the trial that must end before this one has left, and returns what this one needs.
    async fn with_prerequisite(&self, claimed: &Claimed, prepared: &Prepared) -> Result<RunDeps, Unable> {
        let deps = prepared.deps.clone();
        let before = prepared.plan.prerequisite(&claimed.trial);
        let (Some(place), Some(before)) = (&prepared.prerequisites, before) else { return Ok(deps) };
        let (artifacts, run) = (&prepared.artifacts, &claimed.run);
        let damaged = match bring_prerequisite(&self.queue, artifacts, run, &before.trial, place).await {
            Ok(()) => return Ok(deps),
            Err(FetchError::Artifact(
                damaged @ (ArtifactError::Foreign { .. } | ArtifactError::List { .. }),
            )) => damaged,
            // The store is away, or the disk of this machine is full.
            Err(FetchError::Artifact(error)) => {
                return Err(Unable::Unfit(UnfitRun { why: error_chain(&error), passing: true }));
            }
            Err(error) => return Err(Unable::Failed(remote(error))),
        };
        // No worker can bring it: this trial is void, and the others go on.
        let (trial, why) = (before.trial.clone(), error_chain(&damaged));
        tracing::warn!(%trial, why, "what a trial needs of another is damaged");
        let void =
            move |_: &TrialSpec| Err(ArmError::Prerequisite { trial: trial.clone(), why: why.clone() });
        Ok(RunDeps { guidance: Arc::new(void), ..deps })
    }

    async fn store(&self, lease: &Lease, carried: &CarriedOut) -> Result<Delivery, QueueError> {
        let CarriedOut { row, ends_run, .. } = carried;
        let mut outcome = Outcome::of(row);
        if let Some(why) = ends_run {
            // Another worker may have another key or reach another server; here it is tried again later.
            tracing::warn!(run = %row.run, why, "this worker leaves a run to others");
            let until = Some(self.queue.database().clock().mono() + self.limits.retry);
            self.lock().unfit.insert(row.run.clone(), LeftRun { why: why.clone(), until });
            outcome = Outcome::Interrupted;
        }
        let folder = lease.runner.folder().path();
        let artifacts = self.lock().prepared.get(&row.run).map(|prepared| prepared.artifacts.clone());
        let files = match artifacts {
            Some(artifacts) => Some(self.upload(&artifacts, folder).await.map_err(remote)?),
            None => None,
        };
        // The row is committed after what it refers to.
        let stored = self.queue.deliver_as(outcome, &self.limits.name, row, files.as_deref());
        let stored = stored.await.map_err(remote)?;
        self.lock().held.remove(&key(lease, row));
        if let Some(scratch) = folder.parent()
            && let Err(error) = std::fs::remove_dir_all(scratch)
        {
            tracing::warn!(%error, folder = %scratch.display(), "cannot remove the folder of an attempt");
        }
        Ok(match stored {
            Stored::Taken => Delivery::Taken,
            Stored::Refused => {
                Delivery::Refused(format!("{}, table refused", self.queue.database().address()))
            }
        })
    }

    /// Stores an attempt's files. A store that fails is tried again, as long as the database would be.
    async fn upload(&self, artifacts: &Artifacts, folder: &std::path::Path) -> Result<String, ArtifactError> {
        let mut paths = files_below(folder)?;
        paths.retain(|path| !NO_ARTIFACTS.contains(&path.as_str()));
        let database = self.queue.database();
        let begun = database.clock().mono();
        loop {
            let error = match artifacts.put_files(folder, &paths).await {
                Ok(list) => return Ok(list),
                Err(error @ ArtifactError::Store { .. }) => error,
                Err(error) => return Err(error),
            };
            if database.clock().mono().saturating_sub(begun) >= database.patience() {
                return Err(error);
            }
            tracing::warn!(why = error_chain(&error), "storing artifacts is tried again");
            database.clock().pause(LONGEST_POLL, Why::Backoff).await;
        }
    }

    /// The runs that this worker leaves to others, each with the reason.
    pub fn unfit(&self) -> BTreeMap<RunId, String> {
        self.lock().unfit.iter().map(|(run, left)| (run.clone(), left.why.clone())).collect()
    }

    /// The runs and experiments that this worker leaves to others now. What may have passed is forgotten.
    fn left(&self) -> LeftToOthers {
        let now = self.queue.database().clock().mono();
        let mut state = self.lock();
        state.unfit.retain(|_, left| left.until.is_none_or(|until| until > now));
        let runs = |lasting: bool| {
            let wanted = state.unfit.iter().filter(move |(_, left)| !lasting || left.until.is_none());
            wanted.map(|(run, _)| run.to_string()).chain(state.unled.iter().cloned()).collect()
        };
        LeftToOthers { now: runs(false), for_good: runs(true) }
    }
}

/// What a worker leaves to others.
struct LeftToOthers {
    /// Now.
    now: Vec<String>,
    /// Whatever comes.
    for_good: Vec<String>,
}

/// The reason a claimed attempt cannot begin here.
enum Unable {
    /// Another worker may.
    Unfit(UnfitRun),
    /// None may now.
    Failed(QueueError),
}

impl From<QueueError> for Unable {
    fn from(error: QueueError) -> Self {
        Self::Failed(error)
    }
}

fn key(lease: &Lease, row: &TrialRow) -> Renewed {
    Renewed { run: row.run.clone(), trial: lease.trial.trial.clone(), attempt: lease.attempt }
}

impl TrialQueue for Worker {
    fn claim(&self) -> BoxFuture<'_, Result<Claim, QueueError>> {
        Box::pin(self.next())
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let (database, poll) = (self.queue.database(), self.poll());
            tokio::select! {
                () = database.changed() => {}
                () = database.clock().pause(poll, Why::PollFloor) => {}
            }
        })
    }

    fn keep<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, ()> {
        let run = lease.runner.folder().plan().run.clone();
        let held = Renewed { run, trial: lease.trial.trial.clone(), attempt: lease.attempt };
        let token = self.lock().held.get(&held).cloned();
        Box::pin(async move {
            match token {
                Some(token) => token.cancelled().await,
                None => std::future::pending().await,
            }
        })
    }

    fn deliver<'a>(
        &'a self,
        lease: &'a Lease,
        carried: &'a CarriedOut,
    ) -> BoxFuture<'a, Result<Delivery, QueueError>> {
        Box::pin(self.store(lease, carried))
    }
}
