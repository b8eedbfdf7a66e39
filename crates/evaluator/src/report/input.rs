//! What a report is made of, apart from the rows: the plan, the contrasts fixed before the run, learning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use apprentice_protocol::{RunId, TaskId, TrialId, Usage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::row::{Role, Split, TrialRow};

/// One model in one arm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ArmKey {
    /// The model's part.
    pub role: Role,
    /// The model.
    pub model: String,
    /// The arm.
    pub arm: String,
}

impl ArmKey {
    /// The key of a row.
    pub fn of(row: &TrialRow) -> Self {
        Self { role: row.role, model: row.model.clone(), arm: row.arm.clone() }
    }
}

impl fmt::Display for ArmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.role.as_str(), self.model, self.arm)
    }
}

/// How much weight a comparison bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The one comparison fixed before the run.
    Primary,
    /// Fixed before the run too; claimed only after Holm's correction.
    Secondary,
    /// Looked at afterwards; never a claim.
    Exploratory,
}

/// A comparison to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// The side that stands for the change.
    pub treatment: ArmKey,
    /// The side it is held against.
    pub control: ArmKey,
    /// Its weight.
    pub family: Family,
}

/// Whether a test template's knowledge could have been learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stratum {
    /// A training template holds it.
    Seen,
    /// No training template holds it: the expected gain is zero.
    Unseen,
}

/// On how many of the measured templates an arm had something to lend, and so was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Eligibility {
    /// The arm.
    pub arm: String,
    /// Templates on which it was run.
    pub templates: usize,
    /// Templates in all.
    pub of: usize,
}

/// A trial of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// The trial.
    pub trial: TrialId,
    /// Its task.
    pub task: TaskId,
    /// Its model and arm.
    #[serde(flatten)]
    pub key: ArmKey,
    /// Its seed.
    pub seed: u32,
}

/// One point of the learning curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Trajectories learned from so far.
    pub trajectories: u32,
    /// Skills in the book then.
    pub skills: u32,
    /// Success of the attempts around this point, from 0 to 1.
    pub success: f64,
    /// Their mean number of world steps.
    pub world_steps: f64,
}

/// One skill of the frozen book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// Its id, as `<domain>/<name>`.
    pub skill: String,
    /// Its situation, in a line.
    pub situation: String,
    /// Its version.
    pub version: u32,
    /// Whether it is active, in the book's own word.
    pub status: String,
}

/// What learning did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearningSummary {
    /// Passes over the training tasks.
    pub epochs: u32,
    /// Trajectories learned from.
    pub trajectories: u32,
    /// Reviews, by kind.
    pub reviews: BTreeMap<String, u32>,
    /// Operations on the book, by kind.
    pub operations: BTreeMap<String, u32>,
    /// The frozen book.
    pub skills: Vec<SkillSummary>,
    /// The curve, in order.
    pub curve: Vec<CurvePoint>,
    /// Tokens spent on reflecting and managing.
    pub tokens: Usage,
    /// Money spent on them in US dollars, if priced.
    pub cost_usd: Option<f64>,
}

/// Everything a report is built from.
#[derive(Clone, Debug)]
pub struct ReportInput<'a> {
    /// The run.
    pub run: RunId,
    /// What the report is called.
    pub title: String,
    /// When the run began.
    pub started_at: Option<Timestamp>,
    /// The finished attempts. With a locked split the test rows are measured, otherwise all of them.
    pub rows: &'a [TrialRow],
    /// The plan; what of it has no row is reported as not run.
    pub planned: &'a [PlannedTrial],
    /// The comparisons; see [`default_contrasts`].
    pub contrasts: Vec<Contrast>,
    /// The stratum of each test template, where it is known.
    pub strata: BTreeMap<String, Stratum>,
    /// Tasks whose world ignores the seed, and which were run once.
    pub unvaried: Vec<TaskId>,
    /// On how many templates each arm of the student could be run, where that is known.
    pub eligible: Vec<Eligibility>,
    /// What learning did, if it did.
    pub learning: Option<LearningSummary>,
    /// Names and values for repeating the run: command, program version, split hash and the like.
    pub facts: BTreeMap<String, String>,
    /// What a reader must know first, beside what the report finds out itself.
    pub notes: Vec<String>,
}

/// The split whose rows are measured: test where it is locked; none, and so every row, where it is not.
pub(super) fn measured_split(rows: &[TrialRow]) -> Option<Split> {
    rows.iter().any(|row| row.split == Some(Split::Test)).then_some(Split::Test)
}

/// The comparisons of a run: for each student `pull` against `placebo-inert` as the primary one, the other
/// arms as secondary ones, and whatever two models share an arm as exploratory. Only arms that were run occur.
pub fn default_contrasts(rows: &[TrialRow]) -> Vec<Contrast> {
    let split = measured_split(rows);
    let measured = |row: &&TrialRow| split.is_none() || row.split == split;
    let keys: BTreeSet<ArmKey> =
        rows.iter().filter(|row| measured(row) && row.role != Role::Baseline).map(ArmKey::of).collect();
    let with = |key: &ArmKey, arm: &str| {
        let other = ArmKey { arm: arm.into(), ..key.clone() };
        keys.contains(&other).then_some(other)
    };
    let mut contrasts = Vec::new();
    for pull in keys.iter().filter(|key| key.arm == "pull" && key.role != Role::Teacher) {
        for control in ["placebo-inert", "none", "placebo-wrong", "tools-only", "raw-trace"] {
            let family = if control == "placebo-inert" { Family::Primary } else { Family::Secondary };
            contrasts.extend(with(pull, control).map(|control| Contrast {
                treatment: pull.clone(),
                control,
                family,
            }));
        }
        if let (Some(treatment), Some(control)) = (with(pull, "placebo-inert"), with(pull, "none")) {
            contrasts.push(Contrast { treatment, control, family: Family::Secondary });
        }
    }
    let teachers = keys.iter().filter(|key| key.role == Role::Teacher);
    for (teacher, student) in teachers.flat_map(|teacher| {
        keys.iter()
            .filter(|key| key.role == Role::Student && key.arm == "none")
            .map(move |key| (teacher, key))
    }) {
        let (treatment, control) = (teacher.clone(), student.clone());
        contrasts.push(Contrast { treatment, control, family: Family::Exploratory });
    }
    contrasts
}
