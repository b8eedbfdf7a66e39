//! Parts of the window in front that are drawn and that no element tells of: pages of readers, tool bars that a program draws itself,
//! maps. They are listed with their places, so that a list does not seem to be whole. Pure.

use apprentice_pixels::{Area, Frame};
use apprentice_protocol::{NodeRef, Rect, State, UiNode, UiTree};

/// The role of such a part. Views say of it that what it draws is in the picture alone.
const DRAWN: &str = "canvas";
/// The window is looked at in squares of so many pixels.
const SQUARE: i32 = 20;
/// Drawn squares that are no further apart than this belong together: lines of a text have space between them.
const APART: i32 = 2;
/// A smaller part is an ornament: squares that are drawn in it, and its least side in squares.
const LEAST_DRAWN: usize = 8;
const LEAST_SIDE: i32 = 2;
/// Most parts that are told, the largest first.
const MOST: usize = 4;
/// Colours that differ by no more are one: shades of a ground.
const SHADE: u8 = 24;
/// Roles that only hold others. What they draw themselves is told by nobody.
const HOLDERS: &[&str] = &[
    "application",
    "canvas",
    "dialog",
    "document",
    "drawingarea",
    "filler",
    "generic",
    "glasspane",
    "group",
    "icon",
    "image",
    "img",
    "layeredpane",
    "panel",
    "rootpane",
    "scrollpane",
    "splitpane",
    "tablist",
    "tabpanel",
    "toolbar",
    "unknown",
    "viewport",
    "window",
];

/// Squares of the window in front.
struct Squares {
    area: Rect,
    columns: i32,
    rows: i32,
    /// Whether each is drawn and told by nobody.
    silent: Vec<bool>,
}

/// The parts that views have told of. One keeps its reference for as long as it lies where it lay, also behind another window.
#[derive(Debug, Default)]
pub(super) struct SilentAreas {
    known: Vec<SilentArea>,
    named: u32,
}

#[derive(Clone, Debug)]
struct SilentArea {
    window: NodeRef,
    node: NodeRef,
    bounds: Rect,
}

impl SilentAreas {
    /// Adds what is drawn and not told to the window in front, and returns where it lies. Parts of windows behind it are added as
    /// they were seen last.
    pub(super) fn add_to(&mut self, tree: &mut UiTree, front: Rect, screen: &Frame) -> Vec<(NodeRef, Rect)> {
        let Some(window) = window_of(tree, front) else { return Vec::new() };
        let Some(area) = on_screen(front, screen) else { return Vec::new() };
        let mut squares = Squares::of(area);
        squares.leave_out_told(tree);
        squares.leave_out_plain(screen);
        let mut found = squares.parts();
        found.sort_by_key(|part| std::cmp::Reverse(i64::from(part.width) * i64::from(part.height)));
        found.truncate(MOST);
        found.sort_by_key(|part| (part.y, part.x));
        let here: Vec<SilentArea> = found.into_iter().map(|bounds| self.named(&window, bounds)).collect();
        let added = here.iter().map(|part| (part.node.clone(), part.bounds)).collect();
        self.known
            .retain(|part| part.window != window && tree.nodes.iter().any(|node| node.id == part.window));
        self.known.extend(here);
        for part in &self.known {
            part.insert_into(tree);
        }
        added
    }

    /// The part of a window at this place, by the name that it has.
    fn named(&mut self, window: &NodeRef, bounds: Rect) -> SilentArea {
        // Its edges follow what is drawn in it: a caret, a menu over it.
        let is_known = |part: &SilentArea| {
            let holds = |area: Rect, other: Rect| other.centre().is_some_and(|at| area.contains(at));
            part.window == *window && (holds(part.bounds, bounds) || holds(bounds, part.bounds))
        };
        // Taken out, as another part of today may lie in it, too.
        if let Some(at) = self.known.iter().position(is_known) {
            return SilentArea { bounds, ..self.known.remove(at) };
        }
        self.named += 1;
        SilentArea { window: window.clone(), node: NodeRef(format!("d{}", self.named)), bounds }
    }
}

impl SilentArea {
    /// Puts the part last below its window.
    fn insert_into(&self, tree: &mut UiTree) {
        let window = tree.nodes.iter().position(|node| node.id == self.window);
        let Some(holder) = window.and_then(|at| u32::try_from(at).ok()) else { return };
        let id = self.node.0.clone();
        insert_below(
            tree,
            holder,
            UiNode { bounds: Some(self.bounds), ..UiNode::new(id, Some(holder), DRAWN, "") },
        );
    }
}

