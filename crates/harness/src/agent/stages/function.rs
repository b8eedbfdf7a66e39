//! Carries out a function of a skill: each of its acts is one action of the attempt, under the same limits and with the
//! same record as a model's own.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, BoundedText, Call, CallResult, ChangeWait, Content, Delivery,
    Environment, EventKind, FunctionAnswer, FunctionCall, FunctionEnd, FunctionRecord, FunctionRequest,
    ImagePoint, Observation, ScreenPoint, StopReason, TextBudget, TreeBudget, Want, Why, counted,
};

use crate::agent::attempt::AttemptInput;
use crate::agent::budget::Budget;
use crate::agent::journal::Journal;
use crate::agent::stop::{Stop, until, world};
use crate::agent::view::model_view::{ModelView, plain, point, target};

/// Limit on what a function returns or says of its end, in characters.
const RETURN_BUDGET: TextBudget = TextBudget(2_000);

/// Time between two looks at a world that no event tells of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A function while it runs.
struct Progress<'t> {
    call: &'t Call,
    view: &'t ModelView,
    seen: Option<Arc<Observation>>,
    acts: u32,
    /// When the last look began.
    looked_at: Duration,
    effect: FunctionEffect,
}

/// What a function leaves to the batch that called it.
#[derive(Default)]
pub(crate) struct FunctionEffect {
    /// An action was executed.
    pub(crate) touched: bool,
    /// The reason to end the attempt, if there is one.
    pub(crate) stop: Option<Stop>,
}

impl Progress<'_> {
    fn interrupted(&mut self, stop: Stop) -> FunctionEnd {
        self.effect.stop = Some(stop);
        FunctionEnd::Interrupted
    }
}

/// The run of one function: it may act in the world and write the trace.
pub(crate) struct FunctionRun<'r, 'a> {
    pub(crate) attempt: &'r AttemptInput<'a>,
    pub(crate) environment: &'r mut dyn Environment,
    pub(crate) journal: &'r mut Journal<'a>,
    pub(crate) budget: &'r mut Budget<'a>,
}

