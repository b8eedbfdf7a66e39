//! Makes a run's folder from the queue and its artifacts: the folder that `run` would have made, but for times.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_evaluator::run::{RunFolder, RunPlan, StoreError};
use apprentice_protocol::{RunId, TrialId};
use apprentice_runs::layout::{BOOK_FOLDER, PLAN_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;

use crate::artifacts::{ArtifactError, Artifacts, files_below};
use crate::database::DatabaseError;
use crate::experiment_copy::{CopyError, is_of_a_trial, restore};
use crate::queue::{ExperimentRecord, Queue};

/// The folder in which an attempt's files are gathered before its row is written.
const STAGING: &str = ".fetch";

/// A fetched run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The run's folder.
    pub folder: PathBuf,
    /// Attempts that were added to it; files of an experiment.
    pub added: usize,
    /// Trials that will still end: they run, or wait and may begin. One for an experiment that is under way.
    pub open: usize,
    /// Trials without a result, among them those that will never have one.
    pub missing: usize,
    /// The state of the experiment; `None` for a run.
    pub experiment: Option<String>,
}

/// How much of a run is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Rows, traces and pictures.
    Files,
    /// Rows alone, which is all that a report of the numbers needs. The files can be fetched later.
    Rows,
}

/// The reason a run cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The queue has none of this id.
    #[error("the queue has no run or experiment {0}; `apprentice queue` lists them")]
    NoRun(RunId),
    /// The folder holds a run of this id with another plan.
    #[error("{} holds another run of this id; name another folder with --out", .0.display())]
    Other(PathBuf),
    /// The folder holds attempts that the queue does not know.
    #[error("{} was continued on this machine: it holds attempts that the queue does not know; fetch into another folder with --out", .0.display())]
    Continued(PathBuf),
    /// A file of an experiment differs from what was fetched.
    #[error("{} was changed on this machine since it was fetched, and stays as it is; fetch into another folder with --out", .0.display())]
    Changed(PathBuf),
    /// A stored plan or result cannot be read.
    #[error("{what} in the queue cannot be read; it was changed, or is of another version")]
    Stored {
        /// The plan or the result.
        what: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// An artifact cannot be used.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The run's folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be moved to its place.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// One attempt as the queue keeps it.
struct StoredAttempt {
    trial: String,
    attempt: u32,
    /// `None` for an attempt whose worker was lost.
    result: Option<String>,
    files: Option<String>,
}

/// Brings what the queue has of a run into its folder below `root`. Called again, it adds what came since.
///
/// # Errors
///
/// Fails if the queue has no such run, if the folder holds another run or was changed on this machine, or if the database, the
/// store or the disk fails.
pub async fn fetch(queue: &Queue, run: &RunId, root: &Path, depth: Depth) -> Result<Fetched, FetchError> {
    if let Some(record) = queue.experiment(run.as_str()).await? {
        return fetch_experiment(queue, &record, root, depth).await;
    }
    let record = queue.record(run).await?.ok_or_else(|| FetchError::NoRun(run.clone()))?;
    let unreadable = |what: String| move |source| FetchError::Stored { what, source };
    let plan: RunPlan =
        serde_json::from_str(&record.plan).map_err(unreadable(format!("the plan of run {run}")))?;
    // Asked first: what ends between the two questions is brought now, and counted as open once more.
    let open = queue.open_trials(run).await?;
    let attempts = attempts(queue, run).await?;
    let artifacts = queue.artifacts(&record.artifacts)?;
    let folder = opened(root, plan)?;
    let path = folder.path().to_owned();
    let known = known(&folder);
    let stored: BTreeSet<(String, u32)> =
        attempts.iter().map(|one| (one.trial.clone(), one.attempt)).collect();
    if !known.is_subset(&stored) {
        return Err(FetchError::Continued(path));
    }
    if let Some(list) = &record.book_list {
        artifacts.get_files(list, &path.join(BOOK_FOLDER)).await?;
    }
    let added = bring(&artifacts, &folder, attempts, depth).await?;
    let missing = folder.plan().trials.iter().filter(|trial| !folder.is_finished(&trial.trial)).count();
    Ok(Fetched { folder: path, added, open, missing, experiment: None })
}

/// Brings the copy of an experiment's folder that its leader has left.
async fn fetch_experiment(
    queue: &Queue,
    record: &ExperimentRecord,
    root: &Path,
    depth: Depth,
) -> Result<Fetched, FetchError> {
    let folder = root.join(&record.experiment);
    let wanted = |path: &str| depth == Depth::Files || !is_of_a_trial(path);
    let added = match &record.copy {
        Some(list) => {
            let restored = restore(&queue.artifacts(&record.artifacts)?, list, &folder, wanted).await;
            restored.map_err(|error| match error {
                CopyError::Changed(file) => FetchError::Changed(file),
                CopyError::Artifact(error) => error.into(),
                CopyError::Io { path, source } => FetchError::Io { path, source },
            })?
        }
        None => 0,
    };
    let open = usize::from(record.state == "open");
    Ok(Fetched { folder, added, open, missing: 0, experiment: Some(record.state.clone()) })
}

/// The attempts whose rows a folder has.
fn known(folder: &RunFolder) -> BTreeSet<(String, u32)> {
    folder.rows().into_iter().map(|row| (row.trial.to_string(), row.attempt)).collect()
}

/// Adds what is missing of these attempts to a run's folder. Returns how many rows were added.
async fn bring(
    artifacts: &Artifacts,
    folder: &RunFolder,
    attempts: Vec<StoredAttempt>,
    depth: Depth,
) -> Result<usize, FetchError> {
    let unreadable = |what: String| move |source| FetchError::Stored { what, source };
    let (known, path) = (known(folder), folder.path().to_owned());
    let mut added = 0;
    for one in attempts {
        let what = format!("the result of trial {}, attempt {}", one.trial, one.attempt);
        let row = one
            .result
            .as_deref()
            .map(serde_json::from_str::<TrialRow>)
            .transpose()
            .map_err(unreadable(what))?;
        let trace = row.as_ref().map(|row| row.trace.clone());
        let staged = match (&row, &one.files) {
            (Some(row), Some(list)) if depth == Depth::Files && !path.join(&row.trace).is_dir() => {
                Some(staged(artifacts, list, &path).await?)
            }
            _ => None,
        };
        if !known.contains(&(one.trial.clone(), one.attempt)) {
            let lost = || folder.plan().trials.iter().find(|trial| trial.trial.as_str() == one.trial);
            if let Some(row) = row.or_else(|| lost().map(|trial| folder.lost_row(trial, one.attempt))) {
                // The row stands before its files do: a folder without a row would count as an interrupted attempt.
                folder.append(&row)?;
                added += 1;
            }
        }
        if let (Some(staged), Some(trace)) = (staged, trace) {
            moved(&staged, &path, &trace)?;
        }
    }
    Ok(added)
}

/// Adds what the queue has of an experiment's run to its open folder; `seen` is how many attempts it had before.
pub(crate) async fn follow(
    queue: &Queue,
    artifacts: &Artifacts,
    folder: &RunFolder,
    seen: &mut i64,
) -> Result<(), FetchError> {
    let run = &folder.plan().run;
    let sql = "SELECT count(*) FROM attempts WHERE run = $1";
    let rows = queue.database().query(sql, &[&run.as_str()]).await?;
    let there = rows.first().map_or(0, |row| row.get(0));
    if there != *seen {
        bring(artifacts, folder, attempts(queue, run).await?, Depth::Files).await?;
        *seen = there;
    }
    Ok(())
}

/// Brings the row and the files of the trial that must end before another one into a folder of a worker.
pub(crate) async fn bring_prerequisite(
    queue: &Queue,
    artifacts: &Artifacts,
    run: &RunId,
    trial: &TrialId,
    to: &Path,
) -> Result<(), FetchError> {
    let sql = "SELECT result, files FROM attempts WHERE run = $1 AND trial = $2 AND result IS NOT NULL ORDER BY id DESC LIMIT 1";
    let rows = queue.database().query(sql, &[&run.as_str(), &trial.as_str()]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    if let Some(list) = row.get::<_, Option<&str>>(1) {
        artifacts.get_files(list, to).await?;
    }
    keep_row(to, row.get(0))
}

/// Adds a row to those of a folder, unless it is there. Trials that have begun read them meanwhile: they find the old file or
/// the new one, both whole.
fn keep_row(folder: &Path, row: &str) -> Result<(), FetchError> {
    let (file, line) = (folder.join(ROWS_FILE), format!("{row}\n"));
    fs::create_dir_all(folder).map_err(failed(folder))?;
    // One writer at a time. The lock ends with its file.
    let lock = folder.join(".rows.lock");
    let locked = fs::File::create(&lock).and_then(|lock| lock.lock().map(|()| lock));
    let _locked = locked.map_err(failed(&lock))?;
    let before = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(failed(&file))?,
    };
    if before.contains(&line) {
        return Ok(());
    }
    let draft = folder.join(".rows.draft");
    fs::write(&draft, format!("{before}{line}"))
        .and_then(|()| fs::rename(&draft, &file))
        .map_err(failed(&file))
}

fn opened(root: &Path, plan: RunPlan) -> Result<RunFolder, FetchError> {
    let path = root.join(plan.run.as_str());
    if !path.join(PLAN_FILE).exists() {
        return Ok(RunFolder::create(root, plan)?);
    }
    let folder = RunFolder::open(&path)?;
    if *folder.plan() == plan { Ok(folder) } else { Err(FetchError::Other(path)) }
}

async fn attempts(queue: &Queue, run: &RunId) -> Result<Vec<StoredAttempt>, DatabaseError> {
    let sql = "SELECT trial, attempt, result, files FROM attempts WHERE run = $1 ORDER BY id";
    let rows = queue.database().query(sql, &[&run.as_str()]).await?;
    let read = |row: &tokio_postgres::Row| StoredAttempt {
        trial: row.get(0),
        attempt: row.get::<_, i32>(1).unsigned_abs(),
        result: row.get(2),
        files: row.get(3),
    };
    Ok(rows.iter().map(read).collect())
}

/// Gathers an attempt's files beside the run's.
async fn staged(artifacts: &Artifacts, list: &str, run: &Path) -> Result<PathBuf, FetchError> {
    let staging = run.join(STAGING);
    if staging.exists() {
        // Of a fetch that was killed.
        fs::remove_dir_all(&staging).map_err(failed(&staging))?;
    }
    fs::create_dir_all(&staging).map_err(failed(&staging))?;
    artifacts.get_files(list, &staging).await?;
    Ok(staging)
}

/// Moves gathered files to their places: the folder of the trace last and as one, as it tells later fetches that all is there.
fn moved(staging: &Path, run: &Path, trace: &str) -> Result<(), FetchError> {
    let mut parts: Vec<PathBuf> = files_below(staging)?.into_iter().map(PathBuf::from).collect();
    parts.retain(|path| !path.starts_with(trace));
    if staging.join(trace).is_dir() {
        parts.push(trace.into());
    }
    for path in parts {
        let (from, to) = (staging.join(&path), run.join(&path));
        let parent = to.parent().unwrap_or(run);
        fs::create_dir_all(parent).and_then(|()| fs::rename(&from, &to)).map_err(failed(&to))?;
    }
    fs::remove_dir_all(staging).map_err(failed(staging))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FetchError + '_ {
    move |source| FetchError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    use apprentice_runs::layout::ROWS_FILE;

    use super::{FetchError, keep_row, moved};

    #[test]
    fn a_trace_comes_whole_or_not_at_all() {
        let run = tempfile::tempdir().expect("a folder");
        let staging = run.path().join(".fetch");
        for path in ["trials/t/attempt-01/a", "trials/t/attempt-01/z", "zz/picture"] {
            let file = staging.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, path).expect("writes");
        }
        // What stops in the middle leaves no part of a trace, which would pass for the whole.
        fs::write(run.path().join("zz"), "in the way").expect("writes");
        moved(&staging, run.path(), "trials/t/attempt-01").expect_err("a file is in the way");
        assert!(!run.path().join("trials").exists());
        fs::remove_file(run.path().join("zz")).expect("removes");
        moved(&staging, run.path(), "trials/t/attempt-01").expect("moves");
        for path in ["trials/t/attempt-01/a", "trials/t/attempt-01/z", "zz/picture"] {
            assert_eq!(fs::read_to_string(run.path().join(path)).expect("a file"), path);
        }
        assert!(!staging.exists());
    }

    #[test]
    fn rows_are_whole_whenever_they_are_read_and_none_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let row = |number: usize| format!("{{\"row\": {number}, \"text\": \"{}\"}}", "x".repeat(20_000));
        let (file, ended) = (folder.path().join(ROWS_FILE), AtomicBool::new(false));
        keep_row(folder.path(), &row(0)).expect("writes");
        std::thread::scope(|threads| {
            let reading = threads.spawn(|| {
                let mut seen = 0;
                while !ended.load(Ordering::Relaxed) {
                    let text = fs::read_to_string(&file).expect("rows");
                    assert!(text.ends_with('\n') && text.lines().count() >= seen.max(1), "a row is missing");
                    seen = text.lines().count();
                }
            });
            let writing: Vec<_> = (0..2)
                .map(|writer| {
                    let (row, folder) = (&row, folder.path());
                    threads.spawn(move || {
                        (1..60).for_each(|at| keep_row(folder, &row(at * 2 + writer)).expect("writes"));
                    })
                })
                .collect();
            for writer in writing {
                writer.join().expect("writes");
            }
            ended.store(true, Ordering::Relaxed);
            reading.join().expect("reads");
        });
        keep_row(folder.path(), &row(7)).expect("is there already");
        assert_eq!(fs::read_to_string(&file).expect("rows").lines().count(), 119);
    }

    #[test]
    fn rows_that_cannot_be_read_are_told_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(ROWS_FILE);
        fs::write(&file, [0xff, b'\n']).expect("writes");
        assert!(matches!(keep_row(folder.path(), "{}"), Err(FetchError::Io { path, .. }) if path == file));
        assert_eq!(fs::read(&file).expect("a file"), [0xff, b'\n']);
    }
}
