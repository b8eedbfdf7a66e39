//! `skills apply` and `skills clean`: applies external reflections, and cleans up a skillbook.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::estimates::review::CountRange;
use apprentice_learning::cleanup::{CleanupOptions, CleanupTask, SkillEmbeddings, find_cleanup_tasks};
use apprentice_learning::manage::{Decision, ItemOutcome, ManageError};
use apprentice_learning::{
    AppliedReflection, ExternalReflection, HandlerOptions, LearnError, LearnOptions, LearnerModels,
    LearningInput, apply as work_in, clean_book, trajectory_by_name,
};
use apprentice_models::scripted::Scripted;
use apprentice_protocol::{ChatModel, Clock as _};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::State;
use apprentice_wording::EmbeddingModel;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::proposals::{WriteModeArg, conclude};
use super::{many, open, write_as};
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::Config;
use crate::{terminal, wire};

/// Applies reflections from elsewhere to the skillbook: counts each review, and lets the manager decide on changes.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// A `TrajectoryReflection`, or an array of them; each may have `trajectory_id`, `consumer`, `verdict` and
    /// `retrieved`. A `trajectory_id` that was applied before has no effect.
    file: PathBuf,
    /// The manager. `scripted:FILE` replays its lines in order over all items: an item ends with its write, or with a
    /// line without calls; after the last line, the remaining items end without a change.
    #[arg(long, short, default_value = "builtin/explorer")]
    model: String,
    /// Amount that a helpful, partly followed skill adds to `times_followed`.
    #[arg(long, value_name = "CREDIT", default_value_t = 0.5, value_parser = share)]
    positive_partial_credit: f64,
    /// Number of separate attempts that establish a pattern.
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = many)]
    corroboration: usize,
    #[command(flatten)]
    consent: SpendingArgs,
    #[command(flatten)]
    writing: WriteModeArg,
}

/// Finds skills that are harmful, duplicate or rarely followed, and lets the manager decide on each.
#[derive(Debug, Args)]
pub(crate) struct Clean {
    #[command(flatten)]
    consent: SpendingArgs,
    /// The model that decides.
    #[arg(long, short, default_value = "builtin/explorer")]
    model: String,
    /// Model class that the skillbook is for: only skills that this class has shown to be harmful are removed.
    #[arg(long, value_name = "CLASS")]
    target: Option<String>,
    /// Minimum similarity of possible duplicates in a domain.
    #[arg(long, default_value_t = 0.85, value_parser = share)]
    similarity: f64,
    /// Also compare skills of `os` and `general` with those of all domains.
    #[arg(long)]
    cross_domain: bool,
    #[command(flatten)]
    writing: WriteModeArg,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Returns the model that learns or decides. A script's replies are used in order, over all conversations.
pub(crate) fn learner(name: &str, models: &Models, purpose: &str) -> Result<Arc<dyn ChatModel>, Failure> {
    match name.strip_prefix("scripted:") {
        Some(file) => Ok(Arc::new(Scripted::load(file.as_ref()).kind(Kind::Config)?.in_order().then_empty())),
        None => models.get(name, purpose),
    }
}

/// Converts an error of applying reflections into a failure: of the skillbook's folder, of a model, or a bug.
pub(crate) fn apply_failure(error: LearnError) -> Failure {
    let kind = match &error {
        LearnError::Book(_) | LearnError::Manage { source: ManageError::Book(_), .. } => Kind::Config,
        LearnError::Reflect { .. } | LearnError::Manage { source: ManageError::Model(_), .. } => Kind::Model,
        LearnError::Material(_) | LearnError::Manage { source: ManageError::Json(_), .. } => Kind::Bug,
    };
    Failure::new(kind, error).hint("decisions so far are kept; repeat the command to continue")
}

/// The output of `skills apply --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct AppliedReviews<'a> {
    schema: &'static str,
    skillbook: &'a Path,
    trajectories: &'a [AppliedReflection],
    /// The skillbook's hashes afterwards.
    content_hash: String,
    log_hash: String,
}

