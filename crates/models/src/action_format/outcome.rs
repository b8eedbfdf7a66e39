//! Renders the result of a call as the text and pictures that a model receives.

use apprentice_protocol::{ActionOutcome, CallResult, Content, Image};

/// Describes the results of the actions; empty when there were no actions.
pub(crate) fn summary(result: &CallResult) -> String {
    let many = result.per_action.len() > 1;
    let lines: Vec<String> = (1..)
        .zip(&result.per_action)
        .filter_map(|(place, one)| {
            let place = if many { format!("Action {place}: ") } else { String::new() };
            match one {
                ActionOutcome::Done { text: Some(text) } => Some(format!("{place}{text}")),
                ActionOutcome::Done { text: None } => None,
                ActionOutcome::Failed { problem } => Some(format!("{place}failed: {problem}")),
                ActionOutcome::NotExecuted => {
                    Some(format!("{place}not done, because an earlier action of this reply failed"))
                }
            }
        })
        .collect();
    match lines.is_empty() {
        true if result.per_action.is_empty() => String::new(),
        true => "Done.".into(),
        false => lines.join("\n"),
    }
}

/// The texts of contents, in order.
pub(crate) fn texts(content: &[Content]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(Content::as_text)
}

/// The pictures of contents, in order.
pub(crate) fn pictures(content: &[Content]) -> impl Iterator<Item = &Image> {
    content.iter().filter_map(|part| match part {
        Content::Image { image } => Some(image),
        Content::Text { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ActionOutcome, CallId, CallResult};

    use super::summary;

    #[test]
    fn each_action_of_a_batch_is_told_of() {
        let check = |per_action: Vec<ActionOutcome>, expected: &str| {
            let result =
                CallResult { id: CallId::new("c"), per_action, content: Vec::new(), is_error: false };
            assert_eq!(summary(&result), expected);
        };
        let done = || ActionOutcome::Done { text: None };
        check(vec![], "");
        check(vec![done(), done()], "Done.");
        check(
            vec![done(), ActionOutcome::Failed { problem: "no".into() }, ActionOutcome::NotExecuted],
            "Action 2: failed: no\nAction 3: not done, because an earlier action of this reply failed",
        );
    }
}
