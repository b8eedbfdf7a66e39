//! Signatures of functions that follow the screen: those of the task's programs stand in the opening text, and those of
//! another program are told when it first comes to the front. None is told twice.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_functions::Surface;
use apprentice_protocol::{
    BoundedText, EventKind, GuidanceRefresh, Observation, SkillEvent, SkillEventKind, StepRef, TextBudget,
    counted,
};
use apprentice_wording::{is_for_program, is_same_domain};

use super::reading::event::happened;
use super::reading::front_program::{BROWSER, front_domain};

/// Largest list of functions in a prompt, and of all that are told later, in characters.
const MAX_LIST_CHARS: TextBudget = TextBudget(8_000);
/// Stands above functions that are told after the opening.
const MORE: &str = "Functions for the program in front; their tools were there from the start:";

/// The signature of a function, as a model reads it, and where it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedFunction {
    /// The domain of its skill.
    pub(crate) domain: String,
    /// The surface that the function acts on.
    pub(crate) surface: Surface,
    /// The text.
    pub(crate) text: String,
}

impl DescribedFunction {
    /// Returns whether it is for this program: a function of pages for any browser, else for the programs of its domain.
    fn is_for(&self, program: &str) -> bool {
        let on_page = self.surface == Surface::Page && is_same_domain(program, BROWSER);
        on_page || is_for_program(&self.domain, program)
    }
}

/// Functions of programs that were not in front yet.
struct FunctionsOnScreen(Mutex<Waiting>);

struct Waiting {
    functions: Vec<DescribedFunction>,
    /// Characters that may still be added.
    left: usize,
}

/// The functions of the opening text, and the source of the others.
pub(crate) struct Listing {
    pub(crate) opening: String,
    pub(crate) later: Option<Arc<dyn GuidanceRefresh>>,
}

/// Lists the functions for the programs of a task; those of other programs wait. Where no function is for the task's
/// programs, or they are not known, all are listed.
pub(crate) fn listing(functions: Vec<DescribedFunction>, in_play: &BTreeSet<&str>) -> Listing {
    let is_in_play = |function: &DescribedFunction| in_play.iter().any(|program| function.is_for(program));
    let (now, later): (Vec<_>, Vec<_>) = if functions.iter().any(is_in_play) {
        functions.into_iter().partition(is_in_play)
    } else {
        (functions, Vec::new())
    };
    let mut left = MAX_LIST_CHARS.0;
    let opening = fitting(now, &mut left);
    let waiting = Waiting { functions: later, left: MAX_LIST_CHARS.0 };
    let later = (!waiting.functions.is_empty())
        .then(|| Arc::new(FunctionsOnScreen(Mutex::new(waiting))) as Arc<dyn GuidanceRefresh>);
    Listing { opening, later }
}

/// Returns the texts that fit, whole, and the number of the others: half of a signature would mislead.
fn fitting(functions: Vec<DescribedFunction>, left: &mut usize) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for function in functions {
        match left.checked_sub(function.text.chars().count() + 1) {
            Some(rest) => {
                *left = rest;
                text += &function.text;
                text.push('\n');
            }
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "({} not listed)", counted(left_out, "more function"));
    }
    text
}

impl GuidanceRefresh for FunctionsOnScreen {
    fn refresh(&self, _at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let front = front_domain(seen)?;
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, later) =
            std::mem::take(&mut waiting.functions).into_iter().partition(|function| function.is_for(&front));
        waiting.functions = later;
        let now: Vec<DescribedFunction> = now;
        if now.is_empty() {
            return None;
        }
        let text = format!("{MORE}\n{}", fitting(now, &mut waiting.left));
        let event = SkillEvent { detail: Some(front), ..happened(SkillEventKind::Indexed, &text) };
        let room = TextBudget(MAX_LIST_CHARS.0 + MORE.len() + text.len());
        Some((BoundedText::cut(&text, room), vec![EventKind::Skill(event)]))
    }
}

/// Several sources of later text as one.
pub(crate) struct Joined(pub(crate) Vec<Arc<dyn GuidanceRefresh>>);

impl GuidanceRefresh for Joined {
    fn refresh(&self, at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let (mut text, mut events) = (String::new(), Vec::new());
        for (more, happened) in self.0.iter().filter_map(|refresh| refresh.refresh(at, seen)) {
            if !text.is_empty() {
                text.push('\n');
            }
            text += more.as_str();
            events.extend(happened);
        }
        let room = TextBudget(text.chars().count());
        (!events.is_empty()).then(|| (BoundedText::cut(&text, room), events))
    }
}
