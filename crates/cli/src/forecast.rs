//! What a command may spend, said before it spends: a range, and a question where much may be spent.

use apprentice_evaluator::run::RunPlan;
use apprentice_evaluator::suite::Suite;
use apprentice_harness::agent::fitted;
use apprentice_harness::model::price::{Price, Tariff, Tokens};
use apprentice_protocol::{HistoryRule, Limits, ModelProfile, Size};
use clap::Args;

use crate::config::Config;
use crate::failure::{Failure, Kind};
use crate::models::{BASELINES, Models};
use crate::terminal;

/// The screen of worlds.
const SCREEN: Size = Size::new(1920, 1080);
/// Pixels on a side of the square that counts as one token.
const PATCH: u32 = 28;
/// Tokens of what stands before the first turn: prompt, tools, task, a list of elements.
const OPENING: u64 = 9000;
/// Tokens of text that a turn leaves in the conversation: a reply and the answers to it.
const TURN: u64 = 600;
/// The same where every view comes with a list of elements.
const TURN_WITH_OUTLINE: u64 = 4000;
/// Output tokens of a short turn.
const SHORT_REPLY: u64 = 150;

/// Whether a command may spend, as its caller says.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Consent {
    /// Say what it would do and what it may cost, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask, whatever it may cost (see the setting `confirm_above`).
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// What a command may spend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forecast {
    /// Attempts.
    attempts: usize,
    /// US dollars when every attempt ends after one short turn.
    least: f64,
    /// US dollars when every turn is used and nothing is cached.
    most: f64,
    /// Models whose price nobody knows.
    unpriced: Vec<String>,
}

impl Forecast {
    /// Of a planned run.
    pub(crate) fn of_plan(models: &Models, plan: &RunPlan, suite: &Suite) -> Result<Self, Failure> {
        let mut forecast = Self::default();
        for trial in &plan.trials {
            let own = || suite.task(trial.task.as_str()).map(|task| task.limits()).unwrap_or_default();
            forecast.add(models, &trial.model, &plan.limits.unwrap_or_else(own))?;
        }
        Ok(forecast)
    }

    /// Counts one more attempt in.
    pub(crate) fn add(&mut self, models: &Models, name: &str, limits: &Limits) -> Result<(), Failure> {
        self.attempts += 1;
        let name = models.resolve(name)?;
        if BASELINES.contains(&name) {
            return Ok(());
        }
        match models.tariff(name)? {
            None if self.unpriced.iter().any(|known| known == name) => {}
            None => self.unpriced.push(name.to_owned()),
            Some(Tariff::Hour(dollars)) => {
                #[expect(clippy::cast_precision_loss, reason = "seconds of an attempt")]
                let hours = limits.working_s as f64 / 3600.0;
                self.most += capped(dollars * hours, limits, models.trial_cap(name)?);
            }
            Some(Tariff::Tokens(price)) => {
                let profile = models.profile(name)?;
                let (least, most) = range(&price, &profile, limits);
                let cap = models.trial_cap(name)?;
                self.least += capped(least, limits, cap);
                self.most += capped(most, limits, cap);
            }
        }
        Ok(())
    }

    /// The range in words.
    fn told(&self, config: &Config) -> String {
        let attempts =
            if self.attempts == 1 { "1 attempt".into() } else { format!("{} attempts", self.attempts) };
        let most = self.most.min(config.cap.run_usd.unwrap_or(f64::INFINITY));
        let priced = if self.most > 0.0 {
            let least = self.least.min(most);
            format!("from ${least:.2} (one short turn each) to ${most:.2} (every turn used, nothing cached)")
        } else {
            "free".to_owned()
        };
        match self.unpriced.as_slice() {
            [] => format!("{attempts}, {priced}"),
            unpriced if self.most > 0.0 => {
                format!("{attempts}, {priced}, and what {} costs, which has no price", unpriced.join(", "))
            }
            unpriced => format!("{attempts}; {} has no price", unpriced.join(", ")),
        }
    }

    /// Whether the command goes on: not on a dry run, and where much may be spent only when a person agrees.
    pub(crate) fn agree(&self, config: &Config, consent: Consent) -> Result<Going, Failure> {
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
        let most = self.most.min(config.cap.run_usd.unwrap_or(f64::INFINITY));
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

/// Whether a command goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    /// It does.
    On,
    /// It was only to say what it would do.
    Off,
}

fn capped(dollars: f64, limits: &Limits, cap: Option<f64>) -> f64 {
    dollars.min(limits.cost_usd.unwrap_or(f64::INFINITY)).min(cap.unwrap_or(f64::INFINITY))
}

/// US dollars of an attempt with one short turn, and of one that uses all turns with nothing from a cache.
fn range(price: &Price, profile: &ModelProfile, limits: &Limits) -> (f64, f64) {
    let patches = |side: u32| u64::from(side.div_ceil(PATCH));
    let picture =
        fitted(&profile.images, SCREEN).map_or(0, |size| patches(size.width) * patches(size.height));
    let cost = |fresh: u64, output: u64| {
        Tariff::Tokens(price.clone()).cost(&Tokens { fresh, output, ..Tokens::default() }, 0)
    };
    let text = if profile.outline { TURN_WITH_OUTLINE } else { TURN };
    let output = u64::from(profile.max_output_tokens);
    let (mut most, mut tokens) = (0.0, 0);
    for turn in 0..u64::from(limits.turns) {
        if limits.tokens.is_some_and(|cap| tokens >= cap) {
            break;
        }
        let pictures = match profile.history {
            HistoryRule::AppendOnly { .. } => turn + 1,
            HistoryRule::Window { images } => (turn + 1).min(u64::from(images)),
        };
        let input = OPENING + turn * text + pictures * picture;
        most += cost(input, output);
        tokens += input + output;
    }
    (cost(OPENING + picture, SHORT_REPLY), most)
}

#[cfg(test)]
mod tests {
    use apprentice_harness::model::price::Price;
    use apprentice_protocol::{
        CoordinateSpace, HistoryRule, ImageRule, Limits, ModelProfile, Size, ToolRule,
    };

    use super::range;

    fn profile(images: ImageRule, history: HistoryRule) -> ModelProfile {
        ModelProfile {
            name: "p/m".into(),
            consumer: "c".into(),
            space: CoordinateSpace::ImagePixels,
            images,
            outline: false,
            history,
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        }
    }

    #[test]
    fn the_range_follows_from_turns_pictures_and_prices() {
        let price = Price { input: 1.0, output: 10.0, ..Price::default() };
        let within = ImageRule::Within { size: Size::new(1280, 720) };
        let growing = profile(within, HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false });
        let limits = Limits { turns: 2, ..Limits::default() };
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        let (least, most) = range(&price, &growing, &limits);
        // 46 by 26 patches are 1,196 tokens.
        close(least, (9000.0 + 1196.0 + 150.0 * 10.0) / 1e6);
        close(most, (2.0 * 9000.0 + 600.0 + 3.0 * 1196.0 + 2.0 * 1000.0 * 10.0) / 1e6);
        let sliding = profile(within, HistoryRule::Window { images: 1 });
        close(range(&price, &sliding, &limits).1, most - 1196.0 / 1e6);
        let blind = profile(ImageRule::None, HistoryRule::Window { images: 1 });
        close(range(&price, &blind, &limits).1, most - 3.0 * 1196.0 / 1e6);
        let short = Limits { tokens: Some(5000), ..limits };
        close(range(&price, &growing, &short).1, (9000.0 + 1196.0 + 10_000.0) / 1e6);
    }
}
