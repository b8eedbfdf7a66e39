//! The cost forecast of a command: a range, and a confirmation above the setting `confirm_above`.

use std::collections::BTreeSet;

use apprentice_evaluator::estimates::cost::{CostRange, CostSpread, Pricing};
use apprentice_evaluator::estimates::review::{CountRange, CountedCost, ReviewWork};
use apprentice_evaluator::estimates::work::WorkSpread;
use apprentice_evaluator::experiment::{Experiment, LearningModels, ModelCost, remaining_cost};
use apprentice_evaluator::grading::answer_judge::MAX_OUTPUT_TOKENS;
use apprentice_evaluator::run::{ModelSource as _, RunPlan};
use apprentice_learning::reflect::ReflectOptions;
use apprentice_protocol::{Limits, Size, TrialId};
use apprentice_runs::row::TrialRow;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::requirements::most_questions;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::settings::config::Config;
use crate::terminal;

/// Options that control spending.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct SpendingArgs {
    /// Print what the command would do and its cost forecast; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Skip the confirmation of high costs (see the setting `confirm_above`).
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Whether a dry run prints JSON.
    #[arg(skip)]
    json: bool,
}

impl SpendingArgs {
    /// Returns whether the command only tells what it would do, in words.
    pub(crate) fn tells_in_words(self) -> bool {
        self.dry_run && !self.json
    }

    /// Returns the same options, with JSON output on or off.
    pub(crate) fn in_json(self, json: bool) -> Self {
        Self { json, ..self }
    }
}

/// The forecast as one JSON object.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ForecastJson<'a> {
    schema: &'static str,
    attempts: usize,
    reviews: usize,
    requests: usize,
    /// Requests of the reviews of attempts: parts of long attempts, and further answers where one is unreadable.
    review_requests: CountRange,
    /// Pictures sent with these reviews.
    pictures: CountRange,
    /// Texts that safety readers read before they are written.
    readings: CountRange,
    /// Lower bound for the models that have a price, within the caps.
    least_usd: f64,
    most_usd: f64,
    /// The cost to expect, within the caps.
    expected_usd: CostSpread,
    /// Models without a known price.
    unpriced: &'a BTreeSet<String>,
    /// What attempts ask of the servers of models without a price per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<WorkSpread>,
}

/// The planned work of a command and the range of its cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forecast {
    attempts: usize,
    reviews: usize,
    requests: usize,
    review_requests: CountRange,
    pictures: CountRange,
    readings: CountRange,
    range: CostRange,
    expected: CostSpread,
    /// Models without a known price.
    unpriced: BTreeSet<String>,
    /// What attempts ask of the servers of models without a price per token.
    work: Option<WorkSpread>,
}

/// Requests of about the same size, such as a test of a model sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallRequests {
    /// Number of requests.
    pub(crate) count: u32,
    /// Maximum number of output tokens of each.
    pub(crate) output_tokens: u32,
    /// Size of the picture in each, if any.
    pub(crate) picture: Option<Size>,
}

/// The review of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptReview<'a> {
    /// Options of the review.
    pub(crate) options: &'a ReflectOptions,
    /// Turns of the attempt, or the most that it can have.
    pub(crate) turns: u32,
    /// Whether the acting model is asked in its own conversation.
    pub(crate) in_context: bool,
}

/// Returns the models that learn: the learner and those that read what it writes.
pub(crate) fn learning_models(models: &Models, learner: Option<&str>) -> Result<LearningModels, Failure> {
    let Some(learner) = learner else { return Ok(LearningModels::default()) };
    let readers = models.safety_reader_names(learner)?;
    Ok(LearningModels { learner: Some(learner.to_owned()), readers })
}

/// The requests that compare answers with references.
pub(crate) fn comparisons(count: u32) -> SmallRequests {
    SmallRequests { count, output_tokens: MAX_OUTPUT_TOKENS, picture: None }
}

impl Forecast {
    /// Computes the forecast of a planned run, without the trials that have a result.
    pub(crate) fn of_plan(
        models: &Models,
        plan: &RunPlan,
        suite: &Suite,
        finished: &[TrialRow],
    ) -> Result<Self, Failure> {
        let finished: BTreeSet<&TrialId> = finished.iter().map(|row| &row.trial).collect();
        let mut forecast = Self::default();
        let left = || plan.trials.iter().filter(|trial| !finished.contains(&trial.trial));
        for trial in left() {
            let own = || suite.task(trial.task.as_str()).map(|task| task.limits()).unwrap_or_default();
            forecast.add_attempt(models, &trial.model, &plan.limits_of(trial, own()))?;
        }
        if let Some(judge) = models.judge() {
            let tasks = left().filter_map(|trial| suite.task(trial.task.as_str()));
            let questions = tasks.map(most_questions).sum();
            if questions > 0 {
                forecast.add_requests(models, &judge, comparisons(questions))?;
            }
        }
        Ok(forecast)
    }

