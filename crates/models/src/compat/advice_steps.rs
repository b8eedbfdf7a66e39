//! Which step of an advice comes next, for a model that loses its place in one.
//!
//! Qwen2.5-Coder 1.5B followed five of the eight steps of a page and then clicked what was listed, one element after the other,
//! until its turns were used up: the advice stood some 1,000 tokens above by then.

use serde_json::Value;

/// The marks around advice in a conversation.
const BEGIN: &str = "<advice>";
const END: &str = "</advice>";

/// The steps of the newest advice, and how many of them are done.
#[derive(Clone, Debug, Default)]
pub(super) struct AdviceSteps {
    steps: Vec<String>,
    done: usize,
}

impl AdviceSteps {
    /// Takes note of a text of the conversation: where it holds advice in numbered steps, these are the steps now.
    pub(super) fn hear(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once(BEGIN) else { return };
        let advice = rest.split_once(END).map_or(rest, |(advice, _)| advice);
        let steps: Vec<String> = advice.lines().filter_map(step).map(str::to_owned).collect();
        if !steps.is_empty() {
            *self = Self { steps, done: 0 };
        }
    }

    /// Takes note of an act: the steps up to the one that names it are done.
    pub(super) fn act(&mut self, act: &Value) {
        let Some((verb, object)) = act
            .as_object()
            .and_then(|fields| fields.iter().find(|(name, _)| !matches!(name.as_str(), "text" | "option")))
        else {
            return;
        };
        let object = object.as_str().unwrap_or_default();
        let ahead = self.steps.iter().enumerate().skip(self.done);
        let mut fitting = ahead.filter(|(index, step)| names(step, verb, object, *index == self.done));
        if let Some((index, _)) = fitting.next() {
            self.done = index + 1;
        }
    }

    /// Says which step comes next, with what its open value stands for; nothing where there is no advice in steps.
    pub(super) fn next(&self, bound: impl FnOnce(&str) -> String) -> Option<String> {
        if self.steps.is_empty() {
            return None;
        }
        Some(match self.steps.get(self.done) {
            Some(step) => format!("Next step of the advice: {}", bound(step)),
            None => "All steps of the advice are done.".to_owned(),
        })
    }
}

/// The text of a numbered line.
fn step(line: &str) -> Option<&str> {
    let (number, text) = line.trim().split_once(". ")?;
    (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then(|| text.trim())
}

/// Whether a step tells of an act: it quotes what the act is about, or holds its keys; or it quotes nothing, comes next, and begins
/// with the same verb.
fn names(step: &str, verb: &str, object: &str, comes_next: bool) -> bool {
    let quoted: Vec<&str> = step.split('"').skip(1).step_by(2).collect();
    if verb == "key" {
        return step
            .to_lowercase()
            .split_whitespace()
            .any(|word| word.trim_matches(['"', '.', ',']) == object.to_lowercase());
    }
    if quoted.is_empty() {
        let first = step.split_whitespace().next().unwrap_or_default().to_lowercase();
        return comes_next && verb.split('_').next() == Some(first.as_str());
    }
    quoted.iter().any(|name| {
        let label = object.rsplit_once(" (").map_or(object, |(name, _)| name);
        label.trim_end_matches(['.', '…', ':']).eq_ignore_ascii_case(name.trim_end_matches(['.', '…', ':']))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AdviceSteps;

    const ADVICE: &str = "<advice>\n<note origin=\"learned\">\nThe units are to be changed.\n1. click \"View\"\n2. click \
                          \"Units...\"\n3. click the wanted unit\n4. type_into \"Scale\"\n5. key ctrl+s\n</note>\n</advice>";

    #[test]
    fn the_next_step_is_the_one_behind_what_was_done() {
        let mut steps = AdviceSteps::default();
        assert_eq!(steps.next(str::to_owned), None, "no advice");
        steps.hear("Screen now.");
        steps.hear(ADVICE);
        let mut next = |act: serde_json::Value| {
            steps.act(&act);
            steps
                .next(str::to_owned)
                .expect("has steps")
                .trim_start_matches("Next step of the advice: ")
                .to_owned()
        };
        assert_eq!(next(json!({"click": "View (menuitem)"})), "click \"Units...\"");
        assert_eq!(next(json!({"click": "Zoom (menuitem)"})), "click \"Units...\"", "no step tells of it");
        assert_eq!(next(json!({"click": "Units… (menuitem)"})), "click the wanted unit");
        assert_eq!(next(json!({"click": "Metres (radio)"})), "type_into \"Scale\"");
        assert_eq!(next(json!({"type_into": "Scale (textbox)", "text": "2"})), "key ctrl+s");
        assert_eq!(next(json!({"key": "ctrl+s"})), "All steps of the advice are done.");
    }

    #[test]
    fn a_step_that_was_left_out_is_not_asked_for_again() {
        let mut steps = AdviceSteps::default();
        steps.hear(ADVICE);
        steps.act(&json!({"click": "Units (menuitem)"}));
        assert_eq!(
            steps.next(str::to_owned).as_deref(),
            Some("Next step of the advice: click the wanted unit")
        );
        steps.hear("<advice>\nOther words, without steps.\n</advice>");
        assert!(steps.next(str::to_owned).is_some(), "prose replaces no steps");
    }
}
