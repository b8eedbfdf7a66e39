//! Conversations in ShareGPT's form, as LLaMA-Factory and others read it: `conversations` that alternate between `human` and
//! `gpt`, one mark `<image>` in the text for each of the `images`, in order.

use serde_json::{Value, json};

use crate::conversation::{Conversation, Entry, FunctionCall, Part};
use crate::episode::Episode;
use crate::folder::{OutFolder, PictureError};
use apprentice_trace::Blobs;

/// Stands in the text for a picture.
const IMAGE: &str = "<image>";
/// Stands for the same characters where a page or a person wrote them: they are no picture.
const NO_IMAGE: &str = "<image >";

/// Returns the line of an episode.
pub(super) fn line(
    episode: &Episode<'_>,
    conversation: &Conversation,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<Value, PictureError> {
    let mut turns = Turns::default();
    for entry in &conversation.entries {
        turns.add(entry, out, blobs)?;
    }
    if turns.turns.last().is_some_and(|last| last.from == HUMAN) {
        turns.drop_last();
    }
    Ok(turns.line(conversation, episode.row.trial.as_str()))
}

const HUMAN: &str = "human";
const MODEL: &str = "gpt";

struct SharedTurn {
    from: &'static str,
    value: String,
    images: usize,
}

/// Turns that alternate: what follows from the same side is joined.
#[derive(Default)]
struct Turns {
    turns: Vec<SharedTurn>,
    images: Vec<String>,
}

impl Turns {
    fn add(&mut self, entry: &Entry, out: &mut OutFolder, blobs: &Blobs) -> Result<(), PictureError> {
        match entry {
            Entry::User(parts) => self.parts(parts, out, blobs),
            Entry::Assistant { text, calls, .. } => {
                let calls = calls.iter().map(tool_call);
                let text = std::iter::once(plain(text)).filter(|text| !text.is_empty()).chain(calls);
                self.say(MODEL, &text.collect::<Vec<_>>().join("\n"));
                Ok(())
            }
            Entry::Answers { answers, below } => {
                for answer in answers {
                    self.say(HUMAN, &tool_response(&answer.name, &answer.text));
                    let pictures: Vec<Part> = answer.pictures.iter().cloned().map(Part::Picture).collect();
                    self.parts(&pictures, out, blobs)?;
                }
                self.parts(below, out, blobs)
            }
        }
    }

    fn parts(&mut self, parts: &[Part], out: &mut OutFolder, blobs: &Blobs) -> Result<(), PictureError> {
        for part in parts {
            match part {
                Part::Text(text) => self.say(HUMAN, &plain(text)),
                Part::Picture(picture) => {
                    if let Some(path) = out.picture(picture, blobs)? {
                        self.say(HUMAN, IMAGE);
                        self.images.push(path);
                        if let Some(turn) = self.turns.last_mut() {
                            turn.images += 1;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, from: &'static str, value: &str) {
        match self.turns.last_mut().filter(|turn| turn.from == from) {
            Some(turn) => {
                turn.value.push('\n');
                turn.value.push_str(value);
            }
            None => self.turns.push(SharedTurn { from, value: value.to_owned(), images: 0 }),
        }
    }

    /// Drops a last turn that nobody answers, with its pictures.
    fn drop_last(&mut self) {
        if let Some(turn) = self.turns.pop() {
            self.images.truncate(self.images.len().saturating_sub(turn.images));
        }
    }

    fn line(&self, conversation: &Conversation, id: &str) -> Value {
        let turns = self.turns.iter().map(|turn| json!({ "from": turn.from, "value": turn.value }));
        json!({
            "id": id,
            "conversations": turns.collect::<Vec<_>>(),
            "system": conversation.system.as_deref().map(plain).unwrap_or_default(),
            "tools": Value::from(conversation.tools.clone()).to_string(),
            "images": self.images,
        })
    }
}

/// A text in which the mark of a picture is no mark.
fn plain(text: &str) -> String {
    text.replace(IMAGE, NO_IMAGE)
}

fn tool_call(call: &FunctionCall) -> String {
    let call = json!({ "name": call.name, "arguments": call.arguments });
    format!("<tool_call>\n{}\n</tool_call>", plain(&call.to_string()))
}

fn tool_response(name: &str, text: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
    format!("<tool_response>\n{of}{}\n</tool_response>", plain(text))
}
