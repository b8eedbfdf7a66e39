//! Decides how an action reaches a named element, or why it cannot. Pure.

use apprentice_protocol::{Button, NodeRef, ScreenPoint, Size, State};

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
    screen: Size,
) -> Result<Reach, Unreached> {
    let name = if facts.name.is_empty() {
        format!("{} {node}", facts.role.as_str())
    } else {
        format!("{} {node} {:?}", facts.role.as_str(), facts.name)
    };
    let is = |state: State| facts.states.contains(&state);
    if is(State::Disabled) {
        return Err(Unreached::Refused(format!("{name} is disabled: something else must be done first")));
    }
    let area = facts.bounds.filter(|_| !is(State::Hidden));
    let (width, height) = (screen.width.cast_signed(), screen.height.cast_signed());
    let centre = area
        .and_then(|area| area.centre())
        .filter(|centre| (0..width).contains(&centre.x) && (0..height).contains(&centre.y));
    if let Some(centre) = centre {
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

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Button, NodeRef, Rect, Role, ScreenPoint, Size, State};

    use super::{Reach, Unreached, aim};
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
        };
        assert!(aim(&NodeRef("n1".into()), &hidden, &click(), Size::new(800, 600)).is_err());
        let check = |bounds: Option<Rect>,
                     states: &[State],
                     pressable,
                     what: Pointer,
                     expected: Result<Reach, &str>| {
            let (role, name, states) = (Role::new("menuitem"), "Save".to_owned(), states.to_vec());
            let facts = NodeFacts { role, name, states, bounds, pressable };
            let got = aim(&NodeRef("n4".into()), &facts, &what, Size::new(800, 600));
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
        let aimed = aim(&NodeRef("n1".into()), &cell, &click(), Size::new(800, 600));
        assert!(matches!(aimed, Err(Unreached::OutOfView(_))), "its own action is no click: {aimed:?}");
        let listed_box = NodeFacts { role: Role::new("checkbox"), pressable: true, ..cell.clone() };
        let aimed = aim(&NodeRef("n1".into()), &listed_box, &click(), Size::new(800, 600));
        assert!(matches!(aimed, Err(Unreached::OutOfView(_))), "its own action does nothing: {aimed:?}");
        let disabled = Err("menuitem n4 \"Save\" is disabled: something else must be done first");
        check(there, &[State::Disabled], true, click(), disabled);
    }
}
