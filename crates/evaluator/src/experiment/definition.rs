//! The definition of an experiment, stored in `experiment.json`: written before anything runs, never changed, and
//! compared when the experiment is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_learning::cleanup::CleanupOptions;
use apprentice_protocol::{CapOverrides, TaskId};
use apprentice_skillbook::BookError;
use apprentice_skillbook::review::ReflectMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BookSource, CleanupRule, Experiment};
use crate::arms::function_scope::FunctionScope;
use crate::arms::hidden_skills::HiddenSkills;
use crate::arms::open_inert_skills;
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use apprentice_results::ablations::Ablations;
use apprentice_results::report::{PrimaryComparison, Stratum};
use apprentice_runs::layout::{EXPERIMENT_DRAFT, EXPERIMENT_FILE};
use apprentice_runs::row::Split;
use apprentice_tasks::suite::requirements::needs_judge;

/// Schema name of the definition.
pub const EXPERIMENT_SCHEMA: &str = "apprentice.experiment/1";

/// Where the skillbook of an experiment comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BookPlan {
    /// Learned on the training tasks.
    Learned {
        /// The model that works on the training tasks and whose trajectories are reviewed.
        teacher: String,
        /// Passes over the training tasks.
        epochs: u32,
        /// Attempts that run in parallel on the same state of the book.
        batch: usize,
        /// Whether the student rehearses after the teacher's epochs.
        rehearse: bool,
        /// Trajectories between two cleanups.
        #[serde(default = "default_cleanup_interval")]
        cleanup_interval: usize,
        /// Cleanup thresholds; omitted when they are the default.
        #[serde(default, skip_serializing_if = "CleanupRule::is_default")]
        cleanup: CleanupRule,
        /// How attempts are reviewed; omitted when a separate reviewer does it (the default).
        #[serde(default, skip_serializing_if = "is_default_reflection")]
        reflection: ReflectMode,
    },
    /// An existing book.
    Given {
        /// Content hash of the book.
        content_hash: String,
    },
}

/// The contents of `experiment.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: String,
    /// The version of the `apprentice` program.
    pub program: String,
    /// The command line that started the experiment.
    pub command: Vec<String>,
    /// The suite's name.
    pub suite: String,
    /// Hash of the suite's files.
    pub suite_hash: String,
    /// Hash of the split lock; `None` without a locked split.
    pub split_hash: Option<String>,
    /// Hash of the agent loop's prompts.
    pub prompt_hash: String,
    /// Where the skillbook comes from.
    pub book: BookPlan,
    /// Content hash of the suite's spare skills, which the inert placebo may use; `None` if the suite has none.
    pub spare: Option<String>,
    /// The model that is measured once on the test tasks, without a book.
    pub teacher: Option<String>,
    /// The model that rehearses and is measured in every arm.
    pub student: String,
    /// Other models that are measured in every arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The model that compares answers with references; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// The primary comparison, made with the student.
    #[serde(default)]
    pub primary: PrimaryComparison,
    /// Seeds per test task for the student.
    pub seeds: u32,
    /// Whether to run the baselines (reference solution, no-op, give up) on the test tasks.
    pub baselines: bool,
    /// Maximum attempts per trial.
    pub attempts: u32,
    /// Seed of the shuffle that orders the trials.
    pub order_seed: u64,
    /// Limits for every trial; `None` means the tasks' own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<CapOverrides>,
    /// Limits for the student's trials; `None` means those of every trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student_limits: Option<CapOverrides>,
    /// Ablations and compute-matched baselines run with the student, in addition to the arms.
    #[serde(default, skip_serializing_if = "Ablations::is_none")]
    pub further: Ablations,
    /// Skills hidden from the tasks of certain apps.
    #[serde(default, skip_serializing_if = "HiddenSkills::is_empty")]
    pub suppress: HiddenSkills,
    /// Which functions the arms `code` and `code+pull` lend.
    #[serde(default, skip_serializing_if = "FunctionScope::is_verified")]
    pub functions: FunctionScope,
    /// Ids of the runs whose training attempts the arm `raw-trace` shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demonstrations: Vec<String>,
    /// The first app of each measured task, named as a domain of the book.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<TaskId, String>,
    /// Number of books learned with the same method, including this one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub replicates: u32,
    /// Settings of the tool servers, by name; the server list is represented by its hash.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// The training tasks, in order.
    pub train: Vec<TaskId>,
    /// The measured tasks and their templates.
    pub test: BTreeMap<TaskId, String>,
    /// Whether a training template covers some of the same knowledge, by test template, where known.
    pub strata: BTreeMap<String, Stratum>,
    /// Test tasks whose environment ignores the seed.
    pub unvaried: Vec<TaskId>,
}

