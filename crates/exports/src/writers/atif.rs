//! Harbor's Agent Trajectory Interchange Format (ATIF), version 1.8: one `trajectory.json` per attempt.

use apprentice_protocol::PersonEvent;
use serde_json::{Value, json};

use super::{EpisodeError, attempt_name, readable, shown};
use crate::conversation::{Answer, Conversation, Entry, FunctionCall, Part};
use crate::episode::{Episode, Turn};
use crate::folder::{FolderError, OutFolder};
use crate::select::Selection;
use apprentice_trace::{Blobs, PictureRef};

/// The version of the format.
const VERSION: &str = "ATIF-v1.8";

/// Writes trajectories.
pub(crate) struct Trajectories<'a> {
    program: &'a str,
    selection: &'a Selection,
}

/// The steps of one trajectory under way.
struct Steps<'a> {
    episode: &'a Episode<'a>,
    steps: Vec<Value>,
}

impl<'a> Trajectories<'a> {
    pub(super) fn new(program: &'a str, selection: &'a Selection) -> Self {
        Self { program, selection }
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let conversation = readable(episode, blobs, self.selection)?;
        let mut steps = Steps { episode, steps: Vec::new() };
        if let Some(system) = &conversation.system {
            let at = episode.began.to_string();
            steps.push(json!({ "timestamp": at, "source": "system", "message": system }));
        }
        for entry in &conversation.entries {
            steps.add(entry, out, blobs)?;
        }
        steps.add_persons(episode.turns.len());
        let document = self.document(episode, &conversation, &steps.steps);
        let name = format!("trajectories/{}/trajectory.json", attempt_name(episode.row));
        out.write_json(&name, &document)?;
        Ok(name)
    }

    fn document(&self, episode: &Episode<'_>, conversation: &Conversation, steps: &[Value]) -> Value {
        let row = episode.row;
        let total = steps.len();
        json!({
            "schema_version": VERSION,
            "session_id": format!("{}/{}", row.run, row.trial),
            "trajectory_id": format!("{}/{}/{}", row.run, row.trial, row.attempt),
            "agent": {
                "name": "apprentice",
                "version": self.program,
                "model_name": row.model,
                "tool_definitions": conversation.tools,
                "extra": { "arm": row.arm, "role": row.role, "coordinate_space": episode.header.model.space },
            },
            "steps": steps,
            "final_metrics": {
                "total_prompt_tokens": row.tokens.input,
                "total_completion_tokens": row.tokens.output,
                "total_cached_tokens": row.tokens.cached,
                "total_cost_usd": row.cost_usd,
                "total_steps": total,
            },
            "extra": {
                "task": row.task, "template": row.template, "suite": row.suite, "split": row.split, "seed": row.seed,
                "attempt": row.attempt, "verdict": row.verdict, "reward": row.score, "stop_reason": episode.stop,
                "void_cause": episode.void, "person_acts": row.person_acts, "conversation": match conversation.system {
                    Some(_) => "as it was sent",
                    None => "put together from a trace that does not hold what was sent",
                },
            },
        })
    }
}

