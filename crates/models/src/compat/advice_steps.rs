//! Which step of an advice comes next, for a model that loses its place in one.
//!
//! Qwen2.5-Coder 1.5B followed five of the eight steps of a page and then clicked what was listed, one element after the other,
//! until its turns were used up: the advice stood some 1,000 tokens above by then.

use serde_json::Value;

/// The marks around advice in a conversation.
const BEGIN: &str = "<advice>";
const END: &str = "</advice>";

/// Begins a line that says what an open value of a step may be.
const REMARK: &str = "- ";

/// The steps of the newest advice, what it says of their values, and how many of them are done.
#[derive(Clone, Debug, Default)]
pub(super) struct AdviceSteps {
    steps: Vec<String>,
    remarks: Vec<String>,
    done: usize,
}

impl AdviceSteps {
    /// Takes note of a text of the conversation: where it holds advice in numbered steps, these are the steps now.
    pub(super) fn hear(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once(BEGIN) else { return };
        let advice = rest.split_once(END).map_or(rest, |(advice, _)| advice);
        let steps: Vec<String> = advice.lines().filter_map(step).map(str::to_owned).collect();
        if !steps.is_empty() {
            let remarks = advice.lines().filter_map(|line| line.trim().strip_prefix(REMARK));
            *self = Self { steps, remarks: remarks.map(str::to_owned).collect(), done: 0 };
        }
    }

    /// All steps, in order.
    pub(super) fn all(&self) -> &[String] {
        &self.steps
    }

    /// The number of steps that are done.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Takes the steps before this one for done, or goes back to it.
    pub(super) fn skip_to(&mut self, step: usize) {
        self.done = step;
    }

    /// What the advice says of values.
    pub(super) fn remarks(&self) -> &[String] {
        &self.remarks
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
                          \"Units...\"\n3. click the wanted unit\n4. type_into \"Scale\"\n5. key ctrl+s\n- \"Units\" are metres \
                          or feet.\n</note>\n</advice>";

    #[test]
    fn the_next_step_is_the_one_behind_what_was_done() {
        let mut steps = AdviceSteps::default();
        assert!(steps.all().is_empty(), "no advice");
        steps.hear("Screen now.");
        steps.hear(ADVICE);
        let mut next = |act: serde_json::Value| {
            steps.act(&act);
            steps.all().get(steps.done()).cloned().unwrap_or_default()
        };
        assert_eq!(next(json!({"click": "View (menuitem)"})), "click \"Units...\"");
        assert_eq!(next(json!({"click": "Zoom (menuitem)"})), "click \"Units...\"", "no step tells of it");
        assert_eq!(next(json!({"click": "Units… (menuitem)"})), "click the wanted unit");
        assert_eq!(next(json!({"click": "Metres (radio)"})), "type_into \"Scale\"");
        assert_eq!(next(json!({"type_into": "Scale (textbox)", "text": "2"})), "key ctrl+s");
        assert_eq!(next(json!({"key": "ctrl+s"})), "", "all are done");
        assert_eq!(steps.remarks(), ["\"Units\" are metres or feet."]);
    }

    #[test]
    fn a_step_that_was_left_out_is_not_asked_for_again() {
        let mut steps = AdviceSteps::default();
        steps.hear(ADVICE);
        steps.act(&json!({"click": "Units (menuitem)"}));
        assert_eq!(steps.done(), 2);
        steps.hear("<advice>\nOther words, without steps.\n</advice>");
        assert_eq!(steps.all().len(), 5, "prose replaces no steps");
    }
}
