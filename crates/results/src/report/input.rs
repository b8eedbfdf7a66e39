//! The input of a report besides the rows: the plan, the contrasts fixed before the run, and learning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use apprentice_protocol::{RunId, TaskId, TrialId, Usage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replicates::Replicates;
use crate::ablations::AblationArm;
use crate::compare::MixedVersions;
use crate::contamination::Contamination;
use apprentice_runs::row::{Role, Split, TrialRow};

/// Role, model and arm of a trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ArmKey {
    /// The model's role.
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

/// The family of a comparison, which decides what may be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The single comparison fixed before the run.
    Primary,
    /// Also fixed before the run; claimed only after Holm's correction.
    Secondary,
    /// Chosen afterwards; never a claim.
    Exploratory,
}

/// A comparison to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contrast {
    /// The treatment side.
    pub treatment: ArmKey,
    /// The control side.
    pub control: ArmKey,
    /// The comparison's family.
    pub family: Family,
}

/// The primary comparison, by the names of its arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrimaryComparison {
    /// The treatment arm.
    pub treatment: String,
    /// The control arm.
    pub control: String,
}

impl Default for PrimaryComparison {
    fn default() -> Self {
        Self { treatment: "pull".into(), control: "placebo-inert".into() }
    }
}

/// The settings fixed before the run that decide which comparisons are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedPlan {
    /// The primary comparison.
    pub primary: PrimaryComparison,
    /// The student of the primary comparison; `None` means every student.
    pub student: Option<String>,
    /// The registered arms; `None` means all. A comparison with any other arm is exploratory.
    pub arms: Option<BTreeSet<String>>,
}

/// A deviation from the preregistration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// The field that deviates.
    pub field: String,
    /// The difference, in words.
    pub what: String,
}

/// The preregistration and the deviations from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Registration {
    /// Time of registration.
    #[schemars(with = "String")]
    pub registered_at: Timestamp,
    /// The primary comparison.
    pub primary: PrimaryComparison,
    /// The smallest effect that the design detects with a power of 0.8, as a share, if it was computed.
    pub smallest_effect: Option<f64>,
    /// The deviations.
    pub deviations: Vec<Deviation>,
}

/// Whether the knowledge that a test template needs could have been learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stratum {
    /// A training template covers it.
    Seen,
    /// No training template covers it: the expected gain is zero.
    Unseen,
}

/// The number of measured templates on which an arm was eligible, and so ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Eligibility {
    /// The arm.
    pub arm: String,
    /// Templates on which it ran.
    pub templates: usize,
    /// All measured templates.
    pub of: usize,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// The trial.
    pub trial: TrialId,
    /// Its task.
    pub task: TaskId,
    /// Role, model and arm.
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
    /// Skills in the book at that point.
    pub skills: u32,
    /// Success rate of the attempts around this point, 0 to 1.
    pub success: f64,
    /// Mean world steps of these attempts.
    pub world_steps: f64,
}

/// A skill of the frozen book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// The skill's id, `<domain>/<name>`.
    pub skill: String,
    /// The skill's situation, in one line.
    pub situation: String,
    /// The skill's version.
    pub version: u32,
    /// The skill's status in the book.
    pub status: String,
}

/// A judged attempt that was not learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreviewedAttempt {
    /// The attempt, as `<run>/<trial>/<attempt>`.
    pub attempt: String,
    /// Its task.
    pub task: TaskId,
    /// The reason.
    pub why: String,
}

/// The quality of the reviewer: its coverage, its invented reviews, and its agreement with a rule-based check of
/// whether skills were followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerSummary {
    /// Skills received, counted per attempt.
    pub received: u32,
    /// Received skills that were reviewed.
    pub reviewed: u32,
    /// Reviews of skills that were never received; they are discarded.
    pub invented: u32,
    /// Reviewed as followed, and the attempt did at least half of what the text names.
    pub both_followed: u32,
    /// Reviewed as followed, but the attempt did less than half.
    pub only_reviewer: u32,
    /// Reviewed as not followed, but the attempt did it.
    pub only_detector: u32,
    /// Not followed, according to both.
    pub neither: u32,
    /// Reviews of texts that name no checkable action.
    pub undecided: u32,
    /// Cohen's kappa of reviewer and rule-based check; `None` if there is nothing to compare or both are constant.
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

/// Summary of learning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearningSummary {
    /// Passes over the training tasks.
    pub epochs: u32,
    /// Trajectories learned from.
    pub trajectories: u32,
    /// Judged attempts that were not learned from, in plan order.
    #[serde(default)]
    pub unread: Vec<UnreviewedAttempt>,
    /// Number of reviews by kind.
    pub reviews: BTreeMap<String, u32>,
    /// Number of operations on the book by kind.
    pub operations: BTreeMap<String, u32>,
    /// Updates caused by reviews of a skill: two attempts agreed, or one verified its correction.
    #[serde(default)]
    pub updated_by_reviews: u32,
    /// Cleanup tasks that were decided.
    #[serde(default)]
    pub cleanup_tasks: u32,
    /// The skills of the frozen book.
    pub skills: Vec<SkillSummary>,
    /// The learning curve, in order.
    pub curve: Vec<CurvePoint>,
    /// Tokens used for reviewing and managing.
    pub tokens: Usage,
    /// Cost of these in US dollars, if priced.
    pub cost_usd: Option<f64>,
    /// The quality of the reviews.
    #[serde(default)]
    pub reviewer: ReviewerSummary,
}

