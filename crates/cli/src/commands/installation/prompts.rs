//! `apprentice prompts`: lists and exports the built-in prompts, and shows how custom ones differ.

use std::path::PathBuf;

use apprentice_wording::line_diff::LineDiff;
use clap::{Args, Subcommand};

use crate::failure::{Failure, Kind};
use crate::settings::config::Config;
use crate::{settings::prompts, terminal};

/// Lists, exports and compares the program's prompts; `--prompts DIR` replaces them, file by file.
#[derive(Debug, Args)]
pub(crate) struct PromptsCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists prompts with their variables, and which are replaced.
    List,
    /// Writes prompts into a folder for editing; existing files are kept.
    Export {
        /// The folder to write.
        folder: PathBuf,
        /// Export only this prompt; may be repeated.
        #[arg(long = "prompt", value_name = "NAME")]
        only: Vec<String>,
    },
    /// Shows how the prompts in a folder differ from the built-in ones.
    Diff {
        /// The folder [default: `--prompts`, or the setting `prompts`].
        folder: Option<PathBuf>,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &PromptsCommand, config: &Config) -> Result<(), Failure> {
    match &arguments.what {
        What::List => list(config),
        What::Export { folder, only } => export(folder, only),
        What::Diff { folder } => diff(folder.as_ref().or(config.prompts.as_ref())),
    }
}

fn list(config: &Config) -> Result<(), Failure> {
    let replaced = config.prompts.as_deref().map(prompts::read).transpose()?.unwrap_or_default();
    for prompt in prompts::all() {
        let filled: Vec<String> = prompt.variables.iter().map(|name| format!("{{{name}}}")).collect();
        let own = if replaced.contains_key(prompt.name) { "  (replaced)" } else { "" };
        terminal::line(format_args!("{:20} {}{own}", prompt.name, filled.join(" ")));
    }
    Ok(())
}

fn export(folder: &std::path::Path, only: &[String]) -> Result<(), Failure> {
    let all = prompts::all();
    if let Some(name) = only.iter().find(|name| all.iter().all(|prompt| prompt.name != name.as_str())) {
        return Err(Failure::say(Kind::NothingMatched, format!("there is no prompt {name:?}"))
            .hint("`apprentice prompts list` lists them"));
    }
    for prompt in all.iter().filter(|prompt| only.is_empty() || only.iter().any(|name| name == prompt.name)) {
        let path = prompts::place(folder, prompt);
        let failed =
            |error: std::io::Error| Failure::say(Kind::Environment, format!("{}: {error}", path.display()));
        if let Some(above) = path.parent() {
            std::fs::create_dir_all(above).map_err(failed)?;
        }
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, prompt.shipped.as_bytes()).map_err(failed)?;
                terminal::line(format_args!("{}", path.display()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                terminal::note(format_args!("{} exists and is kept", path.display()));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

fn diff(folder: Option<&PathBuf>) -> Result<(), Failure> {
    let folder = folder.ok_or_else(|| {
        Failure::say(Kind::Usage, "no folder was given").hint("apprentice prompts diff DIR, or --prompts DIR")
    })?;
    let texts = prompts::read(folder)?;
    for prompt in prompts::all() {
        let Some(text) = texts.get(prompt.name).filter(|text| *text != prompt.shipped) else { continue };
        let own = prompts::place(folder, &prompt);
        let difference = LineDiff::of(prompt.shipped, text).unified(prompt.name, &own.display().to_string());
        terminal::verbatim(difference.trim_end());
    }
    Ok(())
}