impl Steps<'_> {
    fn push(&mut self, mut step: Value) {
        step["step_id"] = (self.steps.len() + 1).into();
        self.steps.push(step);
    }

    /// Adds what persons did before a turn, as steps of the user.
    fn add_persons(&mut self, turn: usize) {
        for acted in self.episode.persons_before(turn) {
            let act = &acted.act;
            let message = PersonEvent::Acted(Box::new(act.clone())).in_words();
            self.push(json!({
                "timestamp": acted.at.to_string(), "source": "user", "message": message,
                "extra": { "origin": act.origin, "by": act.by, "sent": act.sent, "outcome": act.outcome },
            }));
        }
    }

    fn add(&mut self, entry: &Entry, out: &mut OutFolder, blobs: &Blobs) -> Result<(), FolderError> {
        match entry {
            Entry::User(parts) => {
                let message = parts_of(parts, out, blobs)?;
                self.push(json!({ "source": "user", "message": message }));
            }
            Entry::Assistant { turn, text, calls } => {
                self.add_persons(*turn);
                let Some(turn) = self.episode.turns.get(*turn) else { return Ok(()) };
                self.push(reply(turn, text, calls));
            }
            Entry::Answers { answers, below } => {
                let mut results = Vec::new();
                let last = self.steps.last_mut().filter(|step| step["source"] == "agent");
                let calls = last.as_ref().map(|step| step["tool_calls"].clone()).unwrap_or_default();
                for answer in answers {
                    results.push(result(answer, &calls, out, blobs)?);
                }
                if !below.is_empty() {
                    results.push(json!({ "content": parts_of(below, out, blobs)? }));
                }
                match last {
                    Some(step) => step["observation"] = json!({ "results": results }),
                    None => {
                        self.push(json!({ "source": "user", "message": Value::from(results).to_string() }));
                    }
                }
            }
        }
        Ok(())
    }
}

fn reply(turn: &Turn, text: &str, calls: &[FunctionCall]) -> Value {
    let mut step = json!({
        "timestamp": turn.replied.to_string(),
        "source": "agent",
        "model_name": turn.provider_model,
        "message": text,
        "llm_call_count": 1,
        "metrics": {
            "prompt_tokens": turn.usage.input,
            "completion_tokens": turn.usage.output,
            "cached_tokens": turn.usage.cached,
            "cost_usd": turn.cost_usd,
        },
        "extra": {
            "step": turn.step,
            "actions": turn.acts.iter().map(|act| json!({
                "asked": act.record.asked, "screen_point": act.record.point, "target_role": act.record.target_role,
                "target_name": act.record.target_name, "outcome": act.record.outcome,
            })).collect::<Vec<_>>(),
        },
    });
    if !turn.thoughts.is_empty() {
        step["reasoning_content"] = turn.thoughts.join("\n\n").into();
    }
    if !calls.is_empty() {
        step["tool_calls"] = calls
            .iter()
            .map(|call| {
                let arguments = match &call.arguments {
                    Value::Object(_) => call.arguments.clone(),
                    other => json!({ "value": other }),
                };
                json!({ "tool_call_id": call.id, "function_name": call.name, "arguments": arguments })
            })
            .collect();
    }
    step
}

/// The answer to a call. One that answers no call of its step names none.
fn result(answer: &Answer, calls: &Value, out: &mut OutFolder, blobs: &Blobs) -> Result<Value, FolderError> {
    let known =
        calls.as_array().is_some_and(|calls| calls.iter().any(|call| call["tool_call_id"] == *answer.call));
    let text = std::iter::once(Part::Text(answer.text.clone()));
    let parts: Vec<Part> = text.chain(answer.pictures.iter().cloned().map(Part::Picture)).collect();
    let content = parts_of(&parts, out, blobs)?;
    Ok(if known {
        json!({ "source_call_id": answer.call, "content": content })
    } else {
        json!({ "content": content })
    })
}

/// Parts of a message: a text alone as it is, anything else as a list.
fn parts_of(parts: &[Part], out: &mut OutFolder, blobs: &Blobs) -> Result<Value, FolderError> {
    if let [Part::Text(text)] = parts {
        return Ok(text.clone().into());
    }
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => found.push(json!({ "type": "text", "text": text })),
            Part::Picture(picture) => found.extend(picture_part(picture, out, blobs)?),
        }
    }
    Ok(found.into())
}

/// A picture, with its path as seen from the trajectory's folder.
fn picture_part(
    picture: &PictureRef,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<Option<Value>, FolderError> {
    Ok(match shown(picture, out, blobs)? {
        Ok(path) => path.map(|path| {
            let source = json!({ "media_type": picture.media_type(), "path": format!("../../{path}") });
            json!({ "type": "image", "source": source })
        }),
        Err(why) => Some(json!({ "type": "text", "text": why })),
    })
}
