//! `apprentice worker`: carries out trials of a queue.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::{RunPlan, drift};
use apprentice_fleet::{
    ArtifactError, Artifacts, DEFAULT_LEASE, Database, PrepareRun, Prepared, RunRecord, UnfitRun, Worker,
    WorkerLimits, build_of,
};
use apprentice_protocol::{BoxFuture, EnvironmentKind, RunId};
use apprentice_runs::layout::BOOK_FOLDER;
use apprentice_tasks::suite::requirements::{HostCapabilities, missing};
use apprentice_tasks::task::Task;
use clap::Args;

use super::leader::LeaderHere;
use super::metered_models::MeteredModels;
use crate::commands::run::{BroughtFiles, BroughtRun, ParseCommand, brought, brought_measurement};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::queue_access::{QueueAddress, patient_store_settings};
use crate::runs::run_progress::RunProgress;
use crate::settings::config::Config;
use crate::settings::overrides::Overrides;
use crate::{process_env, terminal, wire};

/// Programs without which this machine has no desktops.
const DESKTOP: [&str; 3] = ["Xvfb", "openbox", "dbus-daemon"];
/// The file that a living worker locks in its folder.
const LOCK: &str = "worker.lock";

/// How long a run is left to others when something that it needs does not answer.
const RETRY: Duration = Duration::from_secs(120);

/// Takes trials from a queue and carries them out, until it is interrupted or drained. Start as many as you like.
#[derive(Debug, Args)]
pub(crate) struct WorkerCommand {
    #[command(flatten)]
    queue: QueueAddress,
    /// The worker's name, which no other has [default: made of the process and a random number].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What this worker has besides worlds and programs, for trials with --needs; may be repeated.
    #[arg(long, value_name = "NAME")]
    offers: Vec<String>,
    /// End when no trial that this worker could carry out waits or runs.
    #[arg(long)]
    until_done: bool,
    /// Seconds without a sign of life after which others take over the worker's trials.
    #[arg(long, value_name = "S", default_value_t = DEFAULT_LEASE.as_secs(), value_parser = clap::value_parser!(u64).range(5..=3600))]
    lease: u64,
    /// The folder for attempts under way [default: below this user's state].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// Makes runs of the queue ready on this machine.
struct Preparation {
    name: String,
    folder: PathBuf,
    flags: Overrides,
    parse: ParseCommand,
    database: Arc<Database>,
    offers: Vec<String>,
    has_vm: bool,
    /// The program of browser worlds.
    browser: String,
}

/// The folder of a worker, locked while it lives.
struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes the folder of a worker, and removes those of workers that no longer live.
    fn open(root: &Path, name: &str) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::say(Kind::Environment, format!("{}: {error}", root.display()));
        std::fs::create_dir_all(root).map_err(failed)?;
        for entry in std::fs::read_dir(root).map_err(failed)? {
            let folder = entry.map_err(failed)?.path();
            let lock = OpenOptions::new().write(true).open(folder.join(LOCK));
            // A folder whose lock is free belongs to nobody; one without a lock is not ours.
            if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                std::fs::remove_dir_all(&folder).map_err(failed)?;
            }
        }
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK));
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(_) => Err(Failure::say(Kind::Usage, format!("a worker named {name:?} runs on this machine"))
                .hint("give this one another --name")),
        }
    }
}

/// Runs `worker`.
pub(super) fn run(
    arguments: &WorkerCommand,
    flags: &Overrides,
    config: &Config,
    parse: ParseCommand,
) -> Result<(), Failure> {
    let name = arguments.name.clone().unwrap_or_else(process_env::unique_name);
    if name.is_empty()
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        || name.starts_with('.')
    {
        return Err(Failure::say(Kind::Usage, format!("{name:?} is no name of a worker"))
            .hint("use letters, digits, -, _ and ."));
    }
    let root = match &arguments.scratch {
        Some(folder) => folder.clone(),
        None => process_env::lasting_state().kind(Kind::Environment)?.join("workers"),
    };
    let scratch = Scratch::open(&root, &name)?;
    let limits = WorkerLimits {
        name: name.clone(),
        build: build_of(env!("CARGO_PKG_VERSION"), &apprentice_harness::agent::prompt_hash()),
        jobs: wire::jobs(config),
        cpu: wire::cores(),
        lease: Duration::from_secs(arguments.lease),
        retry: RETRY,
        until_done: arguments.until_done,
    };
    let preparation = Preparation {
        name: name.clone(),
        folder: scratch.folder.clone(),
        flags: flags.clone(),
        parse,
        database: Arc::new(arguments.queue.database()?),
        offers: arguments.offers.clone(),
        browser: wire::browser_program(config),
        has_vm: !config.vm.url.is_empty() || !config.vm.reset.trim().is_empty(),
    };
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(false).await?;
        let mut display = RunProgress::show(false);
        let (control, _socket) = display.offer(config, "worker");
        terminal::note(format_args!("worker {name} of {}", queue.database().address()));
        let attempts = scratch.folder.join("attempts");
        let leader = LeaderHere::new(flags, parse, Arc::clone(&preparation.database));
        let worker = Worker::new(queue, limits, Box::new(preparation), attempts, control);
        let worker = worker.leading(Box::new(leader));
        let ended = worker.run().await;
        drop(worker);
        display.finish().await;
        ended.map_err(wire::run_failure)
    })?;
    let Scratch { folder, .. } = &scratch;
    std::fs::remove_dir_all(folder)
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", folder.display())))
}

