//! Splits by template, locked in a file; the only way by which an attempt is admitted to learning.
//!
//! What a row or a trajectory says of its own split is never believed: the lock knows which template each task
//! of the locked suite belongs to, and which split each template.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use apprentice_protocol::{TaskId, Trajectory, TrialId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::run::{Contender, trial_id};
use apprentice_results::row::{Split, TrialRow};
use apprentice_tasks::suite;

/// The name of the lock file's format.
pub const SPLIT_SCHEMA: &str = "apprentice.split/1";

/// Which template of a suite belongs to which split. Made once, kept beside the suite, never changed by a run.
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

/// A trajectory of a training task, admitted by a lock: the only thing that learning accepts.
///
/// It cannot be made, read or changed in any other way than through [`SplitLock::admit`].
#[derive(Clone, Debug, PartialEq)]
pub struct TrainTrajectory(Trajectory, String);

impl TrainTrajectory {
    /// The trajectory.
    pub fn trajectory(&self) -> &Trajectory {
        &self.0
    }

    /// The template of its task.
    pub fn template(&self) -> &str {
        &self.1
    }

    /// The trajectory, given away.
    pub fn into_inner(self) -> Trajectory {
        self.0
    }
}

/// How many parts of the templates go to each split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Parts for learning.
    pub train: u32,
    /// Parts for choices.
    pub dev: u32,
    /// Parts for the measurement.
    pub test: u32,
}

/// Why there is no lock, or why an attempt is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The file cannot be read or written.
    #[error("split lock {path} cannot be {deed}")]
    File {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        deed: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no lock.
    #[error("{path}: not a split lock (field {field})")]
    Form {
        /// The file.
        path: PathBuf,
        /// Where in it.
        field: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The format is of another version.
    #[error("split lock has schema {0:?}, expected {SPLIT_SCHEMA:?}")]
    Schema(String),
    /// A task's template stands in no split.
    #[error("template {template:?} of task {task} is in no split{}", did_you_mean(.nearest))]
    UnknownTemplate {
        /// The task.
        task: TaskId,
        /// Its template.
        template: String,
        /// A locked template with a like name.
        nearest: Option<String>,
    },
    /// A locked template has no task.
    #[error("template {template:?} of the split has no task{}", did_you_mean(.nearest))]
    EmptyTemplate {
        /// The template.
        template: String,
        /// A template of the suite with a like name.
        nearest: Option<String>,
    },
    /// The lock is for other files.
    #[error(
        "split lock is for suite {locked}, not {found}: lock the suite again, or use the files it was made for"
    )]
    OtherSuite {
        /// The suite hash in the lock.
        locked: String,
        /// The hash that was met.
        found: String,
    },
    /// The suite has no such task.
    #[error("the locked suite has no task {task}{}", did_you_mean(.nearest))]
    UnknownTask {
        /// The task.
        task: TaskId,
        /// A task with a like name.
        nearest: Option<String>,
    },
    /// The row claims another template than its task has.
    #[error("the row of task {task} claims template {claimed:?}, the lock says {locked:?}")]
    OtherTemplate {
        /// The task.
        task: TaskId,
        /// What the row says.
        claimed: String,
        /// What holds.
        locked: String,
    },
    /// The attempt is of a template that learning must not see.
    #[error("task {task} is of template {template:?}, sealed as {}", .split.as_str())]
    Sealed {
        /// The task.
        task: TaskId,
        /// Its template.
        template: String,
        /// The template's split.
        split: Split,
    },
    /// The row's trial is not the one that its own parts make.
    #[error(
        "the row of task {task} calls its trial {claimed}, its suite, task, part, model, arm and seed make {made}"
    )]
    OtherTrial {
        /// The task.
        task: TaskId,
        /// What the row says.
        claimed: TrialId,
        /// What holds.
        made: TrialId,
    },
    /// The attempt is void.
    #[error("attempt {0} is void: it teaches nothing")]
    Void(String),
    /// Row and trajectory are not of the same attempt.
    #[error("row {row} and trajectory {trajectory} are not of the same attempt and verdict")]
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

