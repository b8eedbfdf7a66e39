//! The references of elements that a conversation lists, so that a schema can name them.

use std::collections::BTreeSet;

use apprentice_protocol::{ChatRequest, Content, Message};

/// A grammar of more alternatives costs a server more than it helps.
const MAX_REFERENCES: usize = 400;

/// Returns the references in the views of a request, the newest view's first.
pub(super) fn listed_references(request: &ChatRequest) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut listed = Vec::new();
    for message in request.messages.iter().rev() {
        for text in texts(message) {
            for reference in references(text) {
                if listed.len() < MAX_REFERENCES && seen.insert(reference) {
                    listed.push(reference.to_owned());
                }
            }
        }
    }
    listed
}

/// The texts of a message of the user or of results.
pub(super) fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let (content, results, notices) = match message {
        Message::User { content } => (content.as_slice(), [].as_slice(), [].as_slice()),
        Message::Assistant { .. } => ([].as_slice(), [].as_slice(), [].as_slice()),
        Message::Results { results, notices } => ([].as_slice(), results.as_slice(), notices.as_slice()),
    };
    let all = content.iter().chain(results.iter().flat_map(|result| &result.content)).chain(notices);
    all.filter_map(Content::as_text)
}

/// The words of the form `#n7` that stand alone.
fn references(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(reference)
}

/// The reference in a word of the form `#n7`.
pub(super) fn reference(word: &str) -> Option<&str> {
    let reference = word.strip_prefix('#')?;
    let named = reference.starts_with(|c: char| c.is_ascii_alphabetic())
        && reference.chars().all(|c| c.is_ascii_alphanumeric())
        && reference.contains(|c: char| c.is_ascii_digit());
    named.then_some(reference)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Content, Message};

    use super::listed_references;

    #[test]
    fn references_are_those_of_the_views_newest_first() {
        let view = |text: &str| Message::User { content: vec![Content::text(text)] };
        let request = ChatRequest {
            messages: vec![
                view("button \"Issue #12\" @3,4 #n1\ncheckbox \"a\" #n2"),
                view("~ checkbox \"a\" [checked] #n2\n+ button: \"Cut\" #n7 | \"Copy\" #n8\n# heading #x"),
            ],
            ..ChatRequest::default()
        };
        assert_eq!(listed_references(&request), ["n2", "n7", "n8", "n1"]);
    }
}
