//! Windows of the accessibility bus, and which windows of the display they are: from these come the places of elements whose program
//! tells other ones, and what covers what. Pure.

use apprentice_protocol::Rect;

use crate::wire::{DrawnWindows, TopLevel};

/// A window on the bus may count the frame around it, which the window on the display does not: so many pixels at most on a side.
const FRAME: i32 = 48;
/// Two sizes of one window, in the units of one program, differ by so much at most.
const NEAR: i32 = 3;
/// Hundredths: a smaller factor is none, and the two factors of one window differ by no more than this.
const LEAST_FACTOR: i64 = 115;
const SAME_FACTOR: i64 = 6;
/// The factors by which toolkits that only know whole numbers enlarge.
const WHOLE: [i64; 2] = [200, 300];

/// A window as its program tells of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToldWindow<'a> {
    /// The process that tells.
    pub(super) pid: Option<u32>,
    pub(super) title: &'a str,
    /// `None` where its program tells none, as Java's bridge does.
    pub(super) bounds: Option<Rect>,
    pub(super) active: bool,
    /// Whether its program tells places from the corner of the window, as GTK 4 does.
    pub(super) from_corner: bool,
}

/// How places that a program tells become places on the screen: enlarged first, and then moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// In hundredths.
    factor: i64,
    dx: i32,
    dy: i32,
}

impl Placement {
    /// Places are as they are told.
    pub(super) const AS_TOLD: Self = Self { factor: 100, dx: 0, dy: 0 };

    /// Where something lies on the screen.
    pub(super) fn apply(self, told: Rect) -> Rect {
        let scale = |length: i32| i32::try_from(i64::from(length) * self.factor / 100).unwrap_or(i32::MAX);
        let (x, y) = (scale(told.x).saturating_add(self.dx), scale(told.y).saturating_add(self.dy));
        Rect::new(x, y, scale(told.width), scale(told.height))
    }

    /// Only the factor, which holds for all windows of a program.
    pub(super) fn of_program(self) -> Self {
        Self { dx: 0, dy: 0, ..self }
    }
}

impl Default for Placement {
    fn default() -> Self {
        Self::AS_TOLD
    }
}

/// Returns whether something lies in a menu or a list that is drawn apart from windows.
pub(super) fn is_drawn_apart(bounds: Rect, popups: &[Rect]) -> bool {
    bounds.centre().is_some_and(|centre| popups.iter().any(|popup| popup.contains(centre)))
}

/// The window of the display that a told one is. `None` where none is like it, or several are.
pub(super) fn find<'a>(told: ToldWindow<'_>, windows: &'a DrawnWindows) -> Option<&'a TopLevel> {
    let differs = |window: &TopLevel| told.pid.zip(window.pid).is_some_and(|(told, drawn)| told != drawn);
    let may_be = || windows.listed.iter().filter(|window| !differs(window));
    let is_named = |window: &&TopLevel| !told.title.is_empty() && told.title == window.title;
    let mut same: Vec<&TopLevel> = may_be().filter(is_named).collect();
    if same.is_empty() {
        // Qt's title on the display has the program's name, too.
        let is_there = |window: &&TopLevel| told.pid.is_some() && told.pid == window.pid;
        same = may_be().filter(is_there).filter(|window| is_same_place(told, window.bounds)).collect();
    }
    if let [one] = same.as_slice() {
        return Some(one);
    }
    let placed: Vec<&TopLevel> =
        same.iter().copied().filter(|window| is_same_place(told, window.bounds)).collect();
    if let [one] = placed.as_slice() {
        return Some(one);
    }
    let mut active = placed.into_iter().filter(|window| window.active && told.active);
    active.next().filter(|_| active.next().is_none())
}

/// Returns whether a told window may lie in this place: by its corner, or by its size where its corner is not told.
fn is_same_place(told: ToldWindow<'_>, drawn: Rect) -> bool {
    let Some(bounds) = told.bounds else { return false };
    let placed = placement(told, drawn).apply(bounds);
    let near = |one: i32, other: i32| one.abs_diff(other) <= FRAME.unsigned_abs();
    near(placed.x, drawn.x)
        && near(placed.y, drawn.y)
        && near(placed.width, drawn.width)
        && near(placed.height, drawn.height)
}

/// How the places of a window's elements become places on the screen.
pub(super) fn placement(told: ToldWindow<'_>, drawn: Rect) -> Placement {
    let Some(bounds) = told.bounds else { return Placement::AS_TOLD };
    let factor = factor(bounds, drawn);
    if !told.from_corner {
        return Placement { factor, ..Placement::AS_TOLD };
    }
    let scaled = Placement { factor, ..Placement::AS_TOLD }.apply(bounds);
    // The rest is a border that the program draws itself, as wide on each side.
    let border = |whole: i32, inner: i32| (whole.saturating_sub(inner) / 2).max(0);
    Placement {
        factor,
        dx: drawn.x.saturating_sub(scaled.x).saturating_add(border(drawn.width, scaled.width)),
        dy: drawn.y.saturating_sub(scaled.y).saturating_add(border(drawn.height, scaled.height)),
    }
}

