//! `apprentice report`: rebuilds the report of a run or an experiment from its stored rows.

use std::path::{Path, PathBuf};

use apprentice_evaluator::experiment::{self, Definition};
use apprentice_results::compare::MixedVersions;
use apprentice_results::report::{Report as Made, write_report};
use apprentice_results::step_caps::step_caps;
use apprentice_runs::{StoredRun, Wanted};
use clap::Args;

use crate::commands::{bench, experiment_command};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_place::RunPlace;
use crate::terminal;

/// Rebuilds report.html, report.json and report.md from the stored rows. Runs no trials and needs no suite, world or
/// model.
///
/// Accepts the folder of an experiment (`demo`, `bench`) or of a run; several runs give one joint report. An
/// unfinished run is reported up to its current state. A file of rows in the format of `trials.jsonl` is accepted too,
/// also from other programs.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of runs, files of rows, or the folder of one experiment.
    #[arg(required = true, value_name = "RUN|FILE|EXPERIMENT")]
    folders: Vec<PathBuf>,
    /// Allow rows of different suite or skillbook versions; the report notes it.
    #[arg(long)]
    allow_mixed: bool,
    /// Output folder [default: the folder itself, if there is only one].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as one JSON object (`apprentice.report/1`) and write no files.
    #[arg(long, conflicts_with = "out")]
    json: bool,
    /// Print success by application and overall, a row for each cap of steps (`run --max-steps`), as OSWorld's table has
    /// it. Give one run for each cap.
    #[arg(long, conflicts_with_all = ["out", "allow_mixed"])]
    by_steps: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Report) -> Result<(), Failure> {
    let places = arguments.folders.iter().map(|folder| RunPlace::of(folder, Wanted::Reported));
    let places = places.collect::<Result<Vec<RunPlace>, Failure>>()?;
    let folders: Vec<PathBuf> = places.iter().map(|place| place.folder().to_owned()).collect();
    if arguments.by_steps {
        let runs = folders.iter().map(|folder| StoredRun::open(folder).kind(Kind::Config));
        let caps = step_caps(&runs.collect::<Result<Vec<_>, _>>()?);
        return match arguments.json {
            true => terminal::json(&caps),
            false => {
                terminal::line(format_args!("{}", caps.markdown().trim_end()));
                Ok(())
            }
        };
    }
    let out = match (&arguments.out, folders.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [file]) if file.is_file() => {
            return match arguments.json {
                true => terminal::json(&made(&folders, Path::new("."), mixed(arguments))?),
                false => {
                    Err(Failure::say(Kind::Usage, "the report of a file of rows needs an output folder")
                        .hint("give one with --out DIR"))
                }
            };
        }
        (None, [_]) if places[0].is_elsewhere(&arguments.folders[0]) && !arguments.json => {
            return Err(Failure::say(
                Kind::Usage,
                "the report of a bundle, or of a run in a queue, needs an output folder",
            )
            .hint("give one with --out DIR, or --json"));
        }
        (None, [only]) => only.clone(),
        (None, _) if arguments.json => PathBuf::from("."),
        (None, _) => {
            return Err(Failure::say(Kind::Usage, "the report of several runs needs an output folder")
                .hint("name one with --out DIR"));
        }
    };
    if !arguments.json {
        std::fs::create_dir_all(&out)
            .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", out.display())))?;
    }
    let report = made(&folders, &out, mixed(arguments))?;
    if arguments.json {
        return terminal::json(&report);
    }
    write_report(&report, &out).kind(Kind::Environment)?;
    bench::show(&report, &out);
    Ok(())
}

fn mixed(arguments: &Report) -> MixedVersions {
    if arguments.allow_mixed { MixedVersions::Allow } else { MixedVersions::Refuse }
}

fn made(folders: &[PathBuf], out: &Path, mixed: MixedVersions) -> Result<Made, Failure> {
    let mut experiments = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        if Definition::read(folder).kind(Kind::Config)?.is_some() {
            experiments.push(folder);
        }
    }
    match (experiments.as_slice(), folders) {
        ([], _) => experiment::runs(folders, out, mixed).map_err(experiment_command::failure),
        ([only], [_]) => {
            if same(only, out) {
                return experiment::report(only).map_err(experiment_command::failure);
            }
            Err(Failure::say(Kind::Usage, "the report of an experiment is always written to its own folder")
                .hint("omit --out"))
        }
        _ => Err(Failure::say(Kind::Usage, "an experiment cannot be combined with other folders")
            .hint("give the folders of its runs, DIR/measure/RUN, to combine them with others")),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
