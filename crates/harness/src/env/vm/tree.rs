//! Parses the interface tree in the XML format of OSWorld's machines, and keeps the references of its elements. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use apprentice_protocol::{
    HiddenNodes, NodeRef, Rect, Role, ScreenPoint, State, TreeBudget, TruncationCause, UiNode, UiTree,
};
use apprentice_sandbox::elements;
use roxmltree::{Document, Node, NodeId};

use super::document::{LEVELS, is, of, shows_below, states};
use super::silent_menus::{self, MenuItem};

/// The references given out in one world, and the elements of the latest tree.
#[derive(Default)]
pub(super) struct ElementRefs {
    known: HashMap<String, NodeRef>,
    now: HashMap<NodeRef, NamedElement>,
    /// For each window, which of its like it is, counted from 0, and the last tree that held it.
    windows: HashMap<String, (u32, u64)>,
    /// Number of trees so far.
    trees: u64,
}

/// An element of the latest tree.
struct NamedElement {
    /// Role, reference and name.
    told: String,
    bounds: Option<Rect>,
    disabled: bool,
}

impl NamedElement {
    fn of(node: &UiNode) -> Self {
        let role = node.role.as_str();
        Self {
            told: format!("{role} {} {:?}", node.id, node.name),
            bounds: node.bounds,
            disabled: node.is(State::Disabled) && CONTROLS.contains(&role),
        }
    }
}

/// Roles of elements that are grey when they are disabled. Others may say so where what holds them takes the click, as the
/// labels of GNOME's own buttons do.
const CONTROLS: [&str; 11] = [
    "button",
    "checkbox",
    "radio",
    "textbox",
    "combobox",
    "spinbutton",
    "slider",
    "tab",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
];

/// Tags of windows. A machine's server tells no more of them than their place, so one that comes back with the same title is
/// taken for another window.
const WINDOWS: [&str; 8] =
    ["frame", "window", "dialog", "alert", "file-chooser", "color-chooser", "font-chooser", "internal-frame"];

impl ElementRefs {
    fn name(&mut self, identity: &str) -> NodeRef {
        let next = self.known.len() + 1;
        self.known.entry(identity.to_owned()).or_insert_with(|| NodeRef(format!("n{next}"))).clone()
    }

    /// Returns which of its like a window is: one that the tree before did not hold is another one.
    fn instance(&mut self, identity: &str) -> u32 {
        let now = self.trees;
        let (instance, seen) = self.windows.entry(identity.to_owned()).or_insert((0, now));
        if *seen + 1 < now {
            *instance += 1;
        }
        *seen = now;
        *instance
    }

    /// Why an element of the latest tree cannot be clicked, if it is disabled there.
    pub(super) fn disabled(&self, node: &NodeRef) -> Option<String> {
        let element = self.now.get(node).filter(|element| element.disabled)?;
        Some(format!("{} is disabled: something else must be done first", element.told))
    }

    /// The point at which to click an element of the latest tree.
    pub(super) fn find(&self, node: &NodeRef) -> Result<ScreenPoint, String> {
        let gone = || format!("{node} is gone; look at the new list of elements");
        let NamedElement { told, bounds, .. } = self.now.get(node).ok_or_else(gone)?;
        bounds
            .and_then(|bounds| bounds.centre())
            .ok_or_else(|| format!("{told} is not on the screen: open what holds it, or scroll it into view"))
    }
}

/// Reads a document within a budget. `menus` are the items of open menus that it lists without a place.
pub(super) fn read(
    document: &Document<'_>,
    menus: &[MenuItem],
    budget: &TreeBudget,
    names: &mut ElementRefs,
) -> UiTree {
    names.trees += 1;
    let menus = silent_menus::places(document, menus);
    let mut walk = Walk { budget: *budget, names, tree: UiTree::default(), seen: HashSet::new(), menus };
    for top in document.root_element().children().filter(Node::is_element) {
        walk.take(top, None, 0, "");
    }
    let mut tree = walk.tree;
    elements::lower_root_panes(&mut tree.nodes);
    elements::correct(&mut tree.nodes);
    tree.keep_one_focus();
    names.now = tree.nodes.iter().map(|node| (node.id.clone(), NamedElement::of(node))).collect();
    tree
}

struct Walk<'n> {
    budget: TreeBudget,
    names: &'n mut ElementRefs,
    tree: UiTree,
    /// Identities of this tree's elements. Equal ones are numbered in order.
    seen: HashSet<String>,
    /// Where the items of open menus are that do not say so.
    menus: HashMap<NodeId, Rect>,
}

