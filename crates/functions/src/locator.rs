//! Locators: how a function names an element. They are resolved in the tree of one observation, without a model and
//! without points. Two matches are an error that names both.

use std::borrow::Cow;
use std::fmt;

use apprentice_protocol::{NodeRef, Observation, State, UiNode, UiTree};

/// Roles of elements that hold a value, which a label names.
const FIELDS: [&str; 9] =
    ["textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider", "spinbutton"];
/// Roles of texts that label a field.
const LABELS: [&str; 3] = ["text", "label", "statictext"];
/// Roles of what `menu` may name.
const MENUS: [&str; 4] = ["menu", "menuitem", "menuitemcheckbox", "menuitemradio"];
/// Roles of what `desktop.window` may name.
const WINDOWS: [&str; 6] = ["window", "frame", "dialog", "alert", "alertdialog", "file chooser"];
/// Number of matches that an error names.
const NAMED: usize = 4;
/// Largest part of a name in an error, in characters.
const NAME: usize = 80;

/// One part of a locator. A name is compared whole, with runs of spaces as one and `…` as `...`; a `*` at its start or end stands for any
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// An element of this role, and of this name where one is given.
    Role {
        /// The ARIA role.
        role: String,
        /// The name.
        name: Option<String>,
    },
    /// A field with this label: its name, or the text before it.
    Label(String),
    /// The innermost element with this name or value.
    Text(String),
    /// A window or dialog of the desktop with this title.
    Window(String),
    /// A menu, or an item of an open menu.
    Menu(String),
}

/// A path to one element: each part is looked for inside the element of the part before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locator {
    /// The parts, outermost first. Without one it names the whole page or desktop.
    pub parts: Vec<Query>,
}

/// Why a locator names no element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocatorError {
    /// Nothing matches.
    #[error("no element matches {query}{}", if *.truncated { ", and the list of elements is incomplete" } else { "" })]
    NoMatch {
        /// The part without a match.
        query: String,
        /// Whether elements may be missing from the observation.
        truncated: bool,
    },
    /// Several elements match.
    #[error("{count} elements match {query}: {}; name one of them", .named.join(", "))]
    Several {
        /// The part with several matches.
        query: String,
        /// Number of matches.
        count: usize,
        /// The first of them.
        named: Vec<String>,
    },
    /// The observation has no elements.
    #[error("this world lists no elements")]
    NoTree,
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role { role, name: None } => write!(f, "get_by_role({role:?})"),
            Self::Role { role, name: Some(name) } => write!(f, "get_by_role({role:?}, {name:?})"),
            Self::Label(label) => write!(f, "get_by_label({label:?})"),
            Self::Text(text) => write!(f, "get_by_text({text:?})"),
            Self::Window(title) => write!(f, "window({title:?})"),
            Self::Menu(name) => write!(f, "menu({name:?})"),
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(Query::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl Locator {
    /// Returns the locator of an element inside this one.
    #[must_use]
    pub fn inside(&self, part: Query) -> Self {
        let mut parts = self.parts.clone();
        parts.push(part);
        Self { parts }
    }

    /// Returns the one element that the locator names.
    ///
    /// # Errors
    ///
    /// Fails if no element matches, if several do, or if the world lists no elements.
    pub fn resolve<'o>(&self, seen: &'o Observation) -> Result<&'o UiNode, LocatorError> {
        let (tree, matches) = self.matches(seen)?;
        let query = self.parts.last().map(Query::to_string).unwrap_or_default();
        match matches.as_slice() {
            [one] => Ok(&tree.nodes[*one]),
            [] => Err(LocatorError::NoMatch { query, truncated: tree.truncated.is_some() }),
            several => Err(LocatorError::Several {
                query,
                count: several.len(),
                named: several.iter().take(NAMED).map(|place| told(&tree.nodes[*place])).collect(),
            }),
        }
    }

    /// Returns the number of elements that the locator names.
    ///
    /// # Errors
    ///
    /// Fails if the world lists no elements.
    pub fn count(&self, seen: &Observation) -> Result<usize, LocatorError> {
        self.matches(seen).map(|(_, matches)| matches.len())
    }

    /// Returns the places of the matches of the last part. Every earlier part must name one element.
    fn matches<'o>(&self, seen: &'o Observation) -> Result<(&'o UiTree, Vec<usize>), LocatorError> {
        let tree = seen.tree.as_ref().ok_or(LocatorError::NoTree)?;
        let Some((last, outer)) = self.parts.split_last() else { return Ok((tree, Vec::new())) };
        let mut within = None;
        for (length, part) in (1..).zip(outer) {
            match matching(tree, part, within).as_slice() {
                [one] => within = Some(*one),
                // The outer element decides: none or several is its own error.
                _ => return Self { parts: self.parts[..length].to_vec() }.outer_error(seen, tree),
            }
        }
        Ok((tree, matching(tree, last, within)))
    }

    fn outer_error<'o>(
        &self,
        seen: &'o Observation,
        tree: &'o UiTree,
    ) -> Result<(&'o UiTree, Vec<usize>), LocatorError> {
        match self.resolve(seen) {
            Err(error) => Err(error),
            Ok(_) => Ok((tree, Vec::new())),
        }
    }
}

