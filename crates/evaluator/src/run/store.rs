//! A run's folder: a single writer, rows that are either complete or absent, attempts that are never deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{EventKind, Isolation, SkillEventKind, TrialId, Verdict, VoidCause};
use apprentice_skillbook::{BookError, Snapshot, freeze};
use apprentice_trace::Trace;

use super::plan::{RunPlan, TrialSpec, attempt_folder};
use apprentice_runs::layout::{
    BLOBS_FOLDER, BOOK_FOLDER, EVENTS_FILE, LOCK_FILE, PARTIAL_ROWS_FILE, PLAN_DRAFT, PLAN_FILE, PROBE_FILE,
    ROWS_FILE,
};
use apprentice_runs::row::{ROW_SCHEMA, TrialRow};
use apprentice_runs::rows::{self, RowsError};
use apprentice_runs::{OpenError, read_plan, read_rows};

/// An open run, locked against other writers for the lifetime of this value.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    plan: RunPlan,
    rows: Mutex<RowsFile>,
    _lock: File,
}

/// The rows file and its parsed content.
#[derive(Debug)]
struct RowsFile {
    file: File,
    length: u64,
    rows: Vec<TrialRow>,
    /// How many of them an earlier process wrote.
    earlier: usize,
    /// Trials that this process does not try again, because each attempt would end alike.
    settled: BTreeSet<TrialId>,
}

/// The reason a run's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process is writing to it.
    #[error("{} is in use by another process; wait for it to finish, or stop it", .0.display())]
    Locked(PathBuf),
    /// The disk is full.
    #[error("the disk is full: {}; free some space and resume the run", .0.display())]
    DiskFull(PathBuf),
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The folder holds no run, or its plan cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The rows are invalid.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The copy of the skillbook cannot be written.
    #[error(transparent)]
    Book(#[from] BookError),
}

/// The folder of a run's frozen skillbook; `None` if the run kept none.
pub fn frozen_book(run: &Path) -> Option<PathBuf> {
    Some(run.join(BOOK_FOLDER)).filter(|book| book.is_dir())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |source| match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull(path.to_owned()),
        _ => StoreError::Io { path: path.to_owned(), source },
    }
}

/// Reads the plan and rows of a run without locking it and without repairing its rows.
pub fn read_run(path: &Path) -> Result<(RunPlan, Vec<TrialRow>), StoreError> {
    Ok((read_plan(path)?, read_rows(path)?.rows))
}

/// Returns the results of a run: the last attempt of each trial that `resume` will not try again.
pub fn final_results(rows: Vec<TrialRow>) -> Vec<TrialRow> {
    let mut trials: BTreeMap<TrialId, Vec<TrialRow>> = BTreeMap::new();
    for row in rows {
        trials.entry(row.trial.clone()).or_default().push(row);
    }
    let done = trials.into_values().filter(|attempts| has_result(attempts));
    done.filter_map(|mut attempts| attempts.pop()).collect()
}

/// Whether a trial was judged, or was stopped by a person, who does not want it to begin again.
pub(crate) fn has_result(attempts: &[TrialRow]) -> bool {
    let decides =
        |row: &TrialRow| row.verdict != Verdict::Void || row.void_cause == Some(VoidCause::StoppedByPerson);
    attempts.iter().any(decides)
}

impl RunFolder {
    /// Creates the folder of a new run below `root`, with its plan synced to disk.
    pub fn create(root: &Path, plan: RunPlan) -> Result<Self, StoreError> {
        let path = root.join(plan.run.as_str());
        std::fs::create_dir_all(root).map_err(failed(root))?;
        std::fs::create_dir(&path).map_err(failed(&path))?;
        let lock = lock(&path)?;
        let file = path.join(PLAN_FILE);
        let text = serde_json::to_string_pretty(&plan)
            .map_err(|error| StoreError::Io { path: file.clone(), source: error.into() })?;
        // Written under another name first and renamed, so that a run never has a partial plan.
        let draft = path.join(PLAN_DRAFT);
        write_synced(&draft, text.as_bytes()).map_err(failed(&draft))?;
        std::fs::rename(&draft, &file).map_err(failed(&file))?;
        sync_folder(&path)?;
        Self::load_rows(path, plan, lock)
    }

