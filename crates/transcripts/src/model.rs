//! What a reader finds in a log, whichever program wrote it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Tokens that a model read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tokens {
    /// Tokens read, with those that came from a cache or went into one.
    pub input: u64,
    /// Tokens written, with those of thoughts.
    pub output: u64,
}

impl Tokens {
    /// Both numbers added.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { input: self.input + other.input, output: self.output + other.output }
    }
}

/// What somebody other than the agent said of its work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Verdict {
    /// Passed or not.
    Passed(bool),
    /// A number.
    Reward(f64),
}

impl Verdict {
    /// The verdict as a number from 0 to 1, where it is one.
    pub fn score(self) -> f64 {
        match self {
            Self::Passed(passed) => f64::from(u8::from(passed)),
            Self::Reward(reward) => reward,
        }
    }
}

/// How a log ended, where it did not end by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A person stopped it.
    Interrupted,
    /// The program ended without a last line.
    Crashed,
    /// The program logged an error.
    Error,
}

/// The thing on a screen or in a page that a call was aimed at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Target {
    /// Its role or kind, such as `BUTTON`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The point, in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<(f64, f64)>,
}

/// A call of a tool, with what came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The id by which its result names it; empty where the log has none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments. `None` where the log lost them.
    pub arguments: Option<Map<String, Value>>,
    /// The text of the result. `None` for a picture alone, and where there is no result.
    pub result: Option<String>,
    /// Whether the result is in the log.
    pub answered: bool,
    /// Whether it failed.
    pub failed: bool,
    /// What it was aimed at.
    pub target: Option<Target>,
}

/// A reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The id of the reply, where the log has one.
    pub id: Option<String>,
    /// The person's or the environment's words before it, if any came.
    pub prompt: Option<String>,
    /// Visible thoughts.
    pub thoughts: Vec<String>,
    /// Text.
    pub text: String,
    /// Calls, in the order of the reply.
    pub calls: Vec<Call>,
    /// Whether the program could not read it.
    pub malformed: bool,
    /// Whether it was cut off before its end.
    pub unfinished: bool,
    /// Whether the log copied it from another one.
    pub copied: bool,
    /// What it cost. `None` where the log does not say.
    pub tokens: Option<Tokens>,
    /// The title or address of what was seen before the reply.
    pub seen: Option<String>,
}

/// One conversation of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The name of the sample, episode or session.
    pub name: String,
    /// The model, as the log names it.
    pub model: Option<String>,
    /// Replies of the model, in order.
    pub turns: Vec<Turn>,
    /// Replies that the log shows as such, where some stand elsewhere.
    pub assistant_messages: Option<usize>,
    /// What persons wrote, in order.
    pub prompts: Vec<String>,
    /// The text of the last reply, or of the call that ends.
    pub final_answer: Option<String>,
    /// Tokens, each reply once. `None` where the log has none.
    pub tokens: Option<Tokens>,
    /// What somebody other than the agent said.
    pub verdict: Option<Verdict>,
    /// Who gave the verdict.
    pub judge: Option<String>,
    /// What the agent said of itself.
    pub own_claim: Option<bool>,
    /// The program's own word for the end. It is no verdict.
    pub exit_status: Option<String>,
    /// Different pictures inside the log.
    pub pictures: usize,
    /// Different pictures that are paths to elsewhere.
    pub picture_paths: usize,
    /// How it ended, if not by an answer.
    pub ended: Option<Ending>,
    /// When it began, as the log says it.
    pub started: Option<String>,
    /// The log from which the first turns were copied: a path if it was found, otherwise the session's id.
    pub copied_from: Option<String>,
    /// The log that this one continues without its text.
    pub continues: Option<Continues>,
    /// Logs of agents that this one started.
    pub helpers: Vec<Helper>,
    /// All paths of a log that is a tree, where there are several; the transcript is the active one.
    pub branches: Vec<Branch>,
    /// What all paths of a tree cost together.
    pub spent: Option<Tokens>,
    /// Attempts that failed by an error and were repeated.
    pub retried_errors: usize,
    /// Requests that were repeated.
    pub retried_requests: usize,
    /// The program's own sum, where it is more than the lines tell.
    pub cost_state: Option<Tokens>,
    /// Lines of the log that hold parts of replies.
    pub lines_of_replies: Option<usize>,
    /// What the log does not hold, or what was left out while reading.
    pub missing: Vec<String>,
}

