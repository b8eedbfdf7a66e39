//! What an agent may do to a world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Chord, ImagePoint, NodeRef, OutsideView, ScreenPoint, View};

/// A pointer button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The primary button.
    #[default]
    Left,
    /// The wheel, pressed.
    Middle,
    /// The secondary button, which opens context menus.
    Right,
}

/// Where an action lands: a point, or an element named by the reference an observation gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target<P> {
    /// A point.
    Point(P),
    /// An element of the last observation.
    Ref(NodeRef),
}

/// A move through a tab's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// One page back.
    Back,
    /// One page forward.
    Forward,
    /// The same page again.
    Reload,
}

/// What may be done with tabs; tabs are named by the id that an observation lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tab", rename_all = "snake_case")]
pub enum TabAction {
    /// Opens a tab.
    Open {
        /// Its address, or an empty tab.
        url: Option<String>,
    },
    /// Brings a tab to the front.
    Switch {
        /// The tab's id.
        id: String,
    },
    /// Closes a tab.
    Close {
        /// The tab's id.
        id: String,
    },
}

/// One action. `P` is [`ImagePoint`] as a model says it and [`ScreenPoint`] as a world does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action<P> {
    /// Presses and releases a button `count` times, with `hold` held meanwhile.
    Click {
        /// Where.
        at: Target<P>,
        /// Which button.
        #[serde(default)]
        button: Button,
        /// 1 for a click, 2 for a double click, 3 for a triple click.
        #[serde(default = "once")]
        count: u8,
        /// Modifiers held during the click.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Chord>,
    },
    /// Moves the pointer.
    Move {
        /// Where to.
        to: Target<P>,
    },
    /// Presses a button and keeps it down.
    Press {
        /// Where; the pointer's place if absent.
        at: Option<Target<P>>,
        /// Which button.
        #[serde(default)]
        button: Button,
    },
    /// Releases a button.
    Release {
        /// Where; the pointer's place if absent.
        at: Option<Target<P>>,
        /// Which button.
        #[serde(default)]
        button: Button,
    },
    /// Drags with a button held through the given points, at least two.
    Drag {
        /// The path; the first point is where the button goes down.
        path: Vec<P>,
        /// Which button.
        #[serde(default)]
        button: Button,
    },
    /// Turns the wheel by notches; positive is right and down.
    Scroll {
        /// Where; the pointer's place if absent.
        at: Option<Target<P>>,
        /// Notches across.
        #[serde(default)]
        dx: i32,
        /// Notches down.
        #[serde(default)]
        dy: i32,
    },
    /// Types text into whatever has the focus; a line break is the Enter key.
    Type {
        /// The text, any Unicode.
        text: String,
    },
    /// Presses a chord and releases it.
    Key {
        /// The keys.
        chord: Chord,
        /// How long they stay down, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold_ms: Option<u32>,
    },
    /// Lets the world go on for a while. The loop waits; a world that gets it has nothing to do.
    Wait {
        /// Milliseconds.
        ms: u32,
    },
    /// Asks for a picture; the answer carries one.
    Screenshot,
    /// Asks for an enlarged picture of a part of the screen.
    Zoom {
        /// Two opposite corners.
        region: [P; 2],
    },
    /// Chooses an option of a list box by its visible text.
    Select {
        /// The list box.
        at: Target<P>,
        /// The option's text.
        option: String,
    },
    /// Opens an address in the current tab (browser worlds).
    Navigate {
        /// The address.
        url: String,
    },
    /// Moves through the tab's history (browser worlds).
    History {
        /// Which way.
        go: History,
    },
    /// Opens, switches or closes a tab (browser worlds).
    Tab {
        /// What to do.
        #[serde(flatten)]
        tab: TabAction,
    },
    /// Answers an open page dialog (browser worlds).
    Dialog {
        /// Press OK rather than Cancel.
        accept: bool,
        /// The text for a prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

const fn once() -> u8 {
    1
}

/// How a model says that it is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finish", rename_all = "snake_case")]
pub enum Finish {
    /// The task is done.
    Done,
    /// The task asked for an answer, and this is it.
    Answer {
        /// The answer.
        text: String,
    },
    /// The task cannot be done (`FAIL` in OSWorld's words).
    GiveUp {
        /// Why.
        reason: String,
    },
}

impl<P> Target<P> {
    fn try_map<Q, E>(self, map: &impl Fn(P) -> Result<Q, E>) -> Result<Target<Q>, E> {
        Ok(match self {
            Self::Point(point) => Target::Point(map(point)?),
            Self::Ref(node) => Target::Ref(node),
        })
    }
}

impl Action<ImagePoint> {
    /// The same action in screen pixels, by the view the model last saw; a point outside it is an error.
    pub fn to_screen(self, view: &View) -> Result<Action<ScreenPoint>, OutsideView> {
        self.try_map(&|point| view.to_screen(point))
    }
}

impl<P> Action<P> {
    /// Applies `map` to every point of the action; the first error ends it.
    pub fn try_map<Q, E>(self, map: &impl Fn(P) -> Result<Q, E>) -> Result<Action<Q>, E> {
        Ok(match self {
            Self::Click { at, button, count, hold } => {
                Action::Click { at: at.try_map(map)?, button, count, hold }
            }
            Self::Move { to } => Action::Move { to: to.try_map(map)? },
            Self::Press { at, button } => {
                Action::Press { at: at.map(|at| at.try_map(map)).transpose()?, button }
            }
            Self::Release { at, button } => {
                Action::Release { at: at.map(|at| at.try_map(map)).transpose()?, button }
            }
            Self::Drag { path, button } => {
                Action::Drag { path: path.into_iter().map(map).collect::<Result<_, _>>()?, button }
            }
            Self::Scroll { at, dx, dy } => {
                Action::Scroll { at: at.map(|at| at.try_map(map)).transpose()?, dx, dy }
            }
            Self::Type { text } => Action::Type { text },
            Self::Key { chord, hold_ms } => Action::Key { chord, hold_ms },
            Self::Wait { ms } => Action::Wait { ms },
            Self::Screenshot => Action::Screenshot,
            Self::Zoom { region: [from, to] } => Action::Zoom { region: [map(from)?, map(to)?] },
            Self::Select { at, option } => Action::Select { at: at.try_map(map)?, option },
            Self::Navigate { url } => Action::Navigate { url },
            Self::History { go } => Action::History { go },
            Self::Tab { tab } => Action::Tab { tab },
            Self::Dialog { accept, text } => Action::Dialog { accept, text },
        })
    }

    /// The element this action lands on, when it names one.
    pub fn node(&self) -> Option<&NodeRef> {
        let target = match self {
            Self::Click { at, .. } | Self::Select { at, .. } => Some(at),
            Self::Move { to } => Some(to),
            Self::Press { at, .. } | Self::Release { at, .. } | Self::Scroll { at, .. } => at.as_ref(),
            Self::Drag { .. }
            | Self::Type { .. }
            | Self::Key { .. }
            | Self::Wait { .. }
            | Self::Screenshot
            | Self::Zoom { .. }
            | Self::Navigate { .. }
            | Self::History { .. }
            | Self::Tab { .. }
            | Self::Dialog { .. } => None,
        };
        match target {
            Some(Target::Ref(node)) => Some(node),
            Some(Target::Point(_)) | None => None,
        }
    }

    /// Whether the action only looks.
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::Screenshot | Self::Zoom { .. })
    }
}
