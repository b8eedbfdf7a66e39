//! One served episode: a world with a task in it, from its opening to its end.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Clock, EnvironmentSource, Judged, Observation, StopReason, TreeBudget, Verdict, VoidCause, Want, World,
};
use apprentice_tasks::check::{AttemptEnding, judge_with_compat};
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::broken::Broken;
use super::fork::{PlayedStep, Screen};
use super::opening::{EpisodePlan, PoolTasks, Reward};
use super::record::{EpisodeRecord, EpisodeStore, scratch};
use super::refusal::Refusal;
use super::step_body::SessionStep;
use crate::step::{perform_actions, reply};

/// A remote machine may need to be reserved, reset and booted; a cell times out much earlier.
const OPEN_DEADLINE: Duration = Duration::from_secs(1800);
const SETUP_DEADLINE: Duration = Duration::from_secs(600);
const STEP_DEADLINE: Duration = Duration::from_secs(600);
const CHECK_DEADLINE: Duration = Duration::from_secs(300);
const CLOSE_DEADLINE: Duration = Duration::from_secs(20);

/// What all episodes of a pool share.
pub(crate) struct PoolContext {
    pub(crate) tasks: PoolTasks,
    pub(crate) source: Arc<dyn EnvironmentSource>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Option<Arc<dyn EpisodeStore>>,
    /// Worlds that are being closed.
    pub(crate) closing: TaskTracker,
}

/// How an episode stands.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Running,
    Terminated,
    Truncated,
    /// The world broke.
    Void(String),
}

/// An episode.
pub(crate) struct ServedEpisode {
    context: Arc<PoolContext>,
    pub(crate) plan: EpisodePlan,
    pub(crate) name: String,
    pub(crate) phase: Phase,
    pub(crate) step_count: u32,
    pub(crate) verdict: Option<Judged>,
    /// The reward of the last step.
    pub(crate) reward: Option<f64>,
    /// The steps, for a fork.
    pub(crate) played: Vec<PlayedStep>,
    /// What the screen showed at first and shows now, for a fork.
    pub(crate) first: Screen,
    screen: Screen,
    /// The sum of the rewards.
    given: f64,
    begun: Duration,
    cache: TempDir,
    world: Option<World>,
    record: Option<EpisodeRecord>,
}

/// What a step is answered with.
#[derive(Debug, Serialize)]
pub(crate) struct Stepped {
    pub(crate) observation: Value,
    pub(crate) reports: Value,
    pub(crate) reward: Option<f64>,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    pub(crate) step_count: u32,
    pub(crate) verdict: Option<Judged>,
}

impl ServedEpisode {
    /// Opens a world and sets the task up in it. Returns the first observation too. After an error no world is open.
    pub(crate) async fn open(context: Arc<PoolContext>, plan: EpisodePlan) -> Result<(Self, Value), Refusal> {
        let cache = tempfile::tempdir()
            .map_err(|error| Refusal::void(format!("no folder for the task's files: {error}")))?;
        let name = plan.name.clone().unwrap_or_else(|| super::id("ep"));
        let store = context.store.clone();
        let record = store.map(|store| EpisodeRecord::begin(&*store, &context.clock, &plan, &name));
        let record = record.transpose().map_err(|broken| broken.refusal())?;
        let begun = context.clock.mono();
        let mut episode = Self {
            context,
            plan,
            name,
            phase: Phase::Running,
            step_count: 0,
            verdict: None,
            reward: None,
            played: Vec::new(),
            first: Screen::default(),
            screen: Screen::default(),
            given: 0.0,
            begun,
            cache,
            world: None,
            record,
        };
        match episode.begin().await {
            Ok(observation) => Ok((episode, observation)),
            Err(broken) => {
                let refusal = episode.broke(&broken);
                episode.close().await;
                Err(refusal)
            }
        }
    }

    async fn begin(&mut self) -> Result<Value, Broken> {
        let clock = Arc::clone(&self.context.clock);
        let begun = clock.mono();
        let opening = self.context.source.open(&self.plan.task.varied.world);
        let world = tokio::time::timeout(OPEN_DEADLINE, opening)
            .await
            .map_err(|_| late(VoidCause::WorldStart, "opening the world", OPEN_DEADLINE))??;
        let world = self.world.insert(world);
        if let Some(record) = &mut self.record {
            record.opened(world.isolation, clock.mono().saturating_sub(begun))?;
        }
        let task = self.plan.task.world(&*world.machine, &*clock, self.cache.path());
        let steps = tokio::time::timeout(SETUP_DEADLINE, task.set_up())
            .await
            .map_err(|_| late(VoidCause::Setup, "the setup", SETUP_DEADLINE))??;
        if let Some(record) = &mut self.record {
            steps.into_iter().try_for_each(|step| record.setup(step.index, step.step, step.took))?;
        }
        self.begun = clock.mono();
        let observed = tokio::time::timeout(STEP_DEADLINE, self.observe())
            .await
            .map_err(|_| late(VoidCause::WorldLost, "the first look", STEP_DEADLINE))??;
        let told = self.told(observed);
        self.first = self.screen.clone();
        Ok(told)
    }

