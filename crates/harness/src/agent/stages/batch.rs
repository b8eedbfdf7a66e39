//! Executes the calls of one turn and answers each of them.

use std::time::Duration;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, BoundedText, Call, CallBody, CallResult, Content, Delivery,
    Environment, EventKind, Finish, FunctionCall, HiddenNodes, ImagePoint, ImageRule, PageReading, Rect,
    ScreenPoint, StopReason, TextBudget, Tool, TreeBudget, ViewRule, Want, Why, did_you_mean,
};
use serde_json::Value;

use super::function::FunctionRun;
use super::reading;
use crate::agent::attempt::AttemptInput;
use crate::agent::budget::Budget;
use crate::agent::conversation::Conversation;
use crate::agent::journal::Journal;
use crate::agent::prompt::FINISH_TOOL;
use crate::agent::stop::{Stop, off_thread, until, world};
use crate::agent::view::last_view::{LastView, WholeListReason};
use crate::agent::view::model_view::{ModelView, plain};
use crate::agent::view::picture::Picture;

/// Limit on the text of one tool result, in characters.
const TOOL_BUDGET: TextBudget = TextBudget(20_000);
/// Limit on the text that a world adds to one action's result, in characters.
const REMARK_BUDGET: TextBudget = TextBudget(2_000);
/// Limits on a tree that is read on request: it may be larger than that of a view.
const READ_BUDGET: TreeBudget = TreeBudget { nodes: 20_000, depth: 100, ms: 5000, hidden: HiddenNodes::Skip };
/// The longest single wait a model may ask for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The state of a turn while its calls are answered.
#[derive(Default)]
pub(crate) struct Turn {
    /// One result per call, in order.
    pub(crate) results: Vec<CallResult>,
    /// Index of the call whose result carries the next observation.
    pub(crate) last_world_call: Option<usize>,
    /// The first call was unreadable, so nothing of the reply was done.
    pub(crate) all_unusable: bool,
    /// Set when the attempt ends with this turn.
    pub(crate) stop: Option<Stop>,
    /// An action or a call failed or was refused, so the remaining ones are skipped.
    blocked: bool,
    /// A call of the reply cannot be read, so the reply cannot finish the attempt.
    has_unreadable: bool,
    /// An action was executed since the last observation.
    touched: bool,
}

/// The stage that answers the calls of a reply: it may act in the world, run tools, write the trace and note the marks of
/// tool results; it adds no message to the conversation.
pub(crate) struct Batch<'r, 'a> {
    pub(crate) attempt: &'r AttemptInput<'a>,
    pub(crate) environment: &'r mut dyn Environment,
    pub(crate) journal: &'r mut Journal<'a>,
    pub(crate) budget: &'r mut Budget<'a>,
    pub(crate) conversation: &'r mut Conversation,
    pub(crate) last_view: &'r mut LastView,
    pub(crate) finish: &'r mut Option<Finish>,
}

