//! Decides when a background review is due: what triggers one, and what holds it back.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters since the last review, stored beside the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counters {
    /// Tool uses.
    pub tool_iters_since_review: u32,
    /// Turns.
    pub turns_since_review: u32,
    /// Hints at a faulty skill.
    pub skill_issue_hints_since_review: u32,
    /// Time of the last review.
    #[schemars(with = "Option<String>")]
    pub last_review_at: Option<Timestamp>,
    /// Foreground learning that was due and did not happen.
    pub skipped_foreground: u32,
}

/// Thresholds and caps for reviews.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Tool uses that trigger a review.
    pub tool_iters: u32,
    /// Turns that trigger a review.
    pub turns: u32,
    /// Minimum time between two reviews.
    pub interval: Duration,
    /// Reviews per day.
    pub reviews_per_day: u32,
    /// Cost of one review, in US dollars.
    pub review_usd: f64,
    /// Cost of learning per day, in US dollars.
    pub day_usd: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tool_iters: 40,
            turns: 12,
            interval: Duration::from_secs(30 * 60),
            reviews_per_day: 12,
            review_usd: 0.25,
            day_usd: 2.0,
        }
    }
}

/// Today's usage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budgets {
    /// True if a review is running.
    pub running: bool,
    /// True if this turn is itself a review.
    pub reviewing: bool,
    /// Number of reviews today.
    pub reviews_today: u32,
    /// Money spent today, in US dollars.
    pub spent_today_usd: f64,
}

/// The trigger of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Foreground learning was due and did not happen.
    SkippedForeground,
    /// A report says that a skill is faulty.
    IssueHint,
    /// A counter reached its threshold.
    Threshold,
}

/// The source of a review's signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The agent reported it.
    Reported,
    /// Derived from the events, because the agent reported no signal.
    Nudge,
}

/// The decision about a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Run a review for this trigger. It needs a signal of this origin; otherwise it ends without a candidate.
    Run(Trigger, Origin),
    /// No trigger.
    NotDue,
    /// Triggered, but held back for this reason.
    HeldBack(&'static str),
}

/// Decides about a review: `(skipped or hint or threshold) and not running and within the caps and the interval`.
pub fn gate(counters: &Counters, limits: &Limits, budgets: &Budgets, now: Timestamp) -> Gate {
    let enough =
        counters.tool_iters_since_review >= limits.tool_iters || counters.turns_since_review >= limits.turns;
    let (trigger, origin) = if counters.skipped_foreground > 0 {
        (Trigger::SkippedForeground, Origin::Reported)
    } else if counters.skill_issue_hints_since_review > 0 {
        (Trigger::IssueHint, Origin::Reported)
    } else if enough {
        (Trigger::Threshold, Origin::Nudge)
    } else {
        return Gate::NotDue;
    };
    let early =
        counters.last_review_at.is_some_and(|last| now.duration_since(last).unsigned_abs() < limits.interval);
    let held = [
        (budgets.reviewing, "a review does not review itself"),
        (budgets.running, "a review is running"),
        (early, "the last review was a short while ago"),
        (budgets.reviews_today >= limits.reviews_per_day, "the reviews of today are used up"),
        (budgets.spent_today_usd + limits.review_usd > limits.day_usd, "the money of today is used up"),
    ];
    match held.iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Gate::HeldBack(why),
        None => Gate::Run(trigger, origin),
    }
}
