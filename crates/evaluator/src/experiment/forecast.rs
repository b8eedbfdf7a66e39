//! Estimates an experiment before it runs: trials, cost, and the smallest effect that its design detects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use apprentice_protocol::{Limits, TaskId};
use apprentice_skillbook::review::ReflectMode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::experiment_config::PowerQuestion as Asked;
use super::planned_reviews::{PlannedReviews, ReviewedAttempt};
use super::power_forecast::{Power, estimate_power};
use super::{
    BookSource, Experiment, ExperimentError, PrimaryComparison, dev_trials, measure, replicate, validate,
};
use crate::estimates::cost::{CostSpread, Pricing};
use crate::estimates::review::{CountRange, CountedCost};
use crate::estimates::work::WorkSpread;
use crate::grading::answer_judge::MAX_OUTPUT_TOKENS;
use crate::learn::attempt_requests;
use crate::run::{Contender, PlanRequest, RunError, TrialSpec, final_results, plan, read_run, scaled_limits};
use apprentice_results::ablations::AblationArm;
use apprentice_results::stats::{MIN_BOOKS, MIN_TEMPLATES};
use apprentice_runs::latest_run;
use apprentice_runs::layout::{DEV_FOLDER, LEARNING_FOLDER, MEASURE_FOLDER};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_tasks::suite::requirements::most_questions;

/// Schema name of the forecast.
pub const PLAN_SCHEMA: &str = "apprentice.plan/1";

/// The expected trials, cost and statistical power of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The suite.
    pub suite: String,
    /// Number of training tasks; 0 for a given book.
    pub train_tasks: usize,
    /// Number of measured tasks.
    pub test_tasks: usize,
    /// Number of test templates, the unit of inference.
    pub test_templates: usize,
    /// Trials by part. An upper bound while the book is yet to be learned, because an arm without eligible skills does
    /// not run.
    pub parts: Vec<PlannedPart>,
    /// Total trials.
    pub trials: usize,
    /// The primary comparison.
    pub primary: PrimaryComparison,
    /// The statistical power of the primary comparison.
    pub power: Power,
    /// Cost by model.
    pub cost: Vec<ModelCost>,
    /// Minimum total cost in US dollars; `None` when a model has no price.
    pub least_usd: Option<f64>,
    /// Maximum total cost in US dollars; `None` when a model has no price.
    pub most_usd: Option<f64>,
    /// The total cost to expect; `None` when a model has no price.
    #[serde(default)]
    pub expected_usd: Option<CostSpread>,
    /// Caveats about these numbers.
    pub notes: Vec<String>,
}

/// Trials of one model in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPart {
    /// Whether these trials belong to learning; otherwise they are measured.
    pub learning: bool,
    /// The model's role.
    pub role: Role,
    /// The model.
    pub model: String,
    /// The arm's name.
    pub arm: String,
    /// Number of trials.
    pub trials: usize,
}

/// The expected cost of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCost {
    /// The model.
    pub model: String,
    /// Number of trials.
    pub trials: usize,
    /// Trajectories that the model reviews.
    pub reviews: usize,
    /// Reviews that the model is expected to make in its own conversation (no fallback).
    #[serde(default, skip_serializing_if = "is_none")]
    pub reviews_in_context: usize,
    /// Requests of these reviews: the parts of long attempts, and further answers where one is unreadable.
    #[serde(default, skip_serializing_if = "CountRange::is_none")]
    pub review_requests: CountRange,
    /// Pictures sent with these reviews.
    #[serde(default, skip_serializing_if = "CountRange::is_none")]
    pub pictures: CountRange,
    /// Texts that the model reads as a safety reader before they are written.
    #[serde(default, skip_serializing_if = "CountRange::is_none")]
    pub readings: CountRange,
    /// Most requests to compare answers with references, as the judge of the experiment.
    #[serde(default, skip_serializing_if = "is_none")]
    pub comparisons: u32,
    /// Minimum cost in US dollars; `None` without a price.
    pub least_usd: Option<f64>,
    /// Maximum cost in US dollars; `None` without a price.
    pub most_usd: Option<f64>,
    /// The cost to expect; `None` without a price.
    #[serde(default)]
    pub expected_usd: Option<CostSpread>,
    /// What the attempts ask of the server of a model without a price per token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkSpread>,
}

/// The models that learn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearningModels {
    /// The reviewing model.
    pub learner: Option<String>,
    /// The models that read each text before it is written.
    pub readers: Vec<String>,
}

