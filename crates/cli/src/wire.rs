//! The composition root: the one place that turns names into models and worlds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::arm::{ArmError, Lender};
use apprentice_evaluator::run::{Lend, Lent, ModelSource, RunDeps, RunError, RunPlan, TrialSpec};
use apprentice_harness::env::browser::{BrowserSandbox, BrowserSource};
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource};
use apprentice_harness::env::scene::SceneSource;
use apprentice_harness::env::vm::{Place, VmConfig, VmSource};
use apprentice_protocol::{
    Clock, EnvironmentKind, EnvironmentSource, PortFuture, World, WorldError, WorldFault, WorldSpec,
};
use apprentice_results::arm::Arm;
use apprentice_sandbox::{self, CellIsolation, CellSpec};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, IsolationChoice, Machines, SandboxChoice, WorldChoice};
use crate::failure::{Failure, Kind, Kinded as _};
use crate::models::Models;
use crate::{surroundings, terminal};

/// The hidden argument under which this program serves as a cell's first process.
pub(crate) const CELL: &str = "cell-supervisor";

/// How long work that nobody waits for any more may hold up the end of a command.
const LAST_WORK: Duration = Duration::from_secs(5);

/// The runtime that everything waits on.
pub(crate) struct Engine(Option<Runtime>);

impl Engine {
    /// Waits for the whole of a command.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let runtime = self.0.as_ref().ok_or_else(|| Failure::say(Kind::Bug, "the runtime has ended"))?;
        runtime.block_on(work)
    }
}

impl Drop for Engine {
    /// What still blocks a thread then, a read from a file system that hangs say, is not waited for for ever.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(LAST_WORK);
        }
    }
}

/// The runtime of a command.
pub(crate) fn runtime() -> Result<Engine, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().kind(Kind::Bug)?;
    Ok(Engine(Some(runtime)))
}

/// Makes models by these settings; shared by everything that a command asks models for.
pub(crate) fn models(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<Models>, Failure> {
    Models::new(config, clock).map(Arc::new)
}

/// Worlds of every kind, each opened by its own source.
struct Worlds {
    desktop: DesktopSource,
    browser: BrowserSource,
    scene: SceneSource,
    vm: Option<VmSource>,
    /// Whether desktop tasks run on machines.
    elsewhere: bool,
    concessions: Vec<String>,
}

impl EnvironmentSource for Worlds {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> PortFuture<'a, Result<World, WorldError>> {
        match (spec.environment, &self.vm) {
            (EnvironmentKind::Vm, Some(vm)) => vm.open(spec),
            (EnvironmentKind::Desktop, Some(vm)) if self.elsewhere => vm.open(spec),
            (EnvironmentKind::Desktop, _) => self.desktop.open(spec),
            (EnvironmentKind::Browser, _) => self.browser.open(spec),
            (EnvironmentKind::Scene, _) => self.scene.open(spec),
            (EnvironmentKind::Vm, None) => {
                let story = "no machine is known: set vm.url or vm.reset, or give --vm-url or --vm-reset";
                Box::pin(std::future::ready(Err(WorldError::new(WorldFault::Start, story))))
            }
            (EnvironmentKind::Host, _) => {
                let story = format!("worlds of kind {:?} are not offered by this command", spec.environment);
                Box::pin(std::future::ready(Err(WorldError::new(WorldFault::Start, story))))
            }
        }
    }
    fn concessions(&self) -> Vec<String> {
        self.concessions.clone()
    }
}

/// The sources of worlds; clears first what dead owners left.
pub(crate) fn worlds(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    let state = state(config);
    let program = std::env::current_exe().kind(Kind::Bug)?;
    let isolation = match config.isolation {
        IsolationChoice::Cell => CellIsolation::Bubblewrap,
        IsolationChoice::Plain => CellIsolation::Plain,
    };
    if let Err(error) = apprentice_sandbox::reap(&state) {
        terminal::note(format_args!(
            "{}: what an earlier run left could not be cleared: {error}",
            state.display()
        ));
    }
    let argument = CELL.to_owned();
    let cell = CellSpec {
        screen: None,
        isolation,
        program: program.clone(),
        argument: argument.clone(),
        state: state.clone(),
        golden: None,
    };
    let browser = ["chromium", "google-chrome", "chromium-browser"];
    let browser =
        browser.into_iter().find(|name| surroundings::find_program(name).is_some()).unwrap_or("chromium");
    let (sandbox, no_sandbox) = match config.browser_sandbox {
        SandboxChoice::On => (BrowserSandbox::On, None),
        SandboxChoice::Off => (BrowserSandbox::Off, Some("browser_sandbox: off".to_owned())),
    };
    let vm = machines(&config.vm, Arc::clone(&clock))?;
    let elsewhere = config.world == WorldChoice::Vm;
    if elsewhere && vm.is_none() {
        let failure = Failure::say(Kind::Config, "world is vm, and no machine is known");
        return Err(failure.hint("set vm.url or vm.reset, or give --vm-url or --vm-reset"));
    }
    let moved = elsewhere.then(|| "world: vm".to_owned());
    let vms = vm.as_ref().filter(|_| elsewhere).map(EnvironmentSource::concessions).unwrap_or_default();
    let plain = (isolation == CellIsolation::Plain).then(|| "isolation: plain".to_owned());
    let desktop = DesktopConfig { isolation, program, argument, state, golden: None };
    Ok(Arc::new(Worlds {
        desktop: DesktopSource::new(desktop, Arc::clone(&clock)),
        browser: BrowserSource { cell, program: browser.into(), sandbox, clock },
        scene: SceneSource::default(),
        vm,
        elsewhere,
        concessions: plain.into_iter().chain(no_sandbox).chain(moved).chain(vms).collect(),
    }))
}