impl Walk<'_> {
    fn take(&mut self, node: Node<'_, '_>, parent: Option<u32>, depth: u32, above: &str) {
        let mut facts = ElementProperties::of(node);
        if let Some(place) = self.menus.get(&node.id()) {
            facts.show_at(*place);
        }
        if self.budget.hidden == HiddenNodes::Skip && !facts.shows && !shows_below(node, 0) {
            return;
        }
        let at = u32::try_from(self.tree.nodes.len()).unwrap_or(u32::MAX);
        let out = match (at >= self.budget.nodes, depth >= self.budget.depth.min(LEVELS)) {
            (true, _) => Some(TruncationCause::Nodes),
            (false, true) => Some(TruncationCause::Depth),
            (false, false) => None,
        };
        if out.is_some() {
            self.tree.truncated = self.tree.truncated.or(out);
            return;
        }
        let identity = self.identity(above, node.tag_name().name(), &facts.name);
        let id = self.names.name(&identity);
        let bounds = facts.bounds.filter(|_| facts.shows);
        let (role, name, value, states) = (facts.role, facts.name, facts.value, facts.states);
        self.tree.nodes.push(UiNode {
            id,
            parent,
            role,
            name,
            value,
            visible: None,
            details: Vec::new(),
            states,
            bounds,
        });
        for child in node.children().filter(Node::is_element) {
            self.take(child, Some(at), depth + 1, &identity);
        }
    }

    fn identity(&mut self, above: &str, tag: &str, name: &str) -> String {
        let plain = format!("{above}/{tag}\u{1}{name}");
        let numbered = (0u32..).map(|at| format!("{plain}\u{2}{at}")).find(|one| !self.seen.contains(one));
        let identity = numbered.unwrap_or(plain);
        self.seen.insert(identity.clone());
        match WINDOWS.contains(&tag) {
            true => format!("{identity}\u{3}{}", self.names.instance(&identity)),
            false => identity,
        }
    }
}

/// The properties of one element.
struct ElementProperties {
    role: Role,
    name: String,
    value: Option<String>,
    states: BTreeSet<State>,
    bounds: Option<Rect>,
    shows: bool,
}

impl ElementProperties {
    fn of(node: Node<'_, '_>) -> Self {
        let (tag, name) = (node.tag_name().name(), node.attribute("name").unwrap_or_default().to_owned());
        let (role, states) = elements::by_names(tag, &name, states(node));
        let text: String = node.children().filter(Node::is_text).filter_map(|text| text.text()).collect();
        let value = if text.trim().is_empty() {
            of(node, "value", "value").unwrap_or_default()
        } else {
            text.trim_end()
        };
        let value = Some(value).filter(|value| !value.is_empty() && *value != name).map(str::to_owned);
        let value = value.filter(|_| tag != "password-text");
        let pair = |name: &str| of(node, "component", name).and_then(numbers);
        let bounds = pair("screencoord")
            .zip(pair("size"))
            .map(|((x, y), (width, height))| Rect::new(x, y, width, height));
        let shows = tag == "application" || is(node, "showing");
        Self { states, role, name, value, bounds, shows }
    }

    fn show_at(&mut self, place: Rect) {
        (self.shows, self.bounds) = (true, Some(place));
        self.states.remove(&State::Hidden);
    }
}

