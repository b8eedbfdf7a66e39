//! The document of one turn: what the model was sent, its reply as the provider sent it, the whole outline, and what
//! changed in it.

use std::time::Duration;

use apprentice_protocol::{BlobHash, Call, Content, Message};
use apprentice_trace::{BlobError, Blobs, PictureRef};
use apprentice_wording::line_diff::LineDiff;
use serde::Serialize;
use serde_json::Value;

use crate::act::{cut, text_of};
use crate::turn::Turn;

/// The most characters of one text.
const TEXT: usize = 200_000;
/// The most lines of a difference.
const LINES: usize = 4000;
/// Unchanged lines around a change.
const AROUND: usize = 2;
/// How long a difference may take. What is not found until then is shown as removed and added.
const DEADLINE: Duration = Duration::from_millis(500);

/// One turn in full.
#[derive(Debug, Default, Serialize)]
pub(crate) struct StepDocument {
    /// The system prompt and tools, which were sent with the first request and are the same since.
    system: Option<String>,
    tools: Vec<ToolText>,
    /// The messages that were new in this turn's request.
    sent: Vec<SentMessage>,
    /// Whether the trace holds what was sent; older ones and some runs do not.
    has_sent: bool,
    /// The blocks of the reply as the provider sent them.
    raw: Vec<String>,
    /// The outline before the turn.
    outline: Option<String>,
    /// The text as the model got it, where it is another.
    shown: Option<String>,
    /// What the turn changed in the outline.
    changes: Option<Vec<ChangedLine>>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ToolText {
    name: String,
    description: String,
    schema: Value,
}

#[derive(Debug, Serialize)]
struct SentMessage {
    role: &'static str,
    parts: Vec<SentPart>,
}

/// A part of a message: a text, or a picture as `HASH.EXTENSION`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum SentPart {
    Text(String),
    Picture(String),
}

/// A line of a difference.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct ChangedLine {
    /// `+`, `-`, a blank, or `…` where unchanged lines are left out.
    pub(crate) sign: char,
    pub(crate) text: String,
}

/// Makes the document of a turn. `turns` are all turns of the attempt.
pub(crate) fn document(turns: &[Turn], place: usize, blobs: &Blobs) -> Option<StepDocument> {
    let turn = turns.get(place)?;
    let mut made = StepDocument { has_sent: !turn.messages.is_empty(), ..StepDocument::default() };
    let mut reader = Reading { blobs, problems: Vec::new() };
    if let Some(hash) = turns[..=place].iter().rev().find_map(|turn| turn.request.as_ref())
        && let Some(request) = reader.of(blobs.request(hash))
    {
        made.system = Some(cut(&request.system, TEXT));
        let tools = request.tools.into_iter();
        made.tools = tools
            .map(|tool| ToolText { name: tool.name, description: tool.description, schema: tool.schema })
            .collect();
    }
    made.sent = turn.messages.iter().filter_map(|hash| reader.of(blobs.message(hash))).map(sent).collect();
    made.raw = turn.raw.iter().filter_map(|hash| reader.raw(hash)).collect();
    let outline = |reader: &mut Reading<'_>, hash: Option<&BlobHash>| hash.and_then(|hash| reader.text(hash));
    let before = turn.before.as_ref();
    made.outline = outline(&mut reader, before.and_then(|screen| screen.outline.as_ref()));
    made.shown = outline(&mut reader, before.and_then(|screen| screen.shown.as_ref()));
    let after = outline(&mut reader, turn.after.as_ref().and_then(|screen| screen.outline.as_ref()));
    made.changes = made.outline.as_deref().zip(after.as_deref()).map(|(old, new)| changes(old, new));
    made.problems = reader.problems;
    Some(made)
}

/// Reads blobs, and keeps in words what is missing.
struct Reading<'a> {
    blobs: &'a Blobs,
    problems: Vec<String>,
}

impl Reading<'_> {
    fn of<T>(&mut self, read: Result<T, BlobError>) -> Option<T> {
        read.map_err(|error| self.problems.push(error.to_string())).ok()
    }

    fn text(&mut self, hash: &BlobHash) -> Option<String> {
        let read = self.blobs.text(hash);
        self.of(read).map(|text| cut(&text, TEXT))
    }

    fn raw(&mut self, hash: &BlobHash) -> Option<String> {
        let read = self.blobs.read(hash, "json");
        let bytes = self.of(read)?;
        let text = match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) => format!("{value:#}"),
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        Some(cut(&text, TEXT))
    }
}

fn sent(message: Message) -> SentMessage {
    match message {
        Message::User { content } => SentMessage { role: "user", parts: parts(&content) },
        Message::Assistant { say, calls, .. } => {
            let calls = calls.iter().map(call);
            let texts = say.into_iter().chain(calls).map(|text| SentPart::Text(cut(&text, TEXT)));
            SentMessage { role: "assistant", parts: texts.collect() }
        }
        Message::Results { results, notices } => {
            let mut all = Vec::new();
            for result in &results {
                let outcomes = result.per_action.iter().map(|outcome| format!("{outcome:?}"));
                let head: Vec<String> = outcomes.collect();
                if !head.is_empty() {
                    all.push(SentPart::Text(head.join("\n")));
                }
                all.extend(parts(&result.content));
            }
            all.extend(parts(&notices));
            SentMessage { role: "results", parts: all }
        }
    }
}

fn call(call: &Call) -> String {
    serde_json::to_string_pretty(&call.body).unwrap_or_default()
}

fn parts(content: &[Content]) -> Vec<SentPart> {
    let one = |part: &Content| match part {
        Content::Text { .. } => SentPart::Text(cut(&text_of(std::slice::from_ref(part)), TEXT)),
        Content::Image { image } => {
            let picture = PictureRef::of(image);
            SentPart::Picture(format!("{}.{}", picture.hash, picture.extension()))
        }
    };
    content.iter().map(one).collect()
}

/// The lines that differ, with some lines around them.
pub(crate) fn changes(old: &str, new: &str) -> Vec<ChangedLine> {
    let mut lines = Vec::new();
    for (number, group) in LineDiff::within(DEADLINE, old, new).groups(AROUND).iter().enumerate() {
        if number > 0 {
            lines.push(ChangedLine { sign: '…', text: String::new() });
        }
        for line in group {
            let text = line.text.trim_end_matches('\n').to_owned();
            lines.push(ChangedLine { sign: line.change.sign(), text });
        }
        if lines.len() > LINES {
            let left = "the rest of the changes is left out".to_owned();
            lines.push(ChangedLine { sign: '…', text: left });
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn a_difference_shows_what_changed_and_where() {
        let old: Vec<String> = (0..20).map(|line| format!("line {line}")).collect();
        let new = old.join("\n").replace("line 3\n", "line three\n").replace("line 17\n", "");
        let text: Vec<String> =
            changes(&old.join("\n"), &new).iter().map(|line| format!("{}{}", line.sign, line.text)).collect();
        assert_eq!(
            text,
            [
                " line 1",
                " line 2",
                "-line 3",
                "+line three",
                " line 4",
                " line 5",
                "…",
                " line 15",
                " line 16",
                "-line 17",
                " line 18",
                " line 19",
            ]
        );
        assert!(changes("same", "same").is_empty());
    }
}
