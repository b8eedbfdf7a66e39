//! The composition root: builds models, worlds and the dependencies of runs from the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::run::{GuidanceFactory, ModelSource, RunDeps, RunError, StoreError, TrialSpec};
use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource, Sight};
use apprentice_harness::env::scene::SceneSource;
use apprentice_harness::env::vm::{MachineAddress, VmConfig, VmSource};
use apprentice_harness::env::warm_pool::WarmPool;
use apprentice_protocol::{
    BoxFuture, Clock, EnvironmentKind, EnvironmentSource, Size, World, WorldError, WorldErrorKind, WorldSpec,
};
use apprentice_sandbox::{self, CellIsolation, CellLimits, CellSpec, NetworkPolicy};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::container::Engine;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::{
    Cells, Config, IsolationChoice, Machines, OnOff, PicturesChoice, ReuseChoice, SandboxChoice,
    ScriptChoice, WorldChoice,
};
use crate::{process_env, terminal};

/// The hidden argument with which this program starts as the first process of a cell.
pub(crate) const CELL: &str = "cell-supervisor";

/// How long abandoned work may delay the end of a command.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The async runtime of a command.
pub(crate) struct CommandRuntime(Option<Runtime>);

impl CommandRuntime {
    /// Runs a command's future to its end.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let runtime = self.0.as_ref().ok_or_else(|| Failure::say(Kind::Bug, "the runtime has ended"))?;
        runtime.block_on(work)
    }

    /// By which others run futures on it.
    #[cfg(feature = "fleet")]
    pub(crate) fn handle(&self) -> Result<tokio::runtime::Handle, Failure> {
        let runtime = self.0.as_ref().ok_or_else(|| Failure::say(Kind::Bug, "the runtime has ended"))?;
        Ok(runtime.handle().clone())
    }
}

impl Drop for CommandRuntime {
    /// Stops waiting for blocked threads after a while, for example for a read from a file system that hangs.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
    }
}

/// Creates the runtime of a command.
pub(crate) fn runtime() -> Result<CommandRuntime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().kind(Kind::Bug)?;
    Ok(CommandRuntime(Some(runtime)))
}

/// Creates the source of models for a command.
pub(crate) fn models(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<Models>, Failure> {
    Models::new(config, clock).map(Arc::new)
}

/// Opens worlds of every kind through the kind's own source.
struct Worlds {
    desktop: DesktopSource,
    browser: BrowserSource,
    scene: SceneSource,
    vm: Option<VmSource>,
    /// Whether desktop tasks run on VMs (`world = "vm"`).
    desktop_on_vm: bool,
    concessions: Vec<String>,
}

impl EnvironmentSource for Worlds {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        match (spec.environment, &self.vm) {
            (EnvironmentKind::Vm, Some(vm)) => vm.open(spec),
            (EnvironmentKind::Desktop, Some(vm)) if self.desktop_on_vm => vm.open(spec),
            (EnvironmentKind::Desktop, _) => self.desktop.open(spec),
            (EnvironmentKind::Browser, _) => self.browser.open(spec),
            (EnvironmentKind::Scene, _) => self.scene.open(spec),
            (EnvironmentKind::Vm, None) => {
                let message = "no VM is configured: set vm.url or vm.reset, or give --vm-url or --vm-reset";
                Box::pin(std::future::ready(Err(WorldError::new(WorldErrorKind::Start, message))))
            }
            (EnvironmentKind::Host, _) => {
                let message = format!(
                    "this command does not support the environment {}",
                    terminal::words(&spec.environment)
                );
                Box::pin(std::future::ready(Err(WorldError::new(WorldErrorKind::Start, message))))
            }
        }
    }
    fn concessions(&self) -> Vec<String> {
        self.concessions.clone()
    }
}

/// Says what stands in for namespaces, where worlds have none.
fn shared_isolation(choice: IsolationChoice) -> Result<Option<String>, Failure> {
    match choice {
        IsolationChoice::Cell => Ok(None),
        IsolationChoice::Plain => Ok(Some("isolation: plain".to_owned())),
        IsolationChoice::Container => match Engine::of_this_process() {
            Some(engine) => Ok(Some(format!("isolation: container ({})", engine.name()))),
            None => {
                let failure = Failure::say(
                    Kind::Environment,
                    "isolation is \"container\", and this runs in no container that is known here",
                );
                Err(failure.hint("leave it at \"cell\", or choose `--isolation plain` knowingly"))
            }
        },
    }
}

