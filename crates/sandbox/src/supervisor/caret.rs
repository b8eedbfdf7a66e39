//! Where the caret stands in the text that has the focus, and what is selected of it.

use apprentice_protocol::{Detail, DetailKind};
use atspi::Role as BusRole;
use atspi::zbus::Connection;

use super::node::{self, Address, TEXT};

/// Most characters before a caret whose lines are counted.
const LONGEST: i32 = 200_000;
/// A longer selection is told by its beginning and its end of half this length, in characters.
const SELECTION: usize = 80;

/// Asks the text that has the focus, which says `value`.
pub(super) async fn caret(bus: &Connection, at: &Address, role: BusRole, value: &str) -> Vec<Detail> {
    let is_field = matches!(
        role,
        BusRole::Entry | BusRole::Text | BusRole::Editbar | BusRole::SpinButton | BusRole::Autocomplete
    );
    if !is_field && !matches!(role, BusRole::Paragraph | BusRole::Heading) {
        return Vec::new();
    }
    // What is typed replaces the selection, wherever in it the caret stands.
    let told = match selected(bus, at).await {
        Some(text) => Some(Detail { kind: DetailKind::SelectedText, text }),
        None => place(bus, at, value).await.map(|text| Detail { kind: DetailKind::Caret, text }),
    };
    // Of a selection over several paragraphs, each one knows its own part.
    let told = told.filter(|told| is_field || told.kind == DetailKind::Caret);
    told.into_iter().collect()
}

/// Where the caret stands in a text that says `value`. Offsets count embedded elements and what lies beyond the part that was read, so
/// the text before the caret is asked for.
async fn place(bus: &Connection, at: &Address, value: &str) -> Option<String> {
    let offset = node::property(bus, at, TEXT, "CaretOffset");
    let count = node::property(bus, at, TEXT, "CharacterCount");
    let (offset, count): (i32, i32) = tokio::try_join!(offset, count).ok()?;
    if count == 0 || !(0..=LONGEST.min(count)).contains(&offset) {
        return None;
    }
    let before = if offset > 0 { node::text(bus, at, offset).await? } else { String::new() };
    let has_lines = value.contains('\n') || before.contains('\n');
    Some(caret_words(&before, has_lines, offset == count))
}

async fn selected(bus: &Connection, at: &Address) -> Option<String> {
    let count: i32 = node::call(bus, at, TEXT, "GetNSelections", &()).await.ok()?;
    if count < 1 {
        return None;
    }
    let (start, end): (i32, i32) = node::call(bus, at, TEXT, "GetSelection", &(0i32,)).await.ok()?;
    let range = (start.min(end), start.max(end).min(start.min(end).saturating_add(LONGEST)));
    let text: String = node::call(bus, at, TEXT, "GetText", &range).await.ok()?;
    (!text.is_empty()).then(|| shortened(&text))
}

/// The place of a caret after a text, in lines if there are several. At the end of a single one its column says less.
fn caret_words(before: &str, has_lines: bool, at_end: bool) -> String {
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    match (has_lines, at_end) {
        (true, _) => format!("line {} column {column}", before.matches('\n').count() + 1),
        (false, true) => "at the end".to_owned(),
        (false, false) => format!("column {column}"),
    }
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= SELECTION {
        return text.to_owned();
    }
    let half = SELECTION / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

#[cfg(test)]
mod tests {
    use super::{SELECTION, caret_words, shortened};

    #[test]
    fn a_caret_is_told_by_line_and_column_or_at_the_end_of_a_line_alone() {
        assert_eq!(caret_words("", false, false), "column 1");
        assert_eq!(caret_words("än", false, false), "column 3");
        assert_eq!(caret_words("änd", false, true), "at the end");
        assert_eq!(caret_words("", true, false), "line 1 column 1");
        assert_eq!(caret_words("a", true, false), "line 1 column 2");
        assert_eq!(caret_words("a\n", true, false), "line 2 column 1");
        assert_eq!(caret_words("a\nbc", true, false), "line 2 column 3");
        assert_eq!(caret_words("a\nbcd\n", true, true), "line 3 column 1");
    }

    #[test]
    fn a_long_selection_is_told_by_its_ends() {
        let whole = "é".repeat(SELECTION);
        assert_eq!(shortened(&whole), whole);
        let long = format!("{}{whole}{}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        let told = format!("{} … {}", "a".repeat(SELECTION / 2), "z".repeat(SELECTION / 2));
        assert_eq!(shortened(&long), told);
    }
}
