//! Decides how an action reaches a named element, or why it cannot. Pure.

use apprentice_protocol::{Button, Monitors, NodeRef, Rect, ScreenPoint, Size, State, UiNode, UiTree};

use apprentice_sandbox::{NodeFacts, Pointer};

/// How an element is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// By the pointer, at this point.
    Point(ScreenPoint),
    /// By the element's own action, because it is not on the screen.
    Press,
}

/// Why an element cannot be reached as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreached {
    /// The user's message. Nothing more can be done for it.
    Refused(String),
    /// The message, unless the element can be brought into view: an item outside of the visible part of its list.
    OutOfView(String),
}

/// Roles of items that a list shows a part of.
const ITEMS: [&str; 6] = ["cell", "gridcell", "row", "listitem", "treeitem", "columnheader"];

/// Decides how to reach an element, from the current facts about it.
pub(super) fn aim(
    node: &NodeRef,
    facts: &NodeFacts,
    what: &Pointer,
    screen: &Monitors,
) -> Result<Reach, Unreached> {
    let name = named(node, facts);
    let is = |state: State| facts.states.contains(&state);
    if is(State::Disabled) {
        return Err(Unreached::Refused(format!("{name} is disabled: something else must be done first")));
    }
    let area = facts.bounds.filter(|_| !is(State::Hidden));
    if let Some(centre) = area.and_then(|area| area.centre()).filter(|centre| screen.show(*centre)) {
        return Ok(Reach::Point(centre));
    }
    let plain_click = match what {
        Pointer::Click { button, count, hold } => *button == Button::Left && *count == 1 && hold.is_none(),
        Pointer::Move
        | Pointer::Press(_)
        | Pointer::Release(_)
        | Pointer::Drag { .. }
        | Pointer::Scroll { .. } => false,
    };
    let off = format!("{name} is not on the screen: open what holds it, or scroll it into view");
    // What a cell does by itself is no click: some open it, and some do nothing. So do check boxes of a list, the only ones
    // that have no place while they show.
    let is_listed_box = facts.role.as_str() == "checkbox" && !is(State::Hidden);
    if is_listed_box || ITEMS.contains(&facts.role.as_str()) {
        return Err(Unreached::OutOfView(off));
    }
    // Items of closed menus and lists work while hidden; the button of a hidden dialog must not be pressed.
    let unseen = ["menuitem", "menuitemcheckbox", "menuitemradio", "option"].contains(&facts.role.as_str());
    if plain_click && facts.pressable && (unseen || !is(State::Hidden)) {
        return Ok(Reach::Press);
    }
    Err(Unreached::Refused(off))
}

/// What is said of a point that no monitor shows.
pub(super) fn off_screen(point: ScreenPoint, screen: &Monitors) -> String {
    let Size { width, height } = screen.screen();
    let ScreenPoint { x, y } = point;
    let below = |(index, area): (usize, &Rect)| {
        let is_below =
            (area.x..area.x + area.width).contains(&x) && (area.height..height.cast_signed()).contains(&y);
        is_below.then_some((index + 1, area.height - 1))
    };
    match screen.several().iter().enumerate().find_map(below) {
        Some((number, bottom)) => format!(
            "point ({x}, {y}) is on no monitor: monitor {number} above it ends at y {bottom}, and nothing is shown below"
        ),
        None => format!("point ({x}, {y}) is not on the screen of {width} by {height}"),
    }
}

/// Role, reference and name of an element.
pub(super) fn named(node: &NodeRef, facts: &NodeFacts) -> String {
    if facts.name.is_empty() {
        format!("{} {node}", facts.role.as_str())
    } else {
        format!("{} {node} {:?}", facts.role.as_str(), facts.name)
    }
}

/// Returns the disabled element that a click at a point hits, as far as a tree shows: the smallest element there, of the window
/// in front or of a menu, if it is disabled.
pub(super) fn disabled_at(tree: &UiTree, at: ScreenPoint) -> Option<&NodeRef> {
    let area = |node: &UiNode| {
        let bounds = node.bounds.filter(|bounds| !node.is(State::Hidden) && bounds.contains(at))?;
        Some(i64::from(bounds.width) * i64::from(bounds.height))
    };
    let parent = |node: &UiNode| tree.nodes.get(usize::try_from(node.parent?).ok()?);
    let is_in_front = |node: &&UiNode| {
        let window = std::iter::successors(Some(*node), |node| parent(node)).find(|one| one.role.is_window());
        // The window of a menu has no name, and is never active.
        window.is_some_and(|window| window.is(State::Active) || window.name.is_empty())
    };
    let hit = tree.nodes.iter().filter(is_in_front).filter_map(|node| Some((area(node)?, node)));
    // Of equal ones, the later is drawn on top.
    let (_, smallest) = hit.rev().min_by_key(|(area, _)| *area)?;
    smallest.is(State::Disabled).then_some(&smallest.id)
}

