//! Arm policies as data: which part of a book reaches a trial, and how. The agent loop does not know them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use apprentice_protocol::{BoundedText, EventKind, Guidance, TextBudget};
use apprentice_skillbook::{Skill, Snapshot, fitting_of};
use apprentice_wording::GENERAL_DOMAINS;

use super::activation::activated::{self, ContributedTools, ToolFormat};
use super::activation::source_format;
use super::functions::Functions;
use super::functions_on_screen::{Joined, listing};
use super::model::{ArmPolicy, GuidanceError, INCLUDED_BUDGET, TaskView};
use super::placebo::{self, Strangers};
use super::prompts::{FUNCTIONS, GIVEN, PULL, TOOLS};
use super::reading::fence;
use super::reading::front_program::FrontProgram;
use super::reading::function_question::FunctionQuestion;
use super::reading::short_reader::ShortReader;
use super::reading::tools::{self, ReadingContext, delivered};
use super::screen_guidance::{IndexOnScreen, IndexScope, PushOnScreen, Wanted};

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
    let book = &book.lendable();
    let provide = |book: &Snapshot, pulled| pull(book, book, task, contributed, pulled);
    let instead = |placebo: &Snapshot| pull(placebo, book, task, contributed, Pulled::default());
    let pull = |book: &Snapshot| provide(book, Pulled::default());
    Ok(match policy {
        ArmPolicy::None => Guidance::default(),
        ArmPolicy::ToolsOnly => pull(&Snapshot::empty()),
        ArmPolicy::Pull { figures } => provide(book, Pulled { figures: *figures, ..Pulled::default() }),
        ArmPolicy::IndexPull => provide(book, Pulled { index: true, ..Pulled::default() }),
        ArmPolicy::Index => {
            let lines: String = book.domains().into_iter().map(|domain| book.index(domain) + "\n").collect();
            included_texts(&lines)
        }
        ArmPolicy::Push { count } => {
            let wanted = wanted(book, task, *count)?;
            let book = book.with_app_versions(&task.present);
            Guidance { refresh: Some(Arc::new(PushOnScreen::new(&book, wanted))), ..Guidance::default() }
        }
        ArmPolicy::PlaceboPush { count } => {
            let wanted = wanted(book, task, *count)?;
            let inert = placebo::inert_placebo(book, task)?;
            let push = PushOnScreen::new(&inert, wanted).in_place_of(book, Strangers::new(book, task));
            Guidance { refresh: Some(Arc::new(push)), ..Guidance::default() }
        }
        ArmPolicy::All => texts(&book.skills().collect::<Vec<_>>(), "the book is empty")?,
        ArmPolicy::Forced { skills } => {
            let found: Vec<&Skill> = skills.iter().filter_map(|id| book.skill(id)).collect();
            let given = texts(&found, "none of the skills to force is in the book")?;
            Guidance { opening_briefly: Some(brief_texts(&found, task)), ..given }
        }
        ArmPolicy::Inline { text } if text.trim().is_empty() => {
            return Err(GuidanceError::NoEligibleSkill("there is no text to put in".to_owned()));
        }
        ArmPolicy::Inline { text } => included_texts(text),
        ArmPolicy::Code { pull: with_notes, unverified, own_tools } => {
            let base = if *with_notes { pull(book) } else { Guidance::default() };
            with_functions(base, Functions::of(book, *unverified), *own_tools, task)?
        }
        ArmPolicy::PlaceboInert => instead(&placebo::inert_placebo(book, task)?),
        ArmPolicy::PlaceboWrong => instead(&placebo::wrong_placebo(book)?),
        ArmPolicy::PlaceboForced => {
            let fitted = placebo::forced_placebo(book, task)?;
            let given = texts(&fitted.iter().collect::<Vec<_>>(), "no skill is left")?;
            let inert = placebo::inert_placebo(book, task)?;
            let mut with_steps: Vec<&Skill> = inert.skills().collect();
            with_steps.retain(|skill| !skill.short_steps().is_empty());
            let brief = if with_steps.is_empty() { fitted.iter().collect() } else { with_steps };
            Guidance { opening_briefly: Some(brief_texts(&brief, task)), ..given }
        }
    })
}

/// Adds the functions of a book and the tool that calls them.
fn with_functions(
    mut base: Guidance,
    functions: Functions,
    own_tools: bool,
    task: &TaskView,
) -> Result<Guidance, GuidanceError> {
    if functions.is_empty() {
        let why = "the book has no verified function".to_owned();
        return Err(GuidanceError::NoEligibleSkill(why));
    }
    let general = (!task.apps.is_empty()).then_some(GENERAL_DOMAINS).into_iter().flatten();
    let in_play = task.apps.iter().map(String::as_str).chain(general).collect();
    let listing = listing(functions.described(), &in_play);
    let text = format!("{}\n{}", FUNCTIONS.text(), listing.opening);
    let before = base.opening.as_str();
    let opening = if before.is_empty() { text } else { format!("{before}\n{text}") };
    base.opening = BoundedText::cut(&opening, INCLUDED_BUDGET);
    base.tools.extend(functions.tools(own_tools));
    base.refresh = match (base.refresh.take(), listing.later) {
        (Some(notes), Some(functions)) => Some(Arc::new(Joined(vec![notes, functions]))),
        (notes, functions) => notes.or(functions),
    };
    Ok(base)
}

