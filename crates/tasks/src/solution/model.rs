//! Implements the baselines as chat models. They keep no state between calls: the position in the script is derived
//! from the conversation, so an attempt can be repeated from its requests alone.

use std::collections::BTreeSet;

use apprentice_protocol::{
    Action, ActionOutcome, BoxFuture, Button, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest,
    Content, CoordinateSpace, Finish, HistoryRule, ImageRule, Message, ModelError, ModelProfile, NodeRef,
    Outline, OutlineNode, RawContent, ReplyStop, Target, Timing, ToolRule, Usage, ViewRule,
};

use super::script::{Condition, Script, ScriptAction, ScriptEnd, ScriptError, TargetSelector};
use crate::task::Task;

/// The number of waits for a missing target. Each wait is longer than the one before, so that waiting is not
/// detected as a loop; all of them together take about 22 seconds, as a program on a busy machine may need.
const MAX_WAITS: u32 = 20;
const FIRST_WAIT_MS: u32 = 150;
const WAIT_INCREMENT_MS: u32 = 100;

/// Names of present elements that are told when one is missing.
const NEAREST: usize = 3;

/// A script as a chat model.
#[derive(Clone, Debug)]
pub struct SolutionModel {
    script: Script,
    profile: ModelProfile,
}

/// A model that ends every attempt at its first turn in the same way.
#[derive(Clone, Debug)]
pub struct FixedModel {
    finish: Finish,
    profile: ModelProfile,
}

impl SolutionModel {
    /// Creates the model of a task's known-good actions. The task's placeholders must be replaced.
    ///
    /// # Errors
    ///
    /// Fails if the task has no solution, or with the step that cannot be read.
    pub fn solution(task: &Task) -> Result<Self, ScriptError> {
        let steps = task.apprentice.as_ref().map(|ours| ours.solution.as_slice());
        Ok(Self { script: Script::read(steps.unwrap_or_default())?, profile: profile("baseline/solution") })
    }

    /// Creates the model of a task's near miss. The task's placeholders must be replaced.
    ///
    /// # Errors
    ///
    /// Fails if the task has no near miss, or with the step that cannot be read.
    pub fn near_miss(task: &Task) -> Result<Self, ScriptError> {
        let steps = task.apprentice.as_ref().map(|ours| ours.near_miss.as_slice());
        Ok(Self { script: Script::read(steps.unwrap_or_default())?, profile: profile("baseline/near-miss") })
    }

    fn answer(&self, request: &ChatRequest) -> CallBody {
        let (done, waited) = progress(&request.messages);
        let nodes = last_outline(&request.messages);
        let (conditions, act) = match self.script.acts.get(done) {
            Some((conditions, act)) => (conditions, Some(act)),
            None => (&self.script.last, None),
        };
        let missing = conditions.iter().find_map(|condition| unmet(condition, &nodes));
        let next = match (missing, act) {
            (Some(missing), _) => Err(missing),
            (None, Some(act)) => action(act, &nodes),
            (None, None) => return CallBody::Finish(self.end()),
        };
        match next {
            Ok(action) => CallBody::World { actions: vec![action] },
            Err(_) if waited < MAX_WAITS => CallBody::World {
                actions: vec![Action::Wait { ms: FIRST_WAIT_MS + WAIT_INCREMENT_MS * waited }],
            },
            Err(missing) => {
                let reason =
                    format!("step {} of the script: {missing}{}", done + 1, nearest(&missing, &nodes));
                CallBody::Finish(Finish::GiveUp { reason })
            }
        }
    }

    fn end(&self) -> Finish {
        match &self.script.end {
            ScriptEnd::Done => Finish::Done,
            ScriptEnd::Answer(text) => Finish::Answer { text: text.clone() },
            ScriptEnd::GiveUp(reason) => Finish::GiveUp { reason: reason.clone() },
        }
    }
}

impl FixedModel {
    /// Finishes at once as done: a check that passes then passes without any work.
    pub fn noop() -> Self {
        Self { finish: Finish::Done, profile: profile("baseline/noop") }
    }

