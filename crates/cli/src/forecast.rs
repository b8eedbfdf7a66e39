//! What a command may spend, said before it spends: a range, and a question where much may be spent.

use std::collections::BTreeSet;

use apprentice_evaluator::experiment::{Experiment, ModelCost, expense};
use apprentice_evaluator::forecast::{Quote, Range};
use apprentice_evaluator::run::RunPlan;
use apprentice_protocol::{Limits, Size, TrialId};
use apprentice_results::row::TrialRow;
use apprentice_tasks::suite::Suite;
use clap::Args;
use serde::Serialize;

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::models::Models;
use crate::terminal;

/// Whether a command may spend, as its caller says.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Consent {
    /// Say what it would do and what it may cost, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask, whatever it may cost (see the setting `confirm_above`).
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Whether what it would do is told as JSON.
    #[arg(skip)]
    json: bool,
}

impl Consent {
    /// The same of a command that was asked for JSON, or not.
    pub(crate) fn in_json(self, json: bool) -> Self {
        Self { json, ..self }
    }
}

/// What a command would do and may cost, as one JSON object.
#[derive(Serialize)]
struct Told<'a> {
    schema: &'static str,
    attempts: usize,
    reviews: usize,
    requests: usize,
    /// Of what has a price, within the caps.
    least_usd: f64,
    most_usd: f64,
    /// Models without a price.
    unpriced: &'a BTreeSet<String>,
}

/// What a command may spend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forecast {
    attempts: usize,
    reviews: usize,
    requests: usize,
    range: Range,
    /// Models whose price nobody knows.
    unpriced: BTreeSet<String>,
}

impl Forecast {
    /// Of a planned run, besides the trials that have their result.
    pub(crate) fn of_plan(
        models: &Models,
        plan: &RunPlan,
        suite: &Suite,
        finished: &[TrialRow],
    ) -> Result<Self, Failure> {
        let finished: BTreeSet<&TrialId> = finished.iter().map(|row| &row.trial).collect();
        let mut forecast = Self::default();
        for trial in plan.trials.iter().filter(|trial| !finished.contains(&trial.trial)) {
            let own = || suite.task(trial.task.as_str()).map(|task| task.limits()).unwrap_or_default();
            forecast.add_attempt(models, &trial.model, &plan.limits_of(trial, own()))?;
        }
        Ok(forecast)
    }

    /// Of what is left of an experiment.
    pub(crate) fn of_experiment(
        models: &Models,
        experiment: &Experiment,
        learner: Option<&str>,
        done: &[TrialRow],
    ) -> Result<Self, Failure> {
        let quote = |name: &str| models.quote(name).unwrap_or_else(|_| Quote::free());
        let mut forecast = Self::default();
        for one in expense(experiment, learner, &quote, done).kind(Kind::Config)? {
            let ModelCost { model, trials, reviews, reviews_in_context: _, least_usd, most_usd } = one;
            (forecast.attempts, forecast.reviews) = (forecast.attempts + trials, forecast.reviews + reviews);
            let range = least_usd.zip(most_usd).map(|(least, most)| Range { least, most });
            forecast.charge(&model, range);
        }
        Ok(forecast)
    }

    /// Counts one more attempt in.
    pub(crate) fn add_attempt(
        &mut self,
        models: &Models,
        name: &str,
        limits: &Limits,
    ) -> Result<(), Failure> {
        self.attempts += 1;
        self.charge(models.resolve(name)?, models.quote(name)?.attempt(limits));
        Ok(())
    }

    /// Counts trajectories in that are learned from, or items of a book that are decided on.
    pub(crate) fn add_reviews(&mut self, models: &Models, name: &str, count: usize) -> Result<(), Failure> {
        self.reviews += count;
        let one = models.quote(name)?.review();
        self.charge(models.resolve(name)?, one.map(|one| one.times(count)));
        Ok(())
    }

