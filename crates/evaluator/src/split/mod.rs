//! The split lock: assigns templates to splits in a locked file, and decides which attempts are admitted to
//! learning.
//!
//! The split named by a row or a trajectory is never trusted. The lock records the template of each task in the
//! locked suite, the split of each template, and a hash of each instruction. It does not cover solutions, checks and
//! files, so that these may be mended without drawing anew. Locks of the first form cover every file instead.

mod admitted;
mod draft;
mod group;
mod knowledge;
mod overlap;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, Trajectory, TrialId, Verdict, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::trial_identity::{expected_trial_id, hashed, trajectory_id};
use apprentice_runs::row::{Split, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::vary;
use apprentice_trace::hex;

pub use admitted::TrainTrajectory;
pub use draft::{DRAFT_FILE, DraftError, Shares, SplitDraft};
pub use knowledge::KnowledgeParts;
use overlap::leaks;
pub use overlap::{NEAR_SAME, Overlap, SharedBy, overlaps};

/// The schema name of a lock that covers what decides the split.
pub const SPLIT_SCHEMA: &str = "apprentice.split/2";
/// The schema name of a lock that covers every file of the suite.
pub const SPLIT_SCHEMA_WHOLE: &str = "apprentice.split/1";
/// Characters of an instruction's hash.
const WORDING_HASH: usize = 16;
/// Names that an error lists before it only counts.
const NAMED: usize = 5;

/// The assignment of a suite's templates to splits. Created once, stored beside the suite, never changed by a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitLock {
    schema: String,
    suite: String,
    /// The hash of the suite's files; only in locks of the first form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suite_hash: Option<String>,
    salt: String,
    templates: BTreeMap<String, Split>,
    tasks: BTreeMap<TaskId, String>,
    /// A hash of each task's instruction, before its placeholders are filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    instructions: BTreeMap<TaskId, String>,
}

/// The reason a lock is invalid or an attempt is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The file cannot be read or written.
    #[error("split lock {path} cannot be {operation}")]
    File {
        /// The lock file.
        path: PathBuf,
        /// `read` or `written`.
        operation: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is a draft, which may still be edited.
    #[error(
        "{path} is a draft of a split; lock it first: `apprentice split lock {folder}` writes {folder}/split.json"
    )]
    Draft {
        /// The draft.
        path: PathBuf,
        /// The suite's folder.
        folder: PathBuf,
    },
    /// The file is not a valid lock.
    #[error("{path}: not a split lock (field {field})")]
    Form {
        /// The lock file.
        path: PathBuf,
        /// The path of the invalid field.
        field: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The file has an unsupported schema version.
    #[error("split lock has schema {0:?}, expected {SPLIT_SCHEMA:?}")]
    Schema(String),
    /// The lock holds neither or both of what its two forms cover, or misses an instruction.
    #[error("split lock is incomplete: {0}")]
    Incomplete(String),
    /// The suite differs from the locked one in what decides the split.
    #[error(
        "the suite no longer fits its split: {0}; edit the split and lock it again (`apprentice split lock`)"
    )]
    Changed(String),
    /// Training and test tasks ask for nearly the same: the file was edited after it was locked.
    #[error("the split leaks: {}; edit split.toml and lock it again (`apprentice split lock`)", .0.join("; "))]
    Leak(Vec<String>),
    /// The attempt was made with another instruction.
    #[error(
        "attempt {attempt} was made when the instruction of task {task} read otherwise; it cannot be used with this split"
    )]
    OtherWording {
        /// The attempt.
        attempt: String,
        /// The task's id.
        task: TaskId,
    },
    /// A task's template is in no split.
    #[error("template {template:?} of task {task} is in no split{hint}")]
    UnknownTemplate {
        /// The task's id.
        task: TaskId,
        /// The task's template.
        template: String,
        /// The end of the message: a locked template with a similar name, or nothing.
        hint: String,
    },
    /// A locked template has no task.
    #[error("template {template:?} of the split has no task{hint}")]
    EmptyTemplate {
        /// The template.
        template: String,
        /// The end of the message: a template of the suite with a similar name, or nothing.
        hint: String,
    },
    /// The lock belongs to other suite files.
    #[error(
        "split lock is for suite {locked}, not {found}: lock the suite again (`apprentice split lock`), or use the files it was made for"
    )]
    SuiteMismatch {
        /// The suite hash in the lock.
        locked: String,
        /// The hash of the suite in use.
        found: String,
    },
    /// The locked suite does not contain the task.
    #[error("the locked suite has no task {task}{hint}")]
    UnknownTask {
        /// The task's id.
        task: TaskId,
        /// The end of the message: a task with a similar name, or nothing.
        hint: String,
    },
    /// The row names a different template than the lock.
    #[error("the row of task {task} claims template {claimed:?}, the lock says {locked:?}")]
    TemplateMismatch {
        /// The task's id.
        task: TaskId,
        /// The template in the row.
        claimed: String,
        /// The template in the lock.
        locked: String,
    },
    /// The attempt's template is held out from learning.
    #[error("task {task} belongs to template {template:?}, held out as {}", .split.as_str())]
    HeldOut {
        /// The task's id.
        task: TaskId,
        /// The task's template.
        template: String,
        /// The template's split.
        split: Split,
    },
    /// The instruction of a user's own attempt repeats a held-out task.
    #[error("the instruction of attempt {attempt} repeats {found}; attempts at it are not learned from")]
    HeldOutWords {
        /// The attempt.
        attempt: String,
        /// What it repeats.
        found: String,
    },
    /// The row's trial id does not match the row's other fields.
    #[error(
        "the row of task {task} claims trial id {claimed}, but its suite, task, role, model, arm and seed give {made}"
    )]
    TrialMismatch {
        /// The task's id.
        task: TaskId,
        /// The trial id in the row.
        claimed: TrialId,
        /// The trial id computed from the row's fields.
        made: TrialId,
    },
    /// The attempt is void.
    #[error("attempt {0} is void and cannot be used for learning")]
    Void(String),
    /// Row and trajectory belong to different attempts.
    #[error("row {row} and trajectory {trajectory} differ in attempt or verdict")]
    Mismatch {
        /// The row, as `<run>/<trial>/<attempt>`.
        row: String,
        /// The trajectory's id.
        trajectory: String,
    },
}

