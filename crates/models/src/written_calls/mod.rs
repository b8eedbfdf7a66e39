//! Reads calls that stand in a model's words: where a server has no parser for its model's notation, or the model
//! writes another one. What looks like a call and cannot be read is named, so that it never counts as an answer.

mod arguments;
mod call_values;
mod gemma;
mod harmony;
mod marks;
mod notation;
mod pythonic;
mod segments;
mod thoughts;
mod tools;
mod xml;

use apprentice_protocol::{ChatRequest, ReplyStop};
use serde_json::Value;

use crate::action_format::computer_tool;
use crate::http::ParsedReply;

pub(crate) use arguments::read_call_arguments;
pub(crate) use marks::without_turn_marks;
pub(crate) use notation::Notation;
pub(crate) use thoughts::split_thoughts;
pub(crate) use tools::CallableTools;

/// A call, with the name of a tool as it was offered where the model's spelling fits one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// A call that was read, or the reason for the model why not.
pub(crate) type ReadCall = Result<NamedCall, String>;

/// What stands in a model's words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WrittenCalls {
    /// Words alone.
    None,
    /// Calls, at least one, in order. A part that cannot be read is an error in its place.
    Found { notation: Notation, calls: Vec<ReadCall> },
    /// Marks of a call of which nothing can be read.
    Unreadable { mark: String },
}

/// Reads the calls in a model's words, whose thoughts have been removed.
pub(crate) fn read_written_calls(words: &str, tools: &CallableTools<'_>) -> WrittenCalls {
    if tools.is_empty() {
        return WrittenCalls::None;
    }
    let words = marks::plain_marks(words);
    let words = without_turn_marks(&words);
    let found = segments::in_wrappers(words, tools).or_else(|| segments::without_wrapper(words, tools));
    match found {
        Some((notation, calls)) => WrittenCalls::Found { notation, calls },
        None => match marks::call_mark(words, tools) {
            Some(mark) => WrittenCalls::Unreadable { mark },
            None => WrittenCalls::None,
        },
    }
}

/// Takes words that hold a call from being an answer. For providers that have a place of their own for calls: what such a
/// model writes elsewhere could not be answered as a call.
pub(crate) fn refuse_written_calls(reply: &mut ParsedReply, request: &ChatRequest) {
    if reply.stop != ReplyStop::EndTurn || !reply.calls.is_empty() {
        return;
    }
    let own = request.world.map(computer_tool);
    let tools = CallableTools::new(own.iter().chain(&request.tools));
    let words = reply.say.join("\n");
    if read_written_calls(&words, &tools) != WrittenCalls::None {
        reply.stop = ReplyStop::UnreadCall;
    }
}

#[cfg(test)]
mod tests;
