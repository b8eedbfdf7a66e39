//! Choosing an option of a list box. Programs answer that an option's own action was done whether or not their list box took it, so
//! what it shows is read afterwards, and the next way is tried.

use std::time::Duration;

use apprentice_protocol::{
    ActReport, Button, Chord, NodeRef, ScreenPoint, State, Target, TreeBudget, UiNode, UiTree,
};
use apprentice_sandbox::{NodeFacts, Pointer};

use super::target::Reach;
use super::{ActionError, ActionResult, DesktopEnvironment, refuse};

/// What is said where a list box does not tell what it shows.
const UNREAD: &str =
    "The option was asked for; this list box does not tell what it shows, so look whether it took it.";
/// Most options that are stepped over by keys.
const STEPS: usize = 60;
/// Longest wait for a list to open, and for a list box to show what was chosen.
const OPENS: Duration = Duration::from_millis(600);

impl DesktopEnvironment {
    pub(super) async fn select(&self, at: &Target<ScreenPoint>, option: &str) -> ActionResult {
        let Target::Ref(node) = at else {
            return refuse("name the list box by its reference, or click it and then its option");
        };
        self.aim(node, &Pointer::Move).await?;
        self.record_disturbance().await?;
        let chosen = self.cell.choose(node, option).await;
        if let Err(error) = chosen {
            return Err(self.action_error(error));
        }
        self.settle().await?;
        let facts = self.facts(node).await?;
        match shows(&facts, option) {
            Some(false) => {}
            None if facts.role.as_str() == "combobox" => {
                return Ok(ActReport { text: Some(UNREAD.to_owned()), ..ActReport::delivered() });
            }
            _ => return Ok(ActReport::delivered()),
        }
        if self.choose_by_pointer(node, option).await? || self.choose_by_keys(node, option).await? {
            return Ok(ActReport::delivered());
        }
        let facts = self.facts(node).await?;
        refuse(format!(
            "the list box {node} did not take {option:?}: it still shows {:?}; open it by a click and look at what it lists",
            shown(&facts).unwrap_or_default()
        ))
    }

    /// Presses something that does not show. An option of a closed list box is chosen there: alone, its action may do nothing.
    pub(super) async fn press_hidden(&self, node: &NodeRef) -> ActionResult {
        let Some((holder, option)) = self.seen_tree.as_ref().and_then(|tree| closed_option(tree, node))
        else {
            return self.press_node(node).await;
        };
        // Boxed, as a click on an option may come from here again.
        Box::pin(self.select(&Target::Ref(holder), &option)).await
    }

    /// Opens the list box by a click and clicks the option. Returns whether the box shows it then.
    async fn choose_by_pointer(&self, node: &NodeRef, option: &str) -> Result<bool, ActionError> {
        self.open(node).await?;
        let tree = self.tree(&TreeBudget::default()).await?;
        let Some(listed) = shown_option(&tree, node, option).cloned() else {
            self.press_key("Escape").await?;
            return Ok(false);
        };
        self.click_once(&listed).await?;
        self.shows_soon(node, option).await
    }

    /// Opens a list box where its arrow is: one that can be typed into takes a click elsewhere for its text.
    async fn open(&self, node: &NodeRef) -> Result<(), ActionError> {
        self.aim(node, &Pointer::Move).await?;
        let Some(bounds) = self.facts(node).await?.bounds.filter(|bounds| bounds.width > 2 * bounds.height)
        else {
            return self.click_once(node).await;
        };
        let arrow =
            ScreenPoint::new(bounds.x + bounds.width - bounds.height / 2, bounds.y + bounds.height / 2);
        let click = Pointer::Click { button: Button::Left, count: 1, hold: None };
        self.point_and(Some(&Target::Point(arrow)), click).await.map(|_| ())
    }