/// Creates the source of worlds. First removes the cells of processes that no longer run.
pub(crate) fn worlds(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    let worlds = sources(config, clock)?;
    Ok(match config.warm_worlds {
        0 => worlds,
        most => Arc::new(WarmPool::new(worlds, most, Box::new(apprentice_sandbox::has_headroom))),
    })
}

/// Creates the source of worlds of a server, which keeps so many ready however busy the machine is: they were asked for, and a
/// trainer keeps every processor busy.
pub(crate) fn ready_worlds(
    config: &Config,
    clock: Arc<dyn Clock>,
    most: usize,
) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    match most {
        0 => worlds(config, clock),
        most => Ok(Arc::new(WarmPool::new(sources(config, clock)?, most, Box::new(|| true)))),
    }
}

fn cell_isolation(choice: IsolationChoice) -> CellIsolation {
    match choice {
        IsolationChoice::Cell => CellIsolation::Bubblewrap,
        IsolationChoice::Container => CellIsolation::Container,
        IsolationChoice::Plain => CellIsolation::Plain,
    }
}

fn sources(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    let (state, limits) = (state(config)?, limits(&config.cell)?);
    let program = std::env::current_exe().kind(Kind::Bug)?;
    let isolation = cell_isolation(config.isolation);
    let shared = shared_isolation(config.isolation)?;
    let cell = CellSpec {
        screen: None,
        bare: false,
        isolation,
        program,
        argument: CELL.to_owned(),
        state,
        golden: None,
        limits,
        network: Vec::new(),
        folders: Vec::new(),
    };
    let browser = browser_program(config);
    let chosen = (!config.browser_program.is_empty()).then(|| format!("browser_program: {browser}"));
    let (sandbox, no_sandbox) = match config.browser_sandbox {
        SandboxChoice::On => (BrowserSandbox::On, None),
        SandboxChoice::Off => (BrowserSandbox::Off, Some("browser_sandbox: off".to_owned())),
    };
    let (scripts, with_scripts) = match config.page_scripts {
        ScriptChoice::On => (PageScripts::On, Some("page_scripts: on".to_owned())),
        ScriptChoice::Off => (PageScripts::Off, None),
    };
    let (pictures, by_protocol) = page_pictures(config, &browser);
    let (reuse, by_context) = browser_reuse(config)?;
    let vm = machines(&config.vm, Arc::clone(&clock))?;
    let desktop_on_vm = config.world == WorldChoice::Vm;
    if desktop_on_vm && vm.is_none() {
        let failure = Failure::say(Kind::Config, "the setting `world` is \"vm\", but no VM is configured");
        return Err(failure.hint("set vm.url or vm.reset, or give --vm-url or --vm-reset"));
    }
    let moved = desktop_on_vm.then(|| "world: vm".to_owned());
    let vms = vm.as_ref().filter(|_| desktop_on_vm).map(EnvironmentSource::concessions).unwrap_or_default();
    let network = config.network.clone();
    let connected = (network != NetworkPolicy::None).then(|| format!("network: {network}"));
    let desktop = desktop(config, &cell);
    Ok(Arc::new(Worlds {
        desktop: DesktopSource::new(desktop, Arc::clone(&clock)),
        browser: BrowserSource { cell, network, program: browser, sandbox, pictures, reuse, scripts, clock },
        scene: SceneSource::default(),
        vm,
        desktop_on_vm,
        concessions: shared
            .into_iter()
            .chain(chosen)
            .chain(no_sandbox)
            .chain(by_protocol)
            .chain(by_context)
            .chain(with_scripts)
            .chain(sight(config))
            .chain(connected)
            .chain(moved)
            .chain(vms)
            .collect(),
    }))
}

/// Whether all worlds are cells without a network.
pub(crate) fn has_sealed_worlds(config: &Config) -> bool {
    config.isolation != IsolationChoice::Plain
        && config.network == NetworkPolicy::None
        && config.world != WorldChoice::Vm
}

/// A page has one screen. All of them are shown by the same program.
const BARE_SCREEN: Size = Size::new(1, 1);

/// Programs of browser worlds, likeliest first.
pub(crate) const BROWSERS: &[&str] = &["chromium", "google-chrome", "chromium-browser"];

/// The program of browser worlds.
pub(crate) fn browser_program(config: &Config) -> String {
    let installed = || BROWSERS.iter().copied().find(|name| process_env::find_program(name).is_some());
    match config.browser_program.as_str() {
        "" => installed().unwrap_or("chromium"),
        chosen => chosen,
    }
    .to_owned()
}

