//! The link of a running function to whoever drives it: one request at a time, and the function waits for the answer.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    Action, FunctionAnswer, FunctionFailure, FunctionRequest, ImagePoint, Observation,
};
use tokio::sync::mpsc::Sender;

use crate::engine::ACTS;

/// The function's end of the link.
pub(crate) struct Link {
    requests: Sender<FunctionRequest>,
    answers: Mutex<Receiver<FunctionAnswer>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was seen since the last act or wait.
    seen: Option<Arc<Observation>>,
    acts: u32,
    failure: Option<FunctionFailure>,
}

/// Why a request was not done.
pub(crate) enum Unanswered {
    /// The act was refused, or is one too many.
    Refused(String),
    /// Nobody drives the function any more.
    Abandoned,
}

impl Link {
    pub(crate) fn new(requests: Sender<FunctionRequest>, answers: Receiver<FunctionAnswer>) -> Self {
        Self { requests, answers: Mutex::new(answers), state: Mutex::default() }
    }

    /// Returns the elements as they are since the last act or wait.
    pub(crate) fn observe(&self) -> Result<Arc<Observation>, Unanswered> {
        if let Some(seen) = &self.state().seen {
            return Ok(Arc::clone(seen));
        }
        match self.ask(FunctionRequest::Observe)? {
            FunctionAnswer::Seen(seen) => {
                self.state().seen = Some(Arc::clone(&seen));
                Ok(seen)
            }
            other => Err(unfit(other)),
        }
    }

    /// Has an action done.
    pub(crate) fn act(&self, action: Action<ImagePoint>, line: u32) -> Result<(), Unanswered> {
        {
            let mut state = self.state();
            state.seen = None;
            state.acts += 1;
            if state.acts > ACTS {
                return Err(Unanswered::Refused(format!("a function may act {ACTS} times at most")));
            }
        }
        match self.ask(FunctionRequest::Act { action: Box::new(action), line })? {
            FunctionAnswer::Acted => Ok(()),
            other => Err(unfit(other)),
        }
    }

    /// Waits before the next look until something may have changed. Returns the time since the last look began.
    pub(crate) fn await_change(&self, cap: Duration) -> Result<Duration, Unanswered> {
        self.state().seen = None;
        match self.ask(FunctionRequest::AwaitChange(cap))? {
            FunctionAnswer::Waited(time) => Ok(time),
            other => Err(unfit(other)),
        }
    }

    /// Keeps the first failure, which ends the function.
    pub(crate) fn fail(&self, failure: FunctionFailure) {
        self.state().failure.get_or_insert(failure);
    }

    /// Returns the failure that ended the function, if an act or a look did.
    pub(crate) fn failure(&self) -> Option<FunctionFailure> {
        self.state().failure.clone()
    }

    /// Waits for the first answer.
    pub(crate) fn begun(&self) -> bool {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok()
    }

    /// Sends the last request.
    pub(crate) fn end(&self, request: FunctionRequest) {
        // Without a receiver the function was abandoned, and nobody wants to know how it ended.
        drop(self.requests.blocking_send(request));
    }

    fn ask(&self, request: FunctionRequest) -> Result<FunctionAnswer, Unanswered> {
        self.requests.blocking_send(request).map_err(|_| Unanswered::Abandoned)?;
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.recv().map_err(|_| Unanswered::Abandoned)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unfit(answer: FunctionAnswer) -> Unanswered {
    match answer {
        FunctionAnswer::Refused(why) => Unanswered::Refused(why),
        other => Unanswered::Refused(format!("the answer {other:?} fits no request")),
    }
}
