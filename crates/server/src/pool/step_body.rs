//! The body of a step, and what is said where it is one of another protocol.

use apprentice_protocol::{Action, Finish, ScreenPoint};
use apprentice_tasks::check::AttemptEnding;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::refusal::{Refusal, object};
use crate::step::{MOST_ACTIONS, read_actions};

/// A step: actions, in pixels of the screen or by references of the last outline, and the end of the episode. At least one of the
/// four is given, and of the last three at most one; the episode ends after the actions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SessionStep {
    /// The actions, in order. The first that is refused ends the step, and its report says why.
    #[serde(deserialize_with = "exact_actions")]
    pub(crate) actions: Option<Vec<Action<ScreenPoint>>>,
    /// The answer to the task. Ends the episode.
    pub(crate) answer: Option<String>,
    /// The task cannot be done. Ends the episode.
    pub(crate) gave_up: Option<bool>,
    /// The task is done. Ends the episode.
    pub(crate) done: Option<bool>,
}

fn exact_actions<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Vec<Action<ScreenPoint>>>, D::Error> {
    let given = Option::<Vec<Value>>::deserialize(source)?;
    given.map(read_actions).transpose().map_err(D::Error::custom)
}

impl SessionStep {
    /// Reads a step.
    pub(crate) fn read(given: &Value) -> Result<Self, Refusal> {
        let step: Self = object(given)
            .map_err(|error| Refusal::malformed(format!("the step: {error}{}", foreign(given))))?;
        let actions = step.actions.as_deref().unwrap_or_default().len();
        if actions > MOST_ACTIONS {
            return Err(Refusal::malformed(format!(
                "a step has at most {MOST_ACTIONS} actions, and this has {actions}"
            )));
        }
        let ends = [step.answer.is_some(), step.gave_up == Some(true), step.done == Some(true)];
        match ends.into_iter().filter(|ends| *ends).count() {
            0 if step.actions.is_none() => {
                Err(Refusal::malformed("the step is empty: give `actions`, `answer`, `gave_up` or `done`"))
            }
            0 | 1 => Ok(step),
            _ => Err(Refusal::malformed("a step has one of `answer`, `gave_up` and `done`, not several")),
        }
    }

    pub(crate) fn actions(&self) -> &[Action<ScreenPoint>] {
        self.actions.as_deref().unwrap_or_default()
    }

    /// How the step ends the episode, as the task's checks and a trace take it. `None` if it goes on.
    pub(crate) fn ending(&self) -> Option<(AttemptEnding, Finish)> {
        match (&self.answer, self.gave_up, self.done) {
            (Some(text), ..) => {
                Some((AttemptEnding::Answered(text.clone()), Finish::Answer { text: text.clone() }))
            }
            (None, Some(true), _) => Some((AttemptEnding::GaveUp, Finish::GiveUp { reason: String::new() })),
            (None, _, Some(true)) => Some((AttemptEnding::Ended, Finish::Done)),
            (None, ..) => None,
        }
    }
}

/// What a step of another protocol is told.
fn foreign(given: &Value) -> &'static str {
    const OURS: &str = "; an action here is an object as {\"do\": \"click\", \"at\": {\"ref\": \"n7\"}}, in a list `actions`";
    match given {
        Value::String(text) if text.contains("pyautogui") => {
            "; this is code as OSWorld's agents write it, which the server of a single world takes (`apprentice serve --task`)"
        }
        Value::String(text) if text.trim_end().ends_with(')') => {
            "; this is a call as BrowserGym's agents write it, which the Python package `apprentice_env` translates"
        }
        Value::Object(fields) if fields.contains_key("action") => match &fields["action"] {
            Value::String(_) => OURS,
            _ => "; this is a step as OpenEnv's HTTP API has it: here its `action` is the body itself",
        },
        _ => OURS,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SessionStep;

    #[test]
    fn steps_of_other_protocols_and_of_none_are_refused_with_words() {
        for (given, told) in [
            (json!({}), "is empty"),
            (json!({ "done": false }), "is empty"),
            (json!({ "done": true, "answer": "7" }), "not several"),
            (json!({ "done": true, "surplus": 1 }), "surplus"),
            (json!({ "actions": [{ "do": "fly" }] }), "action 0"),
            (json!({ "actions": [{ "do": "wait", "ms": 1, "s": 2 }] }), "takes no \"s\""),
            (json!({ "actions": "click" }), "a list `actions`"),
            (json!("pyautogui.click(1, 2)"), "OSWorld"),
            (json!("click('12')"), "BrowserGym"),
            (json!({ "action": { "do": "click" } }), "OpenEnv"),
            (json!([1]), "a list `actions`"),
            (json!([[{ "do": "screenshot" }]]), "expected an object"),
            (json!({ "actions": vec![json!({ "do": "wait", "ms": 1 }); 101] }), "at most 100"),
        ] {
            let refused = SessionStep::read(&given).expect_err("refused");
            assert!(refused.message.contains(told), "{given}: {}", refused.message);
        }
        for given in
            [json!({ "actions": [] }), json!({ "gave_up": true }), json!({ "answer": "", "actions": null })]
        {
            SessionStep::read(&given).expect("a step");
        }
    }
}
