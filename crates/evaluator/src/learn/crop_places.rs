//! Finds the parts of a step's two views that a reviewer should see: around what was acted on, and around whatever changed.

use apprentice_pixels::Area;
use apprentice_protocol::Size;

/// Pixels shown around what was acted on and what changed.
const MARGIN: u32 = 120;
/// Most parts that are shown of a step, each before and after. What changed in more places is shown by the whole screen.
const MOST_PARTS: usize = 3;
/// A change this narrow and this high, in pixels, is that of a scroll bar: it says only that something scrolled.
const STRIP: Size = Size { width: 24, height: 80 };

/// What is shown of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CropPlaces {
    /// Whether the whole screen is shown, because it changed in more than a few places.
    pub(super) whole: bool,
    /// The parts of the picture, from the first to the last.
    pub(super) parts: Vec<CropPart>,
}

/// A part of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CropPart {
    pub(super) area: Area,
    /// Whether something in it was acted on.
    pub(super) acted: bool,
    /// Whether something in it changed.
    pub(super) changed: bool,
}

impl CropPart {
    /// Says what it surrounds.
    pub(super) fn told(&self) -> &'static str {
        match (self.acted, self.changed) {
            (true, false) => "around what was acted on",
            (false, _) => "around what changed",
            (true, true) => "around what was acted on and what changed",
        }
    }
}

impl CropPlaces {
    /// Returns the places around points and changes, with a margin. Whatever changed is on one of the parts, or on the whole
    /// screen, but a scroll bar of its own.
    pub(super) fn of(points: &[(u32, u32)], changed: &[Area], size: Size) -> Self {
        let acted = |(x, y): &(u32, u32)| CropPart {
            area: widened(Area { x: *x, y: *y, width: 0, height: 0 }, size),
            acted: true,
            changed: false,
        };
        let is_strip = |area: &&Area| area.width <= STRIP.width && area.height >= STRIP.height;
        let told = changed.iter().filter(|area| !is_strip(area));
        let told = told.map(|area| CropPart { area: widened(*area, size), acted: false, changed: true });
        let points: Vec<CropPart> = points.iter().map(acted).collect();
        let parts = joined(points.iter().copied().chain(told).collect());
        if fit(&parts, size) {
            return Self { whole: false, parts };
        }
        // What was acted on is shown in detail beside the whole screen.
        let parts = Some(joined(points)).filter(|parts| fit(parts, size)).unwrap_or_default();
        Self { whole: true, parts }
    }
}

/// Whether the parts, each shown twice, are few and show no more than the whole screen once.
fn fit(parts: &[CropPart], size: Size) -> bool {
    let covers = |width: u32, height: u32| u64::from(width) * u64::from(height);
    let shown: u64 = parts.iter().map(|part| covers(part.area.width, part.area.height)).sum();
    parts.len() <= MOST_PARTS && shown <= covers(size.width, size.height) / 2
}

/// Adds the margin to an area, within the picture.
fn widened(area: Area, size: Size) -> Area {
    let along = |at: u32, length: u32, end: u32| {
        let from = at.saturating_sub(MARGIN);
        (from, (at + length).saturating_add(MARGIN).min(end).saturating_sub(from))
    };
    let ((x, width), (y, height)) =
        (along(area.x, area.width, size.width), along(area.y, area.height, size.height));
    Area { x, y, width, height }
}

/// Joins the parts that overlap, until none does.
fn joined(parts: Vec<CropPart>) -> Vec<CropPart> {
    let mut apart: Vec<CropPart> = Vec::new();
    for mut part in parts {
        while let Some(place) = apart.iter().position(|other| other.area.meets(&part.area)) {
            let other = apart.swap_remove(place);
            part = CropPart {
                area: part.area.around(&other.area),
                acted: part.acted || other.acted,
                changed: part.changed || other.changed,
            };
        }
        apart.push(part);
    }
    apart.sort_by_key(|part| (part.area.y, part.area.x));
    apart
}

#[cfg(test)]
mod tests {
    use apprentice_pixels::Area;
    use apprentice_protocol::Size;

    use super::{CropPart, CropPlaces};

