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

async fn place(bus: &Connection, at: &Address, value: &str) -> Option<String> {
    let offset: i32 = node::property(bus, at, TEXT, "CaretOffset").await.ok()?;
    if !(0..=LONGEST).contains(&offset) {
        return None;
    }
    let caret = usize::try_from(offset).ok()?;
    let known = value.chars().count();
    let whole = match caret > known && known > 0 {
        true => node::text(bus, at, offset).await?,
        false => value.to_owned(),
    };
    caret_words(&whole, caret)
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

/// The place of a caret before the character with this number. Of an empty text there is but one.
fn caret_words(text: &str, caret: usize) -> Option<String> {
    let before: String = text.chars().take(caret).collect();
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    match (text.contains('\n'), before.len() < text.len()) {
        _ if text.is_empty() => None,
        (false, false) => Some("at the end".to_owned()),
        (false, true) => Some(format!("column {column}")),
        (true, _) => Some(format!("line {} column {column}", before.matches('\n').count() + 1)),
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
        let words = |text: &str, caret| caret_words(text, caret).unwrap_or_default();
        assert_eq!(words("änd", 0), "column 1");
        assert_eq!(words("änd", 2), "column 3");
        assert_eq!(words("änd", 3), "at the end");
        assert_eq!(words("", 0), "");
        assert_eq!(words("a\nbcd\n", 0), "line 1 column 1");
        assert_eq!(words("a\nbcd\n", 1), "line 1 column 2");
        assert_eq!(words("a\nbcd\n", 2), "line 2 column 1");
        assert_eq!(words("a\nbcd\n", 4), "line 2 column 3");
        assert_eq!(words("a\nbcd\n", 6), "line 3 column 1");
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
