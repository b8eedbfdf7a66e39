//! `apprentice report`: the page and the numbers of what was run before, made again from what is stored.

use std::path::{Path, PathBuf};

use apprentice_evaluator::experiment::{self, Definition};
use apprentice_results::compare::Mixed;
use apprentice_results::report::{Report as Made, write_report};
use clap::Args;

use super::{bench, study};
use crate::failure::{Failure, Kind, Kinded as _};
use crate::terminal;

/// Makes report.html, report.json and report.md again from the stored rows. Nothing is run, and nothing else is needed:
/// no suite, no world, no model.
///
/// For the folder of an experiment (`demo`, `bench`) and for that of a run; several runs give one report of
/// them all. A run that is still going on is reported as far as it has come. A file of rows in the form of a run's
/// `trials.jsonl` is reported too, whoever wrote it.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of runs, files of rows, or the folder of one experiment.
    #[arg(required = true, value_name = "RUN|FILE|EXPERIMENT")]
    folders: Vec<PathBuf>,
    /// Compare rows of different suite or book versions all the same; the report says so.
    #[arg(long)]
    allow_mixed: bool,
    /// Where the files are written [default: the folder itself, if there is one only].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as one JSON object (`apprentice.report/1`), and write no file.
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Report) -> Result<(), Failure> {
    if let Some(missing) = arguments.folders.iter().find(|folder| !folder.exists()) {
        return Err(Failure::say(Kind::Config, format!("{} is not there", missing.display()))
            .hint("name the folder of a run or an experiment, or a file of rows"));
    }
    let out = match (&arguments.out, arguments.folders.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [file]) if file.is_file() => {
            return match arguments.json {
                true => terminal::json(&made(&arguments.folders, Path::new("."), mixed(arguments))?),
                false => {
                    Err(Failure::say(Kind::Usage, "a file of rows has no folder of its own for its report")
                        .hint("name one with --out DIR"))
                }
            };
        }
        (None, [only]) => only.clone(),
        (None, _) if arguments.json => PathBuf::from("."),
        (None, _) => {
            return Err(Failure::say(Kind::Usage, "several runs have no folder in common for their report")
                .hint("name one with --out DIR"));
        }
    };
    if !arguments.json {
        std::fs::create_dir_all(&out)
            .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", out.display())))?;
    }
    let report = made(&arguments.folders, &out, mixed(arguments))?;
    if arguments.json {
        return terminal::json(&report);
    }
    write_report(&report, &out).kind(Kind::Environment)?;
    bench::show(&report, &out);
    Ok(())
}

fn mixed(arguments: &Report) -> Mixed {
    if arguments.allow_mixed { Mixed::Allow } else { Mixed::Refuse }
}

fn made(folders: &[PathBuf], out: &Path, mixed: Mixed) -> Result<Made, Failure> {
    let mut experiments = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        if Definition::read(folder).kind(Kind::Config)?.is_some() {
            experiments.push(folder);
        }
    }
    match (experiments.as_slice(), folders) {
        ([], _) => experiment::runs(folders, out, mixed).map_err(study::failure),
        ([only], [_]) => {
            if same(only, out) {
                return experiment::report(only).map_err(study::failure);
            }
            Err(Failure::say(Kind::Usage, "the report of an experiment belongs into its own folder")
                .hint("leave --out away"))
        }
        _ => Err(Failure::say(Kind::Usage, "an experiment is reported alone")
            .hint("name the folders of its runs, DIR/measure/RUN, to join them with others")),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
