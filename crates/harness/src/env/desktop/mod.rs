//! The desktop world: lets an agent observe and act in a cell with a display.
//!
//! Input is sent as a person would give it, with held buttons and single keys, and the screen settles before the next
//! action. An action that cannot be performed is refused with a sentence for the model; a failure of the system is an
//! error of the world.

mod choosing;
mod closed_menus;
mod covered;
mod look;
mod ocr;
mod remarks;
mod silent_areas;
mod source;
mod target;
mod typing;
mod unclear_cells;
mod window_names;

use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, BoxFuture, ChangeWait, Chord, ConnectionReport, Environment, MachineError, Monitors,
    NodeRef, Observation, ScreenPoint, Target, TreeBudget, UiTree, Want, WorldError, WorldErrorKind,
};

use apprentice_sandbox::{Cell, NodeFacts, Pointer, was_closed};
use ocr::WindowReader;
use silent_areas::SilentAreas;
pub use source::{DesktopConfig, DesktopSource, Sight};
use target::{Reach, Unreached};

/// Most notches of the wheel in one action.
const NOTCHES: u32 = 50;
/// Longest time that a chord may be held.
const LONGEST_HOLD: Duration = Duration::from_secs(30);
/// What is said of a click beside an open menu or list of suggestions.
const CLOSED_POPUP: &str = "This click closed an open menu or list, and may have done nothing else: look, and click again if \
                            it did not.";
/// Most clicks in one action.
const CLICKS: u8 = 5;

/// A running desktop.
struct DesktopEnvironment {
    cell: Cell,
    screen: Monitors,
    /// Whether the last action should change something that the next view shows.
    awaits_effect: bool,
    /// Whether there was a view.
    has_looked: bool,
    /// Whether no view yet has shown the window in front as more than one colour.
    is_undrawn: bool,
    /// Number of the screen's changes up to the last view.
    seen_changes: u64,
    /// The elements of the last view.
    seen_tree: Option<UiTree>,
    silent_areas: SilentAreas,
    /// What its pictures and lists hold.
    sight: Sight,
    reader: WindowReader,
}

/// Why an action was not delivered.
enum ActionError {
    /// The model can correct the action.
    Refused(String),
    /// The world is at fault.
    World(WorldError),
}

impl From<WorldError> for ActionError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

/// Where the pointer goes, if it moves, and what it does there.
type PointerUse = (Option<Target<ScreenPoint>>, Pointer);

type ActionResult = Result<ActReport, ActionError>;

fn refuse<T>(problem: impl Into<String>) -> Result<T, ActionError> {
    Err(ActionError::Refused(problem.into()))
}

/// Returns whether an action should change something that can be seen.
fn should_change(action: &Action<ScreenPoint>) -> bool {
    matches!(
        action,
        Action::Click { .. }
            | Action::Key { .. }
            | Action::Type { .. }
            | Action::Scroll { .. }
            | Action::Select { .. }
    )
}

impl DesktopEnvironment {
    async fn perform(&self, action: &Action<ScreenPoint>) -> ActionResult {
        if let Some(loss) = self.cell.loss() {
            return Err(loss.into());
        }
        if let Some((at, what)) = self.pointer_use(action)? {
            return self.point_and(at.as_ref(), what).await;
        }
        match action {
            Action::Hold { keys, actions } => self.hold(keys, actions).await,
            Action::Cursor => {
                let pointer = Some(self.cell.on_screen(|screen, _| screen.pointer()).await?);
                Ok(ActReport { pointer, ..ActReport::delivered() })
            }
            Action::Type { text } => self.type_text(text.clone()).await,
            Action::Key { chord, hold_ms } => self.press_chord(chord.clone(), *hold_ms).await,
            Action::Select { at, option } => self.select(at, option).await,
            // The screenshot comes with the next observation, and the agent loop does the waiting.
            Action::Screenshot | Action::Zoom { .. } | Action::Wait { .. } => Ok(ActReport::delivered()),
            Action::Read { what } if what.is_in_observation() => Ok(ActReport::delivered()),
            Action::KeyDown { keys } => self.keep_down(keys.clone(), true).await,
            Action::KeyUp { keys } => self.keep_down(keys.clone(), false).await,
            Action::ScrollTo { at } => self.scroll_to(at).await,
            Action::Fill { .. }
            | Action::Upload { .. }
            | Action::Read { .. }
            | Action::Script { .. }
            | Action::Navigate { .. }
            | Action::History { .. }
            | Action::Tab { .. }
            | Action::Dialog { .. } => {
                refuse("this is a desktop, not a browser page: use the keyboard and the mouse in its windows")
            }
            Action::Click { .. }
            | Action::Move { .. }
            | Action::Press { .. }
            | Action::Release { .. }
            | Action::Drag { .. }
            | Action::Scroll { .. } => Ok(ActReport::delivered()),
        }
    }

