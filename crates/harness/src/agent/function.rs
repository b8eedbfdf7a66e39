//! Carries out a function of a skill: each of its acts is one action of the attempt, under the same limits and with the
//! same record as a model's own.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, BoundedText, Call, CallResult, ChangeWait, Content, Delivery,
    EventKind, FunctionAnswer, FunctionCall, FunctionEnd, FunctionRecord, FunctionRequest, ImagePoint,
    Observation, ScreenPoint, StopReason, TextBudget, TreeBudget, Want, Why, counted,
};

use super::agent_loop::AgentLoop;
use super::batch::{Turn, plain};
use super::model_view::{ModelView, point, target};
use super::stop::{Stop, until, world};

/// Limit on what a function returns or says of its end, in characters.
const RETURN_BUDGET: TextBudget = TextBudget(2_000);

/// Time between two looks at a world that no event tells of changes.
const POLL: Duration = Duration::from_millis(100);

/// A function while it runs.
struct Progress<'t> {
    call: &'t Call,
    sight: &'t ModelView,
    turn: &'t mut Turn,
    seen: Option<Arc<Observation>>,
    acts: u32,
    /// When the last look began.
    looked_at: Duration,
}

impl AgentLoop<'_> {
    /// Runs a function to its end. A reason to end the attempt is stored in `turn.stop`.
    pub(super) async fn run_function(
        &mut self,
        call: &Call,
        called: FunctionCall,
        sight: &ModelView,
        turn: &mut Turn,
    ) -> Result<CallResult, Stop> {
        let begun = self.attempt.clock.mono();
        turn.last_world_call = Some(turn.results.len());
        let FunctionCall { skill, name, version, arguments, mut function } = called;
        let mut progress = Progress { call, sight, turn, seen: None, acts: 0, looked_at: begun };
        let mut answer = FunctionAnswer::Begin;
        let end = loop {
            let next = tokio::time::timeout(self.budget.time_left(), function.next(answer));
            let request = match until(&self.attempt.cancel, next).await {
                Ok(Ok(request)) => request,
                Ok(Err(_)) => {
                    break self.interrupted(&mut progress, Stop::at_limit(StopReason::WorkingTimeLimit));
                }
                Err(stop) => break self.interrupted(&mut progress, stop),
            };
            answer = match self.answer_function(request, &mut progress).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(end)) => break end,
                Err(stop) => break self.interrupted(&mut progress, stop),
            };
        };
        let (acts, took_ms) = (progress.acts, self.since(begun));
        let is_error = !matches!(end, FunctionEnd::Returned { .. });
        let told = told(&name, acts, &end);
        let id = call.id.clone();
        let record = FunctionRecord { skill, name: name.clone(), version, arguments, acts, end, took_ms };
        self.emit(EventKind::FunctionCalled { call: id.clone(), record: Box::new(record) })?;
        self.emit(EventKind::ToolCalled { call: id.clone(), name, is_error, took_ms })?;
        let content = vec![Content::text(BoundedText::cut(&told, RETURN_BUDGET).as_str())];
        Ok(CallResult { id, per_action: Vec::new(), content, is_error })
    }

    fn interrupted(&self, progress: &mut Progress<'_>, stop: Stop) -> FunctionEnd {
        progress.turn.stop = Some(stop);
        FunctionEnd::Interrupted
    }

    /// Answers one request of a function, or returns how it ended.
    async fn answer_function(
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
                let time = cap.min(POLL);
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
        let sent = match asked.clone().to_screen(&progress.sight.view) {
            Ok(sent) => sent,
            Err(outside) => return Ok(ActionOutcome::Failed { problem: outside.to_string() }),
        };
        self.budget.count_action();
        progress.turn.touch();
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
        self.emit(EventKind::Action(Box::new(record)))?;
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
fn told(name: &str, acts: u32, end: &FunctionEnd) -> String {
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
