//! Numeric dates, and fields that take them in parts.

use apprentice_protocol::{Action, Button, ImagePoint};

use super::super::actions::{click, fill};
use super::page_view::{PageControl, PageView};

/// Parses a numeric date into year, month and day.
pub(super) fn date(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<&str> = text.split(['-', '.', '/']).collect();
    let [one, two, three] = parts.as_slice() else { return None };
    let number = |part: &str| part.parse::<u32>().ok();
    let (first, second, third) = (number(one)?, number(two)?, number(three)?);
    let found = if one.len() == 4 { [first, second, third] } else { [third, second, first] };
    (found[0] > 999 && (1..=12).contains(&found[1]) && (1..=31).contains(&found[2])).then_some(found)
}

/// Returns the actions that enter a date: part by part if the field has parts, else as text.
pub(super) fn date_actions(
    page: &PageView<'_>,
    control: &PageControl<'_>,
    [year, month, day]: [u32; 3],
) -> Vec<Action<ImagePoint>> {
    let parts: Vec<_> = page
        .scene
        .elements
        .iter()
        .filter(|element| element.parent == Some(control.index) && element.role.contains("spin"))
        .collect();
    let Some(first) = parts.first() else {
        return fill(control.element, &format!("{year:04}-{month:02}-{day:02}"));
    };
    let typed: String = parts
        .iter()
        .map(|part| {
            let name = part.name.to_lowercase();
            if name.starts_with("month") {
                format!("{month:02}")
            } else if name.starts_with("year") {
                format!("{year:04}")
            } else {
                format!("{day:02}")
            }
        })
        .collect();
    vec![click(first, Button::Left, 1), Action::Type { text: typed }]
}