    /// Observes the world, for the record too.
    async fn observe(&mut self) -> Result<Observation, Broken> {
        let begun = self.context.clock.mono();
        // The trace keeps what a person needs who reads it, whatever the client takes.
        let kept = self.record.is_some();
        let want = Want {
            screenshot: self.plan.screenshot || kept,
            tree: (self.plan.outline || kept).then(TreeBudget::default),
        };
        let world = self.world.as_mut().ok_or_else(closed)?;
        let observed = world.environment.observe(want).await?;
        let screen = world.machine.offers().screen;
        if let Some(record) = &mut self.record {
            record.observed(&observed, screen, self.context.clock.mono().saturating_sub(begun))?;
        }
        Ok(observed)
    }

    /// What the client gets of an observation.
    fn told(&mut self, observed: Observation) -> Value {
        let screen = self.world.as_ref().and_then(|world| world.machine.offers().screen);
        let shown = Observation {
            screenshot: observed.screenshot.filter(|_| self.plan.screenshot),
            tree: observed.tree.filter(|_| self.plan.outline),
            ..observed
        };
        let reply = reply(Vec::new(), shown, screen);
        self.screen = Screen::of(&reply);
        let mut told = json!(reply);
        if let Value::Object(fields) = &mut told {
            fields.remove("reports");
        }
        told
    }

    fn check_running(&self) -> Result<(), Refusal> {
        let ended = |how: &str| {
            let why = format!("the episode {:?} has ended ({how}): reset the session for another", self.name);
            Err(Refusal::conflict("episode_ended", why))
        };
        match &self.phase {
            Phase::Running => Ok(()),
            Phase::Terminated => ended("terminated"),
            Phase::Truncated => ended("truncated"),
            Phase::Void(why) => ended(&format!("void: {why}")),
        }
    }

    /// Carries out a step. A fault of the world ends the episode as void.
    pub(crate) async fn step(&mut self, asked: SessionStep) -> Result<Stepped, Refusal> {
        self.check_running()?;
        let carried = tokio::time::timeout(STEP_DEADLINE + CHECK_DEADLINE, self.carry_out(asked)).await;
        let late = || Err(late(VoidCause::WorldLost, "the step", STEP_DEADLINE));
        carried.unwrap_or_else(|_| late()).map_err(|broken| {
            let refusal = self.broke(&broken);
            self.close_aside();
            refusal
        })
    }

    async fn carry_out(&mut self, asked: SessionStep) -> Result<Stepped, Broken> {
        let clock = Arc::clone(&self.context.clock);
        let begun = clock.mono();
        let world = self.world.as_mut().ok_or_else(closed)?;
        let reports = perform_actions(&mut *world.environment, &*clock, asked.actions()).await?;
        let ending = asked.ending();
        if let Some(record) = &mut self.record {
            let (finish, took) =
                (ending.as_ref().map(|ending| &ending.1), clock.mono().saturating_sub(begun));
            record.acted(asked.actions(), &reports, finish, took)?;
        }
        let observed = self.observe().await?;
        let observation = self.told(observed);
        self.step_count += 1;
        let played = PlayedStep::of(&asked, &reports, &self.screen, &self.played);
        self.played.push(played);
        let reports = json!(reports);
        let is_late = self.plan.max_time.is_some_and(|most| clock.mono().saturating_sub(self.begun) >= most);
        let (end, phase) = match ending {
            Some((ending, _)) => (Some((stop_of(&ending), ending)), Phase::Terminated),
            None if self.step_count >= self.plan.max_steps => {
                (Some((StopReason::StepLimit, AttemptEnding::Ended)), Phase::Truncated)
            }
            None if is_late => (Some((StopReason::WorkingTimeLimit, AttemptEnding::Ended)), Phase::Truncated),
            None => (None, Phase::Running),
        };
        self.reward = match end {
            Some((stop, ending)) => Some(self.end(stop, ending, phase).await?),
            None if self.plan.reward == Reward::Step => {
                let score = self.look(AttemptEnding::Ended).await?.score;
                Some(self.gained(score))
            }
            None => None,
        };
        Ok(Stepped {
            observation,
            reports,
            reward: self.reward,
            terminated: matches!(self.phase, Phase::Terminated),
            truncated: matches!(self.phase, Phase::Truncated),
            step_count: self.step_count,
            verdict: self.verdict.clone(),
        })
    }