/// Where pictures of pages come from, and what is to be recorded of it. That a browser without windows draws on no screen is
/// recorded with its name.
fn page_pictures(config: &Config, browser: &str) -> (PagePictures, Option<String>) {
    let windowless =
        Path::new(browser).file_name().is_some_and(|name| name.to_string_lossy().contains("headless"));
    let shows = || apprentice_sandbox::need_bare_display(&BARE_SCREEN.into()).is_ok();
    match config.browser_pictures {
        _ if windowless => (PagePictures::Protocol, None),
        PicturesChoice::Screen if shows() => (PagePictures::Screen, None),
        PicturesChoice::Screen | PicturesChoice::Protocol => {
            (PagePictures::Protocol, Some("browser_pictures: protocol".to_owned()))
        }
    }
}

/// Whether browsers serve several episodes, and what is to be recorded of it.
fn browser_reuse(config: &Config) -> Result<(BrowserReuse, Option<String>), Failure> {
    match (config.browser_reuse, config.isolation) {
        (ReuseChoice::Off, _) => Ok((BrowserReuse::off(), None)),
        (ReuseChoice::Context, IsolationChoice::Cell) => {
            Ok((BrowserReuse::contexts(), Some("browser_reuse: context".to_owned())))
        }
        (ReuseChoice::Context, _) => {
            let why = "browser_reuse is \"context\", which needs isolated worlds";
            let failure = Failure::say(Kind::Config, why);
            Err(failure.hint("set browser_reuse to \"off\", or leave isolation at \"cell\""))
        }
    }
}

/// What changes the views of models, as far as it is set.
fn sight(config: &Config) -> impl Iterator<Item = String> {
    let pointer = (config.pointer == OnOff::Off).then(|| "pointer: off".to_owned());
    let ocr = (config.ocr == OnOff::On).then(|| "ocr: on".to_owned());
    pointer.into_iter().chain(ocr)
}

/// What desktops need, in cells like this one.
fn desktop(config: &Config, cell: &CellSpec) -> DesktopConfig {
    DesktopConfig {
        isolation: cell.isolation,
        program: cell.program.clone(),
        argument: cell.argument.clone(),
        state: cell.state.clone(),
        golden: None,
        limits: cell.limits,
        network: config.network.clone(),
        sight: Sight { pointer: config.pointer == OnOff::On, ocr: config.ocr == OnOff::On },
    }
}

/// Creates the source of VMs from their addresses or their reset command; `None` without either.
fn machines(set: &Machines, clock: Arc<dyn Clock>) -> Result<Option<VmSource>, Failure> {
    let places: Result<Vec<MachineAddress>, _> =
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

/// Returns the folder of run-time state: the setting, else one that is this user's alone. Removes what dead processes left
/// in it and in others that were found.
fn state(config: &Config) -> Result<PathBuf, Failure> {
    let folders = state_folders(config)?;
    for folder in &folders {
        if let Err(error) = apprentice_sandbox::reap(folder) {
            let place = folder.display();
            terminal::note(format_args!("{place}: cannot remove the leftovers of an earlier run: {error}"));
        }
    }
    let first = folders.into_iter().next();
    first.ok_or_else(|| Failure::say(Kind::Bug, "no folder for the state of worlds was found"))
}

/// Returns the folders of run-time state, the one to use first.
pub(crate) fn state_folders(config: &Config) -> Result<Vec<PathBuf>, Failure> {
    if !config.state.as_os_str().is_empty() {
        return Ok(vec![config.state.clone()]);
    }
    process_env::world_state().map_err(|error| {
        let failure = Failure::say(Kind::Environment, format!("no folder for the state of worlds: {error}"));
        failure.hint("set `state` to a folder that only you can write to")
    })
}

/// The least of each limit with which a desktop starts: memory and sizes in MiB.
const LEAST: [(&str, u64); 4] =
    [("memory_mb", 512), ("processes", 200), ("shared_memory_mb", 64), ("files_mb", 64)];

/// Checks the limits of cells and returns them in bytes.
fn limits(set: &Cells) -> Result<CellLimits, Failure> {
    let values = [set.memory_mb, set.processes, set.shared_memory_mb, set.files_mb];
    if let Some(((name, least), value)) = LEAST.iter().zip(values).find(|((_, least), value)| value < least) {
        let failure =
            Failure::say(Kind::Config, format!("cell.{name} is {value}; no desktop starts with that"));
        return Err(failure.hint(format!("set it to {least} or more")));
    }
    let bytes = |mebibytes: u64| mebibytes.saturating_mul(1 << 20);
    Ok(CellLimits {
        memory: bytes(set.memory_mb),
        processes: set.processes,
        shared_memory: bytes(set.shared_memory_mb),
        files: bytes(set.files_mb),
    })
}

/// A signal that asks the program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// SIGINT, as from Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Returns a token that the first SIGINT or SIGTERM cancels. The second signal ends the process at once.
pub(crate) fn cancel_on_interrupt() -> CancellationToken {
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    on_stop_request(move |_| {
        if token.is_cancelled() {
            process_env::end_now();
        }
        terminal::note(format_args!("stopping; interrupt again to exit at once"));
        token.cancel();
    });
    cancel
}

/// Calls the handler for each SIGINT and SIGTERM. A command calls this once.
///
/// A dedicated thread handles the signals until the process ends, so that a second interrupt works even when the
/// rest of the program hangs.
pub(crate) fn on_stop_request(handler: impl FnMut(StopRequest) + Send + 'static) {
    let (ready, listening) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("interrupts".into()).spawn(move || {
        let heard = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Err(error) = heard.and_then(|runtime| runtime.block_on(listen_for_signals(handler, &ready))) {
            terminal::note(format_args!("cannot listen for interrupts: {error}"));
        }
    });
    match thread {
        // Returns once the thread listens or has failed.
        Ok(_) => drop(listening.recv()),
        Err(error) => terminal::note(format_args!("cannot listen for interrupts: {error}")),
    }
}

async fn listen_for_signals(
    mut handler: impl FnMut(StopRequest),
    ready: &std::sync::mpsc::Sender<()>,
) -> std::io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut requests = signal(SignalKind::terminate())?;
    // The receiver may be gone.
    let _ = ready.send(());
    loop {
        let request = tokio::select! {
            _ = interrupts.recv() => StopRequest::Interrupt,
            _ = requests.recv() => StopRequest::Terminate,
        };
        handler(request);
    }
}