    /// Returns where and how an action uses the pointer; `None` for any other action.
    fn pointer_use(&self, action: &Action<ScreenPoint>) -> Result<Option<PointerUse>, ActionError> {
        Ok(Some(match action {
            Action::Click { at, button, count, hold } => {
                if !(1..=CLICKS).contains(count) {
                    return refuse(format!("a click may be repeated up to {CLICKS} times, not {count}"));
                }
                let what = Pointer::Click { button: *button, count: *count, hold: hold.clone() };
                (Some(at.clone()), what)
            }
            Action::Move { to } => (Some(to.clone()), Pointer::Move),
            Action::Press { at, button } => (at.clone(), Pointer::Press(*button)),
            Action::Release { at, button } => (at.clone(), Pointer::Release(*button)),
            Action::Drag { path, button } => {
                let [start, rest @ ..] = path.as_slice() else { return refuse("a drag needs two points") };
                if rest.is_empty() {
                    return refuse("a drag needs two points at least");
                }
                for point in rest {
                    self.inside(*point)?;
                }
                (Some(Target::Point(*start)), Pointer::Drag { button: *button, path: rest.to_vec() })
            }
            Action::Scroll { at, dx, dy } => {
                if dx.unsigned_abs() > NOTCHES || dy.unsigned_abs() > NOTCHES {
                    return refuse(format!("scroll by at most {NOTCHES} notches at a time"));
                }
                (at.clone(), Pointer::Scroll { dx: *dx, dy: *dy })
            }
            _ => return Ok(None),
        }))
    }

    /// Uses the pointer while keys are held.
    async fn hold(&self, keys: &Chord, actions: &[Action<ScreenPoint>]) -> ActionResult {
        let mut steps = Vec::with_capacity(actions.len());
        for action in actions {
            let Some((at, what)) = self.pointer_use(action)? else {
                return refuse("only the pointer is used while keys are held");
            };
            let at = match &at {
                None => None,
                Some(Target::Point(point)) => Some(self.inside(*point)?),
                Some(Target::Ref(node)) => match self.aim(node, &what).await? {
                    Reach::Point(point) => Some(point),
                    Reach::Press => return refuse(format!("{node} cannot be pointed at with keys held")),
                },
            };
            steps.push((at, what));
        }
        let keys = keys.clone();
        let done = self.cell.on_screen(move |screen, stop| {
            screen.disturbed()?;
            let done = screen.use_pointer_holding(&keys, &steps, stop)?;
            screen.settle(stop)?;
            Ok(done)
        });
        match done.await? {
            true => Ok(ActReport::delivered()),
            false => refuse("a key to be held is not on this keyboard"),
        }
    }

