//! The reviews that learning will make, as a forecast counts them.

use apprentice_learning::reflect::ReflectOptions;

use crate::estimates::cost::{CostRange, Pricing};
use crate::estimates::review::{CountRange, CountedCost, ReviewWork};

/// An attempt that is to be reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReviewedAttempt {
    /// Turns that it may take.
    pub(super) turns: u32,
    /// Whether the model that acts in it is asked in its own conversation.
    pub(super) in_context: bool,
}

/// The reviews of one model.
#[derive(Clone, Debug)]
pub(super) struct PlannedReviews<'a> {
    pub(super) learner: &'a str,
    pub(super) options: &'a ReflectOptions,
    pub(super) attempts: Vec<ReviewedAttempt>,
}

/// What the reviews ask of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) requests: CountRange,
    pub(super) pictures: CountRange,
}

impl PlannedReviews<'_> {
    fn work<'w>(&'w self, quote: &'w Pricing) -> impl Iterator<Item = ReviewWork> + 'w {
        self.attempts.iter().map(|one| ReviewWork::of(self.options, one.turns, quote.profile.as_ref()))
    }

    /// Returns the number of reviews in the attempts' own conversations.
    pub(super) fn in_context(&self) -> usize {
        self.attempts.iter().filter(|one| one.in_context).count()
    }

    /// Counts requests and pictures. A review in the attempt's own conversation is asked as often as a reader would be, and
    /// a reader may be asked after all.
    pub(super) fn asked(&self, quote: &Pricing) -> Asked {
        let mut asked = Asked::default();
        for (one, work) in self.attempts.iter().zip(self.work(quote)) {
            asked.requests += work.requests;
            asked.pictures += work.pictures;
            if one.in_context {
                asked.requests +=
                    CountRange::up_to(usize::try_from(self.options.tries).unwrap_or(usize::MAX));
            }
        }
        asked
    }

    /// Counts the texts that may be written.
    pub(super) fn texts(&self, quote: &Pricing) -> CountRange {
        self.work(quote).fold(CountRange::default(), |sum, work| sum + work.texts)
    }

    /// Returns the cost of each review; `None` without a price.
    pub(super) fn costs<'w>(&'w self, quote: &'w Pricing) -> impl Iterator<Item = Option<CountedCost>> + 'w {
        self.attempts.iter().zip(self.work(quote)).map(|(one, work)| {
            let by_reader = quote.attempt_review(&work)?;
            if !one.in_context {
                return Some(by_reader);
            }
            let range: CostRange = quote.review_in_context([1, one.turns], by_reader.range)?;
            Some(CountedCost { range, expected: range.into() })
        })
    }
}
