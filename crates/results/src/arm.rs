//! The arms of a comparison: what help a model gets, by name.

use std::fmt;

use apprentice_protocol::{SkillId, TaskId};
use sha2::{Digest as _, Sha256};

/// What help a model gets. [`ARMS`] describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// `none`
    None,
    /// `tools-only`
    ToolsOnly,
    /// `index`
    Index,
    /// `pull`
    Pull,
    /// `pull+figures`
    PullFigures,
    /// `index+pull`
    IndexPull,
    /// `push`
    Push,
    /// `auto`
    Auto,
    /// `all`
    All,
    /// `verified`
    Verified,
    /// `forced`
    Forced,
    /// `inline`
    Inline,
    /// `raw-trace`
    RawTrace,
    /// `placebo-inert`
    PlaceboInert,
    /// `placebo-wrong`
    PlaceboWrong,
    /// `placebo-forced`
    PlaceboForced,
    /// `placebo-push`
    PlaceboPush,
    /// `masked`
    Masked,
    /// `code`
    Code,
    /// `code+pull`
    CodePull,
    /// `self-made`
    SelfMade,
    /// `human`
    Human,
}

/// How an arm brings help to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// No text and no tools.
    Nothing,
    /// The tools over an empty book.
    ToolsOnly,
    /// All index lines, in the prompt.
    Index,
    /// The programs in the prompt, the rest through tools.
    Pull,
    /// As [`Delivery::Pull`], with the figures of a skill beside its text.
    PullFigures,
    /// The index lines of the task's programs in the prompt, the texts through tools.
    IndexPull,
    /// The nearest skills in the prompt, and again when the screen moves on.
    Push,
    /// One of the deliveries above, by what earlier trials of the model showed.
    Auto,
    /// All texts, in the prompt.
    All,
    /// The texts of the skills that bear on the task, in the prompt.
    Forced,
    /// A text that an earlier trial determines, in the prompt.
    Inline,
    /// A successful training attempt, in the prompt.
    RawTrace,
    /// The signatures of functions in the prompt, and a tool that runs them.
    Code,
    /// [`Delivery::Code`] and [`Delivery::Pull`] together.
    CodePull,
    /// As [`Delivery::Pull`], over skills that do not bear on the task.
    PlaceboInert,
    /// As [`Delivery::Pull`], over texts of other programs.
    PlaceboWrong,
    /// As [`Delivery::Forced`], with skills that do not bear on the task.
    PlaceboForced,
    /// As [`Delivery::Push`], with skills that do not bear on the task.
    PlaceboPush,
}

/// One arm, as help, reports and the guide describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmEntry {
    /// The arm.
    pub arm: Arm,
    /// Its name in rows and reports.
    pub name: &'static str,
    /// What help it gives: one line without a full stop, in the words of the guide.
    pub sentence: &'static str,
    /// How it delivers.
    pub delivery: Delivery,
    /// Whether its guidance comes from a book.
    pub needs_book: bool,
}

/// Every arm. Help, plans, reports and the guide read this table.
pub const ARMS: [ArmEntry; 22] = [
    without_book(Arm::None, "none", Delivery::Nothing, "none"),
    without_book(
        Arm::ToolsOnly,
        "tools-only",
        Delivery::ToolsOnly,
        "the skill tools and their prompt over an empty book",
    ),
    of_book(Arm::Index, "index", Delivery::Index, "the index without bodies, without tools"),
    of_book(Arm::Pull, "pull", Delivery::Pull, "the domains in view, the rest on request"),
    of_book(
        Arm::PullFigures,
        "pull+figures",
        Delivery::PullFigures,
        "`pull`, with the figures of a skill as pictures beside its text",
    ),
    of_book(
        Arm::IndexPull,
        "index+pull",
        Delivery::IndexPull,
        "the descriptions of all skills of the task's programs in the prompt, the texts on request",
    ),
    of_book(
        Arm::Push,
        "push",
        Delivery::Push,
        "the three skills that fit the instruction best, in the prompt; when program, window or page changes, those that \
         fit now and were not shown yet",
    ),
    of_book(
        Arm::Auto,
        "auto",
        Delivery::Auto,
        "the one of `pull`, `index+pull` and `push` with which this model passed most on dev tasks; these run first, at \
         least five for each student",
    ),
    of_book(Arm::All, "all", Delivery::All, "every skill, in the prompt"),
    of_book(
        Arm::Verified,
        "verified",
        Delivery::Pull,
        "`pull` over proved skills: one attempt elsewhere followed them, passed, and found no fault",
    ),
    of_book(Arm::Forced, "forced", Delivery::Forced, "the skills that bear on the task, in the prompt"),
    of_book(
        Arm::Inline,
        "inline",
        Delivery::Inline,
        "exactly the text that `pull` viewed in the same trial, in the prompt, without tools; it runs after its `pull`",
    ),
    without_book(
        Arm::RawTrace,
        "raw-trace",
        Delivery::RawTrace,
        "the nearest successful training attempt in a program of the task, by the words of the instruction, no longer than \
         the skill that would have helped, in the prompt",
    ),
    of_book(
        Arm::PlaceboInert,
        "placebo-inert",
        Delivery::PlaceboInert,
        "true skills that do not bear on the task, as long, through the same tools",
    ),
    of_book(
        Arm::PlaceboWrong,
        "placebo-wrong",
        Delivery::PlaceboWrong,
        "relabelled bodies of other programs, as long, through the same tools",
    ),
    of_book(
        Arm::PlaceboForced,
        "placebo-forced",
        Delivery::PlaceboForced,
        "true skills that do not bear on the task, as long, in the prompt",
    ),
    of_book(
        Arm::PlaceboPush,
        "placebo-push",
        Delivery::PlaceboPush,
        "true skills that do not bear on the task, as long, in the prompt where `push` would put some",
    ),
    of_book(
        Arm::Masked,
        "masked",
        Delivery::Pull,
        "`pull` over about half of the book, drawn by lot for each trial",
    ),
    of_book(
        Arm::Code,
        "code",
        Delivery::Code,
        "the verified functions of skills, each with its signature in the prompt, and the tool that runs them; no texts",
    ),
    of_book(Arm::CodePull, "code+pull", Delivery::CodePull, "`code` and `pull` together"),
    of_book(
        Arm::SelfMade,
        "self-made",
        Delivery::Pull,
        "`pull` over a book that the student made: give it as `skillbook`",
    ),
    of_book(
        Arm::Human,
        "human",
        Delivery::Pull,
        "`pull` over a book that a person wrote: give it as `skillbook`",
    ),
];