/// By how much a program's places are to be enlarged, in hundredths: it may count in larger dots than the display has.
fn factor(told: Rect, drawn: Rect) -> i64 {
    if told.width <= 0 || told.height <= 0 {
        return 100;
    }
    let of = |drawn: i32, told: i32| i64::from(drawn) * 100 / i64::from(told);
    let (wide, high) = (of(drawn.width, told.width), of(drawn.height, told.height));
    let is_one = |factor: i64| {
        let differs =
            |told: i32, drawn: i32| (i64::from(told) * factor / 100 - i64::from(drawn)).abs() <= NEAR.into();
        differs(told.width, drawn.width) && differs(told.height, drawn.height)
    };
    if is_one(wide.max(LEAST_FACTOR)) && wide >= LEAST_FACTOR {
        return wide;
    }
    // With the frame around it, told is a little larger than it should be.
    let whole = WHOLE.into_iter().find(|factor| {
        let fits = |drawn: i32, told: i32| {
            let rest = i64::from(told) * factor / 100 - i64::from(drawn);
            (0..=i64::from(2 * FRAME)).contains(&rest)
        };
        fits(drawn.width, told.width) && fits(drawn.height, told.height)
    });
    match whole {
        Some(factor) if (wide - high).abs() <= SAME_FACTOR * factor / 100 => factor,
        _ => 100,
    }
}

/// The window in front that hides all of a window, if one does.
pub(super) fn cover<'a>(window: &TopLevel, windows: &'a DrawnWindows) -> Option<&'a TopLevel> {
    let above = windows.listed.iter().take_while(|other| other.id != window.id);
    let (inner, holds) = (window.bounds, |outer: Rect| {
        outer.x <= window.bounds.x
            && outer.y <= window.bounds.y
            && outer.x.saturating_add(outer.width) >= window.bounds.x.saturating_add(window.bounds.width)
            && outer.y.saturating_add(outer.height) >= window.bounds.y.saturating_add(window.bounds.height)
    });
    let is_real = inner.width > 0 && inner.height > 0;
    above.into_iter().find(|other| is_real && holds(other.bounds))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Rect;

    use super::{Placement, ToldWindow, cover, find, placement};
    use crate::wire::{DrawnWindows, TopLevel};

    fn told(title: &str, bounds: Rect, from_corner: bool) -> ToldWindow<'_> {
        ToldWindow { pid: Some(7), title, bounds: Some(bounds), active: false, from_corner }
    }

    fn drawn(id: u32, title: &str, bounds: Rect) -> TopLevel {
        TopLevel { id, pid: Some(7), title: title.into(), bounds, active: false, modal: false }
    }

    #[test]
    fn places_told_from_the_corner_of_a_window_are_moved_into_it() {
        // As GTK 4.8 tells its calculator: a border of 5 pixels is not counted.
        let window = told("Calculator", Rect::new(0, 0, 360, 496), true);
        let placed = placement(window, Rect::new(457, 164, 370, 506));
        assert_eq!(placed.apply(Rect::new(284, 384, 55, 88)), Rect::new(746, 553, 55, 88));
    }

    #[test]
    fn places_in_larger_dots_are_enlarged_and_others_stay() {
        let factor = |told_bounds: Rect, at: Rect| placement(told("a", told_bounds, false), at).factor;
        // GTK 3 with GDK_SCALE=2 counts the frame, and Qt with QT_SCALE_FACTOR does not.
        assert_eq!(factor(Rect::new(150, 60, 321, 252), Rect::new(301, 140, 640, 480)), 200);
        assert_eq!(factor(Rect::new(10, 20, 300, 400), Rect::new(20, 40, 600, 800)), 200);
        assert_eq!(factor(Rect::new(10, 20, 300, 400), Rect::new(15, 30, 450, 600)), 150);
        assert_eq!(factor(Rect::new(10, 20, 642, 504), Rect::new(11, 42, 640, 480)), 100);
        assert_eq!(factor(Rect::new(10, 20, 1, 1), Rect::new(11, 42, 640, 480)), 100, "it tells no size");
        assert_eq!(factor(Rect::new(0, 0, 0, 0), Rect::new(11, 42, 640, 480)), 100);
        assert_eq!(Placement::AS_TOLD.apply(Rect::new(1, 2, 3, 4)), Rect::new(1, 2, 3, 4));
    }

    #[test]
    fn a_window_is_found_by_process_title_and_place() {
        let (left, right) = (Rect::new(0, 0, 400, 300), Rect::new(500, 0, 400, 300));
        let windows = DrawnWindows {
            listed: vec![
                drawn(1, "Untitled", left),
                drawn(2, "Untitled", right),
                TopLevel { pid: Some(8), ..drawn(3, "Notes", left) },
                TopLevel { pid: Some(7), ..drawn(4, "Notes", right) },
            ],
            popups: Vec::new(),
        };
        let found = |title: &str, at: Rect| find(told(title, at, false), &windows).map(|window| window.id);
        assert_eq!(found("Untitled", left), Some(1));
        assert_eq!(found("Untitled", right), Some(2));
        assert_eq!(found("Notes", right), Some(4), "the other is another program's");
        assert_eq!(found("Draft", Rect::new(300, 300, 50, 50)), None);
        let alone = DrawnWindows { listed: vec![drawn(5, "a.txt - Editor", left)], popups: Vec::new() };
        assert_eq!(find(told("a.txt", left, false), &alone).map(|window| window.id), Some(5));
        let placeless = ToldWindow { bounds: None, ..told("a.txt - Editor", left, false) };
        assert_eq!(find(placeless, &alone).map(|window| window.id), Some(5));
        let same_size = find(told("Untitled", left, true), &windows);
        assert_eq!(same_size.map(|window| window.id), None, "either could be meant");
    }

    #[test]
    fn a_window_is_covered_by_one_that_lies_over_all_of_it() {
        let small = drawn(2, "b", Rect::new(10, 10, 100, 100));
        let covered_by = |front: Rect| {
            let windows =
                DrawnWindows { listed: vec![drawn(1, "a", front), small.clone()], popups: Vec::new() };
            cover(&small, &windows).map(|window| window.id)
        };
        assert_eq!(covered_by(Rect::new(0, 0, 200, 200)), Some(1));
        assert_eq!(covered_by(Rect::new(20, 0, 200, 200)), None, "a part shows");
    }
}
