//! A worker as the leader of an experiment: it learns the skillbook, has the workers measure, and writes the report.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::ToolSettings;
use apprentice_evaluator::experiment::{BookSource, Experiment, Prereg, RunsElsewhere};
use apprentice_evaluator::run::TrialSpec;
use apprentice_fleet::{Database, ExperimentRuns, LeadExperiment, LeaderPlace, Leaving, Led, Metered};
use apprentice_protocol::{BoxFuture, ChatModel};

use super::experiment::{FILE, Layout};
use super::metered_models::MeteredModels;
use super::submit::needs;
use crate::commands::bench;
use crate::commands::distill::{LoadedExperiment, ModelUse, load_experiment_with};
use crate::commands::experiment_command::{self, Performance, WrapModels, WrapReader};
use crate::commands::run::{ParseCommand, RecordedCommand, StartedBy};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::Config;
use crate::settings::overrides::{self, Overrides};
use crate::wire;

/// Leads experiments with the settings of this machine.
#[derive(Clone)]
pub(super) struct LeaderHere {
    flags: Overrides,
    parse: ParseCommand,
    database: Arc<Database>,
}

/// An experiment that is ready on this machine.
struct Ready {
    experiment: Experiment,
    config: Config,
    models: Arc<Models>,
    suite: PathBuf,
}

impl LeaderHere {
    /// A leader whose calls take tokens of the buckets in `database`.
    pub(super) fn new(flags: &Overrides, parse: ParseCommand, database: Arc<Database>) -> Self {
        Self { flags: flags.clone(), parse, database }
    }

    fn ready(&self, led: &Led) -> Result<Ready, Failure> {
        let command: Vec<String> = serde_json::from_str(&led.record.command).kind(Kind::Config)?;
        let RecordedCommand { flags, started } = (self.parse)(&command)?;
        let config = overrides::settings(&[&flags, &self.flags])?.config()?;
        let inputs = std::path::absolute(&led.inputs).kind(Kind::Environment)?;
        let layout = Layout::read(&inputs)?;
        let suite = layout.suite(&inputs);
        let clock = experiment_command::clock();
        let distill = match started {
            StartedBy::Distill(distill) => distill,
            StartedBy::Bench(bench) => {
                let models = wire::models(&config, clock)?;
                let bench = bench.brought(layout.of_bench(&inputs));
                let experiment = bench::experiment(&bench, &config, &models, command)?;
                return Ok(Ready { experiment, config, models, suite });
            }
            _ => {
                let message = "the experiment was not submitted by `apprentice submit`";
                return Err(Failure::say(Kind::Config, message));
            }
        };
        let loaded = load_experiment_with(&inputs.join(FILE), &config, clock, ModelUse::Calls, |file| {
            layout.apply_to(file, &inputs);
        })?;
        let experiment = loaded.experiment(command, ToolSettings::default())?;
        let registered = match &layout.registration {
            Some(path) => Prereg::read(&inputs.join(path)).kind(Kind::Config)?,
            None => None,
        };
        let mut experiment = Experiment { registered, ..experiment };
        if let BookSource::Learned(learning) = &mut experiment.book {
            learning.cycle.learn.reflect.pictures = distill.reflector_pictures();
            learning.learner = metered(Arc::clone(&learning.learner), &self.database, &led.record.experiment);
        }
        let LoadedExperiment { config, models, .. } = loaded;
        Ok(Ready { experiment, config, models, suite })
    }

    async fn perform(&self, led: Led) -> Result<(), Failure> {
        let Ready { experiment, config, models, suite } = self.ready(&led)?;
        let Led { record, queue, leadership, folder, control, .. } = led;
        let experiment_id = record.experiment.clone();
        let needed = needs(&experiment.suite, &config, &record.needs);
        let needs = Box::new(move |trial: &TrialSpec| needed.get(&trial.task).cloned().unwrap_or_default());
        let place = LeaderPlace { folder: folder.clone(), suite, needs, control: control.clone() };
        let runs = ExperimentRuns::new(queue, record, leadership, place).kind(Kind::Environment)?;
        let runs: Arc<dyn RunsElsewhere> = Arc::new(runs);
        let (database, of_readers) = (Arc::clone(&self.database), Arc::clone(&self.database));
        let learns_for = Some(experiment_id.clone());
        let wrap: WrapModels = Box::new(move |inner| Arc::new(MeteredModels { inner, database, learns_for }));
        let wrap_reader: WrapReader = Box::new(move |reader| metered(reader, &of_readers, &experiment_id));
        let performance = Performance::led(Arc::clone(&runs), control.clone(), wrap, wrap_reader);
        let outcome =
            Box::pin(experiment_command::perform(&experiment, &config, &models, &folder, performance)).await;
        if control.cancel.is_cancelled() && folder.is_dir() {
            // What ended early is kept, so that the next leader has it.
            let kept = runs.keep_copy().await;
            kept.kind(Kind::Interrupted)?;
        }
        outcome.map(drop)
    }
}

/// A model whose calls take tokens of the buckets of all workers, and count for the caps as learning.
fn metered(model: Arc<dyn ChatModel>, database: &Arc<Database>, experiment: &str) -> Arc<dyn ChatModel> {
    let name = model.profile().name.clone();
    Arc::new(Metered::new(model, &name, Arc::clone(database)).learning_for(experiment))
}

impl LeadExperiment for LeaderHere {
    fn lead(&self, led: Led) -> BoxFuture<'_, Leaving> {
        let (here, cancel) = (self.clone(), led.control.cancel.clone());
        // An experiment is made for a command's main task: it gets a thread of its own.
        let runtime = tokio::runtime::Handle::current();
        let thread = tokio::task::spawn_blocking(move || runtime.block_on(here.perform(led)));
        Box::pin(async move {
            match thread.await {
                Ok(Ok(())) => Leaving::Done,
                _ if cancel.is_cancelled() => Leaving::StepDown,
                Ok(Err(failure)) => {
                    let why = format!("{failure:#}");
                    match failure.kind {
                        Kind::Interrupted => Leaving::StepDown,
                        Kind::Environment | Kind::Model | Kind::Bug => Leaving::Trouble(why),
                        _ => Leaving::Unable(why),
                    }
                }
                Err(error) => Leaving::Trouble(error.to_string()),
            }
        })
    }
}
