//! What attempts ask of a model's server, for models that no price per token describes.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use apprentice_protocol::{Limits, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimates::cost::{CALL_MS, Pricing, TURNS_TAKEN, turn_tokens};

/// Turns, tokens and time of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Responses of the model.
    pub turns: u64,
    /// Tokens of all prompts.
    pub input_tokens: u64,
    /// Those among them that the request before did not hold: a server that keeps its cache reads these alone.
    pub new_tokens: u64,
    /// Tokens of all responses.
    pub output_tokens: u64,
    /// Milliseconds that the server works, if one request is sent at a time.
    pub ms: u64,
}

/// What attempts can be expected to ask of a server, if they take as many turns as measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSpread {
    /// Nine of ten cases ask more, of a server that answers within a second.
    pub low: Work,
    /// Half of the cases ask more.
    pub median: Work,
    /// One of ten cases asks more, of a server that takes 20 seconds for a response.
    pub high: Work,
}

impl Pricing {
    /// Estimates what one attempt within these limits asks of the server of a model without a price per token; `None`
    /// for others, whose cost says more, and for rule-based policies.
    pub fn expected_work(&self, limits: &Limits) -> Option<WorkSpread> {
        if matches!(self.tariff, Some(apprentice_models::price::Tariff::Tokens(_))) {
            return None;
        }
        let profile = self.profile.as_ref()?;
        let [fast, slow] = CALL_MS;
        // The middle of a range that spans orders of magnitude is the geometric one.
        let paces = [fast, (fast * slow).isqrt(), slow];
        let mut cases = std::iter::zip(TURNS_TAKEN, paces).map(|(turns, pace)| {
            let turns = u64::from(turns.min(limits.turns));
            (0..turns).map(move |turn| {
                let tokens = turn_tokens(profile, turn);
                Work {
                    turns: 1,
                    input_tokens: tokens.fresh + tokens.cache_read,
                    new_tokens: tokens.fresh,
                    output_tokens: tokens.output,
                    ms: pace,
                }
            })
        });
        let mut next = || cases.next().map(Iterator::sum).unwrap_or_default();
        Some(WorkSpread { low: next(), median: next(), high: next() })
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            input_tokens: self.input_tokens + other.input_tokens,
            new_tokens: self.new_tokens + other.new_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            ms: self.ms + other.ms,
        }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl Add for WorkSpread {
    type Output = Self;

    /// Adds case by case: what makes one attempt of a model long makes the others long too.
    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, median: self.median + other.median, high: self.high + other.high }
    }
}

impl fmt::Display for WorkSpread {
    /// One line without a full stop: `about 80 turns (64 to 128), 0.8M tokens sent of which 0.2M are new, …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, median, high } = self;
        write!(f, "about {} ({} to {})", counted(median.turns, "turn"), low.turns, high.turns)?;
        write!(
            f,
            ", {} tokens sent, {} of them new",
            tokens(median.input_tokens),
            tokens(median.new_tokens)
        )?;
        write!(f, ", {} written", tokens(median.output_tokens))?;
        write!(
            f,
            "; {} of the server, at {} to {} s a turn",
            span(low.ms, high.ms),
            CALL_MS[0] / 1000,
            CALL_MS[1] / 1000
        )
    }
}

/// A rounded count of tokens: `640`, `12k`, `1.4M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", (count + 500) / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// A range of times: `4 to 43 minutes`, `2 to 19 hours`, and each with its own unit where they differ.
fn span(least_ms: u64, most_ms: u64) -> String {
    let unit = |ms: u64| if ms < 3_600_000 { ("minute", 60_000) } else { ("hour", 3_600_000) };
    let ((small, first), (large, second)) = (unit(least_ms), unit(most_ms));
    let (least, most) = (least_ms.div_ceil(first), most_ms.div_ceil(second));
    if small == large {
        format!("{least} to {}", counted(most, large))
    } else {
        format!("{} to {}", counted(least, small), counted(most, large))
    }
}

#[cfg(test)]
mod tests {
    use apprentice_models::price::{Price, Tariff};
    use apprentice_protocol::{
        CoordinateSpace, HistoryRule, ImageRule, Limits, ModelProfile, ToolRule, ViewRule,
    };

    use super::{Work, WorkSpread};
    use crate::estimates::cost::Pricing;

    fn own(history: HistoryRule) -> Pricing {
        let profile = ModelProfile {
            name: "p/m".into(),
            consumer: "c".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::None,
            outline: false,
            views: ViewRule::Whole,
            history,
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        };
        Pricing { tariff: None, profile: Some(profile), attempt_cap: None }
    }

    const GROWING: HistoryRule =
        HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false, context: None };

    #[test]
    fn a_model_without_a_price_is_forecast_in_turns_tokens_and_hours() {
        let work = own(GROWING).expected_work(&Limits { turns: 60, ..Limits::default() }).expect("is known");
        // Five turns of 9,000 tokens and 600 more with each; only the first prompt and what was added are new.
        let median = Work {
            turns: 5,
            input_tokens: 5 * 9_000 + 10 * 600,
            new_tokens: 9_000 + 4 * 600,
            output_tokens: 5 * 150,
            ms: 5 * 4_472,
        };
        assert_eq!(work.median, median);
        assert_eq!((work.low.turns, work.high.turns), (4, 8));
        let many = (0..300).fold(WorkSpread::default(), |sum, _| sum + work);
        assert_eq!(
            many.to_string(),
            "about 1500 turns (1200 to 2400), 15.3M tokens sent, 3.4M of them new, 225k written; \
             20 minutes to 14 hours of the server, at 1 to 20 s a turn"
        );
    }

    #[test]
    fn limits_hold_and_what_a_price_describes_is_not_told_twice() {
        let short = Limits { turns: 2, ..Limits::default() };
        let window = HistoryRule::Window { images: 1, at_most: None, context: None };
        let work = own(window).expected_work(&short).expect("is known");
        assert_eq!((work.low.turns, work.high.turns), (2, 2));
        assert!(
            work.median.new_tokens < work.median.input_tokens,
            "without pictures a conversation only grows"
        );
        let mut seeing = own(window);
        seeing.profile.as_mut().expect("has one").images = ImageRule::AsIs;
        let slides = seeing.expected_work(&short).expect("is known").median;
        assert_eq!(
            slides.new_tokens, slides.input_tokens,
            "a window of pictures that slides keeps no prefix"
        );
        let priced = Pricing { tariff: Some(Tariff::Tokens(Price::default())), ..own(window) };
        assert_eq!(priced.expected_work(&short), None);
        assert_eq!(Pricing::free().expected_work(&short), None);
        let hourly = Pricing { tariff: Some(Tariff::Hour(2.0)), ..own(window) };
        assert_eq!(hourly.expected_work(&short), Some(work));
    }
}
