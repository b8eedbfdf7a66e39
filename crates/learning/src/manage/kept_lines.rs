//! Compares two texts: a new one that only adds keeps every line of the old one, in order.

/// Returns the first line of the old text that the new text lacks. Numbers of steps and spacing may change, the order may
/// not: what comes first is part of what is said.
pub(super) fn missing_line<'a>(old: &'a str, new: &str) -> Option<&'a str> {
    let mut lines = new.lines().map(content).filter(|line| !line.is_empty());
    old.lines().filter(|line| !content(line).is_empty()).find(|line| {
        let wanted = content(line);
        !lines.any(|line| line == wanted)
    })
}

/// Returns a line without its number or bullet, with single spaces.
fn content(line: &str) -> String {
    let line = line.trim();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered =
        digits.strip_prefix(['.', ')']).filter(|rest| digits.len() < line.len() && rest.starts_with(' '));
    let bulleted = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    numbered.or(bulleted).unwrap_or(line).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::missing_line;

    #[test]
    fn adding_keeps_every_line_in_its_order() {
        let old = "1. Open Layer.\n2. Check Lock.";
        assert_eq!(missing_line(old, "1. Open Layer.\n2. Wait.\n3. Check  Lock."), None);
        assert_eq!(missing_line(old, "1. Open Layer.\n2. Uncheck Lock."), Some("2. Check Lock."));
        assert_eq!(missing_line(old, "1. Check Lock.\n2. Open Layer."), Some("2. Check Lock."));
        assert_eq!(missing_line(old, ""), Some("1. Open Layer."));
        assert_eq!(missing_line("", "anything"), None);
        // One line of the new text stands for one of the old.
        assert_eq!(missing_line("a\na", "a"), Some("a"));
        assert_eq!(missing_line("3.5 mm", "5 mm"), Some("3.5 mm"));
    }
}
