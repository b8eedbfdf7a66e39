//! The command-line interface: subcommands, global options, and dispatch.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::command_groups;
#[cfg(feature = "fleet")]
use crate::commands::fleet;
use crate::commands::installation::{completions, config, init, manual, models, prompts, selftest, split};
use crate::commands::look::{bundle, compare, export, grade, report, sql, view};
use crate::commands::session::task;
use crate::commands::{
    acp, bench, collect, demo, distill, doctor, explore, fork, functions, learn, mcp, plan, run, serve,
    skills, steer, tasks, trace, watch,
};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::overrides::{self, Overrides};

/// Runs computer-use agents on real desktops and in browsers, distils a skillbook from a capable model's attempts,
/// and measures how much the skillbook helps a smaller model.
#[derive(Debug, Parser)]
#[command(name = "apprentice", version, propagate_version = true, max_term_width = 80)]
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

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Bench(bench::Bench),
    Plan(plan::Plan),
    Distill(distill::Distill),
    Do(task::Do),
    Run(run::Run),
    Collect(collect::Collect),
    Resume(run::Resume),
    Fork(fork::ForkCommand),
    Functions(functions::FunctionsCommand),
    Explore(explore::Explore),
    Learn(learn::Learn),
    View(view::View),
    Ps(watch::Ps),
    Watch(watch::Watch),
    Pause(steer::Pause),
    Continue(steer::Continue),
    Step(steer::Step),
    Stop(steer::Stop),
    Trace(trace::TraceCommand),
    Doctor(doctor::Doctor),
    Init(init::Init),
    Tasks(tasks::Tasks),
    Split(split::SplitCommand),
    Skills(skills::Skills),
    Mcp(mcp::Mcp),
    Acp(acp::Acp),
    Serve(serve::Serve),
    Compare(compare::Compare),
    Export(export::Export),
    Sql(sql::Sql),
    Report(report::Report),
    Grade(grade::GradeCommand),
    Bundle(bundle::Bundle),
    Verify(bundle::Verify),
    Selftest(selftest::SelftestCommand),
    Models(models::ModelsCommand),
    Prompts(prompts::PromptsCommand),
    Config(config::ConfigCommand),
    Completions(completions::Completions),
    Manual(manual::Manual),
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    Fleet(fleet::FleetCommand),
}

/// Said at the end of a subcommand's help, in place of the options that all of them take.
const GLOBAL_OPTIONS: &str =
    "`apprentice --help` lists the options of models, worlds and suites, which every command takes.";

/// The command line with every subcommand built. The options that all subcommands take are shown by the first `--help` alone.
pub(crate) fn command() -> clap::Command {
    let mut command = Apprentice::command();
    command.build();
    negatives_are_values(command.mut_subcommands(without_global_options))
}

/// Has `--jobs -1` refused as a number, and not as an option that does not exist.
fn negatives_are_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|option| match option.get_action().takes_values() {
        true => option.allow_negative_numbers(true),
        false => option,
    });
    command.mut_subcommands(negatives_are_values)
}

/// Commands of a build with the feature `fleet`.
const OF_A_FLEET: [&str; 6] = ["submit", "worker", "queue", "fetch", "cancel", "drain"];

/// Options by which other programs take a key.
const KEYS: [&str; 4] = ["--api-key", "--apikey", "--api_key", "--key"];

/// Removes the advice to pass a misspelt option as a value, which nobody means, and says where keys stand.
fn without_advice_on_values(error: &mut clap::Error) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else { return };
    let name = name.split('=').next().unwrap_or(name).to_owned();
    let is_on_values = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => {
            tips.iter().all(|tip| tip.to_string().contains("as a value, use"))
        }
        _ => false,
    };
    if is_on_values {
        error.remove(ContextKind::Suggested);
    }
    if KEYS.contains(&name.as_str()) {
        let hint = "a key on a command line is seen by everybody on the machine: put it into the variable that the model's \
                    provider names (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...), or name another with `provider.NAME.key_env`";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
}

/// Ends the process with what is wrong with the command line, or with its help.
fn refused(mut error: clap::Error) -> ! {
    without_advice_on_values(&mut error);
    let name = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if OF_A_FLEET.contains(&name.as_str()) => name.clone(),
        _ => error.exit(),
    };
    error.remove(ContextKind::SuggestedSubcommand);
    let hint = format!(
        "`{name}` is of a fleet, which this build is without: `cargo build --release --features fleet`; docs/fleet.md \
         describes it, and `run --partition 1/50` runs a part of a suite on each of several machines"
    );
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    error.exit()
}

fn without_global_options(command: clap::Command) -> clap::Command {
    let end = match command.get_after_help() {
        Some(own) => format!("{own}\n\n{GLOBAL_OPTIONS}"),
        None => GLOBAL_OPTIONS.to_owned(),
    };
    let hidden = command.mut_args(|option| if option.is_global_set() { option.hide(true) } else { option });
    hidden.after_help(end).mut_subcommands(without_global_options)
}

