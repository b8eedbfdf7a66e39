//! The tree of commands.

use clap::{Parser, Subcommand};

use crate::commands::{
    bench, compare, config, demo, doctor, grade, learn, perform, report, run, selftest, skills, tasks, view,
};
use crate::config::{Settings, Sources};
use crate::failure::Failure;

/// A capable model works on real desktops and in browsers; what it learns the hard way becomes a skillbook;
/// a small model works with that book; and the difference is measured.
#[derive(Debug, Parser)]
#[command(name = "apprentice", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 our bug, 2 usage, 3 configuration, 4 nothing matched, 10 tasks failed, \
                        11 trials void, 20 model, 21 environment, 130 interrupted."
)]
pub(crate) struct Apprentice {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Bench(bench::Bench),
    Do(perform::Do),
    Run(run::Run),
    Resume(run::Resume),
    Learn(learn::Learn),
    View(view::View),
    Doctor(doctor::Doctor),
    Tasks(tasks::Tasks),
    Skills(skills::Skills),
    Compare(compare::Compare),
    Report(report::Report),
    Grade(grade::GradeCommand),
    Selftest(selftest::SelftestCommand),
    Config(config::ConfigCommand),
}

/// A command that carries an experiment out.
pub(crate) enum Experiment<'a> {
    /// `demo`.
    Demo(&'a demo::Demo),
    /// `bench`.
    Bench(&'a bench::Bench),
}

impl Apprentice {
    /// The arguments of `apprentice run`, if this is one.
    pub(crate) fn as_run(&self) -> Option<&run::Run> {
        match &self.command {
            Command::Run(run) => Some(run),
            _ => None,
        }
    }

    /// The experiment that these arguments ask for, if they ask for one.
    pub(crate) fn as_experiment(&self) -> Option<Experiment<'_>> {
        match &self.command {
            Command::Demo(demo) => Some(Experiment::Demo(demo)),
            Command::Bench(bench) => Some(Experiment::Bench(bench)),
            _ => None,
        }
    }
}

/// The command as it was given; it is written into a run's plan.
pub(crate) fn given() -> Vec<String> {
    std::env::args().collect()
}

/// Runs what was asked.
pub(crate) fn dispatch(arguments: &Apprentice) -> Result<(), Failure> {
    let settings = || Settings::layer(&Sources::read()?);
    match &arguments.command {
        Command::Demo(demo) => demo::run(demo, &settings()?.config()?),
        Command::Bench(bench) => bench::run(bench, &settings()?.config()?),
        Command::Do(arguments) => perform::run(arguments, &settings()?.config()?),
        Command::Run(run) => run::run(run, &settings()?.config()?),
        Command::Resume(resume) => run::go_on(resume, &settings()?.config()?),
        Command::Learn(learn) => learn::run(learn, &settings()?.config()?),
        Command::View(view) => view::run(view),
        Command::Doctor(doctor) => doctor::run(doctor),
        Command::Tasks(tasks) => tasks::run(tasks, || settings()?.config()),
        Command::Skills(skills) => skills::run(skills, &settings()?.config()?),
        Command::Compare(compare) => compare::run(compare),
        Command::Report(report) => report::run(report),
        Command::Grade(arguments) => grade::run(arguments),
        Command::Selftest(arguments) => selftest::run(arguments),
        Command::Config(config) => config::run(config, &settings()?),
    }
}