/// The output of `skills clean --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CleanupOutput<'a> {
    schema: &'static str,
    dry_run: bool,
    tasks: &'a [CleanupTask],
    decisions: &'a [Decision],
    /// The skillbook's hash afterwards; absent for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
}

impl<'a> CleanupOutput<'a> {
    /// What a dry run prints: nothing is decided.
    fn dry(tasks: &'a [CleanupTask]) -> Self {
        let schema = "apprentice.skills.clean/1";
        Self { schema, dry_run: true, tasks, decisions: &[], content_hash: None }
    }

    /// What was decided, and the skillbook's hash afterwards.
    fn done(tasks: &'a [CleanupTask], decisions: &'a [Decision], hash: String) -> Self {
        Self { dry_run: false, decisions, content_hash: Some(hash), ..Self::dry(tasks) }
    }
}

pub(super) fn apply(arguments: &Apply, folder: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
    let place = arguments.file.display();
    let text = apprentice_files::read_to_string(&arguments.file)
        .map_err(|error| Failure::say(Kind::Config, format!("{place}: {error}")))?;
    let given = ExternalReflection::read(&text)
        .map_err(|error| Failure::new(Kind::Config, error).hint(format!("in {place}")))?;
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    let mut forecast = Forecast::default();
    forecast.add_reviews(&models, &arguments.model, given.len())?;
    let texts =
        given.iter().map(|one| one.reflection.skill_reviews.len() + one.reflection.new_learnings.len()).sum();
    forecast.add_readings(&models, &arguments.model, CountRange::up_to(texts))?;
    if forecast.agree(config, arguments.consent.in_json(as_json))? == Proceed::Off {
        return Ok(());
    }
    let manager = learner(&arguments.model, &models, "curate")?;
    let mut options = LearnOptions {
        handler: HandlerOptions { positive_partial_credit: arguments.positive_partial_credit },
        ..LearnOptions::default()
    };
    options.manage.corroboration = arguments.corroboration;
    let mode = arguments.writing.mode(config);
    let mut gateway = write_as(folder, mode, config.authored_pages, config.effects)?;
    gateway.set_embedding(models.embedding()?);
    gateway.set_readers(models.safety_readers(&arguments.model)?);
    let runtime = wire::runtime()?;
    let mut applied = Vec::new();
    for given in &given {
        let time = SystemClock::default().now();
        let one = work_in(&mut gateway, manager.as_ref(), given, time, &options);
        applied.push(runtime.block_on(async { one.await.map_err(apply_failure) })?);
    }
    let book = gateway.snapshot();
    drop(gateway);
    if as_json {
        terminal::json(&AppliedReviews {
            schema: "apprentice.skills.apply/1",
            skillbook: folder,
            trajectories: &applied,
            content_hash: book.content_hash(),
            log_hash: book.log_hash(),
        })?;
    } else {
        applied.iter().for_each(print_applied);
    }
    conclude(folder, mode)
}

fn print_applied(applied: &AppliedReflection) {
    let known = if applied.known_before { ": applied before, no change" } else { "" };
    terminal::line(format_args!("{}{known}", applied.trajectory_id));
    for row in &applied.rows {
        let now = row.after;
        terminal::line(format_args!(
            "  {}: {}; requested {}, followed {}, positive {}, negative {}, neutral {}",
            row.skill_id,
            row.review_type,
            now.times_requested,
            now.times_followed,
            now.positive_impact,
            now.negative_impact,
            now.neutral_impact
        ));
    }
    for refusal in &applied.refusals {
        terminal::line(format_args!("  refused, {}: {}", refusal.code, refusal.why));
    }
    applied.decisions.iter().for_each(tell_decision);
}