/// Reads the command line; ends the process where it is invalid, or where help or the version was asked for.
pub(crate) fn parse() -> Apprentice {
    let mut matches =
        command_groups::grouped(command()).try_get_matches().unwrap_or_else(|error| refused(error));
    Apprentice::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command()).exit())
}

/// Parses the command line that a run's plan or an experiment records, for `apprentice resume`.
fn recorded(command: &[String]) -> Result<run::RecordedCommand, Failure> {
    let Apprentice { flags, command } = Apprentice::try_parse_from(command).kind(Kind::Config)?;
    let started = match command {
        Command::Run(run) => run::StartedBy::Run(run),
        Command::Collect(collect) => run::StartedBy::Run(collect.run()),
        Command::Demo(demo) => run::StartedBy::Demo(demo),
        Command::Bench(bench) => run::StartedBy::Bench(bench),
        Command::Distill(distill) => run::StartedBy::Distill(distill),
        Command::Skills(skills) => match skills.into_measure() {
            Some(measure) => run::StartedBy::Measure(measure),
            None => run::StartedBy::Other,
        },
        #[cfg(feature = "fleet")]
        Command::Fleet(fleet::FleetCommand::Submit(submit)) => run::StartedBy::Run(submit.run),
        _ => run::StartedBy::Other,
    };
    Ok(run::RecordedCommand { flags, started })
}

/// Runs the chosen subcommand.
pub(crate) fn dispatch(arguments: &Apprentice) -> Result<(), Failure> {
    let settings = || overrides::settings(&[&arguments.flags]);
    match &arguments.command {
        Command::Demo(demo) => demo::run(demo, &settings()?.config()?),
        Command::Bench(bench) => bench::run(bench, &settings()?.config()?),
        Command::Plan(plan) => plan::run(plan, &settings()?.config()?),
        Command::Distill(distill) => distill::run(distill, &settings()?.config()?),
        Command::Do(arguments) => task::run(arguments, &settings()?.config()?),
        Command::Run(run) => run::run(run, &settings()?.config()?),
        Command::Collect(collect) => collect::run(collect, &settings()?.config()?),
        Command::Resume(resume) => run::run_resume(resume, &arguments.flags, recorded),
        Command::Fork(arguments) => fork::run(arguments, &settings()?.config()?, recorded),
        Command::Functions(arguments) => functions::run(arguments, &settings()?.config()?),
        Command::Explore(explore) => explore::run(explore, &settings()?.config()?),
        Command::Learn(learn) => learn::run(learn, &settings()?.config()?),
        Command::View(view) => view::run(view, &settings()?.config()?),
        Command::Ps(ps) => watch::ps(ps, &settings()?.config()?),
        Command::Watch(watching) => watch::watch(watching, &settings()?.config()?),
        Command::Pause(pause) => steer::pause(pause, &settings()?.config()?),
        Command::Continue(go_on) => steer::go_on(go_on, &settings()?.config()?),
        Command::Step(step) => steer::step(step, &settings()?.config()?),
        Command::Stop(stop) => steer::stop(stop, &settings()?.config()?),
        Command::Trace(trace) => trace::run(trace),
        Command::Doctor(doctor) => doctor::run(doctor, || settings()?.config()),
        Command::Init(init) => init::run(init),
        Command::Tasks(tasks) => tasks::run(tasks, || settings()?.config()),
        Command::Split(split) => split::run(split),
        Command::Skills(skills) => skills::run(skills, &settings()?.config()?),
        Command::Acp(acp) => acp::run(acp, &settings()?.config()?),
        Command::Mcp(mcp) => mcp::run(mcp, &settings()?.config()?),
        Command::Serve(serve) => serve::run(serve, &settings()?.config()?),
        Command::Compare(compare) => compare::run(compare),
        Command::Export(export) => export::run(export),
        Command::Sql(sql) => sql::run(sql),
        Command::Report(report) => report::run(report),
        Command::Grade(grade_command) => grade::run(grade_command, &arguments.flags),
        Command::Bundle(arguments) => bundle::run(arguments),
        Command::Verify(arguments) => bundle::check(arguments),
        Command::Selftest(arguments) => selftest::run(arguments),
        Command::Models(models) => models::run(models, &settings()?.config()?),
        Command::Prompts(prompts) => prompts::run(prompts, &settings()?.config()?),
        Command::Config(config) => config::run(config, &settings()?),
        Command::Completions(completions) => completions::run(completions, Apprentice::command()),
        Command::Manual(manual) => manual::run(manual, &command()),
        #[cfg(feature = "fleet")]
        Command::Fleet(command) => fleet::run(command, &arguments.flags, recorded),
    }
}
