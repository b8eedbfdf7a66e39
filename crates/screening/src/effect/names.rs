//! Names of controls within a sentence: what stands in quotation marks.

/// Returns a text without the names in quotation marks. An apostrophe within a word is none.
pub(super) fn without_named(text: &str) -> String {
    let mut bare = String::new();
    let mut until: Option<char> = None;
    let mut before = ' ';
    for c in text.chars() {
        match until {
            Some(end) if c == end || c == '\n' => until = None,
            Some(_) => {}
            None => match closing(c).filter(|end| *end != '\'' || !before.is_alphanumeric()) {
                Some(end) => until = Some(end),
                None => bare.push(c),
            },
        }
        before = c;
    }
    bare
}

fn closing(opening: char) -> Option<char> {
    match opening {
        '"' | '\'' | '`' => Some(opening),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::without_named;

    #[test]
    fn names_are_left_out_and_apostrophes_are_not_marks() {
        assert_eq!(
            without_named(r#"It lists "Empty Trash" and 'Undo', doesn't it?"#),
            "It lists  and , doesn't it?"
        );
        assert_eq!(without_named("Wähle „Löschen” und «Ende»."), "Wähle  und .");
    }
}
