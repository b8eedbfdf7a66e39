//! Arm policies as data: which part of a book reaches a trial, and how. The agent loop does not know them.

use std::fmt::Write as _;

use apprentice_protocol::{BoundedText, Guidance, Prompt, TextBudget};

use super::activation::{self, ContributedTools, ToolFormat};
use super::model::{ArmPolicy, GuidanceError, INCLUDED_BUDGET, TaskView};
use super::{placebo, source_format, tools};
use crate::book::{Skill, Snapshot};

pub(crate) const PULL: Prompt = Prompt::new("skills/advice", include_str!("../prompts/advice.md"), &[]);
pub(crate) const TOOLS: Prompt = Prompt::new("skills/tools", include_str!("../prompts/tools.md"), &[]);
pub(crate) const GIVEN: Prompt = Prompt::new("skills/given", include_str!("../prompts/given.md"), &[]);
const NO_DOMAINS: &str = "(none yet)\n";
const SHIPPED: &str = "Notes that came with the program, for any of them:";

/// Size cap of the opening text, in characters.
const OPENING_BUDGET: TextBudget = TextBudget(4000);
/// Prepares a book for one trial.
pub fn build_guidance(
    book: &Snapshot,
    policy: &ArmPolicy,
    task: &TaskView,
) -> Result<Guidance, GuidanceError> {
    build_guidance_with_tools(book, policy, task, &ContributedTools::default())
}

/// Prepares a book for one trial, with the tools that its skills may open.
pub fn build_guidance_with_tools(
    book: &Snapshot,
    policy: &ArmPolicy,
    task: &TaskView,
    contributed: &ContributedTools,
) -> Result<Guidance, GuidanceError> {
    let pull = |book: &Snapshot| {
        let book = &book.with_app_versions(&task.present);
        if contributed.dialect == ToolFormat::Seed {
            return source_format::build_guidance(book, contributed);
        }
        let mut tools = tools::over(book);
        tools.extend(activation::over(book, contributed));
        Guidance { opening: pull_opening(book), tools, refresh: None }
    };
    Ok(match policy {
        ArmPolicy::None => Guidance::default(),
        ArmPolicy::ToolsOnly => pull(&Snapshot::empty()),
        ArmPolicy::Pull => pull(book),
        ArmPolicy::Index => {
            let lines: String = book.domains().into_iter().map(|domain| book.index(domain) + "\n").collect();
            included_texts(&lines)
        }
        ArmPolicy::Push { count } => {
            let hits = book.search(&query(task), *count);
            let skills: Vec<&Skill> = hits.iter().filter_map(|hit| book.skill(&hit.id)).collect();
            texts(&skills, "no skill shares a word with the instruction")?
        }
        ArmPolicy::All => texts(&book.skills().collect::<Vec<_>>(), "the book is empty")?,
        ArmPolicy::Forced { skills } => {
            let found: Vec<&Skill> = skills.iter().filter_map(|id| book.skill(id)).collect();
            texts(&found, "none of the skills to force is in the book")?
        }
        ArmPolicy::Inline { text } if text.trim().is_empty() => {
            return Err(GuidanceError::NoEligibleSkill("there is no text to put in".to_owned()));
        }
        ArmPolicy::Inline { text } => included_texts(text),
        ArmPolicy::PlaceboInert => pull(&placebo::inert_placebo(book, task)?),
        ArmPolicy::PlaceboWrong => pull(&placebo::wrong_placebo(book)?),
    })
}

/// Returns the search query for a task.
pub(super) fn query(task: &TaskView) -> String {
    format!("{} {}", task.instruction, task.apps.join(" "))
}

fn pull_opening(book: &Snapshot) -> BoundedText {
    let lines = book.domain_lines();
    let lines = if lines.is_empty() { NO_DOMAINS } else { &lines };
    let bringing: Vec<&Skill> = activation::skills_with_tools(book).collect();
    let mut tools = String::new();
    if !bringing.is_empty() {
        let active = bringing.iter().filter(|skill| skill.package.as_ref().is_some_and(|one| one.active));
        let names = |skills: Vec<&str>| if skills.is_empty() { "none".to_owned() } else { skills.join(", ") };
        let all = names(bringing.iter().map(|skill| skill.id.as_str()).collect());
        let active = names(active.map(|skill| skill.id.as_str()).collect());
        tools = format!("\n{}\nNotes with tools: {all}. Active from the start: {active}.\n", TOOLS.text());
    }
    let shipped = match book.shipped_lines() {
        lines if lines.is_empty() => lines,
        lines => format!("\n{SHIPPED}\n{lines}"),
    };
    BoundedText::cut(&format!("{}\n{lines}{shipped}{tools}", PULL.text()), OPENING_BUDGET)
}

fn included_texts(text: &str) -> Guidance {
    let opening = BoundedText::cut(&format!("{}\n{text}", GIVEN.text()), INCLUDED_BUDGET);
    Guidance { opening, ..Guidance::default() }
}

fn texts(skills: &[&Skill], otherwise: &str) -> Result<Guidance, GuidanceError> {
    if skills.is_empty() {
        return Err(GuidanceError::NoEligibleSkill(otherwise.to_owned()));
    }
    let mut text = String::new();
    for skill in skills {
        let _ = writeln!(text, "{}", skill.view());
    }
    Ok(included_texts(&text))
}
