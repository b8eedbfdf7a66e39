//! Label placement for plots, so that no label overlaps another or a mark: beside its mark where there is room,
//! otherwise shifted up or down with a leader line. Marks are positioned in percent of the page's width, labels in
//! pixels beside them; labels that do not overlap at the narrowest and the widest width do not overlap in between.

use serde::Serialize;

/// Minimum and maximum plot widths in pixels: a phone and the widest page.
const WIDTHS: [f64; 2] = [320.0, 1400.0];
/// Maximum width of a letter, and height of a line, in pixels.
const LETTER: f64 = 7.0;
const LINE: f64 = 15.0;
/// Distance from a mark's centre to its edge, and to its label, in pixels.
const DOT: f64 = 7.0;
const GAP: f64 = 10.0;

/// A mark and its label.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelledMark<'n> {
    /// Horizontal position in percent of the width.
    pub(super) x: f64,
    /// Vertical position in percent of the height.
    pub(super) y: f64,
    pub(super) name: &'n str,
}

/// The position of a label, in pixels from its mark to the middle of the label's near end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct LabelPosition {
    pub(super) dx: f64,
    pub(super) dy: f64,
    /// Whether the label ends at this position; otherwise it begins there.
    pub(super) turned: bool,
    /// End point of the leader line, if the label is shifted.
    pub(super) leader: Option<[f64; 2]>,
}