/// Whether an experiment starts or resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartState {
    /// Its folder was empty; it starts now.
    New,
    /// It was started before and resumes.
    Resumed,
}

fn one() -> u32 {
    1
}

/// The name of a run's folder, which is its id.
fn run_name(run: &Path) -> String {
    run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_default_reflection(mode: &ReflectMode) -> bool {
    *mode == ReflectMode::Fresh
}

fn default_cleanup_interval() -> usize {
    CleanupOptions::default().every
}

/// The reason a folder cannot hold an experiment.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid definition.
    #[error("{} is not a valid experiment definition", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The folder contains unrelated files.
    #[error("{} contains other files and no experiment; choose an empty or a new folder", .0.display())]
    Occupied(PathBuf),
    /// The folder contains a different experiment.
    #[error(
        "{} contains another experiment: {} differ; choose another folder, or pass the same arguments",
        folder.display(),
        fields.join(", ")
    )]
    Other {
        /// The folder.
        folder: PathBuf,
        /// Names of the fields that differ.
        fields: Vec<String>,
    },
}

impl Definition {
    /// Creates the definition of an experiment.
    pub fn of(experiment: &Experiment) -> Result<Self, BookError> {
        let train = experiment.tasks(Split::Train);
        let test = experiment.tasks(Split::Test);
        let template = |id: &TaskId| {
            let task = experiment.suite.task(id.as_str());
            task.map_or_else(|| id.to_string(), |task| task.template().to_owned())
        };
        let ignores = |id: &&TaskId| experiment.suite.task(id.as_str()).is_some_and(|task| !task.varies());
        Ok(Self {
            schema: EXPERIMENT_SCHEMA.to_owned(),
            program: experiment.program.clone(),
            command: experiment.command.clone(),
            suite: experiment.suite.name.clone(),
            suite_hash: experiment.suite.hash.clone(),
            split_hash: experiment.lock.as_ref().map(SplitLock::hash),
            prompt_hash: apprentice_harness::agent::prompt_hash(),
            book: match &experiment.book {
                BookSource::Learned(plan) => BookPlan::Learned {
                    teacher: plan.teacher.clone(),
                    epochs: plan.cycle.epochs,
                    batch: plan.cycle.batch,
                    rehearse: plan.cycle.rehearse,
                    cleanup_interval: plan.cycle.learn.clean.every,
                    cleanup: CleanupRule::of(&plan.cycle.learn.clean),
                    reflection: plan.cycle.learn.reflect.mode,
                },
                BookSource::Given(book) => BookPlan::Given { content_hash: book.content_hash() },
            },
            spare: open_inert_skills(&experiment.suite)?.map(|spare| spare.content_hash()),
            teacher: experiment.teacher.clone(),
            judge: experiment.judge.clone().filter(|_| experiment.suite.tasks.iter().any(needs_judge)),
            student: experiment.student.clone(),
            others: experiment.others.clone(),
            primary: experiment.primary.clone(),
            arms: experiment.arms.iter().map(ToString::to_string).collect(),
            seeds: experiment.seeds,
            baselines: experiment.baselines,
            attempts: experiment.attempts,
            order_seed: experiment.order_seed,
            limits: experiment.limits,
            student_limits: experiment.student_limits,
            further: experiment.ablations,
            suppress: experiment.suppress.clone(),
            functions: experiment.functions,
            demonstrations: experiment.demonstrations.iter().map(|run| run_name(run)).collect(),
            programs: programs(experiment, &test),
            replicates: match &experiment.book {
                BookSource::Learned(_) => experiment.replicates.max(1),
                BookSource::Given(_) => 1,
            },
            tools: experiment.tools.fingerprint(),
            strata: strata(experiment, &test),
            unvaried: test.iter().filter(ignores).cloned().collect(),
            test: test.iter().map(|id| (id.clone(), template(id))).collect(),
            train: match &experiment.book {
                BookSource::Learned(_) => train,
                BookSource::Given(_) => Vec::new(),
            },
        })
    }

