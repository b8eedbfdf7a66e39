//! Where a world begins: a program, a page, or the start of a suite's training task, whose instruction nobody reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_protocol::{EnvironmentKind, Monitors, TaskId};
use apprentice_runs::row::Split;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ExploreError;
use apprentice_evaluator::split::SplitLock;

/// The folder of a suite's files.
pub(super) const FILES: &str = "files";

/// Where a world begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Start {
    /// A program on a desktop.
    App {
        /// Its command line.
        command: String,
        /// Files that are copied into the home folder first.
        #[serde(default)]
        files: Vec<PathBuf>,
    },
    /// A page in a browser.
    Page {
        /// Its address.
        url: String,
        /// Files that are copied into the home folder first.
        #[serde(default)]
        files: Vec<PathBuf>,
    },
    /// The start of a task.
    Task {
        /// The suite.
        suite: PathBuf,
        /// The task.
        task: TaskId,
    },
}

/// The parts of a task that make its start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StartParts {
    /// The name under which the suite lists its tasks.
    pub(super) app: String,
    pub(super) config: Value,
    pub(super) related_apps: Value,
    pub(super) environment: EnvironmentKind,
    pub(super) url: Option<String>,
    pub(super) screen: Option<Monitors>,
    pub(super) scene: Option<Value>,
    pub(super) programs: Vec<String>,
    pub(super) vary: BTreeMap<String, Value>,
    /// Files that the setup uploads: their names in `files`, and where they are now.
    pub(super) files: Vec<PathBuf>,
    /// A folder of files that the setup uploads from.
    pub(super) folder: Option<PathBuf>,
}

impl Start {
    /// The start in a few words.
    pub fn told(&self) -> String {
        match self {
            Self::App { command, .. } => format!("app {command}"),
            Self::Page { url, .. } => format!("page {url}"),
            Self::Task { task, .. } => format!("the start of {task}"),
        }
    }

    pub(super) fn parts(&self) -> Result<StartParts, ExploreError> {
        match self {
            Self::App { command, files } => {
                let app = program(command);
                let launch = json!({ "type": "launch", "parameters": { "command": command, "shell": true } });
                let programs = vec![app.clone()];
                Ok(StartParts { programs, ..plain(&app, EnvironmentKind::Desktop, files, &launch) })
            }
            Self::Page { url, files } => {
                let open = json!({ "type": "chrome_open_tabs", "parameters": { "urls_to_open": [url] } });
                Ok(plain("chromium", EnvironmentKind::Browser, files, &open))
            }
            Self::Task { suite, task } => {
                let suite = load::load(suite)?;
                of_task(&suite, task)
            }
        }
    }

    /// The placeholders that the start itself has.
    pub(super) fn taken(&self) -> Result<BTreeSet<String>, ExploreError> {
        Ok(self.parts()?.vary.into_keys().collect())
    }
}

/// The starts of a suite's training tasks, one for each template.
pub fn training_starts(path: &Path, suite: &Suite, lock: &SplitLock) -> Result<Vec<Start>, ExploreError> {
    let mut templates = BTreeSet::new();
    let train = |task: &TaskId| matches!(lock.split_of_task(task), Ok(Split::Train));
    let tasks = suite.tasks.iter().filter(|task| train(&task.id));
    let first = tasks.filter(|task| templates.insert(task.template().to_owned()));
    let starts: Vec<Start> =
        first.map(|task| Start::Task { suite: path.to_owned(), task: task.id.clone() }).collect();
    match starts.is_empty() {
        true => {
            Err(ExploreError::NoStart(format!("the split of suite {:?} has no training task", suite.name)))
        }
        false => Ok(starts),
    }
}

/// The name of the program that a command line starts.
fn program(command: &str) -> String {
    let first = command.split_whitespace().next().unwrap_or_default();
    first.rsplit('/').next().unwrap_or(first).to_owned()
}

fn plain(app: &str, environment: EnvironmentKind, files: &[PathBuf], last: &Value) -> StartParts {
    let named = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let uploads: Vec<Value> = files
        .iter()
        .filter_map(named)
        .map(|name| json!({ "local_path": format!("{FILES}/{name}"), "path": format!("/home/user/{name}") }))
        .collect();
    let upload = json!({ "type": "upload_file", "parameters": { "files": uploads } });
    let config = if files.is_empty() { json!([last]) } else { json!([upload, last]) };
    StartParts {
        app: app.to_owned(),
        config,
        related_apps: json!([app]),
        environment,
        url: None,
        screen: None,
        scene: None,
        programs: Vec::new(),
        vary: BTreeMap::new(),
        files: files.to_vec(),
        folder: None,
    }
}

fn of_task(suite: &Suite, id: &TaskId) -> Result<StartParts, ExploreError> {
    let missing = || ExploreError::NoStart(format!("suite {:?} has no task {id}", suite.name));
    let task = suite.task(id.as_str()).ok_or_else(missing)?;
    let form = |source| ExploreError::Form { path: suite.root.clone(), source };
    let ours = task.apprentice.as_ref();
    Ok(StartParts {
        app: task.app.clone(),
        config: serde_json::to_value(&task.config).map_err(form)?,
        related_apps: json!(task.apps()),
        environment: task.environment(),
        url: ours.and_then(|ours| ours.url.clone()),
        screen: ours.and_then(|ours| ours.screen.clone()),
        scene: ours.and_then(|ours| ours.scene.clone()),
        programs: ours.map(|ours| ours.programs.clone()).unwrap_or_default(),
        vary: ours.map(|ours| ours.vary.clone()).unwrap_or_default(),
        files: Vec::new(),
        folder: Some(suite.root.join(FILES)).filter(|folder| folder.is_dir()),
    })
}