impl Preparation {
    async fn ready(&self, record: &RunRecord) -> Result<Prepared, Failure> {
        let plan: RunPlan = serde_json::from_str(&record.plan).kind(Kind::Config)?;
        let artifacts =
            Artifacts::open(&record.artifacts, &patient_store_settings()).kind(Kind::Environment)?;
        artifacts.check(&self.name).await.kind(Kind::Environment)?;
        let folder = self.run_folder(&plan.run);
        let (suite, book) = (folder.join("suite"), folder.join(BOOK_FOLDER));
        artifacts.get_files(&record.suite_list, &suite).await.map_err(unusable)?;
        if let Some(list) = &record.book_list {
            artifacts.get_files(list, &book).await.map_err(unusable)?;
        }
        let book = record.book_list.as_ref().map(|_| book);
        let suite = suite.join(&record.suite_path);
        let prerequisites = record.guidance.as_ref().map(|_| folder.join("before"));
        let ready = match (&record.guidance, &prerequisites) {
            (Some(guidance), Some(place)) => {
                let guidance = artifacts.get(guidance).await.map_err(unusable)?;
                let guidance = serde_json::from_slice(&guidance).kind(Kind::Config)?;
                let files = BroughtFiles { suite, book, guidance, prerequisites: place.clone() };
                brought_measurement(&plan, &files, &self.flags, self.parse)?
            }
            _ => brought(&plan, suite, book, &self.flags, self.parse)?,
        };
        let mut changed = drift(&plan, &ready.current);
        changed.extend(ready.deps.model_drift(&plan).await);
        if ready.deps.worlds.concessions() != plan.concessions {
            changed.push("isolation of worlds".to_owned());
        }
        if !changed.is_empty() {
            let failure = format!("differs from the plan here: {}", changed.join(", "));
            return Err(Failure::say(Kind::Config, failure)
                .hint("give this worker the program, settings and models of the submitter"));
        }
        let lacking = self.lacking(&plan, &ready);
        if !lacking.is_empty() {
            let failure = format!(
                "needs what this machine lacks: {}",
                lacking.into_iter().collect::<Vec<_>>().join("; ")
            );
            return Err(
                Failure::say(Kind::Config, failure).hint("install it here; `apprentice doctor` helps")
            );
        }
        let inner = Arc::clone(&ready.deps.models);
        let mut deps = ready.deps;
        deps.models =
            Arc::new(MeteredModels { inner, database: Arc::clone(&self.database), learns_for: None });
        Ok(Prepared { plan: Arc::new(plan), suite: ready.current.suite, deps, artifacts, prerequisites })
    }

    /// Where the files of a run are on this machine.
    fn run_folder(&self, run: &RunId) -> PathBuf {
        self.folder.join("runs").join(run.as_str())
    }

    /// What the cells of this machine lack of what the run's tasks need.
    fn lacking(&self, plan: &RunPlan, ready: &BroughtRun) -> BTreeSet<String> {
        let here = HostCapabilities {
            has_program: &process_env::is_in_cell,
            mirror: ready.deps.reading.mirror.as_ref(),
            may_reach: &|named, host| ready.network.allows(named, host),
            has_judge: true,
        };
        let planned: BTreeSet<&str> = plan.trials.iter().map(|trial| trial.task.as_str()).collect();
        let tasks = planned.into_iter().filter_map(|task| ready.current.suite.task(task));
        let in_cell = |task: &&Task| match task.environment() {
            EnvironmentKind::Desktop => !ready.on_vm,
            kind => kind == EnvironmentKind::Browser,
        };
        tasks.filter(in_cell).flat_map(|task| missing(task, &here).cell).collect()
    }

    fn has(&self, need: &str) -> bool {
        match need.split_once(':') {
            Some(("world", "scene")) => true,
            Some(("world", "browser")) => process_env::is_in_cell(&self.browser),
            Some(("world", "desktop")) => DESKTOP.iter().all(|name| process_env::is_in_cell(name)),
            Some(("world", "vm")) => self.has_vm,
            _ => self.offers.iter().any(|offer| offer == need),
        }
    }
}

/// A store may answer again; what was damaged in it stays so.
fn unusable(error: ArtifactError) -> Failure {
    let kind = match &error {
        ArtifactError::Foreign { .. } | ArtifactError::List { .. } => Kind::Config,
        _ => Kind::Environment,
    };
    Failure::new(kind, error)
}

impl PrepareRun for Preparation {
    fn prepare<'a>(&'a self, record: &'a RunRecord) -> BoxFuture<'a, Result<Prepared, UnfitRun>> {
        Box::pin(async move {
            self.ready(record).await.map_err(|failure| {
                terminal::note(format_args!("this worker leaves a run to others: {failure}"));
                // The store or a model may answer again.
                let passing = matches!(failure.kind, Kind::Environment | Kind::Model);
                UnfitRun { why: format!("{failure:#}"), passing }
            })
        })
    }

    fn offers(&self, need: &str) -> bool {
        self.has(need)
    }

    fn forget(&self, run: &RunId) {
        let folder = self.run_folder(run);
        if let Err(error) = std::fs::remove_dir_all(&folder) {
            terminal::note(format_args!("cannot remove {}: {error}", folder.display()));
        }
    }
}