    /// Opens an existing run. Moves a partly written last row aside, and adds an interrupted void row for every
    /// attempt that was killed before its row was written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let plan = read_plan(path)?;
        let lock = lock(path)?;
        quarantine_partial_row(path)?;
        let folder = Self::load_rows(path.to_owned(), plan, lock)?;
        folder.record_orphans()?;
        Ok(folder)
    }

    fn load_rows(path: PathBuf, plan: RunPlan, lock: File) -> Result<Self, StoreError> {
        let file = path.join(ROWS_FILE);
        let handle = apprentice_files::open_append(&file).map_err(failed(&file))?;
        let length = handle.metadata().map_err(failed(&file))?.len();
        let rows = rows::read(&file)?.rows;
        sync_folder(&path)?;
        let rows = Mutex::new(RowsFile {
            file: handle,
            length,
            earlier: rows.len(),
            rows,
            settled: BTreeSet::new(),
        });
        Ok(Self { path, plan, rows, _lock: lock })
    }

    /// Keeps a copy of the skillbook that the run's arms use.
    pub fn keep_book(&self, book: &Snapshot) -> Result<(), StoreError> {
        Ok(freeze(book, &self.path.join(BOOK_FOLDER))?)
    }

    /// The run's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's plan.
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// The folder of the run's blobs.
    pub fn blobs(&self) -> PathBuf {
        self.path.join(BLOBS_FOLDER)
    }

    /// Returns the rows so far, in the order in which they were written.
    pub fn rows(&self) -> Vec<TrialRow> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).rows.clone()
    }

    /// Returns the rows of one trial, in attempt order.
    pub fn attempts(&self, trial: &TrialId) -> Vec<TrialRow> {
        let ledger = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.rows.iter().filter(|row| row.trial == *trial).cloned().collect()
    }

    /// Whether a trial is not tried again: it passed or failed, a person stopped it, or it was void as often as the plan
    /// allows since the folder was opened, or once where a program or a file is missing. An interrupted attempt does not count. What made attempts void in an earlier
    /// process, as a key that had expired, may have been mended since.
    pub fn is_finished(&self, trial: &TrialId) -> bool {
        let counts = |row: &&TrialRow| row.trial == *trial && row.void_cause != Some(VoidCause::Interrupted);
        let ledger = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = ledger.rows.iter().skip(ledger.earlier).filter(counts).count();
        ledger.settled.contains(trial)
            || tried >= self.plan.attempts as usize
            || has_result(&ledger.rows.iter().filter(counts).cloned().collect::<Vec<_>>())
    }

    /// Tries a trial no more until the folder is opened again: what it lacks may be there by then.
    pub(super) fn settle(&self, trial: &TrialId) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).settled.insert(trial.clone());
    }

    /// Appends one row with a single write and syncs it. Only then is the attempt finished.
    pub fn append(&self, row: &TrialRow) -> Result<(), StoreError> {
        let path = self.path.join(ROWS_FILE);
        let line = serde_json::to_string(row)
            .map_err(|source| StoreError::Io { path: path.clone(), source: source.into() })?;
        let bytes = format!("{line}\n");
        let mut ledger = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let written = ledger.file.write_all(bytes.as_bytes()).and_then(|()| ledger.file.sync_data());
        if let Err(source) = written {
            // The next row must not continue a partly written one.
            if let Err(second) = ledger.file.set_len(ledger.length) {
                tracing::error!(%second, "cannot truncate a partly written row");
            }
            return Err(failed(&path)(source));
        }
        ledger.length += bytes.len() as u64;
        ledger.rows.push(row.clone());
        Ok(())
    }

    /// Fails when the disk has no room for a few more rows.
    pub fn check_disk_space(&self) -> Result<(), StoreError> {
        let path = self.path.join(PROBE_FILE);
        let probed = write_synced(&path, &[b' '; 16_384]).map_err(failed(&path));
        let removed = std::fs::remove_file(&path).map_err(failed(&path));
        probed.and(removed)
    }

    /// Adds a row for every attempt folder that has none. Deletes nothing.
    fn record_orphans(&self) -> Result<(), StoreError> {
        let known: BTreeSet<String> = self.rows().into_iter().map(|row| row.trace).collect();
        for trial in &self.plan.trials {
            for attempt in 1.. {
                let trace = attempt_folder(trial, attempt);
                let folder = self.path.join(&trace);
                if !folder.is_dir() {
                    break;
                }
                if !known.contains(&trace) {
                    self.append(&self.orphan_row(trial, attempt))?;
                }
            }
        }
        Ok(())
    }

    /// Builds a row from the trace of an attempt that was killed before its row was written.
    fn orphan_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        let mut row = self.blank_row(trial, attempt);
        row.void_cause = Some(VoidCause::Interrupted);
        let events = self.path.join(&row.trace).join(EVENTS_FILE);
        let Ok(trace) = Trace::read(&events) else { return row };
        if let Some(first) = trace.events.first() {
            row.started_at = first.wall;
        }
        if let Some(last) = trace.events.last() {
            #[expect(clippy::cast_precision_loss, reason = "microseconds of one attempt")]
            let seconds = last.mono_us as f64 / 1e6;
            row.wall_s = seconds;
        }
        for event in trace.events {
            match event.kind {
                EventKind::ModelReplied { usage, cost_usd, provider_model, timing, estimated, .. } => {
                    row.turns += 1;
                    row.cost_estimated |= estimated;
                    row.model_s += Duration::from_millis(timing.working_ms).as_secs_f64();
                    row.tokens += usage;
                    row.provider_model = provider_model.or(row.provider_model);
                    if let Some(cost) = cost_usd {
                        *row.cost_usd.get_or_insert(0.0) += cost;
                    }
                }
                EventKind::AdviceAsked(asked) => {
                    row.cost_estimated |= asked.estimated;
                    row.model_s += Duration::from_millis(asked.timing.working_ms).as_secs_f64();
                    row.tokens += asked.usage;
                    if let Some(cost) = asked.cost_usd {
                        *row.cost_usd.get_or_insert(0.0) += cost;
                    }
                }
                EventKind::Action(action) => {
                    let counts = action.sent.is_some_and(|sent| !sent.is_observation_only());
                    row.world_steps += u32::from(counts);
                }
                EventKind::Skill(skill) if skill.happening == SkillEventKind::Viewed => {
                    row.skills_viewed.extend(skill.skill.filter(|id| !row.skills_viewed.contains(id)));
                }
                EventKind::WorldOpened { isolation, .. } => row.isolation = isolation,
                _ => {}
            }
        }
        row
    }

    /// Returns the row of an attempt whose process was lost, with all that it had recorded.
    pub fn lost_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        self.plan.lost_row(trial, attempt)
    }

    /// Returns a row of this run with no result yet.
    pub(super) fn blank_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        self.plan.blank_row(trial, attempt)
    }
}

