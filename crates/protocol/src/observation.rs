//! What a world looks like at one moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Image, TreeBudget, UiTree, Window};

/// What is asked of an observation. Worlds fill in what they can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// A picture.
    pub screenshot: bool,
    /// The interface tree, within this budget.
    pub tree: Option<TreeBudget>,
}

/// A browser tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tab {
    /// Its id, as tab actions name it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Whether it is in front.
    pub active: bool,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The screen, if asked for.
    pub screenshot: Option<Image>,
    /// The interface tree, if asked for.
    pub tree: Option<UiTree>,
    /// Windows, front to back (desktop worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// Tabs (browser worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<Tab>,
    /// An open page dialog's text, which blocks everything else (browser worlds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
}

impl Observation {
    /// The title of what is in front: the active tab's or the active window's.
    pub fn title(&self) -> &str {
        let tab = self.tabs.iter().find(|tab| tab.active).map(|tab| tab.title.as_str());
        let window = || self.windows.iter().find(|window| window.active).map(|window| window.title.as_str());
        tab.or_else(window).unwrap_or_default()
    }
}
