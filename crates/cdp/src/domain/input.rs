//! Input, as if from devices.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Nothing, command, happening};

/// What the pointer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseEventKind {
    /// Moves.
    MouseMoved,
    /// Presses a button.
    MousePressed,
    /// Releases it.
    MouseReleased,
    /// Turns the wheel.
    MouseWheel,
}

/// Which button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    /// None.
    #[default]
    None,
    /// The primary one.
    Left,
    /// The wheel.
    Middle,
    /// The secondary one.
    Right,
}

/// Moves the pointer, presses or releases a button, turns the wheel.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchMouseEvent {
    /// What it does.
    #[serde(rename = "type")]
    pub kind: MouseEventKind,
    /// Pixels from the left of the viewport.
    pub x: f64,
    /// Pixels from its top.
    pub y: f64,
    /// Bits of held modifiers: 1 alt, 2 control, 4 meta, 8 shift.
    pub modifiers: u8,
    /// The button.
    pub button: MouseButton,
    /// Bits of held buttons: 1 left, 2 right, 4 middle.
    pub buttons: u8,
    /// Which click in a row this is.
    pub click_count: u8,
    /// Wheel across, in pixels.
    pub delta_x: f64,
    /// Wheel down, in pixels.
    pub delta_y: f64,
}

command!(DispatchMouseEvent, "Input.dispatchMouseEvent", Nothing);

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyEventKind {
    /// Goes down and gives text.
    KeyDown,
    /// Goes down without text.
    RawKeyDown,
    /// Comes up.
    KeyUp,
}

/// Presses or releases a key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchKeyEvent {
    /// What it does.
    #[serde(rename = "type")]
    pub kind: KeyEventKind,
    /// Bits of held modifiers, this key included.
    pub modifiers: u8,
    /// DOM's `key`.
    pub key: String,
    /// DOM's `code`.
    pub code: String,
    /// The key code of old.
    pub windows_virtual_key_code: u32,
    /// The text it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which of several keys of this name: 0 the usual one, 1 the left one.
    pub location: u8,
}

command!(DispatchKeyEvent, "Input.dispatchKeyEvent", Nothing);

/// Puts text where the caret is.
#[derive(Clone, Debug, Serialize)]
pub struct InsertText {
    /// The text.
    pub text: String,
}

command!(InsertText, "Input.insertText", Nothing);

/// Reports drags instead of handing them to the window system.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetInterceptDrags {
    /// On or off.
    pub enabled: bool,
}

command!(SetInterceptDrags, "Input.setInterceptDrags", Nothing);

/// A drag began in the page.
#[derive(Clone, Debug, Deserialize)]
pub struct DragIntercepted {
    /// What is dragged, as the browser wants it back.
    pub data: Value,
}

happening!(DragIntercepted, "Input.dragIntercepted");

/// What a drag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DragEventKind {
    /// Comes in.
    DragEnter,
    /// Moves.
    DragOver,
    /// Is let go.
    Drop,
}

/// Moves or drops what is dragged.
#[derive(Clone, Debug, Serialize)]
pub struct DispatchDragEvent {
    /// What it does.
    #[serde(rename = "type")]
    pub kind: DragEventKind,
    /// Pixels from the left of the viewport.
    pub x: f64,
    /// Pixels from its top.
    pub y: f64,
    /// What is dragged.
    pub data: Value,
}

command!(DispatchDragEvent, "Input.dispatchDragEvent", Nothing);
