//! The action format of models of few parameters: one JSON object of one act, which names an element as the list names it.
//!
//! A model of 0.5 to 3 billion parameters copies labels and can give neither points nor references. So what it is shown has
//! no references, the schema of a turn holds the labels of the newest list and nothing else, and an act that was done on the
//! same screen before is not among its choices: such a model would do it again.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Action, Button, CallBody, ChatRequest, Chord, Content, FieldValue, Finish, ImagePoint, Message,
    NamedSchema, NodeRef, Prompt, Target, is_item_role, takes_text_role,
};
use serde_json::{Value, json};

use super::act_form::{MAX_TEXT_CHARS, form};
use super::following::Following;
use super::listed::{Listed, has_state, split_reference};
use super::references::texts;
use crate::action_format::{FINISH, chord};
use crate::http::{Json, object};

const NAMED: Prompt = Prompt::new("student/named", include_str!("prompts/named.md"), &[]);
/// Turns of a program that does not exist, before the first real one: Qwen2.5-Coder 1.5B chose 10 of 10 acts rightly with
/// such turns and 7 of the same 10 without. They never change, so a server reads them once.
const EXAMPLES: Prompt =
    Prompt::new("student/named_examples", include_str!("prompts/named_examples.md"), &[]);
pub(super) const PROMPTS: [Prompt; 2] = [NAMED, EXAMPLES];

/// Begins the lines that a model writes, in the examples.
const REPLY_MARK: &str = "> ";
/// Notches of the wheel that one act turns.
const NOTCHES: i32 = 5;
/// Keys that can be chosen in any program; those that the task or the advice names come on top.
const KEYS: [&str; 12] = [
    "Enter",
    "Escape",
    "Tab",
    "Delete",
    "ctrl+a",
    "ctrl+s",
    "ctrl+c",
    "ctrl+v",
    "ctrl+z",
    "ctrl+f",
    "ctrl+Home",
    "ctrl+End",
];
/// Begins a chord in a sentence. `C++` and `a+b` are none.
const MODIFIERS: [&str; 4] = ["ctrl+", "alt+", "shift+", "super+"];

/// Returns the instructions below the system prompt.
pub(super) fn instructions() -> String {
    NAMED.text().trim_end().to_owned()
}

/// Returns the messages of the example turns.
pub(super) fn examples() -> Vec<Json> {
    let mut messages = Vec::new();
    let mut told = String::new();
    for line in EXAMPLES.text().lines() {
        let Some(reply) = line.strip_prefix(REPLY_MARK) else {
            told.push_str(line);
            told.push('\n');
            continue;
        };
        messages.push(object([("role", "user".into()), ("content", told.trim().into())]));
        messages.push(object([("role", "assistant".into()), ("content", reply.trim().into())]));
        told.clear();
    }
    messages
}

/// Returns messages as the model gets them: without the references of their lists, and with the next step of the advice below
/// each list. What stands below a list follows from what stands above it, so that each prompt begins with the one before.
pub(super) fn as_shown(messages: &[Message]) -> Vec<Message> {
    let mut messages = messages.to_vec();
    let mut following = Following::default();
    for message in &mut messages {
        if let Message::Assistant { say, .. } = message {
            say.first().and_then(|text| object_in(text)).iter().for_each(|act| following.act(act));
        }
        let mut last = None;
        for content in contents_mut(message) {
            if let Content::Text { text } = content {
                following.hear(text);
                let lines = text.lines().map(|line| split_reference(line).map_or(line, |(_, rest)| rest));
                *text = lines.collect::<Vec<_>>().join("\n");
                last = Some(text);
            }
        }
        if let Some((last, next)) = last.zip(following.told()) {
            last.push('\n');
            last.push_str(&next);
        }
    }
    messages
}

fn contents_mut(message: &mut Message) -> Box<dyn Iterator<Item = &mut Content> + '_> {
    match message {
        Message::User { content } => Box::new(content.iter_mut()),
        Message::Assistant { .. } => Box::new(std::iter::empty()),
        Message::Results { results, notices } => {
            Box::new(results.iter_mut().flat_map(|result| &mut result.content).chain(notices))
        }
    }
}

/// What the newest list holds, and what was done on the same screen before.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    elements: Vec<Listed>,
    /// The acts that were done on this screen, each as often as it was.
    done: Vec<String>,
    following: Following,
    acted: bool,
    /// Whether a listed element has the focus and takes text.
    takes_text: bool,
    browser: bool,
    keys: Vec<String>,
}