    /// Judges the episode at its end, and returns the last reward.
    async fn end(&mut self, stop: StopReason, ending: AttemptEnding, phase: Phase) -> Result<f64, Broken> {
        let ending = ending.redacted(&self.plan.task.redactor);
        let kept = self.record.as_ref().map(|record| record.evidence(&self.plan, &ending)).transpose()?;
        let judged = match kept {
            Some(folder) => self.collect(ending, &folder).await?,
            None => self.look(ending).await?,
        };
        if let Some(record) = &mut self.record {
            record.judged(stop, &judged)?;
        }
        let reward = self.gained(judged.score);
        (self.verdict, self.phase) = (Some(judged), phase);
        self.close_aside();
        Ok(reward)
    }

    /// The change of the score since the last reward.
    fn gained(&mut self, score: f64) -> f64 {
        let gained = score - self.given;
        self.given = score;
        gained
    }

    /// Judges the world as it stands, without keeping the evidence.
    async fn look(&mut self, ending: AttemptEnding) -> Result<Judged, Broken> {
        let folder = scratch(self.cache.path())?;
        self.collect(ending, folder.path()).await
    }

    async fn collect(&mut self, ending: AttemptEnding, folder: &std::path::Path) -> Result<Judged, Broken> {
        let (task, clock) = (&self.plan.task, &*self.context.clock);
        let machine = Arc::clone(&self.world.as_ref().ok_or_else(closed)?.machine);
        let task_world = task.world(&*machine, clock, self.cache.path());
        let collected = tokio::time::timeout(CHECK_DEADLINE, task_world.collect(clock.mono(), folder))
            .await
            .map_err(|_| late(VoidCause::EvidenceMissing, "collecting the evidence", CHECK_DEADLINE))??;
        let spec = &task.varied.task.evaluator;
        let judged = judge_with_compat(spec, &collected, &ending, task.options.compat);
        match judged.verdict {
            Verdict::Void => Err(Broken::new(VoidCause::CheckCrashed, judged.explanation)),
            Verdict::Pass | Verdict::Fail => Ok(judged),
        }
    }

    /// The verdict: that of the end, or what the checks say now.
    pub(crate) async fn judge(&mut self) -> Result<Judged, Refusal> {
        if let Some(judged) = &self.verdict {
            return Ok(judged.clone());
        }
        self.check_running()?;
        let looked = self.look(AttemptEnding::Ended).await;
        looked.map_err(|broken| {
            let refusal = self.broke(&broken);
            self.close_aside();
            refusal
        })
    }

    /// The episode is void.
    fn broke(&mut self, broken: &Broken) -> Refusal {
        let refusal = broken.refusal();
        self.phase = Phase::Void(refusal.message.clone());
        if let Some(record) = &mut self.record {
            record.void(broken);
        }
        refusal
    }

    /// Closes the world, and finishes the record, while the client goes on.
    fn close_aside(&mut self) {
        let (world, record) = (self.world.take(), self.record.take());
        let clock = Arc::clone(&self.context.clock);
        self.context.closing.spawn(close(world, record, clock));
    }

    /// Closes the world of an episode that another takes the place of, while that one is opened.
    pub(crate) fn leave(mut self) -> JoinHandle<()> {
        let tracker = self.context.closing.clone();
        tracker.spawn(async move { self.close().await })
    }

    /// Closes the world, and finishes the record.
    pub(crate) async fn close(&mut self) {
        close(self.world.take(), self.record.take(), Arc::clone(&self.context.clock)).await;
    }
}

async fn close(world: Option<World>, record: Option<EpisodeRecord>, clock: Arc<dyn Clock>) {
    let begun = clock.mono();
    let closed = match world {
        Some(world) => world.environment.close(CLOSE_DEADLINE).await,
        None => Ok(()),
    };
    if let Err(error) = &closed {
        tracing::warn!(%error, "cannot close a world");
    }
    if let Some(record) = record {
        record.close(clock.mono().saturating_sub(begun), closed.is_err());
    }
}

fn closed() -> Broken {
    Broken::new(VoidCause::Internal, "the world is closed")
}

fn late(cause: VoidCause, what: &str, deadline: Duration) -> Broken {
    Broken::new(cause, format!("{what} took more than {} s", deadline.as_secs()))
}

fn stop_of(ending: &AttemptEnding) -> StopReason {
    match ending {
        AttemptEnding::Ended => StopReason::Done,
        AttemptEnding::Answered(_) => StopReason::Answered,
        AttemptEnding::GaveUp => StopReason::GaveUp,
    }
}
