//! Conversations in the form of OpenAI's chat API, as its fine-tuning takes them: one JSON object per line with `messages`
//! and `tools`.

use serde_json::{Value, json};

use crate::as_sent::SentForm;
use crate::conversation::{Answer, Conversation, Entry, FunctionCall, Part, call_ids};
use crate::episode::Episode;
use crate::folder::{OutFolder, PictureError};
use apprentice_trace::{Blobs, PictureRef};

/// Returns the line of an episode.
pub(super) fn line(
    episode: &Episode<'_>,
    conversation: &Conversation,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<Value, PictureError> {
    let messages = messages(conversation, &mut |picture| out.picture(picture, blobs))?;
    Ok(json!({ "messages": messages, "tools": conversation.tools, "metadata": metadata(episode) }))
}

/// Returns the line of an episode whose messages are those that the model's server got.
pub(super) fn sent_line(episode: &Episode<'_>, sent: &SentForm, profile: &str) -> Value {
    line_of(episode, sent, "as_sent_by_profile", profile)
}

/// Returns the line of an episode whose messages are those that a model of another profile would have had.
pub(super) fn written_line(episode: &Episode<'_>, sent: &SentForm, profile: &str) -> Value {
    line_of(episode, sent, "written_for_profile", profile)
}

fn line_of(episode: &Episode<'_>, sent: &SentForm, how: &str, profile: &str) -> Value {
    let mut metadata = metadata(episode);
    metadata[how] = profile.into();
    json!({ "messages": sent.messages, "tools": sent.tools, "metadata": metadata })
}

fn metadata(episode: &Episode<'_>) -> Value {
    let row = episode.row;
    json!({ "trial": row.trial, "attempt": row.attempt.to_string(), "task": row.task, "template": row.template })
}

/// Adds a picture to an export, and returns its reference; `None` where there are no pictures.
pub(super) type AddPicture<'a> = dyn FnMut(&PictureRef) -> Result<Option<String>, PictureError> + 'a;

/// The messages. A tool's message holds text alone in this API, so its pictures follow as a user's message.
pub(super) fn messages(
    conversation: &Conversation,
    add_picture: &mut AddPicture<'_>,
) -> Result<Vec<Value>, PictureError> {
    let known = call_ids(conversation);
    let mut messages: Vec<Value> =
        conversation.system.iter().map(|system| json!({ "role": "system", "content": system })).collect();
    for entry in &conversation.entries {
        match entry {
            Entry::User(parts) => messages.push(user(parts, add_picture)?),
            Entry::Assistant { text, calls, .. } => messages.push(assistant(text, calls)),
            Entry::Answers { answers, below } => {
                let mut rest = Vec::new();
                for Answer { call, text, pictures, .. } in answers {
                    match known.contains(call.as_str()) {
                        true => {
                            messages.push(json!({ "role": "tool", "tool_call_id": call, "content": text }));
                        }
                        false if text.is_empty() => {}
                        false => rest.push(Part::Text(text.clone())),
                    }
                    rest.extend(pictures.iter().cloned().map(Part::Picture));
                }
                rest.extend(below.iter().cloned());
                if !rest.is_empty() {
                    messages.push(user(&rest, add_picture)?);
                }
            }
        }
    }
    Ok(messages)
}

fn user(parts: &[Part], add_picture: &mut AddPicture<'_>) -> Result<Value, PictureError> {
    let mut content = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Part::Picture(picture) => {
                let url = add_picture(picture)?;
                content.extend(url.map(|url| json!({ "type": "image_url", "image_url": { "url": url } })));
            }
        }
    }
    Ok(json!({ "role": "user", "content": content }))
}

fn assistant(text: &str, calls: &[FunctionCall]) -> Value {
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(call).collect();
    }
    message
}

fn call(call: &FunctionCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
    json!({ "id": call.id, "type": "function", "function": function })
}
