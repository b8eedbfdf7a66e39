//! What an experiment will take and what it can show, before anything is run: trials, money, and the smallest
//! effect that its design finds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use apprentice_harness::model::price::{Tariff, Tokens};
use apprentice_protocol::{Limits, TaskId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sheet::Design as Asked;
use super::{BookSource, Experiment, ExperimentError, Primary, check, measure};
use crate::learn::wanted;
use crate::row::{Role, Split};
use crate::run::{Contender, PlanRequest, RunError, plan};
use crate::stats::{Assumed, Design, MIN_TEMPLATES, power, smallest_effect, templates_needed};

/// The name of the forecast's format.
pub const PLAN_SCHEMA: &str = "apprentice.plan/1";

/// What one turn of a trial reads and writes, in tokens: in the cheapest case and in the dearest.
const TURN: [[u64; 2]; 2] = [[1_500, 60], [15_000, 800]];
/// Turns of the shortest trial that does anything.
const LEAST_TURNS: u64 = 4;
/// Seconds that a machine of one's own is busy with one turn.
const TURN_S: [u64; 2] = [1, 20];
/// Calls about one trajectory of learning, and what one reads and writes.
const CALLS: [u64; 2] = [1, 8];
const CALL: [[u64; 2]; 2] = [[4_000, 300], [20_000, 2_000]];

/// What an experiment will take and what it can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// The suite.
    pub suite: String,
    /// Tasks that a book is learned on; none where it is given.
    pub train_tasks: usize,
    /// Tasks that are measured.
    pub test_tasks: usize,
    /// Their templates: the unit of inference.
    pub test_templates: usize,
    /// Trials by part; an upper bound where the book is yet to be learned, as an arm without anything to lend
    /// is not run.
    pub parts: Vec<PlannedPart>,
    /// All of them.
    pub trials: usize,
    /// The comparison that decides.
    pub primary: Primary,
    /// What it can show.
    pub power: Power,
    /// Money, by model.
    pub cost: Vec<ModelCost>,
    /// The least that all of it may cost, in US dollars; none when a model has no price.
    pub least_usd: Option<f64>,
    /// The most.
    pub most_usd: Option<f64>,
    /// What must be known about these numbers.
    pub notes: Vec<String>,
}

/// Trials of one model in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPart {
    /// Whether they are for learning; else they are measured.
    pub learning: bool,
    /// The model's part.
    pub role: Role,
    /// The model.
    pub model: String,
    /// The arm.
    pub arm: String,
    /// Trials.
    pub trials: usize,
}

/// What a design can show, under the stated assumption of how an effect falls on templates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Power {
    /// Test templates.
    pub templates: usize,
    /// Variations of each task.
    pub seeds: u32,
    /// The largest success rate of a template without help that is assumed.
    pub base: f64,
    /// The smallest effect that is found in four of five experiments, as a share; none if none is.
    pub smallest_effect: Option<f64>,
    /// The effect that was asked about.
    pub effect: Option<f64>,
    /// How often it is found.
    pub found: Option<f64>,
    /// The templates with which it is found in four of five experiments; none if more than 400 are needed.
    pub templates_needed: Option<usize>,
}

/// What one model will cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCost {
    /// The model.
    pub model: String,
    /// Its trials.
    pub trials: usize,
    /// Trajectories that it reviews.
    pub reviews: usize,
    /// The least, in US dollars; none when it has no price.
    pub least_usd: Option<f64>,
    /// The most.
    pub most_usd: Option<f64>,
}