/// Returns the places of the elements that match a part, inside another element where one is given.
fn matching(tree: &UiTree, part: &Query, within: Option<usize>) -> Vec<usize> {
    let found: Vec<usize> = (0..tree.nodes.len())
        .filter(|place| within.is_none_or(|outer| is_inside(tree, *place, outer)))
        .filter(|place| fits(&tree.nodes[*place], part))
        .collect();
    if matches!(part, Query::Role { .. } | Query::Menu(_)) {
        return found;
    }
    if let (true, Query::Label(label)) = (found.is_empty(), part) {
        return labelled(tree, label, within);
    }
    // A text, a label or a title often stands on an element and again on what holds it: the innermost counts.
    let holds_another = |place: usize| found.iter().any(|other| is_inside(tree, *other, place));
    found.iter().copied().filter(|place| !holds_another(*place)).collect()
}

/// Returns the fields beside a text that labels them: toolkits often tell of no other connection than the order. The field
/// is the next one, before any other label; of a list box with an entry, the entry.
fn labelled(tree: &UiTree, label: &str, within: Option<usize>) -> Vec<usize> {
    let is_label = |place: usize| {
        let node = &tree.nodes[place];
        LABELS.contains(&node.role.as_str()) && !node.is(State::Hidden) && !node.name.trim().is_empty()
    };
    let is_wanted = |place: &usize| {
        let name = tree.nodes[*place].name.trim();
        is_label(*place) && (is_named(name, label) || is_named(name.trim_end_matches(':'), label))
    };
    let inside = |place: usize| within.is_none_or(|outer| is_inside(tree, place, outer));
    let field_of = |place: usize| {
        let mut after = (place + 1..tree.nodes.len()).take_while(|next| inside(*next) && !is_label(*next));
        let field = after.find(|next| is_field(&tree.nodes[*next]))?;
        let entry = (field + 1..tree.nodes.len())
            .find(|next| is_inside(tree, *next, field) && tree.nodes[*next].is(State::Editable));
        Some(entry.unwrap_or(field))
    };
    (0..tree.nodes.len()).filter(|place| inside(*place)).filter(is_wanted).filter_map(field_of).collect()
}

fn is_field(node: &UiNode) -> bool {
    !node.is(State::Hidden) && (FIELDS.contains(&node.role.as_str()) || node.is(State::Editable))
}

/// Returns whether an element lies inside another one.
fn is_inside(tree: &UiTree, place: usize, outer: usize) -> bool {
    let mut above = tree.nodes[place].parent;
    while let Some(parent) = above {
        let parent = parent as usize;
        if parent == outer {
            return true;
        }
        above = tree.nodes.get(parent).and_then(|node| node.parent);
    }
    false
}

fn fits(node: &UiNode, part: &Query) -> bool {
    if node.is(State::Hidden) {
        return false;
    }
    let role = node.role.as_str();
    match part {
        Query::Role { role: wanted, name } => {
            role == wanted && name.as_ref().is_none_or(|name| is_named(&node.name, name))
        }
        Query::Label(label) => is_field(node) && is_named(&node.name, label),
        Query::Text(text) => {
            is_named(&node.name, text) || node.value.as_ref().is_some_and(|value| is_named(value, text))
        }
        Query::Window(title) => WINDOWS.contains(&role) && is_named(&node.name, title),
        Query::Menu(name) => MENUS.contains(&role) && is_named(&node.name, name),
    }
}

/// Returns whether a name is the wanted one: equal but for runs of spaces and the form of dots, or fitting its `*`.
fn is_named(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (plain(name), plain(wanted));
    let (from_any, rest) = wanted.strip_prefix('*').map_or((false, &*wanted), |rest| (true, rest));
    let (to_any, middle) = rest.strip_suffix('*').map_or((false, rest), |rest| (true, rest));
    match (from_any, to_any) {
        (false, false) => name == middle,
        (true, false) => name.ends_with(middle),
        (false, true) => name.starts_with(middle),
        (true, true) => name.contains(middle),
    }
}

/// Returns a text with runs of spaces as one, none around it, and `…` as `...`. Most names are so already, and a screen has
/// hundreds.
fn plain(text: &str) -> Cow<'_, str> {
    let mut before = ' ';
    let is_plain = text.chars().all(|letter| {
        let is_kept = letter != '…' && (!letter.is_whitespace() || letter == ' ' && before != ' ');
        before = letter;
        is_kept
    });
    if is_plain && !text.ends_with(' ') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace('…', "...").split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Describes an element for an error.