/// The properties of a suite that a lock of the first form records.
#[derive(Clone, Copy, Debug)]
pub struct LockedSuite<'a> {
    /// The suite's name.
    pub name: &'a str,
    /// The hash of the suite's files.
    pub hash: &'a str,
    /// The suite's tasks with their templates.
    pub tasks: &'a BTreeMap<TaskId, String>,
}

impl SplitLock {
    /// Locks every file of a suite with the given split of its templates. Every template of the suite must have a
    /// split, and every template in `templates` must have a task.
    pub fn new(
        suite: LockedSuite<'_>,
        templates: BTreeMap<String, Split>,
        salt: impl Into<String>,
    ) -> Result<Self, SplitError> {
        let lock = Self {
            schema: SPLIT_SCHEMA_WHOLE.into(),
            suite: suite.name.into(),
            suite_hash: Some(suite.hash.into()),
            salt: salt.into(),
            templates,
            tasks: suite.tasks.clone(),
            instructions: BTreeMap::new(),
        };
        lock.validate()?;
        Ok(lock)
    }

    /// Locks what decides the split of a suite: the template of each task (`tasks`), the split of each template, and
    /// the instructions.
    pub fn of(
        suite: &Suite,
        templates: BTreeMap<String, Split>,
        tasks: BTreeMap<TaskId, String>,
        salt: impl Into<String>,
    ) -> Result<Self, SplitError> {
        let wording = |task: &Task| (task.id.clone(), wording_hash(&task.instruction));
        let lock = Self {
            schema: SPLIT_SCHEMA.into(),
            suite: suite.name.clone(),
            suite_hash: None,
            salt: salt.into(),
            templates,
            tasks,
            instructions: suite.tasks.iter().map(wording).collect(),
        };
        lock.validate()?;
        Ok(lock)
    }

