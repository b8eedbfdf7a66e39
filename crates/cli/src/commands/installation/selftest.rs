//! `apprentice selftest stats`: tests the statistics in simulated experiments with known effects.

use apprentice_results::selftest::{Selftest, selftest};
use clap::{Args, Subcommand};

use crate::failure::{Failure, Kind};
use crate::terminal;

/// Tests parts of this program.
#[derive(Debug, Args)]
pub(crate) struct SelftestCommand {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Simulates experiments with and without an effect and counts the verdicts of the comparison.
    Stats {
        /// Number of experiments per simulated condition.
        #[arg(long, default_value_t = 1000, value_name = "N")]
        experiments: u32,
        /// Print one JSON object (`apprentice.selftest/1`).
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &SelftestCommand) -> Result<(), Failure> {
    let Part::Stats { experiments, json } = arguments.part;
    let found = selftest(experiments);
    if json {
        terminal::json(&found)?;
    } else {
        print(&found);
    }
    if found.passed {
        Ok(())
    } else {
        Err(Failure::say(Kind::Bug, "the statistics miss their nominal error rates"))
    }
}

fn print(found: &Selftest) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    for world in &found.worlds {
        let name = serde_json::to_value(world.world).ok();
        let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        let covered = world.covered.map_or_else(|| "-".into(), percent);
        terminal::line(format_args!(
            "{name:16} true {:+3.0} points, {:2} templates: helps {:>6}, harms {:>6}, no verdict {:>6}, \
             interval covers it {covered:>6}",
            world.effect * 100.0,
            world.templates,
            percent(world.helps),
            percent(world.harms),
            percent(world.no_verdict),
        ));
        for fault in &world.faults {
            terminal::line(format_args!("  fault: {fault}"));
        }
    }
    let verdict = if found.passed { "passed" } else { "FAILED" };
    terminal::line(format_args!("{verdict}, {} experiments per condition", found.experiments));
}
