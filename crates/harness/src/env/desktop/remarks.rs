//! What a model should know about a view of a desktop besides what it shows. Pure.

use apprentice_protocol::{Observation, State, UiNode};

/// Whether the window in front has its elements in the tree.
pub(super) fn lists_its_window(seen: &Observation) -> bool {
    let (Some(front), Some(tree)) = (seen.windows.iter().find(|window| window.active), &seen.tree) else {
        return true;
    };
    if front.title.is_empty() {
        return true;
    }
    let is_front = |node: &UiNode| {
        ["window", "dialog"].contains(&node.role.as_str())
            && (node.is(State::Active) || node.name.contains(&front.title))
    };
    let window = tree.nodes.iter().position(is_front).and_then(|index| u32::try_from(index).ok());
    window.is_some_and(|window| tree.nodes.iter().any(|node| node.parent == Some(window)))
}

/// The sentences about a view, from the names of the programs that are still at work.
pub(super) fn of(seen: &Observation, busy: &[String]) -> Vec<String> {
    let at_work = |name: &String| {
        let name = name.trim_end_matches(".bin");
        format!(
            "The program {name:?} is still working, so this view may be unfinished: wait, then look again."
        )
    };
    let mut told: Vec<String> = busy.iter().map(at_work).collect();
    if seen.tree.is_some() && !lists_its_window(seen) {
        let title = seen.title();
        told.push(format!(
            "The window {title:?} does not list its elements: use its picture, or the keyboard."
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apprentice_protocol::{NodeRef, Observation, Rect, Role, UiNode, UiTree, Window};

    use super::{lists_its_window, of};

    fn node(id: u32, parent: Option<u32>, role: &str, name: &str) -> UiNode {
        UiNode {
            id: NodeRef(format!("n{id}")),
            parent,
            role: Role::new(role),
            name: name.into(),
            value: None,
            states: BTreeSet::new(),
            bounds: None,
        }
    }

    fn seen(title: &str, nodes: Vec<UiNode>) -> Observation {
        let (id, bounds) = ("0x1".into(), Rect::new(0, 0, 9, 9));
        let window =
            Window { id, title: title.into(), class: String::new(), bounds, active: true, pid: None };
        let tree = Some(UiTree { nodes, truncated: None });
        Observation { windows: vec![window], tree, ..Observation::default() }
    }

    #[test]
    fn a_window_without_elements_and_a_busy_program_are_told() {
        let whole = seen("a.txt", vec![node(1, None, "window", "a.txt"), node(2, Some(0), "menubar", "")]);
        assert!(lists_its_window(&whole) && of(&whole, &[]).is_empty());
        assert!(!lists_its_window(&seen("a.txt", vec![node(1, None, "window", "a.txt")])), "it is empty");
        let terminal = seen("xterm", vec![node(1, None, "window", "a.txt"), node(2, Some(0), "menubar", "")]);
        assert_eq!(
            of(&terminal, &["soffice.bin".into()]),
            [
                "The program \"soffice\" is still working, so this view may be unfinished: wait, then look again.",
                "The window \"xterm\" does not list its elements: use its picture, or the keyboard.",
            ]
        );
    }
}
