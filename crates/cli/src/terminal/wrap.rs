//! Breaks lines that are wider than the terminal between words. The terminal itself breaks them at any letter.

use std::borrow::Cow;
use std::os::fd::AsFd;

/// Narrower terminals break lines themselves.
const NARROWEST: usize = 20;

/// Returns the width of a terminal in letters; `None` if it is none.
pub(crate) fn width(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width >= NARROWEST)
}

/// Breaks the lines of a text. What goes on hangs below the last column that begins in the left half, or is indented. What
/// stands in backticks is not broken, so that a command can be copied, nor is a word that is wider than the terminal.
pub(crate) fn wrapped(text: &str, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| letters(line) <= width) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    Cow::Owned(lines.join("\n"))
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

fn wrapped_line(line: &str, width: usize) -> Cow<'_, str> {
    if letters(line) <= width {
        return Cow::Borrowed(line);
    }
    let indent = hanging(line, width);
    let (mut out, mut column) = (String::with_capacity(line.len() + 32), 0);
    for (spaces, word) in words(line) {
        let needed = letters(spaces) + letters(word);
        if column > indent && column + needed > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent + letters(word);
        } else {
            out.push_str(spaces);
            column += needed;
        }
        out.push_str(word);
    }
    Cow::Owned(out)
}

/// How far the rest of a broken line is indented.
fn hanging(line: &str, width: usize) -> usize {
    let own = line.len() - line.trim_start_matches(' ').len();
    let mut column = 0;
    let columns = words(line).into_iter().map(|(spaces, word)| {
        let begin = column + letters(spaces);
        column = begin + letters(word);
        (spaces.len(), begin)
    });
    let last = columns.filter(|(spaces, begin)| *spaces > 1 && (own + 1..=width / 2).contains(begin)).last();
    last.map_or_else(|| (own + 2).min(width / 2), |(_, begin)| begin)
}

/// The words of a line, each with the spaces before it. What stands in backticks belongs to one word.
fn words(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        let word = &rest[spaces..];
        let end = word_end(word);
        found.push((&rest[..spaces], &word[..end]));
        rest = &word[end..];
    }
    found
}

fn word_end(text: &str) -> usize {
    let mut end = 0;
    loop {
        let stop = text[end..].find([' ', '`']).map(|at| end + at);
        let closing = |open: usize| text[open + 1..].find('`').map(|at| open + 1 + at + 1);
        match stop {
            Some(at) if text[at..].starts_with('`') => end = closing(at).unwrap_or(at + 1),
            Some(at) => return at,
            None => return text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(wrapped(text, 30), expected);
    }

    #[test]
    fn a_line_is_broken_between_words_and_the_rest_is_indented() {
        check("short enough", "short enough");
        check("exactly as wide as the termina", "exactly as wide as the termina");
        check("one letter wider than a terminal", "one letter wider than a\n  terminal");
        check("  - an item of a list that goes on", "  - an item of a list that\n    goes on");
        check("one\ntwo that is too long for a terminal\n", "one\ntwo that is too long for a\n  terminal\n");
        check("äöü äöü äöü äöü äöü äöü äöü äö", "äöü äöü äöü äöü äöü äöü äöü äö");
    }

    #[test]
    fn the_rest_of_a_row_hangs_below_its_last_column_in_the_left_half() {
        check(
            "ok  name      a long remark that goes on",
            "ok  name      a long remark\n              that goes on",
        );
        check("a/long/name/of/a/file.txt   and the remark", "a/long/name/of/a/file.txt\n  and the remark");
    }

    #[test]
    fn commands_and_long_words_stay_whole() {
        check("hint: `apprentice init DIR` writes it", "hint: `apprentice init DIR`\n  writes it");
        check("say `apprentice tasks list suite` first", "say\n  `apprentice tasks list suite`\n  first");
        check(
            "it is at http://127.0.0.1:44315/6df44a60631f8a for now",
            "it is at\n  http://127.0.0.1:44315/6df44a60631f8a\n  for now",
        );
        check("a lone ` breaks as any other word", "a lone ` breaks as any other\n  word");
    }
}
