//! `apprentice plan`: forecasts the cost and statistical power of an experiment and preregisters it.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::ToolSettings;
use apprentice_evaluator::estimates::cost::Pricing;
use apprentice_evaluator::experiment::{Definition, Forecast, Prereg, forecast};
use apprentice_results::report::Deviation;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::distill::{LoadedExperiment, ModelUse, load_experiment, registration_of};
use crate::commands::{experiment_command, forecast_table};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
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
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: crate::commands::fleet::FleetPlan,
    /// Print one JSON object (`apprentice.plan/1`).
    #[arg(long)]
    json: bool,
}

/// The output of the command.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlanOutput {
    #[serde(flatten)]
    forecast: Forecast,
    /// Path of the registration, if there is one.
    registration: Option<PathBuf>,
    /// Differences between the file and the registration.
    deviations: Vec<Deviation>,
    /// What fleets of several sizes would take.
    #[cfg(feature = "fleet")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fleet: Vec<apprentice_fleet::FleetForecast>,
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
    let learning = crate::commands::forecast::learning_models(&models, draft.learner.as_deref())?;
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
    #[cfg(feature = "fleet")]
    let fleet = {
        // Learning is ordered: one leader carries it out, however many workers there are.
        let measured = forecast.parts.iter().filter(|part| !part.learning).map(|part| part.trials).sum();
        arguments.fleet.forecasts(measured, config)?
    };
    let told = PlanOutput {
        forecast,
        registration,
        deviations,
        #[cfg(feature = "fleet")]
        fleet,
    };
    if arguments.json {
        return terminal::json(&told);
    }
    print(&told);
    Ok(())
}

fn print(told: &PlanOutput) {
    forecast_table::print(&told.forecast);
    if let Some(path) = &told.registration {
        terminal::line(format_args!("registered: {}", path.display()));
    }
    #[cfg(feature = "fleet")]
    crate::commands::fleet::print_plan(&told.fleet);
    for one in &told.deviations {
        terminal::line(format_args!("deviation from registration: {}: {}", one.field, one.what));
    }
}
