//! What was read of a log, short enough for a screen or a program: the output of `apprentice trace read`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::find::Found;
use crate::model::{Accuracy, Branch, Call, Ending, Helper, Log, Target, Tokens, Transcript, Verdict};
use crate::read::read_each;
use crate::texts::start;

/// Bytes of a result that are shown.
const RESULT_BYTES: usize = 200;

/// One log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogSummary<'a, S = SampleSummary<'a>> {
    /// The file, or the folder.
    file: String,
    program: &'static str,
    /// The version of the program or of its format.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    /// The model, as the log names it.
    model: Option<&'a str>,
    /// The only conversation.
    #[serde(flatten)]
    only: Option<TalkSummary<'a>>,
    /// Conversations of a log that holds a list of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Vec<S>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_of_the_header: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Accuracy>,
    /// What is to be known of the log as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'a str>,
}

/// One conversation of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SampleSummary<'a> {
    sample: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(flatten)]
    talk: TalkSummary<'a>,
}

/// A conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct TalkSummary<'a> {
    #[serde(flatten)]
    core: CoreSummary<'a>,
    /// What somebody other than the agent said: true, false or a reward; null where nobody judged.
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<&'a str>,
    /// What the agent said of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_claim: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<&'a str>,
    /// Different pictures inside the log.
    pictures: usize,
    /// Different pictures that are paths to elsewhere.
    picture_paths: usize,
    malformed_replies: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    assistant_messages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_of_replies: Option<usize>,
    human_prompts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Ending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<&'a str>,
    /// What is new in a log that repeats another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<Own>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<ContinuesSummary<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    helpers: Vec<HelperSummary<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchSummary<'a>>,
    /// What all branches cost together.
    #[serde(skip_serializing_if = "Option::is_none")]
    spent: Option<Tokens>,
    #[serde(skip_serializing_if = "is_zero")]
    retried_errors: usize,
    #[serde(skip_serializing_if = "is_zero")]
    retried_requests: usize,
    /// The program's own sum, where it is more than the lines tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_state: Option<Tokens>,
    /// What the log does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<&'a str>,
}

/// What every conversation has.
#[derive(Debug, Serialize, JsonSchema)]
struct CoreSummary<'a> {
    /// Replies of the model, those that could not be read among them.
    assistant_turns: usize,
    /// Pieces of visible thought.
    thoughts: usize,
    calls: Vec<CallSummary<'a>>,
    final_answer: Option<&'a str>,
    /// Tokens, each reply once: input with the cache, output with thought.
    tokens: Option<Tokens>,
}

/// A call.
#[derive(Debug, Serialize, JsonSchema)]
struct CallSummary<'a> {
    name: &'a str,
    /// Null where the log lost them.
    arguments: Option<&'a Map<String, Value>>,
    /// How the result begins; null for a picture, and where there is none.
    result_starts: Option<&'a str>,
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a Target>,
}

/// What is new in a log that repeats another one.
#[derive(Debug, Serialize, JsonSchema)]
struct Own {
    assistant_turns: usize,
    tokens: Option<Tokens>,
}

/// The log before.
#[derive(Debug, Serialize, JsonSchema)]
struct ContinuesSummary<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordinal_exclusive: Option<u64>,
    /// Both together, if the file was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
}

/// A log with the one before it, in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct Whole {
    assistant_turns: usize,
    thoughts: usize,
    calls: usize,
    tokens: Option<Tokens>,
}

/// The log of an agent that the agent started.
#[derive(Debug, Serialize, JsonSchema)]
struct HelperSummary<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    agent_id: &'a str,
    of_call: Option<&'a str>,
    #[serde(flatten)]
    core: CoreSummary<'a>,
}

/// One path of a tree.
#[derive(Debug, Serialize, JsonSchema)]
struct BranchSummary<'a> {
    leaf: &'a str,
    #[serde(flatten)]
    core: CoreSummary<'a>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What was read of a log, one conversation after the other: of a list, each is kept as the JSON that is shown of it.
#[derive(Debug)]
pub struct ReadSummary {
    log: Log,
    only: Option<Transcript>,
    samples: Vec<Box<RawValue>>,
    model: Option<String>,
}

impl ReadSummary {
    /// Reads a log.
    ///
    /// # Errors
    /// It is damaged, too large, or of a version that is not known; or what was read of it cannot be written as JSON.
    pub fn read(found: &Found) -> Result<Self, ReadError> {
        let (mut only, mut samples, mut model) = (None, Ok(Vec::new()), None);
        let log = read_each(found, &mut |log, transcript| {
            if samples.as_ref().is_ok_and(Vec::is_empty) && only.is_none() {
                model.clone_from(&transcript.model);
            }
            if !log.sampled {
                only = Some(transcript);
                return;
            }
            let sample = SampleSummary {
                sample: &transcript.name,
                model: transcript.model.as_deref(),
                talk: TalkSummary::from(&transcript),
            };
            match (to_raw_value(&sample), &mut samples) {
                (Ok(sample), Ok(samples)) => samples.push(sample),
                (Err(error), Ok(_)) => samples = Err(error),
                (_, Err(_)) => {}
            }
        })?;
        let samples = samples.map_err(|error| ReadError::Damaged {
            path: log.path.clone(),
            program: log.program.name(),
            line: None,
            why: error.to_string(),
        })?;
        Ok(Self { log, only, samples, model })
    }