    /// Gives up at once.
    pub fn give_up() -> Self {
        Self { finish: Finish::GiveUp { reason: "always".into() }, profile: profile("baseline/give-up") }
    }
}

impl ChatModel for SolutionModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let body = self.answer(request);
        Box::pin(std::future::ready(Ok(reply(request, body))))
    }
}

impl ChatModel for FixedModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(Ok(reply(request, CallBody::Finish(self.finish.clone())))))
    }
}

fn profile(name: &str) -> ModelProfile {
    ModelProfile {
        name: name.to_owned(),
        consumer: "baseline".to_owned(),
        space: CoordinateSpace::ImagePixels,
        images: ImageRule::None,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::AppendOnly { max_request_bytes: 1 << 30, uploads: false, context: None },
        tools: ToolRule::Fixed,
        max_output_tokens: 1024,
    }
}

fn reply(request: &ChatRequest, body: CallBody) -> ChatReply {
    let id = CallId::new(format!("b{}", request.messages.len()));
    ChatReply {
        raw: RawContent::default(),
        say: Vec::new(),
        thoughts: Vec::new(),
        calls: vec![Call { id, body }],
        stop: ReplyStop::Calls,
        usage: Usage::default(),
        timing: Timing::default(),
        cost_usd: Some(0.0),
        estimated: false,
        adapted: Vec::new(),
        provider_model: None,
    }
}

/// Returns the number of completed script actions and the turns spent waiting for the next one.
fn progress(messages: &[Message]) -> (usize, u32) {
    let (mut done, mut waited) = (0, 0);
    let mut asked: &[Call] = &[];
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => asked = calls,
            Message::Results { results, .. } => {
                for call in asked {
                    let CallBody::World { actions } = &call.body else { continue };
                    let result = results.iter().find(|result| result.id == call.id);
                    let arrived = result.is_some_and(|result| {
                        matches!(result.per_action.first(), Some(ActionOutcome::Done { .. }))
                    });
                    if arrived && !matches!(actions.first(), Some(Action::Wait { .. })) {
                        (done, waited) = (done + 1, 0);
                    } else {
                        waited += 1;
                    }
                }
            }
            Message::User { .. } => {}
        }
    }
    (done, waited)
}

/// The line above the element list of an observation. An empty list below it means an empty screen.
const ELEMENTS: &str = "Elements:";

/// Returns the elements of the last outline in the conversation.
fn last_outline(messages: &[Message]) -> Vec<OutlineNode> {
    let outline = |text: &str| {
        let nodes = Outline::parse(text).nodes;
        (!nodes.is_empty() || text.lines().any(|line| line == ELEMENTS)).then_some(nodes)
    };
    let last = |content: &[Content]| content.iter().rev().filter_map(Content::as_text).find_map(outline);
    let found = messages.iter().rev().find_map(|message| match message {
        Message::User { content } => last(content),
        Message::Results { results, .. } => results.iter().rev().find_map(|result| last(&result.content)),
        Message::Assistant { .. } => None,
    });
    found.unwrap_or_default()
}

/// The elements that are there and whose names resemble the quoted name of a missing one, as the end of a message. Each
/// has its role, as the same name with another role is the commonest mistake.
fn nearest(missing: &str, nodes: &[OutlineNode]) -> String {
    let Some(wanted) = missing.split('"').nth(1) else { return String::new() };
    let distance =
        |name: &str| strsim::normalized_damerau_levenshtein(&wanted.to_lowercase(), &name.to_lowercase());
    let named: BTreeSet<(&str, &str)> = nodes
        .iter()
        .filter(|node| !node.name.is_empty())
        .map(|node| (node.name.as_str(), node.role.as_str()))
        .collect();
    let mut named: Vec<(f64, &str, &str)> =
        named.into_iter().map(|(name, role)| (distance(name), name, role)).collect();
    named.sort_by(|one, other| other.0.total_cmp(&one.0));
    let named: Vec<String> =
        named.iter().take(NEAREST).map(|(_, name, role)| format!("{role} {name:?}")).collect();
    if named.is_empty() { String::new() } else { format!("; nearest on the screen: {}", named.join(", ")) }
}

