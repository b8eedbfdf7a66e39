//! `apprentice submit EXPERIMENT.toml`, or with `--student` a bench: stores the files that an experiment names, and leaves it to
//! workers, of which one leads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::ToolSettings;
use apprentice_evaluator::experiment::experiment_config::Located;
use apprentice_evaluator::experiment::{Experiment, ExperimentConfig};
use apprentice_fleet::{Artifacts, ExperimentRecord, build_of, files_below};
use apprentice_runs::layout::PREREG_FILE;
use apprentice_tasks::suite as suites;
use serde::{Deserialize, Serialize};

use super::submit::{Submit, without_queue};
use super::submitted::Submitted;
use crate::commands::bench::{self, Bench, BenchFiles};
use crate::commands::distill::{Distill, LoadedExperiment, ModelUse, load_experiment, registration_of};
use crate::commands::experiment_command;
use crate::commands::forecast::Proceed;
use crate::commands::run::{ParseCommand, StartedBy};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::runs::queue_access::{database_failure, store_settings};
use crate::settings::config::Config;
use crate::settings::overrides::{self, Overrides};
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

    /// The files of a bench on this machine.
    pub(super) fn of_bench(&self, inputs: &Path) -> BenchFiles {
        let at = |path: &String| inputs.join(path);
        BenchFiles {
            suite: self.suite(inputs),
            split: self.split.as_ref().map(at),
            select: self.select.as_ref().map(at),
            skillbook: self.skillbook.as_ref().map(at),
        }
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
    fn of_file(file: &Path, config: &ExperimentConfig) -> Result<Self, Failure> {
        let from = file.parent().unwrap_or(Path::new(""));
        let at = |named: &Option<Located<PathBuf>>| named.as_ref().map(|named| from.join(&named.value));
        let mut inputs = Self::of_suite(&from.join(&config.suite.value))?;
        inputs.files.insert(FILE.to_owned(), file.to_owned());
        inputs.add_choice(at(&config.split), at(&config.select));
        inputs.add_book(at(&config.skillbook).as_deref())?;
        for (number, run) in config.demonstrations.iter().enumerate() {
            let run = from.join(&run.value);
            let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let below = format!("demonstrations/{number}/{name}");
            inputs.add_folder(&below, &run)?;
            inputs.layout.demonstrations.push(below);
        }
        let registration = registration_of(file);
        if registration.is_file() {
            inputs.files.insert(PREREG_FILE.to_owned(), registration);
            inputs.layout.registration = Some(PREREG_FILE.to_owned());
        }
        Ok(inputs)
    }

    /// Collects what the options of a bench name.
    fn of_bench(bench: &Bench, config: &Config, experiment: &Experiment) -> Result<Self, Failure> {
        let mut inputs = Self::of_suite(&crate::suite::found(bench.suite())?)?;
        let [split, select] = bench.named_files().map(|file| file.map(Path::to_owned));
        inputs.add_choice(split, select);
        let needs_book = experiment.arms.iter().any(|arm| arm.needs_book());
        inputs.add_book(needs_book.then(|| bench.book(config)))?;
        Ok(inputs)
    }

    fn of_suite(path: &Path) -> Result<Self, Failure> {
        let mut inputs = Self { layout: Layout::default(), files: BTreeMap::new() };
        inputs.layout.schema = LAYOUT_SCHEMA.to_owned();
        let suite = std::fs::canonicalize(path).kind(Kind::Config)?;
        let root = suites::root_of(&suite);
        // A suite may be known by the name of its folder.
        let name =
            root.file_name().map_or_else(|| "suite".into(), |name| name.to_string_lossy().into_owned());
        let below = format!("suite/{name}");
        inputs.add_folder(&below, &root)?;
        let file_of_suite = suite.strip_prefix(&root).kind(Kind::Bug)?.to_string_lossy().into_owned();
        inputs.layout.suite = format!("{below}/{file_of_suite}").trim_end_matches('/').to_owned();
        Ok(inputs)
    }

    /// Adds a split and a selection of tasks.
    fn add_choice(&mut self, split: Option<PathBuf>, select: Option<PathBuf>) {
        for (file, name, place) in
            [(split, "split.json", &mut self.layout.split), (select, "select.json", &mut self.layout.select)]
        {
            if let Some(file) = file {
                self.files.insert(name.to_owned(), file);
                *place = Some(name.to_owned());
            }
        }
    }

    fn add_book(&mut self, folder: Option<&Path>) -> Result<(), Failure> {
        let Some(folder) = folder else { return Ok(()) };
        self.layout.skillbook = Some("skillbook".to_owned());
        self.add_folder("skillbook", folder)
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

/// An experiment that its user has agreed to, with what its leader needs.
struct Agreed {
    experiment: Experiment,
    inputs: Inputs,
    config: Config,
    models: Arc<Models>,
}

impl Agreed {
    /// An experiment by its file; `None` if it is not to be carried out.
    fn of_file(distill: &Distill, config: &Config, submit: &Submit) -> Result<Option<Self>, Failure> {
        let clock = experiment_command::clock();
        refuse(distill.bound_to_a_machine(&clock)?, "`apprentice distill` takes it, on one machine")?;
        let file = crate::suite::found(distill.file())?;
        let consent = distill.consent().in_json(submit.run.json);
        let loaded = load_experiment(&file, config, clock, ModelUse::from(consent))?;
        let experiment = loaded.experiment(recorded(submit), ToolSettings::default())?;
        if loaded.confirm_cost(&experiment, None, consent)? == Proceed::Off {
            return Ok(None);
        }
        let inputs = Inputs::of_file(&file, &loaded.draft.config)?;
        let LoadedExperiment { config, models, .. } = loaded;
        Ok(Some(Self { experiment, inputs, config, models }))
    }

    /// A bench by its options; `None` if it is not to be carried out.
    fn of_bench(bench: &Bench, config: Config, submit: &Submit) -> Result<Option<Self>, Failure> {
        let clock = experiment_command::clock();
        refuse(bench.bound_to_a_machine(&clock)?, "`apprentice bench` takes it, on one machine")?;
        let models = wire::models(&config, clock)?;
        let experiment = bench::experiment(bench, &config, &models, recorded(submit))?;
        if bench::agreed(bench, &config, &models, &experiment)? == Proceed::Off {
            return Ok(None);
        }
        let inputs = Inputs::of_bench(bench, &config, &experiment)?;
        Ok(Some(Self { experiment, inputs, config, models }))
    }
}

/// The command line of the same experiment on one machine.
fn recorded(submit: &Submit) -> Vec<String> {
    without_queue(&process_env::command_line(), submit.kind())
}

fn refuse(option: Option<&str>, hint: &str) -> Result<(), Failure> {
    let Some(option) = option else { return Ok(()) };
    let message = format!("{option} does not apply to an experiment of a queue");
    Err(Failure::say(Kind::Usage, message).hint(hint))
}

/// Runs `submit` for an experiment.
pub(super) fn submit(arguments: &Submit, flags: &Overrides, parse: ParseCommand) -> Result<(), Failure> {
    let command = recorded(arguments);
    // An option that only runs have is an error of this command line.
    let parsed = parse(&command).map_err(|failure| Failure { kind: Kind::Usage, ..failure })?;
    let config = overrides::settings(&[flags])?.config()?;
    let agreed = match &parsed.started {
        StartedBy::Distill(distill) => Agreed::of_file(distill, &config, arguments)?,
        StartedBy::Bench(bench) => Agreed::of_bench(bench, config, arguments)?,
        _ => return Err(Failure::say(Kind::Usage, "the file of an experiment ends in .toml")),
    };
    let Some(Agreed { experiment, inputs, config, models }) = agreed else { return Ok(()) };
    let trial_usd = dearest(models.trial_caps(measured_models(&experiment))?);
    if config.cap.run_usd.is_some() && trial_usd.is_none() {
        return Err(Failure::say(Kind::Usage, "an experiment with a cap needs a cap per trial")
            .hint("set cap.trial_usd in apprentice.toml: what one attempt of any of its models may cost"));
    }
    // What is wrong here is told before the database is asked for anything.
    let artifacts = Artifacts::open(&arguments.artifacts, &store_settings()).kind(Kind::Usage)?;
    let (stamp, number) = (wire::stamp(&**models.clock()), process_env::unique_name());
    let record = ExperimentRecord {
        experiment: format!("{}-{stamp}-{number}", arguments.kind()),
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
