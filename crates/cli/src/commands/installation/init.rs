//! `apprentice init`: writes a small working suite with its experiment and settings, to be changed into one's own.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// The files of the first suite, by their paths in the new folder.
const FILES: [(&str, &str); 8] = [
    ("suite.json", include_str!("../../suite/first_suite/suite.json")),
    ("experiment.toml", include_str!("../../suite/first_suite/experiment.toml")),
    ("apprentice.toml", include_str!("../../suite/first_suite/apprentice.toml")),
    ("files/rooms.html", include_str!("../../suite/first_suite/files/rooms.html")),
    (
        "examples/chromium/rooms-away-from-traffic.json",
        include_str!("../../suite/first_suite/rooms-away-from-traffic.json"),
    ),
    (
        "examples/chromium/rooms-for-slides.json",
        include_str!("../../suite/first_suite/rooms-for-slides.json"),
    ),
    ("examples/thunar/files-new-folder.json", include_str!("../../suite/first_suite/files-new-folder.json")),
    ("examples/thunar/files-new-name.json", include_str!("../../suite/first_suite/files-new-name.json")),
];

/// Writes a small suite that works, to be changed into your own.
///
/// It has tasks on a page of its own and in the file manager, with solutions, near misses, checks and seeds, an
/// experiment and settings.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The suite's folder; must be new or empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Init) -> Result<(), Failure> {
    let folder = arguments.folder.as_path();
    let place = folder.display();
    if folder.exists() && !is_empty(folder)? {
        return Err(Failure::say(Kind::Usage, format!("{place} is not empty; nothing was written"))
            .hint("name a new folder"));
    }
    write(folder)?;
    terminal::line(format_args!(
        "{place} holds 4 tasks, an experiment and settings. Next:\n  \
         apprentice tasks check {place}\n  \
         apprentice tasks audit {place}\n  \
         apprentice split draw {place}\n  \
         apprentice split lock {place}\n  \
         apprentice plan {place}/experiment.toml\n  \
         apprentice distill {place}/experiment.toml --dry-run"
    ));
    Ok(())
}

fn is_empty(folder: &Path) -> Result<bool, Failure> {
    let mut entries = fs::read_dir(folder)
        .map_err(|error| Failure::say(Kind::Usage, format!("{}: {error}", folder.display())))?;
    Ok(entries.next().is_none())
}

/// Writes all files beside the new folder first, so that it appears whole or not at all.
fn write(folder: &Path) -> Result<(), Failure> {
    let whole = std::path::absolute(folder).kind(Kind::Usage)?;
    let above = whole.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(above).kind(Kind::Environment)?;
    let made =
        tempfile::Builder::new().prefix(".apprentice-init").tempdir_in(above).kind(Kind::Environment)?;
    for (path, text) in FILES {
        let path = made.path().join("suite").join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).kind(Kind::Environment)?;
        }
        fs::write(&path, text).kind(Kind::Environment)?;
    }
    // An empty folder gives way to the new one.
    fs::rename(made.path().join("suite"), &whole).kind(Kind::Environment)
}