    /// Steps through the options by keys. Returns whether the box shows the wanted one then.
    async fn choose_by_keys(&self, node: &NodeRef, option: &str) -> Result<bool, ActionError> {
        match self.cell.focus(node).await {
            Ok(()) => {}
            Err(_) => return Ok(false),
        }
        self.press_key("Home").await?;
        for _ in 0..STEPS {
            let before = self.facts(node).await?;
            if shows(&before, option) == Some(true) {
                return Ok(true);
            }
            self.press_key("Down").await?;
            if shown(&self.facts(node).await?) == shown(&before) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    async fn click_once(&self, node: &NodeRef) -> Result<(), ActionError> {
        let click = Pointer::Click { button: Button::Left, count: 1, hold: None };
        match self.aim(node, &click).await? {
            Reach::Point(at) => self.point_and(Some(&Target::Point(at)), click).await.map(|_| ()),
            Reach::Press => self.press_node(node).await.map(|_| ()),
        }
    }

    async fn press_key(&self, key: &str) -> Result<(), ActionError> {
        match Chord::parse(key) {
            Ok(chord) => self.press_chord(chord, None).await.map(|_| ()),
            Err(error) => Err(ActionError::Refused(error.to_string())),
        }
    }

    /// Waits until the box shows an option, as a program may draw it a moment later.
    async fn shows_soon(&self, node: &NodeRef, option: &str) -> Result<bool, ActionError> {
        if shows(&self.facts(node).await?, option) == Some(true) {
            return Ok(true);
        }
        let changes = self.cell.on_screen(|screen, _| Ok(screen.activity()?.0)).await?;
        self.cell.on_screen(move |screen, stop| screen.await_change(changes, OPENS, stop)).await?;
        Ok(shows(&self.facts(node).await?, option) == Some(true))
    }
}

/// What a list box shows.
fn shown(facts: &NodeFacts) -> Option<&str> {
    facts.value.as_deref()
}

/// Whether a list box shows an option. `None` where it does not tell what it shows.
fn shows(facts: &NodeFacts, option: &str) -> Option<bool> {
    let is_it = |text: &str| text.trim().eq_ignore_ascii_case(option.trim());
    facts.value.as_deref().map(is_it)
}

/// An option below a list box that is drawn.
fn shown_option<'a>(tree: &'a UiTree, holder: &NodeRef, option: &str) -> Option<&'a NodeRef> {
    let is_it = |node: &&UiNode| {
        node.name.trim().eq_ignore_ascii_case(option.trim())
            && node.bounds.is_some()
            && !node.is(State::Hidden)
            && node.id != *holder
    };
    let parent = |node: &UiNode| tree.nodes.get(usize::try_from(node.parent?).ok()?);
    let is_below = |node: &&UiNode| {
        std::iter::successors(parent(node), |node| parent(node)).any(|above| above.id == *holder)
    };
    let options = || tree.nodes.iter().filter(|node| OPTIONS.contains(&node.role.as_str())).filter(is_it);
    options().find(is_below).or_else(|| options().next_back()).map(|node| &node.id)
}

/// Roles of what is chosen in a list.
const OPTIONS: [&str; 5] = ["option", "listitem", "menuitem", "cell", "treeitem"];

/// The list box that an element is an option of, if it does not show, and its name.
fn closed_option(tree: &UiTree, node: &NodeRef) -> Option<(NodeRef, String)> {
    let node = tree.nodes.iter().find(|other| other.id == *node)?;
    let parent = |node: &UiNode| tree.nodes.get(usize::try_from(node.parent?).ok()?);
    let mut above = std::iter::successors(parent(node), |node| parent(node));
    let holder = above.find(|above| above.role.as_str() == "combobox")?;
    (node.is(State::Hidden) && !node.name.is_empty()).then(|| (holder.id.clone(), node.name.clone()))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{NodeRef, Rect, Role, State, UiNode, UiTree};

    use super::{NodeFacts, closed_option, shown_option, shows};

    #[test]
    fn what_a_list_box_shows_is_compared() {
        let facts = |name: &str, value: Option<&str>| NodeFacts {
            role: Role::new("combobox"),
            name: name.into(),
            states: Vec::new(),
            bounds: None,
            pressable: true,
            value: value.map(str::to_owned),
            window: None,
        };
        assert_eq!(shows(&facts("100 %", None), "200 %"), None, "a name may be a label");
        assert_eq!(shows(&facts("Size", Some("Large")), "large"), Some(true));
        assert_eq!(shows(&facts("Size", Some("Small")), "large"), Some(false));
    }

    #[test]
    fn an_option_of_an_open_list_is_found_and_one_of_a_closed_list_too() {
        let node = |id: &str, parent: Option<u32>, role: &str, name: &str, shows: bool| UiNode {
            bounds: shows.then_some(Rect::new(1, 1, 9, 9)),
            states: if shows { [].into() } else { [State::Hidden].into() },
            ..UiNode::new(id, parent, role, name)
        };
        let tree = |shows| UiTree {
            nodes: vec![
                node("n1", None, "combobox", "Small", true),
                node("n2", Some(0), "list", "", shows),
                node("n3", Some(1), "option", "Large", shows),
            ],
            truncated: None,
        };
        let (holder, option) = (NodeRef("n1".into()), NodeRef("n3".into()));
        assert_eq!(shown_option(&tree(true), &holder, "large"), Some(&option));
        assert_eq!(shown_option(&tree(false), &holder, "large"), None);
        assert_eq!(closed_option(&tree(false), &option), Some((holder, "Large".into())));
        assert_eq!(closed_option(&tree(true), &option), None);
    }
}
