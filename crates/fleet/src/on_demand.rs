//! A run or an experiment of a queue as a folder of which only what is read is brought: rows at once, an attempt's trace when it is
//! opened, a picture when it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_evaluator::run::RunPlan;
use apprentice_protocol::RunId;
use apprentice_runs::layout::{BLOBS_FOLDER, BOOK_FOLDER, PLAN_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_trace::FileSource;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::runtime::Handle;

use crate::artifacts::{ArtifactError, Artifacts};
use crate::experiment_copy::is_of_a_trial;
use crate::fetch::FetchError;
use crate::queue::Queue;

/// What was looked up less than this long ago is not asked for again.
const FRESH: Duration = Duration::from_secs(2);
/// Results that one statement reads.
const AT_ONCE: usize = 500;
/// Files that are transferred at a time.
const TRANSFERS: usize = 8;

const COUNT: &str = "SELECT count(*) FROM attempts WHERE run = $1";
const NAMES: &str = "SELECT trial, attempt, files FROM attempts WHERE run = $1";
const RESULTS: &str = "
    SELECT a.trial, a.attempt, a.result
    FROM attempts a JOIN unnest($2::text[], $3::integer[]) AS wanted (trial, attempt) USING (trial, attempt)
    WHERE a.run = $1 ORDER BY a.id";
const RUNS_OF: &str = "SELECT run FROM runs WHERE experiment = $1 ORDER BY seq";

/// A folder that stands for a run or an experiment of a queue.
pub struct OnDemand {
    queue: Queue,
    artifacts: Artifacts,
    /// On which database and store are asked.
    runtime: Handle,
    /// The folder, and in it that of the run or of the experiment.
    folder: PathBuf,
    subject: Subject,
    /// Drafts have names of their own, as two may bring the same file.
    drafts: AtomicU64,
    state: Mutex<State>,
}

enum Subject {
    Run { id: RunId, book: Option<String> },
    Experiment(String),
}

/// What is known of the queue.
#[derive(Default)]
struct State {
    looked: Option<Duration>,
    /// The hash of an experiment's last copy, and its files.
    copy: Option<String>,
    copied: BTreeMap<String, String>,
    runs: BTreeMap<String, KnownRun>,
}

/// A run of the queue in the folder.
struct KnownRun {
    /// Its folder, relative to the whole; empty for the whole.
    place: String,
    plan: RunPlan,
    /// Attempts whose rows are in the folder.
    attempts: BTreeSet<(String, u32)>,
    /// The lists of their files, by the folders of their traces in the run.
    files: BTreeMap<String, String>,
}

/// An attempt whose row is not in the folder yet.
struct NewAttempt {
    trial: String,
    attempt: u32,
    files: Option<String>,
}

/// The rows of a run, and what came to them.
struct Added {
    text: String,
    attempts: Vec<(String, u32)>,
    files: Vec<(String, String)>,
}

/// The files that a path asks for.
enum Wanted {
    /// One, by its hash.
    File(String),
    /// Those of a list below a folder of a run.
    Attempt { list: String, run: PathBuf, trace: String },
    /// Several, by their paths in the whole.
    Files(BTreeMap<String, String>),
    /// What nobody has.
    Nothing,
}

impl fmt::Debug for OnDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemand").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl OnDemand {
    /// Makes a folder of this run or experiment below `root`, with its rows as they are now. To be called where one may wait.
    ///
    /// # Errors
    ///
    /// Fails as fetching a run does.
    pub fn open(queue: Queue, id: &RunId, root: &Path, runtime: Handle) -> Result<Self, FetchError> {
        let (subject, address, plan) = runtime.block_on(subject(&queue, id))?;
        let folder = root.join(id.as_str());
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        // What is asked for has the name that the system gives it.
        let folder = folder.canonicalize().map_err(failed(&folder))?;
        let (artifacts, mut state) = (queue.artifacts(&address)?, State::default());
        if let Some(plan) = plan {
            state.runs.insert(id.to_string(), KnownRun::new(String::new(), plan));
        }
        let (drafts, state) = (AtomicU64::new(0), Mutex::new(state));
        let made = Self { queue, artifacts, runtime, folder, subject, drafts, state };
        made.runtime.block_on(made.begin())?;
        made.look()?;
        Ok(made)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes what does not change.
    async fn begin(&self) -> Result<(), FetchError> {
        let Subject::Run { id, book } = &self.subject else { return Ok(()) };
        let plan = self.queue.record(id).await?.ok_or_else(|| FetchError::NoRun(id.clone()))?.plan;
        self.write(&self.folder.join(PLAN_FILE), plan.as_bytes())?;
        if let Some(list) = book {
            self.artifacts.get_files(list, &self.folder.join(BOOK_FOLDER)).await?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings rows, and the files of an experiment that are no traces and pictures.
    fn look(&self) -> Result<(), FetchError> {
        // Whoever comes meanwhile waits, and finds that it was just done.
        let mut state = self.lock();
        let now = self.queue.database().clock().mono();
        if state.looked.is_some_and(|looked| now.saturating_sub(looked) < FRESH) {
            return Ok(());
        }
        if let Subject::Experiment(id) = &self.subject {
            self.runtime.block_on(self.copy(id, &mut state))?;
        }
        for (id, run) in &mut state.runs {
            self.runtime.block_on(self.rows(id, run))?;
        }
        state.looked = Some(self.queue.database().clock().mono());
        Ok(())
    }

    /// Brings the copy that an experiment's leader has left, and finds its runs, which begin after the copy that holds their plan.
    async fn copy(&self, id: &str, state: &mut State) -> Result<(), FetchError> {
        let record = self.queue.experiment(id).await?.ok_or_else(|| FetchError::NoRun(RunId::new(id)))?;
        let copy = match record.copy.filter(|hash| state.copy.as_ref() != Some(hash)) {
            Some(hash) => Some((self.artifacts.list(&hash).await?.files, hash)),
            None => None,
        };
        let files = copy.as_ref().map_or(&state.copied, |(files, _)| files);
        let begun = self.begun(id, files, &state.runs).await?;
        state.runs.extend(begun);
        let Some((files, hash)) = copy else { return Ok(()) };
        // The rows of the queue's own runs are newer in the database.
        let of_queue: BTreeSet<String> =
            state.runs.values().map(|run| format!("{}/{ROWS_FILE}", run.place)).collect();
        let is_new = |(path, hash): &(&String, &String)| {
            state.copied.get(*path) != Some(*hash) && !is_of_a_trial(path) && !of_queue.contains(*path)
        };
        let new: Vec<(String, String)> =
            files.iter().filter(is_new).map(|(path, hash)| (path.clone(), hash.clone())).collect();
        self.transfer(&self.folder, new).await?;
        (state.copy, state.copied) = (Some(hash), files);
        Ok(())
    }

    /// The runs of an experiment that are in its copy, and not known yet.
    async fn begun(
        &self,
        id: &str,
        files: &BTreeMap<String, String>,
        known: &BTreeMap<String, KnownRun>,
    ) -> Result<Vec<(String, KnownRun)>, FetchError> {
        let mut begun = Vec::new();
        for row in self.queue.database().query(RUNS_OF, &[&id]).await? {
            let run: String = row.get(0);
            let plan = format!("/{run}/{PLAN_FILE}");
            let above = files.keys().find_map(|path| path.strip_suffix(&plan));
            let Some(above) = above.filter(|_| !known.contains_key(&run)) else { continue };
            let id = RunId::new(run.clone());
            let record = self.queue.record(&id).await?.ok_or(FetchError::NoRun(id))?;
            let known = KnownRun::new(format!("{above}/{run}"), plan_of(&run, &record.plan)?);
            begun.push((run, known));
        }
        Ok(begun)
    }

    /// Adds the rows that came since.
    async fn rows(&self, id: &str, run: &mut KnownRun) -> Result<(), FetchError> {
        let database = self.queue.database();
        let counted = database.query(COUNT, &[&id]).await?;
        let there = counted.first().map_or(0, |row| row.get::<_, i64>(0));
        let file = self.folder.join(&run.place).join(ROWS_FILE);
        if usize::try_from(there).ok() == Some(run.attempts.len()) && file.exists() {
            return Ok(());
        }
        let named = database.query(NAMES, &[&id]).await?;
        let new = |row: &tokio_postgres::Row| NewAttempt {
            trial: row.get(0),
            attempt: row.get::<_, i32>(1).unsigned_abs(),
            files: row.get(2),
        };
        let mut new: Vec<NewAttempt> = named.iter().map(new).collect();
        new.retain(|one| !run.attempts.contains(&(one.trial.clone(), one.attempt)));
        let text = if run.attempts.is_empty() { String::new() } else { read(&file)? };
        let mut added = Added { text, attempts: Vec::new(), files: Vec::new() };
        for part in new.chunks(AT_ONCE) {
            self.results(id, &run.plan, part, &mut added).await?;
        }
        self.write(&file, added.text.as_bytes())?;
        // Known only now: what stopped in the middle is asked for again.
        run.attempts.extend(added.attempts);
        run.files.extend(added.files);
        Ok(())
    }

    /// Reads the results of attempts, and adds them.
    async fn results(
        &self,
        id: &str,
        plan: &RunPlan,
        new: &[NewAttempt],
        added: &mut Added,
    ) -> Result<(), FetchError> {
        let trials: Vec<&str> = new.iter().map(|one| one.trial.as_str()).collect();
        let numbers: Vec<i32> = new.iter().map(|one| crate::queue::count(one.attempt)).collect();
        for result in self.queue.database().query(RESULTS, &[&id, &trials, &numbers]).await? {
            let (trial, attempt): (String, u32) = (result.get(0), result.get::<_, i32>(1).unsigned_abs());
            let what = || format!("the result of trial {trial}, attempt {attempt}");
            let unreadable = |source| FetchError::Stored { what: what(), source };
            let (trace, line) = match result.get::<_, Option<String>>(2) {
                Some(line) => (serde_json::from_str::<TrialRow>(&line).map_err(unreadable)?.trace, line),
                None => {
                    let spec = plan.trials.iter().find(|spec| spec.trial.as_str() == trial);
                    let Some(spec) = spec else { continue };
                    let row = plan.lost_row(spec, attempt);
                    (row.trace.clone(), serde_json::to_string(&row).map_err(unreadable)?)
                }
            };
            added.text.push_str(&line);
            added.text.push('\n');
            let named = new.iter().find(|one| one.trial == trial && one.attempt == attempt);
            if let Some(list) = named.and_then(|one| one.files.clone()) {
                added.files.push((trace, list));
            }
            added.attempts.push((trial, attempt));
        }
        Ok(())
    }

    /// What a path asks for. Blobs are named by their content, as artifacts are.
    fn wanted(&self, path: &Path) -> Wanted {
        let Some(inside) = path.strip_prefix(&self.folder).ok().and_then(Path::to_str) else {
            return Wanted::Nothing;
        };
        let parts: Vec<&str> = inside.split('/').collect();
        if let [.., BLOBS_FOLDER, file] = parts.as_slice() {
            return Wanted::File(file.split('.').next().unwrap_or_default().to_owned());
        }
        let state = self.lock();
        for run in state.runs.values() {
            let trace = if run.place.is_empty() {
                Some(inside)
            } else {
                inside.strip_prefix(&run.place).and_then(|rest| rest.strip_prefix('/'))
            };
            if let Some((trace, list)) = trace.and_then(|trace| run.files.get_key_value(trace)) {
                let run = self.folder.join(&run.place);
                return Wanted::Attempt { list: list.clone(), run, trace: trace.clone() };
            }
        }
        let below = format!("{inside}/");
        let asked = |(path, _): &(&String, &String)| path.as_str() == inside || path.starts_with(&below);
        let files = state.copied.iter().filter(asked);
        Wanted::Files(files.map(|(path, hash)| (path.clone(), hash.clone())).collect())
    }

    /// Brings one file; one that the store does not have stays missing.
    async fn file(&self, hash: &str, path: &Path) -> Result<(), FetchError> {
        match self.artifacts.get(hash).await {
            Err(ArtifactError::Store { source: object_store::Error::NotFound { .. }, .. }) => Ok(()),
            read => self.write(path, &read?),
        }
    }

    /// Brings files that are not here.
    async fn transfer(&self, folder: &Path, files: Vec<(String, String)>) -> Result<(), FetchError> {
        let get = |(path, hash): (String, String)| async move {
            let bytes = self.artifacts.get(&hash).await?;
            self.write(&folder.join(path), &bytes)
        };
        stream::iter(files).map(get).buffer_unordered(TRANSFERS).try_collect().await
    }

    async fn brought(&self, path: &Path) -> Result<(), FetchError> {
        match self.wanted(path) {
            Wanted::Nothing => Ok(()),
            Wanted::File(hash) => self.file(&hash, path).await,
            Wanted::Attempt { list, run, trace } => {
                let files = self.artifacts.list(&list).await?.files.into_iter();
                let below = format!("{trace}/");
                let missing = |path: &str| path.starts_with(&below) && !run.join(path).exists();
                self.transfer(&run, files.filter(|(path, _)| missing(path)).collect()).await
            }
            Wanted::Files(files) => {
                let files = files.into_iter().filter(|(path, _)| !self.folder.join(path).exists());
                self.transfer(&self.folder, files.collect()).await
            }
        }
    }

    /// Writes a file, which is there whole or not at all.
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), FetchError> {
        let parent = file.parent().unwrap_or(&self.folder);
        let draft = parent.join(format!(".draft-{}", self.drafts.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&draft, bytes))
            .and_then(|()| fs::rename(&draft, file))
            .map_err(failed(file))
    }
}

impl FileSource for OnDemand {
    fn refresh(&self) -> io::Result<()> {
        self.look().map_err(io::Error::other)
    }

    fn bring(&self, path: &Path) -> io::Result<()> {
        if path.is_file() {
            return Ok(());
        }
        self.runtime.block_on(self.brought(path)).map_err(io::Error::other)
    }
}

impl KnownRun {
    fn new(place: String, plan: RunPlan) -> Self {
        Self { place, plan, attempts: BTreeSet::new(), files: BTreeMap::new() }
    }
}

/// Finds what an id names: with the address of its artifacts, and the plan of a run.
async fn subject(queue: &Queue, id: &RunId) -> Result<(Subject, String, Option<RunPlan>), FetchError> {
    if let Some(record) = queue.experiment(id.as_str()).await? {
        return Ok((Subject::Experiment(record.experiment), record.artifacts, None));
    }
    let record = queue.record(id).await?.ok_or_else(|| FetchError::NoRun(id.clone()))?;
    let plan = plan_of(id.as_str(), &record.plan)?;
    Ok((Subject::Run { id: id.clone(), book: record.book_list }, record.artifacts, Some(plan)))
}

fn plan_of(run: &str, text: &str) -> Result<RunPlan, FetchError> {
    let unreadable = |source| FetchError::Stored { what: format!("the plan of run {run}"), source };
    serde_json::from_str(text).map_err(unreadable)
}

fn read(file: &Path) -> Result<String, FetchError> {
    fs::read_to_string(file).map_err(failed(file))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FetchError + '_ {
    move |source| FetchError::Io { path: path.to_owned(), source }
}
