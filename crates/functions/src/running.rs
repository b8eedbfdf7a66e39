//! A running function: a thread of its own that waits for the answer to each request. Dropping it ends the thread at its
//! next request, or at the limit of operations.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};

use apprentice_protocol::{
    BoxFuture, FunctionAnswer, FunctionEnd, FunctionFailure, FunctionRequest, WorldFunction,
};
use rhai::{AST, CallFnOptions, Dynamic, Engine, EvalAltResult, Scope};
use tokio::sync::mpsc::{Receiver, channel as requests_channel};

use crate::api::{self, Place};
use crate::argument::returned;
use crate::engine::engine;
use crate::link::Link;
use crate::signature::Surface;

/// The engine of every call. To make one takes longer than a short function; it keeps nothing of a call, whose limits are
/// counted anew.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut engine = engine();
    api::register(&mut engine);
    engine
});

/// What one call runs.
pub(crate) struct Call {
    pub(crate) ast: AST,
    pub(crate) name: String,
    pub(crate) surface: Surface,
    pub(crate) arguments: Vec<Dynamic>,
}

/// A running function.
pub(crate) struct Running {
    requests: Receiver<FunctionRequest>,
    answers: Sender<FunctionAnswer>,
}

impl Running {
    /// Makes a function ready to begin.
    pub(crate) fn start(call: Call) -> Result<Self, std::io::Error> {
        let (to_driver, requests) = requests_channel(1);
        let (answers, from_driver) = channel();
        let link = Arc::new(Link::new(to_driver, from_driver));
        let run = move || {
            if link.begun() {
                let end = run(call, &link);
                link.end(FunctionRequest::End(end));
            }
        };
        std::thread::Builder::new().name("function".to_owned()).spawn(run)?;
        Ok(Self { requests, answers })
    }
}

impl WorldFunction for Running {
    fn next(&mut self, answer: FunctionAnswer) -> BoxFuture<'_, FunctionRequest> {
        // A function that has ended takes no more answers, and its last request is gone: the same end is told.
        let sent = self.answers.send(answer).is_ok();
        Box::pin(async move {
            let request = if sent { self.requests.recv().await } else { None };
            request.unwrap_or_else(|| FunctionRequest::End(stopped(0, "the function has ended already")))
        })
    }
}

fn stopped(line: u32, reason: &str) -> FunctionEnd {
    FunctionEnd::Stopped(FunctionFailure { line, act: String::new(), reason: reason.to_owned() })
}

/// Runs a function to its end.
fn run(call: Call, link: &Arc<Link>) -> FunctionEnd {
    let world = Dynamic::from(Place::whole(Arc::clone(link), call.surface));
    let arguments: Vec<Dynamic> = std::iter::once(world).chain(call.arguments).collect();
    let options = CallFnOptions::new().eval_ast(false);
    let result: Result<Dynamic, Box<EvalAltResult>> =
        ENGINE.call_fn_with_options(options, &mut Scope::new(), &call.ast, &call.name, arguments);
    match result {
        Ok(value) => FunctionEnd::Returned { value: returned(&value) },
        Err(error) => FunctionEnd::Stopped(link.failure().unwrap_or_else(|| told(error))),
    }
}

/// Describes an error of the language itself.
fn told(error: Box<EvalAltResult>) -> FunctionFailure {
    // The call of the function wraps what happened in it.
    let mut error = error;
    while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) = *error {
        error = inner;
    }
    let line = error.position().line().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
    error.set_position(rhai::Position::NONE);
    FunctionFailure { line, act: String::new(), reason: error.to_string() }
}
