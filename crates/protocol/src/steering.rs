//! How a person steers a running attempt: the port that the agent loop asks between two steps, and the record of what the
//! person did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Action, ActionOutcome, BlobHash, BoxFuture, Image, ScreenPoint};

/// What the agent loop does next, by the will of the person who steers it.
#[derive(Clone, Debug, PartialEq)]
pub enum SteeringOrder {
    /// Take the next step of the model.
    Proceed,
    /// Record what the person did to the attempt.
    Record(PersonEvent),
    /// Perform an action of the person, outside of the model's limits.
    Act {
        /// Who acts.
        by: String,
        /// The action, on the screen as it is.
        action: Box<Action<ScreenPoint>>,
    },
    /// Take a picture of the screen for the person.
    Look,
}

/// What came of an action or a look of a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteeringAnswer {
    /// The outcome of the action; `None` after a look.
    pub outcome: Option<ActionOutcome>,
    /// The screen after it.
    pub picture: Option<Image>,
}

/// A person's hold on a running attempt. The loop asks before each step of the model, and carries out orders until it may
/// proceed.
pub trait Steering: Send + Sync {
    /// Waits for the next order. Returns at once while nobody interferes. Dropping the future loses no order.
    fn next(&self) -> BoxFuture<'_, SteeringOrder>;
    /// Takes the answer to the last `Act` or `Look`.
    fn answer(&self, answer: SteeringAnswer);
    /// Who stopped the attempt, if a person did. Its cancellation token is then cancelled.
    fn stopped_by(&self) -> Option<String>;
}

/// Who asked for an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionOrigin {
    /// A person who has taken over.
    #[default]
    Person,
    /// A program that uses the world by a tool protocol (`mcp --act`), between the turns of the model.
    Client,
}

impl ActionOrigin {
    /// Returns the word for people.
    fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Client => "client",
        }
    }
}

/// One action of a person in the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PersonAction {
    /// Who acted: the name that the person's client gave.
    pub by: String,
    /// Who asked for the action.
    pub origin: ActionOrigin,
    /// The action in screen coordinates.
    pub sent: Action<ScreenPoint>,
    /// The outcome.
    pub outcome: ActionOutcome,
    /// The screenshot's blob after the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<BlobHash>,
}

/// What a person did to a running attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum PersonEvent {
    /// Paused it: no step of the model begins.
    Paused {
        /// Who paused it.
        by: String,
    },
    /// Let it go on.
    Continued {
        /// Who let it go on.
        by: String,
    },
    /// Took over mouse and keyboard.
    TookOver {
        /// Who took over.
        by: String,
    },
    /// Acted in the world. Neither steps nor time of the model's limits are spent.
    Acted(Box<PersonAction>),
    /// Gave mouse and keyboard back.
    HandedBack {
        /// Who had taken over.
        by: String,
        /// Whether the person left without handing back, so that the lease ran out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expired: bool,
    },
}

impl PersonEvent {
    /// Describes the event in one line.
    pub fn in_words(&self) -> String {
        match self {
            Self::Paused { by } => format!("{by} paused"),
            Self::Continued { by } => format!("{by} continued"),
            Self::TookOver { by } => format!("{by} took over"),
            Self::Acted(act) => {
                let text = act.sent.text(crate::ActionDetail::Full);
                let who = format!("{} ({})", act.by, act.origin.word());
                match &act.outcome {
                    ActionOutcome::Done { .. } => format!("{who}: {text}"),
                    ActionOutcome::Failed { problem } => format!("{who}: {text}: {problem}"),
                    ActionOutcome::NotExecuted => format!("{who}: {text}: not executed"),
                }
            }
            Self::HandedBack { by, expired: false } => format!("{by} handed back"),
            Self::HandedBack { by, expired: true } => format!("{by} left without handing back"),
        }
    }
}
