//! Places the controls of a page: a menu bar, rows below it, popups above all.

use std::collections::BTreeMap;

use apprentice_protocol::{Rect, ScreenPoint, Size};
use serde_json::Value;

use super::definition::{Control, Page};

const ROW: i32 = 28;
const COLUMN: i32 = 320;
const TOP: i32 = 32;

/// A control with its place.
#[derive(Clone, Debug)]
pub(super) struct PlacedControl<'s> {
    /// Identity of the control within the scene: page and indices.
    pub(super) key: String,
    /// Index of the parent control's spot.
    pub(super) parent: Option<usize>,
    /// The control.
    pub(super) control: &'s Control,
    /// The position. `None` while the control's menu is closed.
    pub(super) bounds: Option<Rect>,
    /// Whether the control is in an open menu above the page.
    pub(super) popup: bool,
}

/// The open menus of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpenMenus {
    /// Keys of the open menus, from the outermost to the innermost.
    pub(super) menus: Vec<String>,
    /// Key of the control whose context menu is open, and the menu's position.
    pub(super) context: Option<(String, ScreenPoint)>,
}

/// Whether a control opens a menu.
pub(super) fn opens_menu(control: &Control) -> bool {
    matches!(control.role.as_str(), "menu" | "menuitem") && !control.items.is_empty()
}

/// Whether all required state values hold.
pub(super) fn holds(wanted: &BTreeMap<String, Value>, values: &BTreeMap<String, Value>) -> bool {
    wanted.iter().all(|(name, value)| values.get(name).unwrap_or(&Value::Null) == value)
}

/// Places all existing controls of a page, parents before children.
pub(super) fn lay_out<'s>(
    name: &str,
    page: &'s Page,
    values: &BTreeMap<String, Value>,
    popups: &OpenMenus,
    screen: Size,
) -> Vec<PlacedControl<'s>> {
    let bottom = screen.height.cast_signed().max(TOP + 3 * ROW);
    let has_menus = page.controls.iter().any(|control| control.role == "menu");
    let first_row = if has_menus { TOP + ROW } else { TOP };
    let mut plan = Plan {
        values,
        popups,
        spots: Vec::new(),
        bar: 0,
        row: ScreenPoint::new(8, first_row),
        first_row,
        bottom,
    };
    for (index, control) in page.controls.iter().enumerate() {
        plan.place(format!("{name}/{index}"), control, None);
    }
    plan.spots
}

struct Plan<'s, 'v> {
    values: &'v BTreeMap<String, Value>,
    popups: &'v OpenMenus,
    spots: Vec<PlacedControl<'s>>,
    bar: i32,
    row: ScreenPoint,
    first_row: i32,
    bottom: i32,
}

impl<'s> Plan<'s, '_> {
    fn place(&mut self, key: String, control: &'s Control, parent: Option<usize>) {
        if !holds(&control.when, self.values) {
            return;
        }
        let bounds = if control.role == "menu" { self.next_in_bar(control) } else { self.next_row() };
        let index = self.push(PlacedControl { key, parent, control, bounds: Some(bounds), popup: false });
        if opens_menu(control) {
            let corner = ScreenPoint::new(bounds.x, bounds.y + bounds.height);
            self.place_menu(index, &control.items, "", corner);
        } else {
            for (place, item) in control.items.iter().enumerate() {
                let key = format!("{}/{place}", self.spots[index].key);
                self.place(key, item, Some(index));
            }
        }
        self.place_context(index);
    }

    /// Adds the items of a menu. They have a position only while the menu is open.
    fn place_menu(&mut self, parent: usize, items: &'s [Control], mark: &str, corner: ScreenPoint) {
        let parent_key = self.spots[parent].key.clone();
        let open = if mark.is_empty() {
            self.popups.menus.contains(&parent_key)
        } else {
            self.popups.context.as_ref().is_some_and(|(key, _)| *key == parent_key)
        };
        let mut y = corner.y;
        for (place, item) in items.iter().enumerate().filter(|(_, item)| holds(&item.when, self.values)) {
            let bounds = Rect::new(corner.x, y, 220, 24);
            y += bounds.height;
            let key = format!("{parent_key}/{mark}{place}");
            let bounds_now = open.then_some(bounds);
            let spot =
                PlacedControl { key, parent: Some(parent), control: item, bounds: bounds_now, popup: true };
            let index = self.push(spot);
            if opens_menu(item) {
                let beside = ScreenPoint::new(bounds.x + bounds.width, bounds.y);
                self.place_menu(index, &item.items, "", beside);
            }
        }
    }

    fn place_context(&mut self, index: usize) {
        let corner = self.popups.context.as_ref().filter(|(key, _)| *key == self.spots[index].key);
        if let Some((_, corner)) = corner {
            let control: &'s Control = self.spots[index].control;
            self.place_menu(index, &control.context, "c", *corner);
        }
    }

    fn push(&mut self, spot: PlacedControl<'s>) -> usize {
        self.spots.push(spot);
        self.spots.len() - 1
    }

    fn next_in_bar(&mut self, control: &Control) -> Rect {
        let width = i32::try_from(control.name.chars().count()).unwrap_or(20) * 8 + 16;
        let bounds = Rect::new(self.bar, TOP, width, ROW - 4);
        self.bar += width;
        bounds
    }

    fn next_row(&mut self) -> Rect {
        if self.row.y + ROW > self.bottom {
            self.row = ScreenPoint::new(self.row.x + COLUMN, self.first_row);
        }
        let bounds = Rect::new(self.row.x, self.row.y, COLUMN - 16, ROW - 4);
        self.row.y += ROW;
        bounds
    }
}