/// A box whose horizontal edges are a percentage of the width plus pixels.
#[derive(Clone, Copy, Debug)]
struct LabelBox {
    percent: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl LabelBox {
    fn left_at(self, width: f64) -> f64 {
        self.percent / 100.0 * width + self.left
    }

    fn right_at(self, width: f64) -> f64 {
        self.percent / 100.0 * width + self.right
    }

    fn is_apart(self, other: Self) -> bool {
        let beside = |one: Self, other: Self| WIDTHS.iter().all(|w| one.right_at(*w) <= other.left_at(*w));
        self.bottom <= other.top || other.bottom <= self.top || beside(self, other) || beside(other, self)
    }

    fn is_within(self, height: f64) -> bool {
        let [narrow, _] = WIDTHS;
        self.left_at(narrow) >= 0.0
            && self.right_at(narrow) <= narrow
            && self.top >= 0.0
            && self.bottom <= height
    }
}

/// The height of a plot with room for this many labels, in pixels.
pub(super) fn height(names: usize) -> f64 {
    let names = u32::try_from(names).unwrap_or(u32::MAX);
    (f64::from(names) * 2.0 * LINE).clamp(192.0, 480.0)
}

/// Places each label, in the order of the marks, in a plot of this height in pixels.
pub(super) fn place(marks: &[LabelledMark<'_>], height: f64) -> Vec<LabelPosition> {
    let dots: Vec<LabelBox> = marks.iter().map(|mark| dot(mark, height)).collect();
    let mut taken: Vec<LabelBox> = Vec::new();
    let mut spots = Vec::new();
    for mark in marks {
        let in_the_way =
            |area: LabelBox| dots.iter().chain(&taken).filter(|other| !area.is_apart(**other)).count();
        let wanted = candidates(mark, height);
        // Without room, the position with the fewest overlaps is used.
        let best = wanted.iter().min_by_key(|spot| {
            let area = area(mark, **spot, height);
            (!area.is_within(height), in_the_way(area))
        });
        let spot = best.copied().unwrap_or_default();
        taken.push(area(mark, spot, height));
        spots.push(spot);
    }
    spots
}

/// Candidate positions for a label, nearest first.
fn candidates(mark: &LabelledMark<'_>, height: f64) -> Vec<LabelPosition> {
    let mut found = Vec::new();
    let [narrow, _] = WIDTHS;
    let middle = mark.x / 100.0 * narrow;
    // Above or below the mark, for labels that fit on neither side.
    let across = (GAP - length(mark.name)).max(GAP - middle).min(narrow - length(mark.name) - middle);
    let mut shift = 0.0;
    while shift <= height {
        for dy in if shift > 0.0 { vec![shift, -shift] } else { vec![0.0] } {
            let to = |x: f64, y: f64| (shift > 0.0).then_some([x, y]);
            let beside = [(GAP, GAP - 3.0, false), (-GAP, 3.0 - GAP, true)];
            found.extend(beside.map(|(dx, end, turned)| LabelPosition {
                dx,
                dy,
                turned,
                leader: to(end, dy),
            }));
            if shift > 0.0 {
                let edge = dy - dy.signum() * LINE / 2.0;
                let end = 0.0_f64.clamp(across, across + length(mark.name));
                found.push(LabelPosition { dx: across, dy, turned: false, leader: to(end, edge) });
            }
        }
        shift += LINE;
    }
    found
}

fn length(name: &str) -> f64 {
    f64::from(u32::try_from(name.chars().count()).unwrap_or(u32::MAX)) * LETTER
}

fn dot(mark: &LabelledMark<'_>, height: f64) -> LabelBox {
    let y = mark.y / 100.0 * height;
    LabelBox { percent: mark.x, left: -DOT, right: DOT, top: y - DOT, bottom: y + DOT }
}

fn area(mark: &LabelledMark<'_>, spot: LabelPosition, height: f64) -> LabelBox {
    let y = mark.y / 100.0 * height + spot.dy;
    let (left, right) = if spot.turned {
        (spot.dx - length(mark.name), spot.dx)
    } else {
        (spot.dx, spot.dx + length(mark.name))
    };
    LabelBox { percent: mark.x, left, right, top: y - LINE / 2.0, bottom: y + LINE / 2.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::{LETTER, LINE, LabelPosition, LabelledMark, WIDTHS, height, length, place};

    /// A label's box at this page width, computed independently of the placement code.
    fn drawn(mark: &LabelledMark<'_>, spot: LabelPosition, (width, height): (f64, f64)) -> [f64; 4] {
        let (x, y) = (mark.x / 100.0 * width + spot.dx, mark.y / 100.0 * height + spot.dy);
        let left = if spot.turned { x - length(mark.name) } else { x };
        [left, y - LINE / 2.0, left + length(mark.name), y + LINE / 2.0]
    }

    fn overlap(one: [f64; 4], other: [f64; 4]) -> bool {
        one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
    }

    fn check(marks: &[LabelledMark<'_>]) -> Vec<LabelPosition> {
        let height = height(marks.len());
        let spots = place(marks, height);
        for width in [WIDTHS[0], 340.0, 460.0, 700.0, 901.0, WIDTHS[1]] {
            let boxes: Vec<[f64; 4]> =
                marks.iter().zip(&spots).map(|(mark, spot)| drawn(mark, *spot, (width, height))).collect();
            for (at, one) in boxes.iter().enumerate() {
                assert!(
                    one[0] >= 0.0 && one[2] <= width && one[1] >= 0.0 && one[3] <= height,
                    "{marks:?} {spots:?}"
                );
                for other in &boxes[at + 1..] {
                    assert!(!overlap(*one, *other), "{width}: {marks:?} {spots:?}");
                }
                for mark in marks {
                    let (x, y) = (mark.x / 100.0 * width, mark.y / 100.0 * height);
                    assert!(
                        !overlap(*one, [x - 6.0, y - 6.0, x + 6.0, y + 6.0]),
                        "a mark is covered: {marks:?} {spots:?}"
                    );
                }
            }
        }
        spots
    }

    fn named(x: f64, y: f64, name: &str) -> LabelledMark<'_> {
        LabelledMark { x, y, name }
    }

    #[test]
    fn a_mark_alone_has_its_name_at_its_side() {
        assert_eq!(
            check(&[named(40.0, 50.0, "pull")]),
            [LabelPosition { dx: 10.0, dy: 0.0, ..LabelPosition::default() }]
        );
        let turned = LabelPosition { dx: -10.0, dy: 0.0, turned: true, leader: None };
        assert_eq!(check(&[named(98.0, 50.0, "teacher")]), [turned], "there is no room on its right");
    }

    #[test]
    fn marks_on_each_other_have_their_names_apart() {
        let names = ["none", "tools-only", "placebo-inert", "placebo-wrong", "index", "human", "raw-trace"];
        let spots = check(&names.map(|name| named(61.0, 96.0, name)));
        assert!(spots.iter().skip(2).all(|spot| spot.leader.is_some()), "{spots:?}");
        check(&names.map(|name| named(3.0, 4.0, name)));
        check(&["pull (upper bound) and more of it", "pull"].map(|name| named(50.0, 50.0, name)));
    }

    proptest! {
        #[test]
        fn no_name_lies_on_another_or_on_a_mark_at_any_width(
            marks in proptest::collection::vec((15u32..985, 40u32..960, 3usize..16), 1..9),
        ) {
            let names: Vec<String> = marks.iter().map(|(_, _, length)| "n".repeat(*length)).collect();
            let share = |tenths: u32| f64::from(tenths) / 10.0;
            let marks: Vec<LabelledMark<'_>> = marks
                .iter()
                .zip(&names)
                .map(|((x, y, _), name)| named(share(*x), share(*y), name))
                .collect();
            prop_assert!(check(&marks).len() == marks.len() && LETTER > 6.0);
        }
    }
}
