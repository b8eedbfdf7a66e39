//! Executes one attempt: open, set up, act, collect, judge, close, sync - on every path to its end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_control::{LiveSink, LiveTrial};
use apprentice_harness::agent::{self, AttemptInput, AttemptResult};
use apprentice_learning::reflect::Conversation;
use apprentice_protocol::{
    ChatModel, ChatRequest, EVENT_VERSION, EventKind, EventSink, Header, Isolation, Judged, Machine,
    ResourceUsage, SkillEvent, SkillEventKind, SkillId, Steering as _, TaskBrief, Verdict, VoidCause, World,
};
use apprentice_skillbook::KnownVersions;
use apprentice_trace::{Recorder, Redactor};
use futures_util::FutureExt as _;
use tokio::sync::SemaphorePermit;

use super::check_watch::{CheckWatch, WatchedEnvironment};
use super::context::RunContext;
use super::conversation;
use super::plan::{Conversations, TrialSpec};
use super::void::Void;
use crate::app_versions::AppVersions;
use crate::arms::ArmError;
use crate::arms::guidance::ArmGuidance;
use crate::task_apps::apps_of;
use apprentice_runs::layout::{CACHE_FOLDER, EVIDENCE_FOLDER};
use apprentice_runs::row::JudgeUse;
use apprentice_tasks::check::{
    AttemptEnding, CheckedState, CollectError, Evidence, JudgeInput, judge_with_compat,
};
use apprentice_tasks::task_world::TaskWorld;
use apprentice_tasks::variation::TaskVariation;

/// A remote machine may need to be reserved, reset and booted; a cell times out much earlier.
const OPEN_DEADLINE: Duration = Duration::from_secs(1800);
const SETUP_DEADLINE: Duration = Duration::from_secs(600);
const CHECK_DEADLINE: Duration = Duration::from_secs(300);
const CLOSE_DEADLINE: Duration = Duration::from_secs(20);
/// The time left for judging an attempt whose agent has finished when the run is cancelled.
const JUDGING_GRACE: Duration = Duration::from_secs(10);

/// The inputs of one attempt.
pub(super) struct AttemptExecution<'a> {
    pub(super) context: &'a RunContext,
    pub(super) trial: &'a TrialSpec,
    pub(super) varied: &'a TaskVariation,
    pub(super) model: &'a dyn ChatModel,
    pub(super) guidance: Result<&'a ArmGuidance, &'a ArmError>,
    pub(super) folder: PathBuf,
    /// What watchers see of the attempt, and what persons order.
    pub(super) live: &'a LiveTrial,
}

/// The outcome of an attempt.
pub(super) struct AttemptOutcome {
    pub(super) ended: Option<AttemptResult>,
    pub(super) judged: Option<Judged>,
    /// What the model took that compared the answer.
    pub(super) judge: Option<JudgeUse>,
    pub(super) void: Option<Void>,
    pub(super) isolation: Isolation,
    /// Time spent waiting for a permit or a rate limit.
    pub(super) idle: Duration,
}

/// The event for a skill hidden from the trial's task.
fn suppression_event(skill: &SkillId) -> SkillEvent {
    SkillEvent {
        happening: SkillEventKind::Suppressed,
        skill: Some(skill.clone()),
        version: None,
        rank: None,
        detail: None,
        text: None,
        delivered_chars: 0,
    }
}

