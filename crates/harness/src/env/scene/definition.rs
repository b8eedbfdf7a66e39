//! The form in which a scene is written down.

use std::collections::BTreeMap;

use apprentice_protocol::WorldFault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The page it starts on.
    pub start: String,
    /// The values that controls are bound to and effects change.
    #[serde(default)]
    pub state: BTreeMap<String, Value>,
    /// Files by absolute path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The pages by name.
    pub pages: BTreeMap<String, Page>,
    /// What goes wrong, and when.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// What is on the screen at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The window's title.
    pub title: String,
    /// Its controls, top down; menus stand in a bar above the rest.
    #[serde(default)]
    pub controls: Vec<Control>,
    /// Effects of chords, in canonical spelling.
    #[serde(default)]
    pub keys: BTreeMap<String, Vec<Effect>>,
}

/// One control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// `button`, `textbox`, `checkbox`, `menu`, `menuitem`, `link`, `list`, `listitem`, `combobox`, `text`, …
    pub role: String,
    /// Its name.
    pub name: String,
    /// The state value that it shows, and changes where its role can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<String>,
    /// The options of a combobox.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What is below it: a menu's items, a list's entries. A menu shows them once it is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Self>,
    /// The menu that a secondary click on it opens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Self>,
    /// It is there only while these values hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Value>,
    /// It takes input only while these values hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub enabled_when: BTreeMap<String, Value>,
    /// Effects of a click.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub click: Vec<Effect>,
    /// Effects of a double click.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub double_click: Vec<Effect>,
    /// Effects of the Enter key while it has the focus.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enter: Vec<Effect>,
}

/// One thing that an input brings about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Sets values.
    Set(BTreeMap<String, Value>),
    /// Copies values: the key gets the value of the name on the right.
    Copy(BTreeMap<String, String>),
    /// Turns a truth value over.
    Toggle(String),
    /// Shows another page.
    Go(String),
    /// Writes files; `{name}` in a text stands for that value.
    Write(BTreeMap<String, String>),
    /// Tells the agent something.
    Say(String),
    /// Does the rest only while these values hold.
    When {
        /// The values.
        is: BTreeMap<String, Value>,
        /// The rest.
        then: Vec<Self>,
    },
}

/// Where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultPlace {
    /// Opening the world.
    Open,
    /// Looking.
    Observe,
    /// Acting.
    Act,
    /// Reaching in for setup and checks.
    Machine,
    /// Closing.
    Close,
}

/// An infrastructure failure to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Where.
    pub at: FaultPlace,
    /// After so many uses of that place went well.
    #[serde(default)]
    pub after: u32,
    /// As what; without one the call never answers.
    #[serde(default)]
    pub fault: Option<WorldFault>,
    /// Only in the first so many worlds that a source opens from this scene.
    #[serde(default)]
    pub first_worlds: Option<u32>,
}