impl FunctionRun<'_, '_> {
    /// Runs a function to its end.
    pub(crate) async fn execute(
        &mut self,
        call: &Call,
        called: FunctionCall,
        view: &ModelView,
    ) -> Result<(CallResult, FunctionEffect), Stop> {
        let begun = self.attempt.clock.mono();
        let FunctionCall { skill, name, version, arguments, mut function } = called;
        let effect = FunctionEffect::default();
        let mut progress = Progress { call, view, seen: None, acts: 0, looked_at: begun, effect };
        let mut answer = FunctionAnswer::Begin;
        let end = loop {
            let next = tokio::time::timeout(self.budget.time_left(), function.next(answer));
            let request = match until(&self.attempt.cancel, next).await {
                Ok(Ok(request)) => request,
                Ok(Err(_)) => break progress.interrupted(Stop::at_limit(StopReason::WorkingTimeLimit)),
                Err(stop) => break progress.interrupted(stop),
            };
            answer = match self.answer(request, &mut progress).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(end)) => break end,
                Err(stop) => break progress.interrupted(stop),
            };
        };
        let (acts, took_ms) = (progress.acts, self.journal.since(begun));
        let is_error = !matches!(end, FunctionEnd::Returned { .. });
        let report = report(&name, acts, &end);
        let id = call.id.clone();
        let record = FunctionRecord { skill, name: name.clone(), version, arguments, acts, end, took_ms };
        self.journal.emit(EventKind::FunctionCalled { call: id.clone(), record: Box::new(record) })?;
        self.journal.emit(EventKind::ToolCalled { call: id.clone(), name, is_error, took_ms })?;
        let content = vec![Content::text(BoundedText::cut(&report, RETURN_BUDGET).as_str())];
        Ok((CallResult { id, per_action: Vec::new(), content, is_error }, progress.effect))
    }

    /// Answers one request of a function, or returns how it ended.
    async fn answer(
        &mut self,
        request: FunctionRequest,
        progress: &mut Progress<'_>,
    ) -> Result<Result<FunctionAnswer, FunctionEnd>, Stop> {
        if let FunctionRequest::End(end) = request {
            return Ok(Err(end));
        }
        if let Some(reason) = self.budget.reached() {
            return Err(Stop::at_limit(reason));
        }
        match request {
            FunctionRequest::Observe => {
                progress.looked_at = self.attempt.clock.mono();
                let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
                let seen = Arc::new(world(&self.attempt.cancel, self.environment.observe(want)).await??);
                progress.seen = Some(Arc::clone(&seen));
                Ok(Ok(FunctionAnswer::Seen(seen)))
            }
            FunctionRequest::AwaitChange(cap) => {
                self.await_change(cap).await?;
                let since = self.attempt.clock.mono().saturating_sub(progress.looked_at);
                Ok(Ok(FunctionAnswer::Waited(since)))
            }
            FunctionRequest::Act { action, line } => {
                let outcome = self.act_for_function(*action, line, progress).await?;
                Ok(Ok(match outcome {
                    ActionOutcome::Done { .. } => FunctionAnswer::Acted,
                    ActionOutcome::Failed { problem } => FunctionAnswer::Refused(problem),
                    ActionOutcome::NotExecuted => FunctionAnswer::Refused("it was not done".to_owned()),
                }))
            }
            FunctionRequest::End(end) => Ok(Err(end)),
        }
    }

    /// Waits for an event that the view may have changed. A world without such events is looked at again after a while.
    async fn await_change(&mut self, cap: Duration) -> Result<(), Stop> {
        let cap = cap.min(self.budget.time_left());
        match world(&self.attempt.cancel, self.environment.await_change(cap)).await?? {
            ChangeWait::Changed | ChangeWait::Unchanged => Ok(()),
            ChangeWait::Untold => {
                let time = cap.min(POLL_INTERVAL);
                until(&self.attempt.cancel, self.attempt.clock.pause(time, Why::PollFloor)).await
            }
        }
    }

    /// Does one action for a function, and records it.
    async fn act_for_function(
        &mut self,
        asked: Action<ImagePoint>,
        line: u32,
        progress: &mut Progress<'_>,
    ) -> Result<ActionOutcome, Stop> {
        let index = progress.acts;
        progress.acts += 1;
        let sent = match asked.clone().to_screen(&progress.view.mapping) {
            Ok(sent) => sent,
            Err(outside) => return Ok(ActionOutcome::Failed { problem: outside.to_string() }),
        };
        self.budget.count_action();
        progress.effect.touched = true;
        let outcome = self.delivered(&sent).await;
        let seen = progress.seen.take();
        let hit = seen.as_ref().and_then(|seen| target(seen, &sent, true));
        let at = seen.as_ref().and_then(|seen| point(seen, &sent));
        let record = ActionRecord {
            call: progress.call.id.clone(),
            index,
            asked,
            line: Some(line),
            target_role: hit.map(|node| node.role.as_str().to_owned()),
            target_name: hit.map(|node| plain(&node.name)),
            point: at,
            sent: Some(sent),
            outcome: match &outcome {
                Ok(outcome) => outcome.clone(),
                Err(_) => ActionOutcome::Failed { problem: "the attempt ended here".into() },
            },
        };
        self.journal.emit(EventKind::Action(Box::new(record)))?;
        outcome
    }

    async fn delivered(&mut self, sent: &Action<ScreenPoint>) -> Result<ActionOutcome, Stop> {
        let report = world(&self.attempt.cancel, self.environment.act(sent)).await??;
        let bounded = |text: &str| BoundedText::cut(text, RETURN_BUDGET).as_str().to_owned();
        Ok(match report.delivery {
            Delivery::Delivered => ActionOutcome::Done { text: report.text.as_deref().map(bounded) },
            Delivery::Refused { problem } => ActionOutcome::Failed { problem: bounded(&problem) },
        })
    }
}

/// Describes for the model how a function ended.
fn report(name: &str, acts: u32, end: &FunctionEnd) -> String {
    let done = counted(acts as usize, "action");
    match end {
        FunctionEnd::Returned { value } if value.is_null() => format!("{name} ran to its end: {done}."),
        FunctionEnd::Returned { value } => format!("{name} ran to its end: {done}. It returned: {value}"),
        FunctionEnd::Stopped(failure) => format!(
            "{name} stopped at {failure}\nIt had asked for {done}. The screen is as it left it: go on by hand."
        ),
        FunctionEnd::Interrupted => "the attempt ended here".to_owned(),
    }
}
