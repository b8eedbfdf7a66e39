//! The policy of an arm for the guidance of a trial, and the facts about a task that decide it.

use std::collections::BTreeSet;

use apprentice_protocol::{SkillId, TextBudget};
use apprentice_skillbook::{KnownVersions, Snapshot};

/// Size cap of the opening text for arms that include whole skill texts.
pub const INCLUDED_BUDGET: TextBudget = TextBudget(24_000);

/// The help that a trial gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArmPolicy {
    /// No help.
    None,
    /// The tools and their prompt over an empty book.
    ToolsOnly,
    /// The index lines, without bodies and without tools.
    Index,
    /// The list of domains; everything else on request through tools.
    Pull {
        /// True if a skill's text comes with its figures as pictures.
        figures: bool,
    },
    /// The descriptions of all skills of the programs in play; texts on request through tools.
    IndexPull,
    /// The texts of the best skills for the instruction at the first view, and of those that fit when program, window
    /// or page changes. Within a budget, no text twice.
    Push {
        /// Number of skills that one view adds at most.
        count: usize,
    },
    /// The texts of all skills.
    All,
    /// The texts of these skills.
    Forced {
        /// Ids of the skills.
        skills: Vec<SkillId>,
    },
    /// Exactly this text.
    Inline {
        /// The text.
        text: String,
    },
    /// Functions that the agent may have run.
    Code {
        /// True if the notes come with them, as with [`ArmPolicy::Pull`].
        pull: bool,
        /// True if functions that are not verified come too.
        unverified: bool,
        /// True if each has a tool of its own, as long as they are few. Otherwise one tool calls them all.
        own_tools: bool,
    },
    /// Genuine skills of the same program that are irrelevant to the task, at the delivered length, through the same
    /// tools.
    PlaceboInert,
    /// The original names with bodies from other domains, at the delivered length, through the same tools.
    PlaceboWrong,
    /// Genuine skills that are irrelevant to the task, where [`ArmPolicy::Push`] would put skills, at the delivered length.
    PlaceboPush {
        /// Number of skills that one view adds at most.
        count: usize,
    },
    /// Genuine skills that are irrelevant to the task, in the prompt, together as long as the texts of the relevant ones.
    PlaceboForced,
}

/// The facts about a task that guidance may use.
#[derive(Clone, Debug, Default)]
pub struct TaskView {
    /// The instruction that the agent gets.
    pub instruction: String,
    /// Programs involved, as domain names.
    pub apps: Vec<String>,
    /// The skills that are relevant to the task, if provenance tells. Otherwise the words decide.
    pub relevant: Option<BTreeSet<SkillId>>,
    /// Genuine skills from outside the book that are irrelevant to every task. The inert placebo uses them if the book
    /// has no irrelevant skills for the task's programs.
    pub spare: Option<Snapshot>,
    /// Versions of the task's programs, as soon as they are known.
    pub present: KnownVersions,
}

/// The reason why an arm cannot serve a task. Such a trial is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuidanceError {
    /// The book contains no skill of the kind that the arm needs.
    #[error("the arm has no eligible skill for this task: {0}")]
    NoEligibleSkill(String),
}
