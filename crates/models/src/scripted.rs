//! A model that reads its replies from a file: `scripted:FILE`, one JSON line per reply.
//!
//! A line is `{"calls":[{"name":…,"arguments":…}],"say":…}`. The call `computer` takes `{"actions":[…]}` in the form of
//! [`Action`]; `finish` takes a [`Finish`]; any other name is a tool. `unusable` simulates a reply that an adapter
//! could not read, and `stop` sets the reply's stop reason.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use apprentice_protocol::{
    Action, BoxFuture, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, CoordinateSpace, Finish,
    HistoryRule, ImagePoint, ImageRule, Message, ModelError, ModelErrorKind, ModelProfile, RawContent,
    ReplyStop, Timing, ToolRule, Usage, ViewRule,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One scripted call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// `computer`, `finish`, or the name of a tool.
    pub name: String,
    /// The arguments of the call.
    #[serde(default)]
    pub arguments: Value,
}

/// One scripted reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// The calls of the reply, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ScriptedCall>,
    /// The text of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// The problem of a call that no adapter could read; adds an unusable call to the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The stop reason; `None` derives it from the presence of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<ReplyStop>,
    /// The token usage to report.
    #[serde(default)]
    pub usage: Usage,
    /// The cost to report, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The timing to report.
    #[serde(default)]
    pub timing: Timing,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {path}")]
    Read {
        /// Path of the script.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// A line is not a reply.
    #[error("{path}:{line}: not a reply; a line is {{\"calls\":[{{\"name\",\"arguments\"}}],\"say\"}}")]
    Line {
        /// Path of the script.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// The error of the parser.
        #[source]
        source: serde_json::Error,
    },
    /// The arguments of a call do not match its name.
    #[error("{path}:{line}: the arguments of {name:?} do not fit")]
    Arguments {
        /// Path of the script.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// Name of the call.
        name: String,
        /// The error of the parser.
        #[source]
        source: serde_json::Error,
    },
}

/// Selects the reply for a request.
#[derive(Debug)]
enum ReplyOrder {
    /// The n-th turn of each conversation gets the n-th reply, so that one script serves many parallel trials.
    Turn,
    /// Each reply is given out once, in order, across all conversations.
    Next(AtomicUsize),
}

/// The behaviour after the last line.
#[derive(Clone, Copy, Debug)]
enum AtEnd {
    /// A further request fails.
    Error,
    /// A further request gets an empty reply.
    EmptyReply,
}

/// The scripted response to one request.
#[derive(Clone, Debug)]
enum Line {
    Reply { raw: RawContent, calls: Vec<CallBody>, reply: ScriptedReply },
    Error(ModelError),
}

/// A model that reads its replies from a script.
#[derive(Debug)]
pub struct Scripted {
    profile: ModelProfile,
    lines: Vec<Line>,
    place: ReplyOrder,
    afterwards: AtEnd,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    actions: Vec<Action<ImagePoint>>,
}

impl Scripted {
    /// Reads a script from a file. Blank lines and lines that begin with `#` are skipped.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let place = path.display().to_string();
        let text = apprentice_files::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: place.clone(), source })?;
        let name = path.file_stem().map_or_else(|| "script".into(), |stem| stem.to_string_lossy());
        let mut script = Self::empty(&name);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let (path, line_number) = (place.clone(), index + 1);
            let reply: ScriptedReply = serde_json::from_str(line).map_err(|source| ScriptError::Line {
                path: path.clone(),
                line: line_number,
                source,
            })?;
            let line = read(reply).map_err(|(name, source)| ScriptError::Arguments {
                path,
                line: line_number,
                name,
                source,
            })?;
            script.lines.push(line);
        }
        Ok(script)
    }

    /// Builds a script from values. The n-th turn of a conversation gets the n-th reply.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Result<Self, ScriptError> {
        let mut script = Self::empty("script");
        for (index, reply) in replies.into_iter().enumerate() {
            let line = read(reply).map_err(|(name, source)| ScriptError::Arguments {
                path: "script".into(),
                line: index + 1,
                name,
                source,
            })?;
            script.lines.push(line);
        }
        Ok(script)
    }

    /// Appends a failed request to the script.
    #[must_use]
    pub fn then_fail(mut self, error: ModelError) -> Self {
        self.lines.push(Line::Error(error));
        self
    }

    /// Appends a reply to the script.
    pub fn then_reply(mut self, reply: ScriptedReply) -> Result<Self, ScriptError> {
        let line = self.lines.len() + 1;
        let wrong = |(name, source)| ScriptError::Arguments { path: "script".into(), line, name, source };
        self.lines.push(read(reply).map_err(wrong)?);
        Ok(self)
    }

    /// Gives out the replies once, in order, across all conversations.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.place = ReplyOrder::Next(AtomicUsize::new(0));
        self
    }

    /// Answers every request after the last line with an empty reply.
    #[must_use]
    pub fn then_empty(mut self) -> Self {
        self.afterwards = AtEnd::EmptyReply;
        self
    }

    /// Replaces the profile.
    #[must_use]
    pub fn with_profile(mut self, profile: ModelProfile) -> Self {
        self.profile = profile;
        self
    }

    fn empty(name: &str) -> Self {
        let profile = ModelProfile {
            name: format!("scripted/{name}"),
            consumer: "scripted".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::None,
            outline: true,
            views: ViewRule::Whole,
            history: HistoryRule::AppendOnly { max_request_bytes: 32 << 20, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        };
        Self { profile, lines: Vec::new(), place: ReplyOrder::Turn, afterwards: AtEnd::Error }
    }

    fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let turn = request.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count();
        let index = match &self.place {
            ReplyOrder::Turn => turn,
            ReplyOrder::Next(next) => next.fetch_add(1, Ordering::Relaxed),
        };
        match self.lines.get(index) {
            None if matches!(self.afterwards, AtEnd::EmptyReply) => {
                Ok(self.reply_from(index, &RawContent::default(), &[], &ScriptedReply::default()))
            }
            Some(Line::Reply { raw, calls, reply }) => Ok(self.reply_from(index, raw, calls, reply)),
            Some(Line::Error(error)) => Err(error.clone()),
            None => Err(ModelError::never(
                ModelErrorKind::Request,
                format!(
                    "the script has {} replies and was asked for number {}; add a line with the call finish",
                    self.lines.len(),
                    index + 1
                ),
            )),
        }
    }

    fn reply_from(
        &self,
        index: usize,
        raw: &RawContent,
        calls: &[CallBody],
        reply: &ScriptedReply,
    ) -> ChatReply {
        let calls: Vec<Call> = calls
            .iter()
            .enumerate()
            .map(|(place, body)| Call {
                id: CallId::new(format!("call_{}_{}", index + 1, place + 1)),
                body: body.clone(),
            })
            .collect();
        let ending = if calls.is_empty() { ReplyStop::EndTurn } else { ReplyStop::Calls };
        ChatReply {
            raw: raw.clone(),
            say: reply.say.iter().cloned().collect(),
            thoughts: Vec::new(),
            calls,
            stop: reply.stop.unwrap_or(ending),
            usage: reply.usage,
            timing: reply.timing,
            cost_usd: reply.cost_usd,
            estimated: false,
            adapted: Vec::new(),
            provider_model: Some(self.profile.name.clone()),
        }
    }
}