    /// Reads and validates a lock file.
    pub fn read(path: &Path) -> Result<Self, SplitError> {
        if path.extension().is_some_and(|ending| ending == "toml") && path.exists() {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).to_owned();
            return Err(SplitError::Draft { path: path.into(), folder });
        }
        let text = apprentice_files::read_to_string(path).map_err(|source| SplitError::File {
            path: path.into(),
            operation: "read",
            source,
        })?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let lock: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            SplitError::Form { path: path.into(), field, source: error.into_inner() }
        })?;
        lock.validate()?;
        Ok(lock)
    }

    /// Writes the lock file atomically: readers see the old lock or the new one.
    pub fn write(&self, path: &Path) -> Result<(), SplitError> {
        let failed = |source| SplitError::File { path: path.into(), operation: "written", source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        io::Write::write_all(&mut file, self.to_text().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Returns the lock file's text. Equal locks give equal bytes.
    pub fn to_text(&self) -> String {
        // Serialising a map of strings cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the hash that identifies the lock in rows and reports.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_text()))
    }

    /// Returns the name of the locked suite.
    pub fn suite(&self) -> &str {
        &self.suite
    }

    /// Returns the salt of the split, which also salts the hashed text of test tasks.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// Rejects a suite that differs from the locked one in what the lock covers, and a lock that was edited into a leak.
    pub fn check_suite(&self, suite: &Suite) -> Result<(), SplitError> {
        self.check_cover(suite)?;
        let leaks = leaks(suite, &|task| self.split_of_task(task).ok());
        if leaks.is_empty() { Ok(()) } else { Err(SplitError::Leak(leaks)) }
    }

    fn check_cover(&self, suite: &Suite) -> Result<(), SplitError> {
        if let Some(locked) = &self.suite_hash {
            return same_files(locked, &suite.hash);
        }
        let of = |kind: &str, tasks: Vec<&str>| listed(kind, &tasks);
        let here: BTreeMap<&TaskId, &Task> = suite.tasks.iter().map(|task| (&task.id, task)).collect();
        let locked = |task: &&&TaskId| self.tasks.contains_key(**task);
        let kept = || here.iter().filter(|(id, _)| self.tasks.contains_key(**id));
        let differs = |differ: &dyn Fn(&TaskId, &Task) -> bool| -> Vec<&str> {
            kept().filter(|(id, task)| differ(id, task)).map(|(id, _)| id.as_str()).collect()
        };
        let faults = [
            of("new", here.keys().filter(|id| !locked(id)).map(|id| id.as_str()).collect()),
            of("gone", self.tasks.keys().filter(|id| !here.contains_key(id)).map(TaskId::as_str).collect()),
            of(
                "with another template",
                differs(&|id, task| self.tasks.get(id).is_some_and(|locked| locked != task.template())),
            ),
            of(
                "with another instruction",
                differs(&|id, task| self.instructions.get(id) != Some(&wording_hash(&task.instruction))),
            ),
        ];
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(SplitError::Changed(faults.join(", "))),
        }
    }

    /// Returns the split of a template; `None` when the lock does not contain it.
    pub fn split_of(&self, template: &str) -> Option<Split> {
        self.templates.get(template).copied()
    }

    /// Returns the split of a task.
    pub fn split_of_task(&self, task: &TaskId) -> Result<Split, SplitError> {
        let template = self.template_of(task)?;
        self.split_of(template).ok_or_else(|| self.unknown_template(task, template))
    }

    /// Returns the templates of one split, sorted by name.
    pub fn templates(&self, split: Split) -> impl Iterator<Item = &str> {
        self.templates.iter().filter(move |(_, of)| **of == split).map(|(template, _)| template.as_str())
    }

    /// Admits one attempt to learning. It must belong to the locked suite and to a training template, its trial id
    /// must match its fields, it must not be void, and the trajectory must be its own.
    pub fn admit(&self, row: &TrialRow, trajectory: Trajectory) -> Result<TrainTrajectory, SplitError> {
        let template = self.check_row(row)?;
        let id = trajectory_id(row);
        if row.verdict == Verdict::Void || trajectory.verdict == Verdict::Void {
            return Err(SplitError::Void(id));
        }
        if trajectory.id != id || trajectory.verdict != row.verdict {
            return Err(SplitError::Mismatch { row: id, trajectory: trajectory.id });
        }
        Ok(TrainTrajectory::of_template(trajectory, template))
    }

    /// Checks what a row says of itself, before its trace is read, and returns its template. The suite's name is the
    /// row's own: a suite may have been renamed since.
    pub fn check_row(&self, row: &TrialRow) -> Result<&str, SplitError> {
        if let Some(locked) = &self.suite_hash {
            same_files(locked, &row.suite_hash)?;
        }
        let template = self.template_of(&row.task)?;
        if row.template != template {
            return Err(SplitError::TemplateMismatch {
                task: row.task.clone(),
                claimed: row.template.clone(),
                locked: template.into(),
            });
        }
        match self.split_of_task(&row.task)? {
            Split::Train => {}
            split @ (Split::Dev | Split::Test) => {
                return Err(SplitError::HeldOut { task: row.task.clone(), template: template.into(), split });
            }
        }
        let made = expected_trial_id(row, &row.suite);
        match row.trial == made {
            true => Ok(template),
            false => {
                Err(SplitError::TrialMismatch { task: row.task.clone(), claimed: row.trial.clone(), made })
            }
        }
    }

    fn template_of(&self, task: &TaskId) -> Result<&str, SplitError> {
        self.tasks.get(task).map(String::as_str).ok_or_else(|| SplitError::UnknownTask {
            task: task.clone(),
            hint: did_you_mean(task.as_str(), self.tasks.keys().map(TaskId::as_str)),
        })
    }

    fn unknown_template(&self, task: &TaskId, template: &str) -> SplitError {
        SplitError::UnknownTemplate {
            task: task.clone(),
            template: template.into(),
            hint: did_you_mean(template, self.templates.keys().map(String::as_str)),
        }
    }

    fn validate(&self) -> Result<(), SplitError> {
        let known = match self.schema.as_str() {
            SPLIT_SCHEMA => self.suite_hash.is_none() && self.instructions.keys().eq(self.tasks.keys()),
            SPLIT_SCHEMA_WHOLE => self.suite_hash.is_some() && self.instructions.is_empty(),
            _ => return Err(SplitError::Schema(self.schema.clone())),
        };
        if !known {
            let what = match self.schema.as_str() {
                SPLIT_SCHEMA => "it needs `instructions` for exactly its tasks, and no `suite_hash`",
                _ => "it needs a `suite_hash`, and no `instructions`",
            };
            return Err(SplitError::Incomplete(what.into()));
        }
        for (task, template) in &self.tasks {
            if !self.templates.contains_key(template) {
                return Err(self.unknown_template(task, template));
            }
        }
        let used: Vec<&str> = self.tasks.values().map(String::as_str).collect();
        for template in self.templates.keys() {
            if !used.contains(&template.as_str()) {
                let hint = did_you_mean(template, used.iter().copied());
                return Err(SplitError::EmptyTemplate { template: template.clone(), hint });
            }
        }
        Ok(())
    }
}

/// Rejects an attempt whose instruction is not the one that the suite's task gives for the row's variation: its words
/// were changed after the attempt.
pub fn check_wording(suite: &Suite, row: &TrialRow, instruction: &str) -> Result<(), SplitError> {
    let task = suite.task(row.task.as_str());
    let varied = task.and_then(|task| vary(task, &row.suite, row.seed).ok());
    match varied.is_some_and(|varied| varied.task.instruction == instruction) {
        true => Ok(()),
        false => Err(SplitError::OtherWording { attempt: trajectory_id(row), task: row.task.clone() }),
    }
}

fn wording_hash(instruction: &str) -> String {
    hashed(&[("instruction", instruction)])[..WORDING_HASH].to_owned()
}

fn same_files(locked: &str, found: &str) -> Result<(), SplitError> {
    match locked == found {
        true => Ok(()),
        false => Err(SplitError::SuiteMismatch { locked: locked.into(), found: found.into() }),
    }
}

/// A count of tasks of one kind with the first names; `None` for none.
fn listed(kind: &str, tasks: &[&str]) -> Option<String> {
    let names = tasks.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if tasks.len() > NAMED { ", …" } else { "" };
    let noun = if tasks.len() == 1 { "task" } else { "tasks" };
    (!tasks.is_empty()).then(|| format!("{} {noun} {kind} ({names}{more})", tasks.len()))
}

#[cfg(test)]
mod tests;
