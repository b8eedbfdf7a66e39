//! Where the caret stands in the text that has the focus, and what is selected of it.

use apprentice_protocol::{Detail, DetailKind};
use atspi::Role as BusRole;

use super::node::{self, Address, TEXT};
use super::peers::Peers;

/// Most characters before a caret whose lines are counted.
const LONGEST: i32 = 200_000;

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
    let told = match selected(bus, at).await {
        Some(text) => Some(Detail::selected(&text)),
        None => place(bus, at, value).await,
    };
    // Of a selection over several paragraphs, each one knows its own part.
    let told = told.filter(|told| is_field || told.kind == DetailKind::Caret);
    told.into_iter().collect()
}

/// Where the caret stands in a text that says `value`. Offsets count embedded elements and what lies beyond the part that was read, so
/// the text before the caret is asked for.
async fn place(bus: &Peers, at: &Address, value: &str) -> Option<Detail> {
    let offset = node::property(bus, at, TEXT, "CaretOffset");
    let count = node::property(bus, at, TEXT, "CharacterCount");
    let (offset, count): (i32, i32) = tokio::try_join!(offset, count).ok()?;
    if count == 0 || !(0..=LONGEST.min(count)).contains(&offset) {
        return None;
    }
    let before = if offset > 0 { node::text(bus, at, offset).await? } else { String::new() };
    let has_lines = value.contains('\n') || before.contains('\n');
    Some(Detail::caret(&before, has_lines, offset == count))
}

async fn selected(bus: &Peers, at: &Address) -> Option<String> {
    let count: i32 = node::call(bus, at, TEXT, "GetNSelections", &()).await.ok()?;
    if count < 1 {
        return None;
    }
    let (start, end): (i32, i32) = node::call(bus, at, TEXT, "GetSelection", &(0i32,)).await.ok()?;
    let range = (start.min(end), start.max(end).min(start.min(end).saturating_add(LONGEST)));
    let text: String = node::call(bus, at, TEXT, "GetText", &range).await.ok()?;
    (!text.is_empty()).then_some(text)
}