impl<'a> Batch<'_, 'a> {
    /// Answers the calls of one turn, in order.
    pub(crate) async fn answer(&mut self, calls: &[Call], view: &ModelView) -> Result<Turn, Stop> {
        let unreadable = |call: &Call| matches!(&call.body, CallBody::Unusable { .. });
        let mut turn = Turn {
            all_unusable: calls.first().is_some_and(unreadable),
            has_unreadable: calls.iter().any(unreadable),
            ..Turn::default()
        };
        for call in calls {
            let result = self.answer_call(call, view, &mut turn).await?;
            turn.blocked |= result.is_error;
            self.journal.emit(EventKind::CallAnswered(result.clone()))?;
            turn.results.push(result);
        }
        Ok(turn)
    }

    /// Answers one call, and skips it when an earlier one failed. The only error is a trace that cannot be written;
    /// every other failure becomes a result.
    async fn answer_call(
        &mut self,
        call: &Call,
        view: &ModelView,
        turn: &mut Turn,
    ) -> Result<CallResult, Stop> {
        match &call.body {
            CallBody::World { actions } => {
                turn.last_world_call = Some(turn.results.len());
                self.act_all(call, actions, view, turn).await
            }
            _ if turn.blocked && turn.stop.is_none() => Ok(skipped(call)),
            CallBody::Tool { name, arguments } if name == FINISH_TOOL => {
                match serde_json::from_value(arguments.clone()) {
                    Ok(finish) => self.take_finish(call, &finish, turn),
                    Err(error) => Ok(refusal(call, format!("finish was not understood: {error}"))),
                }
            }
            CallBody::Tool { name, arguments } => match self.function_of(name, arguments) {
                Some(function) if turn.stop.is_none() => {
                    turn.last_world_call = Some(turn.results.len());
                    let (result, effect) = self.function_run().execute(call, function, view).await?;
                    turn.touched |= effect.touched;
                    turn.stop = effect.stop;
                    Ok(result)
                }
                _ => self.use_tool(call, name, arguments, turn).await,
            },
            CallBody::Finish(finish) => self.take_finish(call, finish, turn),
            CallBody::Unusable { problem } => Ok(refusal(call, problem)),
        }
    }

    async fn act_all(
        &mut self,
        call: &Call,
        actions: &[Action<ImagePoint>],
        view: &ModelView,
        turn: &mut Turn,
    ) -> Result<CallResult, Stop> {
        let mut per_action = Vec::with_capacity(actions.len());
        let mut content = Vec::new();
        for (index, asked) in (0..).zip(actions) {
            let untouched = !turn.touched;
            let (sent, outcome) = if turn.blocked || turn.stop.is_some() {
                (None, ActionOutcome::NotExecuted)
            } else {
                self.act_one(asked, view, turn, &mut content).await
            };
            turn.blocked |= matches!(outcome, ActionOutcome::Failed { .. });
            let target = sent.as_ref().and_then(|sent| view.target(sent, untouched));
            self.journal.emit(EventKind::Action(Box::new(ActionRecord {
                call: call.id.clone(),
                index,
                asked: asked.clone(),
                line: None,
                target_role: target.map(|node| node.role.as_str().to_owned()),
                target_name: target.map(|node| plain(&node.name)),
                point: sent.as_ref().and_then(|sent| view.point(sent)),
                sent,
                outcome: outcome.clone(),
            })))?;
            per_action.push(outcome);
        }
        if actions.is_empty() {
            content.push(Content::text("the batch holds no action"));
        }
        let is_error = per_action.iter().any(|one| !matches!(one, ActionOutcome::Done { .. }));
        Ok(CallResult { id: call.id.clone(), per_action, content, is_error: is_error || actions.is_empty() })
    }

    /// Executes one action. A reason to end the attempt is stored in `turn.stop`.
    async fn act_one(
        &mut self,
        asked: &Action<ImagePoint>,
        view: &ModelView,
        turn: &mut Turn,
        content: &mut Vec<Content>,
    ) -> (Option<Action<ScreenPoint>>, ActionOutcome) {
        if let Some(reason) = self.budget.reached() {
            turn.stop = Some(Stop::at_limit(reason));
            return (None, ActionOutcome::NotExecuted);
        }
        let sent = match asked.clone().to_screen(&view.mapping) {
            Ok(sent) => sent,
            Err(outside) => return (None, ActionOutcome::Failed { problem: outside.to_string() }),
        };
        let done = match &sent {
            Action::Screenshot => Ok(self.show_all()),
            Action::Zoom { region } => self.zoom(*region, view, content).await,
            Action::Read { what } => self.read(what, &sent, view, content).await,
            // Waiting costs a turn, and no step.
            Action::Wait { ms } => {
                turn.touched = true;
                self.wait(Duration::from_millis(u64::from(*ms))).await
            }
            _ => {
                self.budget.count_action();
                turn.touched = true;
                self.deliver_action(&sent, view, content).await
            }
        };
        let outcome = done.unwrap_or_else(|stop| {
            turn.stop = Some(stop);
            ActionOutcome::Failed { problem: "the attempt ended here".into() }
        });
        (Some(sent), outcome)
    }

    /// Has the world perform an action. What it reads becomes content of the result, and what it remarks a part of the
    /// outcome.
    async fn deliver_action(
        &mut self,
        sent: &Action<ScreenPoint>,
        view: &ModelView,
        content: &mut Vec<Content>,
    ) -> Result<ActionOutcome, Stop> {
        let report = world(&self.attempt.cancel, self.environment.act(sent)).await??;
        let bounded = |text: &str| BoundedText::cut(text, REMARK_BUDGET).as_str().to_owned();
        let heading = match sent {
            Action::Read { what } => Some(what.heading()),
            Action::Script { .. } => Some("Result of the script:"),
            _ => None,
        };
        Ok(match (report.delivery, heading) {
            (Delivery::Delivered, Some(heading)) => {
                let text = format!("{heading}\n{}", report.text.unwrap_or_default());
                content.push(Content::text(BoundedText::cut(&text, TOOL_BUDGET).as_str()));
                ActionOutcome::Done { text: None }
            }
            (Delivery::Delivered, None) => {
                let pointer = report.pointer.and_then(|at| view.mapping.to_image(at));
                let place = pointer.map(|at| format!("X={:.0},Y={:.0}", at.x, at.y));
                ActionOutcome::Done { text: report.text.as_deref().map(bounded).or(place) }
            }
            (Delivery::Refused { problem }, _) => ActionOutcome::Failed { problem: bounded(&problem) },
        })
    }

    /// Reads without acting: an observation answers, or else the world.
    async fn read(
        &mut self,
        what: &PageReading,
        sent: &Action<ScreenPoint>,
        view: &ModelView,
        content: &mut Vec<Content>,
    ) -> Result<ActionOutcome, Stop> {
        if !what.is_in_observation() {
            return self.deliver_action(sent, view, content).await;
        }
        let tree = (*what != PageReading::Tabs).then_some(READ_BUDGET);
        let want = Want { screenshot: false, tree };
        let seen = world(&self.attempt.cancel, self.environment.observe(want)).await??;
        Ok(match reading::answer(what, &seen, &view.mapping, TOOL_BUDGET) {
            Ok(text) => {
                content.push(Content::text(BoundedText::cut(&text, TOOL_BUDGET).as_str()));
                ActionOutcome::Done { text: None }
            }
            Err(problem) => ActionOutcome::Failed { problem },
        })
    }

    async fn wait(&mut self, asked: Duration) -> Result<ActionOutcome, Stop> {
        let time = asked.min(MAX_WAIT).min(self.budget.time_left());
        until(&self.attempt.cancel, self.attempt.clock.pause(time, Why::ModelAsked)).await?;
        let text = (time < asked).then(|| format!("waited {} ms, the most allowed", time.as_millis()));
        Ok(ActionOutcome::Done { text })
    }

    /// The next view shows everything again. A model without pictures gets the whole list of elements.
    fn show_all(&mut self) -> ActionOutcome {
        *self.last_view = LastView::Unlisted(WholeListReason::Asked);
        let profile = self.attempt.model.profile();
        if profile.outline && profile.views != ViewRule::Whole {
            ActionOutcome::Done { text: None }
        } else {
            self.needs_pictures()
        }
    }

    /// A screenshot action needs no picture of its own: the observation at the end of the turn carries it.
    fn needs_pictures(&self) -> ActionOutcome {
        match self.attempt.model.profile().images {
            ImageRule::None => ActionOutcome::Failed { problem: "this model gets no pictures".into() },
            ImageRule::AsIs | ImageRule::Within { .. } | ImageRule::Factor { .. } => {
                ActionOutcome::Done { text: None }
            }
        }
    }

    async fn zoom(
        &mut self,
        [from, to]: [ScreenPoint; 2],
        view: &ModelView,
        content: &mut Vec<Content>,
    ) -> Result<ActionOutcome, Stop> {
        let answer = self.needs_pictures();
        if !matches!(answer, ActionOutcome::Done { .. }) {
            return Ok(answer);
        }
        let part = Rect::new(
            from.x.min(to.x),
            from.y.min(to.y),
            (to.x - from.x).abs() + 1,
            (to.y - from.y).abs() + 1,
        );
        let want = Want { screenshot: true, tree: None };
        let seen = world(&self.attempt.cancel, self.environment.observe(want)).await??;
        let Some(shot) = seen.screenshot else {
            return Ok(ActionOutcome::Failed { problem: "this world has no pictures".into() });
        };
        let size = view.mapping.image;
        let picture = off_thread(move || Picture::enlarged(&shot, part, size)).await?;
        self.journal.keep(&picture.exact.bytes.0, "png")?;
        content.push(Content::Image { image: picture.sent });
        Ok(ActionOutcome::Done { text: None })
    }

    /// Accepts `finish`, unless another call of the reply cannot be read: then the model meant to do more.
    fn take_finish(&mut self, call: &Call, finish: &Finish, turn: &mut Turn) -> Result<CallResult, Stop> {
        if turn.stop.is_some() {
            return Ok(refusal(call, "the attempt had ended"));
        }
        if turn.has_unreadable {
            return Ok(refusal(call, "not finished: another call of this reply could not be read"));
        }
        self.journal.emit(EventKind::Finished(finish.clone()))?;
        *self.finish = Some(finish.clone());
        turn.stop = Some(match finish {
            Finish::Done => Stop::judged(StopReason::Done, "the model says that it is done"),
            Finish::Answer { .. } => Stop::judged(StopReason::Answered, "the model answered"),
            Finish::GiveUp { .. } => Stop::judged(StopReason::GaveUp, "the model gave up"),
        });
        Ok(CallResult {
            id: call.id.clone(),
            per_action: Vec::new(),
            content: vec![Content::text("finished")],
            is_error: false,
        })
    }

    fn function_run(&mut self) -> FunctionRun<'_, 'a> {
        FunctionRun {
            attempt: self.attempt,
            environment: self.environment,
            journal: self.journal,
            budget: self.budget,
        }
    }

    /// Returns the function that a call runs, if its tool runs one.
    fn function_of(&self, name: &str, arguments: &Value) -> Option<FunctionCall> {
        self.attempt.tools().find(|tool| tool.spec().name == name)?.function(arguments)
    }

    async fn use_tool(
        &mut self,
        call: &Call,
        name: &str,
        arguments: &Value,
        turn: &mut Turn,
    ) -> Result<CallResult, Stop> {
        if turn.stop.is_some() {
            return Ok(refusal(call, "the attempt had ended"));
        }
        let tools = self.attempt.tools();
        let Some(tool) = tools.clone().find(|tool| tool.spec().name == name).cloned() else {
            return Ok(refusal(call, unknown_tool(name, tools.map(|tool| tool.as_ref()))));
        };
        let begun = self.attempt.clock.mono();
        let at = self.journal.step();
        let work = tokio::time::timeout(self.budget.time_left(), tool.call(arguments, at));
        let outcome = match until(&self.attempt.cancel, work).await {
            Ok(outcome) => outcome,
            Err(stop) => {
                turn.stop = Some(stop);
                return Ok(refusal(call, "the attempt ended here"));
            }
        };
        let outcome = outcome.unwrap_or_else(|_| {
            apprentice_protocol::ToolOutcome::error("the tool did not answer in the time left")
        });
        let (is_error, took_ms) = (outcome.is_error, self.journal.since(begun));
        self.journal.emit(EventKind::ToolCalled {
            call: call.id.clone(),
            name: name.to_owned(),
            is_error,
            took_ms,
        })?;
        self.conversation.note(&call.id, outcome.marks);
        self.journal.emit_all(outcome.events)?;
        let mut content = Vec::new();
        for part in outcome.content {
            content.extend(self.fitted(part).await?);
        }
        Ok(CallResult { id: call.id.clone(), per_action: Vec::new(), content, is_error })
    }

    /// Fits a part of a tool's answer to the model: text within its cap, a picture at a size that the model takes. A
    /// model without pictures gets the text alone.
    async fn fitted(&mut self, part: Content) -> Result<Option<Content>, Stop> {
        let image = match part {
            Content::Text { text } => {
                return Ok(Some(Content::text(BoundedText::cut(&text, TOOL_BUDGET).as_str())));
            }
            Content::Image { image } => image,
        };
        let Some(size) = self.attempt.model.profile().images.fit(image.size) else {
            return Ok(None);
        };
        let picture = off_thread(move || Picture::of(&image, size)).await?;
        self.journal.keep(&picture.exact.bytes.0, "png")?;
        Ok(Some(Content::Image { image: picture.sent }))
    }
}

/// The result of a call that is not tried, because an earlier one of the reply failed.
fn skipped(call: &Call) -> CallResult {
    let per_action = vec![ActionOutcome::NotExecuted];
    CallResult { id: call.id.clone(), per_action, content: Vec::new(), is_error: true }
}

fn refusal(call: &Call, why: impl AsRef<str>) -> CallResult {
    let why = BoundedText::cut(why.as_ref(), REMARK_BUDGET);
    CallResult {
        id: call.id.clone(),
        per_action: Vec::new(),
        content: vec![Content::text(why.as_str())],
        is_error: true,
    }
}

fn unknown_tool<'t>(name: &str, known: impl Iterator<Item = &'t dyn Tool>) -> String {
    let names: Vec<&str> = known.map(|tool| tool.spec().name.as_str()).chain([FINISH_TOOL]).collect();
    let near = did_you_mean(name, names.iter().copied());
    match near.is_empty() {
        true => format!("there is no tool {name:?}; beside acting there are {}", names.join(", ")),
        false => format!("there is no tool {name:?}{near}"),
    }
}
