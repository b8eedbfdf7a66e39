//! `apprentice functions admit`: replays in fresh worlds, judged by the checks of a task.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::functions::admission::{Admission, AdmissionError, AdmissionReport};
use apprentice_evaluator::split::SplitLock;
use apprentice_protocol::{Clock, SkillId, TaskId, Verdict};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{Gateway, GatewayOptions};
use clap::Args;
use serde_json::Value;

use super::{open, skill, state};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_progress::RunProgress;
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

#[derive(Debug, Args)]
pub(super) struct AdmitArgs {
    /// The skill, `domain/name`.
    #[arg(value_parser = skill)]
    skill: SkillId,
    /// The function's name.
    function: String,
    /// The suite of the task.
    #[arg(long, value_name = "PATH")]
    suite: PathBuf,
    /// The task whose checks judge the replays.
    #[arg(long, value_name = "ID")]
    task: String,
    /// The arguments as a JSON object, with placeholders of the task: '{"name": "{{name}}"}'.
    #[arg(long, value_name = "JSON", value_parser = object)]
    arguments: Value,
    /// The split; a task outside its train part is refused.
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// The variation that the function was learned on; it is not replayed.
    #[arg(long, value_name = "SEED")]
    learned_on: Option<u32>,
    /// Folder for the runs [default: a new folder under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    value.is_object().then_some(value).ok_or_else(|| "expected a JSON object".to_owned())
}

pub(super) fn admit(arguments: &AdmitArgs, book: &Path, config: &Config, json: bool) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let suite = crate::suite::load(&arguments.suite)?;
    let split = arguments.split.as_deref().map(SplitLock::read).transpose().kind(Kind::Config)?;
    let admission = Admission {
        suite: &suite,
        task: TaskId::new(arguments.task.clone()),
        split: split.as_ref(),
        skill: arguments.skill.clone(),
        function: arguments.function.clone(),
        arguments: arguments.arguments.clone(),
        learned_on: arguments.learned_on,
        command: process_env::command_line(),
    };
    let name = format!("admit-{}-{}", wire::stamp(&*clock), arguments.function);
    let folder = arguments.out.clone().unwrap_or_else(|| config.runs.join(name));
    let snapshot = open(book)?;
    let models = wire::models(config, Arc::clone(&clock))?;
    let replayed = wire::runtime()?.block_on(async {
        let unaided = Arc::new(|_: &_| Ok(ArmGuidance::unaided()));
        let deps = wire::deps(config, unaided, &models)?;
        let mut display = RunProgress::show(json);
        let (control, _socket) = display.offer(config, "functions admit");
        let ended = admission.replay(&snapshot, &folder, &deps, control).await;
        display.finish().await;
        ended.map_err(failure)
    })?;
    let now = clock.now();
    let (mut gateway, _) = Gateway::open(book, GatewayOptions::at(now)).kind(Kind::Config)?;
    let report = admission.record(&mut gateway, replayed, now).map_err(failure)?;
    conclude(&report, json)
}

fn failure(error: AdmissionError) -> Failure {
    let kind = match &error {
        AdmissionError::NoTask { .. } | AdmissionError::NoFunction { .. } => Kind::NothingMatched,
        AdmissionError::Void { .. } => Kind::TrialsVoid,
        _ => Kind::Usage,
    };
    Failure::new(kind, error)
}

fn conclude(report: &AdmissionReport, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::json(report);
    }
    for replay in &report.replays {
        let verdict = match replay.verdict {
            Verdict::Pass => "passed",
            Verdict::Fail => "failed",
            Verdict::Void => "void",
        };
        let as_expected = if replay.held { "as it must" } else { "as it must not" };
        terminal::line(format_args!(
            "variation {}: {verdict}, {as_expected} ({} actions, {:.1} s) {}",
            replay.seed, replay.world_steps, replay.wall_s, replay.arguments
        ));
    }
    let state = state(report.missing.as_deref());
    terminal::line(format_args!("{} of {} is {state}", report.function, report.skill));
    Ok(())
}
