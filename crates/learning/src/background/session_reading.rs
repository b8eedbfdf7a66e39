//! The form in which a reader says what the words of a session mean. The program never guesses that from words: where the
//! reader is unsure, or where there is none, nothing follows.

use apprentice_protocol::{
    BoundedText, ChatRequest, Content, Message, NamedSchema, Prompt, Purpose, TextBudget,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session_turn::SessionRecord;

pub(crate) const PROMPT: Prompt =
    Prompt::new("skills/session_reading", include_str!("prompts/session_reading.md"), &[]);
/// Schema name of the answer.
pub const READING_SCHEMA: &str = "session.reading.v1";
const MATERIAL_SCHEMA: &str = "session.turns.v1";
const MAX_TURN_CHARS: TextBudget = TextBudget(1500);
/// Number of turns in one form: the last ones.
const MAX_TURNS: usize = 30;
const MAX_OUTPUT_TOKENS: u32 = 3000;

/// What a turn's instruction is to the turn before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It says that what was done is wrong, or not what was meant.
    Correction,
    /// It goes on with the same work.
    Continuation,
    /// It begins other work.
    NewTask,
    /// It cannot be told.
    Unclear,
}

/// An answer to a question of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// It cannot be told.
    Unclear,
}

/// The reader's answers about one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnReading {
    /// Number of the turn.
    pub turn: u32,
    /// What it is to the turn before.
    pub relation: Relation,
    /// Whether the person asks that how something is done be kept for later.
    pub asks_to_remember: Answer,
    /// Whether work of this kind can come again with other data.
    pub recurs: Answer,
}

/// The reader's answers about a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionReading {
    /// One entry per turn.
    pub turns: Vec<TurnReading>,
}

impl SessionReading {
    /// Returns the answers about a turn; unclear in every point where the reader said nothing.
    pub fn of(&self, turn: u32) -> TurnReading {
        let unclear = TurnReading {
            turn,
            relation: Relation::Unclear,
            asks_to_remember: Answer::Unclear,
            recurs: Answer::Unclear,
        };
        self.turns.iter().find(|reading| reading.turn == turn).cloned().unwrap_or(unclear)
    }

    /// Parses an answer, or says what is wrong with it.
    pub fn parse(response: &str, session: &SessionRecord) -> Result<Self, String> {
        let object = apprentice_model_json::json_of(response).ok_or("the answer holds no JSON object")?;
        let reading: Self = apprentice_model_json::from_text(object)
            .map_err(|error| format!("the answer does not fit the schema: {error}"))?;
        for (index, stated) in reading.turns.iter().enumerate() {
            if !session.turns.iter().any(|turn| turn.number == stated.turn) {
                return Err(format!("there is no turn {}", stated.turn));
            }
            if reading.turns[..index].iter().any(|other| other.turn == stated.turn) {
                return Err(format!("turn {} stands twice", stated.turn));
            }
        }
        Ok(reading)
    }
}

#[derive(Serialize)]
struct Material<'a> {
    schema: &'a str,
    turns: Vec<TurnMaterial>,
    earlier_turns_left_out: usize,
}

#[derive(Serialize)]
struct TurnMaterial {
    turn: u32,
    person: String,
    agent_reported: String,
    actions: u32,
    changed_the_same_elements_as_the_turn_before: bool,
    took_changes_back: bool,
}

/// Returns the request for a reading of a session.
pub(super) fn reading_request(session: &SessionRecord) -> Result<ChatRequest, serde_json::Error> {
    let left_out = session.turns.len().saturating_sub(MAX_TURNS);
    let turns = session.turns.iter().skip(left_out).map(|turn| TurnMaterial {
        turn: turn.number,
        person: cut(&turn.instruction),
        agent_reported: cut(&turn.report_words),
        actions: turn.acts,
        changed_the_same_elements_as_the_turn_before: !session.touched_again(turn).is_empty(),
        took_changes_back: turn.undo.is_some(),
    });
    let material =
        Material { schema: MATERIAL_SCHEMA, turns: turns.collect(), earlier_turns_left_out: left_out };
    let block = serde_json::to_string_pretty(&material)?;
    Ok(ChatRequest {
        purpose: Purpose::Reflect,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The session:\n\n```json\n{block}\n```\n"))],
        }],
        schema: Some(NamedSchema {
            name: READING_SCHEMA.to_owned(),
            schema: schemars::schema_for!(SessionReading).to_value(),
        }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

fn cut(text: &str) -> String {
    BoundedText::cut(text, MAX_TURN_CHARS).as_str().to_owned()
}
