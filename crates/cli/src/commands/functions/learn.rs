//! `apprentice functions learn`: a function from attempts that passed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::functions::synthesis::{Learned, Lesson, LessonError};
use apprentice_evaluator::learn::{HeldOutTasks, last_attempts};
use apprentice_evaluator::run::RunFolder;
use apprentice_evaluator::split::SplitLock;
use apprentice_learning::synthesis::SynthesisError;
use apprentice_protocol::{Clock, SkillId, TaskId};
use apprentice_sandbox::SystemClock;
use apprentice_screening::leak::HeldOutIndex;
use apprentice_skillbook::{Actor, Applied, Change, Gateway, GatewayOptions, OpId, Snapshot, WriteRequest};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{open, refused, skill};
use crate::commands::forecast::{Forecast, Proceed, SpendingArgs};
use crate::commands::skills::curate::learner;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal, wire};

#[derive(Debug, Args)]
pub(super) struct LearnArgs {
    /// The skill, `domain/name`.
    #[arg(value_parser = skill)]
    skill: SkillId,
    /// The folders of the runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The suite of the runs.
    #[arg(long, value_name = "PATH")]
    suite: PathBuf,
    /// The split of the suite.
    #[arg(long, value_name = "FILE")]
    split: PathBuf,
    /// The task.
    #[arg(long, value_name = "ID")]
    task: String,
    /// The model that writes.
    #[arg(long, short)]
    model: String,
    #[command(flatten)]
    consent: SpendingArgs,
}

/// The largest number of answers of one synthesis.
const ANSWERS: usize = apprentice_learning::synthesis::TRIES as usize;

/// The output of `functions learn --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Written<'a> {
    schema: &'static str,
    skill: &'a SkillId,
    function: &'a str,
    /// The version that was written; absent where the function waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The proposal that waits for a person; absent where the function was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<OpId>,
    source: &'a str,
    tries: u32,
    arguments: &'a Value,
    learned_on: u32,
}

pub(super) fn learn(arguments: &LearnArgs, book: &Path, config: &Config, json: bool) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let suite = crate::suite::load(&arguments.suite)?;
    let lock = SplitLock::read(&arguments.split).kind(Kind::Config)?;
    lock.check_suite(&suite).kind(Kind::Config)?;
    let models = wire::models(config, Arc::clone(&clock))?;
    let mut forecast = Forecast::default();
    forecast.add_reviews(&models, &arguments.model, ANSWERS)?;
    if forecast.agree(config, arguments.consent.in_json(json))? == Proceed::Off {
        return Ok(());
    }
    let mut rows = Vec::new();
    for run in &arguments.runs {
        let folder = RunFolder::open(run).kind(Kind::Config)?;
        rows.extend(last_attempts(&folder).into_iter().map(|row| (run.clone(), row)));
    }
    let lesson = Lesson {
        suite: &suite,
        lock: &lock,
        task: TaskId::new(arguments.task.clone()),
        skill: arguments.skill.clone(),
        rows,
    };
    let snapshot = open(book)?;
    let learned = wire::runtime()?.block_on(async {
        models.reach([arguments.model.as_str()]).await?;
        let model = learner(&arguments.model, &models, "functions")?;
        lesson.learn(model.as_ref(), &snapshot).await.map_err(lesson_failure)
    })?;
    let signature = learned.function.source.signature();
    let change = Change::FunctionWritten {
        skill: arguments.skill.clone(),
        function: signature.name.clone(),
        source: learned.function.source.text().to_owned(),
        references: learned.function.references.clone(),
    };
    let held_out: Arc<dyn HeldOutIndex> = Arc::new(HeldOutTasks::build(&lock, &suite));
    let now = clock.now();
    let effects = models.effect_rule(&arguments.model)?;
    let options =
        GatewayOptions { leaks: held_out, mode: config.write_mode, effects, ..GatewayOptions::at(now) };
    let (mut gateway, _) = Gateway::open(book, options).kind(Kind::Config)?;
    gateway.set_readers(models.safety_readers(&arguments.model)?);
    wire::runtime()?.block_on(async {
        gateway.read_change(&change).await;
        Ok(())
    })?;
    let applied = gateway.apply(WriteRequest::of(Actor::Manager, now, change)).map_err(refused)?;
    let state = match applied {
        Applied::Proposed(id) => State::Waits(id),
        Applied::Written(_) | Applied::AlreadyThere(_) => {
            State::Written(known_version(&gateway.snapshot(), &arguments.skill, &signature.name))
        }
    };
    conclude(&learned, arguments, state, json)
}

/// What the book did with the function.
#[derive(Clone, Copy)]
enum State {
    /// It holds it, in this version.
    Written(u32),
    /// It waits for a person.
    Waits(OpId),
}

fn conclude(learned: &Learned, arguments: &LearnArgs, state: State, json: bool) -> Result<(), Failure> {
    let name = learned.function.source.signature().name.as_str();
    if json {
        let (version, proposal) = match state {
            State::Written(version) => (Some(version), None),
            State::Waits(id) => (None, Some(id)),
        };
        return terminal::json(&Written {
            schema: "apprentice.functions.learn/1",
            skill: &arguments.skill,
            function: name,
            version,
            proposal,
            source: learned.function.source.text(),
            tries: learned.function.tries,
            arguments: &learned.arguments,
            learned_on: learned.learned_on,
        });
    }
    if let State::Waits(id) = state {
        terminal::note(format_args!(
            "{id} waits for a person: `apprentice skills proposals`; the last line is for when it is accepted"
        ));
    }
    terminal::verbatim(learned.function.source.text().trim_end());
    terminal::line(format_args!(
        "apprentice functions admit {} {name} --suite {} --split {} --task {} --arguments '{}' --learned-on {}",
        arguments.skill,
        arguments.suite.display(),
        arguments.split.display(),
        arguments.task,
        learned.arguments,
        learned.learned_on
    ));
    Ok(())
}

fn known_version(book: &Snapshot, skill: &SkillId, name: &str) -> u32 {
    book.skill(skill).and_then(|skill| skill.functions.get(name)).map_or(0, |function| function.version)
}

fn lesson_failure(error: LessonError) -> Failure {
    let kind = match &error {
        LessonError::NoTask(_) | LessonError::NoSkill(_) => Kind::NothingMatched,
        LessonError::Synthesis(SynthesisError::Model(_)) => Kind::Model,
        LessonError::Synthesis(SynthesisError::NoAttempt) => Kind::NothingMatched,
        _ => Kind::Config,
    };
    Failure::new(kind, error)
}