/// Foretells an experiment. `tariff` knows what a model is priced by; `learner` is the model that reviews.
pub fn forecast(
    experiment: &Experiment,
    (asked, learner): (Asked, Option<&str>),
    tariff: &dyn Fn(&str) -> Option<Tariff>,
) -> Result<Forecast, ExperimentError> {
    check(experiment)?;
    let test = experiment.tasks(Split::Test);
    let templates: BTreeSet<&str> = test.iter().filter_map(|id| template(experiment, id)).collect();
    let mut parts = lessons(experiment);
    let reviews = parts.iter().map(|part| part.trials).sum();
    parts.extend(measured(experiment)?);
    let limits = experiment.limits.unwrap_or_else(|| widest(experiment));
    let cost = costs(&parts, learner.map(|model| (model, reviews)), limits, tariff);
    let sum = |of: fn(&ModelCost) -> Option<f64>| cost.iter().map(of).sum::<Option<f64>>();
    let power = show(experiment, (test.as_slice(), templates.len()), asked);
    Ok(Forecast {
        schema: PLAN_SCHEMA.into(),
        suite: experiment.suite.name.clone(),
        train_tasks: match &experiment.book {
            BookSource::Learned(_) => experiment.tasks(Split::Train).len(),
            BookSource::Given(_) => 0,
        },
        test_tasks: test.len(),
        test_templates: templates.len(),
        trials: parts.iter().map(|part| part.trials).sum(),
        primary: experiment.primary.clone(),
        least_usd: sum(|one| one.least_usd),
        most_usd: sum(|one| one.most_usd),
        notes: notes(experiment, &test, (&power, cost.as_slice())),
        parts,
        power,
        cost,
    })
}

fn template<'e>(experiment: &'e Experiment, id: &TaskId) -> Option<&'e str> {
    experiment.suite.task(id.as_str()).map(|task| task.template())
}

fn varies(experiment: &Experiment, id: &TaskId) -> bool {
    experiment.suite.task(id.as_str()).is_some_and(|task| task.varies())
}

/// The attempts of learning, by part.
fn lessons(experiment: &Experiment) -> Vec<PlannedPart> {
    let BookSource::Learned(lessons) = &experiment.book else { return Vec::new() };
    let mut counts: BTreeMap<(Role, String, String), usize> = BTreeMap::new();
    for one in wanted(&experiment.tasks(Split::Train), &lessons.cycle) {
        let model = if one.role == Role::Teacher { &lessons.teacher } else { &experiment.student };
        *counts.entry((one.role, model.clone(), one.arm.to_string())).or_default() += 1;
    }
    listed(counts, true)
}

/// The measured trials, by part: as they are planned, or at most where the book is yet to be learned.
fn measured(experiment: &Experiment) -> Result<Vec<PlannedPart>, ExperimentError> {
    let request = match &experiment.book {
        BookSource::Given(book) => measure::request(experiment, book, (Path::new(""), &[]))?.0,
        BookSource::Learned(_) => at_most(experiment),
    };
    let planned = plan(&request, Timestamp::UNIX_EPOCH, &experiment.program).map_err(RunError::from)?;
    let mut counts: BTreeMap<(Role, String, String), usize> = BTreeMap::new();
    for trial in planned.trials {
        *counts.entry((trial.role, trial.model, trial.arm)).or_default() += 1;
    }
    Ok(listed(counts, false))
}

fn at_most(experiment: &Experiment) -> PlanRequest<'_> {
    let students = || [&experiment.student].into_iter().chain(&experiment.others);
    let mut contenders: Vec<Contender> = Vec::new();
    for (arm, student) in experiment.arms.iter().flat_map(|arm| students().map(move |one| (arm, one))) {
        let arm = arm.to_string();
        contenders.push(Contender {
            role: Role::Student,
            model: student.clone(),
            arm,
            tasks: None,
            seeds: None,
        });
    }
    contenders.extend(measure::once_each(experiment));
    PlanRequest {
        suite: &experiment.suite,
        split: experiment.lock.as_ref(),
        tasks: Some(experiment.tasks(Split::Test).into_iter().collect()),
        contenders,
        seeds: experiment.seeds,
        limits: experiment.limits,
        attempts: experiment.attempts,
        order_seed: experiment.order_seed,
        command: experiment.command.clone(),
        books: Vec::new(),
    }
}

fn listed(counts: BTreeMap<(Role, String, String), usize>, learning: bool) -> Vec<PlannedPart> {
    let part = |((role, model, arm), trials)| PlannedPart { learning, role, model, arm, trials };
    counts.into_iter().map(part).collect()
}