/// The complete input of a report.
#[derive(Clone, Debug)]
pub struct ReportInput<'a> {
    /// The run.
    pub run: RunId,
    /// The report's title.
    pub title: String,
    /// Start time of the run.
    pub started_at: Option<Timestamp>,
    /// The finished attempts. With a locked split, the test rows are measured; otherwise all rows are.
    pub rows: &'a [TrialRow],
    /// The planned trials; those without a row are reported as not run.
    pub planned: &'a [PlannedTrial],
    /// The comparisons to make; see [`default_contrasts`].
    pub contrasts: Vec<Contrast>,
    /// The stratum of each test template, where known.
    pub strata: BTreeMap<String, Stratum>,
    /// The app of each measured task, where known.
    pub programs: BTreeMap<TaskId, String>,
    /// Tasks whose environment ignores the seed, so that they run once.
    pub unvaried: Vec<TaskId>,
    /// Number of templates on which each student arm was eligible, where known.
    pub eligible: Vec<Eligibility>,
    /// Summary of learning, if a book was learned.
    pub learning: Option<LearningSummary>,
    /// Results over several books of the same method, if replicates were learned.
    pub replicates: Option<Replicates>,
    /// The preregistration, if there is one.
    pub registration: Option<Registration>,
    /// The contamination check, if it was made.
    pub hygiene: Option<Contamination>,
    /// Whether rows of different suite or book versions may be compared.
    pub mixed: MixedVersions,
    /// Names and values needed to reproduce the run, such as command, program version and split hash.
    pub facts: BTreeMap<String, String>,
    /// Notes to show in addition to those that the report derives itself.
    pub notes: Vec<String>,
}

/// The measured split: test if any row has it; otherwise `None`, and every row is measured.
pub(super) fn measured_split(rows: &[TrialRow]) -> Option<Split> {
    rows.iter().any(|row| row.split == Some(Split::Test)).then_some(Split::Test)
}

/// The default comparisons of a run without a preregistration.
pub fn default_contrasts(rows: &[TrialRow]) -> Vec<Contrast> {
    contrasts(rows, &FixedPlan::default())
}

/// The comparisons of a run. The primary one is as fixed. The treatment against other controls is secondary.
/// Comparisons that involve an unregistered arm, other guidance, or two models are exploratory. Only arms that ran
/// occur.
pub fn contrasts(rows: &[TrialRow], fixed: &FixedPlan) -> Vec<Contrast> {
    let split = measured_split(rows);
    let measured = |row: &&TrialRow| split.is_none() || row.split == split;
    let keys: BTreeSet<ArmKey> =
        rows.iter().filter(|row| measured(row) && row.role != Role::Baseline).map(ArmKey::of).collect();
    let with = |key: &ArmKey, arm: &str| {
        let other = ArmKey { arm: arm.into(), ..key.clone() };
        keys.contains(&other).then_some(other)
    };
    let PrimaryComparison { treatment, control } = &fixed.primary;
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
            for other in [
                "placebo-inert",
                "none",
                "placebo-wrong",
                "placebo-forced",
                "placebo-push",
                "tools-only",
                "raw-trace",
            ] {
                add(key, with(key, other), Family::Secondary);
            }
            if let Some(control) = with(key, control) {
                add(&control, with(key, "none"), Family::Secondary);
            }
        }
    }
    let by_itself = |key: &&ArmKey| key.arm != "none" && !AblationArm::is_auxiliary(&key.arm);
    for key in keys.iter().filter(|key| key.role == Role::Student).filter(by_itself) {
        add(key, with(key, "none"), Family::Exploratory);
    }
    let alone = |key: &&ArmKey| key.role == Role::Teacher && !AblationArm::is_auxiliary(&key.arm);
    for teacher in keys.iter().filter(alone) {
        for student in keys.iter().filter(|key| key.role == Role::Student && key.arm == "none") {
            add(teacher, Some(student.clone()), Family::Exploratory);
        }
    }
    // Runs of several models, as `compare` takes two of them.
    let solo: Vec<&ArmKey> = keys.iter().filter(|key| key.role == Role::Solo).collect();
    for (at, first) in solo.iter().enumerate() {
        for second in solo[at + 1..].iter().filter(|second| second.arm == first.arm) {
            add(second, Some((*first).clone()), Family::Exploratory);
        }
    }
    contrasts
}
