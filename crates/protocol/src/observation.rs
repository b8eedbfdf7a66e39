//! An observation of a world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Image, Rect, TreeBudget, UiTree, Window};

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

/// How a line about a tab begins, and how it ends for the active tab.
const TAB_HEADING: &str = "Tab: ";
const IN_FRONT: &str = " (in front)";
/// Limits of a title and an address in such a line, in characters.
const TITLE_LIMIT: usize = 200;
const URL_LIMIT: usize = 500;

impl Tab {
    /// Writes the tab as one line for a model: `Tab: t1 "title" address (in front)`. Long titles and addresses are cut.
    pub fn line(&self) -> String {
        let cut = |text: &str, limit: usize| match text.char_indices().nth(limit) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        let title = serde_json::Value::String(cut(&self.title, TITLE_LIMIT));
        let mark = if self.active { IN_FRONT } else { "" };
        format!("{TAB_HEADING}{} {title} {}{mark}", self.id, cut(&self.url, URL_LIMIT))
    }

    /// Reads a line that [`Tab::line`] wrote; `None` for any other line.
    pub fn parse(line: &str) -> Option<Self> {
        let (id, rest) = line.strip_prefix(TAB_HEADING)?.split_once(' ')?;
        let mut title = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let named = title.next()?.ok()?;
        let rest = rest.get(title.byte_offset()..)?.strip_prefix(' ')?;
        let url = rest.strip_suffix(IN_FRONT);
        let active = url.is_some();
        Some(Self { id: id.to_owned(), title: named, url: url.unwrap_or(rest).to_owned(), active })
    }
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
    /// The places of the monitors on the screen, if there are several (desktop worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Rect>,
    /// Tabs (browser worlds).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<Tab>,
    /// Text of an open page dialog, which blocks all other actions (browser worlds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
    /// What the model should know about this view, in sentences: a program that is still at work, a window whose
    /// elements cannot be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether nothing was drawn and no window came or went since the last action, although it should change something
    /// that can be seen. Elements may differ all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_drawn: bool,
}

impl Observation {
    /// Returns the title of the active tab, else of the active window.
    pub fn title(&self) -> &str {
        let tab = self.tabs.iter().find(|tab| tab.active).map(|tab| tab.title.as_str());
        let window = || self.windows.iter().find(|window| window.active).map(|window| window.title.as_str());
        tab.or_else(window).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::Tab;

    proptest! {
        #[test]
        fn a_tabs_line_is_read_back(title in "(?s).{0,40}", url in "[a-z:/().]{0,40}", active in proptest::bool::ANY) {
            let tab = Tab { id: "t7".into(), title, url, active };
            prop_assert_eq!(tab.line().lines().count(), 1);
            prop_assert_eq!(Tab::parse(&tab.line()), Some(tab));
        }
    }

    #[test]
    fn long_titles_and_addresses_are_cut_and_other_lines_are_none() {
        let tab = Tab { id: "t1".into(), title: "é".repeat(300), url: "x".repeat(900), active: false };
        let read = Tab::parse(&tab.line()).expect("a tab");
        assert_eq!((read.title.chars().count(), read.url.chars().count()), (201, 501));
        assert_eq!(Tab::parse("Front: \"A\""), None);
        assert_eq!(Tab::parse("Tab: t1 untitled"), None);
    }
}
