//! Turns the recorded actions of an attempt into the steps of a solution.

use std::collections::BTreeMap;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, BlobHash, Button, Event, EventKind, Finish, NodeRef, Outline,
    OutlineNode, Target,
};
use serde_json::{Map, Value, json};

/// Texts shorter than this stand for themselves: they occur by chance.
const PLACEHOLDER_CHARS: usize = 3;

/// The steps of a solution, and the actions that have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptSteps {
    /// The steps, in the script format.
    pub steps: Vec<Value>,
    /// Actions that no step expresses, each with the reason.
    pub unnamed: Vec<String>,
}

/// Turns an attempt's events into steps. Only delivered actions count; looking and waiting are left out. `text_of` reads
/// the text of a blob.
pub fn kept_steps(events: &[Event], text_of: &dyn Fn(&BlobHash) -> Option<String>) -> KeptSteps {
    let mut kept = KeptSteps::default();
    let mut nodes = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::Observed { outline: Some(outline), .. } => {
                nodes = text_of(outline).map(|text| Outline::parse(&text).nodes).unwrap_or_default();
            }
            EventKind::Action(record) if matches!(record.outcome, ActionOutcome::Done { .. }) => {
                match step(record, &nodes) {
                    Ok(Some(step)) => kept.steps.push(step),
                    Ok(None) => {}
                    Err(why) => kept.unnamed.push(why),
                }
            }
            EventKind::Finished(Finish::Answer { text }) => {
                kept.steps.push(json!({ "answer": text }));
            }
            _ => {}
        }
    }
    kept
}

/// Replaces the drawn values of an attempt's variation by their placeholders, longer values first.
pub fn with_placeholders(steps: &[Value], drawn: &BTreeMap<String, Value>) -> Vec<Value> {
    let mut values = Vec::new();
    for (name, value) in drawn {
        named(name, value, &mut values);
    }
    values.retain(|(text, _)| text.chars().count() >= PLACEHOLDER_CHARS);
    values.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    steps.iter().map(|step| replaced(step, &values)).collect()
}

fn named(name: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((text.clone(), format!("{{{{{name}}}}}"))),
        Value::Array(list) => {
            for (at, one) in list.iter().enumerate() {
                named(&format!("{name}.{at}"), one, found);
            }
        }
        Value::Object(map) => {
            for (field, one) in map {
                named(&format!("{name}.{field}"), one, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replaced(value: &Value, values: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => {
            let fill = |text: String, (from, to): &(String, String)| text.replace(from.as_str(), to);
            Value::String(values.iter().fold(text.clone(), fill))
        }
        Value::Object(map) => {
            let fields = map.iter().map(|(name, one)| (name.clone(), replaced(one, values)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn step(record: &ActionRecord, nodes: &[OutlineNode]) -> Result<Option<Value>, String> {
    let target = |at: Option<&NodeRef>| selector(record, at, nodes);
    Ok(Some(match &record.asked {
        Action::Click { at, button, count, hold } => {
            let mut target = target(node(at))?;
            if let (Some(hold), Some(fields)) = (hold, target.as_object_mut()) {
                fields.insert("hold".into(), json!(hold));
            }
            let verb = match (button, count) {
                (Button::Left, 1) => "click",
                (Button::Left, 2) => "double_click",
                (Button::Right, 1) => "right_click",
                _ => return Err(format!("a click with {button:?}, {count} times, has no step")),
            };
            json!({ verb: target })
        }
        Action::Move { to } => json!({ "hover": target(node(to))? }),
        Action::Select { at, option } => json!({ "select": target(node(at))?, "option": option }),
        Action::Key { chord, .. } => json!({ "key": chord }),
        Action::Type { text } => json!({ "type": text }),
        Action::Scroll { dy, dx: 0, .. } => json!({ "scroll": dy }),
        Action::Wait { .. } | Action::Screenshot | Action::Zoom { .. } | Action::Read { .. } => {
            return Ok(None);
        }
        other => {
            let told = serde_json::to_value(other).ok();
            let name = told.as_ref().and_then(|told| told.get("do")).and_then(Value::as_str);
            return Err(format!("{:?} has no step", name.unwrap_or("the action")));
        }
    }))
}

fn node<P>(at: &Target<P>) -> Option<&NodeRef> {
    match at {
        Target::Ref(id) => Some(id),
        Target::Point(_) => None,
    }
}

/// The element that was acted on, by role and name; `nth` where several have both.
fn selector(record: &ActionRecord, at: Option<&NodeRef>, nodes: &[OutlineNode]) -> Result<Value, String> {
    let seen = at.and_then(|id| nodes.iter().find(|node| node.id == *id));
    let role = seen.map(|node| node.role.clone()).or_else(|| record.target_role.clone());
    let name = seen.map(|node| node.name.clone()).or_else(|| record.target_name.clone());
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        let role = role.unwrap_or_else(|| "a point".into());
        return Err(format!("action {} of call {}: {role} has no name", record.index + 1, record.call));
    };
    let mut target = json!({ "name": name });
    if let (Some(role), Some(fields)) = (&role, target.as_object_mut()) {
        fields.insert("role".into(), json!(role));
        let alike = |node: &&OutlineNode| node.role == *role && node.name == name;
        let before = nodes.iter().take_while(|node| at.is_none_or(|id| node.id != *id)).filter(alike).count();
        if seen.is_some() && before > 0 {
            fields.insert("nth".into(), json!(before));
        }
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use apprentice_protocol::Outline;
    use serde_json::{Value, json};

    use super::{step, with_placeholders};

    fn kept(asked: &Value, role: &str, outline: &str) -> Result<Option<Value>, String> {
        let record = json!({ "call": "c1", "index": 0, "asked": asked, "target_role": role,
            "outcome": { "outcome": "done" } });
        let record = serde_json::from_value(record).expect("a record");
        step(&record, &Outline::parse(outline).nodes)
    }

    #[test]
    fn actions_become_steps_by_role_name_and_number() {
        let outline = "button \"Go\" #n1\nbutton \"Go\" #n2\nimage #n3";
        let click = |id: &str| json!({ "do": "click", "at": { "ref": id } });
        let named = |id: &str| kept(&click(id), "button", outline);
        assert_eq!(named("n1"), Ok(Some(json!({ "click": { "role": "button", "name": "Go" } }))));
        assert_eq!(named("n2"), Ok(Some(json!({ "click": { "role": "button", "name": "Go", "nth": 1 } }))));
        assert_eq!(named("n3").expect_err("no name"), "action 1 of call c1: image has no name");
        assert_eq!(
            kept(&json!({ "do": "key", "chord": "ctrl+s" }), "", ""),
            Ok(Some(json!({ "key": "ctrl+s" })))
        );
        assert_eq!(kept(&json!({ "do": "wait", "ms": 5 }), "", ""), Ok(None));
    }

    #[test]
    fn drawn_values_become_placeholders_and_the_longer_ones_come_first() {
        let drawn = BTreeMap::from([
            ("name".to_owned(), json!("plan")),
            ("file".to_owned(), json!(["plan.txt", "ab", "abc"])),
        ]);
        let steps =
            [json!({ "type": "plan.txt plan ab abc" }), json!({ "click": { "name": "plan", "nth": 1 } })];
        assert_eq!(
            with_placeholders(&steps, &drawn),
            [
                json!({ "type": "{{file.0}} {{name}} ab {{file.2}}" }),
                json!({ "click": { "name": "{{name}}", "nth": 1 } })
            ]
        );
    }
}
