//! The parts of a text that is judged, and its sentences.

use std::borrow::Cow;

/// A named part of a text: a field of a skill, or a file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Name of the part: `guidance`, `scripts/x.py`.
    pub name: String,
    /// The text.
    pub text: String,
    /// True if the text is the code of a function.
    is_code: bool,
}

impl Passage {
    /// Returns a passage of words.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), is_code: false }
    }

    /// Returns a passage of a function's code. Models read it as it is, the rules for words with its calls parted.
    pub fn code(name: &str, text: &str) -> Self {
        Self { is_code: true, ..Self::new(name, text) }
    }

    /// Returns whether it is the code of a function.
    pub(super) fn is_code(&self) -> bool {
        self.is_code
    }

    /// Returns the text as the rules for words read it. It is as long as the text, byte for byte.
    pub(super) fn in_words(&self) -> Cow<'_, str> {
        if self.is_code {
            Cow::Owned(self.text.lines().map(words_of_code).collect::<Vec<_>>().join("\n"))
        } else {
            Cow::Borrowed(&self.text)
        }
    }

    /// Returns how a sentence of [`Self::in_words`] is written in the text.
    pub(super) fn as_written(&self, sentence: String) -> String {
        let start = self.in_words().find(&sentence).filter(|_| self.is_code);
        let written = start.and_then(|start| self.text.get(start..start + sentence.len())).map(str::to_owned);
        written.unwrap_or(sentence)
    }
}

/// Parts the calls of a line, so that `save.click()` does not read as the name of a host. Texts stay as they are.
fn words_of_code(line: &str) -> String {
    let mut quote = None;
    let mut escaped = false;
    let apart = |letter: char| {
        let is_mark = matches!(letter, '"' | '`') && !escaped;
        escaped = letter == '\\' && !escaped;
        match quote {
            Some(open) if is_mark && letter == open => quote = None,
            None if is_mark => quote = Some(letter),
            None if letter == '.' => return ' ',
            _ => {}
        }
        letter
    };
    line.chars().map(apart).collect()
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
    use super::{Passage, sentences, words_of_code};

    #[test]
    fn calls_are_parted_and_texts_are_not() {
        for (line, expected) in [
            ("save.click();", "save click();"),
            (r#"page.goto("https://a.example/x");"#, r#"page goto("https://a.example/x");"#),
            (r#"page.type("a\"b.c").d();"#, r#"page type("a\"b.c") d();"#),
            ("page.type(`b.${c}`);", "page type(`b.${c}`);"),
        ] {
            assert_eq!(words_of_code(line), expected);
        }
    }

    #[test]
    fn a_sentence_that_the_rules_found_is_told_as_it_is_written() {
        let code = "    page.press(\"a\");\n    é.press(\"b.c\");";
        let passage = Passage::code("code", code);
        assert_eq!(passage.in_words().len(), code.len());
        assert_eq!(passage.as_written("é press(\"b.c\");".into()), "é.press(\"b.c\");");
        assert_eq!(Passage::new("guidance", code).as_written("page press".into()), "page press");
    }

    #[test]
    fn a_number_of_up_to_three_digits_begins_a_line_of_a_list() {
        assert_eq!(sentences("123. Open it."), ["Open it."]);
        assert_eq!(sentences("1234. Open it."), ["1234.", "Open it."]);
    }

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
