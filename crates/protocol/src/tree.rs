//! The accessibility tree, with one vocabulary for accessibility buses and browsers.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Detail, Rect};

/// A reference to a node, for example `n17`. It is stable for one trial: it survives new reads of the tree, becomes
/// invalid with the node, and is never reused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeRef(pub String);

impl fmt::Display for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A node's ARIA role (`button`, `menuitem`, `textbox`, `checkbox`, …). Adapters translate platform roles; a role
/// without a counterpart keeps its platform name in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Role(pub String);

impl Role {
    /// Creates a role.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns the role's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is a role of a program's windows. A message box is an `alert`; in a page, where it stands below a
    /// document, the same role is a text.
    pub fn is_window(&self) -> bool {
        ["window", "dialog", "alert"].contains(&self.as_str())
    }
}

/// A state of a node that is relevant to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Has the keyboard focus.
    Focused,
    /// Is the active window.
    Active,
    /// Is checked or pressed.
    Checked,
    /// Is unchecked but checkable.
    Unchecked,
    /// Is selected.
    Selected,
    /// Is expanded.
    Expanded,
    /// Is collapsed but expandable.
    Collapsed,
    /// Accepts no input.
    Disabled,
    /// Accepts text.
    Editable,
    /// Blocks the rest of its program.
    Modal,
    /// Is the button that the key Enter presses.
    Default,
    /// Is in the tree but not on the screen, for example an item of a closed menu.
    Hidden,
}

impl State {
    /// The word for it in a list of elements.
    pub fn word(self) -> &'static str {
        match self {
            Self::Focused => "focused",
            Self::Active => "active",
            Self::Checked => "checked",
            Self::Unchecked => "unchecked",
            Self::Selected => "selected",
            Self::Expanded => "expanded",
            Self::Collapsed => "collapsed",
            Self::Disabled => "disabled",
            Self::Editable => "editable",
            Self::Modal => "modal",
            Self::Default => "default",
            Self::Hidden => "hidden",
        }
    }
}

/// The part of a long text that is on the screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VisibleText {
    /// What shows.
    pub text: String,
    /// The number in the whole text of the line that it begins in, from 1.
    pub line: u32,
    /// The number of lines of the whole text.
    pub lines: u32,
}

impl VisibleText {
    /// The part of a text between two offsets in characters.
    pub fn between(whole: &str, start: usize, end: usize) -> Self {
        let at = |offset: usize| whole.char_indices().nth(offset).map_or(whole.len(), |(at, _)| at);
        let from = at(start);
        let text = whole[from..at(end).max(from)].trim_end_matches('\n').to_owned();
        let count = |text: &str| u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
        Self { text, line: count(&whole[..from]).saturating_add(1), lines: count(whole).saturating_add(1) }
    }

    /// The number of the last line that shows.
    pub fn last_line(&self) -> u32 {
        let breaks = self.text.matches('\n').count();
        self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX))
    }
}

/// One element of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiNode {
    /// The node's reference.
    pub id: NodeRef,
    /// The parent's index in [`UiTree::nodes`]; `None` for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The node's role.
    pub role: Role,
    /// The accessible name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The text or value, if it differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The part of its text that is on the screen, where the text is long and the part is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<VisibleText>,
    /// What its program tells of it besides its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
    /// The node's states.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub states: BTreeSet<State>,
    /// Position and size, if the node is on the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Rect>,
}

impl UiNode {
    /// Returns a node of which nothing is known but its role and name.
    pub fn new(id: impl Into<String>, parent: Option<u32>, role: &str, name: impl Into<String>) -> Self {
        Self {
            id: NodeRef(id.into()),
            parent,
            role: Role::new(role),
            name: name.into(),
            value: None,
            visible: None,
            details: Vec::new(),
            states: BTreeSet::new(),
            bounds: None,
        }
    }

