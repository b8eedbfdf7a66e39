//! The command-line interface: subcommands, global options, and dispatch.

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    bench, bundle, compare, config, demo, distill, do_task, doctor, grade, learn, mcp, models, plan, prompts,
    report, run, selftest, skills, tasks, trace, view,
};
use crate::config::{IsolationChoice, WorldChoice};
use crate::failure::Failure;
use crate::settings::{Settings, Sources};

/// Runs computer-use agents on real desktops and in browsers, distils a skillbook from a capable model's attempts,
/// and measures how much the skillbook helps a smaller model.
#[derive(Debug, Parser)]
#[command(name = "apprentice", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 success, 1 internal error, 2 usage, 3 configuration, 4 no match, 10 tasks failed, \
                        11 trials void, 20 model, 21 environment, 130 interrupted."
)]
pub(crate) struct Apprentice {
    #[command(flatten)]
    flags: Overrides,
    #[command(subcommand)]
    command: Command,
}

/// Global flags that override settings of models, worlds and external suites.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Models")]
pub(crate) struct Overrides {
    /// How worlds are isolated: `cell` uses Linux namespaces, `plain` does not isolate.
    #[arg(long, global = true, value_enum, value_name = "HOW", help_heading = "Worlds")]
    isolation: Option<IsolationChoice>,
    /// Where desktop tasks run: in cells on this machine, or on machines that speak OSWorld's server protocol.
    #[arg(long, global = true, value_enum, value_name = "WHERE", help_heading = "Worlds")]
    world: Option<WorldChoice>,
    /// Addresses of these machines, separated by commas.
    #[arg(long, global = true, value_name = "URL", help_heading = "Worlds")]
    vm_url: Option<String>,
    /// Shell command that resets a machine to its initial state before each attempt.
    #[arg(long, global = true, value_name = "LINE", help_heading = "Worlds")]
    vm_reset: Option<String>,
    /// Base URL of the model's API, in place of the provider's default.
    #[arg(long, global = true, value_name = "URL")]
    base_url: Option<String>,
    /// Profile of a `compat/` model: its image rules and action format, by name or as a file.
    #[arg(long, global = true, value_name = "PROFILE")]
    profile: Option<String>,
    /// Cap on what this command's model calls may cost, in US dollars.
    #[arg(long, global = true, value_name = "USD")]
    max_usd: Option<f64>,
    /// Record all exchanges with models; `--model cassette:FILE` replays them.
    #[arg(long, global = true, value_name = "FILE")]
    record: Option<String>,
    /// Folder with prompts that replace the built-in ones; see `apprentice prompts`.
    #[arg(long, global = true, value_name = "DIR")]
    prompts: Option<String>,
    /// Source of the files that tasks download: a folder, a URL, or `origin` for the tasks' own addresses.
    #[arg(long, global = true, value_name = "DIR|URL|origin", help_heading = "Suites")]
    mirror: Option<String>,
    /// Whether to correct known bugs in OSWorld's checks (`fixed`) or to reproduce them (`exact`).
    #[arg(long, global = true, value_name = "fixed|exact", help_heading = "Suites")]
    osworld_compat: Option<String>,
}

impl Overrides {
    fn apply_to(&self, settings: &mut Settings) -> Result<(), Failure> {
        if let Some(url) = &self.base_url {
            for provider in crate::models::PROVIDERS {
                settings.set(&format!("provider.{provider}.base_url"), url, "--base-url")?;
            }
            settings.set_in_roles("base_url", url, "--base-url")?;
        }
        if let Some(profile) = &self.profile {
            settings.set_in_roles("profile", profile, "--profile")?;
        }
        let dollars = self.max_usd.map(|dollars| dollars.to_string());
        for (key, value, flag) in [
            ("provider.compat.profile", self.profile.as_deref(), "--profile"),
            ("cap.run_usd", dollars.as_deref(), "--max-usd"),
            ("record", self.record.as_deref(), "--record"),
            ("prompts", self.prompts.as_deref(), "--prompts"),
            ("isolation", self.isolation.map(IsolationChoice::name), "--isolation"),
            ("world", self.world.map(WorldChoice::name), "--world"),
            ("vm.url", self.vm_url.as_deref(), "--vm-url"),
            ("vm.reset", self.vm_reset.as_deref(), "--vm-reset"),
            ("mirror", self.mirror.as_deref(), "--mirror"),
            ("osworld_compat", self.osworld_compat.as_deref(), "--osworld-compat"),
        ] {
            if let Some(value) = value {
                settings.set(key, value, flag)?;
            }
        }
        Ok(())
    }
}

