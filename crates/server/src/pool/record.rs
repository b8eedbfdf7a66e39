//! The trace of a served episode, in the form in which a run's attempts are kept. Each step of a client stands in it as a turn: what was
//! seen, the acts it asked for as one call, and what came of each.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, ActionOutcome, ActionRecord, Call, CallBody, CallId, CallResult, Clock,
    CoordinateSpace, Delivery, EVENT_VERSION, EventKind, EventSink as _, Finish, Header, HistoryRule,
    ImagePoint, ImageRule, Isolation, Judged, Limits, MediaType, ModelProfile, Observation, ResourceUsage,
    ScreenPoint, SinkError, Size, State, StepId, StopReason, Target, TaskBrief, TextBudget, Timing, ToolRule,
    UiNode, Usage, View, ViewRule, VoidCause, outline,
};
use apprentice_secrets::contains_secret;
use apprentice_tasks::check::{AttemptEnding, JudgeInput};
use apprentice_trace::Recorder;
use jiff::Timestamp;

use super::broken::Broken;
use super::opening::EpisodePlan;

/// The name under which a served episode's model stands in rows: the program decides nothing, and its client does.
pub const CLIENT_MODEL: &str = "served/client";
/// Largest outline of a trace, in characters.
const OUTLINE: TextBudget = TextBudget(100_000);

/// What an episode is, for whoever keeps its attempt.
pub struct EpisodeStart {
    /// The task's id.
    pub task: String,
    /// The variation.
    pub seed: u32,
    /// The episode's name.
    pub episode: String,
    /// The most steps.
    pub max_steps: u32,
}

/// What came of an episode.
#[derive(Clone, Debug)]
pub struct EpisodeEnd {
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub wall: Duration,
    /// The time in which the world worked.
    pub working: Duration,
    /// Acts in the world.
    pub world_steps: u32,
    /// The client's steps.
    pub turns: u32,
    /// How the world was isolated.
    pub isolation: Isolation,
    /// Why it ended, unless it is void.
    pub stop: Option<StopReason>,
    /// The verdict, unless it is void.
    pub judged: Option<Judged>,
    /// Why it is void.
    pub void: Option<VoidCause>,
}

/// Keeps the attempts of served episodes.
pub trait EpisodeStore: Send + Sync {
    /// Makes the folder of an attempt.
    ///
    /// # Errors
    /// Says why it cannot be made.
    fn begin(&self, start: &EpisodeStart) -> Result<Box<dyn EpisodeFolder>, String>;
}

/// The folder of one attempt.
pub trait EpisodeFolder: Send + Sync {
    /// The attempt's own folder.
    fn attempt(&self) -> PathBuf;
    /// The folder of blobs.
    fn blobs(&self) -> PathBuf;
    /// The folder for what the check reads.
    fn evidence(&self) -> PathBuf;
    /// The program's version, and the hash of the prompts in use.
    fn program(&self) -> (String, String);
    /// Writes the attempt's row. Only then is the attempt finished.
    ///
    /// # Errors
    /// Says why it cannot be written.
    fn finish(self: Box<Self>, end: EpisodeEnd) -> Result<(), String>;
}

/// The record of an episode.
pub(crate) struct EpisodeRecord {
    recorder: Recorder,
    folder: Box<dyn EpisodeFolder>,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
    begun: Duration,
    step: u32,
    world_steps: u32,
    working: Duration,
    isolation: Isolation,
    seen: Option<Observation>,
    stop: Option<StopReason>,
    judged: Option<Judged>,
    void: Option<VoidCause>,
    stopped: bool,
}

impl EpisodeRecord {
    /// Begins the trace of an episode.
    pub(crate) fn begin(
        store: &dyn EpisodeStore,
        clock: &Arc<dyn Clock>,
        plan: &EpisodePlan,
        name: &str,
    ) -> Result<Self, Broken> {
        let task = &plan.task.varied.task;
        let start = EpisodeStart {
            task: task.id.as_str().to_owned(),
            seed: plan.seed,
            episode: name.to_owned(),
            max_steps: plan.max_steps,
        };
        let folder = store.begin(&start).map_err(|why| Broken::new(VoidCause::Internal, why))?;
        // The password that a task gives is no secret: without it nobody could see from the trace what was done.
        let redactor = Arc::new(plan.task.redactor.keeping([task.instruction.as_str()]));
        let recorder = Recorder::create(&folder.attempt(), &folder.blobs(), Arc::clone(clock), redactor)?;
        let (program, prompt_hash) = folder.program();
        let mut record = Self {
            recorder,
            folder,
            clock: Arc::clone(clock),
            started_at: clock.now(),
            begun: clock.mono(),
            step: 0,
            world_steps: 0,
            working: Duration::ZERO,
            isolation: Isolation::None,
            seen: None,
            stop: None,
            judged: None,
            void: None,
            stopped: false,
        };
        let limits = Limits { world_steps: plan.max_steps, ..task.limits() };
        record.emit(EventKind::Started(Box::new(Header {
            version: EVENT_VERSION,
            program,
            brief: TaskBrief { id: task.id.clone(), instruction: task.instruction.clone(), limits },
            world: plan.task.varied.world.clone(),
            model: client_profile(),
            seed: Some(plan.task.varied.seed),
            prompt_hash,
        })))?;
        Ok(record)
    }

