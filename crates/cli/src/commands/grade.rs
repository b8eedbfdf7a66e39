//! `apprentice grade RUN`: regrades a run's attempts from their stored evidence.

use apprentice_protocol::counted;
use std::path::PathBuf;

use apprentice_evaluator::grade::{GradeComparison, GradeReport, Regraded, grade};
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::run_place::RunPlace;
use crate::terminal;

/// Regrades a finished run from its stored evidence, without a world; every score must be the same.
#[derive(Debug, Args)]
pub(crate) struct GradeCommand {
    /// The run's folder.
    run: PathBuf,
    /// Use the current checks of this suite instead of those recorded in the run.
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// Print one JSON object (`apprentice.grade/1`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &GradeCommand) -> Result<(), Failure> {
    let suite = arguments.suite.as_deref().map(crate::suite::load).transpose()?;
    let place = RunPlace::of(&arguments.run)?;
    place.bring(|_| true)?;
    let report = grade(place.folder(), suite.as_ref()).kind(Kind::Config)?;
    if arguments.json {
        terminal::json(&report)?;
    } else {
        print(&report);
    }
    conclude(&report)
}

fn print(report: &GradeReport) {
    for one in &report.attempts {
        match one.outcome {
            GradeComparison::Same | GradeComparison::Unjudged => {}
            GradeComparison::Differs => terminal::line(format_args!("differs {}", told(one))),
            GradeComparison::Missing => terminal::line(format_args!("missing {}", told(one))),
        }
    }
    let GradeReport { same, differs, missing, unjudged, .. } = report;
    terminal::line(format_args!(
        "{same} graded the same, {differs} differently, {missing} without evidence; \
         {unjudged} were never judged"
    ));
}

fn told(one: &Regraded) -> String {
    let recorded = format!("{} {}", terminal::words(&one.recorded.verdict), one.recorded.score);
    let graded = one.graded.map_or_else(
        || "no grade".into(),
        |graded| format!("{} {}", terminal::words(&graded.verdict), graded.score),
    );
    let (task, trial, attempt) = (&one.task, &one.at.trial, one.at.attempt);
    format!("{task} ({trial}, attempt {attempt}): recorded {recorded}, now {graded}: {}", one.explanation)
}

fn conclude(report: &GradeReport) -> Result<(), Failure> {
    if report.attempts.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, "the run has no finished attempt"));
    }
    match (report.differs, report.missing) {
        (0, 0) => Ok(()),
        (differs, missing) => Err(Failure::say(
            Kind::Config,
            format!("{} graded differently, {missing} cannot be graded", counted(differs, "attempt")),
        )),
    }
}
