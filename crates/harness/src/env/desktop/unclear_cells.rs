//! Cells of GTK lists that show a check box in some rows and a text in others. The program tells all of them for each row, with
//! values of other rows, and never which one shows. Where nothing is drawn in the middle of such a check box, a text shows in
//! its place, and which one is not known. Pure.

use apprentice_protocol::{Rect, Role, State, UiTree};

/// The part of a check box that is looked at: its middle, in pixels.
const MIDDLE: i32 = 22;

/// A check box that may not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoubtfulBox {
    index: usize,
    /// Where it is drawn, if it is there. `None` where its row is out of view.
    middle: Option<Rect>,
}

impl DoubtfulBox {
    /// The area that is plain if the check box is not there.
    pub(super) fn middle(self) -> Option<Rect> {
        self.middle
    }
}

/// The check boxes that share their cell with texts.
pub(super) fn doubtful(tree: &UiTree) -> Vec<DoubtfulBox> {
    let found = tree.nodes.iter().enumerate().filter(|(index, node)| {
        node.role.as_str() == "checkbox" && !node.is(State::Hidden) && !texts(tree, *index).is_empty()
    });
    found.map(|(index, node)| DoubtfulBox { index, middle: node.bounds.map(middle) }).collect()
}

fn middle(area: Rect) -> Rect {
    let (width, height) = (area.width.min(MIDDLE), (area.height - 4).clamp(1, MIDDLE));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

/// Hides the texts beside these check boxes, of which nobody knows whether they show. Check boxes that are not drawn become cells
/// of which one of several texts shows; of those out of view the state is not known.
pub(super) fn tell_what_is_known(tree: &mut UiTree, doubtful: &[DoubtfulBox], undrawn: &[DoubtfulBox]) {
    for DoubtfulBox { index, middle } in doubtful {
        let mut values: Vec<String> =
            texts(tree, *index).iter().map(|text| tree.nodes[*text].name.clone()).collect();
        values.retain(|value| !value.is_empty());
        for text in texts(tree, *index) {
            tree.nodes[text].states.insert(State::Hidden);
            tree.nodes[text].states.remove(&State::Focused);
        }
        let is_drawn = !undrawn.iter().any(|one| one.index == *index);
        let Some(node) = tree.nodes.get_mut(*index) else { continue };
        if is_drawn && middle.is_some() {
            continue;
        }
        node.states.remove(&State::Checked);
        node.states.remove(&State::Unchecked);
        if is_drawn {
            continue;
        }
        values.sort_unstable();
        values.dedup();
        node.role = Role::new("cell");
        node.value = Some(match values.as_slice() {
            [one] => one.clone(),
            several => format!("not known, one of: {}", several.join(" | ")),
        });
        if node.name.is_empty() {
            node.name = "value".to_owned();
        }
    }
}

/// The texts that stand in the same cell as a check box, without a place of their own.
fn texts(tree: &UiTree, index: usize) -> Vec<usize> {
    let Some(parent) = tree.nodes.get(index).and_then(|node| node.parent) else { return Vec::new() };
    let is_cell = tree.nodes.get(parent as usize).is_some_and(|node| node.role.as_str() == "generic");
    let beside =
        tree.nodes.iter().enumerate().skip(index + 1).take_while(|(_, node)| node.parent == Some(parent));
    let texts = beside.filter(|(_, node)| node.role.as_str() == "cell" && node.bounds.is_none() && is_cell);
    texts.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apprentice_protocol::{Rect, State, UiNode, UiTree};

    use super::{doubtful, tell_what_is_known};

    fn node(parent: Option<u32>, role: &str, name: &str, bounds: Option<Rect>) -> UiNode {
        let states = if role == "checkbox" { BTreeSet::from([State::Checked]) } else { BTreeSet::new() };
        UiNode { states, bounds, ..UiNode::new("n1", parent, role, name) }
    }

    #[test]
    fn a_check_box_that_is_not_drawn_is_a_text_that_is_not_known() {
        let at = |y| Some(Rect::new(674, y, 354, 21));
        let nodes = vec![
            node(None, "table", "", at(0)),
            node(Some(0), "generic", "", at(198)),
            node(Some(1), "checkbox", "menu_items", at(198)),
            node(Some(1), "cell", "-x-", None),
            node(Some(1), "cell", "0", None),
            node(Some(0), "generic", "", at(220)),
            node(Some(5), "checkbox", "plain", at(220)),
            node(Some(0), "generic", "", None),
            node(Some(7), "checkbox", "below", None),
            node(Some(7), "cell", "9", None),
            node(Some(0), "generic", "", at(240)),
            node(Some(10), "checkbox", "there", at(240)),
            node(Some(10), "cell", "9", None),
        ];
        let mut tree = UiTree { nodes, truncated: None };
        let found = doubtful(&tree);
        assert_eq!(found.len(), 3, "the other stands alone in its cell: {found:?}");
        assert_eq!(found[0].middle(), Some(Rect::new(840, 200, 22, 17)));
        tell_what_is_known(&mut tree, &found, &found[..1]);
        let cell = &tree.nodes[2];
        assert_eq!((cell.role.as_str(), cell.states.len()), ("cell", 0));
        assert_eq!(cell.value.as_deref(), Some("not known, one of: -x- | 0"));
        let checked = [6, 8, 11].map(|index| tree.nodes[index].is(State::Checked));
        assert_eq!(checked, [true, false, true], "what is out of view may be a text");
        assert!([3, 4, 9, 12].iter().all(|text| tree.nodes[*text].is(State::Hidden)));
    }
}
