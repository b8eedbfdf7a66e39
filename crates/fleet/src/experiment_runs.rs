//! The runs of an experiment, carried out by the workers of a queue for its leader, and the copies of its folder.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_evaluator::experiment::{RunsElsewhere, SharedRun};
use apprentice_evaluator::run::{
    Progress, RunControl, RunError, RunFolder, RunSummary, TrialSpec, frozen_book,
};
use apprentice_protocol::{BoxFuture, Why};
use apprentice_runs::layout::{LOCK_FILE, PROBE_FILE};
use apprentice_tasks::suite::root_of;

use crate::artifacts::{ArtifactError, Artifacts, files_below};
use crate::database::DatabaseError;
use crate::fetch::{FetchError, follow};
use crate::queue::{ExperimentRecord, Leadership, Queue};
use crate::submit::{Submission, SubmitError, submit};

/// Files of a folder that belong to the process that writes there.
const NOT_COPIED: [&str; 2] = [LOCK_FILE, PROBE_FILE];
/// The longest wait between two looks at a run.
const POLL: Duration = Duration::from_secs(2);

/// What a trial needs of a worker.
pub type Needs = Box<dyn Fn(&TrialSpec) -> Vec<String> + Send + Sync>;

/// Has the workers of a queue carry out the runs of an experiment, for its leader.
pub struct ExperimentRuns {
    queue: Arc<Queue>,
    record: ExperimentRecord,
    leadership: Arc<Leadership>,
    artifacts: Artifacts,
    folder: PathBuf,
    /// The suite's file below its folder.
    suite: PathBuf,
    needs: Needs,
    control: RunControl,
    known: Mutex<HashMap<String, KnownFile>>,
}

/// What a leader works with.
pub struct LeaderPlace {
    /// The folder of the experiment on this machine.
    pub folder: PathBuf,
    /// The path of its suite on this machine.
    pub suite: PathBuf,
    /// What trials need of workers.
    pub needs: Needs,
    /// Where its runs report, and what cancels it.
    pub control: RunControl,
}

/// A file whose content is stored, unless these have changed.
#[derive(PartialEq, Eq)]
struct FileState {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

struct KnownFile {
    state: FileState,
    hash: String,
}

impl FileState {
    fn of(file: &Metadata) -> Self {
        Self { inode: file.ino(), length: file.len(), changed: (file.mtime(), file.mtime_nsec()) }
    }
}

/// The reason a leader cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// Its term is over.
    #[error(
        "another worker leads the experiment {0} now, or it was cancelled: what was done since the last copy is lost"
    )]
    Lost(String),
    /// The artifacts cannot be stored.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A run cannot be submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The suite's path cannot be told to workers.
    #[error("{} is no file below the folder of its suite, or its name is no Unicode", .0.display())]
    Suite(PathBuf),
    /// The results cannot be brought.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The guidance of a run cannot be written.
    #[error("the guidance of the run cannot be written as JSON")]
    Guidance(#[from] serde_json::Error),
}

impl From<LeadError> for RunError {
    fn from(error: LeadError) -> Self {
        Self::Queue(Box::new(error))
    }
}

impl ExperimentRuns {
    /// The runs of an experiment that this worker leads.
    ///
    /// # Errors
    ///
    /// Fails if the store of artifacts that the record names cannot be opened.
    pub fn new(
        queue: Arc<Queue>,
        record: ExperimentRecord,
        leadership: Arc<Leadership>,
        place: LeaderPlace,
    ) -> Result<Self, ArtifactError> {
        let artifacts = queue.artifacts(&record.artifacts)?;
        let LeaderPlace { folder, suite, needs, control } = place;
        let known = Mutex::default();
        Ok(Self { queue, record, leadership, artifacts, folder, suite, needs, control, known })
    }

    /// Stores what has changed of the folder since the last copy, then the list of all its files.
    async fn copy(&self) -> Result<(), LeadError> {
        let mut files = BTreeMap::new();
        for path in files_below(&self.folder)? {
            let name = path.rsplit('/').next().unwrap_or_default();
            if !NOT_COPIED.contains(&name) {
                let hash = self.stored(&path).await?;
                files.insert(path, hash);
            }
        }
        let list = self.artifacts.put_list(files).await?;
        if self.queue.keep_copy(&self.leadership, &list).await? {
            Ok(())
        } else {
            Err(LeadError::Lost(self.record.experiment.clone()))
        }
    }

    /// Returns the hash of a file's content, which is stored.
    async fn stored(&self, path: &str) -> Result<String, LeadError> {
        let file = self.folder.join(path);
        let io = |source| ArtifactError::Io { path: file.clone(), source };
        let state = FileState::of(&std::fs::metadata(&file).map_err(io)?);
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(one) = known.get(path).filter(|one| one.state == state) {
                return Ok(one.hash.clone());
            }
        }
        let hash = self.artifacts.put_file(&file).await?;
        let known = KnownFile { state, hash: hash.clone() };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), known);
        Ok(hash)
    }

    async fn measured(&self, run: SharedRun) -> Result<RunSummary, LeadError> {
        let SharedRun { folder, guidance, .. } = run;
        let guidance = self.artifacts.put(serde_json::to_vec(&guidance)?).await?;
        self.submitted(&folder, guidance).await?;
        let plan = folder.plan();
        self.control.report(Progress::Planned {
            run: plan.run.clone(),
            folder: folder.path().to_owned(),
            trials: plan.trials.len(),
            finished: plan.trials.iter().filter(|trial| folder.is_finished(&trial.trial)).count(),
        });
        let (database, mut seen, mut told) = (self.queue.database(), 0, folder.rows().len());
        let interrupted = loop {
            // Asked first: what ends between the two questions is brought by the next round, or is the last.
            let open = self.queue.open_trials(&plan.run).await?;
            follow(&self.queue, &self.artifacts, &folder, &mut seen).await?;
            for row in folder.rows().into_iter().skip(std::mem::replace(&mut told, folder.rows().len())) {
                self.control.report(Progress::Finished { row: Box::new(row), message: None });
            }
            if open == 0 {
                break false;
            }
            tokio::select! {
                () = self.control.cancel.cancelled() => break true,
                () = database.clock().pause(POLL, Why::PollFloor) => {}
            }
        };
        Ok(RunSummary::of(&folder, interrupted))
    }

    async fn submitted(&self, folder: &RunFolder, guidance: String) -> Result<(), LeadError> {
        let root = root_of(&self.suite);
        let file = self.suite.strip_prefix(&root).ok().and_then(Path::to_str);
        let file = file.ok_or_else(|| LeadError::Suite(self.suite.clone()))?;
        let book = frozen_book(folder.path());
        let submission = Submission {
            plan: folder.plan(),
            suite: &root,
            suite_path: file,
            book: book.as_deref(),
            priority: self.record.priority,
            max_usd: self.record.max_usd,
            experiment: Some(self.record.experiment.clone()),
            guidance: Some(guidance),
            needs: &*self.needs,
        };
        submit(&self.queue, &self.artifacts, &submission, self.record.trial_usd).await?;
        Ok(())
    }
}

impl RunsElsewhere for ExperimentRuns {
    fn carry_out(&self, run: SharedRun) -> BoxFuture<'_, Result<RunSummary, RunError>> {
        Box::pin(async move { self.measured(run).await.map_err(RunError::from) })
    }

    fn keep_copy(&self) -> BoxFuture<'_, Result<(), RunError>> {
        Box::pin(async move { self.copy().await.map_err(RunError::from) })
    }
}
