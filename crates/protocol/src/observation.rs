//! An observation of a world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Image, TreeBudget, UiTree, Window};

/// The requested parts of an observation. Worlds provide those that they support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// Whether to take a screenshot.
    pub screenshot: bool,
    /// Budget for the accessibility tree; `None` for no tree.
    pub tree: Option<TreeBudget>,
}

/// A browser tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tab {
    /// The id for tab actions.
    pub id: String,
    /// The page's title.
    pub title: String,
    /// The page's URL.
    pub url: String,
    /// Whether this is the active tab.
    pub active: bool,
}

/// The state of a world at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The screenshot, if requested.
    pub screenshot: Option<Image>,
    /// The accessibility tree, if requested.
    pub tree: Option<UiTree>,
    /// Windows, front to back (desktop worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// Tabs (browser worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<Tab>,
    /// Text of an open page dialog, which blocks all other actions (browser worlds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
}

impl Observation {
    /// Returns the title of the active tab, else of the active window.
    pub fn title(&self) -> &str {
        let tab = self.tabs.iter().find(|tab| tab.active).map(|tab| tab.title.as_str());
        let window = || self.windows.iter().find(|window| window.active).map(|window| window.title.as_str());
        tab.or_else(window).unwrap_or_default()
    }
}
