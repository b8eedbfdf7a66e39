//! The `Input` domain: simulated pointer and keyboard input.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Empty, command, event_payload};

/// Type of a mouse event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseEventKind {
    /// The pointer moves.
    MouseMoved,
    /// A button goes down.
    MousePressed,
    /// A button comes up.
    MouseReleased,
    /// The wheel turns.
    MouseWheel,
}

/// A mouse button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    /// No button.
    #[default]
    None,
    /// The primary button.
    Left,
    /// The middle button (the wheel).
    Middle,
    /// The secondary button.
    Right,
    /// The button on the side that goes back.
    Back,
    /// The button on the side that goes forward.
    Forward,
}

/// Sends a mouse event.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchMouseEvent {
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: MouseEventKind,
    /// Pixels from the left edge of the viewport.
    pub x: f64,
    /// Pixels from the top edge of the viewport.
    pub y: f64,
    /// Bit mask of held modifiers: 1 Alt, 2 Ctrl, 4 Meta, 8 Shift.
    pub modifiers: u8,
    /// The button that changes.
    pub button: MouseButton,
    /// Bit mask of held buttons: 1 left, 2 right, 4 middle.
    pub buttons: u8,
    /// Number of this click within a multiple click.
    pub click_count: u8,
    /// Horizontal scroll distance in pixels.
    pub delta_x: f64,
    /// Vertical scroll distance in pixels.
    pub delta_y: f64,
}

command!(DispatchMouseEvent, "Input.dispatchMouseEvent", Empty);

/// Type of a key event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyEventKind {
    /// The key goes down and generates text.
    KeyDown,
    /// The key goes down without text.
    RawKeyDown,
    /// The key comes up.
    KeyUp,
}

/// Sends a key event.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchKeyEvent {
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: KeyEventKind,
    /// Bit mask of held modifiers, including this key.
    pub modifiers: u8,
    /// `KeyboardEvent.key`.
    pub key: String,
    /// `KeyboardEvent.code`.
    pub code: String,
    /// The Windows virtual key code, which is the legacy `keyCode`.
    pub windows_virtual_key_code: u32,
    /// The generated text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `KeyboardEvent.location`: 0 for the standard key, 1 for the left one of a pair.
    pub location: u8,
}

command!(DispatchKeyEvent, "Input.dispatchKeyEvent", Empty);

/// Inserts text at the caret.
#[derive(Clone, Debug, Serialize)]
pub struct InsertText {
    /// The text.
    pub text: String,
}

command!(InsertText, "Input.insertText", Empty);

/// Reports drags as events instead of handing them to the window system.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetInterceptDrags {
    /// Whether drags are intercepted.
    pub enabled: bool,
}

command!(SetInterceptDrags, "Input.setInterceptDrags", Empty);

/// Event: a drag began in the page.
#[derive(Clone, Debug, Deserialize)]
pub struct DragIntercepted {
    /// The drag data, to be passed back in [`DispatchDragEvent`].
    pub data: Value,
}

event_payload!(DragIntercepted, "Input.dragIntercepted");

/// Type of a drag event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DragEventKind {
    /// The drag enters the page.
    DragEnter,
    /// The drag moves.
    DragOver,
    /// The data is dropped.
    Drop,
}

/// Sends a drag event.
#[derive(Clone, Debug, Serialize)]
pub struct DispatchDragEvent {
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: DragEventKind,
    /// Pixels from the left edge of the viewport.
    pub x: f64,
    /// Pixels from the top edge of the viewport.
    pub y: f64,
    /// The drag data from [`DragIntercepted`].
    pub data: Value,
}

command!(DispatchDragEvent, "Input.dispatchDragEvent", Empty);
