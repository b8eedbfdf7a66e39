//! The parts of a text that is judged, and its sentences.

/// A named part of a text: a field of a skill, or a file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Name of the part: `guidance`, `scripts/x.py`.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Passage {
    /// Returns a passage.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned() }
    }
}

/// Returns the sentences of a text, trimmed, without list marks. A line break ends a sentence.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for (at, mark) in line.char_indices() {
            let end = at + mark.len_utf8();
            let next = line[end..].chars().next();
            let ends = match mark {
                '。' | '！' | '？' | '；' => true,
                '.' | '!' | '?' => next.is_none_or(char::is_whitespace) && !is_list_number(&line[start..at]),
                ';' => next.is_none_or(char::is_whitespace),
                _ => false,
            };
            if ends {
                found.push(&line[start..end]);
                start = end;
            }
        }
        found.push(&line[start..]);
    }
    let bare = found.into_iter().map(without_mark);
    bare.filter(|sentence| sentence.chars().any(char::is_alphanumeric)).collect()
}

fn is_list_number(before: &str) -> bool {
    let number = before.trim();
    !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a line without its number, bullet or heading mark.
fn without_mark(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '-', '*', '•', '–', '>']).trim_start();
    let rest = line.trim_start_matches(|mark: char| mark.is_ascii_digit());
    let number = line.len() - rest.len();
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if (1..=3).contains(&number) && rest.starts_with(char::is_whitespace) => rest.trim_start(),
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn sentences_end_at_marks_and_lines_and_not_within_names() {
        let text = "1. Open File > Save. Then wait 2.5 s.\n- Choose a.b; press Enter!\n選択します。次に押します。\n\n...";
        assert_eq!(
            sentences(text),
            [
                "Open File > Save.",
                "Then wait 2.5 s.",
                "Choose a.b;",
                "press Enter!",
                "選択します。",
                "次に押します。",
            ]
        );
    }
}
