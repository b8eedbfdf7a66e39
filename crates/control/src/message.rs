//! What is said over the control socket: one JSON object per line, each way.

use apprentice_protocol::{Action, Limits, ScreenPoint, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question to a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// What runs.
    Status,
    /// What runs, now and after each change, until the connection ends.
    Watch,
    /// The newest picture of a trial's screen.
    Picture {
        /// The trial.
        trial: String,
    },
    /// An order.
    Order(Order),
}

/// An order to one trial, or to the whole process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The trial; all that the process runs, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
    /// Who orders, as it is shown to others and recorded.
    pub by: String,
    /// The order.
    #[serde(flatten)]
    pub order: OrderKind,
}

/// What is ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum OrderKind {
    /// Begin no further step of the model.
    Pause,
    /// Go on.
    Continue,
    /// Take one step, then pause.
    Step,
    /// End the trial: void, and not tried again. Without a trial, the whole run ends as by Ctrl-C, and can be resumed.
    Stop,
    /// Take mouse and keyboard. The answer holds the key of the lease.
    TakeOver,
    /// Keep the lease.
    Renew {
        /// The key of the lease.
        key: String,
    },
    /// Give mouse and keyboard back.
    HandBack {
        /// The key of the lease.
        key: String,
    },
    /// Take a new picture of the screen.
    Look {
        /// The key of the lease.
        key: String,
    },
    /// Act in the world.
    Act {
        /// The key of the lease.
        key: String,
        /// The action, of mouse or keyboard.
        action: Box<Action<ScreenPoint>>,
    },
}

impl OrderKind {
    /// The key of the lease that the order needs.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Renew { key } | Self::HandBack { key } | Self::Look { key } | Self::Act { key, .. } => {
                Some(key)
            }
            Self::Pause | Self::Continue | Self::Step | Self::Stop | Self::TakeOver => None,
        }
    }
}

/// A process's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// What runs.
    Status(Box<ProcessStatus>),
    /// A picture.
    Picture(Picture),
    /// The order was taken.
    Done {
        /// The key of the lease, after a take-over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What the world said of an action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// It was not, with the reason.
    Refused {
        /// The reason.
        why: String,
    },
}

/// A picture of a screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The media type.
    pub media: String,
    /// The bytes in Base64.
    pub base64: String,
}

/// The state of a process that runs trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessStatus {
    /// The process id.
    pub process: u32,
    /// The subcommand that runs.
    pub command: String,
    /// The folder of the present run; absent before its plan stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Planned trials of the present run.
    pub planned: usize,
    /// Trials that passed.
    pub passed: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Void attempts.
    pub void: usize,
    /// Tokens of finished attempts.
    pub tokens: u64,
    /// Cost of finished attempts in US dollars; absent where no model has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether new trials wait, because a person paused the process.
    #[serde(default)]
    pub paused: bool,
    /// Trials that run.
    pub trials: Vec<TrialStatus>,
}

impl ProcessStatus {
    /// Counts a finished attempt.
    pub(crate) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed += 1,
            Verdict::Void => self.void += 1,
        }
    }
}

/// What an attempt is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It waits for its turn, or opens and prepares its world.
    #[default]
    SettingUp,
    /// The model was asked and has not answered.
    WaitingForModel,
    /// It acts in the world or looks at it.
    Acting,
    /// It waits for a person.
    WaitingForPerson,
    /// It is being judged.
    Judging,
}

/// How a person lets an attempt go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By itself.
    #[default]
    Running,
    /// One step, then it is paused.
    OneStep,
    /// Not at all.
    Paused,
}

/// Who has taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The name that the person's client gave.
    pub by: String,
    /// Milliseconds after which the lease ends, unless it is renewed.
    pub left_ms: u64,
}

/// The state of one running trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialStatus {
    /// The trial's id.
    pub trial: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// The task.
    pub task: String,
    /// The model.
    pub model: String,
    /// The arm.
    pub arm: String,
    /// The seed.
    pub seed: u32,
    /// What it is doing.
    pub phase: Phase,
    /// How it goes on.
    pub mode: Mode,
    /// Who has taken over, if someone has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Turns of the model so far.
    pub turns: u32,
    /// Actions of the model so far.
    pub world_steps: u32,
    /// Actions of a person so far.
    #[serde(default)]
    pub person_actions: u32,
    /// The model's limits.
    pub limits: Limits,
    /// Its last act, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_act: Option<String>,
    /// Its last words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// Input and output tokens so far.
    pub tokens: u64,
    /// Cost so far in US dollars; absent without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Milliseconds since the attempt began.
    pub elapsed_ms: u64,
    /// Number of the newest picture; 0 before the first.
    pub picture: u64,
}