/// The id under which the trajectory of a row's attempt is known: `<run>/<trial>/<attempt>`.
pub fn trajectory_id(row: &TrialRow) -> String {
    format!("{}/{}/{}", row.run, row.trial, row.attempt)
}

/// The trial that a row's own parts make in the suite of this name.
pub(crate) fn trial_of(row: &TrialRow, suite: &str) -> TrialId {
    let contender = Contender {
        role: row.role,
        model: row.model.clone(),
        arm: row.arm.clone(),
        tasks: None,
        seeds: None,
    };
    trial_id(suite, &row.task, &contender, row.seed)
}

/// What a suite is, as far as a lock must know.
#[derive(Clone, Copy, Debug)]
pub struct LockedSuite<'a> {
    /// Its name.
    pub name: &'a str,
    /// The hash of its files.
    pub hash: &'a str,
    /// Its tasks with their templates.
    pub tasks: &'a BTreeMap<TaskId, String>,
}

impl SplitLock {
    /// Locks a suite with the given split of its templates; every template must be split, and each split one
    /// must have a task.
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

    /// Locks a suite by lot: templates in the order of their salted hashes are dealt out by shares. The same
    /// salt gives the same split.
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
            deed: "read",
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

    /// Writes the lock file, in one step: readers see the old lock or the new one.
    pub fn write(&self, path: &Path) -> Result<(), SplitError> {
        let failed = |source| SplitError::File { path: path.into(), deed: "written", source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        io::Write::write_all(&mut file, self.to_text().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The lock file's text: the same lock always gives the same bytes.
    pub fn to_text(&self) -> String {
        // A map of plain words cannot fail to serialise.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The hash that stands in rows and reports.
    pub fn hash(&self) -> String {
        Sha256::digest(self.to_text()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The hash of the suite it is for.
    pub fn suite_hash(&self) -> &str {
        &self.suite_hash
    }

    /// The salt of this experiment, also that of hashed material about its test tasks.
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// Refuses a suite whose files are not the locked ones.
    pub fn check_suite(&self, suite_hash: &str) -> Result<(), SplitError> {
        if suite_hash == self.suite_hash {
            return Ok(());
        }
        Err(SplitError::OtherSuite { locked: self.suite_hash.clone(), found: suite_hash.into() })
    }

    /// The split of a template, if the lock has it.
    pub fn split_of(&self, template: &str) -> Option<Split> {
        self.templates.get(template).copied()
    }

    /// The split of a task.
    pub fn split_of_task(&self, task: &TaskId) -> Result<Split, SplitError> {
        let template = self.template_of(task)?;
        self.split_of(template).ok_or_else(|| self.unknown_template(task, template))
    }

    /// The templates of one split, in order of their names.
    pub fn templates(&self, split: Split) -> impl Iterator<Item = &str> {
        self.templates.iter().filter(move |(_, of)| **of == split).map(|(template, _)| template.as_str())
    }

    /// Admits one attempt to learning: it is of the locked suite, its task's template is a training one, its
    /// trial is the one its parts make, it is not void, and the trajectory is its own.
    pub fn admit(&self, row: &TrialRow, trajectory: Trajectory) -> Result<TrainTrajectory, SplitError> {
        self.check_suite(&row.suite_hash)?;
        let template = self.template_of(&row.task)?;
        if row.template != template {
            return Err(SplitError::OtherTemplate {
                task: row.task.clone(),
                claimed: row.template.clone(),
                locked: template.into(),
            });
        }
        match self.split_of_task(&row.task)? {
            Split::Train => {}
            split @ (Split::Dev | Split::Test) => {
                return Err(SplitError::Sealed { task: row.task.clone(), template: template.into(), split });
            }
        }
        let made = trial_of(row, &self.suite);
        if row.trial != made {
            return Err(SplitError::OtherTrial { task: row.task.clone(), claimed: row.trial.clone(), made });
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