    fn emit(&mut self, kind: EventKind) -> Result<(), SinkError> {
        let step = (self.step > 0).then_some(StepId(self.step));
        self.recorder.emit(step, kind).map(drop)
    }

    /// The world is open.
    pub(crate) fn opened(&mut self, isolation: Isolation, took: Duration) -> Result<(), SinkError> {
        self.isolation = isolation;
        self.working += took;
        self.emit(EventKind::WorldOpened { isolation, took_ms: millis(took) })
    }

    /// A step of the task's setup was done.
    pub(crate) fn setup(&mut self, index: u32, step: String, took: Duration) -> Result<(), SinkError> {
        self.working += took;
        self.emit(EventKind::SetupDone { index, step, took_ms: millis(took) })
    }

    /// The world was seen.
    pub(crate) fn observed(
        &mut self,
        seen: &Observation,
        screen: Option<Size>,
        took: Duration,
    ) -> Result<(), SinkError> {
        self.working += took;
        let screen = screen.or(seen.screenshot.as_ref().map(|image| image.size));
        let view = screen.map_or_else(|| View::whole(Size { width: 1, height: 1 }), View::whole);
        let screenshot = seen.screenshot.as_ref().map(|image| {
            let extension = match image.media {
                MediaType::Png => "png",
                MediaType::Jpeg => "jpg",
                MediaType::Webp => "webp",
            };
            self.recorder.keep(&image.bytes.0, extension)
        });
        let outlined = seen.tree.as_ref().map(|tree| outline(tree, &view, OUTLINE));
        let outlined = outlined.map(|text| self.recorder.keep(text.as_str().as_bytes(), "txt"));
        let focused =
            seen.tree.as_ref().and_then(|tree| tree.nodes.iter().rfind(|node| node.is(State::Focused)));
        self.emit(EventKind::Observed {
            title: seen.title().to_owned(),
            focused: focused.map(|node| format!("{} {:?}", node.role.as_str(), node.name)),
            screenshot: screenshot.transpose()?,
            outline: outlined.transpose()?,
            shown: None,
            view,
            secrets: seen.tree.as_ref().map(|tree| tree.secret_places(contains_secret)),
            took_ms: millis(took),
        })?;
        self.seen = Some(Observation { screenshot: None, ..seen.clone() });
        Ok(())
    }

    /// The client asked for acts, and these came of it.
    pub(crate) fn acted(
        &mut self,
        actions: &[Action<ScreenPoint>],
        reports: &[ActReport],
        finish: Option<&Finish>,
        took: Duration,
    ) -> Result<(), SinkError> {
        self.step += 1;
        self.working += took;
        let call = |kind: &str| CallId::new(format!("{kind}_{}", self.step));
        let (acts, end) = (call("act"), call("end"));
        let asked: Vec<Action<ImagePoint>> = actions.iter().cloned().map(in_picture).collect();
        let mut calls = Vec::new();
        if !asked.is_empty() {
            calls.push(Call { id: acts.clone(), body: CallBody::World { actions: asked.clone() } });
        }
        calls.extend(finish.map(|finish| Call { id: end, body: CallBody::Finish(finish.clone()) }));
        self.emit(EventKind::ModelReplied {
            raw: Vec::new(),
            say: Vec::new(),
            thoughts: Vec::new(),
            calls,
            usage: Usage::default(),
            timing: Timing::default(),
            cost_usd: None,
            provider_model: None,
            request_bytes: 0,
            estimated: false,
        })?;
        let outcomes: Vec<ActionOutcome> = (0..actions.len()).map(|at| outcome(reports.get(at))).collect();
        for (index, ((action, asked), outcome)) in (0..).zip(actions.iter().zip(asked).zip(&outcomes)) {
            let was_sent = *outcome != ActionOutcome::NotExecuted;
            self.world_steps += u32::from(was_sent && !action.is_observation_only());
            let target = self.target(action);
            let record = ActionRecord {
                call: acts.clone(),
                index,
                asked,
                sent: was_sent.then(|| action.clone()),
                line: None,
                target_role: target.map(|node| node.role.as_str().to_owned()),
                target_name: target.map(|node| node.name.clone()),
                point: point(action, target),
                outcome: outcome.clone(),
            };
            self.emit(EventKind::Action(Box::new(record)))?;
        }
        if !outcomes.is_empty() {
            let answered =
                CallResult { id: acts, per_action: outcomes, content: Vec::new(), is_error: false };
            self.emit(EventKind::CallAnswered(answered))?;
        }
        finish.map_or(Ok(()), |finish| self.emit(EventKind::Finished(finish.clone())))
    }