impl AttemptExecution<'_> {
    /// Executes the attempt. On every path, the world is closed and the trace gets exactly one `stopped` event.
    pub(super) async fn execute(&self) -> AttemptOutcome {
        let mut done = AttemptOutcome {
            ended: None,
            judged: None,
            judge: None,
            void: None,
            isolation: Isolation::None,
            idle: Duration::ZERO,
        };
        let deps = &self.context.deps;
        let blobs = self.context.folder.blobs();
        let recorder = Recorder::create(&self.folder, &blobs, deps.clock.clone(), Arc::new(self.redactor()));
        let mut recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => {
                tracing::error!(%error, "cannot create the trace");
                done.void = Some(error.into());
                return done;
            }
        };
        let mut world = None;
        let acted =
            AssertUnwindSafe(self.run_phases(&mut recorder, &mut world, &mut done)).catch_unwind().await;
        let acted = acted.unwrap_or_else(|_| {
            let cause = if done.ended.is_some() { VoidCause::CheckCrashed } else { VoidCause::Internal };
            Err(Void::new(cause, "panic around the agent; the message of the panic is on standard error"))
        });
        if let Err(void) = acted {
            let void = self.stopped_by_person(void);
            // The line of its row says the same to a person.
            tracing::info!(trial = %self.trial.trial, cause = ?void.cause, error = %void.message, "void attempt");
            if done.ended.is_none() {
                stop(&mut recorder, &void);
            }
            done.void = Some(void);
        }
        if let Ok(ArmGuidance { servers: Some(servers), .. }) = self.guidance {
            servers.leave().await;
        }
        if let Some(world) = world {
            self.close(world, &mut recorder).await;
        }
        if let Err(error) = recorder.sync() {
            // A trace that may not be on disk cannot be judged.
            done.void.get_or_insert(error.into());
        }
        done
    }

    async fn run_phases(
        &self,
        recorder: &mut Recorder,
        slot: &mut Option<World>,
        done: &mut AttemptOutcome,
    ) -> Result<(), Void> {
        let header = self.header();
        recorder.emit(None, EventKind::Started(Box::new(header.clone())))?;
        let given = self.guidance?;
        for skill in &given.suppressed {
            recorder.emit(None, EventKind::Skill(suppression_event(skill)))?;
        }
        // A run cancelled while waiting here does not begin the attempt.
        let permit = self.unless_cancelled(self.permit(done)).await??;
        let world = slot.insert(self.open(recorder).await?);
        done.isolation = world.isolation;
        self.set_up(world.machine.as_ref(), recorder).await?;
        let (mut versions, known) = (AppVersions::default(), &given.known_versions);
        let querying = self.query_versions(&mut versions, known, world.machine.as_ref(), recorder);
        self.unless_cancelled(querying).await??;
        drop(permit);
        if let Some(servers) = &given.servers {
            servers.enter(world.machine.clone());
        }
        let clock = self.context.deps.clock.as_ref();
        let header_seed = header.seed;
        let attempt = AttemptInput {
            brief: &header.brief.clone(),
            model: self.model,
            guidance: &given.guidance,
            tools: &[],
            clock,
            header,
            seed: header_seed,
            cancel: self.live.cancel().clone(),
        };
        let begun = clock.mono();
        let mut ended = self.act(attempt, world, recorder).await;
        self.save_conversation(std::mem::take(&mut ended.conversation));
        let took = clock.mono().saturating_sub(begun);
        done.idle += took.saturating_sub(Duration::from_millis(ended.spent.working_ms));
        let stopped = ended.stop;
        let ended = done.ended.insert(ended);
        let ending = match stopped {
            Ok(stop) => AttemptEnding::of(stop, ended.finish.as_ref()),
            Err(cause) => {
                let lasting = ended.lasting;
                return Err(Void { lasting, ..Void::new(cause, ended.detail.clone()) });
            }
        };
        // After a cancellation, the user waits only for the verdict.
        if !self.live.cancel().is_cancelled() {
            self.query_versions(&mut versions, known, world.machine.as_ref(), recorder).await?;
        }
        // A finished attempt is judged even when the run is cancelled, unless judging takes too long.
        let judged = self.with_grace(self.permitted_check(world.machine.as_ref(), ending, done)).await??;
        recorder.emit(None, EventKind::Judged(judged.clone()))?;
        if judged.verdict == Verdict::Void {
            return Err(Void::new(VoidCause::CheckCrashed, judged.explanation));
        }
        done.judged = Some(judged);
        Ok(())
    }

    /// Lets the agent work, and records for each step whether something that the checks read changed in it, if that is
    /// cheap to know.
    async fn act(
        &self,
        attempt: AttemptInput<'_>,
        world: &mut World,
        recorder: &mut Recorder,
    ) -> AttemptResult {
        let machine = world.machine.clone();
        let mut recorder = LiveSink::new(recorder, self.live);
        let state = CheckedState::of(&self.varied.task.evaluator, machine.as_ref());
        if state.is_empty() {
            return agent::run_steered(attempt, world.environment.as_mut(), &mut recorder, self.live).await;
        }
        let (watch, mut sink) = CheckWatch::new(state, machine.as_ref(), &mut recorder);
        let mut environment = WatchedEnvironment { environment: world.environment.as_mut(), watch };
        let ended = agent::run_steered(attempt, &mut environment, &mut sink, self.live).await;
        if ended.stop.is_ok() {
            environment.watch.look().await;
            if let Err(error) = sink.flush() {
                // The verdict cannot be recorded either, which makes the attempt void.
                tracing::warn!(%error, "cannot record what the checks read");
            }
        }
        ended
    }

    /// An attempt that a person stopped is void by that person, and not by an interrupt of the process.
    fn stopped_by_person(&self, void: Void) -> Void {
        match (void.cause, self.live.stopped_by()) {
            (VoidCause::Interrupted, Some(by)) => {
                Void::new(VoidCause::StoppedByPerson, format!("{by} stopped the trial"))
            }
            _ => void,
        }
    }

    /// Queries the versions of the task's programs and of the programs with open windows. They stay unknown without
    /// a result.
    async fn query_versions(
        &self,
        versions: &mut AppVersions,
        known: &KnownVersions,
        machine: &dyn Machine,
        recorder: &mut Recorder,
    ) -> Result<(), Void> {
        let domains = apps_of(&self.varied.task);
        if let Some(event) = versions.query(machine, &domains).await {
            known.record(&event);
            recorder.emit(None, event)?;
        }
        Ok(())
    }

    /// Removes secrets from the attempt's records. The password that a task gives is none: without it, nobody could see from the
    /// trace what was done.
    fn redactor(&self) -> Redactor {
        self.context.deps.redactor.keeping([self.varied.task.instruction.as_str()])
    }

    /// Saves the conversation if the plan asks for it. A failure is only logged: the attempt is complete without
    /// it.
    fn save_conversation(&self, request: ChatRequest) {
        if self.context.folder.plan().conversations == Conversations::Dropped {
            return;
        }
        let conversation = Conversation { model: self.model.profile().name.clone(), request };
        if let Err(error) = conversation::save(conversation, &self.folder, &self.redactor()) {
            tracing::warn!(%error, folder = %self.folder.display(), "cannot save a conversation");
        }
    }

    fn header(&self) -> Header {
        let task = &self.varied.task;
        let plan = self.context.folder.plan();
        let limits = plan.limits_of(self.trial, task.limits());
        Header {
            version: EVENT_VERSION,
            program: plan.program.clone(),
            brief: TaskBrief { id: task.id.clone(), instruction: task.instruction.clone(), limits },
            world: self.varied.world.clone(),
            model: self.model.profile().clone(),
            seed: Some(plan.seed_of(self.trial, self.varied.seed)),
            prompt_hash: agent::prompt_hash(),
        }
    }

    /// Acquires a permit for starting, setting up or checking a world. The wait counts as idle time.
    async fn permit(&self, done: &mut AttemptOutcome) -> Result<SemaphorePermit<'_>, Void> {
        let begun = self.context.deps.clock.mono();
        let permit = self.context.permits.acquire().await;
        done.idle += self.context.deps.clock.mono().saturating_sub(begun);
        permit.map_err(|_| Void::new(VoidCause::Internal, "the permits were closed"))
    }

    /// Waits for work that a cancellation does not end at once, but limits it to [`JUDGING_GRACE`] from then on.
    async fn with_grace<T>(&self, work: impl Future<Output = T>) -> Result<T, Void> {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            worked = &mut work => return Ok(worked),
            () = self.live.cancel().cancelled() => {}
        }
        let message = || {
            format!("the run was stopped, and judging did not finish within {} s", JUDGING_GRACE.as_secs())
        };
        let worked = tokio::time::timeout(JUDGING_GRACE, work).await;
        worked.map_err(|_| Void::new(VoidCause::Interrupted, message()))
    }

    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Void> {
        tokio::select! {
            biased;
            () = self.live.cancel().cancelled() => {
                Err(Void::new(VoidCause::Interrupted, "the run was stopped from outside"))
            }
            worked = work => Ok(worked),
        }
    }

    /// Waits for work that ends on cancellation or at a deadline.
    async fn within<T>(
        &self,
        deadline: Duration,
        late: VoidCause,
        work: impl Future<Output = T>,
    ) -> Result<T, Void> {
        let worked = self.unless_cancelled(tokio::time::timeout(deadline, work)).await?;
        worked.map_err(|_| Void::new(late, format!("timed out after {} s", deadline.as_secs())))
    }

    async fn open(&self, recorder: &mut Recorder) -> Result<World, Void> {
        let begun = self.context.deps.clock.mono();
        let opening = self.context.deps.worlds.open(&self.varied.world);
        let world = self.within(OPEN_DEADLINE, VoidCause::WorldStart, opening).await??;
        let opened = EventKind::WorldOpened { isolation: world.isolation, took_ms: self.since(begun) };
        match recorder.emit(None, opened) {
            Ok(_) => Ok(world),
            Err(error) => {
                if let Err(second) = world.environment.close(CLOSE_DEADLINE).await {
                    tracing::warn!(%second, "cannot close a world");
                }
                Err(error.into())
            }
        }
    }

    async fn set_up(&self, machine: &dyn Machine, recorder: &mut Recorder) -> Result<(), Void> {
        let cache = self.cache();
        std::fs::create_dir_all(&cache)
            .map_err(|error| Void::new(VoidCause::Internal, format!("{}: {error}", cache.display())))?;
        let world = self.task_world(machine, &cache);
        for step in self.within(SETUP_DEADLINE, VoidCause::Setup, world.set_up()).await?? {
            let took_ms = u64::try_from(step.took.as_millis()).unwrap_or(u64::MAX);
            recorder.emit(None, EventKind::SetupDone { index: step.index, step: step.step, took_ms })?;
        }
        Ok(())
    }

    fn cache(&self) -> PathBuf {
        self.folder.join(CACHE_FOLDER)
    }

    fn task_world<'w>(&'w self, machine: &'w dyn Machine, cache: &'w Path) -> TaskWorld<'w> {
        TaskWorld {
            varied: self.varied,
            machine,
            clock: self.context.deps.clock.as_ref(),
            suite_root: &self.context.suite.root,
            options: &self.context.deps.reading,
            redactor: &self.context.deps.redactor,
            cache,
        }
    }

    async fn permitted_check(
        &self,
        machine: &dyn Machine,
        ending: AttemptEnding,
        done: &mut AttemptOutcome,
    ) -> Result<Judged, Void> {
        let permit = self.permit(done).await?;
        let (asked, mut evidence) = self.collect(machine, ending).await?;
        // Waiting for a model needs no permit.
        drop(permit);
        let begun = self.context.deps.clock.mono();
        let task = &self.varied.task.instruction;
        let compared = self.context.compare_answer(self.trial, task, &asked, &mut evidence).await;
        done.judge = compared.map_err(|why| Void::new(VoidCause::CheckCrashed, why))?;
        done.idle += self.context.deps.clock.mono().saturating_sub(begun);
        if done.judge.is_some() {
            evidence.redact(&self.context.deps.redactor);
            evidence.save(&self.folder.join(EVIDENCE_FOLDER)).map_err(CollectError::from)?;
        }
        tracing::debug!(ending = ?asked.ending, "judging");
        Ok(judge_with_compat(&asked.spec, &evidence, &asked.ending, asked.compat))
    }

    /// Collects the evidence.
    async fn collect(
        &self,
        machine: &dyn Machine,
        ending: AttemptEnding,
    ) -> Result<(JudgeInput, Evidence), Void> {
        let ended = self.context.deps.clock.mono();
        let spec = &self.varied.task.evaluator;
        let (cache, kept) = (self.cache(), self.folder.join(EVIDENCE_FOLDER));
        let compat = self.context.deps.reading.compat;
        let ending = ending.redacted(&self.context.deps.redactor);
        let asked = JudgeInput { compat, ..JudgeInput::new(spec.clone(), ending) };
        let world = self.task_world(machine, &cache);
        let work = async {
            asked.save(&kept).map_err(CollectError::from)?;
            Ok::<_, Void>(world.collect(ended, &kept).await?)
        };
        let evidence = tokio::time::timeout(CHECK_DEADLINE, work).await.map_err(|_| {
            let message = format!("collecting the evidence timed out after {} s", CHECK_DEADLINE.as_secs());
            Void::new(VoidCause::EvidenceMissing, message)
        })??;
        Ok((asked, evidence))
    }

    async fn close(&self, mut world: World, recorder: &mut Recorder) {
        let begun = self.context.deps.clock.mono();
        let connections = world.environment.take_connections();
        if !connections.is_empty()
            && let Err(error) = recorder.emit(None, EventKind::Connections(connections))
        {
            tracing::warn!(%error, "cannot record the connections of a world");
        }
        let closed = AssertUnwindSafe(world.environment.close(CLOSE_DEADLINE)).catch_unwind().await;
        let killed = !matches!(closed, Ok(Ok(())));
        let event = EventKind::WorldClosed { took_ms: self.since(begun), killed };
        if let Err(error) = recorder.emit(None, event) {
            tracing::warn!(%error, "cannot record the closing of a world");
        }
    }

    fn since(&self, begun: Duration) -> u64 {
        let took = self.context.deps.clock.mono().saturating_sub(begun);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Records the one `stopped` event of an attempt whose agent did not record its own.
fn stop(recorder: &mut Recorder, void: &Void) {
    let stopped = EventKind::Stopped {
        reason: None,
        void: Some(void.cause),
        detail: void.message.clone(),
        spent: ResourceUsage::default(),
    };
    if let Err(error) = recorder.emit(None, stopped) {
        tracing::warn!(%error, "cannot record the end of an attempt");
    }
}