fn tell_decision(decision: &Decision) {
    match &decision.outcome {
        ItemOutcome::Wrote { operation, tool, skill_id } => {
            let skill = skill_id.as_ref().map(ToString::to_string).unwrap_or_default();
            terminal::line(format_args!("  {}: {tool} {skill} ({operation})", decision.item));
        }
        ItemOutcome::Proposed { operation, tool, skill_id } => {
            let skill = skill_id.as_ref().map(ToString::to_string).unwrap_or_default();
            terminal::line(format_args!("  {}: {tool} {skill} is proposed ({operation})", decision.item));
        }
        ItemOutcome::Nothing { words, reason } => {
            let reason = reason.map(|reason| format!(", {}", reason.word())).unwrap_or_default();
            terminal::line(format_args!("  {}: no change{reason}. {words}", decision.item));
        }
        ItemOutcome::DecidedBefore { operation } => {
            terminal::line(format_args!("  {}: already decided by {operation}", decision.item));
        }
    }
    for refusal in &decision.refusals {
        terminal::line(format_args!("    refused, {}: {}", refusal.code, refusal.why));
    }
}

impl Clean {
    /// Whether the command may change the skillbook.
    pub(super) fn writes(&self) -> bool {
        !self.consent.dry_run
    }
}

/// Computes semantic similarities of a skillbook's skills, unless the settings choose words alone.
fn sense(state: &State, embedding: Option<&EmbeddingModel>) -> Result<Option<SkillEmbeddings>, Failure> {
    let Some(embedding) = embedding else { return Ok(None) };
    wire::runtime()?
        .block_on(async { SkillEmbeddings::of(state, embedding).await.kind(Kind::Model) })
        .map(Some)
}

/// Adds the decisions of a cleanup. Each writes at most one text, which safety readers read.
fn add_decisions(forecast: &mut Forecast, models: &Models, model: &str, count: usize) -> Result<(), Failure> {
    forecast.add_reviews(models, model, count)?;
    forecast.add_readings(models, model, CountRange::up_to(count))
}

pub(super) fn clean(arguments: &Clean, folder: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
    let options = CleanupOptions {
        target: arguments.target.clone(),
        similarity: arguments.similarity,
        cross_domain: arguments.cross_domain,
        ..CleanupOptions::default()
    };
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    let embedding = models.embedding()?;
    let book = open(folder)?;
    let sensed = sense(book.state(), embedding.as_deref())?;
    let tasks = find_cleanup_tasks(book.state(), &options, sensed.as_ref());
    let mut forecast = Forecast::default();
    add_decisions(&mut forecast, &models, &arguments.model, tasks.len())?;
    if arguments.consent.dry_run {
        if as_json {
            return terminal::json(&CleanupOutput::dry(&tasks));
        }
        if tasks.is_empty() {
            terminal::line(format_args!("no skills to clean up"));
        }
        for task in &tasks {
            terminal::line(format_args!("{}", task.headline()));
        }
    }
    if forecast.agree(config, arguments.consent.in_json(as_json))? == Proceed::Off {
        return Ok(());
    }
    let manager = learner(&arguments.model, &models, "curate")?;
    let mode = arguments.writing.mode(config);
    let mut gateway = write_as(folder, mode, config.authored_pages, config.effects)?;
    let sense = sense(gateway.state(), embedding.as_deref())?;
    let tasks = find_cleanup_tasks(gateway.state(), &options, sense.as_ref());
    gateway.set_embedding(embedding);
    gateway.set_readers(models.safety_readers(&arguments.model)?);
    let trajectory = trajectory_by_name(&format!("cleaning-after-{}", gateway.state().last));
    let input = LearningInput::new(&trajectory, SystemClock::default().now());
    let options = LearnOptions { clean: options, ..LearnOptions::default() };
    let learners = LearnerModels { reflector: Arc::clone(&manager), manager };
    let cleaning = clean_book(&mut gateway, &learners, &input, &options);
    let decisions = wire::runtime()?.block_on(async { cleaning.await.map_err(apply_failure) })?;
    let content_hash = gateway.snapshot().content_hash();
    drop(gateway);
    if as_json {
        terminal::json(&CleanupOutput::done(&tasks, &decisions, content_hash))?;
    } else if tasks.is_empty() {
        terminal::line(format_args!("no skills to clean up"));
    } else {
        decisions.iter().for_each(tell_decision);
    }
    conclude(folder, mode)
}
