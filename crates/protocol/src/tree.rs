//! The interface as a tree: one vocabulary for accessibility buses and browsers.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Rect;

/// A node's reference, for example `n17`. It names the node's identity for one trial: it survives new
/// walks, dies with the node, and is never given to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeRef(pub String);

impl fmt::Display for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a node is, in ARIA's words (`button`, `menuitem`, `textbox`, `checkbox`, …). Adapters translate;
/// a role without a counterpart keeps its own name in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Role(pub String);

impl Role {
    /// The role of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A state worth telling a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Has the keyboard focus.
    Focused,
    /// Is the active window.
    Active,
    /// Is checked or pressed.
    Checked,
    /// Could be checked and is not.
    Unchecked,
    /// Is selected.
    Selected,
    /// Is open.
    Expanded,
    /// Could be opened and is not.
    Collapsed,
    /// Takes no input.
    Disabled,
    /// Takes text.
    Editable,
    /// Blocks the rest of its program.
    Modal,
    /// Is in the tree and not on the screen (an item of a closed menu, say).
    Hidden,
}

/// One element of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiNode {
    /// Its reference.
    pub id: NodeRef,
    /// The index of its parent in [`UiTree::nodes`]; none for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// What it is.
    pub role: Role,
    /// Its accessible name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its text or value, when it has one apart from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its states.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub states: BTreeSet<State>,
    /// Where it is, when it is on the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Rect>,
}

impl UiNode {
    /// Whether the node has this state.
    pub fn is(&self, state: State) -> bool {
        self.states.contains(&state)
    }
}

/// Why a tree is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// The node budget ran out.
    Nodes,
    /// The depth budget ran out.
    Depth,
    /// The time budget ran out.
    Time,
}

/// The interface at one moment, parents before children.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiTree {
    /// The nodes, in depth-first order.
    pub nodes: Vec<UiNode>,
    /// Why nodes are missing, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
}

impl UiTree {
    /// The node with this reference.
    pub fn get(&self, id: &NodeRef) -> Option<&UiNode> {
        self.nodes.iter().find(|node| node.id == *id)
    }

    /// How many ancestors each node has, in node order.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let parent = node.parent.and_then(|parent| depths.get(parent as usize).copied());
            depths.push(parent.map_or(0, |depth| depth + 1));
        }
        depths
    }
}

/// What becomes of elements that are in the tree and not on the screen: items of closed menus, pages of tabs that
/// are not in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HiddenNodes {
    /// They may be left out: who looks at the screen sees nothing of them.
    #[default]
    Skip,
    /// They are read, after everything that shows.
    Read,
}

/// How much of a tree may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeBudget {
    /// At most so many nodes.
    pub nodes: u32,
    /// At most so deep.
    pub depth: u32,
    /// At most so long, in milliseconds.
    pub ms: u64,
    /// Whether elements that do not show are wanted.
    #[serde(default)]
    pub hidden: HiddenNodes,
}

impl TreeBudget {
    /// The time budget.
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.ms)
    }
}

impl Default for TreeBudget {
    fn default() -> Self {
        Self { nodes: 3000, depth: 40, ms: 3000, hidden: HiddenNodes::Skip }
    }
}
