//! `apprentice tasks add`: converts published benchmarks into suites.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use apprentice_evaluator::split::{DraftError, Shares, SplitDraft};
use apprentice_protocol::{AllowedHost, EnvironmentKind, counted, did_you_mean};
use apprentice_runs::row::Split;
use apprentice_tasks::suite::SPLIT_FILE;
use apprentice_tasks::suite::{
    Conversion, HarborOptions, MiniwobOptions, WEBARENA_SITES, WebArenaOptions, create_harbor_suite,
    create_miniwob_suite, create_opencomputer_suite, create_webarena_suite,
};
use clap::{Args, Subcommand, ValueEnum};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::{process_env, terminal};

/// Converts a published benchmark into a suite.
#[derive(Debug, Args)]
pub(crate) struct Add {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Miniwob(Miniwob),
    #[command(name = "webarena")]
    WebArena(WebArena),
    Harbor(Harbor),
    #[command(name = "opencomputer")]
    OpenComputer(OpenComputer),
}

/// MiniWoB++: small web pages with one task each, served inside the world.
#[derive(Debug, Args)]
struct Miniwob {
    /// The wheel of the PyPI package `miniwob`, or the folder of its pages.
    #[arg(long, value_name = "WHEEL_OR_DIR")]
    from: PathBuf,
    /// The suite's folder; must be new or empty.
    #[arg(long, value_name = "DIR", default_value = "miniwob")]
    to: PathBuf,
    /// The kind of world: a browser's window on a desktop, or a browser world, which takes less time and memory.
    #[arg(long, default_value = "desktop")]
    environment: Screen,
    /// Time limit of an episode, in seconds.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
}

/// WebArena, and other tasks of its form: an intent, a start page, and an evaluation by string, address or page.
#[derive(Debug, Args)]
struct WebArena {
    /// The wheel of the PyPI package `libwebarena`, a list of tasks, or a folder of task files.
    #[arg(long, value_name = "FILE_OR_DIR")]
    from: PathBuf,
    /// The suite's folder; must be new or empty.
    #[arg(long, value_name = "DIR", default_value = "webarena")]
    to: PathBuf,
    /// The address of a site, for its placeholder; else `WA_<SITE>` or `<SITE>` of the environment.
    #[arg(long = "site", value_name = "SITE=URL", value_parser = site)]
    sites: Vec<(String, String)>,
    /// The address that answers for a site's host, such as one of this machine.
    #[arg(long = "host", value_name = "HOST:PORT=ADDRESS:PORT")]
    hosts: Vec<AllowedHost>,
    /// Pages that each world serves to its own browser at <http://127.0.0.1:8123/>.
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Saved states of browsers that are logged in, as WebArena's `auto_login.py` writes them.
    #[arg(long, value_name = "DIR")]
    auth: Option<PathBuf>,
}

/// Harbor: tasks that a script of their own grades, in worlds with a screen.
#[derive(Debug, Args)]
struct Harbor {
    /// A task's folder, or a folder of tasks.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The suite's folder; must be new or empty.
    #[arg(long, value_name = "DIR", default_value = "harbor")]
    to: PathBuf,
    /// The kind of world.
    #[arg(long, default_value = "desktop")]
    environment: Screen,
    /// This machine has what the tasks' images install: skip those lines.
    #[arg(long)]
    installed: bool,
}

/// OpenComputer: tasks with desktop programs, each graded by verifiers of its own.
#[derive(Debug, Args)]
struct OpenComputer {
    /// A clone of the repository. Its evaluation code is run to learn how it prepares and starts each task.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The suite's folder; must be new or empty.
    #[arg(long, value_name = "DIR", default_value = "opencomputer")]
    to: PathBuf,
}

/// A kind of world with a screen.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Screen {
    Desktop,
    Browser,
}

impl Screen {
    fn kind(self) -> EnvironmentKind {
        match self {
            Self::Desktop => EnvironmentKind::Desktop,
            Self::Browser => EnvironmentKind::Browser,
        }
    }
}

