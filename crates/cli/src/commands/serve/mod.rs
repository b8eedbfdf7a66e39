//! `apprentice serve`: a world over HTTP, in OSWorld's server protocol, or many.

pub(in crate::commands) mod address;
mod pool;
mod store;

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use apprentice_protocol::{Clock, EnvironmentKind, Monitors, WorldSpec};
use apprentice_sandbox::SystemClock;
use apprentice_server::{Access, Episode, ServedWorld, TaskEpisode, Token, relay, serve};
use apprentice_tasks::variation::vary;
use clap::Args;
use tokio_util::sync::CancellationToken;

use self::address::{ForwardedPort, Served, find_task, listen, tell};
use self::pool::{PoolArgs, ServedAt, Wanted};
use crate::commands::session::setup::{check_screen, home_file};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::suite::preflight::check_app;
use crate::{process_env, suite, wire};

/// The environment variable with the token.
const TOKEN: &str = "APPRENTICE_TOKEN";

/// Serves a world over HTTP, in OSWorld's server protocol.
///
/// OSWorld's `PythonController`, `SetupController` and `DesktopEnv` work with it as with a virtual machine. `POST /reset`
/// opens a fresh world; `/step`, `/observe` and `/judge` take this program's own actions and give its observations and
/// verdicts: see `docs/serve.md`. With --sessions it serves the tasks of a suite in many worlds, to trainers too. Ends when
/// interrupted.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on. Beyond this machine, requests need the token of the variable APPRENTICE_TOKEN.
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 5000)]
    port: u16,
    /// Screen size in pixels; + joins the monitors of a desktop, for example 1920x1080+1280x1024.
    #[arg(long, value_name = "WxH[+WxH]", default_value_t, conflicts_with = "suite")]
    screen: Monitors,
    /// Start this command in each fresh desktop and wait for its window.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["url", "suite"])]
    app: Option<String>,
    /// Copy this file into the home folder of each fresh desktop; may be repeated.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["url", "suite"])]
    file: Vec<PathBuf>,
    /// Serve a browser that opens this URL.
    #[arg(long, conflicts_with = "suite")]
    url: Option<String>,
    /// Set up a task of this suite in each fresh world; `POST /judge` runs its checks. With --sessions, all its tasks.
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// The task; with --sessions, the task of sessions that name none.
    #[arg(long, value_name = "ID", requires = "suite")]
    task: Option<String>,
    /// The variation of the task.
    #[arg(long, default_value_t = 0, requires = "task")]
    seed: u32,
    /// Relay a port of this machine to a port inside the world, as INSIDE or INSIDE:HERE; may be repeated. OSWorld's
    /// clients expect 9222 (DevTools) and 8080 (VLC).
    #[arg(long, value_name = "PORT")]
    forward: Vec<Forward>,
    #[command(flatten)]
    pool: PoolArgs,
    /// End when standard input ends: when the process that started this one is gone.
    #[arg(long)]
    until_stdin_ends: bool,
    /// Print the address as one JSON object (`apprentice.serve/1`).
    #[arg(long)]
    json: bool,
}

/// A port inside the world, and the one here that leads to it.
#[derive(Clone, Copy, Debug)]
struct Forward {
    inside: u16,
    here: u16,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (inside, here) = text.split_once(':').unwrap_or((text, text));
        let port = |text: &str| text.parse::<u16>().map_err(|_| format!("{text:?} is no port"));
        match port(inside)? {
            0 => Err("a port inside the world is from 1 to 65535".to_owned()),
            inside => Ok(Self { inside, here: port(here)? }),
        }
    }
}