    /// Computes the forecast of the rest of an experiment.
    pub(crate) fn of_experiment(
        models: &Models,
        experiment: &Experiment,
        learner: Option<&str>,
        done: &[TrialRow],
    ) -> Result<Self, Failure> {
        let learning = learning_models(models, learner)?;
        let quote = |name: &str| models.quote(name).unwrap_or_else(|_| Pricing::free());
        let mut forecast = Self::default();
        for one in remaining_cost(experiment, &learning, &quote, done).kind(Kind::Config)? {
            let ModelCost { model, trials, reviews, reviews_in_context: _, .. } = one;
            (forecast.attempts, forecast.reviews) = (forecast.attempts + trials, forecast.reviews + reviews);
            forecast.requests += one.comparisons as usize;
            forecast.review_requests += one.review_requests;
            forecast.pictures += one.pictures;
            forecast.readings += one.readings;
            let range = one.least_usd.zip(one.most_usd).map(|(least, most)| CostRange { least, most });
            forecast.charge(&model, range.zip(one.expected_usd));
            forecast.add_work(one.work);
        }
        Ok(forecast)
    }

    /// Adds one attempt.
    pub(crate) fn add_attempt(
        &mut self,
        models: &Models,
        name: &str,
        limits: &Limits,
    ) -> Result<(), Failure> {
        models.check_answers_at_once(name)?;
        self.attempts += 1;
        let quote = models.quote(name)?;
        self.charge(models.resolve(name)?, quote.attempt(limits).zip(quote.expected_attempt(limits)));
        self.add_work(quote.expected_work(limits));
        Ok(())
    }

    /// Adds the review of one attempt of at most `turns` turns, and the texts that it may have safety readers read.
    pub(crate) fn add_attempt_review(
        &mut self,
        models: &Models,
        name: &str,
        review: AttemptReview<'_>,
    ) -> Result<(), Failure> {
        let AttemptReview { options, turns, in_context } = review;
        self.reviews += 1;
        let quote = models.quote(name)?;
        let work = ReviewWork::of(options, turns, quote.profile.as_ref());
        self.review_requests += work.requests;
        self.pictures += work.pictures;
        let by_reader = quote.attempt_review(&work);
        let cost = match (by_reader, in_context) {
            (Some(by_reader), true) => quote
                .review_in_context([turns, turns], by_reader.range)
                .map(|range| CountedCost { range, expected: range.into() }),
            (by_reader, _) => by_reader,
        };
        self.charge(models.resolve(name)?, cost.map(|cost| (cost.range, cost.expected)));
        self.add_readings(models, name, work.texts)
    }

    /// Adds the texts that safety readers of this manager read.
    pub(crate) fn add_readings(
        &mut self,
        models: &Models,
        manager: &str,
        texts: CountRange,
    ) -> Result<(), Failure> {
        for reader in models.safety_reader_names(manager)? {
            self.readings += texts;
            let cost = models.quote(&reader)?.readings(texts);
            self.charge(&reader, cost.map(|cost| (cost.range, cost.expected)));
        }
        Ok(())
    }

    /// Adds skillbook items to decide on.
    pub(crate) fn add_reviews(&mut self, models: &Models, name: &str, count: usize) -> Result<(), Failure> {
        self.reviews += count;
        let one = models.quote(name)?.review();
        self.charge(models.resolve(name)?, one.map(|one| unmeasured(one.times(count))));
        Ok(())
    }

    /// Adds small requests to a model.
    pub(crate) fn add_requests(
        &mut self,
        models: &Models,
        name: &str,
        small: SmallRequests,
    ) -> Result<(), Failure> {
        let SmallRequests { count, output_tokens, picture } = small;
        self.requests += count as usize;
        let range = models.quote(name)?.requests(count, output_tokens, picture);
        self.charge(models.resolve(name)?, range.map(unmeasured));
        Ok(())
    }

    fn add_work(&mut self, work: Option<WorkSpread>) {
        self.work = [self.work, work].into_iter().flatten().reduce(std::ops::Add::add);
    }

    fn charge(&mut self, model: &str, cost: Option<(CostRange, CostSpread)>) {
        match cost {
            Some((range, expected)) => {
                self.range += range;
                self.expected = self.expected + expected;
            }
            None => drop(self.unpriced.insert(model.to_owned())),
        }
    }

    /// Returns the upper bound of the cost, for the models that have a price.
    fn most(&self, config: &Config) -> f64 {
        self.range.most.min(config.cap.run_usd.unwrap_or(f64::INFINITY))
    }