impl Screen {
    /// Reads the conversation of a request.
    pub(super) fn of(request: &ChatRequest) -> Self {
        let mut now: Option<Vec<&str>> = None;
        let mut acts: Vec<(String, String)> = Vec::new();
        let mut keys: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
        let mut following = Following::default();
        for message in &request.messages {
            match message {
                Message::Assistant { say, .. } => {
                    say.first().and_then(|text| object_in(text)).iter().for_each(|act| following.act(act));
                    if let (Some(lines), Some(act)) = (&now, say.first().and_then(|text| object_in(text))) {
                        acts.push((fingerprint(lines), signature(&act)));
                    }
                }
                Message::User { .. } | Message::Results { .. } => {
                    for text in texts(message) {
                        following.hear(text);
                        let lines: Vec<&str> =
                            text.lines().filter(|line| split_reference(line).is_some()).collect();
                        if lines.is_empty() {
                            keys.extend(chords_in(text));
                        } else {
                            now = Some(lines);
                        }
                    }
                }
            }
        }
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(key.to_lowercase()));
        let lines = now.unwrap_or_default();
        let here = fingerprint(&lines);
        Self {
            elements: lines.iter().filter_map(|line| Listed::read(line)).collect(),
            following,
            acted: !acts.is_empty(),
            takes_text: lines.iter().any(|line| has_cursor(line)),
            done: acts.into_iter().filter(|(screen, _)| *screen == here).map(|(_, act)| act).collect(),
            browser: request.world.is_some_and(|world| world.browser),
            keys,
        }
    }

    /// The labels of elements that an act is for and on which it was not done yet.
    fn labels(&self, act: &str, is_for: impl Fn(&Listed) -> bool) -> Vec<&str> {
        self.elements
            .iter()
            .filter(|element| is_for(element))
            .filter(|element| !self.done.contains(&signature(&json!({ act: element.label }))))
            .map(|element| element.label.as_str())
            .collect()
    }

    /// Whether an element is a list box whose options can be set by their names: in pages alone.
    fn has_options(&self, element: &Listed) -> bool {
        self.browser && element.options.is_some()
    }

    /// The schema of a list box's options that were not chosen on this screen yet; `None` if all were. The present one is no choice:
    /// Qwen2.5-Coder 1.5B took it, and thought the step done.
    fn choices_of(&self, element: &Listed) -> Option<Value> {
        let options = element.options.as_deref().unwrap_or_default();
        if options.is_empty() {
            return Some(json!({ "type": "string", "maxLength": MAX_TEXT_CHARS }));
        }
        let act = |option: &String| json!({ "select": element.label, "option": option });
        let left = options.iter().filter(|option| element.value.as_ref() != Some(option));
        let left: Vec<&String> =
            left.filter(|option| !self.done.contains(&signature(&act(option)))).collect();
        (!left.is_empty()).then(|| json!({ "type": "string", "enum": left }))
    }

    /// Returns the schema of a turn.
    pub(super) fn schema(&self, request: &ChatRequest) -> NamedSchema {
        let times = |act: &Value| {
            let sought = signature(act);
            self.done.iter().filter(|done| **done == sought).count()
        };
        let named = |forms: Vec<Value>| NamedSchema { name: "act".into(), schema: json!({ "anyOf": forms }) };
        self.following.forms(self.browser, times).map_or_else(|| named(self.all_forms(request)), named)
    }

    /// The forms of all acts that can be done on this screen.
    fn all_forms(&self, request: &ChatRequest) -> Vec<Value> {
        let mut forms = Vec::new();
        let mut choice = |act: &str, of: Vec<&str>| {
            if !of.is_empty() {
                forms.push(form(&[(act, json!({ "type": "string", "enum": of }))]));
            }
        };
        // What a double click opens, and what a right click has a menu for.
        let is_item = |element: &Listed| is_item_role(&element.role);
        let can_click = |element: &Listed| !element.is_chosen && !self.has_options(element);
        choice("click", self.labels("click", can_click));
        choice("double_click", self.labels("double_click", is_item));
        choice("right_click", self.labels("right_click", is_item));
        let keys = self.keys.iter().filter(|key| !self.done.contains(&signature(&json!({ "key": key }))));
        choice("key", keys.map(String::as_str).collect());
        choice("scroll", vec!["down", "up"]);
        if self.acted {
            choice("finish", vec!["done"]);
        }
        let text = json!({ "type": "string", "maxLength": MAX_TEXT_CHARS });
        let is_field = |element: &Listed| takes_text_role(&element.role) && !self.has_options(element);
        let fields = self.labels("type_into", is_field);
        if !fields.is_empty() {
            forms.push(form(&[
                ("type_into", json!({ "type": "string", "enum": fields })),
                ("text", text.clone()),
            ]));
        }
        forms.extend(self.elements.iter().filter(|element| self.has_options(element)).filter_map(
            |element| {
                let option = self.choices_of(element)?;
                Some(form(&[
                    ("select", json!({ "type": "string", "enum": [element.label] })),
                    ("option", option),
                ]))
            },
        ));
        let typed = self.takes_text.then_some("type");
        for act in typed.into_iter().chain(["answer", "give_up"]) {
            forms.push(form(&[(act, text.clone())]));
        }
        let lent = request.tools.iter().filter(|tool| tool.name != FINISH);
        forms.extend(lent.map(|tool| form(&[(tool.name.as_str(), tool.schema.clone())])));
        forms
    }

    /// Reads the act in a reply; nothing where it holds none.
    pub(super) fn read(&self, text: &str, request: &ChatRequest) -> Option<CallBody> {
        let act = object_in(text)?;
        let fields = act.as_object()?;
        let word = |name: &str| fields.get(name).and_then(Value::as_str);
        if let Some(tool) =
            request.tools.iter().find(|tool| fields.get(&tool.name).is_some_and(Value::is_object))
        {
            return Some(CallBody::Tool { name: tool.name.clone(), arguments: fields[&tool.name].clone() });
        }
        let pressed = [
            ("click", Button::Left, 1),
            ("double_click", Button::Left, 2),
            ("right_click", Button::Right, 1),
        ];
        for (act, button, count) in pressed {
            if let Some(label) = word(act) {
                return Some(self.on(label, |at, _| vec![Action::Click { at, button, count, hold: None }]));
            }
        }
        if let Some(label) = word("type_into") {
            let Some(text) = word("text") else { return Some(unusable("\"type_into\" needs \"text\"")) };
            return Some(self.on(label, |at, role| self.write(at, role, text)));
        }
        if let Some(label) = word("select") {
            let Some(option) = word("option") else { return Some(unusable("\"select\" needs \"option\"")) };
            let value = FieldValue::Text(option.to_owned());
            return Some(self.on(label, |at, _| vec![Action::Fill { at, value }]));
        }
        let world = |action| CallBody::World { actions: vec![action] };
        Some(match fields.iter().next().map(|(name, value)| (name.as_str(), value.as_str())) {
            Some(("key", Some(keys))) => match chord(keys) {
                Ok(chord) => world(Action::Key { chord, hold_ms: None }),
                Err(problem) => unusable(&problem),
            },
            Some(("scroll", Some("down"))) => world(Action::Scroll { at: None, dx: 0, dy: NOTCHES }),
            Some(("scroll", Some("up"))) => world(Action::Scroll { at: None, dx: 0, dy: -NOTCHES }),
            Some(("type", Some(text))) => world(Action::Type { text: text.to_owned() }),
            Some(("finish", Some("done"))) => CallBody::Finish(Finish::Done),
            Some(("answer", Some(text))) => CallBody::Finish(Finish::Answer { text: text.to_owned() }),
            Some(("give_up", Some(text))) => CallBody::Finish(Finish::GiveUp { reason: text.to_owned() }),
            Some((name, _)) => unusable(&format!("there is no act {name:?} of this form")),
            None => unusable("the object is empty"),
        })
    }

    fn on(
        &self,
        label: &str,
        act: impl FnOnce(Target<ImagePoint>, &str) -> Vec<Action<ImagePoint>>,
    ) -> CallBody {
        let Some(found) = self.elements.iter().find(|element| element.label == label) else {
            return unusable(&format!("the list has no element {label:?}; name one as it is listed"));
        };
        CallBody::World { actions: act(Target::Ref(NodeRef(found.reference.clone())), &found.role) }
    }

    /// Writes into an element what a person would see there then.
    fn write(&self, at: Target<ImagePoint>, role: &str, text: &str) -> Vec<Action<ImagePoint>> {
        if self.browser {
            return vec![Action::Fill { at, value: FieldValue::Text(text.to_owned()) }];
        }
        let click = Action::Click { at, button: Button::Left, count: 1, hold: None };
        let typed = |text: String| Action::Type { text };
        match role {
            "terminal" => vec![click, typed(text.to_owned())],
            _ => {
                let all = Chord::parse("ctrl+a").map(|chord| Action::Key { chord, hold_ms: None });
                std::iter::once(click).chain(all).chain([typed(text.to_owned())]).collect()
            }
        }
    }
}

