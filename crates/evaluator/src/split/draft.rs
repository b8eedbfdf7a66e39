//! The draft of a split: a file that a person may edit, drawn by the program and checked before it is locked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, did_you_mean};
use apprentice_runs::row::Split;
use apprentice_tasks::suite::Suite;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::group::{groups, units};
use super::knowledge::{KnowledgeParts, LabelDeal};
use super::overlap::leaks;
use super::{SplitError, SplitLock};

/// The file beside a suite that holds the draft.
pub const DRAFT_FILE: &str = "split.toml";

/// The relative shares of the templates in each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Share for learning.
    pub train: u32,
    /// Share for development choices.
    pub dev: u32,
    /// Share for the measurement.
    pub test: u32,
}

/// A split that is not locked yet: for each part, its templates with their tasks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitDraft {
    /// The suite's name.
    suite: String,
    /// The salt of the draw.
    salt: String,
    #[serde(default)]
    train: BTreeMap<String, Vec<TaskId>>,
    #[serde(default)]
    dev: BTreeMap<String, Vec<TaskId>>,
    #[serde(default)]
    test: BTreeMap<String, Vec<TaskId>>,
}

/// The reason a draft cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The file cannot be read or written.
    #[error("split draft {} cannot be {operation}", path.display())]
    File {
        /// The draft.
        path: PathBuf,
        /// `read` or `written`.
        operation: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid draft.
    #[error("{}: not a split draft: {problem}", path.display())]
    Form {
        /// The draft.
        path: PathBuf,
        /// The problem with its place in the file.
        problem: String,
    },
    /// The draft does not fit the suite, or carries test material into training.
    #[error("the split cannot be locked:\n  {}", .0.join("\n  "))]
    Faults(Vec<String>),
    /// The shares are all zero.
    #[error("the shares of train, dev and test are all 0")]
    NoShares,
    /// The lock is refused.
    #[error(transparent)]
    Split(#[from] SplitError),
}

impl SplitDraft {
    /// Deals a suite's templates into parts by salted hashes, program by program, so that each part gets its share of every
    /// program; tasks without templates are grouped first. Templates
    /// whose instructions are near the same stand in one part. Knowledge that several of them carry comes into train and
    /// into test, as far as the shares allow. The same salt gives the same draft.
    pub fn draw(suite: &Suite, shares: Shares, salt: &str) -> Result<Self, DraftError> {
        let weights = [shares.train, shares.dev, shares.test].map(f64::from);
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return Err(DraftError::NoShares);
        }
        let groups = groups(suite);
        let mut units = units(suite, &groups);
        let apps = suite.tasks.iter().filter_map(|task| Some((groups.get(&task.id)?, task.app.as_str())));
        let apps: BTreeMap<&String, &str> = apps.collect();
        units.sort_by_cached_key(|unit| {
            let name = unit.first().map_or("", String::as_str);
            let app = unit.first().and_then(|name| apps.get(name)).copied().unwrap_or_default();
            (app, Sha256::digest(format!("split\0{salt}\0{name}")))
        });
        let count: usize = units.iter().map(BTreeSet::len).sum();
        // Counts of templates are far below 2^52.
        let count = u32::try_from(count).map_or(f64::MAX, f64::from);
        let mut left = weights.map(|weight| weight / sum * count);
        let mut draft = Self::empty(suite, salt);
        let mut labels = LabelDeal::of(suite, &groups, &units);
        let mut deal = |unit: BTreeSet<String>, labels: &mut LabelDeal| {
            // Among the parts that are not full, the one that lacks the unit's knowledge takes it, else the one that
            // lacks the largest part of its share; training comes first among equals.
            let lacks = |part: usize| if left[part] > 0.0 { labels.lacks(&unit, PARTS[part]) } else { 0 };
            // At least half of a template must be left of the share, so that a small part is not served before its turn.
            let open = |part: usize| {
                let is_due = left[part] >= 0.5;
                (is_due, if weights[part] > 0.0 { left[part] / weights[part] } else { f64::NEG_INFINITY })
            };
            let order = |one: &usize, other: &usize| {
                let ((is_due, open), (other_due, other_open)) = (open(*one), open(*other));
                lacks(*one).cmp(&lacks(*other)).then(is_due.cmp(&other_due)).then(open.total_cmp(&other_open))
            };
            let part = (0..PARTS.len()).rev().max_by(order).unwrap_or(0);
            labels.deal(&unit, PARTS[part]);
            left[part] -= u32::try_from(unit.len()).map_or(f64::MAX, f64::from);
            for template in unit {
                let tasks = groups.iter().filter(|(_, group)| **group == template);
                let tasks = tasks.map(|(task, _)| task.clone()).collect();
                draft.part_mut(PARTS[part]).insert(template, tasks);
            }
        };
        let mut rest = Vec::new();
        for unit in units {
            if PARTS.iter().any(|part| labels.lacks(&unit, *part) > 0) {
                deal(unit, &mut labels);
            } else {
                rest.push(unit);
            }
        }
        rest.into_iter().for_each(|unit| deal(unit, &mut labels));
        Ok(draft)
    }

    /// The draft of a lock, so that it can be edited or locked again.
    pub fn of_lock(suite: &Suite, lock: &SplitLock) -> Self {
        let mut draft = Self { suite: lock.suite().to_owned(), ..Self::empty(suite, lock.salt()) };
        for (task, template) in &lock.tasks {
            if let Some(split) = lock.split_of(template) {
                draft.part_mut(split).entry(template.clone()).or_default().push(task.clone());
            }
        }
        draft
    }

    fn empty(suite: &Suite, salt: &str) -> Self {
        let (train, dev, test) = Default::default();
        Self { suite: suite.name.clone(), salt: salt.to_owned(), train, dev, test }
    }

    fn part_mut(&mut self, split: Split) -> &mut BTreeMap<String, Vec<TaskId>> {
        match split {
            Split::Train => &mut self.train,
            Split::Dev => &mut self.dev,
            Split::Test => &mut self.test,
        }
    }

    /// The templates of one part with their tasks.
    pub fn part(&self, split: Split) -> &BTreeMap<String, Vec<TaskId>> {
        match split {
            Split::Train => &self.train,
            Split::Dev => &self.dev,
            Split::Test => &self.test,
        }
    }

    /// The knowledge labels of the suite's tasks, by the parts that ask for them.
    pub fn knowledge(&self, suite: &Suite) -> KnowledgeParts {
        KnowledgeParts::of(suite, |task| self.split_of_task(task))
    }

    /// The part of a task; `None` for a task that the draft does not name.
    pub fn split_of_task(&self, task: &TaskId) -> Option<Split> {
        PARTS.into_iter().find(|split| self.part(*split).values().flatten().any(|one| one == task))
    }

    /// Reads a draft.
    pub fn read(path: &Path) -> Result<Self, DraftError> {
        let failed = |source| DraftError::File { path: path.into(), operation: "read", source };
        let text = apprentice_files::read_to_string(path).map_err(failed)?;
        toml::from_str(&text).map_err(|error| {
            let problem = error.to_string().trim_end().replace('\n', "\n  ");
            DraftError::Form { path: path.into(), problem }
        })
    }

    /// Writes the draft atomically.
    pub fn write(&self, path: &Path) -> Result<(), DraftError> {
        let failed = |source| DraftError::File { path: path.into(), operation: "written", source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        io::Write::write_all(&mut file, self.to_text().as_bytes()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The draft's text.
    pub fn to_text(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!(
            "# The split of a suite, to be edited: move a line into another part, or join groups of tasks that have no\n\
             # template of their own. Then: apprentice split lock DIR\n\
             suite = {}\nsalt = {}\n",
            quoted(&self.suite),
            quoted(&self.salt)
        );
        for split in PARTS {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n[{}]", split.as_str());
            for (template, tasks) in self.part(split) {
                let tasks: Vec<String> = tasks.iter().map(|task| quoted(task.as_str())).collect();
                let _ = writeln!(text, "{} = [{}]", quoted(template), tasks.join(", "));
            }
        }
        text
    }

    /// Checks the draft against its suite and locks it. Every fault is named.
    pub fn lock(&self, suite: &Suite) -> Result<SplitLock, DraftError> {
        let mut faults = Vec::new();
        let (mut templates, mut tasks) = (BTreeMap::new(), BTreeMap::<TaskId, String>::new());
        for split in PARTS {
            for (template, named) in self.part(split) {
                if let Some(first) = templates.insert(template.clone(), split) {
                    let (first, split) = (first.as_str(), split.as_str());
                    faults.push(format!("template {template:?} stands in {first} and in {split}"));
                }
                for task in named {
                    let before = tasks.insert(task.clone(), template.clone());
                    if before.is_some_and(|before| before != *template) {
                        faults.push(format!("task {task} stands in two places"));
                    }
                }
            }
        }
        faults.extend(misplaced(suite, &tasks));
        let part = |task: &TaskId| tasks.get(task).and_then(|template| templates.get(template)).copied();
        faults.extend(leaks(suite, &part));
        if self.train.is_empty() || self.test.is_empty() {
            let part = if self.train.is_empty() { "train" } else { "test" };
            faults.push(format!("part {part} is empty: learning needs train, a measurement needs test"));
        }
        if !faults.is_empty() {
            return Err(DraftError::Faults(faults));
        }
        let named = Suite { name: self.suite.clone(), ..suite.clone() };
        Ok(SplitLock::of(&named, templates, tasks, self.salt.clone())?)
    }
}

/// The parts, in the order of the file.
const PARTS: [Split; 3] = [Split::Train, Split::Dev, Split::Test];

/// Tasks that stand in no part, that the suite does not have, or whose file names another template.
fn misplaced(suite: &Suite, tasks: &BTreeMap<TaskId, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for task in &suite.tasks {
        match (tasks.get(&task.id), &task.apprentice) {
            (None, _) => faults.push(format!("task {} stands in no part", task.id)),
            (Some(group), Some(ours)) if *group != ours.template => faults.push(format!(
                "task {} stands in {group:?}, but its file names the template {:?}",
                task.id, ours.template
            )),
            (Some(_), _) => {}
        }
    }
    for task in tasks.keys().filter(|task| suite.task(task.as_str()).is_none()) {
        let hint = did_you_mean(task.as_str(), suite.tasks.iter().map(|task| task.id.as_str()));
        faults.push(format!("the suite has no task {task}{hint}"));
    }
    faults
}