/// Loads the settings and applies these flags; later flags override earlier ones.
pub(crate) fn settings(flags: &[&Overrides]) -> Result<Settings, Failure> {
    let mut settings = Settings::layer(&Sources::read()?)?;
    flags.iter().try_for_each(|flags| flags.apply_to(&mut settings))?;
    Ok(settings)
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Bench(bench::Bench),
    Plan(plan::Plan),
    Distill(distill::Distill),
    Do(do_task::Do),
    Run(run::Run),
    Resume(run::Resume),
    Learn(learn::Learn),
    View(view::View),
    Trace(trace::TraceCommand),
    Doctor(doctor::Doctor),
    Tasks(tasks::Tasks),
    Skills(skills::Skills),
    Mcp(mcp::Mcp),
    Compare(compare::Compare),
    Report(report::Report),
    Grade(grade::GradeCommand),
    Bundle(bundle::Bundle),
    Verify(bundle::Verify),
    Selftest(selftest::SelftestCommand),
    Models(models::ModelsCommand),
    Prompts(prompts::PromptsCommand),
    Config(config::ConfigCommand),
}

/// The arguments of a command that runs an experiment.
pub(crate) enum Experiment<'a> {
    /// `demo`.
    Demo(&'a demo::Demo),
    /// `bench`.
    Bench(&'a bench::Bench),
    /// `distill`.
    Distill(&'a distill::Distill),
}

impl Apprentice {
    /// Returns the arguments of `apprentice run`, if this is that command.
    pub(crate) fn as_run(&self) -> Option<&run::Run> {
        match &self.command {
            Command::Run(run) => Some(run),
            _ => None,
        }
    }

    /// Returns the arguments of `demo`, `bench` or `distill`, if this is one of these commands.
    pub(crate) fn as_experiment(&self) -> Option<Experiment<'_>> {
        match &self.command {
            Command::Demo(demo) => Some(Experiment::Demo(demo)),
            Command::Bench(bench) => Some(Experiment::Bench(bench)),
            Command::Distill(distill) => Some(Experiment::Distill(distill)),
            _ => None,
        }
    }

    /// Returns the global flags.
    pub(crate) fn flags(&self) -> &Overrides {
        &self.flags
    }
}

/// Returns the command line as the user typed it, for the run's plan.
pub(crate) fn given() -> Vec<String> {
    std::env::args().collect()
}

/// Runs the chosen subcommand.
pub(crate) fn dispatch(arguments: &Apprentice) -> Result<(), Failure> {
    let settings = || settings(&[&arguments.flags]);
    match &arguments.command {
        Command::Demo(demo) => demo::run(demo, &settings()?.config()?),
        Command::Bench(bench) => bench::run(bench, &settings()?.config()?),
        Command::Plan(plan) => plan::run(plan, &settings()?.config()?),
        Command::Distill(distill) => distill::run(distill, &settings()?.config()?),
        Command::Do(arguments) => do_task::run(arguments, &settings()?.config()?),
        Command::Run(run) => run::run(run, &settings()?.config()?),
        Command::Resume(resume) => run::run_resume(resume, &arguments.flags),
        Command::Learn(learn) => learn::run(learn, &settings()?.config()?),
        Command::View(view) => view::run(view),
        Command::Trace(trace) => trace::run(trace),
        Command::Doctor(doctor) => doctor::run(doctor),
        Command::Tasks(tasks) => tasks::run(tasks, || settings()?.config()),
        Command::Skills(skills) => skills::run(skills, &settings()?.config()?),
        Command::Mcp(mcp) => mcp::run(mcp, &settings()?.config()?),
        Command::Compare(compare) => compare::run(compare),
        Command::Report(report) => report::run(report),
        Command::Grade(arguments) => grade::run(arguments),
        Command::Bundle(arguments) => bundle::run(arguments),
        Command::Verify(arguments) => bundle::check(arguments),
        Command::Selftest(arguments) => selftest::run(arguments),
        Command::Models(models) => models::run(models, &settings()?.config()?),
        Command::Prompts(prompts) => prompts::run(prompts, &settings()?.config()?),
        Command::Config(config) => config::run(config, &settings()?),
    }
}
