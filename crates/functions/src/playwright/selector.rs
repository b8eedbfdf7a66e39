//! The few selectors of Playwright that name what the accessibility tree has, too: a text, a role's text, a label. Others
//! name places in the page's markup, which no function here sees.

use super::text::quoted;

/// Elements whose role is their own name or another.
const ROLES: [(&str, &str); 2] = [("button", "button"), ("a", "link")];

/// Returns the locator that a selector stands for.
pub(super) fn locator(selector: &str) -> Option<String> {
    let selector = selector.trim();
    if let Some(text) = selector.strip_prefix("text=") {
        let text = text.trim();
        // Quotes ask for the whole text.
        return match unquoted(text) {
            Some(whole) => Some(format!("get_by_text({})", quoted(whole))),
            None => plain(text).map(|part| format!("get_by_text({})", part_of(part))),
        };
    }
    if let Some((element, text)) = selector.split_once(":has-text(") {
        let text = unquoted(text.strip_suffix(')')?)?;
        return with_text(element, &quoted(&format!("*{text}*")));
    }
    let (_, attribute) = selector.split_once("[aria-label=")?;
    let label = unquoted(attribute.strip_suffix(']')?)?;
    let element = selector.split('[').next().unwrap_or_default();
    matches!(element, "input" | "textarea" | "select").then(|| format!("get_by_label({})", quoted(label)))
}

/// Returns the locator of an element that holds a text, given as a value of this language.
pub(super) fn with_text(element: &str, text: &str) -> Option<String> {
    let (_, role) = ROLES.iter().find(|(known, _)| *known == element.trim())?;
    Some(format!("get_by_role(\"{role}\", {text})"))
}

fn part_of(text: &str) -> String {
    quoted(&format!("*{text}*"))
}

/// Returns what stands between quotes, if that is all and holds none itself.
fn unquoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    plain(inner)
}

/// Returns a text without signs that mean something in a selector or in a locator of this language.
fn plain(text: &str) -> Option<&str> {
    let special = |c: char| matches!(c, '"' | '\'' | '\\' | '/' | '*' | '>' | '=');
    (!text.is_empty() && !text.contains(special)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::locator;

    #[test]
    fn selectors_by_text_and_label_are_locators_and_others_are_none() {
        for (selector, expected) in [
            ("text=\"Yours\"", Some("get_by_text(\"Yours\")")),
            ("text=Submissions", Some("get_by_text(\"*Submissions*\")")),
            ("button:has-text('Sort by: Hot')", Some("get_by_role(\"button\", \"*Sort by: Hot*\")")),
            ("a:has-text(\"Next\")", Some("get_by_role(\"link\", \"*Next*\")")),
            ("input[aria-label=\"Search query\"]", Some("get_by_label(\"Search query\")")),
            ("#name", None),
            ("a[href=\"/login\"]", None),
            ("li.next", None),
            ("tr:has-text('Ann') >> button", None),
            ("div[aria-label='Box'] button", None),
            ("text=/a+/", None),
            ("td:has-text('Ann')", None),
        ] {
            assert_eq!(locator(selector).as_deref(), expected, "{selector}");
        }
    }
}
