//! The split lock: assigns templates to splits in a locked file, and decides which attempts are admitted to
//! learning.
//!
//! The split named by a row or a trajectory is never trusted. The lock records the template of each task in the
//! locked suite, and the split of each template.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use apprentice_protocol::{TaskId, Trajectory, TrialId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::trial_identity::{expected_trial_id, trajectory_id};
use apprentice_results::row::{Split, TrialRow};
use apprentice_tasks::suite;

/// The schema name of the lock file.
pub const SPLIT_SCHEMA: &str = "apprentice.split/1";

/// The assignment of a suite's templates to splits. Created once, stored beside the suite, never changed by a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitLock {
    schema: String,
    suite: String,
    suite_hash: String,
    salt: String,
    templates: BTreeMap<String, Split>,
    tasks: BTreeMap<TaskId, String>,
}

/// A trajectory of a training task, admitted by a lock. Learning accepts no other input.
///
/// [`SplitLock::admit`] is the only constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainTrajectory(Trajectory, String);

impl TrainTrajectory {
    /// The trajectory.
    pub fn trajectory(&self) -> &Trajectory {
        &self.0
    }

    /// The template of the trajectory's task.
    pub fn template(&self) -> &str {
        &self.1
    }

    /// Returns the trajectory by value.
    pub fn into_inner(self) -> Trajectory {
        self.0
    }
}

/// The relative shares of the templates in each split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Share for learning.
    pub train: u32,
    /// Share for development choices.
    pub dev: u32,
    /// Share for the measurement.
    pub test: u32,
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
    /// A task's template is in no split.
    #[error("template {template:?} of task {task} is in no split{}", did_you_mean(.nearest))]
    UnknownTemplate {
        /// The task's id.
        task: TaskId,
        /// The task's template.
        template: String,
        /// A locked template with a similar name.
        nearest: Option<String>,
    },
    /// A locked template has no task.
    #[error("template {template:?} of the split has no task{}", did_you_mean(.nearest))]
    EmptyTemplate {
        /// The template.
        template: String,
        /// A template of the suite with a similar name.
        nearest: Option<String>,
    },
    /// The lock belongs to other suite files.
    #[error(
        "split lock is for suite {locked}, not {found}: lock the suite again, or use the files it was made for"
    )]
    SuiteMismatch {
        /// The suite hash in the lock.
        locked: String,
        /// The hash of the suite in use.
        found: String,
    },
    /// The locked suite does not contain the task.
    #[error("the locked suite has no task {task}{}", did_you_mean(.nearest))]
    UnknownTask {
        /// The task's id.
        task: TaskId,
        /// A task with a similar name.
        nearest: Option<String>,
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

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    suite::nearest(wanted, names).map(str::to_owned)
}

/// The properties of a suite that a lock records.
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
    /// Locks a suite with the given split of its templates. Every template of the suite must have a split, and
    /// every template in `templates` must have a task.
    pub fn new(
        suite: LockedSuite<'_>,
        templates: BTreeMap<String, Split>,
        salt: impl Into<String>,
    ) -> Result<Self, SplitError> {
        let lock = Self {
            schema: SPLIT_SCHEMA.into(),
            suite: suite.name.into(),
            suite_hash: suite.hash.into(),
            salt: salt.into(),
            templates,
            tasks: suite.tasks.clone(),
        };
        lock.validate()?;
        Ok(lock)
    }

    /// Locks a suite with a random split: orders the templates by their salted hashes and divides them by `shares`.
    /// The same salt gives the same split.
    pub fn draw(suite: LockedSuite<'_>, shares: Shares, salt: &str) -> Result<Self, SplitError> {
        let mut templates: Vec<&String> = suite.tasks.values().collect();
        templates.sort();
        templates.dedup();
        templates.sort_by_cached_key(|template| Sha256::digest(format!("split\0{salt}\0{template}")));
        let parts = u64::from(shares.train) + u64::from(shares.dev) + u64::from(shares.test);
        let count = templates.len() as u64;
        let border = |parts_before: u64| (count * parts_before + parts / 2).checked_div(parts).unwrap_or(0);
        let train = border(u64::from(shares.train));
        let dev = border(u64::from(shares.train) + u64::from(shares.dev));
        let dealt = templates.into_iter().zip(0u64..).map(|(template, place)| {
            let split = match place {
                _ if place < train => Split::Train,
                _ if place < dev => Split::Dev,
                _ => Split::Test,
            };
            (template.clone(), split)
        });
        Self::new(suite, dealt.collect(), salt)
    }

    /// Reads and validates a lock file.
    pub fn read(path: &Path) -> Result<Self, SplitError> {
        let text = fs::read_to_string(path).map_err(|source| SplitError::File {
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
        Sha256::digest(self.to_text()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the hash of the locked suite.
    pub fn suite_hash(&self) -> &str {
        &self.suite_hash
    }

    /// Returns the salt of the split, which also salts the hashed text of test tasks.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// Rejects a suite whose files differ from the locked ones.
    pub fn check_suite(&self, suite_hash: &str) -> Result<(), SplitError> {
        if suite_hash == self.suite_hash {
            return Ok(());
        }
        Err(SplitError::SuiteMismatch { locked: self.suite_hash.clone(), found: suite_hash.into() })
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
        self.check_suite(&row.suite_hash)?;
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
        let made = expected_trial_id(row, &self.suite);
        if row.trial != made {
            return Err(SplitError::TrialMismatch {
                task: row.task.clone(),
                claimed: row.trial.clone(),
                made,
            });
        }
        let id = trajectory_id(row);
        if row.verdict == Verdict::Void || trajectory.verdict == Verdict::Void {
            return Err(SplitError::Void(id));
        }
        if trajectory.id != id || trajectory.verdict != row.verdict {
            return Err(SplitError::Mismatch { row: id, trajectory: trajectory.id });
        }
        Ok(TrainTrajectory(trajectory, template.to_owned()))
    }

    fn template_of(&self, task: &TaskId) -> Result<&str, SplitError> {
        self.tasks.get(task).map(String::as_str).ok_or_else(|| SplitError::UnknownTask {
            task: task.clone(),
            nearest: nearest(task.as_str(), self.tasks.keys().map(TaskId::as_str)),
        })
    }

    fn unknown_template(&self, task: &TaskId, template: &str) -> SplitError {
        SplitError::UnknownTemplate {
            task: task.clone(),
            template: template.into(),
            nearest: nearest(template, self.templates.keys().map(String::as_str)),
        }
    }

    fn validate(&self) -> Result<(), SplitError> {
        if self.schema != SPLIT_SCHEMA {
            return Err(SplitError::Schema(self.schema.clone()));
        }
        for (task, template) in &self.tasks {
            if !self.templates.contains_key(template) {
                return Err(self.unknown_template(task, template));
            }
        }
        let used: Vec<&str> = self.tasks.values().map(String::as_str).collect();
        for template in self.templates.keys() {
            if !used.contains(&template.as_str()) {
                let nearest = nearest(template, used.iter().copied());
                return Err(SplitError::EmptyTemplate { template: template.clone(), nearest });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
