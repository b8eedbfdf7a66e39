//! Pointer and keyboard input through enigo. Dropping the handle releases held keys and buttons.

use apprentice_protocol::{
    ActReport, Action, Button, Chord, ScreenPoint, Target, WorldError, WorldErrorKind,
};
use enigo::{
    Axis, Button as NativeButton, Coordinate, Direction, Enigo, InputError, Key, Keyboard as _, Mouse as _,
    Settings,
};

use crate::keys::native;
use crate::screen::Screen;

/// The user's pointer and keyboard.
pub(crate) struct Input {
    enigo: Enigo,
    buttons: Vec<NativeButton>,
}

/// Why an action failed: a mistake of the model, or a fault of the input system.
enum ActionError {
    Refused(String),
    Lost(InputError),
}

impl From<InputError> for ActionError {
    fn from(error: InputError) -> Self {
        Self::Lost(error)
    }
}

impl Input {
    /// Connects to the system's pointer and keyboard.
    pub(crate) fn open() -> Result<Self, WorldError> {
        let settings = Settings { linux_delay: 0, ..Settings::default() };
        let enigo = Enigo::new(&settings).map_err(|error| {
            WorldError::new(WorldErrorKind::Start, format!("input cannot be sent: {error}"))
        })?;
        Ok(Self { enigo, buttons: Vec::new() })
    }

    /// Performs one action.
    pub(crate) fn act(
        &mut self,
        action: &Action<ScreenPoint>,
        screen: &Screen,
    ) -> Result<ActReport, WorldError> {
        match self.try_act(action, screen) {
            Ok(()) => Ok(ActReport::delivered()),
            Err(ActionError::Refused(problem)) => Ok(ActReport::refused(problem)),
            Err(ActionError::Lost(error)) => {
                Err(WorldError::new(WorldErrorKind::Input, format!("input failed: {error}")))
            }
        }
    }

    fn try_act(&mut self, action: &Action<ScreenPoint>, screen: &Screen) -> Result<(), ActionError> {
        match action {
            Action::Click { at, button, count, hold } => {
                self.point_at(at, screen)?;
                self.while_holding(hold.as_ref(), |input| {
                    (0..*count).try_for_each(|_| input.enigo.button(button_of(*button), Direction::Click))
                })
            }
            Action::Move { to } => self.point_at(to, screen),
            Action::Press { at, button } => {
                self.point_at_some(at.as_ref(), screen)?;
                self.buttons.push(button_of(*button));
                Ok(self.enigo.button(button_of(*button), Direction::Press)?)
            }
            Action::Release { at, button } => {
                self.point_at_some(at.as_ref(), screen)?;
                self.buttons.retain(|held| *held != button_of(*button));
                Ok(self.enigo.button(button_of(*button), Direction::Release)?)
            }
            Action::Drag { path, button } => self.drag(path, *button, screen),
            Action::Scroll { at, dx, dy } => {
                self.point_at_some(at.as_ref(), screen)?;
                if *dy != 0 {
                    self.enigo.scroll(*dy, Axis::Vertical)?;
                }
                if *dx != 0 {
                    self.enigo.scroll(*dx, Axis::Horizontal)?;
                }
                Ok(())
            }
            Action::Hold { keys, actions } => {
                let mut done = Ok(());
                self.while_holding(Some(keys), |input| {
                    done = actions.iter().try_for_each(|action| input.try_act(action, screen));
                    Ok(())
                })?;
                done
            }
            Action::Cursor => {
                Err(ActionError::Refused("this desktop does not tell where its pointer is".into()))
            }
            Action::Type { text } => self.type_text(text),
            Action::Key { chord, hold_ms: _ } => self.while_holding(Some(chord), |_| Ok(())),
            Action::Wait { .. } | Action::Screenshot | Action::Zoom { .. } => Ok(()),
            Action::Read { what } if what.is_in_observation() => Ok(()),
            // A key that stays down would stay down for the user, too.
            Action::KeyDown { .. } | Action::KeyUp { .. } => {
                Err(ActionError::Refused("this desktop holds no keys down between actions".into()))
            }
            Action::Select { .. }
            | Action::ScrollTo { .. }
            | Action::Fill { .. }
            | Action::Upload { .. }
            | Action::Read { .. }
            | Action::Script { .. }
            | Action::Navigate { .. }
            | Action::History { .. }
            | Action::Tab { .. }
            | Action::Dialog { .. } => {
                Err(ActionError::Refused("this desktop offers pointer and keyboard only; use those".into()))
            }
        }
    }