/// Parses `SITE=URL`.
fn site(text: &str) -> Result<(String, String), String> {
    let (name, address) = text.split_once('=').ok_or("write SITE=URL")?;
    if !WEBARENA_SITES.contains(&name) {
        let hint = did_you_mean(name, WEBARENA_SITES.iter().copied());
        return Err(format!("unknown site{hint}; known are {}", WEBARENA_SITES.join(", ")));
    }
    if !address.starts_with("http://") && !address.starts_with("https://") {
        return Err("the address must begin with http:// or https://".into());
    }
    Ok((name.to_owned(), address.trim_end_matches('/').to_owned()))
}

/// Returns the sites' addresses: those named, and for the others those of the environment.
fn sites(named: &[(String, String)]) -> BTreeMap<String, String> {
    let mut sites = BTreeMap::new();
    for name in WEBARENA_SITES {
        let capitals = name.to_uppercase();
        for variable in [capitals.clone(), format!("WA_{capitals}")] {
            let value = process_env::variable(&variable).and_then(|value| value.into_string().ok());
            // Some names are common: what is no address is another program's.
            if let Some((_, address)) = value.and_then(|value| site(&format!("{name}={value}")).ok()) {
                sites.insert((*name).to_owned(), address);
            }
        }
    }
    sites.extend(named.iter().cloned());
    sites
}

/// Runs the command.
pub(crate) fn run(arguments: &Add) -> Result<(), Failure> {
    match &arguments.what {
        What::Miniwob(Miniwob { from, to, environment, seconds }) => {
            let (environment, seconds) = (environment.kind(), *seconds);
            let options = MiniwobOptions { from: from.clone(), environment, seconds };
            let count = create_miniwob_suite(&options, to).kind(Kind::Config)?;
            terminal::line(format_args!("{} in {}", counted(count, "task"), to.display()));
        }
        What::WebArena(WebArena { from, to, sites: named, hosts, pages, auth }) => {
            let (sites, hosts) = (sites(named), hosts.clone());
            let options = WebArenaOptions { sites, hosts, pages: pages.clone(), auth: auth.clone() };
            report(&create_webarena_suite(from, to, &options).kind(Kind::Config)?, to);
        }
        What::Harbor(Harbor { from, to, environment, installed }) => {
            let options = HarborOptions { environment: environment.kind(), installed: *installed };
            report(&create_harbor_suite(from, to, options).kind(Kind::Config)?, to);
        }
        What::OpenComputer(OpenComputer { from, to }) => {
            report(&create_opencomputer_suite(from, to, &process_env::is_in_cell).kind(Kind::Config)?, to);
            add_experiment(to)?;
        }
    }
    Ok(())
}

/// The experiment that comes with a suite of OpenComputer.
const EXPERIMENT: &str = include_str!("opencomputer.toml");
const EXPERIMENT_FILE: &str = "opencomputer.toml";

/// Draws and locks a split of a new suite into halves, and writes the experiment that learns on one and measures on the other.
fn add_experiment(suite: &Path) -> Result<(), Failure> {
    let loaded = crate::suite::load(suite)?;
    let halves = Shares { train: 1, dev: 0, test: 1 };
    let draft = SplitDraft::draw(&loaded, halves, "opencomputer").kind(Kind::Config)?;
    let lock = match draft.lock(&loaded) {
        Ok(lock) => lock,
        Err(DraftError::Faults(faults)) => {
            terminal::line(format_args!("no experiment: it cannot be split: {}", faults.join("; ")));
            return Ok(());
        }
        Err(error) => return Err(Failure::new(Kind::Config, error)),
    };
    lock.write(&suite.join(SPLIT_FILE)).kind(Kind::Environment)?;
    let path = suite.join(EXPERIMENT_FILE);
    std::fs::write(&path, EXPERIMENT).with_context(|| path.display().to_string()).kind(Kind::Environment)?;
    let [train, test] =
        [Split::Train, Split::Test].map(|part| draft.part(part).values().map(Vec::len).sum::<usize>());
    terminal::line(format_args!(
        "{}: learn on {}, measure on {test}: name your models there, then: apprentice distill {0}",
        path.display(),
        counted(train, "task")
    ));
    Ok(())
}

/// Says what became of the source's tasks.
fn report(done: &Conversion, to: &Path) {
    terminal::line(format_args!("{} in {}", counted(done.tasks, "task"), to.display()));
    for (need, count) in &done.needs {
        terminal::line(format_args!("{count} of them: {need}"));
    }
    for (why, count) in &done.left_out {
        terminal::line(format_args!("{count} left out: {why}"));
    }
}
