//! `apprentice do "…"`: one instruction, no task file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::agent::{self, Attempt, Ended, prompt_hash};
use apprentice_harness::clock::SystemClock;
use apprentice_harness::record::{Recorder, Redactor};
use apprentice_protocol::{
    Clock, Command, EVENT_VERSION, EnvironmentKind, EventKind, EventSink as _, Finish, Guidance, Header,
    Limits, Size, StopReason, TaskBrief, TaskId, World, WorldSpec,
};
use apprentice_skills::lend::{ArmPolicy, TaskView, lend};
use clap::Args;

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::live::Live;
use crate::{terminal, wire};

/// Time that closing a world may take.
const CLOSE: Duration = Duration::from_secs(10);

/// Carries out one instruction in a fresh world, and shows every step.
#[derive(Debug, Args)]
pub(crate) struct Do {
    /// What to do.
    instruction: String,
    /// The model.
    #[arg(long, short, default_value = "builtin/explorer")]
    model: String,
    /// A command to start in a desktop world first, for example `mousepad notes.txt`.
    #[arg(long, value_name = "CMD", conflicts_with = "url")]
    app: Option<String>,
    /// An address to open in a browser world.
    #[arg(long)]
    url: Option<String>,
    /// A skillbook to lend; the model sees its domains and asks for the rest.
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Files to put into the world's home first; may be repeated.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Most world actions.
    #[arg(long, default_value_t = 50)]
    steps: u32,
    /// Folder for the trace [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Do, config: &Config) -> Result<(), Failure> {
    wire::runtime()?.block_on(perform(arguments, config))
}

async fn perform(arguments: &Do, config: &Config) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let model = wire::model(&arguments.model)?;
    let worlds = wire::worlds(config, Arc::clone(&clock))?;
    let cancel = wire::cancel_on_interrupt();
    let spec = world_of(arguments);
    let brief = TaskBrief {
        id: TaskId::new("do"),
        instruction: arguments.instruction.clone(),
        limits: Limits {
            world_steps: arguments.steps,
            turns: arguments.steps.saturating_mul(2),
            ..Limits::default()
        },
    };
    let guidance = match &arguments.skillbook {
        Some(folder) => lend_to(folder, arguments)?,
        None => Guidance::default(),
    };
    let folder = arguments.out.clone().unwrap_or_else(|| config.runs.join(wire::stamp(&*clock)));
    let recorder = Recorder::create(&folder, &folder.join("blobs"), Arc::clone(&clock), redactor()?);
    let mut sink = Live::new(recorder.kind(Kind::Environment)?);
    let header = Header {
        version: EVENT_VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        brief: brief.clone(),
        world: spec.clone(),
        model: model.profile().clone(),
        seed: None,
        prompt_hash: prompt_hash(),
    };
    sink.emit(None, EventKind::Started(Box::new(header.clone()))).kind(Kind::Environment)?;
    let began = clock.mono();
    let mut world = worlds.open(&spec).await.kind(Kind::Environment)?;
    let took_ms = u64::try_from((clock.mono() - began).as_millis()).unwrap_or(u64::MAX);
    let opened = EventKind::WorldOpened { isolation: world.isolation, took_ms };
    sink.emit(None, opened).kind(Kind::Environment)?;
    let prepared = prepare(arguments, &world, &*clock).await;
    let attempt = Attempt {
        brief: &brief,
        model: &*model,
        guidance: &guidance,
        tools: &[],
        clock: &*clock,
        header,
        seed: None,
        cancel,
    };
    let ended = match prepared {
        Ok(()) => Ok(agent::run(attempt, &mut *world.environment, &mut sink).await),
        Err(failure) => Err(failure),
    };
    let closed = world.environment.close(CLOSE).await;
    sink.inner_mut().sync().kind(Kind::Environment)?;
    let ended = ended?;
    closed.kind(Kind::Environment)?;
    conclude(&ended, &folder)
}

fn lend_to(folder: &Path, arguments: &Do) -> Result<Guidance, Failure> {
    let task = TaskView { instruction: arguments.instruction.clone(), ..TaskView::default() };
    lend(&super::skills::open(folder)?, &ArmPolicy::Pull, &task).kind(Kind::NothingMatched)
}

fn redactor() -> Result<Arc<Redactor>, Failure> {
    Redactor::new([]).map(Arc::new).kind(Kind::Bug)
}

fn world_of(arguments: &Do) -> WorldSpec {
    let environment = match arguments.url {
        Some(_) => EnvironmentKind::Browser,
        None => EnvironmentKind::Desktop,
    };
    WorldSpec { environment, screen: Size::new(1920, 1080), url: arguments.url.clone(), scene: None }
}

/// Puts files into the world and starts the program.
async fn prepare(arguments: &Do, world: &World, clock: &dyn Clock) -> Result<(), Failure> {
    let home = world.machine.offers().home.clone();
    for path in &arguments.file {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::say(Kind::Usage, format!("{} cannot be read: {error}", path.display()))
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        world.machine.write(&format!("{home}/{name}"), &bytes).await.kind(Kind::Environment)?;
    }
    if let Some(line) = &arguments.app {
        world.machine.launch(&Command::shell(format!("exec {line}"))).await.kind(Kind::Environment)?;
        wire::await_window(&*world.machine, clock).await?;
    }
    Ok(())
}

/// Says how it ended; a model that did not finish is a failed task.
fn conclude(ended: &Ended, folder: &Path) -> Result<(), Failure> {
    if let Some(Finish::Answer { text }) = &ended.finish {
        terminal::line(format_args!("{text}"));
    }
    terminal::note(format_args!("trace: {}", folder.display()));
    match ended.stop {
        Ok(StopReason::Done | StopReason::Answered) => Ok(()),
        Ok(reason) => {
            Err(Failure::say(Kind::TasksFailed, format!("not finished: {reason:?} ({})", ended.detail)))
        }
        Err(cause) => Err(Failure::say(Kind::TrialsVoid, format!("void: {cause:?} ({})", ended.detail))),
    }
}