/// Estimates an experiment, or the rest of it. `quote` returns a model's pricing, `done` are the finished results.
pub fn forecast(
    experiment: &Experiment,
    asked: Asked,
    learning: &LearningModels,
    quote: &dyn Fn(&str) -> Pricing,
    done: &[TrialRow],
) -> Result<Forecast, ExperimentError> {
    validate(experiment)?;
    let test = experiment.tasks(Split::Test);
    let templates: BTreeSet<&str> = test.iter().filter_map(|id| template(experiment, id)).collect();
    let ahead = remaining_trials(experiment, done)?;
    let cost = costs(experiment, &ahead, learning, quote);
    let sum = |of: fn(&ModelCost) -> Option<f64>| cost.iter().map(of).sum::<Option<f64>>();
    let power = estimate_power(experiment, &test, templates.len(), asked);
    Ok(Forecast {
        schema: PLAN_SCHEMA.into(),
        suite: experiment.suite.name.clone(),
        train_tasks: match &experiment.book {
            BookSource::Learned(_) => experiment.tasks(Split::Train).len(),
            BookSource::Given(_) => 0,
        },
        test_tasks: test.len(),
        test_templates: templates.len(),
        trials: ahead.len(),
        primary: experiment.primary.clone(),
        least_usd: sum(|one| one.least_usd),
        most_usd: sum(|one| one.most_usd),
        expected_usd: cost
            .iter()
            .try_fold(CostSpread::default(), |sum, one| one.expected_usd.map(|one| sum + one)),
        notes: notes(experiment, &test, &power, &cost).into_iter().chain(counted_from(&cost)).collect(),
        parts: parts(&ahead),
        power,
        cost,
    })
}

/// Estimates the remaining cost of an experiment, by model.
pub fn remaining_cost(
    experiment: &Experiment,
    learning: &LearningModels,
    quote: &dyn Fn(&str) -> Pricing,
    done: &[TrialRow],
) -> Result<Vec<ModelCost>, ExperimentError> {
    validate(experiment)?;
    let ahead = remaining_trials(experiment, done)?;
    Ok(costs(experiment, &ahead, learning, quote))
}

/// Reads the finished results below an experiment's folder; these trials do not run again.
pub fn finished_rows(folder: &Path) -> Vec<TrialRow> {
    let places = [folder.to_owned()].into_iter().chain(replicate::begun(folder));
    let runs =
        places.flat_map(|place| [LEARNING_FOLDER, DEV_FOLDER, MEASURE_FOLDER].map(|part| place.join(part)));
    let runs = runs.filter_map(|run| latest_run(&run));
    let read = runs.filter_map(|run| read_run(&run).ok());
    read.flat_map(|(_, rows)| final_results(rows)).collect()
}

/// Lists the trials that are still to run, for all books of an experiment.
fn remaining_trials(
    experiment: &Experiment,
    done: &[TrialRow],
) -> Result<Vec<RemainingTrial>, ExperimentError> {
    let mut ahead = learning_trials(experiment);
    ahead.extend(measured(experiment)?);
    for (_, again) in experiment.later_replicates() {
        ahead.extend(learning_trials(&again));
        ahead.extend(measured(&again)?);
    }
    drop_finished(&mut ahead, done);
    Ok(ahead)
}

/// A trial that is still to run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RemainingTrial {
    learning: bool,
    role: Role,
    model: String,
    arm: String,
    task: TaskId,
    seed: u32,
}

impl RemainingTrial {
    fn is(&self, row: &TrialRow) -> bool {
        let left_out = || self.arm.starts_with(measure::UNKNOWN_SKILL_ARM) && is_ablation(&row.arm);
        (self.arm == row.arm || left_out())
            && (self.role, &self.model, &self.task, self.seed) == (row.role, &row.model, &row.task, row.seed)
    }
}

fn is_ablation(arm: &str) -> bool {
    matches!(AblationArm::parse(arm), Some(AblationArm::Without(_)))
}

/// Removes the trials that have a result, one per result.
fn drop_finished(ahead: &mut Vec<RemainingTrial>, done: &[TrialRow]) {
    for row in done {
        if let Some(place) = ahead.iter().position(|one| one.is(row)) {
            ahead.remove(place);
        }
    }
}

fn template<'e>(experiment: &'e Experiment, id: &TaskId) -> Option<&'e str> {
    experiment.suite.task(id.as_str()).map(|task| task.template())
}

/// Lists the learning attempts.
fn learning_trials(experiment: &Experiment) -> Vec<RemainingTrial> {
    let BookSource::Learned(plan) = &experiment.book else { return Vec::new() };
    let ahead = attempt_requests(&experiment.tasks(Split::Train), &plan.cycle).into_iter().map(|one| {
        let model = if one.role == Role::Teacher { &plan.teacher } else { &experiment.student };
        let (model, arm) = (model.clone(), one.arm.to_string());
        RemainingTrial { learning: true, role: one.role, model, arm, task: one.task, seed: one.seed }
    });
    ahead.collect()
}

