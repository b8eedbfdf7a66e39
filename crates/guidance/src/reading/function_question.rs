//! Asks a model of few parameters whether its task asks for a function. It obeys whatever page it gets, and words alone do not tell
//! which is right or that none is. So each function that can begin on the screen is asked about, and the one that the model holds
//! most likely is lent, if it holds it likely enough.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ChatReply, ChatRequest, Content, Message, NamedSchema, Observation, Prompt};
use apprentice_skillbook::{NearFunction, ShortSteps, Skill, Snapshot, functions_by_fit};
use serde_json::json;

use super::beginning::{Beginning, beginning};

/// The question, with answers about the functions of a program that does not exist.
pub(crate) const QUESTION: Prompt =
    Prompt::new("skills/question", include_str!("../prompts/question.md"), &[]);
/// The functions that are asked about, nearest first. Each is a request of its own.
const MAX_ASKED: usize = 8;
/// Functions that share so little with the task are asked about only if they can begin on the screen.
const LEAST_SCORE: f64 = 0.4;
/// A function is lent from this logarithm of the odds of "yes" on. With Qwen2.5-Coder 1.5B (llama.cpp b10434) and 42 instructions of
/// which each has a page: the right function was lent for 31, and a wrong one for 14 of the 36 where other pages were left when its
/// own was taken away. From 0 on, the model's own "yes", these were 26 and 3.
const LEAST_ODDS: f64 = -0.6;
/// Room for the answer, a word in quotes.
const MAX_ANSWER_TOKENS: u32 = 8;
const YES: &str = "yes";
const NO: &str = "no";

/// The question of one trial.
pub(crate) struct FunctionQuestion {
    book: Snapshot,
    instruction: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The programs whose functions were looked for: each is asked about once.
    programs: BTreeSet<String>,
    left: VecDeque<(Skill, ShortSteps)>,
    /// The likeliest function of those that were asked about, with its odds.
    best: Option<(f64, (Skill, ShortSteps))>,
}

impl FunctionQuestion {
    pub(crate) fn new(book: &Snapshot, instruction: &str) -> Self {
        let (book, instruction) = (book.clone(), instruction.to_owned());
        Self { book, instruction, state: Mutex::default() }
    }

    /// Returns the next question about the functions of the program in front; `None` where one was chosen or none is left.
    pub(crate) fn next(&self, program: Option<&str>, seen: &Observation) -> Option<ChatRequest> {
        let program = program?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.chosen().is_none() && state.left.is_empty() && state.programs.insert(program.to_owned()) {
            let near = functions_by_fit(&self.book, &self.instruction, Some(program));
            state.left = asked_about(near, seen).into();
        }
        let (_, steps) = state.left.front()?;
        let text = format!("Task: {}\nFunction: {}", self.instruction.trim(), steps.function);
        Some(ChatRequest {
            system: QUESTION.text().trim_end().to_owned(),
            messages: vec![Message::User { content: vec![Content::text(text)] }],
            schema: Some(NamedSchema {
                name: "fits".to_owned(),
                schema: json!({ "type": "string", "enum": [YES, NO], "x-likelihoods": true }),
            }),
            max_output_tokens: MAX_ANSWER_TOKENS,
            ..ChatRequest::default()
        })
    }

    /// Takes the answer to the question.
    ///
    /// # Errors
    ///
    /// The answer is neither of the two, nor how likely each is.
    pub(crate) fn hear(&self, reply: &ChatReply) -> Result<(), String> {
        let said = reply.say.join("");
        let Some(odds) = odds(&said) else {
            let said: String = said.chars().take(40).collect();
            return Err(format!("asked for {YES:?} or {NO:?}, the model answered {said:?}"));
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(asked) = state.left.pop_front() else { return Ok(()) };
        if state.best.as_ref().is_none_or(|(best, _)| odds > *best) {
            state.best = Some((odds, asked));
        }
        Ok(())
    }

    /// Returns the function that the task asks for, as the model says.
    pub(crate) fn chosen(&self) -> Option<(Skill, ShortSteps)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).chosen().cloned()
    }
}

impl State {
    fn chosen(&self) -> Option<&(Skill, ShortSteps)> {
        let best = self.best.as_ref().filter(|(odds, _)| self.left.is_empty() && *odds >= LEAST_ODDS);
        best.map(|(_, chosen)| chosen)
    }
}

/// The logarithm of the odds of "yes" in an answer: how likely both are, or one of them, which is taken for certain.
fn odds(said: &str) -> Option<f64> {
    match said.trim().trim_matches('"') {
        YES => return Some(f64::INFINITY),
        NO => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let likely: BTreeMap<String, f64> = serde_json::from_str(said).ok()?;
    match (likely.get(YES), likely.get(NO)) {
        (Some(yes), Some(no)) => Some(yes - no),
        (Some(_), None) => Some(f64::INFINITY),
        (None, Some(_)) => Some(f64::NEG_INFINITY),
        (None, None) => None,
    }
}

/// Returns the functions to ask about: those whose first step can be done on this screen, else those whose words are in the task.
fn asked_about(near: Vec<NearFunction<'_>>, seen: &Observation) -> Vec<(Skill, ShortSteps)> {
    let begins: Vec<Beginning> =
        near.iter().map(|found| beginning(found.skill, &found.steps, seen)).collect();
    let begin_here = begins.contains(&Beginning::Here);
    let mut asked: Vec<(Skill, ShortSteps)> = Vec::new();
    for (found, begins) in near.into_iter().zip(begins) {
        let is_asked = match begins {
            Beginning::Here => true,
            Beginning::Unknown => found.score >= LEAST_SCORE,
            Beginning::Elsewhere => !begin_here && found.score >= LEAST_SCORE,
        };
        let is_new = asked.iter().all(|(_, steps)| steps.function != found.steps.function);
        if is_asked && is_new && asked.len() < MAX_ASKED {
            asked.push((found.skill.clone(), found.steps));
        }
    }
    asked
}
