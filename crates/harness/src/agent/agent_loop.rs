//! The loop of one attempt: observe, ask the model, answer its calls, until one `stopped` event is recorded.
//!
//! The loop owns the state, and lends each stage what it may touch: [`Observer`], [`Asking`], [`Batch`] and [`Person`].

use std::panic::AssertUnwindSafe;

use apprentice_protocol::{
    Content, Environment, EnvironmentKind, EventKind, EventSink, Finish, Message, ResourceUsage, Steering,
    TurnStart, WorldTool,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::attempt::{AttemptInput, AttemptResult};
use super::budget::Budget;
use super::conversation::Conversation;
use super::journal::Journal;
use super::prompt;
use super::stages::asking::{Asking, AskingProgress};
use super::stages::batch::Batch;
use super::stages::observe::Observer;
use super::stages::person::{Person, stopped_by_person};
use super::stop::Stop;
use super::view::last_view::{LastView, WholeListReason};
use super::view::model_view::ModelView;

/// Runs one attempt to its end and records exactly one `stopped` event, even after a panic.
pub async fn run<'a>(
    attempt: AttemptInput<'a>,
    environment: &'a mut dyn Environment,
    sink: &'a mut dyn EventSink,
) -> AttemptResult {
    execute(AgentLoop::new(attempt, environment, sink)).await
}

/// Runs one attempt that a person may steer: pause, act in, and stop.
pub async fn run_steered<'a>(
    attempt: AttemptInput<'a>,
    environment: &'a mut dyn Environment,
    sink: &'a mut dyn EventSink,
    steering: &'a dyn Steering,
) -> AttemptResult {
    execute(AgentLoop::new(attempt, environment, sink).steered_by(steering)).await
}

async fn execute(mut run: AgentLoop<'_>) -> AttemptResult {
    let stop =
        AssertUnwindSafe(run.execute()).catch_unwind().await.unwrap_or_else(|panic| Stop::panicked(&*panic));
    let spent = run.spent();
    run.end(stop, spent)
}

/// The state of one running attempt.
pub(super) struct AgentLoop<'a> {
    attempt: AttemptInput<'a>,
    environment: &'a mut dyn Environment,
    journal: Journal<'a>,
    budget: Budget<'a>,
    conversation: Conversation,
    progress: AskingProgress,
    last_view: LastView,
    advised: String,
    finish: Option<Finish>,
    /// The person's hold on the attempt, if there may be one.
    steering: Option<&'a dyn Steering>,
}

impl<'a> AgentLoop<'a> {
    /// Returns the state of an attempt that has not begun.
    pub(super) fn new(
        attempt: AttemptInput<'a>,
        environment: &'a mut dyn Environment,
        sink: &'a mut dyn EventSink,
    ) -> Self {
        let (profile, world) = (attempt.model.profile(), &attempt.header.world);
        let screen = world.screen.screen();
        let display = profile.images.fit(screen).unwrap_or(screen);
        let world = WorldTool { browser: world.environment == EnvironmentKind::Browser, display };
        let tools = attempt.tools().map(|tool| tool.spec().clone());
        let advised = prompt::opening(attempt.guidance, profile).0.as_str().to_owned();
        Self {
            conversation: Conversation::new(profile, world, tools, attempt.seed),
            budget: Budget::new(attempt.brief.limits, attempt.clock),
            journal: Journal::new(sink, attempt.clock),
            attempt,
            environment,
            progress: AskingProgress::default(),
            last_view: LastView::default(),
            advised,
            finish: None,
            steering: None,
        }
    }

    #[must_use]
    pub(super) fn steered_by(mut self, steering: &'a dyn Steering) -> Self {
        self.steering = Some(steering);
        self
    }

    fn observer(&mut self) -> Observer<'_, 'a> {
        Observer {
            attempt: &self.attempt,
            environment: self.environment,
            journal: &mut self.journal,
            budget: &self.budget,
            last_view: &mut self.last_view,
            advised: &mut self.advised,
        }
    }

