//! `apprentice do "…"`: one instruction without a task file.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::app_versions::AppVersions;
use apprentice_guidance::SkillScripts;
use apprentice_harness::agent::{self, AttemptInput, AttemptResult, Session, prompt_hash};
use apprentice_harness::tool::mcp::{CallableTool, McpServers};
use apprentice_learning::foreground::AttemptLearning;
use apprentice_protocol::{
    ChatModel, Clock, EVENT_VERSION, EnvironmentSource, EventKind, EventSink, Finish, Guidance, Header,
    ImageRule, Machine, Monitors, StopReason, TaskBrief, TaskId, TurnStart, VoidCause, World,
};
use apprentice_runs::layout::BLOBS_FOLDER;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::KnownVersions;
use apprentice_trace::Recorder;
use apprentice_wording::domain_name;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::commands::interrupts::SessionInterrupts;
use crate::commands::session::chat::{Chat, ChatResult};
use crate::commands::session::guidance::{Lent, SkillSource, guidance_for};
use crate::commands::session::learning::{Learning, SessionLearning};
use crate::commands::session::live::{LiveDo, LiveParts};
use crate::commands::session::setup::{self, SetupFailure};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::options::servers::Servers;
use crate::settings::config::Config;
use crate::suite::preflight::check_app;
use crate::terminal::event_printer::{EventListener, EventPrinter};
use crate::{host, terminal, wire};

/// The instruction of a trace whose turns come from a client.
const OF_A_CLIENT: &str = "Instructions of a client";

/// Carries out one instruction in a fresh world and prints every step.
#[derive(Debug, Args)]
pub(crate) struct Do {
    /// The instruction for the agent; with --chat the first one, or else the first line of the input.
    #[arg(required_unless_present = "chat")]
    pub(in crate::commands) instruction: Option<String>,
    /// Read further instructions from standard input, one per line, over the same world and conversation. `/remember`
    /// asks for a skill; the end of the input or `/quit` ends the session. Ctrl-C ends the turn, twice the session.
    #[arg(long)]
    pub(in crate::commands) chat: bool,
    /// The model of the agent.
    #[arg(long, short, default_value = "builtin/explorer")]
    pub(in crate::commands) model: String,
    /// Open a desktop world and start this command first, for example `mousepad notes.txt`.
    #[arg(long, value_name = "CMD", conflicts_with = "url")]
    pub(in crate::commands) app: Option<String>,
    /// Open a browser world at this URL.
    #[arg(long)]
    pub(in crate::commands) url: Option<String>,
    /// Screen size in pixels; + joins the monitors of a desktop, for example 1920x1080+1280x1024.
    #[arg(long, value_name = "WxH[+WxH]", default_value_t)]
    pub(in crate::commands) screen: Monitors,
    /// Work on your own desktop, without isolation; hold Escape to stop.
    #[arg(long, conflicts_with_all = ["app", "url", "file", "screen"])]
    pub(in crate::commands) host: bool,
    /// Skillbook for the agent; it sees the domains and requests the skills.
    #[arg(long, value_name = "DIR")]
    pub(in crate::commands) skillbook: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands) servers: Servers,
    #[command(flatten)]
    pub(in crate::commands) learning: Learning,
    /// Copy this file into the world's home folder first; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(in crate::commands) file: Vec<PathBuf>,
    /// Maximum number of actions.
    #[arg(long, alias = "steps", value_name = "N", default_value_t = 50, value_parser = crate::options::count::at_least_one::<u32>)]
    pub(in crate::commands) max_steps: u32,
    /// Folder for the trace [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    pub(in crate::commands) out: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands) consent: SpendingArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Do, config: &Config) -> Result<(), Failure> {
    setup::check_screen(arguments.url.as_ref(), &arguments.screen)?;
    if let Some(line) = arguments.app.as_deref().filter(|_| !arguments.host) {
        check_app(line, config)?;
    }
    wire::runtime()?.block_on(perform(arguments, config))
}

async fn perform(arguments: &Do, config: &Config) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    let mut forecast = Forecast::default();
    forecast.add_attempt(&models, &arguments.model, &setup::limits(arguments.max_steps))?;
    if forecast.agree(config, arguments.consent)? == Proceed::Off {
        return Ok(());
    }
    models.reach([arguments.model.as_str()]).await?;
    models.identify(&arguments.model).await;
    let model = models.get_heard(&arguments.model, "do")?;
    check_image_input(arguments, &*model)?;
    let mut chat = match arguments.chat {
        true => Some(Chat::open(SessionInterrupts::listen())?),
        false => None,
    };
    let Some(first) = first_instruction(arguments, chat.as_mut()).await? else { return Ok(()) };
    let folder = arguments.out.clone().unwrap_or_else(|| config.runs.join(wire::stamp(&*clock)));
    let wiring = Wiring { config, models: &models, clock: &clock, folder };
    let conversation = Conversation { first: Some(first), chat, listener: None, tools: Vec::new() };
    let ended = record(arguments, &wiring, &*model, conversation).await?;
    // A session has told each report at the end of its turn.
    let answer = ended.finish.as_ref().filter(|_| !arguments.chat);
    let concluded = conclude(&ended, answer);
    if ended.stop != Err(VoidCause::Interrupted)
        && let Some(book) = &arguments.skillbook
    {
        arguments.learning.review_after(book, config, &models).await;
    }
    concluded
}

