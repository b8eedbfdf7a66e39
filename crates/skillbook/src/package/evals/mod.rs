//! Reads the evaluation of a package, `evals/evals.json`, in the form that Agent Skills' guide publishes (agentskills.io, "Evaluating
//! skills"; `skill-creator`'s reference of schemas, both as of August 2026), and the variations that public packages have.
//!
//! Everything here was written by whoever wrote the package, who wants the evaluation to come out well: it is bounded, paths stay in
//! the package, and a statement that speaks to a judge takes its evaluation out.

mod check;
mod environment;
mod files;
mod read;
mod words;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use check::EvalCheck;
pub use environment::EvalEnvironment;
pub use read::read_evals;

/// The file with a package's evaluations.
pub const EVALS_FILE: &str = "evals/evals.json";
/// The file with the questions of which each asks only whether the skill is read, as `skill-creator` writes it.
pub const TRIGGERS_FILE: &str = "evals/trigger-eval.json";
/// The names under which public packages keep such questions; the first one that is there is read. Counted on 2026-11-30 in an index of
/// public repositories: 123 of the first name and 23 of the third; the others were seen in authors' own scripts.
pub const TRIGGERS_FILES: [&str; 4] =
    [TRIGGERS_FILE, "evals/trigger-evals.json", "evals/trigger_evals.json", "evals/eval_queries.json"];
/// The folder of all that belongs to them. The agent never gets it.
pub const EVALS_FOLDER: &str = "evals/";
/// Largest size of the file, in bytes.
pub const MAX_EVALS_BYTES: usize = 4 << 20;
/// Largest number of evaluations of a package.
pub const MAX_EVALS: usize = 500;
/// Largest number of checks of an evaluation.
pub const MAX_CHECKS: usize = 60;
/// Largest number of files of an evaluation.
pub const MAX_EVAL_FILES: usize = 50;
/// Largest length of a prompt, in characters.
pub const MAX_PROMPT_CHARS: usize = 20_000;
/// Largest length of a statement or another text of a check, in characters.
pub const MAX_STATEMENT_CHARS: usize = 2_000;

/// The evaluations of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SkillEvals {
    /// Those that can be carried out, in order.
    pub evals: Vec<SkillEval>,
    /// Those that cannot, with the reason.
    pub left_out: Vec<LeftOutEval>,
    /// What was read in another way than written, or not at all.
    pub remarks: BTreeSet<String>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SkillEval {
    /// Its id: lower-case letters, digits and hyphens.
    pub id: String,
    /// What the person asks for.
    pub prompt: String,
    /// The files that the person has, in the folder in which the agent works.
    pub files: Vec<EvalFile>,
    /// The world in which the agent works.
    pub environment: EvalEnvironment,
    /// What must hold at the end; empty for one that only asks whether the skill is read.
    pub checks: Vec<EvalCheck>,
    /// Whether the skill should be read; `None` where the evaluation does not say.
    pub should_trigger: Option<bool>,
}

/// A file that an evaluation starts with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct EvalFile {
    /// Its path in the package.
    pub path: String,
    /// Its path below the folder in which the agent works.
    pub target: String,
}

/// An evaluation that is not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOutEval {
    /// Its id as written, or its place in the list.
    pub id: String,
    /// The reason.
    pub why: String,
}

/// Why a package has no evaluations that could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalsError {
    /// The package has no such file.
    #[error("the package has no {EVALS_FILE}: nobody has written what the skill should be good for")]
    Missing,
    /// The package keeps evaluations in a form of another program.
    #[error(
        "the package has no {EVALS_FILE}, but {path}, {program}, which is not read: write its prompts with what must hold into \
         {EVALS_FILE}"
    )]
    Foreign {
        /// The file.
        path: String,
        /// What it is.
        program: &'static str,
    },
    /// The file is larger than the limit.
    #[error("{EVALS_FILE} has {0} bytes; at most {MAX_EVALS_BYTES} are read")]
    TooLarge(usize),
    /// The file is no text.
    #[error("{EVALS_FILE} is not UTF-8 text: {0}")]
    NotText(String),
    /// The file is no JSON; half a file ends so, too.
    #[error("{EVALS_FILE} is not JSON: {0}")]
    NotJson(String),
    /// The file is JSON of another form.
    #[error("{EVALS_FILE} has another form: {0}")]
    Form(String),
    /// There are more than the limit.
    #[error("{EVALS_FILE} holds {0} evaluations; at most {MAX_EVALS} are measured")]
    TooMany(usize),
    /// Two evaluations have one id.
    #[error("{EVALS_FILE}: the id {0:?} stands twice; results could not be told apart")]
    RepeatedId(String),
}

impl SkillEval {
    /// Whether a model has to judge one of its checks.
    pub fn needs_judge(&self) -> bool {
        self.checks.iter().any(|check| matches!(check, EvalCheck::Statement { .. }))
    }
}

#[cfg(test)]
mod tests;
