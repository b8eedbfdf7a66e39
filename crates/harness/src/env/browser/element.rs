//! Elements by reference: whether the node of a reference still exists and shows what it showed, and where to point at it.

use apprentice_cdp::Session;
use apprentice_cdp::domain::accessibility::GetPartialAxTree;
use apprentice_cdp::domain::dom::{ResolveNode, ScrollIntoViewIfNeeded};
use apprentice_cdp::domain::page::{FrameTree, GetFrameTree};
use apprentice_protocol::{NodeRef, ScreenPoint, Target, TreeBudget, UiNode};
use serde::Deserialize;
use serde_json::json;

use super::driver::{ActionError, Browser};
use super::layout::{TabPoint, WindowSize};
use super::node_refs::{NodeKey, Shown};
use super::snapshot::named_role;

const AIM: &str = include_str!("page/aim.js");
const CHOOSE: &str = include_str!("page/choose.js");

/// How many elements that look like one that is gone are named.
const SUCCESSORS: usize = 5;

/// A handle on an existing node.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) session: Session,
    pub(super) object: String,
    /// The frame of its document, where the element was found by its reference.
    pub(super) frame: Option<FoundFrame>,
}

/// The frame that an element stands in, within its session.
#[derive(Clone, Debug)]
pub(super) struct FoundFrame {
    pub(super) id: String,
    /// Whether it is the session's own frame, and not one within it.
    pub(super) is_own: bool,
}

/// What the pointer would hit at an element.
#[derive(Debug)]
pub(super) enum PointerTarget {
    /// The element, at this point of the page.
    At(f64, f64),
    /// A native list box, whose list is drawn by the system outside the page.
    List,
    /// An option of a native list box.
    Choice(Element),
}

#[derive(Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
enum Found {
    Gone,
    Hidden,
    Outside,
    Disabled,
    Moving,
    Covered { by: String },
    Untouchable { how: String },
    Replaced { now: String },
    List,
    Option,
    Free { x: f64, y: f64, width: f64, height: f64 },
}