/// The node of the active window.
fn window_of(tree: &UiTree, front: Rect) -> Option<NodeRef> {
    let is_front = |node: &UiNode| {
        let inside =
            node.bounds.and_then(|bounds| bounds.centre()).is_some_and(|centre| front.contains(centre));
        node.role.is_window() && node.is(State::Active) && inside
    };
    tree.nodes.iter().find(|node| is_front(node)).map(|node| node.id.clone())
}

/// Puts a node last below another: nodes stand depth first.
pub(super) fn insert_below(tree: &mut UiTree, holder: u32, node: UiNode) {
    let above = |at: usize| tree.nodes[at].parent.and_then(|parent| usize::try_from(parent).ok());
    let Ok(first) = usize::try_from(holder) else { return };
    let is_below = |at: usize| std::iter::successors(above(at), |at| above(*at)).any(|above| above == first);
    let end = (first + 1..tree.nodes.len()).find(|at| !is_below(*at)).unwrap_or(tree.nodes.len());
    let Ok(place) = u32::try_from(end) else { return };
    for later in &mut tree.nodes[end..] {
        later.parent = later.parent.map(|parent| if parent >= place { parent + 1 } else { parent });
    }
    tree.nodes.insert(end, node);
}

fn on_screen(window: Rect, screen: &Frame) -> Option<Rect> {
    let (width, height) = (i32::try_from(screen.width()).ok()?, i32::try_from(screen.height()).ok()?);
    let (x, y) = (window.x.max(0), window.y.max(0));
    let right = window.x.saturating_add(window.width).min(width);
    let bottom = window.y.saturating_add(window.height).min(height);
    (right > x && bottom > y).then(|| Rect::new(x, y, right - x, bottom - y))
}

/// Returns whether an element tells what is drawn where it lies.
fn tells(tree: &UiTree, index: usize, has_children: bool) -> bool {
    let node = &tree.nodes[index];
    let says = !node.name.is_empty() || node.value.as_deref().is_some_and(|value| !value.trim().is_empty());
    match HOLDERS.contains(&node.role.as_str()) {
        true => !has_children && says,
        false => true,
    }
}

impl Squares {
    fn of(area: Rect) -> Self {
        let (columns, rows) = (area.width / SQUARE, area.height / SQUARE);
        let count = usize::try_from(columns * rows).unwrap_or_default();
        Self { area, columns, rows, silent: vec![true; count] }
    }

    fn square(&self, column: i32, row: i32) -> Rect {
        Rect::new(self.area.x + column * SQUARE, self.area.y + row * SQUARE, SQUARE, SQUARE)
    }

    fn index(&self, column: i32, row: i32) -> Option<usize> {
        let is_inside = (0..self.columns).contains(&column) && (0..self.rows).contains(&row);
        if is_inside { usize::try_from(row * self.columns + column).ok() } else { None }
    }

    fn is_silent(&self, column: i32, row: i32) -> bool {
        self.index(column, row).is_some_and(|index| self.silent[index])
    }

    /// Leaves out the squares in which an element lies that tells of itself.
    fn leave_out_told(&mut self, tree: &UiTree) {
        let mut holds = vec![false; tree.nodes.len()];
        for node in tree.nodes.iter().filter(|node| !node.is(State::Hidden)) {
            if let Some(parent) = node.parent.and_then(|parent| usize::try_from(parent).ok()) {
                holds[parent] = true;
            }
        }
        for (index, node) in tree.nodes.iter().enumerate() {
            let Some(bounds) = node.bounds.filter(|_| !node.is(State::Hidden)) else { continue };
            if !tells(tree, index, holds[index]) {
                continue;
            }
            let column = |x: i32| x.saturating_sub(self.area.x).div_euclid(SQUARE);
            let row = |y: i32| y.saturating_sub(self.area.y).div_euclid(SQUARE);
            let (right, bottom) =
                (bounds.x.saturating_add(bounds.width), bounds.y.saturating_add(bounds.height));
            for row in row(bounds.y).max(0)..=row(bottom.saturating_sub(1)).min(self.rows - 1) {
                for column in column(bounds.x).max(0)..=column(right.saturating_sub(1)).min(self.columns - 1)
                {
                    if let Some(index) = self.index(column, row) {
                        self.silent[index] = false;
                    }
                }
            }
        }
    }

