//! The port through which trials are handed out and results taken, and its implementation over one run's folder.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::BoxFuture;

use tokio_util::sync::CancellationToken;

use super::error::RunError;
use super::fault_watch::is_void_by_model;
use super::plan::TrialSpec;
use super::store::StoreError;
use super::trial::{CarriedOut, Runner};

/// One attempt that its holder alone may carry out, until it delivers the result or loses the lease.
#[derive(Clone)]
pub struct Lease {
    /// The run of the trial.
    pub runner: Arc<Runner>,
    /// The trial.
    pub trial: TrialSpec,
    /// The attempt number, from 1. A queue hands out each number of a trial once, so that the result of a holder who
    /// lost the lease can be told from that of the next one.
    pub attempt: u32,
}

/// The answer to a claim.
pub enum Claim {
    /// An attempt to carry out.
    Leased(Lease),
    /// No trial may begin now; one may after [`TrialQueue::changed`].
    Later,
    /// No trial is left.
    Done,
}

/// The fate of a delivered result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The result is stored, and counts.
    Taken,
    /// The lease was lost before: the result does not count. It is kept where the text says.
    Refused(String),
}

/// The reason a queue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue of another program cannot be used.
    #[error("the queue cannot be used")]
    Remote(#[source] Box<dyn Error + Send + Sync>),
}

impl From<QueueError> for RunError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Store(error) => Self::Store(error),
            QueueError::Remote(source) => Self::Queue(source),
        }
    }
}

/// Hands out trials, one attempt at a time, and takes their results.
pub trait TrialQueue: Send + Sync {
    /// Claims the next attempt.
    fn claim(&self) -> BoxFuture<'_, Result<Claim, QueueError>>;

    /// Completes when a claim that was answered [`Claim::Later`] may succeed without a delivery by the caller.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Keeps a lease while it is polled. It completes only when the lease is lost.
    fn keep<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, ()>;

    /// Stores the result of an attempt. When this returns, the result is on disk. Where no further attempt of the run can
    /// succeed ([`CarriedOut::ends_run`]), the queue hands out no more of it.
    fn deliver<'a>(
        &'a self,
        lease: &'a Lease,
        carried: &'a CarriedOut,
    ) -> BoxFuture<'a, Result<Delivery, QueueError>>;
}

/// The trials of one run in its folder, which this process alone writes. Leases are lost when the run is stopped.
pub(super) struct FolderQueue {
    runner: Arc<Runner>,
    state: Mutex<FolderState>,
    /// Cancelled when no further attempt can succeed.
    stop: CancellationToken,
}

struct FolderState {
    waiting: VecDeque<TrialSpec>,
    running: usize,
    /// The model that cannot be used, and why.
    stopped: Option<(String, String)>,
}

impl FolderQueue {
    /// Queues the unfinished trials of a run, in plan order.
    pub(super) fn new(runner: Arc<Runner>) -> Self {
        let folder = runner.folder();
        let open = folder.plan().trials.iter().filter(|trial| !folder.is_finished(&trial.trial));
        let waiting = open.cloned().collect();
        let state = Mutex::new(FolderState { waiting, running: 0, stopped: None });
        Self { runner, state, stop: CancellationToken::new() }
    }

    /// The error of a run that was stopped because a model cannot be used.
    pub(super) fn stopped(&self) -> Option<RunError> {
        let (model, why) = self.lock().stopped.clone()?;
        Some(RunError::Lasting { model, why, folder: self.runner.folder().path().to_owned() })
    }

    /// The number of trials that wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Claim {
        let mut state = self.lock();
        if state.stopped.is_some() || (state.waiting.is_empty() && state.running == 0) {
            return Claim::Done;
        }
        let Some(trial) = state.next(&self.runner) else { return Claim::Later };
        state.running += 1;
        let attempt = self.runner.next_attempt(&trial.trial);
        Claim::Leased(Lease { runner: Arc::clone(&self.runner), trial, attempt })
    }

    fn take(&self, lease: &Lease, carried: &CarriedOut) -> Result<Delivery, QueueError> {
        let folder = self.runner.folder();
        let row = &carried.row;
        let stored = folder.append(row);
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
        stored?;
        if carried.ends_trial {
            folder.settle(&lease.trial.trial);
        }
        if !folder.is_finished(&lease.trial.trial) {
            // A void attempt is repeated before another trial begins; after the first of a server that fails, another trial
            // shows whether it takes that one.
            let place = usize::from(is_void_by_model(row)).min(state.waiting.len());
            state.waiting.insert(place, lease.trial.clone());
        }
        if let Some(why) = &carried.ends_run {
            state.stopped.get_or_insert_with(|| (row.model.clone(), why.clone()));
            self.stop.cancel();
        }
        Ok(Delivery::Taken)
    }
}

impl FolderState {
    /// Removes and returns the first trial that can start. An `inline` trial waits for its `pull` partner, unless no
    /// other trial is running: then the partner cannot finish any more, and the wait ends.
    fn next(&mut self, runner: &Runner) -> Option<TrialSpec> {
        let folder = runner.folder();
        let is_open = |partner: &TrialSpec| !folder.is_finished(&partner.trial);
        let ready = |trial: &TrialSpec| !folder.plan().prerequisite(trial).is_some_and(is_open);
        let place = self.waiting.iter().position(ready).or_else(|| (self.running == 0).then_some(0))?;
        self.waiting.remove(place)
    }
}

impl TrialQueue for FolderQueue {
    fn claim(&self) -> BoxFuture<'_, Result<Claim, QueueError>> {
        Box::pin(std::future::ready(Ok(self.next())))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn keep<'a>(&'a self, _lease: &'a Lease) -> BoxFuture<'a, ()> {
        Box::pin(self.stop.cancelled())
    }

    fn deliver<'a>(
        &'a self,
        lease: &'a Lease,
        carried: &'a CarriedOut,
    ) -> BoxFuture<'a, Result<Delivery, QueueError>> {
        Box::pin(std::future::ready(self.take(lease, carried)))
    }
}
