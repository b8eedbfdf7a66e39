//! The JSON format of scenes.

use std::collections::BTreeMap;

use apprentice_protocol::WorldErrorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A scene: an in-memory world of pages and controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Name of the first page.
    pub start: String,
    /// Initial state values. Controls are bound to them, and effects change them.
    #[serde(default)]
    pub state: BTreeMap<String, Value>,
    /// Initial files: content by absolute path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The pages by name.
    pub pages: BTreeMap<String, Page>,
    /// Infrastructure faults to simulate.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// A page: everything on the screen at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The window's title.
    pub title: String,
    /// The controls, top down. Menus are placed in a menu bar above the other controls.
    #[serde(default)]
    pub controls: Vec<Control>,
    /// Effects of key chords, by chord in canonical spelling.
    #[serde(default)]
    pub keys: BTreeMap<String, Vec<Effect>>,
}

/// A control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// The role: `button`, `textbox`, `checkbox`, `menu`, `menuitem`, `link`, `list`, `listitem`, `combobox`, `text`, …
    pub role: String,
    /// The accessible name.
    pub name: String,
    /// Name of the state value that the control shows, and that input changes if the role allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<String>,
    /// The options of a combobox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Child controls: a menu's items, a list's entries. A menu shows them while it is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Self>,
    /// The items of the context menu, opened by a secondary click.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Self>,
    /// The control exists only while these state values hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Value>,
    /// The control is enabled only while these state values hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub enabled_when: BTreeMap<String, Value>,
    /// Effects of a click.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub click: Vec<Effect>,
    /// Effects of a double click.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double_click: Vec<Effect>,
    /// Effects of the Enter key while the control has the focus.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enter: Vec<Effect>,
}

/// An effect of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Sets state values.
    Set(BTreeMap<String, Value>),
    /// Copies state values: each key receives the value of the name on its right.
    Copy(BTreeMap<String, String>),
    /// Inverts a boolean state value.
    Toggle(String),
    /// Goes to another page.
    Go(String),
    /// Writes files, content by path. `{name}` in a content is replaced by that state value.
    Write(BTreeMap<String, String>),
    /// Reports a text to the agent.
    Say(String),
    /// Applies further effects only while these state values hold.
    When {
        /// The required state values.
        is: BTreeMap<String, Value>,
        /// The effects to apply.
        then: Vec<Self>,
    },
}

/// The operation at which a simulated fault occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultPlace {
    /// Opening the world.
    Open,
    /// Observing.
    Observe,
    /// Acting.
    Act,
    /// Access by setup and checks.
    Machine,
    /// Closing the world.
    Close,
}

/// A simulated infrastructure fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The operation that fails.
    pub at: FaultPlace,
    /// Number of successful operations of this kind before the fault.
    #[serde(default)]
    pub after: u32,
    /// Kind of the error. Without one, the operation hangs.
    #[serde(default)]
    pub fault: Option<WorldErrorKind>,
    /// Limits the fault to this many worlds, the first that a source opens from this scene. All worlds if absent.
    #[serde(default)]
    pub first_worlds: Option<u32>,
}
