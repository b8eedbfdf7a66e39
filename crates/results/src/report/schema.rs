//! The report as data: the contents of `report.json`. A public contract, named by [`REPORT_SCHEMA`].

use std::collections::BTreeMap;

use apprentice_protocol::{RunId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compute_matched_baselines::ComputeMatchedBaseline;
use super::harm::HarmCell;
use super::input::{ArmKey, Eligibility, Family, LearningSummary, PlannedTrial, Registration, Stratum};
use super::replicates::Replicates;
use super::skill_value::SkillValue;
use crate::compare::{Comparison, Finding};
use crate::contamination::Contamination;
use crate::stats::{Interval, Rate};
use apprentice_runs::row::Split;
use apprentice_runs::rows::VoidAttempt;

/// Schema name of the report.
pub const REPORT_SCHEMA: &str = "apprentice.report/1";

/// The headline of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// The kind of result.
    pub title: String,
    /// The measured subject, in a few words.
    pub subject: String,
    /// The claim in words: `Better`, `Inconclusive`, or `No verdict` with its reason; empty if nothing was compared.
    pub claim: String,
    /// The result in a sentence.
    pub result: String,
    /// The verdict of the primary comparison, or else of the first secondary one.
    pub verdict: Option<Finding>,
    /// Whether all models are rule-based policies, so that the result says nothing about language models.
    pub mechanism_check: bool,
    /// How the same trials ended when the tasks were asked for in other words, in a sentence; `None` if that was not
    /// measured.
    #[serde(default)]
    pub in_other_words: Option<String>,
}

/// Trials in other wordings of their instructions, beside the same tasks and seeds in the suite's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WordingComparison {
    /// The role, model and arm in the suite's own wording.
    #[serde(flatten)]
    pub key: ArmKey,
    /// Trials with a verdict in both wordings.
    pub trials: u32,
    /// Of these, trials that passed in another wording.
    pub reworded_passed: u32,
    /// Of these, trials that passed in the suite's own wording.
    pub own_passed: u32,
}

/// Trials by verdict. A trial's verdict is that of its last attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Passed trials.
    pub passed: u32,
    /// Failed trials.
    pub failed: u32,
    /// Trials without a result.
    pub void: u32,
    /// All trials.
    pub trials: u32,
}

/// The measured trials of one model in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmReport {
    /// Role, model and arm.
    #[serde(flatten)]
    pub key: ArmKey,
    /// Trial counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// Templates with a result.
    pub templates: usize,
    /// Mean success over templates, with its interval; `None` without a result.
    pub success: Option<Rate>,
    /// Mean world steps of judged trials.
    pub world_steps: Option<f64>,
    /// Mean world steps of passed trials.
    pub world_steps_passed: Option<f64>,
    /// Mean turns of judged trials.
    pub turns: Option<f64>,
    /// Tokens of all attempts.
    pub tokens: Usage,
    /// Mean guidance tokens delivered per judged trial.
    pub delivered_tokens: Option<f64>,
    /// Cost of all attempts in US dollars; `None` when the model has no price.
    pub cost_usd: Option<f64>,
    /// Wall time of all attempts, in seconds.
    pub wall_s: f64,
    /// Working time of all attempts, in seconds, without the model's.
    pub working_s: f64,
    /// Time in which the model answered, over all attempts, in seconds.
    #[serde(default)]
    pub model_s: f64,
    /// Whether tokens and cost hold estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// Judged trials in which the model received a skill's text.
    pub viewed_skills: u32,
    /// Number of judged trials by stop reason.
    pub stop_reasons: BTreeMap<String, u32>,
    /// Failed trials in which the model claimed to be done after at most one world step.
    #[serde(default)]
    pub early_ends: u32,
}

/// A baseline: reference solution, no-op, or always giving up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineReport {
    /// The baseline's name, which is also the arm in its rows.
    pub name: String,
    /// Trial counts.
    #[serde(flatten)]
    pub tally: Tally,
    /// Mean success over templates.
    pub success: Option<f64>,
}

/// The results of one program's tasks, by arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramReport {
    /// The program: the domain of its tasks.
    pub program: String,
    /// One entry per arm, in the order of [`Report::arms`].
    pub arms: Vec<ProgramScore>,
}

/// The results of one program's tasks in one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramScore {
    /// Tasks.
    pub tasks: u32,
    /// Trials.
    pub trials: u32,
    /// Trials without a result.
    pub void: u32,
    /// Mean score of the judged trials; `None` without one.
    pub score: Option<f64>,
}

/// A comparison with its role in the analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// `treatment vs control`, with role names where the arms alone are ambiguous.
    pub name: String,
    /// The family: primary, secondary or exploratory.
    pub family: Family,
    /// The p value after Holm's correction, for secondary comparisons.
    pub p_holm: Option<f64>,
    /// The claim after correction; `None` for exploratory comparisons, which claim nothing.
    pub claim: Option<Finding>,
    /// Claim and result in a sentence.
    pub sentence: String,
    /// The comparison; `a` is the control, `b` the treatment.
    pub result: Comparison,
}

/// How much of the gap to the teacher the book closes.
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
    /// `(with_book - alone) / (taught - alone)`; `None` when the teacher is hardly better.
    pub closed: Option<f64>,
}

