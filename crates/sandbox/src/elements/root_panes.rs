//! Places of elements that LibreOffice draws itself: it leaves the menu bar out of them, so they lie lower than they say by the
//! bar's height. Elements of other toolkits within it, whose outermost is a box, report correct places. Pure.

use apprentice_protocol::{Rect, UiNode};

/// How many pixels above its menu bar a root pane may report that it lies.
const NEAR: i32 = 4;

/// What an element is to the rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Window,
    MenuBar,
    RootPane,
    Filler,
    Other,
}

/// An element by its part, its parent's index and its place. Parents come before their children.
pub(crate) type Placed = (Part, Option<usize>, Option<Rect>);

/// Lowers what lies in a root pane that reports to lie where its window's menu bar is. What was lowered stays where it is.
pub fn lower_root_panes(nodes: &mut [UiNode]) {
    let placed = |node: &UiNode| {
        let part = match node.role.as_str() {
            "window" => Part::Window,
            "menubar" => Part::MenuBar,
            "rootpane" => Part::RootPane,
            "filler" => Part::Filler,
            _ => Part::Other,
        };
        (part, node.parent.and_then(|parent| usize::try_from(parent).ok()), node.bounds)
    };
    let drops = drops(&nodes.iter().map(placed).collect::<Vec<_>>());
    for (node, drop) in nodes.iter_mut().zip(drops) {
        node.bounds = node.bounds.map(|bounds| Rect { y: bounds.y.saturating_add(drop), ..bounds });
    }
}

/// How much lower each element lies than it reports, in pixels.
pub(crate) fn drops(elements: &[Placed]) -> Vec<i32> {
    let mut drops = Vec::with_capacity(elements.len());
    for (index, (part, parent, _)) in elements.iter().enumerate() {
        let above = parent.and_then(|parent| drops.get(parent).copied()).unwrap_or_default();
        drops.push(match part {
            Part::RootPane => drop_of(elements, index).unwrap_or_default(),
            Part::Filler => 0,
            Part::Window | Part::MenuBar | Part::Other => above,
        });
    }
    drops
}

/// How far a root pane lies below its window's menu bar, if both report the same place.
fn drop_of(elements: &[Placed], pane: usize) -> Option<i32> {
    let above = |from: usize| std::iter::successors(Some(from), |at| elements.get(*at)?.1);
    let is = |at: usize, part: Part| elements.get(at).is_some_and(|element| element.0 == part);
    let window = above(pane).find(|at| is(*at, Part::Window))?;
    let mut bars = (0..elements.len()).filter(|at| is(*at, Part::MenuBar));
    let bar = bars.find(|bar| above(*bar).any(|at| at == window) && above(*bar).all(|at| at != pane))?;
    let (pane, bar) = (elements[pane].2?, elements[bar].2?);
    let under = bar.y.saturating_add(bar.height).saturating_sub(pane.y);
    (pane.y >= bar.y - NEAR && under > 0).then_some(under)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Rect, UiNode};

    use super::lower_root_panes;

    fn node(parent: Option<u32>, role: &str, at: Rect) -> UiNode {
        UiNode { bounds: Some(at), ..UiNode::new("n1", parent, role, "") }
    }

    #[test]
    fn what_lies_in_a_root_pane_is_lowered_once_by_the_menu_bar() {
        // As LibreOffice Writer reports them under a title bar of 26 pixels.
        let mut nodes = vec![
            node(None, "window", Rect::new(0, 26, 1920, 1054)),
            node(Some(0), "menubar", Rect::new(0, 50, 1896, 26)),
            node(Some(0), "rootpane", Rect::new(0, 50, 1920, 1028)),
            node(Some(2), "button", Rect::new(597, 95, 20, 28)),
            node(Some(2), "filler", Rect::new(1880, 100, 40, 900)),
            node(Some(4), "button", Rect::new(1882, 110, 20, 20)),
        ];
        let tops = |nodes: &[UiNode]| -> Vec<i32> {
            nodes.iter().map(|node| node.bounds.map_or(0, |bounds| bounds.y)).collect()
        };
        lower_root_panes(&mut nodes);
        assert_eq!(tops(&nodes), [26, 50, 76, 121, 100, 110]);
        lower_root_panes(&mut nodes);
        assert_eq!(tops(&nodes), [26, 50, 76, 121, 100, 110], "it lies below the bar now");
    }
}