impl ChatModel for Scripted {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

/// Checks the arguments of every call, so that a mistake is reported when the script is loaded.
fn read(reply: ScriptedReply) -> Result<Line, (String, serde_json::Error)> {
    let mut blocks = Vec::new();
    if let Some(say) = &reply.say {
        blocks.push(serde_json::json!({ "type": "text", "text": say }).to_string());
    }
    let mut calls = Vec::new();
    for call in &reply.calls {
        let named = |source| (call.name.clone(), source);
        calls.push(match call.name.as_str() {
            "computer" => {
                let batch: Batch = serde_json::from_value(call.arguments.clone()).map_err(named)?;
                CallBody::World { actions: batch.actions }
            }
            "finish" => {
                CallBody::Finish(serde_json::from_value::<Finish>(call.arguments.clone()).map_err(named)?)
            }
            _ => CallBody::Tool { name: call.name.clone(), arguments: call.arguments.clone() },
        });
        blocks.push(serde_json::to_string(call).map_err(named)?);
    }
    if let Some(problem) = &reply.unusable {
        blocks.push(serde_json::json!({ "type": "unusable", "text": problem }).to_string());
        calls.push(CallBody::Unusable { problem: problem.clone() });
    }
    Ok(Line::Reply { raw: RawContent { blocks }, calls, reply })
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io::Write as _;

    use apprentice_protocol::{Action, CallBody, ChatModel, ChatRequest, Message, RawContent};

    use super::Scripted;

    fn load(text: &str) -> Result<Scripted, String> {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("writes");
        let place = file.path().display().to_string();
        Scripted::load(file.path()).map_err(|error| {
            let source = error.source().map_or(String::new(), |source| format!(": {source}"));
            format!("{error}{source}").replace(&place, "FILE")
        })
    }

    fn turn(number: usize) -> ChatRequest {
        let one = Message::Assistant { raw: RawContent::default(), say: Vec::new(), calls: Vec::new() };
        ChatRequest { messages: vec![one; number], ..ChatRequest::default() }
    }

    #[tokio::test]
    async fn each_turn_gets_its_own_line() {
        let script = concat!(
            "# a comment\n\n",
            r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"wait","ms":5}]}}],"say":"hm"}"#,
            "\n",
            r#"{"calls":[{"name":"skill_list"},{"name":"finish","arguments":{"finish":"done"}}]}"#,
        );
        let script = load(script).expect("loads");
        let second = script.reply(&turn(1)).await.expect("answers");
        assert_eq!(second.calls.len(), 2);
        assert_eq!(second.calls[1].id.as_str(), "call_2_2");
        let first = script.reply(&turn(0)).await.expect("answers");
        assert_eq!(first.calls[0].body, CallBody::World { actions: vec![Action::Wait { ms: 5 }] });
        assert_eq!(first.raw.blocks.len(), 2);
        let beyond = script.reply(&turn(2)).await.expect_err("is out of script");
        assert!(beyond.message.starts_with("the script has 2 replies and was asked for number 3"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let wrong = "{\"say\":\"fine\"}\n{\"cals\":[]}\n";
        let error = load(wrong).expect_err("is wrong");
        assert!(
            error.starts_with("FILE:2: not a reply") && error.contains("unknown field `cals`"),
            "{error}"
        );
        let wrong = r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"fly"}]}}]}"#;
        let error = load(wrong).expect_err("is wrong");
        assert!(error.starts_with("FILE:1: the arguments of \"computer\" do not fit"), "{error}");
        assert!(error.contains("unknown variant `fly`"), "{error}");
    }
}