/// Collects the dependencies of a run.
pub(crate) fn deps(
    config: &Config,
    guidance: GuidanceFactory,
    models: &Arc<Models>,
) -> Result<RunDeps, Failure> {
    let clock = Arc::clone(models.clock());
    let worlds = worlds(config, Arc::clone(&clock))?;
    let redactor = models.redactor()?;
    let models: Arc<dyn ModelSource> = Arc::clone(models) as _;
    Ok(RunDeps { models, worlds, clock, guidance, redactor, reading: config.reading(), cpu: cores() })
}

/// Returns a function that provides each trial with the guidance of its arm.
pub(crate) fn guidance(provider: GuidanceProvider) -> GuidanceFactory {
    Arc::new(move |trial: &TrialSpec| {
        provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed)
    })
}

/// Converts a run's error into a failure of the command.
pub(crate) fn run_failure(error: RunError) -> Failure {
    let kind = match &error {
        RunError::Plan(_) => Kind::NothingMatched,
        RunError::Store(error) => store_kind(error),
        RunError::Queue(_) => Kind::Environment,
        RunError::Crashed(_) => Kind::Bug,
        RunError::Model { .. } | RunError::Lasting { .. } => Kind::Model,
        RunError::NoTask(_) | RunError::Vary { .. } | RunError::Script { .. } | RunError::Drift(_) => {
            Kind::Config
        }
    };
    let rest = match &error {
        RunError::Lasting { folder, .. } => {
            Some(format!("mend that, then run what has no result: apprentice resume {}", folder.display()))
        }
        _ => None,
    };
    let failure = Failure::new(kind, error);
    rest.into_iter().fold(failure, |failure, hint| failure.hint(hint))
}

/// The kind of a failure to use a run's folder: its files are invalid, or they cannot be read or written.
pub(crate) fn store_kind(error: &StoreError) -> Kind {
    match error {
        StoreError::Open(_) | StoreError::Rows(_) => Kind::Config,
        StoreError::Locked(_) | StoreError::DiskFull(_) | StoreError::Io { .. } | StoreError::Book(_) => {
            Kind::Environment
        }
    }
}

/// Returns the number of worlds that may run in parallel.
pub(crate) fn jobs(config: &Config) -> usize {
    match config.jobs {
        0 => cores() * 2,
        jobs => jobs,
    }
}

/// Returns the number of CPU cores.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the current UTC time as a folder name.
pub(crate) fn stamp(clock: &dyn Clock) -> String {
    clock.now().strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Waits up to 30 s until a window is open.
pub(crate) async fn await_window(
    machine: &dyn apprentice_protocol::Machine,
    clock: &dyn Clock,
) -> Result<(), Failure> {
    match apprentice_tasks::setup::await_any_window(machine, clock).await.kind(Kind::Environment)? {
        true => Ok(()),
        false => Err(Failure::say(Kind::Environment, "the program opened no window within 30 s")),
    }
}
