//! Elements by reference: whether the node of a reference still exists, and where to point at it.

use apprentice_cdp::domain::dom::{
    GetBoxModel, GetContentQuads, GetFrameOwner, ResolveNode, ScrollIntoViewIfNeeded,
};
use apprentice_cdp::domain::page::{FrameTree, GetFrameTree};
use apprentice_cdp::domain::runtime::Evaluate;
use apprentice_cdp::{Session, SessionId};
use apprentice_protocol::{NodeRef, ScreenPoint, Target, TreeBudget, UiNode};
use serde::Deserialize;
use serde_json::json;

use super::driver::{ActionError, Browser};
use super::node_refs::NodeKey;

const AIM: &str = include_str!("page/aim.js");
const CHOOSE: &str = include_str!("page/choose.js");
const UNDER: &str = include_str!("page/under.js");

/// How many elements that look like one that is gone are named.
const SUCCESSORS: usize = 5;

/// A handle on an existing node.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) session: Session,
    pub(super) object: String,
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
    List,
    Option,
    Free { r#box: usize, across: f64, down: f64 },
}

#[derive(Deserialize)]
#[serde(tag = "chosen", rename_all = "snake_case")]
enum Chosen {
    Yes,
    NotAList { what: String },
    NoSuchOption { options: Vec<String> },
    Disabled,
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
        let resolved = self.call(&session, &ResolveNode { backend_node_id: key.node }).await;
        match resolved {
            Ok(resolved) => match resolved.object.object_id {
                Some(object) => Ok(Element { session, object }),
                None => Err(gone()),
            },
            Err(ActionError::Replaced(_)) => Err(gone()),
            Err(other) => Err(other),
        }
    }

    /// The innermost element at a point of the active page.
    pub(super) async fn under(&self, x: f64, y: f64) -> Result<Element, ActionError> {
        let session = self.session(&self.front()?.session);
        let expression = format!("({UNDER})({x}, {y})");
        let evaluate = Evaluate { expression, await_promise: false, return_by_value: false, timeout: None };
        let object = self.call(&session, &evaluate).await?.result.object_id;
        let object = object.ok_or_else(|| ActionError::refused(format!("nothing is at ({x}, {y})")))?;
        Ok(Element { session, object })
    }

    /// Refuses a click at a point where a form control is disabled: the page would not notice it.
    pub(super) async fn must_be_enabled(&self, x: f64, y: f64) -> Result<(), ActionError> {
        let session = self.session(&self.front()?.session);
        let expression = format!(
            "(({UNDER})({x}, {y})?.closest('button, input, select, textarea')?.matches(':disabled')) === true"
        );
        let evaluate = Evaluate { expression, await_promise: false, return_by_value: true, timeout: None };
        let answer = self.call(&session, &evaluate).await?.result;
        if answer.value == json!(true) {
            return Err(ActionError::refused(format!(
                "what is at ({x}, {y}) is disabled: something else must be done first"
            )));
        }
        Ok(())
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

    /// Scrolls an element into view and determines where to point at it. A disabled one can be pointed at, and is not
    /// clicked.
    pub(super) async fn aim(&self, node: &NodeRef, clicks: bool) -> Result<PointerTarget, ActionError> {
        let element = self.find(node).await?;
        let object_id = element.object.clone();
        match self.call(&element.session, &ScrollIntoViewIfNeeded { object_id }).await {
            // An element that cannot be scrolled to has no box. The following script detects that too and gives a
            // better reason.
            Ok(_) | Err(ActionError::Replaced(_)) => {}
            Err(other) => return Err(other),
        }
        let refuse = |why: &str| Err(ActionError::refused(format!("element {node} {why}")));
        let found: Found = self.apply(&element.session, &element.object, AIM, [json!(clicks)]).await?;
        let (which, across, down) = match found {
            Found::Gone => return Err(ActionError::Gone(node.clone())),
            Found::Hidden => return refuse("is not shown, so it cannot be pointed at"),
            Found::Moving => {
                return refuse(
                    "does not stand still: wait until it does, or click where it will be by its point",
                );
            }
            Found::Disabled => return refuse("is disabled: something else must be done first"),
            Found::Outside => return refuse("could not be scrolled into view"),
            Found::Covered { by } => return refuse(&format!("is covered by <{by}>")),
            Found::List => return Ok(PointerTarget::List),
            Found::Option => return Ok(PointerTarget::Choice(element)),
            Found::Free { r#box, across, down } => (r#box, across, down),
        };
        let object_id = element.object.clone();
        let quads = self.call(&element.session, &GetContentQuads { object_id }).await?.quads;
        let Some(quad) = quads.get(which).or_else(|| quads.first()) else {
            return refuse("is not shown, so it cannot be pointed at");
        };
        let (left, right) = span(quad.iter().step_by(2));
        let (top, bottom) = span(quad.iter().skip(1).step_by(2));
        let session = element.session.id().cloned();
        let (x, y) = self.offset(session.as_ref()).await?;
        let x = x + left + (right - left) * across;
        let y = y + top + (bottom - top) * down;
        let inside = x >= 0.0 && y >= 0.0 && x < self.size.width.into() && y < self.size.height.into();
        if inside { Ok(PointerTarget::At(x, y)) } else { refuse("could not be scrolled into view") }
    }

    /// Offset of a session's viewport within the tab's: out-of-process frames know only their own.
    pub(super) async fn offset(&self, session: Option<&SessionId>) -> Result<(f64, f64), ActionError> {
        let (mut x, mut y) = (0.0, 0.0);
        let mut at = session.cloned();
        while let Some(session) = at {
            let front = self.front()?.session;
            let parts = self.watch().with(|pages| pages.sessions_of(&front));
            let Some((_, part)) = parts.into_iter().find(|(id, _)| *id == session) else { break };
            let Some(parent) = part.parent else { break };
            let outer = self.session(&parent);
            let owner = self.call(&outer, &GetFrameOwner { frame_id: part.target }).await?.backend_node_id;
            let model = self.call(&outer, &GetBoxModel { backend_node_id: owner }).await?.model;
            x += model.content.first().copied().unwrap_or_default();
            y += model.content.get(1).copied().unwrap_or_default();
            at = Some(parent);
        }
        Ok((x, y))
    }

    /// Says what has become of an element that is gone: the elements with its role and name that the page has now.
    pub(super) async fn successors(&self, node: &NodeRef) -> Result<String, ActionError> {
        let gone = format!("element {node} is gone");
        let Some((role, name)) = self.refs().described(node).cloned() else {
            return Ok(format!("{gone}; look again"));
        };
        let tree = self.tree(&TreeBudget::default()).await?;
        let alike = |one: &&UiNode| one.role.as_str() == role && one.name == name && !name.is_empty();
        let now: Vec<String> = tree.nodes.iter().filter(alike).map(|one| format!("#{}", one.id)).collect();
        Ok(match now.as_slice() {
            [] => format!("{gone} ({role} {name:?}), and none like it is here; look again"),
            [one] => format!("{gone}; the {role} {name:?} that is here now is {one}"),
            several => {
                let named = several.iter().take(SUCCESSORS).cloned().collect::<Vec<_>>().join(", ");
                format!("{gone}; of {role} {name:?} there are {} now: {named}", several.len())
            }
        })
    }

    /// Chooses an option of a native list box, by its text or, if the element is an option, the element itself.
    pub(super) async fn choose(&self, element: &Element, option: &str) -> Result<(), ActionError> {
        let chosen = self.apply(&element.session, &element.object, CHOOSE, [json!(option)]).await?;
        Err(ActionError::Refused(match chosen {
            Chosen::Yes => return Ok(()),
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

fn span<'a>(values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}