const fn of_book(arm: Arm, name: &'static str, delivery: Delivery, sentence: &'static str) -> ArmEntry {
    ArmEntry { arm, name, sentence, delivery, needs_book: true }
}

const fn without_book(arm: Arm, name: &'static str, delivery: Delivery, sentence: &'static str) -> ArmEntry {
    ArmEntry { arm, name, sentence, delivery, needs_book: false }
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
    pub const ALL: [Self; ARMS.len()] = {
        let mut all = [Self::None; ARMS.len()];
        let mut place = 0;
        while place < ARMS.len() {
            all[place] = ARMS[place].arm;
            place += 1;
        }
        all
    };

    /// Returns the arm's entry in [`ARMS`], where it stands at the place of its variant.
    pub const fn entry(self) -> &'static ArmEntry {
        &ARMS[self as usize]
    }

    /// Its name in rows and reports.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// What help it gives.
    pub fn sentence(self) -> &'static str {
        self.entry().sentence
    }

    /// How it delivers.
    pub fn delivery(self) -> Delivery {
        self.entry().delivery
    }

    /// The arm of this name.
    ///
    /// # Errors
    ///
    /// Returns the name if no arm has it.
    pub fn parse(name: &str) -> Result<Self, UnknownArm> {
        let found = ARMS.iter().find(|entry| entry.name == name);
        found.map(|entry| entry.arm).ok_or_else(|| UnknownArm { name: name.to_owned() })
    }

    /// Returns whether its guidance comes from a book.
    pub fn needs_book(self) -> bool {
        self.entry().needs_book
    }

    /// Returns one line for each arm, `name: sentence`, for a command's help.
    pub fn help() -> String {
        let lines = ARMS.iter().map(|entry| format!("  {}: {}\n", entry.name, entry.sentence));
        lines.collect()
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

/// Returns whether the arm [`Arm::Masked`] hides a skill from a trial. A lot that anybody can draw again.
pub fn is_masked(skill: &SkillId, task: &TaskId, seed: u32) -> bool {
    let drawn = Sha256::digest(format!("mask\0{task}\0{seed}\0{skill}"));
    drawn.first().is_some_and(|byte| byte & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::{ARMS, Arm, Delivery};

    #[test]
    fn every_arm_stands_once_and_at_its_place() {
        for (place, entry) in ARMS.iter().enumerate() {
            assert_eq!(entry.arm as usize, place, "{}", entry.name);
            assert_eq!(Arm::parse(entry.name), Ok(entry.arm));
            assert!(!entry.sentence.ends_with('.') && !entry.sentence.contains('\n'), "{}", entry.name);
        }
        assert_eq!(Arm::Human.entry().delivery, Delivery::Pull);
        assert!(!Arm::RawTrace.needs_book() && !Arm::None.needs_book() && Arm::Auto.needs_book());
    }

    #[test]
    fn the_guide_describes_each_arm_in_these_words() {
        let guide = include_str!("../../../docs/experiments.md");
        for entry in ARMS {
            let row = format!("| `{}` | {} |\n", entry.name, entry.sentence);
            assert!(guide.contains(&row), "docs/experiments.md lacks {row}");
        }
    }
}