fn unmet(condition: &Condition, nodes: &[OutlineNode]) -> Option<String> {
    match condition {
        Condition::Present(target) => {
            target.find(nodes).is_none().then(|| format!("{} did not appear", target.words()))
        }
        Condition::Gone(target) => {
            target.find(nodes).is_some().then(|| format!("{} did not go away", target.words()))
        }
    }
}

fn action(
    act: &ScriptAction,
    nodes: &[OutlineNode],
) -> Result<Action<apprentice_protocol::ImagePoint>, String> {
    let at = |target: &TargetSelector| -> Result<Target<_>, String> {
        let found: Option<&NodeRef> = target.find(nodes).map(|node| &node.id);
        found.map(|id| Target::Ref(id.clone())).ok_or_else(|| format!("{} is not there", target.words()))
    };
    let click = |target: &TargetSelector, button, count| {
        Ok(Action::Click { at: at(target)?, button, count, hold: target.hold.clone() })
    };
    match act {
        ScriptAction::Click(target) => click(target, Button::Left, 1),
        ScriptAction::DoubleClick(target) => click(target, Button::Left, 2),
        ScriptAction::RightClick(target) => click(target, Button::Right, 1),
        ScriptAction::Hover(target) => Ok(Action::Move { to: at(target)? }),
        ScriptAction::Select(target, option) => {
            Ok(Action::Select { at: at(target)?, option: option.clone() })
        }
        ScriptAction::Drag(from, to) => {
            let place = |target: &TargetSelector| {
                let node = target.find(nodes).ok_or_else(|| format!("{} is not there", target.words()))?;
                node.at.ok_or_else(|| format!("{} has no place on the screen", target.words()))
            };
            Ok(Action::Drag { path: vec![place(from)?, place(to)?], button: Button::Left })
        }
        ScriptAction::Key(chord) => Ok(Action::Key { chord: chord.clone(), hold_ms: None }),
        ScriptAction::Type(text) => Ok(Action::Type { text: text.clone() }),
        ScriptAction::Scroll(notches) => Ok(Action::Scroll { at: None, dx: 0, dy: *notches }),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{
        Action, ActionOutcome, CallBody, CallResult, ChatModel, ChatRequest, Content, Finish, Message,
        RawContent,
    };
    use serde_json::json;

    use super::SolutionModel;
    use crate::solution::script::Script;

    fn model(steps: serde_json::Value) -> SolutionModel {
        let steps: Vec<serde_json::Value> = serde_json::from_value(steps).expect("a list");
        SolutionModel { script: Script::read(&steps).expect("reads"), profile: super::profile("x") }
    }

    fn ask(model: &SolutionModel, messages: &[Message]) -> apprentice_protocol::Call {
        let request = ChatRequest { messages: messages.to_vec(), ..ChatRequest::default() };
        let reply =
            futures_util::FutureExt::now_or_never(model.reply(&request)).expect("ready").expect("replies");
        reply.calls[0].clone()
    }

    /// Appends a turn: the call, with this outcome and outline as its result.
    fn answer(
        messages: &mut Vec<Message>,
        call: apprentice_protocol::Call,
        outcome: ActionOutcome,
        outline: &str,
    ) {
        let result = CallResult {
            id: call.id.clone(),
            per_action: vec![outcome],
            content: vec![Content::text(outline)],
            is_error: false,
        };
        messages.push(Message::Assistant { raw: RawContent::default(), say: Vec::new(), calls: vec![call] });
        messages.push(Message::Results { results: vec![result], notices: Vec::new() });
    }

    #[test]
    fn a_screen_with_nothing_on_it_is_a_screen() {
        let model = model(json!([{"wait_gone": {"name": "Go"}}, {"key": "enter"}]));
        let mut messages = vec![Message::User { content: vec![Content::text("do it\nbutton \"Go\" #n1")] }];
        let waits = |call: &apprentice_protocol::Call| matches!(&call.body, CallBody::World { actions } if matches!(actions[..], [Action::Wait { .. }]));
        let call = ask(&model, &messages);
        assert!(waits(&call), "it is still there");
        answer(&mut messages, call, ActionOutcome::Done { text: None }, "Screen now.\nElements:");
        assert!(!waits(&ask(&model, &messages)), "it has gone, and everything with it");
    }

    #[test]
    fn a_script_waits_for_its_target_retries_what_was_refused_and_ends() {
        let model = model(json!([{"click": {"name": "Go"}}, {"type": "x"}]));
        let mut messages = vec![Message::User { content: vec![Content::text("do it")] }];
        let call = ask(&model, &messages);
        assert!(
            matches!(&call.body, CallBody::World { actions } if matches!(actions[..], [Action::Wait { .. }]))
        );
        answer(&mut messages, call, ActionOutcome::Done { text: None }, "button \"Go\" #n1");
        let call = ask(&model, &messages);
        assert!(
            matches!(&call.body, CallBody::World { actions } if matches!(actions[..], [Action::Click { .. }]))
        );
        answer(&mut messages, call, ActionOutcome::Failed { problem: "dead".into() }, "button \"Go\" #n2");
        let call = ask(&model, &messages);
        assert!(
            matches!(&call.body, CallBody::World { actions } if actions[0].node().is_some_and(|id| id.0 == "n2"))
        );
        answer(&mut messages, call, ActionOutcome::Done { text: None }, "");
        let call = ask(&model, &messages);
        assert!(
            matches!(&call.body, CallBody::World { actions } if matches!(actions[..], [Action::Type { .. }]))
        );
        answer(&mut messages, call, ActionOutcome::Done { text: None }, "");
        assert_eq!(ask(&model, &messages).body, CallBody::Finish(Finish::Done));
    }

    #[test]
    fn a_drag_goes_from_one_element_to_another_and_waits_until_both_are_seen() {
        let model = model(json!([{"drag": {"name": "Region"}, "to": {"name": "Rows"}}]));
        let begun =
            |outline: &str| ask(&model, &[Message::User { content: vec![Content::text(outline)] }]).body;
        let waits = |body: &CallBody| matches!(body, CallBody::World { actions } if matches!(actions[..], [Action::Wait { .. }]));
        assert!(waits(&begun("listitem \"Region\" @10,20 #n1")));
        assert!(waits(&begun("listitem \"Region\" @10,20 #n1\nlist \"Rows\" #n2")), "it has no place");
        let CallBody::World { actions } = begun("listitem \"Region\" @10,20 #n1\nlist \"Rows\" @300,40 #n2")
        else {
            panic!("ends")
        };
        let [Action::Drag { path, .. }] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!(
            path.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(),
            [(10.0, 20.0), (300.0, 40.0)]
        );
    }

    #[test]
    fn a_target_that_never_comes_ends_in_giving_up() {
        let model = model(json!([{"click": {"name": "Go"}}]));
        let mut messages = vec![Message::User { content: vec![Content::text("do it")] }];
        for _ in 0..super::MAX_WAITS {
            let call = ask(&model, &messages);
            answer(&mut messages, call, ActionOutcome::Done { text: None }, "");
        }
        let CallBody::Finish(Finish::GiveUp { reason }) = ask(&model, &messages).body else {
            panic!("goes on")
        };
        assert_eq!(reason, "step 1 of the script: element \"Go\" is not there");
        let call = ask(&model, &messages);
        let screen = "button \"Undo\" #n1\nbutton \"Goo\" #n2\nbutton \"Help\" #n3\nbutton \"Zoom\" #n4";
        answer(&mut messages, call, ActionOutcome::Done { text: None }, screen);
        let model = SolutionModel {
            script: Script::read(&[json!({"click": {"name": "Gone"}})]).expect("reads"),
            ..model
        };
        let CallBody::Finish(Finish::GiveUp { reason }) = ask(&model, &messages).body else {
            panic!("goes on")
        };
        assert!(reason.contains("; nearest on the screen: button \"Goo\", "), "{reason}");
    }
}
