//! What a report is made of, apart from the rows: the plan, the contrasts fixed before the run, learning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use apprentice_protocol::{RunId, TaskId, TrialId, Usage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replicates::Replicates;
use crate::compare::Mixed;
use crate::contamination::Hygiene;
use crate::further::Further;
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

/// The comparison that decides, by the names of its arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Primary {
    /// The arm that stands for the change.
    pub treatment: String,
    /// The arm it is held against.
    pub control: String,
}

impl Default for Primary {
    fn default() -> Self {
        Self { treatment: "pull".into(), control: "placebo-inert".into() }
    }
}

/// What was fixed before the run, as far as comparisons depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The comparison that decides.
    pub primary: Primary,
    /// The student for whom it decides; every student, if absent.
    pub student: Option<String>,
    /// The arms that were registered; all, if absent. Whatever involves another arm is exploratory.
    pub arms: Option<BTreeSet<String>>,
}

/// Something that was done otherwise than registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// What it concerns.
    pub field: String,
    /// How it differs, in words.
    pub what: String,
}

/// What was registered before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Registration {
    /// When.
    #[schemars(with = "String")]
    pub registered_at: Timestamp,
    /// The comparison that decides.
    pub primary: Primary,
    /// The smallest effect that the design finds with a power of 0.8, as a share, if that was asked.
    pub smallest_effect: Option<f64>,
    /// What was done otherwise.
    pub deviations: Vec<Deviation>,
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

/// The reviewer as an instrument: how much it covers, what it makes up, and whether its word on what was
/// followed agrees with what the attempts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerSummary {
    /// Skills whose text an attempt received, attempt by attempt.
    pub received: u32,
    /// Those that were reviewed.
    pub reviewed: u32,
    /// Reviews of skills that were never received; they were not used.
    pub invented: u32,
    /// Reviewed as followed, and the attempt did at least half of what the text names.
    pub both_followed: u32,
    /// Reviewed as followed, and the attempt did less.
    pub only_reviewer: u32,
    /// Reviewed as not followed, though the attempt did it.
    pub only_detector: u32,
    /// Not followed, by both.
    pub neither: u32,
    /// Reviews of texts that name nothing an action could show.
    pub undecided: u32,
    /// Cohen's kappa of the two; none where there is nothing to compare, or always the same.
    pub kappa: Option<f64>,
    /// Positive reviews of passed attempts.
    pub positive_on_pass: u32,
    /// Positive reviews of failed attempts.
    pub positive_on_fail: u32,
    /// Negative reviews of passed attempts.
    pub negative_on_pass: u32,
    /// Negative reviews of failed attempts.
    pub negative_on_fail: u32,
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
    /// Updates that reviews of a skill led to: two attempts agreed, or one proved its correction.
    #[serde(default)]
    pub updated_by_reviews: u32,
    /// Cleanup tasks that were decided.
    #[serde(default)]
    pub cleanup_tasks: u32,
    /// The frozen book.
    pub skills: Vec<SkillSummary>,
    /// The curve, in order.
    pub curve: Vec<CurvePoint>,
    /// Tokens spent on reflecting and managing.
    pub tokens: Usage,
    /// Money spent on them in US dollars, if priced.
    pub cost_usd: Option<f64>,
    /// How far the reviews can be trusted.
    #[serde(default)]
    pub reviewer: ReviewerSummary,
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
    /// The program of each measured task, where it is known.
    pub programs: BTreeMap<TaskId, String>,
    /// Tasks whose world ignores the seed, and which were run once.
    pub unvaried: Vec<TaskId>,
    /// On how many templates each arm of the student could be run, where that is known.
    pub eligible: Vec<Eligibility>,
    /// What learning did, if it did.
    pub learning: Option<LearningSummary>,
    /// What the other books of the same method came to, if several were learned.
    pub replicates: Option<Replicates>,
    /// What was registered, if anything was.
    pub registration: Option<Registration>,
    /// How clean the parting of training and test is, if that was examined.
    pub hygiene: Option<Hygiene>,
    /// Whether rows of different suite or book versions are compared.
    pub mixed: Mixed,
    /// Names and values for repeating the run: command, program version, split hash and the like.
    pub facts: BTreeMap<String, String>,
    /// What a reader must know first, beside what the report finds out itself.
    pub notes: Vec<String>,
}

/// The split whose rows are measured: test where it is locked; none, and so every row, where it is not.
pub(super) fn measured_split(rows: &[TrialRow]) -> Option<Split> {
    rows.iter().any(|row| row.split == Some(Split::Test)).then_some(Split::Test)
}

/// The comparisons of a run of which nothing was fixed beforehand but the usual primary one.
pub fn default_contrasts(rows: &[TrialRow]) -> Vec<Contrast> {
    contrasts(rows, &Fixed::default())
}

/// The comparisons of a run. The primary one is as it was fixed; the treatment against the other controls is
/// secondary; what involves an arm that was not registered, another help, or two models is exploratory. Only
/// arms that were run occur.
pub fn contrasts(rows: &[TrialRow], fixed: &Fixed) -> Vec<Contrast> {
    let split = measured_split(rows);
    let measured = |row: &&TrialRow| split.is_none() || row.split == split;
    let keys: BTreeSet<ArmKey> =
        rows.iter().filter(|row| measured(row) && row.role != Role::Baseline).map(ArmKey::of).collect();
    let with = |key: &ArmKey, arm: &str| {
        let other = ArmKey { arm: arm.into(), ..key.clone() };
        keys.contains(&other).then_some(other)
    };
    let Primary { treatment, control } = &fixed.primary;
    let is_registered = |arm: &str| fixed.arms.as_ref().is_none_or(|arms| arms.contains(arm));
    let mut contrasts: Vec<Contrast> = Vec::new();
    let mut add = |treatment: &ArmKey, control: Option<ArmKey>, family| {
        let Some(control) = control else { return };
        let registered = is_registered(&treatment.arm) && is_registered(&control.arm);
        let family = if registered { family } else { Family::Exploratory };
        let new = Contrast { treatment: treatment.clone(), control, family };
        let known = |one: &Contrast| (&one.treatment, &one.control) == (&new.treatment, &new.control);
        if new.treatment != new.control && !contrasts.iter().any(known) {
            contrasts.push(new);
        }
    };
    for key in keys.iter().filter(|key| key.role != Role::Teacher) {
        if key.arm == *treatment {
            let decides = fixed.student.as_ref().is_none_or(|student| *student == key.model);
            add(key, with(key, control), if decides { Family::Primary } else { Family::Secondary });
            for other in ["placebo-inert", "none", "placebo-wrong", "tools-only", "raw-trace"] {
                add(key, with(key, other), Family::Secondary);
            }
            if let Some(control) = with(key, control) {
                add(&control, with(key, "none"), Family::Secondary);
            }
        }
    }
    let by_itself = |key: &&ArmKey| key.arm != "none" && !Further::is_part(&key.arm);
    for key in keys.iter().filter(|key| key.role == Role::Student).filter(by_itself) {
        add(key, with(key, "none"), Family::Exploratory);
    }
    for teacher in keys.iter().filter(|key| key.role == Role::Teacher) {
        for student in keys.iter().filter(|key| key.role == Role::Student && key.arm == "none") {
            add(teacher, Some(student.clone()), Family::Exploratory);
        }
    }
    contrasts
}