/// The first instruction, and whoever gives further ones.
pub(in crate::commands) struct Conversation {
    /// `None` if the first instruction comes once the world is open.
    pub(in crate::commands) first: Option<TurnStart>,
    pub(in crate::commands) chat: Option<Chat>,
    /// Who hears of each event while it is recorded.
    pub(in crate::commands) listener: Option<Arc<dyn EventListener>>,
    /// Tools of a client's own, beside those of the world.
    pub(in crate::commands) tools: Vec<CallableTool>,
}

/// What the whole command shares.
pub(in crate::commands) struct Wiring<'a> {
    pub(in crate::commands) config: &'a Config,
    pub(in crate::commands) models: &'a Models,
    pub(in crate::commands) clock: &'a Arc<dyn Clock>,
    /// Folder of the trace.
    pub(in crate::commands) folder: PathBuf,
}

impl Conversation {
    /// Returns the token that ends all work.
    fn cancellation(&self) -> CancellationToken {
        self.chat.as_ref().map_or_else(wire::cancel_on_interrupt, Chat::session_token)
    }
}

impl Wiring<'_> {
    /// Returns the source of the world to work in.
    fn worlds(&self, host: bool, cancel: &CancellationToken) -> Result<Arc<dyn EnvironmentSource>, Failure> {
        match host {
            true => host::source(Arc::clone(self.clock), cancel),
            false => wire::worlds(self.config, Arc::clone(self.clock)),
        }
    }
}

/// Returns the first instruction: the argument, or the first line. `None` if the input ends before one.
async fn first_instruction(arguments: &Do, chat: Option<&mut Chat>) -> Result<Option<TurnStart>, Failure> {
    match (&arguments.instruction, chat) {
        (Some(instruction), _) => {
            Ok(Some(TurnStart { instruction: instruction.clone(), ..TurnStart::default() }))
        }
        (None, Some(chat)) => chat.instruction(None, false).await,
        (None, None) => Ok(None),
    }
}

/// Opens a world and a trace, has the work done, and closes both on every path.
pub(in crate::commands) async fn record(
    arguments: &Do,
    wiring: &Wiring<'_>,
    model: &dyn ChatModel,
    mut conversation: Conversation,
) -> Result<AttemptResult, Failure> {
    let Wiring { config, models, clock, folder } = wiring;
    let servers = arguments.servers.make(clock)?.map(|(make, _)| make());
    let book = arguments.skillbook.as_deref();
    let learning = arguments.learning.attempt_learning(book, folder, models, &arguments.model)?;
    let known_versions = KnownVersions::default();
    let instruction = conversation.first.as_ref().map_or(OF_A_CLIENT, |first| first.instruction.as_str());
    let source = skill_source(arguments, wiring, &known_versions, instruction)?;
    let Lent { mut guidance, scripts } = match source {
        Some(source) => guidance_for(&source, servers.as_ref(), learning.as_ref())?,
        None => Lent { guidance: Guidance::default(), scripts: None },
    };
    guidance.tools.append(&mut conversation.tools);
    let files = arguments.file.iter().map(|path| setup::home_file(path)).collect::<Result<Vec<_>, _>>()?;
    let cancel = conversation.cancellation();
    let worlds = wiring.worlds(arguments.host, &cancel)?;
    let header = header(arguments, instruction, model);
    let recorder =
        Recorder::create(folder, &folder.join(BLOBS_FOLDER), Arc::clone(clock), models.redactor()?);
    let mut sink = EventPrinter::new(recorder.kind(Kind::Environment)?, models.live_words());
    let redactor = models.redactor()?;
    let begun = learning.as_ref().map(|own| SessionLearning::begin(own, folder, redactor.as_ref()));
    let session_learning = begun.transpose()?;
    sink.set_listener(conversation.listener.clone());
    sink.set_timeline(learning.as_deref().map(AttemptLearning::timeline));
    sink.emit(None, EventKind::Started(Box::new(header.clone()))).kind(Kind::Environment)?;
    let parts = LiveParts { config, clock, redactor: models.redactor()?, cancel: &cancel };
    let live = LiveDo::begin(folder, &header, parts);
    let session = DoSession {
        live: &live,
        arguments,
        model,
        guidance: &guidance,
        files,
        header,
        servers,
        learning: session_learning.as_ref(),
        scripts,
        known_versions,
        clock: &***clock,
        cancel,
    };
    let mut world = None;
    let ended = session.work(&*worlds, &mut world, &mut sink, &mut conversation).await;
    let closed = match world {
        Some(world) => setup::close(world, &mut sink).await,
        None => Ok(()),
    };
    sink.inner_mut().sync().kind(Kind::Environment)?;
    if let Some(learning) = session_learning {
        drop(learning);
        arguments.learning.settle(arguments.skillbook.as_deref(), config)?;
    }
    terminal::note(format_args!("trace: {}", folder.display()));
    let ended = ended?;
    closed.kind(Kind::Environment)?;
    Ok(ended)
}