/// Parses a pair such as `(12, -3)`.
fn numbers(text: &str) -> Option<(i32, i32)> {
    let (first, second) = text.trim().strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some((first.trim().parse().ok()?, second.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{
        HiddenNodes, NodeRef, Rect, ScreenPoint, State, TreeBudget, TruncationCause, UiTree,
    };

    use super::ElementRefs;
    use crate::env::vm::document::parse;

    const SHOWN: &str = "st:showing=\"true\" st:visible=\"true\" st:sensitive=\"true\" st:enabled=\"true\"";

    fn document(inner: &str) -> String {
        let space = "https://accessibility.ubuntu.example.org/ns";
        format!(
            "<desktop-frame xmlns:st=\"{space}/state\" xmlns:cp=\"{space}/component\" xmlns:val=\"{space}/value\" \
             xmlns:attr=\"{space}/attributes\" name=\"main\">{inner}</desktop-frame>"
        )
    }

    fn look(names: &mut ElementRefs, inner: &str, budget: TreeBudget) -> UiTree {
        let text = document(inner);
        super::read(&parse(&text).expect("reads"), &[], &budget, names)
    }

    fn button(name: &str, x: i32) -> String {
        format!("<push-button name=\"{name}\" {SHOWN} cp:screencoord=\"({x}, 20)\" cp:size=\"(30, 40)\"/>")
    }

    fn form(inner: &str) -> String {
        format!(
            "<application name=\"Editor\"><frame name=\"A\" st:active=\"true\" {SHOWN}>{inner}</frame></application>"
        )
    }

    #[test]
    fn elements_are_read_with_their_places_and_states() {
        let entry =
            format!("<entry name=\"Name\" st:editable=\"true\" st:focused=\"true\" {SHOWN}>Ann  \n</entry>");
        let slider = format!("<slider name=\"Size\" val:value=\"12.0\" {SHOWN}/>");
        let hidden = "<menu name=\"File\" st:showing=\"true\"><menu-item name=\"Open\"/></menu>";
        let inner = form(&format!("{}{entry}{slider}{hidden}", button("OK", 10)));
        let mut names = ElementRefs::default();
        let tree = look(&mut names, &inner, TreeBudget::default());
        let told: Vec<(&str, &str, Option<&str>)> = tree
            .nodes
            .iter()
            .map(|node| (node.role.as_str(), node.name.as_str(), node.value.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("application", "Editor", None),
                ("window", "A", None),
                ("button", "OK", None),
                ("textbox", "Name", Some("Ann")),
                ("slider", "Size", Some("12.0")),
                ("menuitem", "File", None),
            ]
        );
        assert_eq!(tree.nodes[2].bounds, Some(Rect::new(10, 20, 30, 40)));
        assert_eq!(names.find(&tree.nodes[2].id), Ok(ScreenPoint::new(25, 40)));
        assert!(tree.nodes[3].is(State::Focused) && tree.nodes[3].is(State::Editable));
        assert!(names.find(&tree.nodes[3].id).expect_err("no place").contains("not on the screen"));
        assert!(tree.nodes[5].is(State::Collapsed) && tree.nodes[5].is(State::Disabled));
        let all = TreeBudget { hidden: HiddenNodes::Read, ..TreeBudget::default() };
        let tree = look(&mut names, &inner, all);
        assert!(tree.nodes.last().is_some_and(|node| node.name == "Open" && node.is(State::Hidden)));
    }

    #[test]
    fn references_live_as_long_as_their_elements_and_are_never_given_again() {
        let mut names = ElementRefs::default();
        let budget = TreeBudget::default();
        let id = |tree: &UiTree, name: &str| -> Vec<NodeRef> {
            tree.nodes.iter().filter(|node| node.name == name).map(|node| node.id.clone()).collect()
        };
        let first = look(&mut names, &form(&format!("{}{}", button("OK", 1), button("OK", 50))), budget);
        assert_ne!(id(&first, "OK")[0], id(&first, "OK")[1]);
        let second = look(&mut names, &form(&format!("{}{}", button("No", 1), button("OK", 90))), budget);
        assert_eq!(id(&second, "OK"), [id(&first, "OK")[0].clone()]);
        assert!(!id(&first, "OK").contains(&id(&second, "No")[0]));
        let gone = names.find(&id(&first, "OK")[1]).expect_err("it is gone");
        assert!(gone.ends_with("is gone; look at the new list of elements"), "{gone}");
    }

    #[test]
    fn a_window_that_comes_back_is_another_one() {
        let mut names = ElementRefs::default();
        let dialog = format!(
            "<application name=\"zim\"><dialog name=\"Properties\" {SHOWN}>{}</dialog></application>",
            button("OK", 1)
        );
        let ok = |names: &mut ElementRefs| {
            look(names, &dialog, TreeBudget::default()).nodes.pop().expect("a button").id
        };
        let first = ok(&mut names);
        assert_eq!(ok(&mut names), first, "it is still there");
        look(&mut names, "<application name=\"zim\"/>", TreeBudget::default());
        assert_ne!(ok(&mut names), first);
        assert!(names.find(&first).is_err(), "the earlier window is gone");
    }

    #[test]
    fn a_disabled_element_says_so() {
        let mut names = ElementRefs::default();
        let grey = button("Save", 1).replace("st:sensitive=\"true\" st:enabled=\"true\"", "");
        let label = "<label name=\"Trash\" st:showing=\"true\"/>";
        let tree =
            look(&mut names, &form(&format!("{grey}{}{label}", button("OK", 50))), TreeBudget::default());
        let told = |at: usize| names.disabled(&tree.nodes[at].id);
        assert_eq!(
            told(2).as_deref(),
            Some("button n3 \"Save\" is disabled: something else must be done first")
        );
        assert_eq!((told(3), told(4)), (None, None), "a label is not grey");
    }

    #[test]
    fn budgets_and_broken_documents_are_told() {
        let mut names = ElementRefs::default();
        let many = form(&button("x", 1).repeat(50));
        let tree = look(&mut names, &many, TreeBudget { nodes: 10, ..TreeBudget::default() });
        assert_eq!((tree.nodes.len(), tree.truncated), (10, Some(TruncationCause::Nodes)));
        let tree = look(&mut names, &many, TreeBudget { depth: 2, ..TreeBudget::default() });
        assert_eq!((tree.nodes.len(), tree.truncated), (2, Some(TruncationCause::Depth)));
        for broken in ["", "<a", "not xml", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
