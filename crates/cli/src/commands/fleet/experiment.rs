//! `apprentice submit EXPERIMENT.toml`: stores the files that an experiment names, and leaves it to workers, of which one leads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use apprentice_evaluator::experiment::experiment_config::Located;
use apprentice_evaluator::experiment::{Experiment, ExperimentConfig};
use apprentice_evaluator::tool_servers::ToolSettings;
use apprentice_fleet::{Artifacts, ExperimentRecord, build_of, files_below};
use apprentice_tasks::suite as suites;
use serde::{Deserialize, Serialize};

use super::address::{database_failure, store_settings};
use super::submit::{Submit, without_queue};
use super::submitted::Submitted;
use crate::commands::distill::{LoadedExperiment, ModelUse, load_experiment, registration_of};
use crate::commands::experiment_command;
use crate::commands::run::{ParseCommand, StartedBy};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::forecast::Proceed;
use crate::overrides::{self, Overrides};
use crate::{process_env, terminal, wire};

/// The schema name of the list of an experiment's inputs.
const LAYOUT_SCHEMA: &str = "apprentice.experiment-inputs/1";
/// The file names of an experiment's inputs.
const LAYOUT: &str = "inputs.json";
pub(super) const FILE: &str = "experiment.toml";

/// Where the files that an experiment names stand among its inputs, as paths below them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Layout {
    schema: String,
    suite: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    select: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skillbook: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    demonstrations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) registration: Option<String>,
}

impl Layout {
    /// Reads the layout of inputs that were brought to this machine.
    pub(super) fn read(inputs: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(inputs.join(LAYOUT)).kind(Kind::Environment)?;
        let layout: Self = serde_json::from_str(&text).kind(Kind::Config)?;
        match layout.schema == LAYOUT_SCHEMA {
            true => Ok(layout),
            false => Err(Failure::say(
                Kind::Config,
                format!("the experiment's inputs have schema {:?}, not {LAYOUT_SCHEMA:?}", layout.schema),
            )),
        }
    }

    /// Has an experiment's file name its inputs where they are on this machine.
    pub(super) fn apply_to(&self, file: &mut ExperimentConfig, inputs: &Path) {
        let at = |path: &String| Located::without_position(inputs.join(path));
        file.suite = Located::without_position(self.suite(inputs));
        file.split = self.split.as_ref().map(at);
        file.select = self.select.as_ref().map(at);
        file.skillbook = self.skillbook.as_ref().map(at);
        let text =
            |path: &String| Located::without_position(inputs.join(path).to_string_lossy().into_owned());
        file.demonstrations = self.demonstrations.iter().map(text).collect();
    }

    /// The path of the suite on this machine.
    pub(super) fn suite(&self, inputs: &Path) -> PathBuf {
        inputs.join(&self.suite)
    }
}

/// The files of an experiment's inputs, by their path among them.
struct Inputs {
    layout: Layout,
    files: BTreeMap<String, PathBuf>,
}

impl Inputs {
    /// Collects what an experiment's file names. Its paths are relative to its folder.
    fn of(file: &Path, config: &ExperimentConfig) -> Result<Self, Failure> {
        let from = file.parent().unwrap_or(Path::new(""));
        let mut inputs = Self { layout: Layout::default(), files: BTreeMap::new() };
        inputs.layout.schema = LAYOUT_SCHEMA.to_owned();
        inputs.files.insert(FILE.to_owned(), file.to_owned());
        let suite = std::fs::canonicalize(from.join(&config.suite.value)).kind(Kind::Config)?;
        let root = suites::root_of(&suite);
        // A suite may be known by the name of its folder.
        let name =
            root.file_name().map_or_else(|| "suite".into(), |name| name.to_string_lossy().into_owned());
        let below = format!("suite/{name}");
        inputs.add_folder(&below, &root)?;
        let file_of_suite = suite.strip_prefix(&root).kind(Kind::Bug)?.to_string_lossy().into_owned();
        inputs.layout.suite = format!("{below}/{file_of_suite}").trim_end_matches('/').to_owned();
        for (named, name, place) in [
            (&config.split, "split.json", &mut inputs.layout.split),
            (&config.select, "select.json", &mut inputs.layout.select),
        ] {
            if let Some(named) = named {
                inputs.files.insert(name.to_owned(), from.join(&named.value));
                *place = Some(name.to_owned());
            }
        }
        if let Some(book) = &config.skillbook {
            inputs.add_folder("skillbook", &from.join(&book.value))?;
            inputs.layout.skillbook = Some("skillbook".to_owned());
        }
        for (number, run) in config.demonstrations.iter().enumerate() {
            let run = from.join(&run.value);
            let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let below = format!("demonstrations/{number}/{name}");
            inputs.add_folder(&below, &run)?;
            inputs.layout.demonstrations.push(below);
        }
        let registration = registration_of(file);
        if registration.is_file() {
            inputs.files.insert("prereg.lock".to_owned(), registration);
            inputs.layout.registration = Some("prereg.lock".to_owned());
        }
        Ok(inputs)
    }