/// Returns where the agent's skills come from; `None` without a skillbook.
fn skill_source<'a>(
    arguments: &'a Do,
    wiring: &Wiring<'_>,
    known_versions: &'a KnownVersions,
    instruction: &'a str,
) -> Result<Option<SkillSource<'a>>, Failure> {
    let Some(folder) = &arguments.skillbook else { return Ok(None) };
    let role = wiring.config.role.settings_of_model(wiring.models.resolve(&arguments.model)?)?;
    let delivery = role.and_then(|role| role.delivery).unwrap_or_default();
    let (rules, on_host) = (arguments.servers.rules(), arguments.host);
    Ok(Some(SkillSource { folder, known_versions, delivery, instruction, rules, on_host }))
}

fn header(arguments: &Do, instruction: &str, model: &dyn ChatModel) -> Header {
    Header {
        version: EVENT_VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        brief: TaskBrief {
            id: TaskId::new("do"),
            instruction: instruction.to_owned(),
            limits: setup::limits(arguments.max_steps),
        },
        world: setup::world_of(arguments.url.clone(), arguments.host, arguments.screen.clone()),
        model: model.profile().clone(),
        seed: None,
        prompt_hash: prompt_hash(),
    }
}

/// Returns an error for a model without image input on the user's own desktop, which offers only screenshots.
fn check_image_input(arguments: &Do, model: &dyn ChatModel) -> Result<(), Failure> {
    if !arguments.host || model.profile().images != ImageRule::None {
        return Ok(());
    }
    let message = format!("{} does not accept images, and --host provides only screenshots", arguments.model);
    Err(Failure::say(Kind::Usage, message))
}

/// The state of one `do` command.
struct DoSession<'a> {
    arguments: &'a Do,
    model: &'a dyn ChatModel,
    guidance: &'a Guidance,
    files: Vec<(String, Vec<u8>)>,
    header: Header,
    /// Tool servers that skills may open; they end before the world does.
    servers: Option<Arc<McpServers>>,
    /// Where the agent may write skills, with `--learn`.
    learning: Option<&'a SessionLearning<'a>>,
    /// Scripts that skills bring.
    scripts: Option<Arc<SkillScripts>>,
    /// Program versions of the world, shared with the skill tools.
    known_versions: KnownVersions,
    clock: &'a dyn Clock,
    live: &'a LiveDo,
    cancel: CancellationToken,
}