    /// Counts a trajectory in that its own conversation, of so many turns, is gone on with for.
    pub(crate) fn add_review_here(&mut self, models: &Models, name: &str, turns: u32) -> Result<(), Failure> {
        self.reviews += 1;
        self.charge(models.resolve(name)?, models.quote(name)?.review_here([turns, turns]));
        Ok(())
    }

    /// Counts small requests in.
    pub(crate) fn add_requests(
        &mut self,
        models: &Models,
        name: &str,
        (count, output, picture): (u32, u32, Option<Size>),
    ) -> Result<(), Failure> {
        self.requests += count as usize;
        self.charge(models.resolve(name)?, models.quote(name)?.requests(count, output, picture));
        Ok(())
    }

    fn charge(&mut self, model: &str, range: Option<Range>) {
        match range {
            Some(range) => self.range += range,
            None => drop(self.unpriced.insert(model.to_owned())),
        }
    }

    /// The most that it may cost, as far as that is known.
    fn most(&self, config: &Config) -> f64 {
        self.range.most.min(config.cap.run_usd.unwrap_or(f64::INFINITY))
    }

    fn as_json(&self, config: &Config) -> Told<'_> {
        let most_usd = self.most(config);
        Told {
            schema: "apprentice.forecast/1",
            attempts: self.attempts,
            reviews: self.reviews,
            requests: self.requests,
            least_usd: self.range.least.min(most_usd),
            most_usd,
            unpriced: &self.unpriced,
        }
    }

    /// The range in words.
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
        let what = if what.is_empty() { "nothing is left to ask a model".to_owned() } else { what };
        let most = self.most(config);
        let priced = if self.range.most > 0.0 {
            let least = self.range.least.min(most);
            format!(
                "from ${} (one short turn each) to ${} (every turn used, nothing cached)",
                money(least),
                money(most)
            )
        } else {
            "free".to_owned()
        };
        let unpriced = self.unpriced.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match (unpriced.as_str(), self.range.most > 0.0) {
            ("", _) => format!("{what}, {priced}"),
            (unpriced, true) => format!("{what}, {priced}, and what {unpriced} costs, which has no price"),
            (unpriced, false) => format!("{what}; {unpriced} has no price"),
        }
    }

    /// Whether the command goes on: not on a dry run, and where much may be spent only when a person agrees.
    pub(crate) fn agree(&self, config: &Config, consent: Consent) -> Result<Going, Failure> {
        if consent.dry_run && consent.json {
            terminal::json(&self.as_json(config))?;
            return Ok(Going::Off);
        }
        let told = self.told(config);
        if consent.dry_run {
            terminal::line(format_args!("{told}"));
            return Ok(Going::Off);
        }
        let capped =
            [config.cap.trial_usd, config.cap.run_usd, config.cap.day_usd].iter().any(Option::is_some);
        if let Some(name) = self.unpriced.first().filter(|_| capped) {
            return Err(Failure::say(
                Kind::Model,
                format!("{name} has no price, so no cap on money can hold"),
            )
            .hint(
                "name a price in the file of the setting `prices`, or usd_per_hour for a machine of your own",
            ));
        }
        let most = self.most(config);
        let Some(above) = config.confirm_above.filter(|above| most > *above && !consent.yes) else {
            return Ok(Going::On);
        };
        terminal::note(format_args!("{told}; that may pass ${above:.2} (confirm_above)"));
        terminal::note(format_args!("go on? Type yes and press Enter"));
        match terminal::answer().is_some_and(|answer| answer.trim() == "yes") {
            true => Ok(Going::On),
            false => Err(Failure::say(Kind::Usage, "nothing was run: nobody agreed to what it may cost")
                .hint("--yes agrees beforehand; --max-usd sets a cap")),
        }
    }
}

/// Cents, and parts of a cent where there is nothing else.
fn money(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.1 { format!("{dollars:.4}") } else { format!("{dollars:.2}") }
}

/// Whether a command goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    /// It does.
    On,
    /// It was only to say what it would do.
    Off,
}