/// The differences between arms whose texts come on request.
#[derive(Clone, Copy, Default)]
struct Pulled {
    /// True if a skill's text comes with its figures as pictures.
    figures: bool,
    /// True if the descriptions of all skills of the programs in play are in the prompt.
    index: bool,
}

/// What a push looks for in a book.
fn wanted(book: &Snapshot, task: &TaskView, count: usize) -> Result<Wanted, GuidanceError> {
    let wanted = Wanted { query: query(task), instruction: task.instruction.clone(), count };
    if book.search(&wanted.query, 1).is_empty() {
        let why = "no skill shares a word with the instruction".to_owned();
        return Err(GuidanceError::NoEligibleSkill(why));
    }
    Ok(wanted)
}

/// Lends a book through tools. A reader of short views is asked about the functions of `asked`: those of the book, or those in whose
/// place a placebo's stand.
fn pull(
    book: &Snapshot,
    asked: &Snapshot,
    task: &TaskView,
    contributed: &ContributedTools,
    pulled: Pulled,
) -> Guidance {
    let book = &book.with_app_versions(&task.present);
    if contributed.dialect == ToolFormat::Seed {
        return source_format::build_guidance(book, contributed);
    }
    let front = FrontProgram::default();
    let (reader, instruction) = (ShortReader::default(), task.instruction.clone());
    let question = FunctionQuestion::new(asked, &instruction);
    let context = ReadingContext {
        book: book.clone(),
        front: front.clone(),
        pictures: pulled.figures,
        reader: reader.clone(),
        instruction,
    };
    let mut tools = tools::within(&context);
    tools.extend(activated::over(book, contributed));
    let (opening, scope, shown) = if pulled.index {
        let domains = domains_in_play(book, task);
        (index_opening(book, &domains), IndexScope::EveryProgram, domains)
    } else {
        (pull_opening(book), IndexScope::FirstView, BTreeSet::new())
    };
    let refresh = IndexOnScreen::new(book, &front, scope, shown).for_task(reader, question);
    Guidance { opening, tools, refresh: Some(Arc::new(refresh)), ..Guidance::default() }
}

/// Returns the domains of a task's programs that the book knows, and those of all programs.
fn domains_in_play(book: &Snapshot, task: &TaskView) -> BTreeSet<String> {
    let named = task.apps.iter().map(String::as_str).chain(GENERAL_DOMAINS);
    named.flat_map(|app| tools::domains_named(book, app)).map(str::to_owned).collect()
}

fn index_opening(book: &Snapshot, domains: &BTreeSet<String>) -> BoundedText {
    let listed: String = domains.iter().map(|domain| book.index(domain) + "\n").collect();
    BoundedText::cut(&format!("{}\n\n{listed}", pull_opening(book).as_str()), INCLUDED_BUDGET)
}

/// Returns the search query for a task.
pub(crate) fn query(task: &TaskView) -> String {
    format!("{} {}", task.instruction, task.apps.join(" "))
}

fn pull_opening(book: &Snapshot) -> BoundedText {
    let lines = book.domain_lines();
    let lines = if lines.is_empty() { NO_DOMAINS } else { &lines };
    let bringing: Vec<&Skill> = activated::skills_with_tools(book).collect();
    let mut tools = String::new();
    if !bringing.is_empty() {
        let active =
            bringing.iter().filter(|skill| skill.package.as_ref().is_some_and(|package| package.active));
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

/// Returns what a reader of short views gets in place of skills' texts: of each skill the short steps of the function that the
/// instruction is nearest to, and the whole text of a skill without any. With Qwen2.5-Coder 1.5B a whole text of some lines in the
/// prompt helped as well (`docs/measure-a-skill.md`).
fn brief_texts(skills: &[&Skill], task: &TaskView) -> (BoundedText, Vec<EventKind>) {
    let (mut text, mut given) = (String::new(), Vec::new());
    for skill in skills {
        let (note, event) = match fitting_of(skill, &task.instruction) {
            Some(steps) => tools::viewed_steps(skill, &steps),
            None => delivered(skill, fence::note(skill, &skill.prose_view())),
        };
        let _ = writeln!(text, "{note}");
        given.push((note, event));
    }
    let text = BoundedText::cut(&text, INCLUDED_BUDGET);
    // What the limit on the prompt cuts was not given whole.
    given.retain(|(note, _)| text.as_str().contains(note.as_str()));
    (text, given.into_iter().map(|(_, event)| EventKind::Skill(event)).collect())
}

fn texts(skills: &[&Skill], otherwise: &str) -> Result<Guidance, GuidanceError> {
    if skills.is_empty() {
        return Err(GuidanceError::NoEligibleSkill(otherwise.to_owned()));
    }
    let (mut text, mut given) = (String::new(), Vec::new());
    for skill in skills {
        let (note, event) = delivered(skill, fence::note(skill, &skill.prose_view()));
        let _ = writeln!(text, "{note}");
        given.push((note, event));
    }
    let guidance = included_texts(&text);
    // What the limit on the prompt cuts was not given whole.
    given.retain(|(note, _)| guidance.opening.as_str().contains(note.as_str()));
    let opening_events = given.into_iter().map(|(_, event)| EventKind::Skill(event)).collect();
    Ok(Guidance { opening_events, ..guidance })
}
