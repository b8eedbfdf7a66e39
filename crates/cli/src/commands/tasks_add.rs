//! `apprentice tasks add`: converts published benchmarks into suites.

use apprentice_protocol::counted;
use std::path::PathBuf;

use apprentice_tasks::suite::create_miniwob_suite;
use clap::{Args, Subcommand};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Converts a published benchmark into a suite.
#[derive(Debug, Args)]
pub(crate) struct Add {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Miniwob(Miniwob),
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
    /// Time limit of an episode, in seconds.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
}

/// Runs the command.
pub(crate) fn run(arguments: &Add) -> Result<(), Failure> {
    let What::Miniwob(miniwob) = &arguments.what;
    let count = create_miniwob_suite(&miniwob.from, &miniwob.to, miniwob.seconds).kind(Kind::Config)?;
    terminal::line(format_args!("{} in {}", counted(count, "task"), miniwob.to.display()));
    Ok(())
}
