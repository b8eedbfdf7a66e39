//! Asks a model of few parameters whether its task asks for a function. It obeys whatever page it gets, and words alone do not tell:
//! they find the right function among the nearest two far more often than they tell that none is right.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ChatReply, ChatRequest, Content, Message, NamedSchema, Prompt};
use apprentice_skillbook::{ShortSteps, Skill, Snapshot, candidates};
use serde_json::json;

/// The question, with answers about the functions of a program that does not exist.
pub(crate) const QUESTION: Prompt =
    Prompt::new("skills/question", include_str!("../prompts/question.md"), &[]);
/// The functions that are asked about, nearest first. Each is a request of its own.
const MAX_CANDIDATES: usize = 2;
/// Room for the answer, a word in quotes.
const MAX_ANSWER_TOKENS: u32 = 8;
const YES: &str = "yes";
const NO: &str = "no";

/// The words by which a function is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AskedAs {
    /// Its own.
    #[default]
    Itself,
    /// Those of the function in whose place a placebo stands, which are its first other words. So both are lent alike.
    WhatItReplaces,
}

/// The question of one trial.
pub(crate) struct FunctionQuestion {
    book: Snapshot,
    instruction: String,
    asked_as: AskedAs,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The programs whose functions were looked for: each is asked about once.
    programs: BTreeSet<String>,
    left: VecDeque<(Skill, ShortSteps)>,
    chosen: Option<(Skill, ShortSteps)>,
}

impl FunctionQuestion {
    pub(crate) fn new(book: &Snapshot, instruction: &str, asked_as: AskedAs) -> Self {
        let (book, instruction) = (book.clone(), instruction.to_owned());
        Self { book, instruction, asked_as, state: Mutex::default() }
    }

    /// Returns the next question about the functions of the program in front; `None` where one was chosen or none is left.
    pub(crate) fn next(&self, program: Option<&str>) -> Option<ChatRequest> {
        let program = program?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.chosen.is_none() && state.programs.insert(program.to_owned()) {
            let near = candidates(&self.book, &self.instruction, Some(program), MAX_CANDIDATES);
            state.left = near.into_iter().map(|found| (found.skill.clone(), found.steps)).collect();
        }
        let (_, steps) = state.left.front()?;
        let asked = match self.asked_as {
            AskedAs::Itself => &steps.function,
            AskedAs::WhatItReplaces => steps.also.first().unwrap_or(&steps.function),
        };
        let text = format!("Task: {}\nFunction: {asked}", self.instruction.trim());
        Some(ChatRequest {
            system: QUESTION.text().trim_end().to_owned(),
            messages: vec![Message::User { content: vec![Content::text(text)] }],
            schema: Some(NamedSchema {
                name: "fits".to_owned(),
                schema: json!({ "type": "string", "enum": [YES, NO] }),
            }),
            max_output_tokens: MAX_ANSWER_TOKENS,
            ..ChatRequest::default()
        })
    }

    /// Takes the answer to the question.
    ///
    /// # Errors
    ///
    /// The answer is neither of the two.
    pub(crate) fn hear(&self, reply: &ChatReply) -> Result<(), String> {
        let said = reply.say.join("");
        let fits = match said.trim().trim_matches('"') {
            YES => true,
            NO => false,
            other => {
                let other: String = other.chars().take(40).collect();
                return Err(format!("asked for {YES:?} or {NO:?}, the model answered {other:?}"));
            }
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = state.left.pop_front();
        if fits {
            state.chosen = asked;
            state.left.clear();
        }
        Ok(())
    }

    /// Returns the function that the task asks for, as the model says.
    pub(crate) fn chosen(&self) -> Option<(Skill, ShortSteps)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).chosen.clone()
    }
}
