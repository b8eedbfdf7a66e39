//! Chooses a function that the attempt offers: by the words of its description, with the values of the instruction as its
//! arguments, in order. A function is called once, before anything else is tried.

use apprentice_protocol::Finish;
use serde_json::{Map, Value, json};

use super::goal::Goal;
use super::policy::Move;
use super::transcript::{Transcript, Turn};
use super::words::Fit;

const CALL: &str = "skill_call";
/// How the name of a function's own tool begins.
const OWN: &str = "run_";
/// Words that a description must share with the instruction.
const LEAST: f32 = 2.0;

/// A function as its signature tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Offered {
    skill: String,
    name: String,
    parameters: Vec<(String, String)>,
    about: String,
}

/// The choice of one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionChoice {
    called: bool,
}

impl FunctionChoice {
    /// Returns the call of a function that fits, or the end of the attempt once it ran to its end.
    pub(super) fn next(&mut self, transcript: &Transcript, goal: &Goal, turn: &Turn) -> Option<Move> {
        if self.called {
            let answer = turn.answers.iter().find(|answer| is_call(&answer.tool))?;
            let ended = Move::End { say: "The function has done it.".into(), finish: Finish::Done };
            return (!answer.is_error).then_some(ended);
        }
        self.called = true;
        if !transcript.tools.iter().any(|tool| is_call(tool)) {
            return None;
        }
        let scored = offered(&transcript.opening).into_iter().filter_map(|one| {
            let fit = Fit::of(&goal.stems(), &format!("{} {}", one.name.replace('_', " "), one.about));
            let arguments = arguments(&one, goal)?;
            (fit.matched >= LEAST).then_some((fit.matched + fit.share, one, arguments))
        });
        let (_, best, arguments) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let say = format!("{} does what is asked.", best.name);
        let own = format!("{OWN}{}", best.name);
        if transcript.tools.contains(&own) {
            return Some(Move::Ask { say, tool: own, arguments });
        }
        Some(Move::Ask {
            say,
            tool: CALL.into(),
            arguments: json!({ "skill": best.skill, "function": best.name, "arguments": arguments }),
        })
    }
}

/// Returns whether a tool calls a function.
fn is_call(tool: &str) -> bool {
    tool == CALL || tool.starts_with(OWN)
}

/// Reads the signatures of a text: `domain/name: function(parameter: kind, …)`, and below it what the function does.
fn offered(text: &str) -> Vec<Offered> {
    let mut found: Vec<Offered> = Vec::new();
    let mut is_named = false;
    for line in text.lines() {
        if let Some(one) = signature(line.trim()) {
            found.push(one);
            is_named = true;
        } else if let Some(last) = found.last_mut().filter(|_| is_named) {
            line.trim().clone_into(&mut last.about);
            is_named = false;
        }
    }
    found
}

fn signature(line: &str) -> Option<Offered> {
    let (head, call) = line.split_once(": ")?;
    let skill = head.split(" (").next().filter(|id| id.contains('/') && !id.contains(' '))?;
    let (name, rest) = call.split_once('(')?;
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let inner = rest.strip_suffix(')').filter(|_| is_name(name))?;
    let parameter = |part: &str| {
        let (name, kind) = part.split_once(':')?;
        Some((name.trim().to_owned(), kind.trim().to_owned()))
    };
    let parameters = inner.split(',').filter(|part| !part.trim().is_empty()).map(parameter);
    Some(Offered {
        skill: skill.to_owned(),
        name: name.to_owned(),
        parameters: parameters.collect::<Option<_>>()?,
        about: String::new(),
    })
}

/// Returns the values of an instruction as arguments, if there is one for each text.
fn arguments(function: &Offered, goal: &Goal) -> Option<Value> {
    let is_literal = |value: &&super::goal::Value| value.kind != super::goal::ValueKind::Name;
    let mut left = goal.values.iter().filter(is_literal).map(|value| value.text.as_str());
    let mut arguments = Map::new();
    for (name, kind) in &function.parameters {
        let value = match kind.as_str() {
            "text" => Value::from(left.next()?),
            "number" => left.next()?.parse::<i64>().ok()?.into(),
            _ => return None,
        };
        arguments.insert(name.clone(), value);
    }
    Some(Value::Object(arguments))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FunctionChoice, Goal, Move, Transcript, Turn};
    use crate::transcript::ToolResult;

    const OFFERED: &str = "Functions of notes. Each does a whole procedure.\n\
        birds/feed: fill_feeder(grain: text)\n  Fills the feeder with a grain.\n  - grain: what to put in\n  Example: fill_feeder(\"oats\")\n\
        birds/list (not verified): rename_bird(old: text, new: text)\n  Gives a bird of the list another name.\n";

    fn transcript(instruction: &str) -> Transcript {
        let tools = vec!["skill_call".to_owned()];
        Transcript {
            instruction: instruction.into(),
            opening: OFFERED.into(),
            tools,
            ..Transcript::default()
        }
    }

    fn chosen(instruction: &str) -> Option<Move> {
        let goal = Goal::read(instruction);
        FunctionChoice::default().next(&transcript(instruction), &goal, &Turn::default())
    }

    #[test]
    fn the_function_that_fits_is_called_with_the_values_of_the_instruction() {
        let Some(Move::Ask { tool, arguments, .. }) = chosen("Fill the feeder with \"millet\".") else {
            panic!("no call")
        };
        assert_eq!(tool, "skill_call");
        let expected =
            json!({ "skill": "birds/feed", "function": "fill_feeder", "arguments": { "grain": "millet" } });
        assert_eq!(arguments, expected);
        assert_eq!(chosen("Rename the bird \"Pip\" of the list."), None, "the new name is missing");
        assert_eq!(chosen("Paint the shed in \"green\"."), None);
    }

    #[test]
    fn a_function_with_a_tool_of_its_own_is_called_by_it() {
        let goal = Goal::read("Fill the feeder with \"millet\".");
        let own = Transcript { tools: vec!["run_fill_feeder".into()], ..transcript(&goal.text) };
        let chosen = FunctionChoice::default().next(&own, &goal, &Turn::default());
        let Some(Move::Ask { tool, arguments, .. }) = chosen else { panic!("no call") };
        assert_eq!((tool.as_str(), arguments), ("run_fill_feeder", json!({ "grain": "millet" })));
    }

    #[test]
    fn after_a_call_the_attempt_ends_or_goes_on_by_hand() {
        let (goal, transcript) = (Goal::read("Fill the feeder with \"millet\"."), transcript(""));
        let after = |is_error| {
            let answer = ToolResult { tool: "skill_call".into(), text: String::new(), is_error };
            let turn = Turn { answers: vec![answer], ..Turn::default() };
            FunctionChoice { called: true }.next(&transcript, &goal, &turn)
        };
        assert!(matches!(after(false), Some(Move::End { .. })));
        assert_eq!(after(true), None);
    }
}