    /// Reads the definition of the experiment in a folder; `None` if the folder contains no experiment.
    pub fn read(folder: &Path) -> Result<Option<Self>, DefinitionError> {
        let path = folder.join(EXPERIMENT_FILE);
        let text = match apprentice_files::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(DefinitionError::Io { path, source }),
        };
        serde_json::from_str(&text).map(Some).map_err(|source| DefinitionError::Form { path, source })
    }

    /// Starts the experiment in a folder, creating it if needed, or verifies that the experiment already there is the
    /// same.
    pub(super) fn start_or_resume(&self, folder: &Path) -> Result<StartState, DefinitionError> {
        let path = folder.join(EXPERIMENT_FILE);
        if let Some(begun) = Self::read(folder)? {
            let fields = differing(self, &begun)
                .map_err(|source| DefinitionError::Form { path: path.clone(), source })?;
            return match fields.is_empty() {
                true => Ok(StartState::Resumed),
                false => Err(DefinitionError::Other { folder: folder.to_owned(), fields }),
            };
        }
        let failed = |source| DefinitionError::Io { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let foreign = |name: &std::ffi::OsStr| name != EXPERIMENT_DRAFT;
        if fs::read_dir(folder).map_err(failed)?.flatten().any(|entry| foreign(&entry.file_name())) {
            return Err(DefinitionError::Occupied(folder.to_owned()));
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| DefinitionError::Form { path: path.clone(), source })?;
        // Written under a temporary name first, so that the file is never partial.
        let draft = folder.join(EXPERIMENT_DRAFT);
        fs::write(&draft, text + "\n").and_then(|()| fs::rename(&draft, &path)).map_err(failed)?;
        Ok(StartState::New)
    }
}

/// Returns the names of the fields that differ. Ignores the command line, and the programs, which follow from the
/// suite.
fn differing(one: &Definition, other: &Definition) -> Result<Vec<String>, serde_json::Error> {
    let (one, other) = (serde_json::to_value(one)?, serde_json::to_value(other)?);
    let names: BTreeSet<&String> =
        [&one, &other].into_iter().filter_map(|value| value.as_object()).flat_map(|map| map.keys()).collect();
    let differs = |name: &&&String| {
        !["command", "programs"].contains(&name.as_str()) && one.get(name) != other.get(name)
    };
    Ok(names.iter().filter(differs).map(|name| name.replace('_', " ")).collect())
}

fn programs(experiment: &Experiment, tasks: &[TaskId]) -> BTreeMap<TaskId, String> {
    let of = |id: &TaskId| apps_of(experiment.suite.task(id.as_str())?).into_iter().next();
    tasks.iter().filter_map(|id| Some((id.clone(), of(id)?))).collect()
}

/// Whether a training template covers some of the same knowledge, by test template. Templates without knowledge labels
/// have no stratum; without a split, the result is empty.
fn strata(experiment: &Experiment, test: &[TaskId]) -> BTreeMap<String, Stratum> {
    let knowledge = |ids: &[TaskId]| -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for task in ids.iter().filter_map(|id| experiment.suite.task(id.as_str())) {
            let labels = task.apprentice.iter().flat_map(|ours| ours.knowledge.iter().cloned());
            found.entry(task.template().to_owned()).or_default().extend(labels);
        }
        found
    };
    if experiment.lock.is_none() {
        return BTreeMap::new();
    }
    let train = match &experiment.book {
        BookSource::Learned(_) => experiment.tasks(Split::Train),
        // The author of a given book may have seen any training task.
        BookSource::Given(_) => experiment.part(Split::Train),
    };
    let taught: BTreeSet<String> = knowledge(&train).into_values().flatten().collect();
    let stratum = |labels: &BTreeSet<String>| match labels.is_disjoint(&taught) {
        true => Stratum::Unseen,
        false => Stratum::Seen,
    };
    let tested = knowledge(test).into_iter().filter(|(_, labels)| !labels.is_empty());
    tested.map(|(template, labels)| (template, stratum(&labels))).collect()
}
