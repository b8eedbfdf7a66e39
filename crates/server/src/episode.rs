//! What a fresh world begins with: nothing, a program, or the setup of a task, which can then be judged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{Clock, Command, Judged, Machine, WorldSpec};
use apprentice_tasks::check::{AttemptEnding, judge_with_compat};
use apprentice_tasks::setup::await_any_window;
use apprentice_tasks::suite::SuiteOptions;
use apprentice_tasks::task_world::TaskWorld;
use apprentice_tasks::variation::TaskVariation;
use apprentice_trace::Redactor;

/// What a fresh world begins with.
pub enum Episode {
    /// A desktop, or a browser at the address of the world's specification.
    Fresh {
        /// Files of the home folder: names and contents.
        files: Vec<(String, Vec<u8>)>,
        /// A shell line that starts a program with a window.
        program: Option<String>,
    },
    /// The setup of a task.
    Task(Box<TaskEpisode>),
}

/// A task whose setup every fresh world gets, and whose checks judge it.
pub struct TaskEpisode {
    /// The task with the values of its seed.
    pub varied: TaskVariation,
    /// The suite's folder, the base of relative local files.
    pub suite_root: PathBuf,
    /// Options for reading external suites.
    pub options: SuiteOptions,
    /// Removes known secrets before evidence is judged.
    pub redactor: Arc<Redactor>,
}

/// A world that could not be prepared or judged.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EpisodeError(String);

impl EpisodeError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl Episode {
    /// Prepares a fresh world. Files that checks will read are kept in `cache`.
    pub(crate) async fn prepare(
        &self,
        machine: &dyn Machine,
        clock: &dyn Clock,
        cache: &Path,
    ) -> Result<(), EpisodeError> {
        match self {
            Self::Fresh { files, program } => {
                let home = machine.offers().home.clone();
                for (name, bytes) in files {
                    machine.write(&format!("{home}/{name}"), bytes).await.map_err(EpisodeError::new)?;
                }
                match program {
                    Some(line) => start(line, machine, clock).await,
                    None => Ok(()),
                }
            }
            Self::Task(task) => {
                let done = task.world(machine, clock, cache).set_up().await;
                done.map(drop).map_err(|error| EpisodeError::new(error.message()))
            }
        }
    }

    /// Returns the specification of the worlds: the task's own, or the given one.
    pub(crate) fn world(&self, given: &WorldSpec) -> WorldSpec {
        match self {
            Self::Task(task) => task.varied.world.clone(),
            Self::Fresh { .. } => given.clone(),
        }
    }

    /// Returns the instruction of the task.
    pub(crate) fn instruction(&self) -> Option<&str> {
        match self {
            Self::Task(task) => Some(&task.varied.task.instruction),
            Self::Fresh { .. } => None,
        }
    }

    /// Judges the world by the task's checks.
    pub(crate) async fn judge(
        &self,
        ending: AttemptEnding,
        machine: &dyn Machine,
        clock: &dyn Clock,
        cache: &Path,
    ) -> Result<Judged, EpisodeError> {
        let Self::Task(task) = self else {
            return Err(EpisodeError(
                "this world has no task to judge: start with --suite and --task".to_owned(),
            ));
        };
        task.judge(ending, machine, clock, cache).await
    }
}

impl TaskEpisode {
    /// The task in a world of its own.
    pub(crate) fn world<'a>(
        &'a self,
        machine: &'a dyn Machine,
        clock: &'a dyn Clock,
        cache: &'a Path,
    ) -> TaskWorld<'a> {
        TaskWorld {
            varied: &self.varied,
            machine,
            clock,
            suite_root: &self.suite_root,
            options: &self.options,
            redactor: &self.redactor,
            cache,
        }
    }

    async fn judge(
        &self,
        ending: AttemptEnding,
        machine: &dyn Machine,
        clock: &dyn Clock,
        cache: &Path,
    ) -> Result<Judged, EpisodeError> {
        let spec = &self.varied.task.evaluator;
        let ended = clock.mono();
        let evidence = tempfile::tempdir_in(cache).map_err(EpisodeError::new)?;
        let collected = self.world(machine, clock, cache).collect(ended, evidence.path()).await;
        let collected = collected.map_err(|error| EpisodeError::new(chain(&error)))?;
        Ok(judge_with_compat(spec, &collected, &ending, self.options.compat))
    }
}

/// Starts a program and waits for its window.
async fn start(line: &str, machine: &dyn Machine, clock: &dyn Clock) -> Result<(), EpisodeError> {
    let started = machine.launch(&Command::shell(format!("exec {line}"))).await;
    started.map_err(EpisodeError::new)?;
    match await_any_window(machine, clock).await.map_err(EpisodeError::new)? {
        true => Ok(()),
        false => Err(EpisodeError(format!("the program {line:?} opened no window within 30 s"))),
    }
}

/// Returns an error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