fn told(node: &UiNode) -> String {
    let cut = |text: &str| text.chars().take(NAME).collect::<String>();
    let NodeRef(id) = &node.id;
    format!("{} {:?} ({id})", node.role.as_str(), cut(&node.name))
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{Observation, State, UiNode, UiTree};

    use super::{Locator, LocatorError, Query, is_named};

    fn node(id: usize, parent: Option<u32>, role: &str, name: &str) -> UiNode {
        UiNode::new(format!("n{id}"), parent, role, name)
    }

    fn seen(nodes: &[(Option<u32>, &str, &str)]) -> Observation {
        let nodes = nodes.iter().enumerate().map(|(id, (parent, role, name))| node(id, *parent, role, name));
        let tree = UiTree { nodes: nodes.collect(), truncated: None };
        Observation { tree: Some(tree), ..Observation::default() }
    }

    fn role(role: &str, name: &str) -> Query {
        Query::Role { role: role.into(), name: Some(name.into()) }
    }

    fn found(seen: &Observation, parts: Vec<Query>) -> Result<String, LocatorError> {
        Locator { parts }.resolve(seen).map(|node| node.id.to_string())
    }

    #[test]
    fn an_element_is_named_by_role_label_and_text_and_inside_another() {
        let seen = seen(&[
            (None, "dialog", "Rename"),
            (Some(0), "textbox", "Name"),
            (Some(0), "button", "Save  now"),
            (None, "dialog", "Export"),
            (Some(3), "button", "Save now"),
            (Some(3), "paragraph", "Done 3 of 4"),
            (Some(5), "text", "Done 3 of 4"),
        ]);
        assert_eq!(found(&seen, vec![Query::Label("Name".into())]), Ok("n1".into()));
        assert_eq!(found(&seen, vec![role("dialog", "Export"), role("button", "Save now")]), Ok("n4".into()));
        assert_eq!(found(&seen, vec![Query::Text("Done*".into())]), Ok("n6".into()), "the innermost");
        assert_eq!(found(&seen, vec![Query::Window("Ren*".into())]), Ok("n0".into()));
        let both = found(&seen, vec![role("button", "Save now")]).expect_err("two match");
        let told = both.to_string();
        assert!(told.contains("button \"Save  now\" (n2)") && told.contains("(n4)"), "{told}");
        let outer = found(&seen, vec![role("dialog", "*"), role("button", "Save now")]).expect_err("two");
        assert!(outer.to_string().starts_with("2 elements match get_by_role(\"dialog\", \"*\")"), "{outer}");
        let none = found(&seen, vec![role("button", "Save")]).expect_err("a name is compared whole");
        assert_eq!(none.to_string(), "no element matches get_by_role(\"button\", \"Save\")");
    }

    #[test]
    fn names_are_compared_but_for_spaces_and_the_form_of_dots() {
        for name in ["Save as...", "Save as…", " Save as…", "Save  as...", "Save\tas...", "Save as... "] {
            assert!(is_named(name, "Save as...") && is_named("Save as...", name), "{name:?}");
            assert!(
                is_named(name, "Save *") && is_named(name, "*as…") && is_named(name, "*e a*"),
                "{name:?}"
            );
            assert!(!is_named(name, "Save") && !is_named(name, ""), "{name:?}");
        }
        assert!(is_named("", "") && is_named(" ", ""));
    }

    #[test]
    fn a_text_before_a_field_is_its_label() {
        let mut seen = seen(&[
            (None, "dialog", "Find"),
            (Some(0), "text", "Search for:"),
            (Some(0), "combobox", ""),
            (Some(2), "textbox", ""),
            (Some(0), "text", "Direction:"),
            (Some(0), "combobox", "Down"),
            (Some(0), "text", "Note:"),
            (Some(0), "text", "Case:"),
            (Some(0), "checkbox", ""),
        ]);
        seen.tree.as_mut().expect("a tree").nodes[3].states.insert(State::Editable);
        let label = |text: &str| found(&seen, vec![role("dialog", "Find"), Query::Label(text.into())]);
        assert_eq!(label("Search for:"), Ok("n3".into()), "the entry of the list box");
        assert_eq!((label("Direction"), label("Case:")), (Ok("n5".into()), Ok("n8".into())));
        assert!(label("Note:").is_err(), "the field belongs to the label before it");
    }

    #[test]
    fn what_is_hidden_is_not_there() {
        let mut seen = seen(&[(None, "menuitem", "Export"), (None, "menuitem", "Export")]);
        seen.tree.as_mut().expect("a tree").nodes[0].states.insert(State::Hidden);
        assert_eq!(found(&seen, vec![role("menuitem", "Export")]), Ok("n1".into()));
        assert_eq!(found(&Observation::default(), vec![role("a", "b")]), Err(LocatorError::NoTree));
    }
}