    /// Performs a pointer action at a target, and waits until the screen has settled.
    async fn point_and(&self, at: Option<&Target<ScreenPoint>>, what: Pointer) -> ActionResult {
        let (mut disabled, mut to) = (None, None);
        match at {
            None => {}
            Some(Target::Point(point)) => {
                to = Some(self.inside(*point)?);
                disabled = self.disabled_at(*point, &what).await?;
            }
            Some(Target::Ref(node)) => match self.aim(node, &what).await? {
                Reach::Point(point) => to = Some(point),
                Reach::Press => return self.press_hidden(node).await,
            },
        }
        let done = self.cell.on_screen(move |screen, stop| {
            let at_click = to.filter(|_| matches!(what, Pointer::Click { .. }));
            let before = if at_click.is_some() { screen.popups()? } else { Vec::new() };
            screen.disturbed()?;
            let done = screen.use_pointer(to, &what, stop)?;
            // Holding a button and moving without one are parts of a gesture: no wait in between.
            screen.settle(stop)?;
            let after = if before.is_empty() { Vec::new() } else { screen.popups()? };
            let closed = at_click.is_some_and(|at| was_closed(&before, &after, at));
            Ok(done.then_some(closed))
        });
        match done.await? {
            Some(closed) => {
                let text = closed.then(|| CLOSED_POPUP.to_owned()).or(disabled);
                Ok(ActReport { text, ..ActReport::delivered() })
            }
            None => refuse("a key to be held is not on this keyboard"),
        }
    }

