//! The experiment config, `experiment.toml`, written by the user. Reports all problems at once, each with its position
//! and the closest valid name.

mod parse;
mod resolve;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use apprentice_protocol::CapOverrides;

use super::{CleanupRule, PrimaryComparison};
use apprentice_results::ablations::Ablations;
use apprentice_skillbook::review::ReflectMode;
use apprentice_tasks::suite::SourcePos;

pub use resolve::{ProgramDefaults, ResolveContext, ResolvedConfig};

/// A value with its position in the config file.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// The value's position.
    pub spot: SourcePos,
}

impl<T> Located<T> {
    /// Creates a value without a position, for example from the command line.
    pub fn without_position(value: T) -> Self {
        Self { value, spot: SourcePos { line: 0, column: 0 } }
    }
}

/// A parsed config file. References are not checked yet; [`ExperimentConfig::resolve`] resolves them.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentConfig {
    /// Path of the suite, relative to the config file.
    pub suite: Located<PathBuf>,
    /// Path of the locked split; `None` means `split.json` in the suite's folder.
    pub split: Option<Located<PathBuf>>,
    /// Path of a task selection.
    pub select: Option<Located<PathBuf>>,
    /// Templates that take part; empty means all.
    pub templates: Vec<Located<String>>,
    /// Models measured in every arm. The first one rehearses.
    pub students: Vec<Located<String>>,
    /// The teacher: works during learning and is measured once.
    pub teacher: Option<Located<String>>,
    /// The model that compares answers with references; `None` means the program's setting.
    pub judge: Option<Located<String>>,
    /// Path of a given skillbook, used instead of learning one.
    pub skillbook: Option<Located<PathBuf>>,
    /// Options for learning a book.
    pub learning: LearningConfig,
    /// Names of the arms.
    pub arms: Vec<Located<String>>,
    /// The primary comparison.
    pub primary: Located<PrimaryComparison>,
    /// Seeds per test task.
    pub seeds: u32,
    /// Maximum attempts per trial; `None` means the program's setting.
    pub attempts: Option<u32>,
    /// Seed of the shuffle that orders the trials.
    pub order_seed: u64,
    /// Whether to run the baselines (reference solution, no-op, give up).
    pub baselines: bool,
    /// Limits for every trial, overriding the tasks' own.
    pub limits: Option<CapOverrides>,
    /// Limits for the students' trials, in place of all others.
    pub student_limits: Option<CapOverrides>,
    /// Budget for all model calls, in US dollars.
    pub max_usd: Option<f64>,
    /// Ablations and compute-matched baselines run with the first student.
    pub ablations: Located<Ablations>,
    /// Assumptions for the power analysis.
    pub design: PowerQuestion,
    /// Skills of a given book hidden from the tasks of an app, as `skill@program`.
    pub suppress: Vec<Located<String>>,
    /// Whether the arms `code` and `code+pull` also lend functions that no replays have verified.
    pub unverified_functions: bool,
    /// Folders of runs whose training attempts the arm `raw-trace` shows.
    pub demonstrations: Vec<Located<String>>,
    /// Hints about keys under their old names.
    pub renamed: Vec<String>,
    /// Syntax errors, reported together with unresolved references.
    pub syntax: SyntaxIssues,
}

/// Errors in the structure of a config file. Its valid parts are still resolved, so that all problems are reported at
/// once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyntaxIssues {
    /// The errors.
    faults: Vec<ConfigIssue>,
    /// Keys with errors. Their values are unknown, so checks that depend on them are skipped.
    keys: BTreeSet<String>,
}

impl SyntaxIssues {
    /// Whether the value of a key is known.
    fn is_sound(&self, key: &str) -> bool {
        !self.keys.contains(key)
    }
}

/// Options for learning a skillbook.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningConfig {
    /// Position of the `[learning]` table, if present.
    pub spot: Option<SourcePos>,
    /// Passes of the teacher over the training tasks; `None` means the program's setting.
    pub epochs: Option<u32>,
    /// Attempts that run in parallel on the same state of the book; 1 learns after every attempt.
    pub batch: usize,
    /// Whether the student rehearses.
    pub rehearsal: bool,
    /// Trajectories between two cleanups; `None` means the program's setting.
    pub cleanup_interval: Option<usize>,
    /// Cleanup thresholds.
    pub cleanup: CleanupRule,
    /// Number of books learned with the same method, each with other task orders and seeds and each measured.
    pub replicates: u32,
    /// The model that reviews attempts and manages the book; `None` means the teacher.
    pub learner: Option<Located<String>>,
    /// Whether a separate reviewer or the acting model, in its own conversation, reviews attempts.
    pub reflection: ReflectMode,
}

/// Assumptions for the power analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerQuestion {
    /// The effect to detect, as a share: 0.2 is twenty points.
    pub effect: Option<f64>,
    /// The maximum success rate of a template without a book.
    pub base: f64,
}

/// A problem in a config file.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigIssue {
    /// The position; `None` if something is missing.
    pub spot: Option<SourcePos>,
    /// The problem and its remedy.
    pub what: String,
}

/// All problems of a config file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct ExperimentConfigError {
    /// Path of the config file.
    pub path: PathBuf,
    /// The problems, from top to bottom.
    pub faults: Vec<ConfigIssue>,
}

impl ExperimentConfigError {
    fn new(path: impl Into<PathBuf>, mut faults: Vec<ConfigIssue>) -> Self {
        faults.sort_by_key(|fault| fault.spot.map_or((usize::MAX, 0), |spot| (spot.line, spot.column)));
        Self { path: path.into(), faults }
    }
}

impl fmt::Display for ExperimentConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.faults.iter().enumerate() {
            let end = if place + 1 < self.faults.len() { "\n" } else { "" };
            match fault.spot {
                Some(spot) => write!(f, "{}:{spot}: {}{end}", self.path.display(), fault.what)?,
                None => write!(f, "{}: {}{end}", self.path.display(), fault.what)?,
            }
        }
        Ok(())
    }
}