    fn as_json(&self, config: &Config) -> ForecastJson<'_> {
        let most_usd = self.most(config);
        ForecastJson {
            schema: "apprentice.forecast/1",
            attempts: self.attempts,
            reviews: self.reviews,
            requests: self.requests,
            review_requests: self.review_requests,
            pictures: self.pictures,
            readings: self.readings,
            least_usd: self.range.least.min(most_usd),
            most_usd,
            expected_usd: self.expected.capped(config.cap.run_usd),
            unpriced: &self.unpriced,
            work: self.work,
        }
    }

    /// Describes the forecast in one line.
    fn told(&self, config: &Config) -> String {
        let counts = [
            (self.attempts, "attempt"),
            (self.reviews, "item to learn from or to decide on"),
            (self.requests, "request"),
        ];
        let counted = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| match count {
            1 => format!("1 {what}"),
            _ => match what.split_once(' ') {
                Some((head, rest)) => format!("{count} {head}s {rest}"),
                None => format!("{count} {what}s"),
            },
        });
        let what = counted.collect::<Vec<_>>().join(" and ");
        let what = if what.is_empty() {
            "no model calls are left".to_owned()
        } else {
            what + self.reviewing().as_str()
        };
        let most = self.most(config);
        let priced = if self.range.most > 0.0 {
            let least = self.range.least.min(most);
            let CostSpread { low, median, high } = self.expected.capped(config.cap.run_usd);
            format!(
                "from ${} (one short turn each) to ${} (every turn used, nothing cached), about ${} (${} to ${} if attempts take as many turns as measured ones)",
                money(least),
                money(most),
                money(median),
                money(low),
                money(high)
            )
        } else {
            "free".to_owned()
        };
        let unpriced = self.unpriced.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let told = match (unpriced.as_str(), self.range.most > 0.0) {
            ("", _) => format!("{what}, {priced}"),
            (unpriced, true) => {
                format!("{what}, {priced}, plus the unknown cost of {unpriced}, which has no price")
            }
            (unpriced, false) => format!("{what}; {unpriced} has no price"),
        };
        // Of one's own server a person wants to know how long it works.
        self.work.map_or(told.clone(), |work| format!("{told}: {work}"))
    }

    /// Describes what the reviews ask for.
    fn reviewing(&self) -> String {
        if self.review_requests.is_none() {
            return String::new();
        }
        let CountRange { least, most } = self.review_requests;
        let mut told = format!(" (reviewed in {least} to {most} requests");
        if !self.pictures.is_none() {
            told += format!(" with up to {} pictures", self.pictures.most).as_str();
        }
        if !self.readings.is_none() {
            told += format!("; safety readers read up to {} texts", self.readings.most).as_str();
        }
        told + "; counted from the turns and the settings)"
    }

    /// Decides whether the command continues: never on a dry run; above `confirm_above` only if the user agrees.
    pub(crate) fn agree(&self, config: &Config, consent: SpendingArgs) -> Result<Proceed, Failure> {
        if consent.dry_run && consent.json {
            terminal::json(&self.as_json(config))?;
            return Ok(Proceed::Off);
        }
        let told = self.told(config);
        if consent.dry_run {
            terminal::line(format_args!("{told}"));
            return Ok(Proceed::Off);
        }
        let capped =
            [config.cap.trial_usd, config.cap.run_usd, config.cap.day_usd].iter().any(Option::is_some);
        if let Some(name) = self.unpriced.first().filter(|_| capped) {
            return Err(Failure::say(
                Kind::Model,
                format!("{name} has no price, so the cost cap cannot be enforced"),
            )
            .hint(
                "add its price to the file of the setting `prices`, or set usd_per_hour for your own machine",
            ));
        }
        let most = self.most(config);
        if self.work.is_some() && self.attempts > 1 {
            terminal::note(format_args!("{told}"));
        }
        let Some(above) = config.confirm_above.filter(|above| most > *above && !consent.yes) else {
            return Ok(Proceed::On);
        };
        terminal::note(format_args!("{told}; this may exceed ${above:.2} (confirm_above)"));
        terminal::note(format_args!("continue? Type yes and press Enter"));
        match terminal::answer().is_some_and(|answer| answer.trim() == "yes") {
            true => Ok(Proceed::On),
            false => Err(Failure::say(Kind::Usage, "stopped before the start: the cost was not confirmed")
                .hint("--yes confirms in advance; --max-usd sets a cap")),
        }
    }
}

/// A range with the spread of costs that were never measured.
fn unmeasured(range: CostRange) -> (CostRange, CostSpread) {
    (range, range.into())
}

/// Formats an amount in dollars: with four decimals below ten cents, else with two.
fn money(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.1 { format!("{dollars:.4}") } else { format!("{dollars:.2}") }
}

/// Whether a command continues after its forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proceed {
    /// The command continues.
    On,
    /// The command was a dry run and ends.
    Off,
}