    fn asking(&mut self) -> Asking<'_, 'a> {
        Asking {
            attempt: &self.attempt,
            journal: &mut self.journal,
            budget: &mut self.budget,
            conversation: &mut self.conversation,
            progress: &mut self.progress,
            last_view: &mut self.last_view,
            finish: &mut self.finish,
        }
    }

    fn batch(&mut self) -> Batch<'_, 'a> {
        Batch {
            attempt: &self.attempt,
            environment: self.environment,
            journal: &mut self.journal,
            budget: &mut self.budget,
            conversation: &mut self.conversation,
            last_view: &mut self.last_view,
            finish: &mut self.finish,
        }
    }

    async fn execute(&mut self) -> Stop {
        let instruction = self.attempt.brief.instruction.clone();
        match self.open(&instruction).await {
            Ok(view) => self.run(view).await,
            Err(stop) => stop,
        }
    }

    /// Asks and acts until something stops the attempt.
    /// The future is boxed: crates that run attempts or sessions would each compile all of it again.
    fn run(&mut self, mut view: ModelView) -> BoxFuture<'_, Stop> {
        Box::pin(async move {
            loop {
                match self.follow_person().await {
                    Ok(Some(next)) => view = next,
                    Ok(None) => {}
                    Err(stop) => return stop,
                }
                match self.turn(&view).await {
                    Ok(Some(next)) => view = next,
                    Ok(None) => {}
                    Err(stop) => return stop,
                }
            }
        })
    }

    /// Takes the first observation and builds the first user message.
    async fn open(&mut self, instruction: &str) -> Result<ModelView, Stop> {
        let view = self.observer().observe().await?;
        let (advised, events) = prompt::opening(self.attempt.guidance, self.attempt.model.profile());
        let mut opening = vec![prompt::task(instruction)];
        if advised.is_empty() {
            self.journal.emit_all(events.to_vec())?;
        } else {
            let advice = prompt::advice(advised);
            self.journal.deliver_with(advised, &advice, events.to_vec())?;
            opening.push(advice);
        }
        let below = self.advice(&view).await?;
        self.conversation.open(opening, self.contents(&view), below);
        Ok(view)
    }

    /// Observes the world, which others may have changed, and adds an instruction to the conversation.
    async fn instruct(&mut self, instruction: Content) -> Result<ModelView, Stop> {
        let view = self.observer().observe().await?;
        let below = self.advice(&view).await?;
        self.conversation.instruct(instruction, self.contents(&view), below);
        Ok(view)
    }

    /// Returns what the guidance adds below a view.
    async fn advice(&mut self, view: &ModelView) -> Result<Option<Content>, Stop> {
        self.asking().ask_about_advice(&view.observation).await?;
        self.observer().refresh(view)
    }

    fn contents(&self, view: &ModelView) -> Vec<Content> {
        view.contents(self.attempt.model.profile().outline)
    }

    /// Carries out a person's orders until the model may go on. Returns the new view after actions of the person.
    async fn follow_person(&mut self) -> Result<Option<ModelView>, Stop> {
        let Some(steering) = self.steering else { return Ok(None) };
        let mut person = Person {
            steering,
            attempt: &self.attempt,
            environment: self.environment,
            journal: &mut self.journal,
            budget: &mut self.budget,
        };
        let actions = person.follow().await?;
        if actions == 0 {
            return Ok(None);
        }
        // What the model was shown is no basis for a list of changes: others made them.
        self.last_view = LastView::Unlisted(WholeListReason::Person);
        let notice = prompt::person(actions);
        let view = self.observer().observe().await?;
        let below = self.advice(&view).await?;
        self.journal.notice(&notice)?;
        self.conversation.instruct(notice, self.contents(&view), below);
        Ok(Some(view))
    }

    /// Runs one model turn with its batch of calls. Returns the new observation when a call touched the world.
    async fn turn(&mut self, view: &ModelView) -> Result<Option<ModelView>, Stop> {
        if let Some(reason) = self.budget.reached() {
            return Err(Stop::at_limit(reason));
        }
        let reply = self.asking().ask().await?;
        if reply.calls.is_empty() {
            self.asking().handle_text_reply(&reply)?;
            self.journal.next_step();
            return Ok(None);
        }
        let warning = self.asking().check_repeats(&reply, view)?;
        let mut turn = self.batch().answer(&reply.calls, view).await?;
        if let Some(stop) = turn.stop {
            // The model is not asked again, but the results still belong to its calls in the conversation.
            self.conversation.push(Message::Results { results: turn.results, notices: Vec::new() });
            return Err(stop);
        }
        self.asking().count_usable(!turn.all_unusable, &reply.calls)?;
        self.journal.next_step();
        let mut notices: Vec<Content> = warning.into_iter().collect();
        let Some(index) = turn.last_world_call else {
            self.conversation.push(Message::Results { results: turn.results, notices });
            return Ok(None);
        };
        let next = match self.observer().observe().await {
            Ok(next) => next,
            Err(stop) => {
                // Without a view the results still belong to their calls, should a further turn follow.
                self.conversation.push(Message::Results { results: turn.results, notices });
                return Err(stop);
            }
        };
        turn.results[index].content.extend(self.contents(&next));
        notices.extend(self.advice(&next).await?);
        self.conversation.push_view(Message::Results { results: turn.results, notices });
        Ok(Some(next))
    }

    /// Records the only `stopped` event, with everything that was used.
    pub(super) fn end(mut self, stop: Stop, spent: ResourceUsage) -> AttemptResult {
        let Stop { mut how, mut detail, lasting } = stopped_by_person(stop, self.steering);
        let (reason, void) = (how.ok(), how.err());
        let stopped = EventKind::Stopped { reason, void, detail: detail.clone(), spent };
        // An attempt whose trace could not be written to its end must not be judged.
        if let Err(unwritten) = self.journal.emit(stopped)
            && how.is_ok()
        {
            Stop { how, detail, .. } = unwritten;
        }
        let (delivered_chars, skills_viewed) = self.journal.into_deliveries();
        AttemptResult {
            stop: how,
            finish: self.finish,
            detail,
            lasting,
            spent,
            delivered_chars,
            skills_viewed,
            estimated: self.progress.is_estimated(),
            provider_model: self.progress.into_provider_model(),
            conversation: self.conversation.into_request(),
        }
    }

    /// Returns what has been used since the attempt, or the turn of a session, began.
    pub(super) fn spent(&self) -> ResourceUsage {
        self.budget.spent()
    }

    pub(super) fn finish(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    pub(super) fn emit(&mut self, kind: EventKind) -> Result<(), Stop> {
        self.journal.emit(kind)
    }

    /// Gives a turn of a session limits of its own.
    pub(super) fn begin_turn(&mut self, cancel: CancellationToken) {
        self.attempt.cancel = cancel;
        self.budget = Budget::new(self.attempt.brief.limits, self.attempt.clock);
        self.progress.begin_turn();
        self.finish = None;
    }

    /// Carries out one instruction of a session. `opened` is set once the conversation has its first message.
    pub(super) async fn take_turn(&mut self, start: TurnStart, opened: &mut bool) -> Stop {
        let instruction = start.instruction.clone();
        if let Err(stop) = self.emit(EventKind::TurnStarted(start)) {
            return stop;
        }
        let view = if *opened {
            self.instruct(prompt::follow_up(&instruction)).await
        } else {
            self.open(&instruction).await
        };
        match view {
            Ok(view) => {
                *opened = true;
                self.run(view).await
            }
            Err(stop) => stop,
        }
    }

    pub(super) fn end_turn(&mut self, ended: EventKind) -> Result<(), Stop> {
        let written = self.journal.emit(ended);
        self.journal.next_step();
        written
    }
}