/// Lists the measured trials: as planned, or an upper bound while the book is yet to be learned.
fn measured(experiment: &Experiment) -> Result<Vec<RemainingTrial>, ExperimentError> {
    let request = match &experiment.book {
        BookSource::Given(book) => measure::assumed_request(experiment, book)?,
        BookSource::Learned(_) => upper_bound_request(experiment),
    };
    let mut trials = Vec::new();
    if dev_trials::are_needed(experiment) {
        trials.extend(planned_trials(&dev_trials::request(experiment, None))?);
    }
    trials.extend(planned_trials(&request)?);
    let ahead = trials.into_iter().map(|trial| {
        let TrialSpec { role, model, arm, task, seed, .. } = trial;
        RemainingTrial { learning: false, role, model, arm, task, seed }
    });
    Ok(ahead.collect())
}

fn planned_trials(request: &PlanRequest<'_>) -> Result<Vec<TrialSpec>, ExperimentError> {
    Ok(plan(request, Timestamp::UNIX_EPOCH).map_err(RunError::from)?.trials)
}

fn upper_bound_request(experiment: &Experiment) -> PlanRequest<'_> {
    let mut contenders: Vec<Contender> = Vec::new();
    for (arm, student) in
        experiment.arms.iter().flat_map(|arm| experiment.students().map(move |one| (arm, one)))
    {
        let arm = arm.to_string();
        contenders.push(Contender {
            role: Role::Student,
            model: student.clone(),
            arm,
            tasks: None,
            seeds: None,
        });
    }
    contenders.extend(measure::ablations_upper_bound(experiment));
    contenders.extend(measure::single_run_contenders(experiment));
    experiment.plan_request(experiment.tasks(Split::Test).into_iter().collect(), contenders, Vec::new())
}

/// Counts the trials of each model in each arm, learning first.
fn parts(ahead: &[RemainingTrial]) -> Vec<PlannedPart> {
    let mut counts: BTreeMap<(bool, Role, &str, &str), usize> = BTreeMap::new();
    for one in ahead {
        *counts.entry((!one.learning, one.role, &one.model, &one.arm)).or_default() += 1;
    }
    let part = |((measuring, role, model, arm), trials): ((bool, Role, &str, &str), usize)| {
        let (model, arm) = (model.to_owned(), arm.to_owned());
        PlannedPart { learning: !measuring, role, model, arm, trials }
    };
    counts.into_iter().map(part).collect()
}

fn limits(experiment: &Experiment, one: &RemainingTrial) -> Limits {
    let own = experiment.suite.task(one.task.as_str()).map(|task| task.limits()).unwrap_or_default();
    let students = experiment.student_limits.filter(|_| one.role == Role::Student);
    let limits = experiment.limits.unwrap_or_default().over(own);
    let limits = students.unwrap_or_default().over(limits);
    match AblationArm::parse(&one.arm) {
        Some(AblationArm::MoreSteps) => scaled_limits(limits, experiment.ablations.more_steps.unwrap_or(1)),
        Some(AblationArm::Without(_) | AblationArm::Retry(_) | AblationArm::Reworded(_)) | None => limits,
    }
}

fn is_none<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// Lists the reviews that learning will make; `None` where nothing is learned.
fn planned_reviews<'e>(
    experiment: &'e Experiment,
    ahead: &[RemainingTrial],
    learner: &'e str,
) -> Option<PlannedReviews<'e>> {
    let BookSource::Learned(plan) = &experiment.book else { return None };
    let options = &plan.cycle.learn.reflect;
    let attempts: Vec<ReviewedAttempt> = ahead
        .iter()
        .filter(|one| one.learning)
        .map(|one| ReviewedAttempt {
            turns: limits(experiment, one).turns,
            in_context: options.mode == ReflectMode::InContext && one.model == learner,
        })
        .collect();
    (!attempts.is_empty()).then_some(PlannedReviews { learner, options, attempts })
}

