//! `skills add-figure`: adds a picture to a step of a skill.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{Actor, Applied, FigureWrite, MAX_FIGURE_BYTES, NewFigure, OpId};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{id, write};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Adds a picture to a skill: a PNG file of at most 150 kB, with words for readers who cannot see it.
#[derive(Debug, Args)]
pub(crate) struct AddFigure {
    /// The skill, as `domain/name`.
    skill: String,
    /// The picture.
    file: PathBuf,
    /// What the picture shows, in one line.
    #[arg(long, value_name = "TEXT")]
    alt: String,
    /// The number of the step that it belongs to [default: below the last step].
    #[arg(long, value_name = "N")]
    step: Option<u32>,
}

/// The output of `skills add-figure --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct FigureAdded<'a> {
    schema: &'static str,
    skill: &'a str,
    /// The operation that added the figure.
    operation: OpId,
}

/// Runs the command.
pub(super) fn add_figure(arguments: &AddFigure, folder: &Path, json: bool) -> Result<(), Failure> {
    let skill = id(&arguments.skill)?;
    let figure = NewFigure { png: read(&arguments.file)?, alt: arguments.alt.clone(), shows_secret: false };
    let (time, step) = (SystemClock::default().now(), arguments.step);
    let request = FigureWrite { actor: Actor::Human, time, cause: None, skill, step, figure };
    let written = write(folder)?.add_figure(request).kind(Kind::Config)?;
    let (Applied::Written(operation) | Applied::Proposed(operation) | Applied::AlreadyThere(operation)) =
        written;
    if json {
        let schema = "apprentice.skills.add-figure/1";
        return terminal::json(&FigureAdded { schema, skill: &arguments.skill, operation });
    }
    terminal::line(format_args!("{operation}: {} has the figure", arguments.skill));
    Ok(())
}

/// Reads a file, and no more of it than shows that it is too large.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error| Failure::say(Kind::Usage, format!("{} cannot be read: {error}", path.display()));
    let file = apprentice_files::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_FIGURE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}