    const SIZE: Size = Size::new(1000, 600);

    fn area(x: u32, y: u32, width: u32, height: u32) -> Area {
        Area { x, y, width, height }
    }

    fn areas(points: &[(u32, u32)], changed: &[Area]) -> (bool, Vec<Area>) {
        let places = CropPlaces::of(points, changed, SIZE);
        (places.whole, places.parts.iter().map(|part| part.area).collect())
    }

    #[test]
    fn a_crop_surrounds_what_was_acted_on_and_what_changed() {
        let changed = area(500, 300, 100, 50);
        assert_eq!(areas(&[(500, 300)], &[]), (false, vec![area(380, 180, 240, 240)]));
        assert_eq!(areas(&[(10, 590)], &[]), (false, vec![area(0, 470, 130, 130)]));
        assert_eq!(areas(&[(300, 300)], &[changed]), (false, vec![area(180, 180, 540, 290)]));
        assert_eq!(areas(&[], &[changed]), (false, vec![area(380, 180, 340, 290)]));
        assert_eq!(CropPlaces::of(&[], &[], SIZE), CropPlaces::default());
    }

    #[test]
    fn what_changed_far_from_what_was_acted_on_has_a_crop_of_its_own() {
        let status = area(10, 580, 60, 12);
        let (whole, parts) = areas(&[(900, 20)], &[area(890, 10, 20, 20), status]);
        assert_eq!((whole, parts), (false, vec![area(770, 0, 230, 150), area(0, 460, 190, 140)]));
        let told: Vec<&str> =
            CropPlaces::of(&[(900, 20)], &[area(880, 10, 20, 20), status, area(400, 20, 9, 9)], SIZE)
                .parts
                .iter()
                .map(CropPart::told)
                .collect();
        let expected =
            ["around what changed", "around what was acted on and what changed", "around what changed"];
        assert_eq!(told, expected);
        assert_eq!(CropPlaces::of(&[(900, 20)], &[], SIZE).parts[0].told(), "around what was acted on");
    }

    #[test]
    fn a_scroll_bar_of_its_own_is_no_place() {
        let changed = |width, height| area(960, 100, width, height);
        assert_eq!(areas(&[], &[changed(24, 80)]), (false, vec![]));
        let point = vec![area(180, 180, 240, 240)];
        assert_eq!(
            areas(&[(300, 300)], &[changed(24, 80)]),
            (false, point),
            "what was acted on is shown alone"
        );
        for (width, height) in [(25, 80), (24, 79)] {
            assert_eq!(areas(&[], &[changed(width, height)]).1.len(), 1, "{width}x{height}");
        }
    }

    #[test]
    fn parts_of_more_than_half_of_the_picture_give_way_to_the_whole_screen() {
        let half = |height| area(0, 0, 1000, height);
        assert_eq!(areas(&[], &[half(180)]), (false, vec![half(300)]));
        assert_eq!(areas(&[], &[half(181)]), (true, vec![]));
        let point = vec![area(380, 180, 240, 240)];
        assert_eq!(areas(&[(500, 300)], &[half(181)]), (true, point), "what was acted on is shown in detail");
    }

    #[test]
    fn more_than_three_parts_give_way_to_the_whole_screen() {
        let corners = [area(0, 0, 9, 9), area(990, 0, 9, 9), area(0, 590, 9, 9), area(990, 590, 9, 9)];
        assert_eq!((areas(&[], &corners[..3]).0, areas(&[], &corners[..3]).1.len()), (false, 3));
        assert_eq!(areas(&[], &corners), (true, vec![]));
        let points: Vec<(u32, u32)> = corners.iter().map(|corner| (corner.x, corner.y)).collect();
        assert_eq!(areas(&points, &[]), (true, vec![]));
    }

    #[test]
    fn joined_parts_may_meet_others() {
        // The third lies between the first two, which do not meet.
        let changed = [area(120, 300, 10, 10), area(600, 300, 10, 10), area(365, 300, 10, 10)];
        assert_eq!(areas(&[], &changed), (false, vec![area(0, 180, 730, 250)]));
    }
}
