//! Asks a model of few parameters which function its task asks for, if any. It obeys whatever page it gets, and words alone do not
//! tell which is right or that none is.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ChatReply, ChatRequest, Content, Message, NamedSchema, Observation, Prompt};
use apprentice_skillbook::{NearFunction, ShortSteps, Skill, Snapshot, functions_by_fit};
use serde_json::json;

use super::beginning::{Beginning, beginning};

/// The question, with answers about the functions of a program that does not exist.
pub(crate) const QUESTION: Prompt =
    Prompt::new("skills/question", include_str!("../prompts/question.md"), &[]);
/// The functions that are listed in the question, nearest first.
const MAX_LISTED: usize = 6;
/// Functions that share so little with the task are listed only if they can begin on the screen.
const LEAST_SCORE: f64 = 0.4;
/// Room for the answer, a function in quotes.
const MAX_ANSWER_TOKENS: u32 = 60;
/// The answer that no function fits.
const NONE: &str = "none of these";

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
    listed: Vec<(Skill, ShortSteps)>,
    chosen: Option<(Skill, ShortSteps)>,
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
        if state.chosen.is_some() || !state.programs.insert(program.to_owned()) {
            return None;
        }
        let near = functions_by_fit(&self.book, &self.instruction, Some(program));
        state.listed = listed(near, seen);
        if state.listed.is_empty() {
            return None;
        }
        let names: Vec<&str> = state.listed.iter().map(|(_, steps)| steps.function.as_str()).collect();
        let lines: String = names.iter().map(|name| format!("- {name}\n")).collect();
        let text = format!("Functions:\n{lines}- {NONE}\nTask: {}", self.instruction.trim());
        let answers: Vec<&str> = names.into_iter().chain([NONE]).collect();
        Some(ChatRequest {
            system: QUESTION.text().trim_end().to_owned(),
            messages: vec![Message::User { content: vec![Content::text(text)] }],
            schema: Some(NamedSchema {
                name: "function".to_owned(),
                schema: json!({ "type": "string", "enum": answers }),
            }),
            max_output_tokens: MAX_ANSWER_TOKENS,
            ..ChatRequest::default()
        })
    }

    /// Takes the answer to the question.
    ///
    /// # Errors
    ///
    /// The answer is none of those that were asked for.
    pub(crate) fn hear(&self, reply: &ChatReply) -> Result<(), String> {
        let said = reply.say.join("");
        let said = serde_json::from_str::<String>(said.trim()).unwrap_or_else(|_| said.trim().to_owned());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = std::mem::take(&mut state.listed);
        if said == NONE {
            return Ok(());
        }
        let Some(chosen) = listed.into_iter().find(|(_, steps)| steps.function == said) else {
            let said: String = said.chars().take(40).collect();
            return Err(format!("asked for a function of a list or {NONE:?}, the model answered {said:?}"));
        };
        state.chosen = Some(chosen);
        Ok(())
    }

    /// Returns the function that the task asks for, as the model says.
    pub(crate) fn chosen(&self) -> Option<(Skill, ShortSteps)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).chosen.clone()
    }
}

/// Returns the functions to ask about: those whose first step can be done on this screen, else those whose words are in the task.
fn listed(near: Vec<NearFunction<'_>>, seen: &Observation) -> Vec<(Skill, ShortSteps)> {
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
        if is_asked && is_new && asked.len() < MAX_LISTED {
            asked.push((found.skill.clone(), found.steps));
        }
    }
    asked
}
