//! Drives a function over recorded observations: what the agent loop does in a world, without one.

use std::sync::Arc;

use apprentice_functions::Source;
use apprentice_protocol::{
    Action, FunctionAnswer, FunctionEnd, FunctionRequest, ImagePoint, Observation, State, UiNode, UiTree,
};
use serde_json::Value;

/// An observation of elements `(depth, role, name)`, with a value or the state `disabled` behind a `|`.
pub(crate) fn seen(elements: &[(usize, &str, &str)]) -> Observation {
    let mut path: Vec<u32> = Vec::new();
    let mut nodes = Vec::new();
    for (place, (depth, role, name)) in (0_u32..).zip(elements) {
        path.truncate(*depth);
        let (name, mark) = name.split_once('|').unwrap_or((name, ""));
        nodes.push(UiNode {
            value: Some(mark.to_owned()).filter(|mark| !mark.is_empty() && mark != "disabled"),
            states: Some(State::Disabled).filter(|_| mark == "disabled").into_iter().collect(),
            ..UiNode::new(format!("n{place}"), path.last().copied(), role, name)
        });
        path.push(place);
    }
    Observation { tree: Some(UiTree { nodes, truncated: None }), ..Observation::default() }
}

/// What came of a call: the actions with their lines, the number of pauses, and the end.
pub(crate) struct Driven {
    pub(crate) acts: Vec<(u32, Action<ImagePoint>)>,
    pub(crate) pauses: u32,
    pub(crate) end: FunctionEnd,
}

impl Driven {
    pub(crate) fn reason(&self) -> String {
        match &self.end {
            FunctionEnd::Stopped(failure) => failure.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

/// Runs a call; `world` says what is seen after so many acts and waits.
pub(crate) async fn drive(
    source: &Source,
    arguments: &Value,
    world: impl Fn(usize, u32) -> Observation,
) -> Driven {
    let mut function = source.start(arguments).expect("the arguments fit");
    let (mut acts, mut pauses) = (Vec::new(), 0);
    let mut answer = FunctionAnswer::Begin;
    loop {
        answer = match function.next(answer).await {
            FunctionRequest::Observe => FunctionAnswer::Seen(Arc::new(world(acts.len(), pauses))),
            FunctionRequest::Act { action, line } => {
                acts.push((line, *action));
                FunctionAnswer::Acted
            }
            FunctionRequest::AwaitChange(time) => {
                pauses += 1;
                FunctionAnswer::Waited(time)
            }
            FunctionRequest::End(end) => return Driven { acts, pauses, end },
        };
    }
}

/// A function of this body, with the comment that it needs.
pub(crate) fn function(parameters: &str, body: &str) -> String {
    let described: String = parameters
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| format!("/// - {name} (text): a text\n"))
        .collect();
    let values: Vec<&str> =
        parameters.split(',').filter(|name| !name.trim().is_empty()).map(|_| "\"x\"").collect();
    let comma = if parameters.is_empty() { "" } else { ", " };
    format!(
        "/// Does something.\n{described}/// Example: do_it({})\nfn do_it(page{comma}{parameters}) {{\n{body}\n}}\n",
        values.join(", ")
    )
}