    /// What is to be said of a click at a point where the last view shows a disabled element that is disabled still.
    async fn disabled_at(&self, at: ScreenPoint, what: &Pointer) -> Result<Option<String>, ActionError> {
        let is_click = matches!(what, Pointer::Click { .. });
        let tree = self.seen_tree.as_ref().filter(|_| is_click);
        let Some(node) = tree.and_then(|tree| target::disabled_at(tree, at)).cloned() else {
            return Ok(None);
        };
        match self.facts(&node).await {
            Ok(facts) => Ok(target::told_disabled(&node, &facts, at)),
            // It is gone, or its program is busy: nothing is known of it.
            Err(ActionError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the point if it lies on a monitor.
    fn inside(&self, point: ScreenPoint) -> Result<ScreenPoint, ActionError> {
        if self.screen.show(point) { Ok(point) } else { refuse(target::off_screen(point, &self.screen)) }
    }

    /// Decides how to reach a node. An item outside of the visible part of its list is brought into view first.
    async fn aim(&self, node: &NodeRef, what: &Pointer) -> Result<Reach, ActionError> {
        if let Some(point) = self.reader.point(node) {
            return Ok(Reach::Point(point));
        }
        let facts = self.facts(node).await?;
        match target::aim(node, &facts, what, &self.screen) {
            Ok(reach) => return self.uncovered(node, &facts, reach, what).await,
            Err(Unreached::Refused(why)) => return Err(ActionError::Refused(why)),
            Err(Unreached::OutOfView(_)) => self.bring_into_view(node).await?,
        }
        // Where a check box of a list stands is known from its row, so the rows are read again.
        self.tree(&TreeBudget::default()).await?;
        let facts = self.facts(node).await?;
        let reached = target::aim(node, &facts, what, &self.screen);
        let reach = reached
            .map_err(|(Unreached::Refused(why) | Unreached::OutOfView(why))| ActionError::Refused(why))?;
        self.uncovered(node, &facts, reach, what).await
    }

    async fn facts(&self, node: &NodeRef) -> Result<NodeFacts, ActionError> {
        self.cell.node(node).await.map_err(|error| self.action_error(error))
    }

    /// Gives a node the keyboard focus: its list scrolls to it. A node that takes none stays where it is.
    async fn bring_into_view(&self, node: &NodeRef) -> Result<(), ActionError> {
        self.record_disturbance().await?;
        match self.cell.focus(node).await {
            Ok(()) | Err(MachineError::Refused { .. }) => self.settle().await.map(|_| ()),
            Err(error) => Err(self.action_error(error)),
        }
    }

    async fn scroll_to(&self, at: &Target<ScreenPoint>) -> ActionResult {
        let Target::Ref(node) = at else {
            return refuse("name the element by its reference; a point is on the screen already");
        };
        self.aim(node, &Pointer::Move).await?;
        Ok(ActReport::delivered())
    }

    /// Performs a node's own action, because the node cannot be pointed at.
    async fn press_node(&self, node: &NodeRef) -> ActionResult {
        self.record_disturbance().await?;
        if let Err(error) = self.cell.press(node).await {
            return Err(self.action_error(error));
        }
        self.settle().await
    }

    /// Records that the screen is about to change for another reason than input.
    async fn record_disturbance(&self) -> Result<(), ActionError> {
        let noted = self.cell.on_screen(|screen, _| screen.disturbed());
        Ok(noted.await?)
    }

    async fn settle(&self) -> ActionResult {
        self.cell.on_screen(|screen, stop| screen.settle(stop)).await?;
        Ok(ActReport::delivered())
    }

    /// Presses keys that stay down, or releases them.
    async fn keep_down(&self, keys: Chord, down: bool) -> ActionResult {
        let done = self.cell.on_screen(move |screen, stop| {
            screen.await_focus(stop)?;
            screen.disturbed()?;
            let done = screen.keep_down(&keys, down, stop)?;
            screen.settle(stop)?;
            Ok(done)
        });
        if done.await? {
            Ok(ActReport::delivered())
        } else {
            refuse("a key to be held is not on this keyboard")
        }
    }

    async fn press_chord(&self, chord: Chord, hold: Option<u32>) -> ActionResult {
        let hold = hold.map(|ms| Duration::from_millis(u64::from(ms)));
        if hold.is_some_and(|hold| hold > LONGEST_HOLD) {
            return refuse(format!("keys may be held for up to {LONGEST_HOLD:?}"));
        }
        let name = chord.to_string();
        let pressed = self.cell.on_screen(move |screen, stop| {
            screen.await_focus(stop)?;
            screen.disturbed()?;
            let pressed = screen.press_chord(&chord, hold, stop)?;
            screen.settle(stop)?;
            Ok(pressed)
        });
        if pressed.await? {
            Ok(ActReport::delivered())
        } else {
            refuse(format!("the keyboard has no key for {name}"))
        }
    }

    /// Converts an error of the supervisor into the outcome of an action.
    fn action_error(&self, error: MachineError) -> ActionError {
        match error {
            MachineError::NotFound(what) => {
                ActionError::Refused(format!("{what} is gone; look at the new list of elements"))
            }
            MachineError::Refused { what, why } => ActionError::Refused(format!("{what}: {why}")),
            MachineError::TimedOut(what) => {
                ActionError::Refused(format!("{what} does not answer; it may be busy: wait, then look again"))
            }
            MachineError::Unsupported(_) => {
                ActionError::Refused("elements cannot be named in this world".into())
            }
            MachineError::MissingProgram(_) | MachineError::Lost(_) => ActionError::World(self.loss(&error)),
        }
    }

    /// The reason why the world was lost, preferably as the cell reports it.
    fn loss(&self, error: &MachineError) -> WorldError {
        self.cell.loss().unwrap_or_else(|| WorldError::new(WorldErrorKind::Lost, error.to_string()))
    }
}

impl Environment for DesktopEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(self.look(want))
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            let done = self.perform(action).await;
            self.awaits_effect = done.is_ok() && should_change(action);
            let report = match done {
                Ok(report) => report,
                Err(ActionError::Refused(problem)) => ActReport::refused(problem),
                Err(ActionError::World(error)) => return Err(error),
            };
            Ok(report.also(&self.cell.take_notices()))
        })
    }

    fn await_change(&mut self, cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        let seen = self.seen_changes;
        Box::pin(async move {
            let changed =
                self.cell.on_screen(move |screen, stop| screen.await_change(seen, cap, stop)).await?;
            Ok(if changed { ChangeWait::Changed } else { ChangeWait::Unchanged })
        })
    }

    fn take_connections(&mut self) -> ConnectionReport {
        self.cell.take_connections()
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(self.cell.close(deadline))
    }
}