/// What is said of a click at a point where an element is disabled, from the current facts about it; `None` if it is enabled by
/// now, or elsewhere.
pub(super) fn told_disabled(node: &NodeRef, facts: &NodeFacts, at: ScreenPoint) -> Option<String> {
    let is_disabled = facts.states.contains(&State::Disabled) && !facts.states.contains(&State::Hidden);
    let is_there = facts.bounds.is_some_and(|bounds| bounds.contains(at));
    (is_disabled && is_there).then(|| {
        format!(
            "{} at this point is disabled: the click did nothing to it, something else must be done first",
            named(node, facts)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apprentice_protocol::{Button, NodeRef, Rect, Role, ScreenPoint, Size, State, UiNode, UiTree};

    use super::{Reach, Unreached, aim, disabled_at, told_disabled};
    use apprentice_sandbox::{NodeFacts, Pointer};

    #[test]
    fn an_element_is_reached_where_it_is_or_by_its_own_action() {
        let click = || Pointer::Click { button: Button::Left, count: 1, hold: None };
        let hidden = NodeFacts {
            role: Role::new("button"),
            name: String::new(),
            states: vec![State::Hidden],
            bounds: None,
            pressable: true,
            value: None,
            window: None,
        };
        assert!(aim(&NodeRef("n1".into()), &hidden, &click(), &Size::new(800, 600).into()).is_err());
        let check = |bounds: Option<Rect>,
                     states: &[State],
                     pressable,
                     what: Pointer,
                     expected: Result<Reach, &str>| {
            let (role, name, states) = (Role::new("menuitem"), "Save".to_owned(), states.to_vec());
            let facts = NodeFacts { role, name, states, bounds, pressable, value: None, window: None };
            let got = aim(&NodeRef("n4".into()), &facts, &what, &Size::new(800, 600).into());
            assert_eq!(got, expected.map_err(|text| Unreached::Refused(text.to_owned())));
        };
        let there = Some(Rect::new(10, 10, 20, 20));
        let off =
            Err("menuitem n4 \"Save\" is not on the screen: open what holds it, or scroll it into view");
        check(there, &[], true, click(), Ok(Reach::Point(ScreenPoint::new(20, 20))));
        check(there, &[State::Hidden], true, click(), Ok(Reach::Press));
        check(None, &[State::Hidden], false, click(), off);
        check(None, &[State::Hidden], true, Pointer::Scroll { dx: 0, dy: 1 }, off);
        check(Some(Rect::new(900, 10, 20, 20)), &[], false, click(), off);
        let cell = NodeFacts { role: Role::new("cell"), states: Vec::new(), ..hidden };
        let aimed = aim(&NodeRef("n1".into()), &cell, &click(), &Size::new(800, 600).into());
        assert!(matches!(aimed, Err(Unreached::OutOfView(_))), "its own action is no click: {aimed:?}");
        let listed_box = NodeFacts { role: Role::new("checkbox"), pressable: true, ..cell.clone() };
        let aimed = aim(&NodeRef("n1".into()), &listed_box, &click(), &Size::new(800, 600).into());
        assert!(matches!(aimed, Err(Unreached::OutOfView(_))), "its own action does nothing: {aimed:?}");
        let disabled = Err("menuitem n4 \"Save\" is disabled: something else must be done first");
        check(there, &[State::Disabled], true, click(), disabled);
    }

    fn node(id: &str, parent: Option<u32>, at: Rect, states: &[State]) -> UiNode {
        let role = if parent.is_none() { "window" } else { "button" };
        UiNode {
            states: states.iter().copied().collect::<BTreeSet<_>>(),
            bounds: Some(at),
            ..UiNode::new(id, parent, role, id)
        }
    }

    #[test]
    fn a_click_at_a_disabled_element_of_the_window_in_front_is_told() {
        let (screen, button) = (Rect::new(0, 0, 800, 600), Rect::new(10, 10, 20, 20));
        let hit = |front: &[State], states: &[State], label: &[State]| {
            let mut nodes = vec![node("w", None, screen, front), node("b", Some(0), button, states)];
            nodes.push(node("text", Some(1), button, label));
            disabled_at(&UiTree { nodes, truncated: None }, ScreenPoint::new(15, 15)).map(|id| id.0.clone())
        };
        let (front, disabled) = ([State::Active], [State::Disabled]);
        assert_eq!(hit(&front, &disabled, &disabled).as_deref(), Some("text"));
        assert_eq!(hit(&front, &disabled, &[]), None, "what lies on it is enabled");
        assert_eq!(hit(&[], &disabled, &disabled), None, "another window may lie on it");
        assert_eq!(hit(&front, &[State::Disabled], &[State::Hidden]).as_deref(), Some("b"));
    }

    #[test]
    fn an_element_that_is_enabled_by_now_is_not_told() {
        let facts = |states: &[State], bounds| NodeFacts {
            role: Role::new("button"),
            name: "Save".into(),
            states: states.to_vec(),
            bounds: Some(bounds),
            pressable: true,
            value: None,
            window: None,
        };
        let told = |facts: &NodeFacts| told_disabled(&NodeRef("n4".into()), facts, ScreenPoint::new(15, 15));
        let there = Rect::new(10, 10, 20, 20);
        let text = told(&facts(&[State::Disabled], there)).expect("told");
        assert!(text.starts_with("button n4 \"Save\" at this point is disabled"), "{text}");
        assert_eq!(told(&facts(&[], there)), None);
        assert_eq!(told(&facts(&[State::Disabled], Rect::new(50, 10, 20, 20))), None, "it has moved");
    }
}
