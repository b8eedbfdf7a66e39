//! What was measured, and the page of what it showed, as data. Both are public contracts.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{SkillId, TaskId};
use apprentice_results::compare::Finding;
use apprentice_results::report::HarmCell;
use apprentice_results::stats::Interval;
use apprentice_skillbook::package::evals::LeftOutEval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::offer::Offer;

/// Schema name of the page.
pub const SKILL_PAGE_SCHEMA: &str = "apprentice.skill-page/1";

/// Schema name of what was measured.
pub const MEASURED_SKILL_SCHEMA: &str = "apprentice.measured-skill/1";

/// What was measured, stored in the experiment's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSkill {
    /// [`MEASURED_SKILL_SCHEMA`].
    pub schema: String,
    /// Its name: the package's, or that of the book's folder.
    pub name: String,
    /// The skills that were lent.
    pub skills: BTreeSet<SkillId>,
    /// SHA-256 over the package's files; `None` for a book.
    pub package: Option<String>,
    /// Where the tasks come from: the package's evaluations, or a suite.
    pub tasks: String,
    /// SHA-256 of the package's evaluations, or of the suite.
    pub tasks_hash: String,
    /// Evaluations that were left out, with the reason.
    pub left_out: BTreeMap<String, String>,
    /// What was read in another way than written, or not at all.
    pub remarks: BTreeSet<String>,
    /// What the screening said of the package.
    pub screening: ScreeningResult,
    /// Whether the skill should be read, by task, where the evaluation says so.
    pub should_trigger: BTreeMap<TaskId, bool>,
}

impl MeasuredSkill {
    /// Sets which evaluations were left out.
    #[must_use]
    pub fn leaving_out(self, list: &[LeftOutEval]) -> Self {
        let left_out = list.iter().map(|one| (one.id.clone(), one.why.clone())).collect();
        Self { left_out, ..self }
    }
}

/// The outcome of the screening of what a skill would make an agent do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "screening", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScreeningResult {
    /// Nothing was found.
    Passed,
    /// It would make an agent run code, send data or the like, and was measured all the same.
    Effects {
        /// What was found.
        found: String,
    },
    /// The book's own gateway screened every text when it was written.
    AsWritten,
}

/// What a measurement showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Better than the placebo.
    Helps,
    /// Worse than the placebo, or than nothing.
    Harms,
    /// Measured with enough evaluations, and no difference shows.
    NoDifference,
    /// Too few evaluations, or too many trials without a result.
    NoVerdict,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmLine {
    /// The arm's name.
    pub arm: String,
    /// The arm in words.
    pub words: String,
    /// Trials that passed.
    pub passed: u32,
    /// Trials that passed or failed.
    pub judged: u32,
    /// Trials without a result.
    pub void: u32,
    /// The share that passed, as the mean over evaluations.
    pub success: Option<f64>,
    /// Tokens per trial with a result.
    pub tokens: Option<f64>,
    /// Steps per trial with a result.
    pub steps: Option<f64>,
    /// US dollars of all trials; `None` where the model has no price.
    pub cost_usd: Option<f64>,
}

/// A difference between the skill and something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The other arm.
    pub against: String,
    /// Evaluations that both arms did.
    pub evals: usize,
    /// The mean difference, as a share: positive where the skill is better.
    pub difference: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<Interval>,
    /// The p value of the test.
    pub p: Option<f64>,
    /// What follows, after the correction for several comparisons.
    pub finding: Finding,
    /// Why.
    pub because: String,
}

/// Whether the skill was read, and whether it was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Trials with the skill that have a result.
    pub of: u32,
    /// Of these, trials in which the agent read it, or had its whole text in the prompt.
    pub read: u32,
    /// Of these, trials that did at least half of the commands, keys and labels that it names.
    pub followed: u32,
    /// Trials that read it and did less of it.
    pub not_followed: u32,
    /// Trials with the placebo in which the agent read a placebo, or had it in the prompt.
    pub placebo_read: u32,
}

/// Whether the skill was read where it should be, and left alone where not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Triggers {
    /// Trials in which it should be read.
    pub wanted: u32,
    /// Of these, trials in which it was.
    pub read: u32,
    /// Trials in which it should not be read.
    pub unwanted: u32,
    /// Of these, trials in which it was left alone.
    pub left_alone: u32,
}

/// The page: what a measurement showed of a skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillPage {
    /// [`SKILL_PAGE_SCHEMA`].
    pub schema: String,
    /// What was measured.
    pub skill: MeasuredSkill,
    /// Content hash of the book with the skill, as it was lent.
    pub book_hash: String,
    /// The model.
    pub model: String,
    /// How the skill was offered to it.
    #[serde(default)]
    pub offer: Offer,
    /// The model that judged statements; `None` where none had to be judged.
    pub judge: Option<String>,
    /// When it was measured.
    pub date: Option<String>,
    /// The program's version.
    pub program: String,
    /// Evaluations with a result.
    pub evals: usize,
    /// Evaluations that a verdict needs.
    pub needed: usize,
    /// The smallest difference that four of five measurements of this size find, as a share.
    pub smallest_effect: Option<f64>,
    /// What follows.
    pub conclusion: Conclusion,
    /// The arms.
    pub arms: Vec<ArmLine>,
    /// The skill against the placebo: this decides.
    pub against_placebo: Option<Effect>,
    /// The skill against nothing.
    pub against_none: Option<Effect>,
    /// Both comparisons by the checks that need no model, placebo first; empty where no evaluation has such checks.
    pub by_state: Vec<Effect>,
    /// Both comparisons by the statements that a model judged.
    pub by_judge: Vec<Effect>,
    /// Whether the skill was read and followed.
    pub reading: Reading,
    /// Whether it was read where it should be; `None` where no evaluation says so.
    pub triggers: Option<Triggers>,
    /// Evaluations that most repetitions passed without the skill and failed with it.
    pub lost: Vec<String>,
    /// Evaluations that most repetitions failed without the skill and passed with it.
    pub won: Vec<String>,
    /// Harm by program.
    pub harm: Vec<HarmCell>,
    /// The versions of the programs in the worlds.
    pub programs: BTreeMap<String, BTreeSet<String>>,
    /// US dollars of the judge; `None` without a price or a judge.
    pub judge_usd: Option<f64>,
    /// What qualifies the numbers.
    pub notes: Vec<String>,
}