    /// What is shown of it.
    pub fn shown(&self) -> LogSummary<'_, &RawValue> {
        let Self { log, only, samples, model } = self;
        LogSummary {
            file: log.path.display().to_string(),
            program: log.program.name(),
            version: log.version.as_deref(),
            model: log.model.as_deref().or(model.as_deref()),
            only: only.as_ref().map(TalkSummary::from),
            samples: log.sampled.then(|| samples.iter().map(|sample| &**sample).collect()),
            tokens_of_the_header: log.tokens_of_the_header,
            accuracy: log.accuracy,
            notes: log.notes.iter().map(String::as_str).collect(),
        }
    }
}

impl<'a> From<&'a Transcript> for TalkSummary<'a> {
    fn from(told: &'a Transcript) -> Self {
        Self {
            core: CoreSummary::from(told),
            verdict: told.verdict,
            judge: told.judge.as_deref(),
            own_claim: told.own_claim,
            exit_status: told.exit_status.as_deref(),
            pictures: told.pictures,
            picture_paths: told.picture_paths,
            malformed_replies: told.turns.iter().filter(|turn| turn.malformed).count(),
            assistant_messages: told.assistant_messages,
            lines_of_replies: told.lines_of_replies,
            human_prompts: told.prompts.len(),
            ended: told.ended,
            started: told.started.as_deref(),
            own: told.copied_from.as_ref().map(|_| Own::from(told)),
            copied_from: told.copied_from.as_deref(),
            continues: continues(told),
            helpers: told.helpers.iter().map(HelperSummary::from).collect(),
            branches: told.branches.iter().map(BranchSummary::from).collect(),
            spent: told.spent,
            retried_errors: told.retried_errors,
            retried_requests: told.retried_requests,
            cost_state: told.cost_state,
            missing: told.missing.iter().map(String::as_str).collect(),
        }
    }
}

fn continues(told: &Transcript) -> Option<ContinuesSummary<'_>> {
    let continues = told.continues.as_ref()?;
    let whole = continues.whole.as_ref().map(|whole| Whole {
        assistant_turns: whole.turns.len(),
        thoughts: whole.thoughts(),
        calls: whole.calls().count(),
        tokens: whole.tokens,
    });
    Some(ContinuesSummary {
        session: &continues.session,
        file: continues.file.as_ref().map(|file| file.display().to_string()),
        ordinal_exclusive: continues.ordinal_exclusive,
        whole,
    })
}

impl<'a> From<&'a Transcript> for CoreSummary<'a> {
    fn from(told: &'a Transcript) -> Self {
        Self {
            assistant_turns: told.turns.len(),
            thoughts: told.thoughts(),
            calls: told.calls().map(CallSummary::from).collect(),
            final_answer: told.final_answer.as_deref(),
            tokens: told.tokens,
        }
    }
}

impl<'a> From<&'a Call> for CallSummary<'a> {
    fn from(call: &'a Call) -> Self {
        Self {
            name: &call.name,
            arguments: call.arguments.as_ref(),
            result_starts: call.result.as_deref().map(|result| start(result, RESULT_BYTES)),
            failed: call.failed,
            target: call.target.as_ref(),
        }
    }
}

impl From<&Transcript> for Own {
    fn from(told: &Transcript) -> Self {
        let own = || told.turns.iter().filter(|turn| !turn.copied);
        let tokens: Vec<Tokens> = own().filter_map(|turn| turn.tokens).collect();
        let sum = tokens.iter().fold(Tokens::default(), |sum, tokens| sum.plus(*tokens));
        Self { assistant_turns: own().count(), tokens: (!tokens.is_empty()).then_some(sum) }
    }
}

impl<'a> From<&'a Helper> for HelperSummary<'a> {
    fn from(helper: &'a Helper) -> Self {
        Self {
            file: helper.file.as_ref().map(|file| file.display().to_string()),
            agent_id: &helper.agent_id,
            of_call: helper.of_call.as_deref(),
            core: CoreSummary::from(&helper.transcript),
        }
    }
}

impl<'a> From<&'a Branch> for BranchSummary<'a> {
    fn from(branch: &'a Branch) -> Self {
        Self { leaf: &branch.leaf, core: CoreSummary::from(&branch.transcript) }
    }
}