impl DoSession<'_> {
    /// Runs a future until it ends or the user interrupts.
    async fn until<T>(&self, work: impl Future<Output = T>) -> Result<T, SetupFailure> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                Err(SetupFailure::new(VoidCause::Interrupted, Kind::Interrupted, "interrupted"))
            }
            done = work => Ok(done),
        }
    }

    /// Opens the world and carries out the instructions.
    async fn work(
        &self,
        worlds: &dyn EnvironmentSource,
        slot: &mut Option<World>,
        sink: &mut impl EventSink,
        conversation: &mut Conversation,
    ) -> Result<AttemptResult, Failure> {
        match self.open(worlds, slot, sink).await {
            Ok(world) => {
                if let Some(chat) = &mut conversation.chat {
                    chat.share(world);
                }
                self.carry_out(world, sink, conversation).await
            }
            Err(setback) => setback.record(sink),
        }
    }

    /// Opens and prepares the world. Leaves it in `slot`, so that the caller can close it on every path.
    async fn open<'w>(
        &self,
        worlds: &dyn EnvironmentSource,
        slot: &'w mut Option<World>,
        sink: &mut impl EventSink,
    ) -> Result<&'w mut World, SetupFailure> {
        let began = self.clock.mono();
        let mut spec = self.header.world.clone();
        // A page that is one of the files is not there yet.
        spec.url = spec.url.filter(|_| self.own_page().is_none());
        let world = slot.insert(self.until(worlds.open(&spec)).await??);
        let took_ms = u64::try_from((self.clock.mono() - began).as_millis()).unwrap_or(u64::MAX);
        sink.emit(None, EventKind::WorldOpened { isolation: world.isolation, took_ms })?;
        self.until(self.prepare(world)).await??;
        Ok(world)
    }

    /// Returns the address of the first page if it may be one of the files.
    fn own_page(&self) -> Option<&str> {
        let page = self.header.world.url.as_deref();
        page.filter(|url| url.starts_with("file:") && !self.files.is_empty())
    }

    /// Copies the files into the world, opens the page that is one of them, and starts the program.
    async fn prepare(&self, world: &mut World) -> Result<(), SetupFailure> {
        setup::write_files(&*world.machine, &self.files).await?;
        if let Some(url) = self.own_page() {
            setup::open_page(&mut *world.environment, url).await?;
        }
        match &self.arguments.app {
            Some(line) => setup::start(&*world.machine, line, self.clock).await,
            None => Ok(()),
        }
    }

    /// Queries the versions of the started program and of programs with open windows.
    async fn query_versions(
        &self,
        versions: &mut AppVersions,
        machine: &dyn Machine,
        sink: &mut impl EventSink,
    ) {
        let programs = programs(self.arguments);
        let told = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            told = versions.query(machine, &programs) => told,
        };
        if let Some(told) = told {
            self.known_versions.record(&told);
            if let Err(error) = sink.emit(None, told) {
                tracing::warn!(%error, "the versions of the programs could not be recorded");
            }
        }
    }

    async fn carry_out(
        &self,
        world: &mut World,
        sink: &mut impl EventSink,
        conversation: &mut Conversation,
    ) -> Result<AttemptResult, Failure> {
        let attempt = AttemptInput {
            brief: &self.header.brief,
            model: self.model,
            guidance: self.guidance,
            tools: &[],
            clock: self.clock,
            header: self.header.clone(),
            seed: None,
            cancel: self.cancel.clone(),
        };
        if let Some(servers) = &self.servers {
            servers.enter(Arc::clone(&world.machine));
        }
        if let Some(scripts) = &self.scripts {
            scripts.enter(Arc::clone(&world.machine));
            if let Some(learning) = &self.learning {
                learning.attempt().set_scripts(Arc::clone(scripts));
            }
        }
        if let Some(learning) = &self.learning {
            learning.attempt().enter(Arc::clone(&world.machine));
        }
        let mut versions = AppVersions::default();
        self.query_versions(&mut versions, &*world.machine, sink).await;
        let (environment, sink) = (&mut *world.environment, &mut self.live.sink(sink));
        let (ended, told) = match &mut conversation.chat {
            None => {
                let ended = agent::run_steered(attempt, environment, sink, self.live.trial()).await;
                (ended, self.learning.map_or(Ok(()), SessionLearning::end_attempt))
            }
            Some(chat) => {
                let session = Session::new(attempt, environment, sink).steered_by(self.live.trial());
                let first = conversation.first.clone();
                let ChatResult { ended, told } = chat.converse(session, first, self.learning).await;
                (ended, told)
            }
        };
        if ended.stop.is_ok() {
            self.query_versions(&mut versions, &*world.machine, sink).await;
        }
        if let Some(servers) = &self.servers {
            servers.leave().await;
        }
        told.map(|()| ended)
    }
}

/// Returns the programs that the world starts with, as domains.
fn programs(arguments: &Do) -> Vec<String> {
    let browser = arguments.url.is_some().then_some("chromium");
    let command = arguments.app.as_deref().and_then(|line| line.split_whitespace().next());
    let name = command.and_then(|path| path.rsplit('/').next());
    browser.into_iter().chain(name).filter_map(domain_name).collect()
}

/// Prints the answer and converts the end of the attempt into the command's result; an unfinished task is a failure.
fn conclude(ended: &AttemptResult, answer: Option<&Finish>) -> Result<(), Failure> {
    if let Some(Finish::Answer { text }) = answer {
        terminal::line(format_args!("{text}"));
    }
    match ended.stop {
        Ok(StopReason::Done | StopReason::Answered) => Ok(()),
        Ok(reason) => Err(Failure::say(
            Kind::TasksFailed,
            format!("not finished: {} ({})", terminal::words(&reason), ended.detail),
        )),
        Err(VoidCause::Interrupted) => Err(Failure::say(Kind::Interrupted, "interrupted")),
        Err(cause) => {
            let cause = terminal::words(&cause);
            Err(Failure::say(Kind::TrialsVoid, format!("void: {cause} ({})", ended.detail)))
        }
    }
}