    /// Returns whether the node has this state.
    pub fn is(&self, state: State) -> bool {
        self.states.contains(&state)
    }
}

/// The reason why a tree is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TruncationCause {
    /// The node budget ran out.
    Nodes,
    /// The depth budget ran out.
    Depth,
    /// The time budget ran out.
    Time,
}

/// The accessibility tree at one moment, parents before children.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiTree {
    /// The nodes, in depth-first order.
    pub nodes: Vec<UiNode>,
    /// The reason for missing nodes; `None` if the tree is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<TruncationCause>,
}

/// Most bytes of one text of a node.
pub const MAX_NODE_TEXT_BYTES: usize = 64 << 10;
/// Bytes of all texts of a tree after which the rest is cut short.
const MAX_TREE_TEXT_BYTES: usize = 16 << 20;
/// Bytes that each text keeps in a tree that is over its limit.
const SHORT_TEXT_BYTES: usize = 120;

/// Cuts a text to its first bytes, in whole characters, with a mark where more was.
pub fn cut_text(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

impl UiTree {
    /// Cuts names and values to what a view can use. The number of nodes alone bounds nothing: a program may give an element a
    /// name of many megabytes.
    pub fn bound_texts(&mut self) {
        let mut left = MAX_TREE_TEXT_BYTES;
        for node in &mut self.nodes {
            for text in [Some(&mut node.name), node.value.as_mut()].into_iter().flatten() {
                cut_text(text, MAX_NODE_TEXT_BYTES.min(left.max(SHORT_TEXT_BYTES)));
                left = left.saturating_sub(text.len());
            }
        }
    }

    /// Returns the node with this reference.
    pub fn get(&self, id: &NodeRef) -> Option<&UiNode> {
        self.nodes.iter().find(|node| node.id == *id)
    }

    /// Leaves the focus with the one element that the keys go to. Programs say of an element of each window, and of each page in
    /// a window, that it has the focus.
    pub fn keep_one_focus(&mut self) {
        let mut is_active: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let above = node.parent.and_then(|parent| is_active.get(parent as usize).copied());
            is_active.push(node.is(State::Active) || above.unwrap_or_default());
        }
        let holds_others = |node: &UiNode| {
            (node.role.is_window() || node.role.as_str() == "document") && !node.is(State::Editable)
        };
        let has_focus = (0..self.nodes.len()).filter(|index| self.nodes[*index].is(State::Focused));
        let focus = has_focus.max_by_key(|index| {
            let node = &self.nodes[*index];
            (!node.is(State::Hidden), is_active[*index], !holds_others(node), node.bounds.is_some(), *index)
        });
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if Some(index) != focus {
                node.states.remove(&State::Focused);
            }
        }
    }

    /// Returns the number of ancestors of each node, in node order.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let parent = node.parent.and_then(|parent| depths.get(parent as usize).copied());
            depths.push(parent.map_or(0, |depth| depth + 1));
        }
        depths
    }
}

/// How to treat nodes that are in the tree but not on the screen: items of closed menus, pages of background tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HiddenNodes {
    /// Hidden nodes may be omitted: they are not visible on the screen.
    #[default]
    Skip,
    /// Hidden nodes are read after all visible ones.
    Read,
}

/// Limits on reading a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeBudget {
    /// Maximum number of nodes.
    pub nodes: u32,
    /// Maximum depth.
    pub depth: u32,
    /// Maximum time, in milliseconds.
    pub ms: u64,
    /// Whether to read hidden nodes.
    #[serde(default)]
    pub hidden: HiddenNodes,
}

impl TreeBudget {
    /// Returns the time limit.
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.ms)
    }
}