/// A comparison restricted to the templates of one stratum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StratumReport {
    /// The stratum.
    pub stratum: Stratum,
    /// The comparison's name.
    pub name: String,
    /// Number of templates.
    pub templates: usize,
    /// The mean difference.
    pub difference: f64,
    /// The 95 % confidence interval.
    pub ci95: Interval,
    /// Two-sided p value of the sign-flip test.
    pub p_signflip: f64,
    /// The conclusion; exploratory.
    pub verdict: Finding,
}

/// The results of one template, by arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateReport {
    /// The template.
    pub template: String,
    /// The template's stratum, where known.
    pub stratum: Option<Stratum>,
    /// Trial counts per arm, in the order of [`Report::arms`].
    pub arms: Vec<Tally>,
    /// The difference in the primary comparison.
    pub difference: Option<f64>,
}

/// One attempt, so that every number can be traced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialLine {
    /// The run.
    pub run: RunId,
    /// The trial.
    pub trial: TrialId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Whether this is the trial's last attempt, which counts.
    pub counts: bool,
    /// Whether it belongs to the measured split.
    pub measured: bool,
    /// Role, model and arm.
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
    /// The stop reason; `None` if void.
    pub stop_reason: Option<StopReason>,
    /// The cause of a void attempt.
    pub void_cause: Option<VoidCause>,
    /// The attempt's trace folder, relative to the report.
    pub trace: String,
}

/// Resources used by the whole run: all attempts of all splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Number of trials.
    pub trials: u32,
    /// Number of attempts.
    pub attempts: u32,
    /// Tokens.
    pub tokens: Usage,
    /// Cost in US dollars of the attempts with a price; `None` if none has one.
    pub cost_usd: Option<f64>,
    /// Wall time in seconds, summed over attempts.
    pub wall_s: f64,
    /// Working time in seconds, summed over attempts, without the model's.
    pub working_s: f64,
    /// Time in which the models answered, in seconds, summed over attempts.
    #[serde(default)]
    pub model_s: f64,
}

/// What a model took that compared answers with references, over all attempts of all splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeReport {
    /// The model.
    pub model: String,
    /// Attempts whose answers it compared.
    pub attempts: u32,
    /// Of these, attempts that passed or failed: their verdicts hang on it.
    pub decided: u32,
    /// Questions that it was asked.
    pub questions: u32,
    /// Tokens.
    pub tokens: Usage,
    /// Cost in US dollars of what has a price; `None` if nothing has one.
    pub cost_usd: Option<f64>,
}

/// The complete report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: String,
    /// The run.
    pub run: RunId,
    /// Start time of the run.
    #[schemars(with = "Option<String>")]
    pub started_at: Option<Timestamp>,
    /// The headline.
    pub headline: Headline,
    /// Caveats, shown first.
    pub notes: Vec<String>,
    /// The measured split; `None` without a locked split, when all rows are measured.
    pub measured_split: Option<Split>,
    /// Each model in each arm.
    pub arms: Vec<ArmReport>,
    /// Success by program; empty where the programs are not known, or there is only one.
    #[serde(default)]
    pub programs: Vec<ProgramReport>,
    /// Baselines that were run.
    pub baselines: Vec<BaselineReport>,
    /// The comparisons, primary first.
    pub comparisons: Vec<ComparisonReport>,
    /// The primary comparison over several books of the same method, if replicates were learned.
    #[serde(default)]
    pub replicates: Option<Replicates>,
    /// How much of the gap to the teacher each student's book closes.
    pub gap_closed: Vec<GapClosed>,
    /// The arms in other wordings of the instructions, beside the same arms in the suite's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wordings: Vec<WordingComparison>,
    /// Compute-matched baselines without a book.
    #[serde(default)]
    #[serde(rename = "rivals")]
    pub compute_matched: Vec<ComputeMatchedBaseline>,
    /// Comparisons by stratum.
    pub strata: Vec<StratumReport>,
    /// Results by template.
    pub templates: Vec<TemplateReport>,
    /// Summary of learning.
    pub learning: Option<LearningSummary>,
    /// The preregistration and the deviations from it.
    #[serde(default)]
    pub registration: Option<Registration>,
    /// The contamination check.
    #[serde(default)]
    pub hygiene: Option<Contamination>,
    /// The estimated value of each skill to the student.
    #[serde(default)]
    pub skill_values: Vec<SkillValue>,
    /// Skills that may do harm, by app.
    #[serde(default)]
    pub harm: Vec<HarmCell>,
    /// Void attempts of the whole run, with their causes.
    pub voids: Vec<VoidAttempt>,
    /// Planned trials without a finished attempt.
    pub not_run: Vec<PlannedTrial>,
    /// Number of templates on which each student arm was eligible, where known.
    pub eligible: Vec<Eligibility>,
    /// Tasks whose environment ignores the seed: run once, counted once.
    pub unvaried: Vec<TaskId>,
    /// Resources used by the whole run.
    pub totals: Totals,
    /// Models that compared answers with references; their cost is in no arm and no total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeReport>,
    /// Hashes and versions in the rows, by name.
    pub versions: BTreeMap<String, Vec<String>>,
    /// Names and values needed to reproduce the run.
    pub facts: BTreeMap<String, String>,
    /// All attempts.
    pub trials: Vec<TrialLine>,
}
