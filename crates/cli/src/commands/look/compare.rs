//! `apprentice compare A B`: a paired comparison of two sets of trials.

use apprentice_protocol::counted;
use std::path::{Path, PathBuf};

use apprentice_evaluator::run::RunPlan;
use apprentice_results::compare::{
    CompareOptions, Comparison, Measure, MixedVersions, PlannedCounts, Selector, compare,
};
use apprentice_runs::layout::{PLAN_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows;
use apprentice_runs::{Wanted, open, read_plan, read_rows};
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Compares two sets of trials in pairs, from run folders or `trials.jsonl` files.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first run, or its `trials.jsonl`.
    a: PathBuf,
    /// The second run; the same as A to compare two arms of one run.
    b: PathBuf,
    /// Filter for the rows of A by arm, role, model or split, such as `arm=none,role=student`.
    #[arg(long, value_name = "FIELD=VALUE,…", default_value = "")]
    only_a: String,
    /// Filter for the rows of B.
    #[arg(long, value_name = "FIELD=VALUE,…", default_value = "")]
    only_b: String,
    /// Compare scores instead of passes.
    #[arg(long)]
    score: bool,
    /// Allow rows of different suite or skillbook versions; the result notes it.
    #[arg(long, alias = "mixed")]
    allow_mixed: bool,
    /// Print one JSON object (`apprentice.compare/1`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Compare) -> Result<(), Failure> {
    let (a, planned_a) = read(&arguments.a, &arguments.only_a)?;
    let (b, planned_b) = read(&arguments.b, &arguments.only_b)?;
    let options = CompareOptions {
        measure: if arguments.score { Measure::Score } else { Measure::Success },
        mixed: if arguments.allow_mixed { MixedVersions::Allow } else { MixedVersions::Refuse },
        planned: Some(PlannedCounts { a: planned_a, b: planned_b }),
        ..CompareOptions::default()
    };
    let found = compare(&a, &b, options).kind(Kind::Usage)?;
    if arguments.json {
        return terminal::json(&found);
    }
    print(&found);
    Ok(())
}

/// Reads the selected rows and the number of planned trials: from the run's plan if there is one, else from the rows.
fn read(path: &Path, only: &str) -> Result<(Vec<TrialRow>, usize), Failure> {
    let opened = open(path, Wanted::RunOrRows).kind(Kind::Config)?;
    let place = opened.folder();
    let (read, file) = if place.is_dir() {
        (read_rows(place), path.join(ROWS_FILE))
    } else {
        (rows::read(place), path.to_owned())
    };
    let read = read.kind(Kind::Config)?;
    if let Some(torn) = &read.torn {
        let (line, bytes) = (torn.line, torn.bytes);
        terminal::note(format_args!(
            "{}:{line}: skipped an incomplete line of {bytes} bytes",
            file.display()
        ));
    }
    let selector = Selector::parse(only).kind(Kind::Usage)?;
    let kept = selector.select(&read.rows);
    if kept.is_empty() {
        let what = if only.is_empty() { "no rows".into() } else { format!("no rows with {only}") };
        return Err(Failure::say(Kind::NothingMatched, format!("{}: {what}", file.display())));
    }
    // The rows of a run may be named instead of the run.
    let folder = if place.is_dir() { Some(place) } else { place.parent() };
    let folder = folder.filter(|folder| folder.join(PLAN_FILE).is_file());
    let plan = folder.map(|folder| read_plan::<RunPlan>(folder).kind(Kind::Config)).transpose()?;
    let planned = plan.map(|plan| plan.selected(&selector));
    let trials = rows::trials(&kept).len();
    Ok((kept, planned.unwrap_or(trials)))
}

fn print(found: &Comparison) {
    let side = |one: &apprentice_results::compare::ComparedArm| format!("{} / {}", one.model, one.arm);
    terminal::line(format_args!("a: {}\nb: {}", side(&found.a), side(&found.b)));
    // Avoids a negative zero for tiny differences.
    let rounded =
        |share: f64| Some((share * 1000.0).round() / 10.0).filter(|points| *points != 0.0).unwrap_or(0.0);
    let points = |share: f64| format!("{:+.1} points", rounded(share));
    let difference = found.difference.map_or("none".into(), points);
    let interval = found.ci95.map_or(String::new(), |interval| {
        format!(" (95 %: {:+.1} to {:+.1})", rounded(interval.low), rounded(interval.high))
    });
    let (templates, tasks, trials) = (found.templates, found.tasks, found.trials);
    terminal::line(format_args!(
        "b - a: {difference}{interval} over {}, {}, {}",
        counted(templates, "template"),
        counted(tasks, "task"),
        counted(trials, "pair")
    ));
    terminal::line(format_args!("verdict: {}: {}", found.verdict.words(), found.because));
    for note in &found.notes {
        terminal::line(format_args!("note: {note}"));
    }
}
