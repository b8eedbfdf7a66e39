//! When a review in the background is due: what calls for one, and what holds it back.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is counted between reviews; kept beside the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Uses of tools.
    pub tool_iters_since_review: u32,
    /// Turns.
    pub turns_since_review: u32,
    /// Hints that a skill is at fault.
    pub skill_issue_hints_since_review: u32,
    /// When the last one was.
    pub last_review_at: Option<Timestamp>,
    /// Learning in the foreground that was called for and did not happen.
    pub skipped_foreground: u32,
}

/// Caps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Uses of tools that call for a review.
    pub tool_iters: u32,
    /// Turns that call for one.
    pub turns: u32,
    /// Time between two.
    pub interval: Duration,
    /// Reviews a day.
    pub reviews_per_day: u32,
    /// Money of one review, in US dollars.
    pub review_usd: f64,
    /// Money for learning a day, in US dollars.
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

/// What today has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budgets {
    /// Whether a review is running.
    pub running: bool,
    /// Whether this turn is itself a review.
    pub reviewing: bool,
    /// Reviews of today.
    pub reviews_today: u32,
    /// Money of today, in US dollars.
    pub spent_today_usd: f64,
}

/// What calls for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Learning in the foreground was called for and did not happen.
    SkippedForeground,
    /// A skill is said to be at fault.
    IssueHint,
    /// Enough has happened.
    Threshold,
}

/// Where the signal of a review comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The agent reported it.
    Reported,
    /// It was derived from the events, as nobody reported anything.
    Nudge,
}

/// What was decided, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// A review runs, for this reason; it needs a signal of this origin, else it ends without a candidate.
    Run(Trigger, Origin),
    /// Nothing calls for one.
    Quiet,
    /// Something does, and this holds it back.
    Held(&'static str),
}

/// `(skipped or hint or threshold) and not running and within the caps and the interval`.
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
        return Gate::Quiet;
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
        Some((_, why)) => Gate::Held(why),
        None => Gate::Run(trigger, origin),
    }
}