    fn point_at_some(
        &mut self,
        target: Option<&Target<ScreenPoint>>,
        screen: &Screen,
    ) -> Result<(), ActionError> {
        target.map_or(Ok(()), |target| self.point_at(target, screen))
    }

    fn point_at(&mut self, target: &Target<ScreenPoint>, screen: &Screen) -> Result<(), ActionError> {
        match target {
            Target::Point(point) => self.move_to(*point, screen),
            Target::Ref(node) => Err(ActionError::Refused(format!(
                "this desktop has no element references ({node}); give a point"
            ))),
        }
    }

    fn move_to(&mut self, point: ScreenPoint, screen: &Screen) -> Result<(), ActionError> {
        let outside = || ActionError::Refused(format!("({}, {}) is not on the screen", point.x, point.y));
        let (x, y) = screen.to_input(point).ok_or_else(outside)?;
        Ok(self.enigo.move_mouse(x, y, Coordinate::Abs)?)
    }

    fn drag(&mut self, path: &[ScreenPoint], button: Button, screen: &Screen) -> Result<(), ActionError> {
        let [first, rest @ ..] = path else {
            return Err(ActionError::Refused("a drag needs two points".into()));
        };
        if rest.is_empty() {
            return Err(ActionError::Refused("a drag needs two points".into()));
        }
        self.move_to(*first, screen)?;
        self.enigo.button(button_of(button), Direction::Press)?;
        let moved = rest.iter().try_for_each(|point| self.move_to(*point, screen));
        self.enigo.button(button_of(button), Direction::Release)?;
        moved
    }

    /// Types a text. Line breaks are sent as the Enter key, because some toolkits drop them as characters.
    fn type_text(&mut self, text: &str) -> Result<(), ActionError> {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.enigo.key(Key::Return, Direction::Click)?;
            }
            for (index, part) in line.split('\t').enumerate() {
                if index > 0 {
                    self.enigo.key(Key::Tab, Direction::Click)?;
                }
                if !part.is_empty() {
                    self.enigo.text(part)?;
                }
            }
        }
        Ok(())
    }

    /// Holds a chord while `inside` runs, then releases its keys in reverse order, even after an error.
    fn while_holding(
        &mut self,
        chord: Option<&Chord>,
        inside: impl FnOnce(&mut Self) -> Result<(), InputError>,
    ) -> Result<(), ActionError> {
        let keys = chord.map_or(&[][..], Chord::keys);
        let unknown = |name: &str| ActionError::Refused(format!("the key {name:?} cannot be pressed here"));
        let keys: Vec<Key> = keys
            .iter()
            .map(|key| native(key).ok_or_else(|| unknown(key.as_str())))
            .collect::<Result<_, _>>()?;
        let mut held = Vec::new();
        let mut outcome = Ok(());
        for key in keys {
            outcome = self.enigo.key(key, Direction::Press);
            if outcome.is_err() {
                break;
            }
            held.push(key);
        }
        let outcome = outcome.and_then(|()| inside(self));
        let released = held.into_iter().rev().map(|key| self.enigo.key(key, Direction::Release));
        let released = released.fold(Ok(()), Result::and);
        Ok(outcome.and(released)?)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        for button in std::mem::take(&mut self.buttons) {
            // A failure at this point cannot be reported.
            let _ = self.enigo.button(button, Direction::Release);
        }
    }
}

fn button_of(button: Button) -> NativeButton {
    match button {
        Button::Left => NativeButton::Left,
        Button::Middle => NativeButton::Middle,
        Button::Right => NativeButton::Right,
        Button::Back => NativeButton::Back,
        Button::Forward => NativeButton::Forward,
    }
}
