//! Where the caret stands in the text that has the focus, and what is selected of it.

use apprentice_protocol::{Detail, TextPlace};
use atspi::Role as BusRole;

use super::node::{self, Address, TEXT};
use super::peers::Peers;

/// Most characters before a caret whose lines are counted.
const LONGEST: i32 = 200_000;
/// Most characters after a caret that are asked for.
const AFTER: i32 = 200;

/// Asks the text that has the focus, which says `value`.
pub(super) async fn caret(bus: &Peers, at: &Address, role: BusRole, value: &str) -> Vec<Detail> {
    let is_field = matches!(
        role,
        BusRole::Entry | BusRole::Text | BusRole::Editbar | BusRole::SpinButton | BusRole::Autocomplete
    );
    if !is_field && !matches!(role, BusRole::Paragraph | BusRole::Heading) {
        return Vec::new();
    }
    // What is typed replaces the selection, wherever in it the caret stands.
    if let Some((start, text)) = selected(bus, at).await {
        // Of a selection over several paragraphs, each one knows its own part; of one that it has whole, its state says enough.
        if !is_field && text == value {
            return Vec::new();
        }
        let start = place(bus, at, value, start).await.map(|place| Detail::selection_start(place.told()));
        return std::iter::once(Detail::selected(&text)).chain(start).collect();
    }
    let Ok(offset) = node::property(bus, at, TEXT, "CaretOffset").await else { return Vec::new() };
    let caret = place(bus, at, value, offset).await;
    caret.map(|place| Detail::caret(place.told())).into_iter().collect()
}

/// A place in a text.
struct Place {
    before: String,
    after: String,
    has_lines: bool,
}

impl Place {
    fn told(&self) -> TextPlace<'_> {
        TextPlace { before: &self.before, after: &self.after, has_lines: self.has_lines }
    }
}

/// What stands around an offset of a text that says `value`. Offsets count embedded elements and what lies beyond the part that was
/// read, so the text on both sides is asked for.
async fn place(bus: &Peers, at: &Address, value: &str, offset: i32) -> Option<Place> {
    let count: i32 = node::property(bus, at, TEXT, "CharacterCount").await.ok()?;
    if count == 0 || !(0..=LONGEST.min(count)).contains(&offset) {
        return None;
    }
    let range = |start: i32, end: i32| async move {
        if end > start {
            node::call(bus, at, TEXT, "GetText", &(start, end)).await.ok()
        } else {
            Some(String::new())
        }
    };
    let sides = tokio::join!(range(0, offset), range(offset, count.min(offset + AFTER)));
    let (before, after) = (sides.0?, sides.1?);
    let has_lines = [value, &before, &after].iter().any(|part| part.contains('\n'));
    Some(Place { before, after, has_lines })
}

/// Where the selection starts, and what is selected.
async fn selected(bus: &Peers, at: &Address) -> Option<(i32, String)> {
    let count: i32 = node::call(bus, at, TEXT, "GetNSelections", &()).await.ok()?;
    if count < 1 {
        return None;
    }
    let (start, end): (i32, i32) = node::call(bus, at, TEXT, "GetSelection", &(0i32,)).await.ok()?;
    let range = (start.min(end), start.max(end).min(start.min(end).saturating_add(LONGEST)));
    let text: String = node::call(bus, at, TEXT, "GetText", &range).await.ok()?;
    (!text.is_empty()).then_some((range.0, text))
}