    /// Stores the inputs with their layout. Returns the hash of their list.
    async fn stored(mut self, artifacts: &Artifacts) -> Result<String, Failure> {
        let folder = tempfile::tempdir().kind(Kind::Environment)?;
        let written = folder.path().join(LAYOUT);
        let layout = serde_json::to_string_pretty(&self.layout).kind(Kind::Bug)?;
        std::fs::write(&written, layout).kind(Kind::Environment)?;
        self.files.insert(LAYOUT.to_owned(), written);
        artifacts.put_named(&self.files).await.kind(Kind::Environment)
    }

    fn add_folder(&mut self, name: &str, folder: &Path) -> Result<(), Failure> {
        for path in files_below(folder).kind(Kind::Config)? {
            self.files.insert(format!("{name}/{path}"), folder.join(path));
        }
        Ok(())
    }
}

/// Runs `submit` for an experiment.
pub(super) fn submit(arguments: &Submit, flags: &Overrides, parse: ParseCommand) -> Result<(), Failure> {
    let command = without_queue(&process_env::command_line(), "distill");
    // An option that only runs have is an error of this command line.
    let parsed = parse(&command).map_err(|failure| Failure { kind: Kind::Usage, ..failure })?;
    let StartedBy::Distill(distill) = parsed.started else {
        return Err(Failure::say(Kind::Usage, "the file of an experiment ends in .toml"));
    };
    let clock = experiment_command::clock();
    if let Some(option) = distill.bound_to_a_machine(&clock)? {
        return Err(Failure::say(
            Kind::Usage,
            format!("{option} does not apply to an experiment of a queue"),
        )
        .hint("`apprentice distill` takes it, on one machine"));
    }
    let config = &overrides::settings(&[flags])?.config()?;
    let file = crate::suite::found(distill.file())?;
    let consent = distill.consent().in_json(arguments.run.json);
    let loaded = load_experiment(&file, config, std::sync::Arc::clone(&clock), ModelUse::from(consent))?;
    let experiment = loaded.experiment(command.clone(), ToolSettings::default())?;
    if loaded.confirm_cost(&experiment, None, consent)? == Proceed::Off {
        return Ok(());
    }
    let inputs = Inputs::of(&file, &loaded.draft.config)?;
    let LoadedExperiment { config, models, .. } = &loaded;
    let trial_usd = dearest(models.trial_caps(measured_models(&experiment))?);
    if config.cap.run_usd.is_some() && trial_usd.is_none() {
        return Err(Failure::say(Kind::Usage, "an experiment with a cap needs a cap per trial")
            .hint("set cap.trial_usd in apprentice.toml: what one attempt of any of its models may cost"));
    }
    // What is wrong here is told before the database is asked for anything.
    let artifacts = Artifacts::open(&arguments.artifacts, &store_settings()).kind(Kind::Usage)?;
    let record = ExperimentRecord {
        experiment: format!("distill-{}-{}", wire::stamp(&*clock), process_env::unique_name()),
        command: serde_json::to_string(&command).kind(Kind::Bug)?,
        inputs: String::new(),
        build: build_of(env!("CARGO_PKG_VERSION"), &apprentice_harness::agent::prompt_hash()),
        artifacts: artifacts.address().to_owned(),
        priority: arguments.priority,
        needs: arguments.needs.clone(),
        max_usd: config.cap.run_usd,
        trial_usd,
        copy: None,
        state: "open".to_owned(),
        trouble: None,
    };
    wire::runtime()?.block_on(async {
        let queue = arguments.queue.open(true).await?;
        let record = ExperimentRecord { inputs: inputs.stored(&artifacts).await?, ..record };
        queue.add_experiment(&record).await.map_err(database_failure)?;
        told(&record.experiment, arguments.run.json)
    })
}

/// The models whose trials workers carry out.
fn measured_models(experiment: &Experiment) -> impl Iterator<Item = &str> {
    let named = experiment.others.iter().chain([&experiment.student]).chain(&experiment.teacher);
    named.map(String::as_str)
}

/// What a trial may cost if any of these models has it: the highest of their caps, and none if one has none.
fn dearest(caps: Vec<Option<f64>>) -> Option<f64> {
    let caps: Option<Vec<f64>> = caps.into_iter().collect();
    caps.and_then(|caps| caps.into_iter().reduce(f64::max))
}

fn told(id: &str, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::json(&Submitted::experiment(id));
    }
    terminal::line(format_args!("{id}"));
    terminal::note(format_args!(
        "submitted; `apprentice worker` carries it out, `apprentice fetch {id}` brings its folder"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::dearest;

    #[test]
    fn a_trial_of_any_model_is_reserved_what_the_dearest_may_cost() {
        assert_eq!(dearest(vec![Some(0.1), Some(2.0), Some(0.5)]), Some(2.0));
        assert_eq!(dearest(vec![Some(0.1), None]), None, "one without a cap may cost anything");
    }
}