fn costs(
    experiment: &Experiment,
    ahead: &[RemainingTrial],
    learning: &LearningModels,
    quote: &dyn Fn(&str) -> Pricing,
) -> Vec<ModelCost> {
    let reviews = learning.learner.as_deref().and_then(|learner| {
        let reviews = planned_reviews(experiment, ahead, learner)?;
        Some((reviews, quote(learner)))
    });
    let texts = reviews.as_ref().map_or_else(CountRange::default, |(reviews, quote)| reviews.texts(quote));
    let readers = learning.readers.iter().filter(|_| !texts.is_none());
    let learner = reviews.as_ref().map(|(reviews, _)| reviews.learner);
    let questions = questions(experiment, ahead);
    let judge = experiment.judge.as_deref().filter(|_| questions > 0);
    let acting = ahead.iter().map(|one| one.model.as_str());
    let models: BTreeSet<&str> =
        acting.chain(learner).chain(readers.map(String::as_str)).chain(judge).collect();
    let cost = |model: &str| {
        let quote = quote(model);
        let trials: Vec<&RemainingTrial> = ahead.iter().filter(|one| one.model == model).collect();
        let reviews = reviews.as_ref().map(|(reviews, _)| reviews).filter(|one| one.learner == model);
        let readings = match learning.readers.iter().any(|reader| reader == model) {
            true => texts,
            false => CountRange::default(),
        };
        let attempts = trials.iter().map(|one| {
            let limits = limits(experiment, one);
            let (range, expected) = (quote.attempt(&limits)?, quote.expected_attempt(&limits)?);
            Some(CountedCost { range, expected })
        });
        let reviewed = reviews.into_iter().flat_map(|reviews| reviews.costs(&quote));
        let read = (!readings.is_none()).then(|| quote.readings(readings));
        let comparisons = if judge == Some(model) { questions } else { 0 };
        let compared = (comparisons > 0).then(|| {
            let range = quote.requests(comparisons, MAX_OUTPUT_TOKENS, None)?;
            Some(CountedCost { range, expected: range.into() })
        });
        // A model that only acts needs no price for reviews.
        let sum = attempts
            .chain(reviewed)
            .chain(read)
            .chain(compared)
            .try_fold(CountedCost::default(), |sum, one| one.map(|one| sum + one));
        let asked = reviews.map(|reviews| reviews.asked(&quote)).unwrap_or_default();
        ModelCost {
            model: model.to_owned(),
            trials: trials.len(),
            reviews: reviews.map_or(0, |reviews| reviews.attempts.len()),
            reviews_in_context: reviews.map_or(0, PlannedReviews::in_context),
            review_requests: asked.requests,
            pictures: asked.pictures,
            readings,
            comparisons,
            least_usd: sum.map(|sum| sum.range.least),
            most_usd: sum.map(|sum| sum.range.most),
            expected_usd: sum.map(|sum| sum.expected),
            work: trials
                .iter()
                .filter_map(|one| quote.expected_work(&limits(experiment, one)))
                .reduce(std::ops::Add::add),
        }
    };
    models.into_iter().map(cost).collect()
}

/// The most requests by which these trials' answers are compared with references.
fn questions(experiment: &Experiment, ahead: &[RemainingTrial]) -> u32 {
    ahead.iter().filter_map(|one| experiment.suite.task(one.task.as_str())).map(most_questions).sum()
}

/// Says what the numbers of reviews were counted from.
fn counted_from(cost: &[ModelCost]) -> Vec<String> {
    let mut notes = Vec::new();
    for one in cost {
        let ModelCost { model, reviews, review_requests, pictures, readings, .. } = one;
        if !review_requests.is_none() {
            notes.push(format!(
                "{model} is asked {} to {} times in {reviews} reviews, with up to {} pictures: counted from the turns that the \
                 attempts may take, the parts of a review and its answers; a review that needs one request was assumed for \
                 the least",
                review_requests.least, review_requests.most, pictures.most
            ));
        }
        if !readings.is_none() {
            notes.push(format!(
                "{model} reads up to {} texts before they are written: counted from the learnings of each part and the \
                 skills that an attempt may receive",
                readings.most
            ));
        }
    }
    notes
}

fn notes(experiment: &Experiment, test: &[TaskId], power: &Power, cost: &[ModelCost]) -> Vec<String> {
    let mut notes = Vec::new();
    if power.templates < MIN_TEMPLATES {
        notes.push(format!(
            "{} test templates are too few: below {MIN_TEMPLATES}, no difference can be significant, however large",
            power.templates
        ));
    }
    if matches!(experiment.book, BookSource::Learned(_)) {
        notes.push(
            "an arm skips tasks for which the learned book has no skill: trial counts are upper bounds"
                .into(),
        );
    }
    if (2..MIN_BOOKS).contains(&(experiment.replicates as usize)) {
        notes.push(format!(
            "{} books are too few for a claim about the method: at least {MIN_BOOKS}",
            experiment.replicates
        ));
    }
    if dev_trials::are_needed(experiment) {
        notes.push("the arm auto is chosen on dev tasks first: their trials are in these counts".into());
    }
    if experiment.ablations.leave_one_out.is_some() {
        notes
            .push("a skill is left out only on tasks of its app: these trial counts are upper bounds".into());
    }
    let fixed = test.iter().filter(|id| !experiment.varies(id)).count();
    if fixed > 0 && experiment.seeds > 1 {
        notes.push(format!("{fixed} of {} test tasks ignore the seed and run once", test.len()));
    }
    for one in cost.iter().filter(|one| one.most_usd.is_none()) {
        notes.push(format!("{} has no known price: its cost is not in the range", one.model));
    }
    notes
}
