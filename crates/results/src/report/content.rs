//! The report as data: what `report.json` holds. A public contract, named by [`REPORT_SCHEMA`].

use std::collections::BTreeMap;

use apprentice_protocol::{RunId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::harm::HarmCell;
use super::input::{ArmKey, Eligibility, Family, LearningSummary, PlannedTrial, Registration, Stratum};
use super::replicates::Replicates;
use super::rival::Rival;
use super::value::SkillValue;
use crate::compare::{Comparison, Finding};
use crate::contamination::Hygiene;
use crate::row::Split;
use crate::rows::VoidAttempt;
use crate::stats::{Interval, Rate};

/// The name of the report's format.
pub const REPORT_SCHEMA: &str = "apprentice.report/1";

/// The first thing a reader sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// What kind of result this is.
    pub title: String,
    /// What was measured, in a few words.
    pub subject: String,
    /// What is claimed, in words: `Better`, `Inconclusive`, `No verdict` with its reason; empty where nothing
    /// was compared.
    pub claim: String,
    /// The result in a sentence.
    pub result: String,
    /// The same as one word; of the primary comparison, or else of the first secondary one.
    pub verdict: Option<Finding>,
    /// Whether all models are rule-based policies, so that nothing is said about language models.
    pub mechanism_check: bool,
}

/// Trials by verdict. A trial's verdict is that of its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Passed.
    pub passed: u32,
    /// Failed.
    pub failed: u32,
    /// Without a result.
    pub void: u32,
    /// All of them.
    pub trials: u32,
}

/// One model in one arm, over the measured trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmReport {
    /// Which.
    #[serde(flatten)]
    pub key: ArmKey,
    /// Its trials.
    #[serde(flatten)]
    pub tally: Tally,
    /// Templates with a result.
    pub templates: usize,
    /// Success by template, with its interval; none without a result.
    pub success: Option<Rate>,
    /// Mean world steps of the judged trials.
    pub world_steps: Option<f64>,
    /// Mean world steps of the passed trials.
    pub world_steps_passed: Option<f64>,
    /// Mean turns of the judged trials.
    pub turns: Option<f64>,
    /// Tokens of all attempts.
    pub tokens: Usage,
    /// Mean tokens of guidance delivered per judged trial.
    pub delivered_tokens: Option<f64>,
    /// Money of all attempts in US dollars; none when the model has no price.
    pub cost_usd: Option<f64>,
    /// Wall time of all attempts in seconds.
    pub wall_s: f64,
    /// Working time of all attempts in seconds.
    pub working_s: f64,
    /// Judged trials in which a skill's text was received.
    pub viewed_skills: u32,
    /// Why the judged trials ended.
    pub stop_reasons: BTreeMap<String, u32>,
    /// Failed trials in which the model said that it was done after at most one world step.
    #[serde(default)]
    pub early_ends: u32,
}

/// A baseline: the solution, doing nothing, or always giving up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineReport {
    /// Its name, as the rows' arm.
    pub name: String,
    /// Its trials.
    #[serde(flatten)]
    pub tally: Tally,
    /// Success by template.
    pub success: Option<f64>,
}

/// One comparison with its place in the analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// `treatment vs control`, with models where arms alone do not tell.
    pub name: String,
    /// Its weight.
    pub family: Family,
    /// The p value after Holm's correction, for secondary comparisons.
    pub p_holm: Option<f64>,
    /// What may be claimed, correction considered; none for exploratory comparisons, which claim nothing.
    pub claim: Option<Finding>,
    /// Claim and result in a sentence.
    pub sentence: String,
    /// The comparison; `a` is the control, `b` the treatment.
    pub result: Comparison,
}

/// How much of the distance to the teacher the book closes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapClosed {
    /// The student.
    pub student: String,
    /// The teacher.
    pub teacher: String,
    /// Templates on which all three were measured.
    pub templates: usize,
    /// The student's success without the book.
    pub alone: f64,
    /// The student's success with it.
    pub with_book: f64,
    /// The teacher's success.
    pub taught: f64,
    /// `(with_book - alone) / (taught - alone)`; none when the teacher is hardly better.
    pub closed: Option<f64>,
}

