//! The experiment sheet, `experiment.toml`: what a person writes to describe an experiment. Everything that is
//! wrong with one is found at once, each with its place and the nearest name that would be right.

mod read;
mod settle;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use apprentice_protocol::Limits;

use super::{CleanupRule, Primary};
use apprentice_results::further::FurtherArms;
use apprentice_skills::reflect::ReflectMode;
use apprentice_tasks::suite::Spot;

pub use settle::{Draft, Setting, Ways};

/// A value with its place in the sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub spot: Spot,
}

impl<T> Marked<T> {
    /// A value that stands in no sheet, such as one of the command line.
    pub fn unplaced(value: T) -> Self {
        Self { value, spot: Spot { line: 0, column: 0 } }
    }
}

/// A sheet as it was written. Nothing in it is known to exist yet; [`Sheet::settle`] sees to that.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// The suite: its folder or file, from where the sheet lies.
    pub suite: Marked<PathBuf>,
    /// The locked split; `split.json` beside the suite, if absent.
    pub split: Option<Marked<PathBuf>>,
    /// A selection of tasks.
    pub select: Option<Marked<PathBuf>>,
    /// Templates that take part; all, if empty.
    pub templates: Vec<Marked<String>>,
    /// The models that are measured in every arm. The first one rehearses.
    pub students: Vec<Marked<String>>,
    /// The capable model: it works while learning, and is measured once.
    pub teacher: Option<Marked<String>>,
    /// A book that is measured as it is, in place of one that is learned.
    pub skillbook: Option<Marked<PathBuf>>,
    /// How the book is learned, where it is.
    pub learning: Learning,
    /// The arms, by name.
    pub arms: Vec<Marked<String>>,
    /// The comparison that decides.
    pub primary: Marked<Primary>,
    /// Variations of each test task.
    pub seeds: u32,
    /// Tries at one trial; the program's setting, if absent.
    pub attempts: Option<u32>,
    /// What the order of trials is shuffled by.
    pub order_seed: u64,
    /// Whether the solution, doing nothing and giving up are measured too.
    pub baselines: bool,
    /// Caps of every trial, in place of the tasks' own.
    pub limits: Option<Limits>,
    /// The most that all calls to models may cost, in US dollars.
    pub most_usd: Option<f64>,
    /// What else is run with the first student.
    pub further: Marked<FurtherArms>,
    /// What a plan is asked about.
    pub design: Design,
    /// Skills of a given book that are hidden from the tasks of a program, as `skill@program`.
    pub suppress: Vec<Marked<String>>,
    /// What is wrong with its form; told together with what names nothing.
    pub form: Form,
}

/// What is wrong with a sheet's form. What its sound parts name is looked up all the same, so that a person hears
/// of everything at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The faults.
    faults: Vec<Fault>,
    /// Keys of the sheet with a fault in them: what they say is not known, and nothing follows from it.
    keys: BTreeSet<String>,
}

impl Form {
    /// Whether what stands below a key of the sheet is known.
    fn is_sound(&self, key: &str) -> bool {
        !self.keys.contains(key)
    }
}

/// How a book is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Learning {
    /// Where the table stands, if it does.
    pub spot: Option<Spot>,
    /// How often the teacher goes through the training tasks; the program's setting, if absent.
    pub epochs: Option<u32>,
    /// Attempts side by side over one state of the book; 1 is online.
    pub batch: usize,
    /// Whether the student rehearses.
    pub rehearsal: bool,
    /// Trajectories between two cleanups; the program's setting, if absent.
    pub cleanup_interval: Option<usize>,
    /// What singles a skill out for a cleanup.
    pub cleanup: CleanupRule,
    /// Books that are learned alike, each measured: in other orders, on other variations.
    pub replicates: u32,
    /// Who reviews attempts and keeps the book; the teacher, if absent.
    pub learner: Option<Marked<String>>,
    /// Whether attempts are reviewed by a reader, or by the model that acted in its own conversation.
    pub reflection: ReflectMode,
}

/// What a plan is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// The effect that one would like to find, as a share: 0.2 is twenty points.
    pub effect: Option<f64>,
    /// The largest success rate of a template without help.
    pub base: f64,
}

/// One thing that is wrong with a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where; nowhere in particular, if something is missing.
    pub spot: Option<Spot>,
    /// What, with the remedy.
    pub what: String,
}

/// All that is wrong with a sheet.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct SheetError {
    /// The sheet.
    pub path: PathBuf,
    /// The faults, from top to bottom.
    pub faults: Vec<Fault>,
}

impl SheetError {
    fn new(path: impl Into<PathBuf>, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.spot.map_or((usize::MAX, 0), |spot| (spot.line, spot.column)));
        Self { path: path.into(), faults }
    }
}

impl fmt::Display for SheetError {
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