impl Transcript {
    /// All calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.turns.iter().flat_map(|turn| &turn.calls)
    }

    /// The number of thoughts.
    pub fn thoughts(&self) -> usize {
        self.turns.iter().map(|turn| turn.thoughts.len()).sum()
    }
}

/// A log that goes on from another one without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Continues {
    /// The id of the session before.
    pub session: String,
    /// Its file, if it was found.
    pub file: Option<PathBuf>,
    /// The first line of the session before that is not part of this one.
    pub ordinal_exclusive: Option<u64>,
    /// Both together, if the file was found.
    pub whole: Option<Box<Transcript>>,
}

/// The log of an agent that the agent of a log started.
#[derive(Clone, Debug, PartialEq)]
pub struct Helper {
    /// Its file; `None` where its lines stand among those of the log.
    pub file: Option<PathBuf>,
    /// Its id.
    pub agent_id: String,
    /// The call that started it.
    pub of_call: Option<String>,
    /// What it did.
    pub transcript: Transcript,
}

/// One path of a log that is a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The id of its last entry.
    pub leaf: String,
    /// What was said on it.
    pub transcript: Transcript,
}

/// The program's own count of right samples, where it leaves some out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Accuracy {
    /// The number that it tells.
    pub told: f64,
    /// The samples that it is computed of.
    pub of: u64,
    /// All samples.
    pub samples: u64,
}

/// A program whose logs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// Claude Code's sessions, JSON lines.
    ClaudeCode,
    /// Codex CLI's rollouts, JSON lines.
    Codex,
    /// Gemini CLI's chats, JSON lines.
    GeminiCli,
    /// What `opencode export` writes.
    Opencode,
    /// Sessions of the pi coding agent, JSON lines.
    Pi,
    /// mini-swe-agent's trajectories.
    MiniSweAgent,
    /// browser-use's history.
    BrowserUse,
    /// Traces of verifiers, JSON lines.
    Verifiers,
    /// The folder of a conversation of the OpenHands SDK.
    OpenHands,
    /// The folder of a trajectory of cua-agent.
    CuaAgent,
    /// Inspect's logs, packed or JSON.
    Inspect,
    /// A trajectory in Harbor's format.
    Atif,
    /// The folder of a task in a result tree of OSWorld.
    Osworld,
    /// Conversations in the form of OpenAI's chat API, JSON lines.
    OpenAi,
    /// Conversations in ShareGPT's form, JSON lines.
    ShareGpt,
}

impl Program {
    /// Its name, as the program spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::GeminiCli => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Pi => "pi coding agent",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::BrowserUse => "browser-use",
            Self::Verifiers => "verifiers",
            Self::OpenHands => "OpenHands SDK",
            Self::CuaAgent => "cua-agent",
            Self::Inspect => "Inspect",
            Self::Atif => "ATIF",
            Self::Osworld => "OSWorld",
            Self::OpenAi => "OpenAI conversations",
            Self::ShareGpt => "ShareGPT conversations",
        }
    }
}

/// What one log holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The program that wrote it.
    pub program: Program,
    /// The version of the program or of its format, as the log says it.
    pub version: Option<String>,
    /// The file, or the folder.
    pub path: PathBuf,
    /// The model of all transcripts, where the log has one for them.
    pub model: Option<String>,
    /// Its conversations.
    pub transcripts: Vec<Transcript>,
    /// Whether its conversations are samples of a list, even if there is one.
    pub sampled: bool,
    /// The program's own sum of tokens over all samples.
    pub tokens_of_the_header: Option<Tokens>,
    /// The program's own count of right samples, where it leaves some out.
    pub accuracy: Option<Accuracy>,
    /// What is to be known of the log as a whole.
    pub notes: Vec<String>,
}

impl Log {
    /// A log without conversations.
    pub(crate) fn new(program: Program, path: impl Into<PathBuf>) -> Self {
        Self {
            program,
            version: None,
            path: path.into(),
            model: None,
            transcripts: Vec::new(),
            sampled: false,
            tokens_of_the_header: None,
            accuracy: None,
            notes: Vec::new(),
        }
    }
}