/// The widest caps of the tasks that take part.
fn widest(experiment: &Experiment) -> Limits {
    let parts = [Split::Train, Split::Test].map(|part| experiment.tasks(part));
    let tasks = parts.iter().flatten().filter_map(|id| experiment.suite.task(id.as_str()));
    let turns = tasks.map(|task| task.limits().turns).max();
    let standard = Limits::default();
    Limits { turns: turns.unwrap_or(standard.turns), ..standard }
}

fn costs(
    parts: &[PlannedPart],
    learner: Option<(&str, usize)>,
    limits: Limits,
    tariff: &dyn Fn(&str) -> Option<Tariff>,
) -> Vec<ModelCost> {
    let mut models: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for part in parts {
        models.entry(&part.model).or_default().0 += part.trials;
    }
    if let Some((model, reviews)) = learner.filter(|(_, reviews)| *reviews > 0) {
        models.entry(model).or_default().1 += reviews;
    }
    let cost = |(model, (trials, reviews)): (&str, (usize, usize))| {
        let tariff = tariff(model);
        let usd =
            |end: usize| tariff.as_ref().map(|tariff| one_end(tariff, (trials, reviews), (end, limits)));
        ModelCost { model: model.to_owned(), trials, reviews, least_usd: usd(0), most_usd: usd(1) }
    };
    models.into_iter().map(cost).collect()
}

/// One end of a model's range.
fn one_end(tariff: &Tariff, (trials, reviews): (usize, usize), (end, limits): (usize, Limits)) -> f64 {
    let call = |[fresh, output]: [u64; 2]| {
        let tokens = Tokens { fresh, output, ..Tokens::default() };
        tariff.cost(&tokens, TURN_S[end] * 1000)
    };
    let turns = [LEAST_TURNS, u64::from(limits.turns)][end].min(u64::from(limits.turns));
    let spent: u64 = TURN[end].iter().sum();
    // A cap on tokens ends the trial earlier.
    let turns = limits.tokens.map_or(turns, |most| turns.min(most.div_ceil(spent)));
    let [turns, calls, trials, reviews] = [turns, CALLS[end], trials as u64, reviews as u64].map(real);
    let trial = turns * call(TURN[end]);
    trials * limits.cost_usd.map_or(trial, |most| trial.min(most)) + reviews * calls * call(CALL[end])
}

#[expect(clippy::cast_precision_loss, reason = "numbers of trials and turns are far below 2^52")]
fn real(number: u64) -> f64 {
    number as f64
}

fn show(experiment: &Experiment, (test, templates): (&[TaskId], usize), asked: Asked) -> Power {
    let seeds = if test.iter().any(|id| varies(experiment, id)) { experiment.seeds } else { 1 };
    let (design, assumed) = (Design { templates, seeds }, Assumed { base: asked.base });
    Power {
        templates,
        seeds,
        base: asked.base,
        smallest_effect: smallest_effect(design, assumed),
        effect: asked.effect,
        found: asked.effect.map(|effect| power(design, effect, assumed)),
        templates_needed: asked.effect.and_then(|effect| templates_needed(effect, seeds, assumed)),
    }
}

fn notes(experiment: &Experiment, test: &[TaskId], (power, cost): (&Power, &[ModelCost])) -> Vec<String> {
    let mut notes = Vec::new();
    if power.templates < MIN_TEMPLATES {
        notes.push(format!(
            "{} test templates are too few: below {MIN_TEMPLATES} no difference can be shown, however large",
            power.templates
        ));
    }
    if matches!(experiment.book, BookSource::Learned(_)) {
        notes.push("an arm for which the learned book has nothing on a task is not run there: trials are at most as many".into());
    }
    let fixed = test.iter().filter(|id| !varies(experiment, id)).count();
    if fixed > 0 && experiment.seeds > 1 {
        notes.push(format!("{fixed} of {} test tasks ignore the seed and are run once", test.len()));
    }
    for one in cost.iter().filter(|one| one.most_usd.is_none()) {
        notes.push(format!("{} has no known price: its cost is not in the range", one.model));
    }
    notes
}