impl Found {
    /// Why the element cannot be pointed at.
    fn problem(&self) -> Option<String> {
        Some(match self {
            Self::Hidden => "is not shown, so it cannot be pointed at".to_owned(),
            Self::Moving => {
                "does not stand still: wait until it does, or click where it will be by its point".to_owned()
            }
            Self::Disabled => "is disabled: something else must be done first".to_owned(),
            Self::Outside => "could not be scrolled into view".to_owned(),
            Self::Covered { by } => format!("is covered by <{by}>"),
            Self::Untouchable { how } => format!("takes no clicks: {how}"),
            Self::Gone | Self::Replaced { .. } | Self::List | Self::Option | Self::Free { .. } => {
                return None;
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(tag = "chosen", rename_all = "snake_case")]
enum Chosen {
    Yes,
    NotAList {
        what: String,
    },
    NoSuchOption {
        options: Vec<String>,
    },
    Disabled,
    /// The page put another option back.
    Kept {
        wanted: String,
    },
}

impl Browser {
    /// Finds the existing node of a reference, in the active tab.
    pub(super) async fn find(&self, node: &NodeRef) -> Result<Element, ActionError> {
        let gone = || ActionError::Gone(node.clone());
        let key = self.refs().find(node).cloned();
        let key = key.ok_or_else(|| ActionError::refused(format!("there never was an element {node}")))?;
        let front = self.front()?.session;
        if !self.watch().with(|pages| pages.has(&key.session)) {
            return Err(gone());
        }
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        if !parts.iter().any(|(session, _)| *session == key.session) {
            return Err(ActionError::refused(format!("element {node} is in a tab that is not in front")));
        }
        let session = self.session(&key.session);
        let frames = self.call(&session, &GetFrameTree {}).await?.frame_tree;
        if !holds(&frames, &key) {
            return Err(gone());
        }
        let frame = FoundFrame { is_own: frames.frame.id == key.frame, id: key.frame.clone() };
        let resolved = self.call(&session, &ResolveNode { backend_node_id: key.node }).await;
        match resolved {
            Ok(resolved) => match resolved.object.object_id {
                Some(object) => Ok(Element { session, object, frame: Some(frame) }),
                None => Err(gone()),
            },
            Err(ActionError::Replaced(_)) => Err(gone()),
            Err(other) => Err(other),
        }
    }

    /// Scrolls an element into view.
    pub(super) async fn reveal(&self, element: &Element) -> Result<(), ActionError> {
        let object_id = element.object.clone();
        match self.call(&element.session, &ScrollIntoViewIfNeeded { object_id }).await {
            Ok(_) => Ok(()),
            Err(ActionError::Replaced(_)) => {
                Err(ActionError::refused("the element is not shown, so it cannot be scrolled to"))
            }
            Err(other) => Err(other),
        }
    }

    /// Finds the existing node of a reference, if it shows what it showed when the model saw it: pages reuse nodes for other
    /// things, as React does with the rows of a list that has no keys.
    pub(super) async fn find_same(&self, node: &NodeRef) -> Result<Element, ActionError> {
        let element = self.find(node).await?;
        self.must_show_the_same(node, &element).await?;
        Ok(element)
    }

    async fn must_show_the_same(&self, node: &NodeRef, element: &Element) -> Result<(), ActionError> {
        let Some(was) = self.refs().described(node).cloned() else { return Ok(()) };
        let one = GetPartialAxTree {
            backend_node_id: None,
            object_id: Some(element.object.clone()),
            fetch_relatives: false,
        };
        let tree = match self.call(&element.session, &one).await {
            Ok(tree) => tree,
            // What cannot be read cannot be compared; the act itself finds out what is wrong.
            Err(ActionError::Replaced(_)) => return Ok(()),
            Err(other) => return Err(other),
        };
        let Some(now) = tree.nodes.first().filter(|node| !node.ignored) else { return Ok(()) };
        let (role, name) = named_role(now);
        let same_role = role == was.role || was.role == "clickable";
        if (same_role && name == was.name) || was.role.is_empty() || was.role == "clickable" {
            return Ok(());
        }
        self.refs().tell(node, &role, &name);
        Err(self.replaced(node, &was, &format!("{role} {name:?}")).await)
    }

    /// The refusal of an act on an element that shows something else now, with the elements that show what it showed.
    async fn replaced(&self, node: &NodeRef, was: &Shown, now: &str) -> ActionError {
        let Shown { role, name, row } = was;
        let of = row.first().map(|row| format!(" of {row:?}")).unwrap_or_default();
        let others = match self.tree(&TreeBudget::default()).await {
            Ok(tree) => self.like(&tree.nodes, was),
            Err(_) => Vec::new(),
        };
        let others = match others.as_slice() {
            [] => String::new(),
            [one] => format!("; the {role} {name:?}{of} is {one} now"),
            several => format!("; {}", told_several(was, several)),
        };
        ActionError::refused(format!(
            "element {node} shows {now} now, where it showed {role} {name:?}{of}{others}; nothing was done: look, and do \
             it again if it is still meant"
        ))
    }

    /// The elements of a tree that show what an element showed.
    fn like(&self, nodes: &[UiNode], was: &Shown) -> Vec<String> {
        let refs = self.refs();
        let same = |one: &&UiNode| {
            let row = refs.described(&one.id).map(|shown| shown.row.as_slice()).unwrap_or_default();
            let same_row = was.row.is_empty() || row.iter().any(|text| was.row.contains(text));
            one.role.as_str() == was.role && one.name == was.name && !one.name.is_empty() && same_row
        };
        nodes.iter().filter(same).map(|one| format!("#{}", one.id)).collect()
    }

    /// Scrolls an element into view and determines where to point at it. A disabled one can be pointed at, and is not
    /// clicked.
    pub(super) async fn aim(&self, node: &NodeRef, clicks: bool) -> Result<PointerTarget, ActionError> {
        let element = self.find(node).await?;
        let was = self.refs().described(node).cloned().unwrap_or_default();
        if clicks {
            self.must_show_the_same(node, &element).await?;
        }
        let object_id = element.object.clone();
        match self.call(&element.session, &ScrollIntoViewIfNeeded { object_id }).await {
            // An element that cannot be scrolled to has no box. The following script detects that too and gives a
            // better reason.
            Ok(_) | Err(ActionError::Replaced(_)) => {}
            Err(other) => return Err(other),
        }
        let refuse = |why: &str| Err(ActionError::refused(format!("element {node} {why}")));
        let row: &[String] = if clicks { &was.row } else { &[] };
        let found: Found =
            self.apply(&element.session, &element.object, AIM, [json!(clicks), json!(row)]).await?;
        if let Some(why) = found.problem() {
            return refuse(&why);
        }
        let (point, window) = match found {
            Found::Replaced { now } => {
                let now = format!("{} {:?} in {now:?}", was.role, was.name);
                return Err(self.replaced(node, &was, &now).await);
            }
            Found::List => return Ok(PointerTarget::List),
            Found::Option => return Ok(PointerTarget::Choice(element)),
            Found::Free { x, y, width, height } => (TabPoint { x, y }, WindowSize { width, height }),
            Found::Gone
            | Found::Hidden
            | Found::Outside
            | Found::Disabled
            | Found::Moving
            | Found::Covered { .. }
            | Found::Untouchable { .. } => return Err(ActionError::Gone(node.clone())),
        };
        let at = self.to_top(&element, point, window).await?;
        let TabPoint { x, y } = at;
        let inside = x >= 0.0 && y >= 0.0 && x < self.size.width.into() && y < self.size.height.into();
        if !inside {
            return refuse("could not be scrolled into view");
        }
        match self.cover(&element, at).await? {
            Some(by) => refuse(&format!("is covered by <{by}>")),
            None => Ok(PointerTarget::At(x, y)),
        }
    }

    /// Says what has become of an element that is gone: the elements with its role and name that the page has now.
    pub(super) async fn successors(&self, node: &NodeRef) -> Result<String, ActionError> {
        let gone = format!("element {node} is gone");
        let Some(was) = self.refs().described(node).cloned() else {
            return Ok(format!("{gone}; look again"));
        };
        let tree = self.tree(&TreeBudget::default()).await?;
        let Shown { role, name, row } = &was;
        let of = row.first().map(|row| format!(" of {row:?}")).unwrap_or_default();
        let now = self.like(&tree.nodes, &was);
        Ok(match now.as_slice() {
            [] => format!("{gone} ({role} {name:?}{of}), and none like it is here; look again"),
            [one] => format!("{gone}; the {role} {name:?}{of} that is here now is {one}"),
            several => format!("{gone}; {}", told_several(&was, several)),
        })
    }

    /// Chooses an option of a native list box, by its text or, if the element is an option, the element itself. Returns the
    /// option's text where the page put another back.
    pub(super) async fn choose(
        &self,
        element: &Element,
        option: &str,
    ) -> Result<Option<String>, ActionError> {
        let chosen = self.apply(&element.session, &element.object, CHOOSE, [json!(option)]).await?;
        Err(ActionError::Refused(match chosen {
            Chosen::Yes => return Ok(None),
            Chosen::Kept { wanted } => return Ok(Some(wanted)),
            Chosen::NotAList { what } => {
                format!("this is a <{what}> and no native list box: click to open it, then click the option")
            }
            Chosen::NoSuchOption { options } => {
                format!("there is no option {option:?}; the options are {options:?}")
            }
            Chosen::Disabled => format!("the option {option:?} is disabled"),
        }))
    }
}

/// Says of several elements that show what an element showed where they are.
fn told_several(was: &Shown, several: &[String]) -> String {
    let named = several.iter().take(SUCCESSORS).cloned().collect::<Vec<_>>().join(", ");
    format!("of {} {:?} there are {} now: {named}", was.role, was.name, several.len())
}

/// How a target is named to the model.
pub(super) fn named(at: &Target<ScreenPoint>) -> String {
    match at {
        Target::Ref(NodeRef(node)) => format!("element {node}"),
        Target::Point(point) => format!("the element at ({}, {})", point.x, point.y),
    }
}

fn holds(tree: &FrameTree, key: &NodeKey) -> bool {
    (tree.frame.id == key.frame && tree.frame.loader_id == key.loader)
        || tree.child_frames.iter().any(|child| holds(child, key))
}