/// A comparison on the templates of one stratum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StratumReport {
    /// Which stratum.
    pub stratum: Stratum,
    /// The comparison's name.
    pub name: String,
    /// Templates.
    pub templates: usize,
    /// The mean difference.
    pub difference: f64,
    /// Its interval.
    pub ci95: Interval,
    /// The deciding test's p value.
    pub p_signflip: f64,
    /// What it comes to; exploratory.
    pub verdict: Finding,
}

/// One template, arm by arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateReport {
    /// The template.
    pub template: String,
    /// Its stratum, where known.
    pub stratum: Option<Stratum>,
    /// Its trials in each arm, in the order of [`Report::arms`].
    pub arms: Vec<Tally>,
    /// The difference in the primary comparison.
    pub difference: Option<f64>,
}

/// One attempt, so that every number can be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialLine {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Whether it is the trial's last attempt, the one that counts.
    pub counts: bool,
    /// Whether it is among the measured ones.
    pub measured: bool,
    /// The model and arm.
    #[serde(flatten)]
    pub key: ArmKey,
    /// The task.
    pub task: TaskId,
    /// Its template.
    pub template: String,
    /// Its split.
    pub split: Option<Split>,
    /// The seed.
    pub seed: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// The score.
    pub score: f64,
    /// World steps.
    pub world_steps: u32,
    /// Turns.
    pub turns: u32,
    /// Why it ended.
    pub stop_reason: Option<StopReason>,
    /// Why it is void.
    pub void_cause: Option<VoidCause>,
    /// The attempt's folder, relative to the run.
    pub trace: String,
}

/// What the whole run took, all attempts of all splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Trials.
    pub trials: u32,
    /// Attempts.
    pub attempts: u32,
    /// Tokens.
    pub tokens: Usage,
    /// Money in US dollars, of the attempts that have a price; none if none has.
    pub cost_usd: Option<f64>,
    /// Wall time in seconds, attempt by attempt.
    pub wall_s: f64,
    /// Working time in seconds.
    pub working_s: f64,
}

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The run.
    pub run: RunId,
    /// When the run began.
    #[schemars(with = "Option<String>")]
    pub started_at: Option<Timestamp>,
    /// The first thing to read.
    pub headline: Headline,
    /// What a reader must know before believing a number.
    pub notes: Vec<String>,
    /// The split that is measured; none when no split is locked and all rows are.
    pub measured_split: Option<Split>,
    /// Each model in each arm.
    pub arms: Vec<ArmReport>,
    /// Baselines, if they were run.
    pub baselines: Vec<BaselineReport>,
    /// The comparisons, the primary one first.
    pub comparisons: Vec<ComparisonReport>,
    /// The deciding comparison over several books of the same method, where several were learned.
    #[serde(default)]
    pub replicates: Option<Replicates>,
    /// The distance to the teacher.
    pub gap_closed: Vec<GapClosed>,
    /// What the same models reach together without a book.
    #[serde(default)]
    pub rivals: Vec<Rival>,
    /// Comparisons by stratum.
    pub strata: Vec<StratumReport>,
    /// Template by template.
    pub templates: Vec<TemplateReport>,
    /// What learning did.
    pub learning: Option<LearningSummary>,
    /// What was registered before the run, and what was done otherwise.
    #[serde(default)]
    pub registration: Option<Registration>,
    /// How clean the parting of training and test is.
    #[serde(default)]
    pub hygiene: Option<Hygiene>,
    /// What single skills are worth to the student.
    #[serde(default)]
    pub skill_values: Vec<SkillValue>,
    /// Where skills may do harm, program by program.
    #[serde(default)]
    pub harm: Vec<HarmCell>,
    /// Void attempts of the whole run with their causes.
    pub voids: Vec<VoidAttempt>,
    /// Planned trials without a finished attempt.
    pub not_run: Vec<PlannedTrial>,
    /// On how many templates each arm of the student had something to lend, where that is known.
    pub eligible: Vec<Eligibility>,
    /// Tasks whose world ignores the seed: run once, counted once.
    pub unvaried: Vec<TaskId>,
    /// What the whole run took.
    pub totals: Totals,
    /// Hashes and versions that occur in the rows, by name.
    pub versions: BTreeMap<String, Vec<String>>,
    /// Names and values for repeating the run.
    pub facts: BTreeMap<String, String>,
    /// All attempts.
    pub trials: Vec<TrialLine>,
}
