//! Trajectories of mini-swe-agent: `{info, messages, trajectory_format}`.
//!
//! Measured with 2.4.6: a malformed reply is no message of its own but stands in the message that complains; the submitting command is
//! said not to have run, though it did.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::document;
use crate::draft::{Answer, Draft};
use crate::error::ReadError;
use crate::json::{arguments, at, content, count, has, list, some_text, text};
use crate::model::{Call, Log, Program, Tokens};
use crate::texts::Texts;

const PROGRAM: &str = Program::MiniSweAgent.name();
const FORMATS: [&str; 2] = ["mini-swe-agent-1", "mini-swe-agent-1.1"];
/// How the agent says that it is done.
const SUBMITTED: &str = "Submitted";

/// Reads a trajectory.
pub(crate) fn read(path: &Path, texts: &Texts) -> Result<Log, ReadError> {
    let document = document::read(path, PROGRAM)?;
    let format = text(&document, "/trajectory_format").unwrap_or_default();
    if !FORMATS.contains(&format) {
        let (found, known) = (format!("format {format:?}"), "mini-swe-agent-1 and mini-swe-agent-1.1");
        return Err(ReadError::Unknown { path: path.to_owned(), program: PROGRAM, found, known });
    }
    let mut log = Log::new(Program::MiniSweAgent, path);
    log.version = some_text(&document, "/info/mini_version").map(str::to_owned);
    let mut talk = Talk { draft: Draft::new(texts), messages: 0, unnamed: VecDeque::new(), next: 0 };
    talk.draft.out.model = some_text(&document, "/info/config/model/model_name").map(str::to_owned);
    list(&document, "/messages").iter().for_each(|message| talk.message(message));
    let Talk { mut draft, messages, .. } = talk;
    let status = some_text(&document, "/info/exit_status").map(str::to_owned);
    if status.as_deref() == Some(SUBMITTED) {
        submitted(&mut draft);
        let answer = text(&document, "/info/submission").unwrap_or_default();
        draft.out.final_answer = (!answer.is_empty()).then(|| texts.keep(answer));
    }
    draft.out.exit_status = status;
    draft.out.assistant_messages = Some(messages);
    log.transcripts.push(draft.finish());
    Ok(log)
}

/// The last command submitted: what the log says of its failure is not so.
fn submitted(draft: &mut Draft<'_>) {
    let last = draft.out.turns.iter_mut().rev().find_map(|turn| turn.calls.last_mut());
    if let Some(call) = last {
        call.failed = false;
    }
}

/// The talk under way.
struct Talk<'t> {
    draft: Draft<'t>,
    messages: usize,
    /// Commands in words, which have no ids: they are answered in order.
    unnamed: VecDeque<String>,
    next: usize,
}

impl Talk<'_> {
    fn message(&mut self, message: &Value) {
        if has(message, "/extra/interrupt_type") && has(message, "/extra/response") {
            return self.malformed(&message["extra"]["response"]);
        }
        match text(message, "/role") {
            Some("assistant") => self.reply(message),
            Some("tool") => self.result(message, text(message, "/tool_call_id")),
            Some("user") if has(message, "/extra/returncode") || has(message, "/extra/raw_output") => {
                let id = self.unnamed.pop_front();
                self.result(message, id.as_deref());
            }
            Some("user") if !has(message, "/extra/interrupt_type") => {
                let words = content(&message["content"], &mut self.draft.pictures);
                self.draft.prompt(&words);
            }
            None if text(message, "/object") == Some("response") => self.response(message),
            None if text(message, "/type") == Some("function_call_output") => {
                self.result(message, text(message, "/call_id"));
            }
            _ => {}
        }
    }

    fn malformed(&mut self, response: &Value) {
        let turn = self.draft.new_turn(text(response, "/id"));
        let message = &response["choices"][0]["message"];
        let words = content(&message["content"], &mut self.draft.pictures);
        self.draft.say(turn, &words);
        self.draft.think(turn, text(message, "/reasoning_content").unwrap_or_default());
        self.draft.at(turn).malformed = true;
        self.draft.at(turn).tokens = tokens(response);
    }

    fn reply(&mut self, message: &Value) {
        self.messages += 1;
        let turn = self.draft.new_turn(text(message, "/extra/response/id"));
        self.draft.think(turn, text(message, "/reasoning_content").unwrap_or_default());
        let words = content(&message["content"], &mut self.draft.pictures);
        self.draft.say(turn, &words);
        let calls = list(message, "/tool_calls");
        for call in calls {
            let (id, name) =
                (text(call, "/id").unwrap_or_default(), text(call, "/function/name").unwrap_or_default());
            let arguments = arguments(&call["function"]["arguments"]);
            self.draft
                .call(turn, Call { id: id.to_owned(), name: name.to_owned(), arguments, ..Call::default() });
        }
        if calls.is_empty() {
            self.commands(turn, message);
        }
        self.draft.at(turn).tokens = tokens(&message["extra"]["response"]);
    }

    /// Commands that a model without tools wrote in its text.
    fn commands(&mut self, turn: usize, message: &Value) {
        for action in list(message, "/extra/actions") {
            let command = text(action, "/command").or_else(|| action.as_str()).unwrap_or_default();
            let id = format!("command {}", self.next);
            self.next += 1;
            self.unnamed.push_back(id.clone());
            let arguments = Some(Map::from_iter([("command".to_owned(), json!(command))]));
            self.draft.call(turn, Call { id, name: "bash".to_owned(), arguments, ..Call::default() });
        }
    }

    /// A reply in the form of OpenAI's Responses.
    fn response(&mut self, message: &Value) {
        self.messages += 1;
        let turn = self.draft.new_turn(text(message, "/id"));
        for item in list(message, "/output") {
            match text(item, "/type") {
                Some("message") => {
                    let words = content(&item["content"], &mut self.draft.pictures);
                    self.draft.say(turn, &words);
                }
                Some("reasoning") => {
                    let thoughts = list(item, "/summary").iter().filter_map(|part| some_text(part, "/text"));
                    thoughts.for_each(|thought| self.draft.think(turn, thought));
                }
                Some("function_call") => {
                    let id = text(item, "/call_id").unwrap_or_default().to_owned();
                    let name = text(item, "/name").unwrap_or_default().to_owned();
                    let arguments = arguments(&item["arguments"]);
                    self.draft.call(turn, Call { id, name, arguments, ..Call::default() });
                }
                _ => {}
            }
        }
        self.draft.at(turn).tokens = tokens(message);
    }

    fn result(&mut self, message: &Value, id: Option<&str>) {
        let Some(id) = id else { return };
        let raw = message.get("content").or_else(|| message.get("output")).unwrap_or(&Value::Null);
        let content_text = content(raw, &mut self.draft.pictures);
        let shown: Option<Value> = serde_json::from_str(&content_text).ok();
        let of_shown = shown.as_ref().and_then(|shown| text(shown, "/output"));
        let text_of = text(message, "/extra/raw_output").or(of_shown).unwrap_or(&content_text);
        let code = at(message, "/extra/returncode").and_then(Value::as_i64).unwrap_or_default();
        let answer = Answer { text: text_of.to_owned(), failed: code != 0 };
        self.draft.answer(id, &answer);
    }
}

fn tokens(response: &Value) -> Option<Tokens> {
    let usage = response.get("usage").filter(|usage| usage.is_object())?;
    let of = |names: [&str; 2]| names.iter().map(|name| count(usage, name)).max().unwrap_or_default();
    Some(Tokens {
        input: of(["/prompt_tokens", "/input_tokens"]),
        output: of(["/completion_tokens", "/output_tokens"]),
    })
}
