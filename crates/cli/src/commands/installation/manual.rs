//! `apprentice manual`: the manual pages of all commands.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Writes a manual page for each command into a folder, for `man`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The folder; made where it is missing. `man -l DIR/apprentice.1` shows a page.
    dir: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Manual, command: &clap::Command) -> Result<(), Failure> {
    std::fs::create_dir_all(&arguments.dir).kind(Kind::Environment)?;
    let written = write(command, &arguments.dir)?;
    terminal::line(format_args!("{written} pages in {}", arguments.dir.display()));
    Ok(())
}

/// Writes the page of a command and those of its subcommands, such as `apprentice-skills-show.1`; returns their number.
fn write(command: &clap::Command, folder: &Path) -> Result<usize, Failure> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).kind(Kind::Bug)?;
    // A command that was built has the whole name, such as `apprentice-run`.
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    std::fs::write(folder.join(format!("{name}.1")), page).kind(Kind::Environment)?;
    let below = command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set());
    below.map(|one| write(one, folder)).try_fold(1, |sum, one| Ok(sum + one?))
}
