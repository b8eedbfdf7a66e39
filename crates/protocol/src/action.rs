//! Actions of an agent in a world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Chord, FieldValue, ImagePoint, NodeRef, OutsideView, PageReading, ScreenPoint, View};

/// A pointer button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The primary button.
    #[default]
    Left,
    /// The middle button (the wheel pressed).
    Middle,
    /// The secondary button, which opens context menus.
    Right,
    /// The button on the side that goes back.
    Back,
    /// The button on the side that goes forward.
    Forward,
}

/// The target of an action: a point, or an element by its reference in the last observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target<P> {
    /// A point.
    Point(P),
    /// An element of the last observation.
    Ref(NodeRef),
}

/// A navigation in a tab's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// One page back.
    Back,
    /// One page forward.
    Forward,
    /// Reload the page.
    Reload,
}

/// An operation on tabs. Tab ids come from the observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tab", rename_all = "snake_case")]
pub enum TabAction {
    /// Opens a tab.
    Open {
        /// The tab's address; an empty tab if absent.
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

/// One action. `P` is [`ImagePoint`] in a model's calls and [`ScreenPoint`] for a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action<P> {
    /// Presses and releases a button `count` times, while holding the modifiers `hold`.
    Click {
        /// The target.
        at: Target<P>,
        /// The pointer button.
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
        /// The destination.
        to: Target<P>,
    },
    /// Presses a button and keeps it down.
    Press {
        /// The target; the current pointer position if absent.
        at: Option<Target<P>>,
        /// The pointer button.
        #[serde(default)]
        button: Button,
    },
    /// Releases a button.
    Release {
        /// The target; the current pointer position if absent.
        at: Option<Target<P>>,
        /// The pointer button.
        #[serde(default)]
        button: Button,
    },
    /// Drags along a path of at least two points with a button held.
    Drag {
        /// The path; the button goes down at the first point.
        path: Vec<P>,
        /// The pointer button.
        #[serde(default)]
        button: Button,
    },
    /// Scrolls by wheel notches; positive is right and down.
    Scroll {
        /// The target; the current pointer position if absent.
        at: Option<Target<P>>,
        /// Horizontal notches.
        #[serde(default)]
        dx: i32,
        /// Vertical notches.
        #[serde(default)]
        dy: i32,
    },
    /// Types text into the focused element; a line break is the Enter key.
    Type {
        /// The text; any Unicode characters.
        text: String,
    },
    /// Presses and releases a key chord.
    Key {
        /// The keys.
        chord: Chord,
        /// How long the keys stay down, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold_ms: Option<u32>,
    },
    /// Presses keys and keeps them down for the following actions.
    KeyDown {
        /// The keys.
        keys: Chord,
    },
    /// Releases keys that were kept down.
    KeyUp {
        /// The keys.
        keys: Chord,
    },
    /// Uses the pointer while keys are held.
    Hold {
        /// The keys.
        keys: Chord,
        /// Actions of the pointer, in order.
        actions: Vec<Self>,
    },
    /// Asks where the pointer is; the answer says it in the coordinates of the model's picture.
    Cursor,
    /// Waits. The agent loop does the waiting; a world treats the action as a no-op.
    Wait {
        /// Duration in milliseconds.
        ms: u32,
    },
    /// Requests a screenshot; the result contains it.
    Screenshot,
    /// Requests an enlarged picture of a part of the screen.
    Zoom {
        /// Two opposite corners of the region.
        region: [P; 2],
    },
    /// Chooses an option of a list box by its visible text.
    Select {
        /// The list box.
        at: Target<P>,
        /// The option's text.
        option: String,
    },
    /// Scrolls an element into view (browser worlds).
    ScrollTo {
        /// The element.
        at: Target<P>,
    },
    /// Sets the value of a form field, with the events that a page expects of an input (browser worlds).
    Fill {
        /// The field, or its label.
        at: Target<P>,
        /// The value.
        value: FieldValue,
    },
    /// Gives files of the world's home to a file input (browser worlds).
    Upload {
        /// The file input, its label, or the button that opens the file chooser.
        at: Target<P>,
        /// Paths, absolute or relative to the home folder.
        files: Vec<String>,
    },
    /// Reads without changing anything; the result holds what was read.
    Read {
        /// What to read.
        #[serde(flatten)]
        what: PageReading,
    },
    /// Runs a script in the page, if the world allows it (browser worlds).
    Script {
        /// The source in JavaScript; the value of its last expression is the result.
        source: String,
    },
    /// Opens an address in the current tab (browser worlds).
    Navigate {
        /// The address.
        url: String,
    },
    /// Moves through the tab's history (browser worlds).
    History {
        /// The direction.
        go: History,
    },
    /// Opens, switches or closes a tab (browser worlds).
    Tab {
        /// The operation.
        #[serde(flatten)]
        tab: TabAction,
    },
    /// Answers an open page dialog (browser worlds).
    Dialog {
        /// `true` for OK, `false` for Cancel.
        accept: bool,
        /// The input of a prompt dialog.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

const fn once() -> u8 {
    1
}

/// A model's statement that it is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finish", rename_all = "snake_case")]
pub enum Finish {
    /// The task is done.
    Done,
    /// The answer to a task that asks for one.
    Answer {
        /// The answer.
        text: String,
    },
    /// The task is infeasible (`FAIL` in OSWorld).
    GiveUp {
        /// The model's reason.
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
    /// Converts the action to screen pixels with the view that the model last saw; a point outside it is an error.
    ///
    /// # Errors
    ///
    /// Returns the first point that lies outside of the view.
    pub fn to_screen(self, view: &View) -> Result<Action<ScreenPoint>, OutsideView> {
        self.try_map(&|point| view.to_screen(point))
    }
}

impl<P> Action<P> {
    /// Applies `map` to every point of the action and returns the first error.
    ///
    /// # Errors
    ///
    /// Returns the first error of `map`.
    pub fn try_map<Q, E>(self, map: &impl Fn(P) -> Result<Q, E>) -> Result<Action<Q>, E> {
        self.try_map_targets(&|target: Target<P>| target.try_map(map), map)
    }

    /// Applies `target` to every target of the action and `point` to the points of paths and regions. Returns the
    /// first error.
    ///
    /// # Errors
    ///
    /// Returns the first error of `target` or `point`.
    pub fn try_map_targets<Q, E>(
        self,
        target: &impl Fn(Target<P>) -> Result<Target<Q>, E>,
        point: &impl Fn(P) -> Result<Q, E>,
    ) -> Result<Action<Q>, E> {
        Ok(match self {
            Self::Click { at, button, count, hold } => Action::Click { at: target(at)?, button, count, hold },
            Self::Move { to } => Action::Move { to: target(to)? },
            Self::Press { at, button } => Action::Press { at: at.map(target).transpose()?, button },
            Self::Release { at, button } => Action::Release { at: at.map(target).transpose()?, button },
            Self::Drag { path, button } => {
                Action::Drag { path: path.into_iter().map(point).collect::<Result<_, _>>()?, button }
            }
            Self::Scroll { at, dx, dy } => Action::Scroll { at: at.map(target).transpose()?, dx, dy },
            Self::Type { text } => Action::Type { text },
            Self::Key { chord, hold_ms } => Action::Key { chord, hold_ms },
            Self::KeyDown { keys } => Action::KeyDown { keys },
            Self::KeyUp { keys } => Action::KeyUp { keys },
            Self::Hold { keys, actions } => {
                let actions = actions.into_iter().map(|action| action.try_map_targets(target, point));
                Action::Hold { keys, actions: actions.collect::<Result<_, _>>()? }
            }
            Self::Cursor => Action::Cursor,
            Self::Wait { ms } => Action::Wait { ms },
            Self::Screenshot => Action::Screenshot,
            Self::Zoom { region: [from, to] } => Action::Zoom { region: [point(from)?, point(to)?] },
            Self::Select { at, option } => Action::Select { at: target(at)?, option },
            Self::ScrollTo { at } => Action::ScrollTo { at: target(at)? },
            Self::Fill { at, value } => Action::Fill { at: target(at)?, value },
            Self::Upload { at, files } => Action::Upload { at: target(at)?, files },
            Self::Read { what } => Action::Read { what },
            Self::Script { source } => Action::Script { source },
            Self::Navigate { url } => Action::Navigate { url },
            Self::History { go } => Action::History { go },
            Self::Tab { tab } => Action::Tab { tab },
            Self::Dialog { accept, text } => Action::Dialog { accept, text },
        })
    }

    /// Returns the target; of actions with keys held, the first one's. `None` for an action at the pointer's
    /// position, along a path, or without a place.
    pub fn target(&self) -> Option<&Target<P>> {
        match self {
            Self::Click { at, .. }
            | Self::Select { at, .. }
            | Self::Move { to: at }
            | Self::ScrollTo { at }
            | Self::Fill { at, .. }
            | Self::Upload { at, .. } => Some(at),
            Self::Press { at, .. } | Self::Release { at, .. } | Self::Scroll { at, .. } => at.as_ref(),
            Self::Hold { actions, .. } => actions.iter().find_map(Self::target),
            Self::Cursor
            | Self::Drag { .. }
            | Self::Type { .. }
            | Self::Key { .. }
            | Self::KeyDown { .. }
            | Self::KeyUp { .. }
            | Self::Wait { .. }
            | Self::Screenshot
            | Self::Zoom { .. }
            | Self::Read { .. }
            | Self::Script { .. }
            | Self::Navigate { .. }
            | Self::History { .. }
            | Self::Tab { .. }
            | Self::Dialog { .. } => None,
        }
    }

    /// Returns the target element, if the target is an element.
    pub fn node(&self) -> Option<&NodeRef> {
        match self {
            Self::Hold { actions, .. } => actions.iter().find_map(Self::node),
            _ => match self.target()? {
                Target::Ref(node) => Some(node),
                Target::Point(_) => None,
            },
        }
    }

    /// Returns whether the action only looks or reads and does not change the world.
    pub fn is_observation_only(&self) -> bool {
        matches!(self, Self::Screenshot | Self::Zoom { .. } | Self::Read { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Button, Target};
    use crate::{Chord, ImagePoint, NodeRef};

    fn element(id: &str) -> Target<ImagePoint> {
        Target::Ref(NodeRef(id.into()))
    }

    fn click(at: Target<ImagePoint>) -> Action<ImagePoint> {
        Action::Click { at, button: Button::Left, count: 1, hold: None }
    }

    #[test]
    fn the_target_of_held_actions_is_that_of_the_first_with_one() {
        let at = Target::Point(ImagePoint { x: 1.0, y: 2.0 });
        let press = Action::Press { at: None, button: Button::Left };
        assert_eq!(press.target(), None, "the pointer stays where it is");
        assert_eq!(Action::Move { to: at.clone() }.target(), Some(&at));
        let path = vec![ImagePoint { x: 1.0, y: 2.0 }; 2];
        assert_eq!(Action::Drag { path, button: Button::Left }.target(), None, "a path is no target");
        let keys = Chord::parse("ctrl").expect("a chord");
        let actions = vec![press, click(at.clone()), click(element("n2"))];
        let held = Action::Hold { keys, actions };
        assert_eq!(held.target(), Some(&at));
        assert_eq!(held.node(), Some(&NodeRef("n2".into())), "the first element, behind the point");
    }

    #[test]
    fn every_target_is_mapped_and_an_error_ends_it() {
        let keys = Chord::parse("ctrl").expect("a chord");
        let held = |ids: [&str; 2]| Action::Hold {
            keys: keys.clone(),
            actions: ids.map(|id| click(element(id))).to_vec(),
        };
        let renamed = |target: Target<ImagePoint>| match target {
            Target::Ref(NodeRef(id)) if id == "gone" => Err(id),
            Target::Ref(NodeRef(id)) => Ok(element(&format!("{id}'"))),
            point @ Target::Point(_) => Ok(point),
        };
        assert_eq!(held(["a", "b"]).try_map_targets(&renamed, &Ok), Ok(held(["a'", "b'"])));
        assert_eq!(held(["a", "gone"]).try_map_targets(&renamed, &Ok), Err("gone".to_owned()));
    }
}
