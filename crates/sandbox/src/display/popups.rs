//! Windows that belong to no window manager: open menus and lists of suggestions. A click outside of one closes it, and
//! often does nothing else.

use apprentice_protocol::{Rect, ScreenPoint, Window};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt, MapState, WindowClass};

use super::DisplayError;
use super::screen::{Screen, gone};
use crate::wire::{DrawnWindows, TopLevel};

/// A smaller window is none that a person uses.
const SMALLEST: u16 = 8;

/// A menu or a list in front of all windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popup {
    id: u32,
    bounds: Rect,
}

impl Screen {
    /// The menus and lists that are open. Tooltips and notifications are none.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken. A window that closes meanwhile is left out.
    pub fn popups(&mut self) -> Result<Vec<Popup>, DisplayError> {
        let shown = self.shown_popups()?;
        Ok(shown.into_iter().filter_map(|(popup, is_list)| is_list.then_some(popup)).collect())
    }

    /// The areas of all windows that belong to no window manager, whatever they are for.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken. A window that closes meanwhile is left out.
    pub fn popup_areas(&mut self) -> Result<Vec<Rect>, DisplayError> {
        Ok(self.shown_popups()?.into_iter().map(|(popup, _)| popup.bounds).collect())
    }

    /// The windows that the window manager lists, and the areas of others.
    pub(crate) fn drawn_windows(&mut self) -> Result<DrawnWindows, DisplayError> {
        let mut listed = Vec::new();
        for window in self.windows()? {
            let Some(id) = number(&window) else { continue };
            let states = self.numbers(id, self.atoms._NET_WM_STATE, AtomEnum::ATOM.into())?;
            let Window { title, bounds, active, pid, .. } = window;
            let modal = states.contains(&self.atoms._NET_WM_STATE_MODAL);
            listed.push(TopLevel { id, pid, title, bounds, active, modal });
        }
        Ok(DrawnWindows { listed, popups: self.popup_areas()? })
    }

    /// Windows that belong to no window manager, and whether each is a menu or a list.
    fn shown_popups(&mut self) -> Result<Vec<(Popup, bool)>, DisplayError> {
        let children = self.connection.query_tree(self.root)?.reply()?.children;
        // All are asked before the first answer is read.
        let mut requests = Vec::with_capacity(children.len());
        for id in children {
            let kind = (self.atoms._NET_WM_WINDOW_TYPE, AtomEnum::ATOM);
            requests.push((
                id,
                self.connection.get_window_attributes(id)?,
                self.connection.get_geometry(id)?,
                self.connection.get_property(false, id, kind.0, kind.1, 0, 16)?,
            ));
        }
        let mut popups = Vec::new();
        for (id, attributes, place, kind) in requests {
            let (Some(attributes), Some(place), Some(kind)) =
                (gone(attributes.reply())?, gone(place.reply())?, gone(kind.reply())?)
            else {
                continue;
            };
            let is_shown = attributes.override_redirect
                && attributes.map_state == MapState::VIEWABLE
                && attributes.class == WindowClass::INPUT_OUTPUT
                && place.width.min(place.height) >= SMALLEST;
            let only_tells = [
                self.atoms._NET_WM_WINDOW_TYPE_TOOLTIP,
                self.atoms._NET_WM_WINDOW_TYPE_NOTIFICATION,
                self.atoms._NET_WM_WINDOW_TYPE_DND,
            ];
            let kinds: Vec<u32> = kind.value32().map(Iterator::collect).unwrap_or_default();
            if is_shown {
                let (x, y) = (place.x.into(), place.y.into());
                let bounds = Rect::new(x, y, place.width.into(), place.height.into());
                let is_list = !kinds.is_empty() && !kinds.iter().any(|kind| only_tells.contains(kind));
                popups.push((Popup { id, bounds }, is_list));
            }
        }
        Ok(popups)
    }
}

/// The number of a window on the display.
pub(super) fn number(window: &Window) -> Option<u32> {
    u32::from_str_radix(window.id.strip_prefix("0x")?, 16).ok()
}

/// Returns whether a click at a point closed a menu or a list that it did not hit, and opened no other.
pub fn was_closed(before: &[Popup], after: &[Popup], at: ScreenPoint) -> bool {
    let is_hit = before.iter().any(|popup| popup.bounds.contains(at));
    let stays = |popup: &Popup| after.iter().any(|other| other.id == popup.id);
    let opened = after.iter().any(|popup| !before.iter().any(|other| other.id == popup.id));
    !is_hit && !opened && before.iter().any(|popup| !stays(popup))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Rect, ScreenPoint};

    use super::{Popup, was_closed};

    #[test]
    fn a_click_beside_a_list_closes_it() {
        let popup = |id, x| Popup { id, bounds: Rect::new(x, 0, 50, 50) };
        let (inside, beside) = (ScreenPoint::new(10, 10), ScreenPoint::new(300, 300));
        let list = [popup(1, 0)];
        assert!(was_closed(&list, &[], beside));
        assert!(!was_closed(&list, &[], inside), "an option was chosen");
        assert!(!was_closed(&list, &list, beside), "it stays");
        assert!(!was_closed(&list, &[popup(2, 100)], beside), "the next menu was opened");
        assert!(!was_closed(&[], &[], beside));
    }
}
