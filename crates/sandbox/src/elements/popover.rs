//! Check boxes and radio buttons of GTK's popovers: their toolkit never says that they are checked. So one that does not say
//! so may be either, and nothing is told of its state. Pure.

use apprentice_protocol::{State, UiNode};

/// Roles that hold no other control but the popover that opens from them.
const OPENERS: &[&str] = &["button", "textbox", "combobox"];

/// Takes the state *unchecked* from what stands in a popover.
pub(super) fn forget_unknown_states(nodes: &mut [UiNode]) {
    for index in 0..nodes.len() {
        let toggles = ["checkbox", "radio"].contains(&nodes[index].role.as_str());
        if toggles && nodes[index].states.contains(&State::Unchecked) && is_in_popover(nodes, index) {
            nodes[index].states.remove(&State::Unchecked);
        }
    }
}

fn is_in_popover(nodes: &[UiNode], index: usize) -> bool {
    let parent = |at: usize| nodes.get(at)?.parent.and_then(|parent| usize::try_from(parent).ok());
    std::iter::successors(parent(index), |at| parent(*at))
        .filter_map(|at| nodes.get(at))
        .any(|above| OPENERS.contains(&above.role.as_str()))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{State, UiNode};

    use super::forget_unknown_states;

    fn node(parent: Option<u32>, role: &str, state: State) -> UiNode {
        UiNode { states: [state].into(), ..UiNode::new("n1", parent, role, "") }
    }

    #[test]
    fn what_a_popover_does_not_say_to_be_checked_may_be_either() {
        let mut nodes = vec![
            node(None, "window", State::Active),
            node(Some(0), "button", State::Checked),
            node(Some(1), "group", State::Active),
            node(Some(2), "checkbox", State::Unchecked),
            node(Some(2), "radio", State::Unchecked),
            node(Some(2), "checkbox", State::Checked),
            node(Some(0), "checkbox", State::Unchecked),
            node(Some(2), "button", State::Unchecked),
        ];
        forget_unknown_states(&mut nodes);
        let bare: Vec<usize> = (0..nodes.len()).filter(|at| nodes[*at].states.is_empty()).collect();
        assert_eq!(bare, [3, 4]);
    }
}