    /// The element that an action names, as far as the last view shows it.
    fn target(&self, action: &Action<ScreenPoint>) -> Option<&UiNode> {
        match action.target()? {
            Target::Ref(node) => self.seen.as_ref()?.tree.as_ref()?.get(node),
            Target::Point(_) => None,
        }
    }

    /// The folder for what the check reads, with the check that is asked in it.
    pub(crate) fn evidence(&self, plan: &EpisodePlan, ending: &AttemptEnding) -> Result<PathBuf, Broken> {
        let folder = self.folder.evidence();
        let spec = plan.task.varied.task.evaluator.clone();
        let asked = JudgeInput { compat: plan.task.options.compat, ..JudgeInput::new(spec, ending.clone()) };
        asked
            .save(&folder)
            .map_err(|error| Broken::new(VoidCause::EvidenceMissing, crate::episode::chain(&error)))?;
        Ok(folder)
    }

    /// The episode ended, and was judged.
    pub(crate) fn judged(&mut self, stop: StopReason, judged: &Judged) -> Result<(), SinkError> {
        self.stop(Some(stop), None, String::new())?;
        self.emit(EventKind::Judged(judged.clone()))?;
        (self.stop, self.judged) = (Some(stop), Some(judged.clone()));
        Ok(())
    }

    /// The episode is void.
    pub(crate) fn void(&mut self, broken: &Broken) {
        self.void = Some(broken.cause);
        if let Err(error) = self.stop(None, Some(broken.cause), broken.message.clone()) {
            tracing::warn!(%error, "cannot record the end of an episode");
        }
    }

    fn stop(
        &mut self,
        reason: Option<StopReason>,
        void: Option<VoidCause>,
        detail: String,
    ) -> Result<(), SinkError> {
        if std::mem::replace(&mut self.stopped, true) {
            return Ok(());
        }
        let spent = ResourceUsage {
            world_steps: self.world_steps,
            turns: self.step,
            working_ms: millis(self.working),
            ..ResourceUsage::default()
        };
        self.emit(EventKind::Stopped { reason, void, detail, spent })
    }

    /// The world is closed: writes the trace to the disk, and then the row.
    pub(crate) fn close(mut self, took: Duration, killed: bool) {
        if !self.stopped {
            let broken = Broken::new(VoidCause::Interrupted, "the client left before the end of the episode");
            self.void(&broken);
        }
        let closed = self.emit(EventKind::WorldClosed { took_ms: millis(took), killed });
        if let Err(error) = closed.and_then(|()| self.recorder.sync()) {
            // A trace that may not be on disk cannot be judged.
            tracing::warn!(%error, "cannot record an episode");
            self.void.get_or_insert(error.void_cause());
        }
        let end = EpisodeEnd {
            started_at: self.started_at,
            wall: self.clock.mono().saturating_sub(self.begun),
            working: self.working,
            world_steps: self.world_steps,
            turns: self.step,
            isolation: self.isolation,
            stop: self.stop.filter(|_| self.void.is_none()),
            judged: self.judged.filter(|_| self.void.is_none()),
            void: self.void,
        };
        if let Err(error) = self.folder.finish(end) {
            tracing::warn!(%error, "cannot write the row of an episode");
        }
    }
}

/// Makes room for the evidence of a judgement that is not kept.
pub(crate) fn scratch(cache: &Path) -> Result<tempfile::TempDir, Broken> {
    tempfile::tempdir_in(cache).map_err(|error| Broken::new(VoidCause::Internal, error.to_string()))
}

fn outcome(report: Option<&ActReport>) -> ActionOutcome {
    match report {
        None => ActionOutcome::NotExecuted,
        Some(report) => match &report.delivery {
            Delivery::Delivered => ActionOutcome::Done { text: report.text.clone() },
            Delivery::Refused { problem } => ActionOutcome::Failed { problem: problem.clone() },
        },
    }
}

fn point(action: &Action<ScreenPoint>, target: Option<&UiNode>) -> Option<ScreenPoint> {
    match action.target()? {
        Target::Point(at) => Some(*at),
        Target::Ref(_) => {
            let bounds = target?.bounds?;
            Some(ScreenPoint { x: bounds.x + bounds.width / 2, y: bounds.y + bounds.height / 2 })
        }
    }
}

/// An act on a picture that has the size of the screen.
fn in_picture(action: Action<ScreenPoint>) -> Action<ImagePoint> {
    let point = |at: ScreenPoint| -> Result<ImagePoint, std::convert::Infallible> {
        Ok(ImagePoint::new(f64::from(at.x), f64::from(at.y)))
    };
    match action.try_map(&point) {
        Ok(action) => action,
        Err(never) => match never {},
    }
}

/// The client as a model: it sees pictures and outlines as they are.
fn client_profile() -> ModelProfile {
    ModelProfile {
        name: CLIENT_MODEL.into(),
        consumer: CLIENT_MODEL.into(),
        space: CoordinateSpace::ImagePixels,
        images: ImageRule::None,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::AppendOnly { max_request_bytes: 1 << 30, uploads: false, context: None },
        tools: ToolRule::Fixed,
        max_output_tokens: 4096,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
