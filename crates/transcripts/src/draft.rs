//! A transcript under way: turns, calls by their ids, and what is counted once.

use std::collections::HashMap;

use crate::model::{Call, Tokens, Transcript, Turn};
use crate::pictures::Pictures;
use crate::texts::Texts;

/// A transcript under way.
#[derive(Debug)]
pub(crate) struct Draft<'t> {
    pub(crate) texts: &'t Texts,
    pub(crate) out: Transcript,
    pub(crate) pictures: Pictures,
    calls: HashMap<String, (usize, usize)>,
    replies: HashMap<String, usize>,
    prompt: Vec<String>,
}

/// What came back from a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

impl<'t> Draft<'t> {
    pub(crate) fn new(texts: &'t Texts) -> Self {
        Self {
            texts,
            out: Transcript::default(),
            pictures: Pictures::default(),
            calls: HashMap::new(),
            replies: HashMap::new(),
            prompt: Vec::new(),
        }
    }

    /// Adds what a person wrote.
    pub(crate) fn prompt(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let text = self.texts.keep(text);
        self.out.prompts.push(text.clone());
        self.prompt.push(text);
    }

    /// The turn with this id: the one that is there, or a new one.
    pub(crate) fn turn(&mut self, id: &str) -> usize {
        match self.replies.get(id) {
            Some(turn) => *turn,
            None => self.new_turn(Some(id)),
        }
    }

    /// Begins a turn.
    pub(crate) fn new_turn(&mut self, id: Option<&str>) -> usize {
        let place = self.out.turns.len();
        if let Some(id) = id {
            self.replies.insert(id.to_owned(), place);
        }
        let prompt = std::mem::take(&mut self.prompt);
        let prompt = (!prompt.is_empty()).then(|| prompt.join("\n\n"));
        self.out.turns.push(Turn { id: id.map(str::to_owned), prompt, ..Turn::default() });
        place
    }

    pub(crate) fn at(&mut self, turn: usize) -> &mut Turn {
        &mut self.out.turns[turn]
    }

    /// Adds visible thought to a turn.
    pub(crate) fn think(&mut self, turn: usize, thought: &str) {
        if !thought.trim().is_empty() {
            let thought = self.texts.keep(thought);
            self.at(turn).thoughts.push(thought);
        }
    }

    /// Adds text to a turn.
    pub(crate) fn say(&mut self, turn: usize, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let text = self.texts.keep(text);
        let said = &mut self.at(turn).text;
        if !said.is_empty() {
            said.push('\n');
        }
        said.push_str(&text);
    }

    /// Adds a call to a turn. Arguments that cannot be read make the reply malformed.
    pub(crate) fn call(&mut self, turn: usize, mut call: Call) {
        call.arguments = call.arguments.map(|arguments| self.texts.arguments(arguments));
        let place = self.at(turn).calls.len();
        if !call.id.is_empty() {
            self.calls.insert(call.id.clone(), (turn, place));
        }
        self.at(turn).malformed |= call.arguments.is_none();
        self.at(turn).calls.push(call);
    }

    /// Gives the last call of a turn another id by which its result may name it.
    pub(crate) fn also(&mut self, turn: usize, id: &str) {
        let place = self.at(turn).calls.len().saturating_sub(1);
        self.calls.insert(id.to_owned(), (turn, place));
    }

    /// Returns whether a call with this id is known.
    pub(crate) fn knows(&self, call: &str) -> bool {
        self.calls.contains_key(call)
    }

    /// The call with this id.
    pub(crate) fn call_mut(&mut self, id: &str) -> Option<&mut Call> {
        let (turn, place) = *self.calls.get(id)?;
        self.out.turns.get_mut(turn)?.calls.get_mut(place)
    }

    /// Adds the result of a call.
    pub(crate) fn answer(&mut self, id: &str, answer: &Answer) {
        self.answer_with(id, &answer.text, answer.failed);
    }

    /// Adds the result of a call, whose text is borrowed.
    pub(crate) fn answer_with(&mut self, id: &str, text: &str, failed: bool) {
        let text = (!text.trim().is_empty()).then(|| self.texts.keep(text));
        if let Some(call) = self.call_mut(id) {
            call.result = text;
            call.failed = failed;
            call.answered = true;
        }
    }

    /// Ends the transcript: sums up what is not told otherwise.
    pub(crate) fn finish(mut self) -> Transcript {
        let out = &mut self.out;
        if out.tokens.is_none() {
            let counts: Vec<Tokens> = out.turns.iter().filter_map(|turn| turn.tokens).collect();
            let sum = counts.iter().fold(Tokens::default(), |sum, tokens| sum.plus(*tokens));
            out.tokens = (!counts.is_empty()).then_some(sum);
        }
        if out.final_answer.is_none() {
            out.final_answer = out.turns.last().and_then(said_last);
        }
        out.pictures = self.pictures.inside();
        out.picture_paths = self.pictures.paths();
        self.out
    }
}

/// The text of a reply that ends a conversation: one that calls nothing and is whole.
fn said_last(turn: &Turn) -> Option<String> {
    let ends = turn.calls.is_empty() && !turn.unfinished && !turn.malformed && !turn.text.is_empty();
    ends.then(|| turn.text.clone())
}