/// Runs the server until it is interrupted.
pub(crate) fn run(arguments: &Serve, config: &Config) -> Result<(), Failure> {
    check_screen(arguments.url.as_ref(), &arguments.screen)?;
    arguments.app.as_deref().map_or(Ok(()), |line| check_app(line, config))?;
    let address = SocketAddr::new(arguments.listen, arguments.port);
    let access = Access::to(address, token()?).ok_or_else(|| {
        Failure::say(
            Kind::Usage,
            format!("{} is reached by other machines, and there is no token", arguments.listen),
        )
        .hint(format!("set {TOKEN} to a secret of {} or more characters", Token::LEAST))
    })?;
    if let (Some(_), Some(path)) = (arguments.pool.sessions, &arguments.suite) {
        let wanted = Wanted { suite: path, task: arguments.task.as_deref() };
        let at = ServedAt { address, access, json: arguments.json };
        return pool::run(&arguments.pool, wanted, at, config, ending(arguments)?);
    }
    if arguments.suite.is_some() && arguments.task.is_none() {
        let failure = Failure::say(Kind::Usage, "a suite has many tasks, and one world is served");
        return Err(failure.hint("name one with --task ID, or serve all with --sessions N"));
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let episode = episode(arguments, config, &clock)?;
    let worlds = wire::worlds(config, Arc::clone(&clock))?;
    let world = Arc::new(ServedWorld::new(worlds, clock, world_of(arguments), episode));
    let cancel = ending(arguments)?;
    wire::runtime()?.block_on(async {
        let listener = listen(address).await?;
        let bound = listener.local_addr().kind(Kind::Environment)?;
        let mut forwards = Vec::new();
        for forward in &arguments.forward {
            let listener = listen(SocketAddr::new(arguments.listen, forward.here)).await?;
            let here = listener.local_addr().kind(Kind::Environment)?.port();
            forwards.push(ForwardedPort { inside: forward.inside, here });
            tokio::spawn(relay(listener, Arc::clone(&world), forward.inside));
        }
        let opened = tokio::select! {
            opened = world.reset() => opened,
            () = cancel.cancelled() => return Err(Failure::say(Kind::Interrupted, "interrupted")),
        };
        opened.map_err(|why| Failure::say(Kind::Environment, why))?;
        let instruction = world.instruction().map(str::to_owned);
        let served = Served::world(format!("http://{bound}"), instruction, forwards);
        tell(&served, arguments.json)?;
        serve(listener, world, access, cancel).await.kind(Kind::Environment)
    })
}

fn token() -> Result<Option<Token>, Failure> {
    let Some(text) = process_env::variable(TOKEN) else { return Ok(None) };
    let token = text.to_str().and_then(Token::new);
    let wrong = || {
        let message = format!("{TOKEN} must be {} or more visible ASCII characters", Token::LEAST);
        Failure::say(Kind::Config, message)
    };
    token.map(Some).ok_or_else(wrong)
}

fn world_of(arguments: &Serve) -> WorldSpec {
    let environment = match arguments.url {
        Some(_) => EnvironmentKind::Browser,
        None => EnvironmentKind::Desktop,
    };
    WorldSpec { url: arguments.url.clone(), ..WorldSpec::new(environment, arguments.screen.clone()) }
}

fn episode(arguments: &Serve, config: &Config, clock: &Arc<dyn Clock>) -> Result<Episode, Failure> {
    let (Some(path), Some(task)) = (&arguments.suite, &arguments.task) else {
        let files = arguments.file.iter().map(|path| home_file(path)).collect::<Result<_, _>>()?;
        return Ok(Episode::Fresh { files, program: arguments.app.clone() });
    };
    let suite = suite::load(path)?;
    let found = find_task(&suite, task)?;
    let varied = vary(found, &suite.name, arguments.seed).kind(Kind::Config)?;
    let redactor = wire::models(config, Arc::clone(clock))?.redactor()?;
    let options = config.reading();
    Ok(Episode::Task(Box::new(TaskEpisode { varied, suite_root: suite.root, options, redactor })))
}

/// A token that is cancelled when the server is to end.
fn ending(arguments: &Serve) -> Result<CancellationToken, Failure> {
    let cancel = wire::cancel_on_interrupt();
    if arguments.until_stdin_ends {
        cancel_with_stdin(cancel.clone())?;
    }
    Ok(cancel)
}

/// Cancels when standard input ends. Its thread does not hold up the end of the process.
fn cancel_with_stdin(cancel: CancellationToken) -> Result<(), Failure> {
    let read = move || {
        let mut stdin = std::io::stdin().lock();
        let mut ignored = [0; 4096];
        while matches!(stdin.read(&mut ignored), Ok(1..)) {}
        cancel.cancel();
    };
    std::thread::Builder::new().name("stdin".into()).spawn(read).kind(Kind::Bug)?;
    Ok(())
}
