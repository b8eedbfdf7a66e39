//! `apprentice grade RUN`: regrades a run's attempts from their stored evidence.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::grading::answer_judge::AnswerJudge;
use apprentice_evaluator::grading::grade::{GradeComparison, GradeReport, Regraded, grade};
use apprentice_evaluator::grading::judge_attempts::{judge_attempts, open_attempts};
use apprentice_evaluator::run::ModelSource as _;
use apprentice_protocol::{Clock, counted};
use apprentice_runs::Wanted;
use apprentice_runs::row::JudgeUse;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::suite::Suite;
use clap::Args;

use crate::commands::forecast::{Forecast, Proceed, SpendingArgs, comparisons};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_place::RunPlace;
use crate::settings::overrides::{self, Overrides};
use crate::{terminal, wire};

/// Regrades a finished run from its stored evidence, without a world; every score must be the same.
///
/// No model is asked, unless --judge names one: it then compares the answers that none has compared, and what it says is
/// added to the evidence. The rows of the run stay as they are.
#[derive(Debug, Args)]
pub(crate) struct GradeCommand {
    /// The run's folder.
    run: PathBuf,
    /// Use the current checks of this suite instead of those recorded in the run.
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    #[command(flatten)]
    consent: SpendingArgs,
    /// Print one JSON object (`apprentice.grade/1`).
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &GradeCommand, flags: &Overrides) -> Result<(), Failure> {
    let suite = arguments.suite.as_deref().map(crate::suite::load).transpose()?;
    let place = RunPlace::of(&arguments.run, Wanted::Run)?;
    place.bring(|_| true)?;
    let judge = match flags.names_judge() {
        true => match compare(arguments, &place, suite.as_ref(), flags)? {
            Some(judge) => judge,
            None => return Ok(()),
        },
        false => None,
    };
    let report = grade(place.folder(), suite.as_ref()).kind(Kind::Config)?;
    let report = GradeReport { judge, ..report };
    if arguments.json {
        terminal::json(&report)?;
    } else {
        print(&report);
    }
    conclude(&report)
}

/// Has the named model compare the answers that none has compared; `None` if the costs were not agreed to.
fn compare(
    arguments: &GradeCommand,
    place: &RunPlace,
    suite: Option<&Suite>,
    flags: &Overrides,
) -> Result<Option<Option<JudgeUse>>, Failure> {
    if place.is_elsewhere(&arguments.run) {
        let told = Failure::say(
            Kind::Usage,
            "a judge's verdicts cannot be added to a bundle or to a run of a queue",
        );
        return Err(told.hint("unpack the bundle, or bring the run here first: `apprentice fetch`"));
    }
    let config = &overrides::settings(&[flags])?.config()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, clock)?;
    if arguments.consent.dry_run {
        models.check_forecast_judge()?;
    } else {
        models.check_judge()?;
    }
    let attempts = open_attempts(place.folder(), suite).kind(Kind::Config)?;
    let Some(name) = models.judge() else { return Ok(Some(None)) };
    let mut forecast = Forecast::default();
    let questions: usize = attempts.iter().map(|one| one.questions).sum();
    forecast.add_requests(&models, &name, comparisons(u32::try_from(questions).unwrap_or(u32::MAX)))?;
    if forecast.agree(config, arguments.consent.in_json(arguments.json))? == Proceed::Off {
        return Ok(None);
    }
    if attempts.is_empty() {
        return Ok(Some(None));
    }
    let model = models.get(&name, "grade")?;
    let redactor = models.redactor()?;
    let judge = AnswerJudge { name, model };
    let used = wire::runtime()?.block_on(async {
        models.reach([judge.name.as_str()]).await?;
        judge_attempts(&judge, attempts, &redactor).await.kind(Kind::Environment)
    })?;
    Ok(Some(used))
}

fn print(report: &GradeReport) {
    for one in &report.attempts {
        match one.outcome {
            GradeComparison::Same | GradeComparison::Unjudged => {}
            GradeComparison::Differs => terminal::line(format_args!("differs {}", told(one))),
            GradeComparison::Missing => terminal::line(format_args!("missing {}", told(one))),
        }
    }
    if let Some(JudgeUse { model, questions, tokens, cost_usd, .. }) = &report.judge {
        let cost = cost_usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
        terminal::line(format_args!(
            "{model} was asked {}, {} tokens{cost}",
            counted(*questions, "question"),
            tokens.input + tokens.output
        ));
    }
    let GradeReport { same, differs, missing, unjudged, .. } = report;
    terminal::line(format_args!(
        "{same} graded the same, {differs} differently, {missing} without evidence; \
         {unjudged} were never judged"
    ));
}

fn told(one: &Regraded) -> String {
    let recorded = format!("{} {}", terminal::words(&one.recorded.verdict), one.recorded.score);
    let graded = one.graded.map_or_else(
        || "no grade".into(),
        |graded| format!("{} {}", terminal::words(&graded.verdict), graded.score),
    );
    let (task, trial, attempt) = (&one.task, &one.at.trial, one.at.attempt);
    format!("{task} ({trial}, attempt {attempt}): recorded {recorded}, now {graded}: {}", one.explanation)
}

fn conclude(report: &GradeReport) -> Result<(), Failure> {
    if report.attempts.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, "the run has no finished attempt"));
    }
    match (report.differs, report.missing) {
        (0, 0) => Ok(()),
        (differs, missing) => Err(Failure::say(
            Kind::Config,
            format!("{} graded differently, {missing} cannot be graded", counted(differs, "attempt")),
        )),
    }
}