/// The machines that are known by address or by the command that makes them.
fn machines(set: &Machines, clock: Arc<dyn Clock>) -> Result<Option<VmSource>, Failure> {
    let places: Result<Vec<Place>, _> =
        set.url.split(',').map(str::trim).filter(|place| !place.is_empty()).map(str::parse).collect();
    let places = places.map_err(|error| Failure::say(Kind::Config, format!("vm.url: {error}")))?;
    let line = |line: &String| Some(line.clone()).filter(|line| !line.trim().is_empty());
    let config = VmConfig {
        places,
        reset: line(&set.reset),
        release: line(&set.release),
        machines: set.machines,
        reset_within: Duration::from_secs(set.reset_s),
        ready_within: Duration::from_secs(set.ready_s),
    };
    let known = !config.places.is_empty() || config.reset.is_some();
    Ok(known.then(|| VmSource::new(config, clock)))
}

/// The folder of run-time state: as set, else in the user's run-time folder, else one of the user's own in
/// the temporary folder. Root's run-time folder is closed to the users that root's cells run as.
fn state(config: &Config) -> PathBuf {
    if !config.state.as_os_str().is_empty() {
        return config.state.clone();
    }
    let user = rustix::process::geteuid();
    let runtime = surroundings::variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| path.is_dir() && !user.is_root()) {
        Some(runtime) => runtime.join("apprentice"),
        None => surroundings::temporary().join(format!("apprentice-{user}")),
    }
}

/// A token that the first interrupt or request to terminate cancels; the second one ends the process at once.
///
/// They are heard by a thread of its own, which lives as long as the process: whatever else may hang, a second
/// interrupt is obeyed.
pub(crate) fn cancel_on_interrupt() -> CancellationToken {
    let cancel = CancellationToken::new();
    let (token, (ready, listening)) = (cancel.clone(), std::sync::mpsc::channel());
    let thread = std::thread::Builder::new().name("interrupts".into()).spawn(move || {
        let heard = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Err(error) = heard.and_then(|runtime| runtime.block_on(hear(&token, &ready))) {
            terminal::note(format_args!("interrupts are not heard: {error}"));
        }
    });
    match thread {
        // The thread has let go of its end, or listens.
        Ok(_) => drop(listening.recv()),
        Err(error) => terminal::note(format_args!("interrupts are not heard: {error}")),
    }
    cancel
}

async fn hear(token: &CancellationToken, ready: &std::sync::mpsc::Sender<()>) -> std::io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut requests = signal(SignalKind::terminate())?;
    // Nobody may be waiting any more.
    let _ = ready.send(());
    for heard_before in [false, true] {
        tokio::select! {
            _ = interrupts.recv() => {}
            _ = requests.recv() => {}
        }
        if heard_before {
            surroundings::end_now();
        }
        terminal::note(format_args!("stopping; once more to end at once"));
        token.cancel();
    }
    Ok(())
}

/// What a run needs of the outside.
pub(crate) fn deps(
    config: &Config,
    clock: Arc<dyn Clock>,
    lend: Lend,
    models: &Arc<Models>,
) -> Result<RunDeps, Failure> {
    let worlds = worlds(config, Arc::clone(&clock))?;
    let redactor = models.redactor()?;
    let models: Arc<dyn ModelSource> = Arc::clone(models) as _;
    Ok(RunDeps { models, worlds, clock, lend, redactor, reading: config.reading(), cpu: cores() })
}

/// What a book lends to each trial, by the trial's arm.
pub(crate) fn lend(lender: Lender) -> Lend {
    Arc::new(move |trial: &TrialSpec| {
        let loan = Arm::parse(&trial.arm).map_err(ArmError::from);
        let loan = loan.and_then(|arm| lender.lend(arm, &trial.task, trial.seed));
        // Plans hold eligible trials only, so that there is always a loan.
        loan.map_or_else(|_| Lent::default(), Lent::from)
    })
}

/// A run that stopped short, as a failed command.
pub(crate) fn run_failure(error: RunError) -> Failure {
    let kind = match &error {
        RunError::Plan(_) => Kind::NothingMatched,
        RunError::Store(_) => Kind::Environment,
        RunError::Crashed(_) => Kind::Bug,
        RunError::Model { .. } => Kind::Model,
        RunError::NoTask(_) | RunError::Vary { .. } | RunError::Script { .. } | RunError::Drift(_) => {
            Kind::Config
        }
    };
    Failure::new(kind, error)
}

/// The plan of a run's folder.
pub(crate) fn plan_of(folder: &Path) -> Result<RunPlan, Failure> {
    let path = folder.join("run.json");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", path.display())))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", path.display())))
}

/// How many worlds may be active at once.
pub(crate) fn jobs(config: &Config) -> usize {
    match config.jobs {
        0 => cores() * 2,
        jobs => jobs,
    }
}

/// How many cores there are.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A folder name from the time of day.
pub(crate) fn stamp(clock: &dyn Clock) -> String {
    clock.now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Waits until a program has shown a window.
pub(crate) async fn await_window(
    machine: &dyn apprentice_protocol::Machine,
    clock: &dyn Clock,
) -> Result<(), Failure> {
    const DEADLINE: Duration = Duration::from_secs(30);
    const FLOOR: Duration = Duration::from_millis(50);
    let began = clock.mono();
    while clock.mono() - began < DEADLINE {
        if !machine.windows().await.kind(Kind::Environment)?.is_empty() {
            return Ok(());
        }
        clock.pause(FLOOR, apprentice_protocol::Why::PollFloor).await;
    }
    Err(Failure::say(Kind::Environment, "the program showed no window within 30 s"))
}
