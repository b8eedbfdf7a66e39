//! `apprentice plan`: forecasts the cost and statistical power of an experiment and preregisters it.

use apprentice_protocol::counted;
use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::cost_estimate::Pricing;
use apprentice_evaluator::experiment::{Definition, Forecast, Power, Prereg, forecast};
use apprentice_evaluator::tool_servers::ToolSettings;
use apprentice_results::report::Deviation;
use apprentice_results::stats::MIN_TEMPLATES;
use clap::Args;
use serde::Serialize;

use super::distill::{LoadedExperiment, ModelUse, load_experiment, registration_of};
use super::experiment_command;
use crate::config::Config;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Forecasts the cost and statistical power of an experiment; runs no trials and needs no key.
///
/// Prints the trials per role and arm, the expected cost, the number of test templates that a verdict needs, the
/// smallest difference that is detectable with a power of 0.8, and the number of test templates that a desired
/// difference needs (`[design] effect` in the file). `--register` writes the primary comparison to `prereg.lock` beside
/// the file. A registration is never replaced: later changes are allowed, and every report lists them as deviations.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The experiment file.
    #[arg(value_name = "EXPERIMENT")]
    file: PathBuf,
    /// Register the primary comparison beside the file.
    #[arg(long, conflicts_with = "no_lock")]
    register: bool,
    /// Former option; nothing is registered without `--register`.
    #[arg(long, hide = true)]
    no_lock: bool,
    /// Print one JSON object (`apprentice.plan/1`).
    #[arg(long)]
    json: bool,
}

/// The output of the command.
#[derive(Serialize)]
struct PlanOutput {
    #[serde(flatten)]
    forecast: Forecast,
    /// Path of the registration, if there is one.
    registration: Option<PathBuf>,
    /// Differences between the file and the registration.
    deviations: Vec<Deviation>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Plan, config: &Config) -> Result<(), Failure> {
    let clock = experiment_command::clock();
    let file = crate::suite::found(&arguments.file)?;
    let loaded = load_experiment(&file, config, Arc::clone(&clock), ModelUse::Forecast)?;
    // The command that will run the experiment is not known yet; it does not affect the measurement.
    let experiment = loaded.experiment(Vec::new(), ToolSettings::default())?;
    let LoadedExperiment { models, draft, .. } = loaded;
    let quote = |model: &str| models.quote(model).unwrap_or_else(|_| Pricing::free());
    let learning = crate::forecast::learning_models(&models, draft.learner.as_deref())?;
    let told = forecast(&experiment, draft.config.design, &learning, &quote, &[]);
    let forecast = told.map_err(experiment_command::failure)?;
    let definition = Definition::of(&experiment).kind(Kind::Config)?;
    let path = registration_of(&file);
    let (registration, deviations) = match Prereg::read(&path).kind(Kind::Config)? {
        Some(registered) => (Some(path), registered.deviations(&definition)),
        None if !arguments.register => (None, Vec::new()),
        None => {
            let registered = Prereg::new(definition, forecast.power.smallest_effect, clock.now());
            registered.write(&path).kind(Kind::Environment)?;
            (Some(path), Vec::new())
        }
    };
    let told = PlanOutput { forecast, registration, deviations };
    if arguments.json {
        return terminal::json(&told);
    }
    print(&told);
    Ok(())
}

fn print(told: &PlanOutput) {
    let found = &told.forecast;
    terminal::line(format_args!(
        "{} on {}: {}, {} of {}",
        counted(found.trials, "trial"),
        found.suite,
        counted(found.train_tasks, "training task"),
        counted(found.test_tasks, "test task"),
        counted(found.test_templates, "template")
    ));
    for part in &found.parts {
        let phase = if part.learning { "learning" } else { "measuring" };
        terminal::line(format_args!(
            "  {phase:9} {:8} {} {}: {}",
            part.role.as_str(),
            part.model,
            part.arm,
            part.trials
        ));
    }
    match (found.least_usd, found.most_usd) {
        (Some(least), Some(most)) => {
            let expected = found.expected_usd.filter(|_| most > 0.0);
            let told = expected.map_or_else(String::new, |one| {
                format!(
                    "about {:.2} ({:.2} to {:.2} if attempts take as many turns as measured ones), ",
                    one.median, one.low, one.high
                )
            });
            terminal::line(format_args!("cost: {told}at least {least:.2}, at most {most:.2} US dollars"));
        }
        (_, _) => terminal::line(format_args!("cost: unknown, because a model has no price")),
    }
    for one in found.cost.iter().filter(|one| one.most_usd.is_some_and(|most| most > 0.0)) {
        let (least, most) = (one.least_usd.unwrap_or_default(), one.most_usd.unwrap_or_default());
        terminal::line(format_args!("  {}: {least:.2} to {most:.2}", one.model));
    }
    let primary = &found.primary;
    terminal::line(format_args!("primary comparison: {} against {}", primary.treatment, primary.control));
    show(&found.power);
    for note in &found.notes {
        terminal::line(format_args!("note: {note}"));
    }
    if let Some(path) = &told.registration {
        terminal::line(format_args!("registered: {}", path.display()));
    }
    for one in &told.deviations {
        terminal::line(format_args!("deviation from registration: {}: {}", one.field, one.what));
    }
}

fn show(power: &Power) {
    if power.templates < MIN_TEMPLATES {
        terminal::line(format_args!(
            "a verdict needs {MIN_TEMPLATES} test templates or more; there are {}: too few to decide, {} more to write",
            power.templates,
            MIN_TEMPLATES - power.templates
        ));
    } else {
        terminal::line(format_args!(
            "a verdict needs {MIN_TEMPLATES} test templates or more; there are {}",
            power.templates
        ));
    }
    let points = |share: f64| format!("{:+.0} points", share * 100.0);
    let Power { templates, seeds, .. } = power;
    match power.smallest_effect {
        Some(effect) => terminal::line(format_args!(
            "power 0.8 for differences from {}, with {} in {}, if \
             templates pass up to {:.0} % without help",
            points(effect),
            counted(*templates, "template"),
            counted(*seeds, "variation"),
            power.base * 100.0
        )),
        None => {
            terminal::line(format_args!("no difference, however large, reaches a power of 0.8"));
        }
    }
    if let (Some(effect), Some(found)) = (power.effect, power.found) {
        let needed = match power.templates_needed {
            Some(needed) => format!("a power of 0.8 needs {}", counted(needed, "template")),
            None => "a power of 0.8 needs more than 400 templates".into(),
        };
        terminal::line(format_args!(
            "{} are detected in {:.0} % of experiments; {needed}",
            points(effect),
            found * 100.0
        ));
    }
}
