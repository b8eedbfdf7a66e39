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

use super::event::happened;
use super::front_program::{BROWSER, front_domain};
use crate::words::{is_for_program, is_same_domain};

/// Largest list of functions in a prompt, and of all that are told later, in characters.
const LISTED: TextBudget = TextBudget(8_000);
/// Stands above functions that are told after the opening.
const MORE: &str = "Functions for the program in front; their tools were there from the start:";

/// The signature of a function, as a model reads it, and where it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToldFunction {
    /// The domain of its skill.
    pub(super) domain: String,
    /// What it acts on.
    pub(super) surface: Surface,
    /// The text.
    pub(super) text: String,
}

impl ToldFunction {
    /// Returns whether it is for this program: a function of pages for any browser, else for the programs of its domain.
    fn is_for(&self, program: &str) -> bool {
        let on_page = self.surface == Surface::Page && is_same_domain(program, BROWSER);
        on_page || is_for_program(&self.domain, program)
    }
}

/// Functions of programs that were not in front yet.
struct FunctionsOnScreen(Mutex<Waiting>);

struct Waiting {
    functions: Vec<ToldFunction>,
    /// Characters that may still be added.
    left: usize,
}

/// The functions of the opening text, and the source of the others.
pub(super) struct Listing {
    pub(super) opening: String,
    pub(super) later: Option<Arc<dyn GuidanceRefresh>>,
}

/// Lists the functions for the programs of a task; those of other programs wait. Where no function is for the task's
/// programs, or they are not known, all are listed.
pub(super) fn listing(functions: Vec<ToldFunction>, in_play: &BTreeSet<&str>) -> Listing {
    let is_in_play = |one: &ToldFunction| in_play.iter().any(|program| one.is_for(program));
    let (now, later): (Vec<_>, Vec<_>) = match functions.iter().any(is_in_play) {
        true => functions.into_iter().partition(is_in_play),
        false => (functions, Vec::new()),
    };
    let mut left = LISTED.0;
    let opening = fitting(now, &mut left);
    let waiting = Waiting { functions: later, left: LISTED.0 };
    let later = (!waiting.functions.is_empty())
        .then(|| Arc::new(FunctionsOnScreen(Mutex::new(waiting))) as Arc<dyn GuidanceRefresh>);
    Listing { opening, later }
}

/// Returns the texts that fit, whole, and the number of the others: half of a signature would mislead.
fn fitting(functions: Vec<ToldFunction>, left: &mut usize) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for one in functions {
        match left.checked_sub(one.text.chars().count() + 1) {
            Some(rest) => {
                *left = rest;
                text += &one.text;
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
            std::mem::take(&mut waiting.functions).into_iter().partition(|one| one.is_for(&front));
        waiting.functions = later;
        let now: Vec<ToldFunction> = now;
        if now.is_empty() {
            return None;
        }
        let text = format!("{MORE}\n{}", fitting(now, &mut waiting.left));
        let event = SkillEvent { detail: Some(front), ..happened(SkillEventKind::Indexed, &text) };
        let room = TextBudget(LISTED.0 + MORE.len() + text.len());
        Some((BoundedText::cut(&text, room), vec![EventKind::Skill(event)]))
    }
}

/// Several sources of later text as one.
pub(super) struct Joined(pub(super) Vec<Arc<dyn GuidanceRefresh>>);

impl GuidanceRefresh for Joined {
    fn refresh(&self, at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let (mut text, mut events) = (String::new(), Vec::new());
        for (more, happened) in self.0.iter().filter_map(|one| one.refresh(at, seen)) {
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