    /// Leaves out the squares of one colour.
    fn leave_out_plain(&mut self, screen: &Frame) {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let Some(index) = self.index(column, row).filter(|index| self.silent[*index]) else {
                    continue;
                };
                self.silent[index] = !is_plain(screen, self.square(column, row));
            }
        }
    }

    /// The areas around squares that stand together.
    fn parts(&self) -> Vec<Rect> {
        let mut seen = vec![false; self.silent.len()];
        let mut parts = Vec::new();
        for row in 0..self.rows {
            for column in 0..self.columns {
                let is_new = self.index(column, row).is_some_and(|index| self.silent[index] && !seen[index]);
                if is_new {
                    parts.extend(self.part(column, row, &mut seen));
                }
            }
        }
        parts
    }

    fn part(&self, column: i32, row: i32, seen: &mut [bool]) -> Option<Rect> {
        let (mut left, mut top, mut right, mut bottom) = (column, row, column, row);
        let (mut waiting, mut count) = (vec![(column, row)], 0);
        while let Some((column, row)) = waiting.pop() {
            let Some(index) = self.index(column, row).filter(|index| !seen[*index]) else { continue };
            seen[index] = true;
            count += 1;
            (left, right) = (left.min(column), right.max(column));
            (top, bottom) = (top.min(row), bottom.max(row));
            let near =
                (-APART..=APART).flat_map(|dy| (-APART..=APART).map(move |dx| (column + dx, row + dy)));
            waiting.extend(near.filter(|(column, row)| self.is_silent(*column, *row)));
        }
        let (columns, rows) = (right - left + 1, bottom - top + 1);
        let first = self.square(left, top);
        (count >= LEAST_DRAWN && columns.min(rows) >= LEAST_SIDE)
            .then(|| Rect::new(first.x, first.y, columns * SQUARE, rows * SQUARE))
    }
}

fn is_plain(screen: &Frame, square: Rect) -> bool {
    let of = |Rect { x, y, width, height }: Rect| {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        Some(Area { x, y, width: u32::try_from(width).ok()?, height: u32::try_from(height).ok()? })
    };
    of(square).is_none_or(|area| screen.is_plain(area, SHADE))
}

#[cfg(test)]
mod tests {
    use apprentice_pixels::Frame;
    use apprentice_protocol::{Rect, State, UiNode, UiTree};

    use super::SilentAreas;

    fn node(id: &str, parent: Option<u32>, role: &str, name: &str, at: Rect) -> UiNode {
        UiNode { bounds: Some(at), ..UiNode::new(id, parent, role, name) }
    }

    #[test]
    fn what_is_drawn_and_told_by_nobody_is_listed_with_its_place() {
        let (width, height) = (400_i32, 300_i32);
        let mut rgb = vec![255; 400 * 300 * 3];
        let mut draw = |area: Rect| {
            for y in area.y..area.y + area.height {
                for x in (area.x..area.x + area.width).step_by(3) {
                    let at = usize::try_from((y * width + x) * 3).expect("a place");
                    rgb[at] = 0;
                }
            }
        };
        draw(Rect::new(0, 0, 400, 20));
        draw(Rect::new(40, 100, 200, 120));
        draw(Rect::new(380, 280, 15, 15));
        let screen = Frame::from_rgb(400, 300, rgb).expect("a frame");
        let front = Rect::new(0, 0, width, height);
        let mut window = node("n1", None, "window", "Reader", front);
        window.states.insert(State::Active);
        let nodes = vec![
            window,
            node("n2", Some(0), "menubar", "", Rect::new(0, 0, 400, 20)),
            node("n3", Some(0), "drawingarea", "", Rect::new(0, 20, 400, 280)),
            node("n4", None, "window", "Other", Rect::new(0, 0, 9, 9)),
            node("n5", Some(3), "button", "OK", Rect::new(500, 0, 9, 9)),
        ];
        let mut tree = UiTree { nodes: nodes.clone(), truncated: None };
        let mut areas = SilentAreas::default();
        let found = areas.add_to(&mut tree, front, &screen);
        assert_eq!(found.len(), 1, "an ornament is none: {found:?}");
        assert_eq!(found[0].1, Rect::new(40, 100, 200, 120));
        let ids: Vec<(&str, Option<u32>)> =
            tree.nodes.iter().map(|node| (node.id.0.as_str(), node.parent)).collect();
        let expected =
            [("n1", None), ("n2", Some(0)), ("n3", Some(0)), ("d1", Some(0)), ("n4", None), ("n5", Some(4))];
        assert_eq!(ids, expected);
        // Its window goes behind another, which draws nothing of its own.
        let mut behind = UiTree { nodes: nodes.clone(), truncated: None };
        behind.nodes[0].states.remove(&State::Active);
        behind.nodes[3].states.insert(State::Active);
        assert!(areas.add_to(&mut behind, Rect::new(0, 0, 9, 9), &screen).is_empty());
        assert_eq!(behind.nodes[3].id.0, "d1", "it is not gone");
        let mut again = UiTree { nodes: nodes.clone(), truncated: None };
        assert_eq!(areas.add_to(&mut again, front, &screen), found, "its reference lasts");
        let mut told = UiTree { nodes, truncated: None };
        told.nodes[2].value = Some("the page's text".into());
        assert!(areas.add_to(&mut told, front, &screen).is_empty());
    }
}