impl Default for TreeBudget {
    fn default() -> Self {
        Self { nodes: 3000, depth: 100, ms: 3000, hidden: HiddenNodes::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MAX_NODE_TEXT_BYTES, MAX_TREE_TEXT_BYTES, NodeRef, Role, State, UiNode, UiTree, VisibleText,
    };
    use crate::Rect;

    /// A node by its parent, role and states, and whether it has a place.
    type Sketch<'a> = (Option<u32>, &'a str, &'a [State], bool);

    /// The numbers of the nodes that keep the focus.
    fn kept(nodes: &[Sketch<'_>]) -> Vec<usize> {
        let mut tree = UiTree::default();
        for (index, (parent, role, states, placed)) in nodes.iter().enumerate() {
            tree.nodes.push(UiNode {
                states: states.iter().copied().collect(),
                bounds: placed.then(|| Rect::new(0, 0, 10, 10)),
                ..UiNode::new(format!("n{index}"), *parent, role, "")
            });
        }
        tree.keep_one_focus();
        (0..nodes.len()).filter(|index| tree.nodes[*index].is(State::Focused)).collect()
    }

    #[test]
    fn one_element_keeps_the_focus() {
        use State::{Active, Editable, Focused, Hidden};
        let browser = [
            (None, "window", &[][..], true),
            (Some(0), "textbox", &[Focused], true),
            (Some(0), "document", &[Focused], true),
            (None, "window", &[], false),
            (Some(3), "document", &[Focused], false),
        ];
        assert_eq!(kept(&browser), [1], "a field rather than documents, also of windows without a place");
        let mut two = browser;
        two[3].2 = &[Active];
        assert_eq!(kept(&two), [4], "the active window's");
        let table = [(None, "table", &[Focused][..], true), (Some(0), "cell", &[Focused], true)];
        assert_eq!(kept(&table), [1], "the cell rather than its table");
        let written =
            [(None, "document", &[Focused, Editable][..], true), (None, "link", &[Focused, Hidden], true)];
        assert_eq!(kept(&written), [0], "a document that is written in; what is hidden has no keys");
        assert_eq!(kept(&[(None, "button", &[], true)]), [0usize; 0]);
    }

    #[test]
    fn names_of_megabytes_are_cut_and_short_ones_are_left() {
        let node = |name: String, value: Option<String>| UiNode {
            id: NodeRef("n".into()),
            parent: None,
            role: Role::new("button"),
            name,
            value,
            visible: None,
            details: Vec::new(),
            states: std::collections::BTreeSet::new(),
            bounds: None,
        };
        let mut tree =
            UiTree { nodes: vec![node("Save".into(), Some("ß".repeat(1 << 20)))], truncated: None };
        tree.nodes.extend((0..1000).map(|_| node("é".repeat(40 << 10), None)));
        tree.nodes.push(node("Cancel".into(), None));
        tree.bound_texts();
        let texts = |node: &UiNode| node.name.len() + node.value.as_ref().map_or(0, String::len);
        assert_eq!((tree.nodes[0].name.as_str(), tree.nodes[1001].name.as_str()), ("Save", "Cancel"));
        assert!(tree.nodes[0].value.as_ref().is_some_and(|value| value.ends_with("ß…")));
        assert!(tree.nodes.iter().all(|node| texts(node) <= MAX_NODE_TEXT_BYTES + 10));
        assert!(tree.nodes.iter().map(texts).sum::<usize>() < MAX_TREE_TEXT_BYTES * 2);
    }

    #[test]
    fn the_visible_part_knows_its_place() {
        let whole = "one\ntwö\nthree\nfour\n";
        let part = |start, end| {
            let part = VisibleText::between(whole, start, end);
            (part.text.clone(), part.line, part.last_line(), part.lines)
        };
        assert_eq!(part(0, 3), ("one".into(), 1, 1, 5));
        assert_eq!(part(5, 13), ("wö\nthree".into(), 2, 3, 5), "the rest of a line that begins above");
        assert_eq!(part(8, 99), ("three\nfour".into(), 3, 4, 5));
        assert_eq!(part(9, 2), (String::new(), 3, 3, 5), "an end before the start");
    }
}
