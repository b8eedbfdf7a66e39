//! The arms of a comparison: what help a model gets, by name.

use std::fmt;

use apprentice_protocol::{SkillId, TaskId};
use sha2::{Digest as _, Sha256};

/// What help a model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// None.
    None,
    /// The skill tools over an empty book.
    ToolsOnly,
    /// The index without bodies.
    Index,
    /// Domains in view, the rest on request.
    Pull,
    /// The best skills for the instruction, put in.
    Push,
    /// Every skill, put in.
    All,
    /// `pull` over the skills that have shown that they work.
    Verified,
    /// The skills that bear on the task, put in.
    Forced,
    /// Exactly the text that `pull` looked at in the same trial, put in, without tools.
    Inline,
    /// The nearest successful training attempt, as long as the skill that would have helped, put in.
    RawTrace,
    /// True skills of the same program that do not bear on the task.
    PlaceboInert,
    /// Names as they are, bodies of other domains.
    PlaceboWrong,
    /// `pull` over a book of which each trial hides about half, by lot: what tells the value of single skills.
    Masked,
    /// `pull` over a book that the student made itself.
    SelfMade,
    /// `pull` over a book that a person wrote.
    Human,
}

/// The name of no arm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no arm {name:?}; the arms are {}", Arm::list())]
pub struct UnknownArm {
    /// The name as written.
    pub name: String,
}

impl Arm {
    /// Every arm.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::ToolsOnly,
        Self::Index,
        Self::Pull,
        Self::Push,
        Self::All,
        Self::Verified,
        Self::Forced,
        Self::Inline,
        Self::RawTrace,
        Self::PlaceboInert,
        Self::PlaceboWrong,
        Self::Masked,
        Self::SelfMade,
        Self::Human,
    ];

    /// Its name in rows and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ToolsOnly => "tools-only",
            Self::Index => "index",
            Self::Pull => "pull",
            Self::Push => "push",
            Self::All => "all",
            Self::Verified => "verified",
            Self::Forced => "forced",
            Self::Inline => "inline",
            Self::RawTrace => "raw-trace",
            Self::PlaceboInert => "placebo-inert",
            Self::PlaceboWrong => "placebo-wrong",
            Self::Masked => "masked",
            Self::SelfMade => "self-made",
            Self::Human => "human",
        }
    }

    /// The arm of this name.
    pub fn parse(name: &str) -> Result<Self, UnknownArm> {
        let found = Self::ALL.into_iter().find(|arm| arm.as_str() == name);
        found.ok_or_else(|| UnknownArm { name: name.to_owned() })
    }

    /// Whether what it lends comes from a book.
    pub fn needs_book(self) -> bool {
        !matches!(self, Self::None | Self::ToolsOnly | Self::RawTrace)
    }

    fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the arm [`Arm::Masked`] hides a skill from a trial. A lot that anybody can draw again.
pub fn is_masked(skill: &SkillId, task: &TaskId, seed: u32) -> bool {
    let drawn = Sha256::digest(format!("mask\0{task}\0{seed}\0{skill}"));
    drawn.first().is_some_and(|byte| byte & 1 == 1)
}