impl RunPlan {
    /// Returns the row of an attempt of which nothing is known but that it was lost.
    pub fn lost_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        TrialRow { void_cause: Some(VoidCause::Interrupted), ..self.blank_row(trial, attempt) }
    }

    /// Returns a row of an attempt with no result yet.
    pub(crate) fn blank_row(&self, trial: &TrialSpec, attempt: u32) -> TrialRow {
        let plan = self;
        let book = plan.arms.iter().find(|arm| arm.arm == trial.arm);
        TrialRow {
            schema: ROW_SCHEMA.to_owned(),
            run: plan.run.clone(),
            trial: trial.trial.clone(),
            suite: plan.suite.clone(),
            role: trial.role,
            task: trial.task.clone(),
            template: trial.template.clone(),
            suite_hash: plan.suite_hash.clone(),
            split: trial.split,
            arm: trial.arm.clone(),
            seed: trial.seed,
            attempt,
            model: trial.model.clone(),
            skillbook_hash: book.and_then(|arm| arm.skillbook_hash.clone()),
            verdict: Verdict::Void,
            score: 0.0,
            world_steps: 0,
            turns: 0,
            person_acts: 0,
            judge: None,
            tokens: apprentice_protocol::Usage::default(),
            delivered_tokens: 0,
            cost_usd: None,
            cost_estimated: false,
            wall_s: 0.0,
            working_s: 0.0,
            model_s: 0.0,
            stop_reason: None,
            void_cause: None,
            skills_viewed: Vec::new(),
            order: trial.order,
            started_at: plan.planned_at,
            prompt_hash: plan.prompt_hash.clone(),
            provider_model: None,
            isolation: Isolation::None,
            admit: None,
            trace: attempt_folder(trial, attempt),
            extra: BTreeMap::new(),
        }
    }
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK_FILE);
    let file = apprentice_files::open_lock(&path);
    let file = file.map_err(failed(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(&path)(source)),
    }
}

/// Moves the bytes after the last line break to a separate file: they are not a complete row.
fn quarantine_partial_row(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(ROWS_FILE);
    let bytes = match apprentice_files::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&path)(error)),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole == bytes.len() {
        return Ok(());
    }
    let aside = folder.join(PARTIAL_ROWS_FILE);
    let kept = apprentice_files::open_append(&aside).and_then(|mut file| {
        file.write_all(&bytes[whole..])?;
        file.write_all(b"\n")?;
        file.sync_data()
    });
    kept.map_err(failed(&aside))?;
    let rows = OpenOptions::new().write(true).open(&path).map_err(failed(&path))?;
    rows.set_len(whole as u64).and_then(|()| rows.sync_data()).map_err(failed(&path))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn sync_folder(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(failed(path))
}