/// Whether a line is of an element that has the focus and takes text.
fn has_cursor(line: &str) -> bool {
    let focused = has_state(line, "focused");
    let has_cursor =
        |role: &str| takes_text_role(role) || matches!(role, "cell" | "gridcell" | "paragraph" | "document");
    focused && Listed::read(line).is_some_and(|element| has_cursor(&element.role))
}

fn unusable(problem: &str) -> CallBody {
    CallBody::Unusable { problem: problem.to_owned() }
}

/// What tells one act from another on a screen: the verb and the element, without the text.
fn signature(act: &Value) -> String {
    let mut fields = act.clone();
    if let Some(fields) = fields.as_object_mut().filter(|fields| fields.len() > 1) {
        fields.remove("text");
    }
    fields.to_string()
}

/// What is listed, without references and the focus.
fn fingerprint(lines: &[&str]) -> String {
    let said = lines.iter().map(|line| split_reference(line).map_or(*line, |(_, rest)| rest));
    said.map(|line| line.replace("focused, ", "").replace(" [focused]", "")).collect::<Vec<_>>().join("\n")
}

/// The keys that a text names: words that are a chord with a key that is held.
fn chords_in(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| c.is_whitespace() || "`\"'(),;:.".contains(c));
    let held = |word: &&str| MODIFIERS.iter().any(|key| word.to_lowercase().starts_with(key));
    let keys = words.filter(move |word| held(word) && Chord::parse(word).is_ok());
    keys.map(str::to_owned)
}

/// The first JSON object in a text.
fn object_in(text: &str) -> Option<Value> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str::<Value>(text.get(start..=end)?).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests;
