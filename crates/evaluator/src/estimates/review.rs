//! What reviews and the safety readers of what they write ask of models: ranges that are counted from the options of
//! learning, the turns that an attempt may take, and what the reviewing model takes.

use std::ops::{Add, AddAssign};

use apprentice_learning::reflect::{ReflectOptions, ReviewerLimits};
use apprentice_models::price::Tokens;
use apprentice_protocol::{ModelProfile, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimates::cost::{CALL_MS, CostRange, CostSpread, Pricing, patches};
use crate::learn::PICTURE_SIDE;

/// Input tokens of a review without steps and pictures: prompt, schema and the texts of received skills.
const REVIEW_TOKENS: u64 = 12_000;
/// Most input tokens of a page of the book that a review shows.
const PAGE_TOKENS: u64 = 450;
/// Minimum and maximum input and output tokens of one request to a safety reader: its prompt with a short note, and with
/// the longest page.
const READING_TOKENS: [[u64; 2]; 2] = [[1_200, 100], [5_000, 4_000]];
/// Answers that a safety reader may give before a text stays unread.
const READING_TRIES: u32 = 3;

/// A number of things, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountRange {
    /// Minimum.
    pub least: usize,
    /// Maximum.
    pub most: usize,
}

impl CountRange {
    /// Nothing, up to `most` things.
    pub fn up_to(most: usize) -> Self {
        Self { least: 0, most }
    }

    /// Multiplies both ends.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        Self { least: self.least * count, most: self.most * count }
    }

    /// Returns whether there is nothing, whatever happens.
    pub fn is_none(&self) -> bool {
        self.most == 0
    }
}

impl Add for CountRange {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }
}

impl AddAssign for CountRange {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What the review of one attempt asks of the reviewer, and what it may have safety readers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewWork {
    /// Requests: one for each part of the attempt; at most as many times as the reviewer may answer.
    pub requests: CountRange,
    /// Pictures that are sent with them, each once for each answer.
    pub pictures: CountRange,
    /// Texts that may be written afterwards: each learning of each part, and each skill that was received.
    pub texts: CountRange,
    parts: usize,
    part_tokens: u64,
    reply_tokens: u64,
}

impl ReviewWork {
    /// Counts the review of an attempt of at most `turns` turns. Without a profile the reviewer gets no pictures.
    pub fn of(options: &ReflectOptions, turns: u32, profile: Option<&ModelProfile>) -> Self {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        let tries = usize::try_from(options.tries).unwrap_or(usize::MAX);
        let parts = options.budget.most_parts(turns);
        let limits = profile.map(|profile| ReviewerLimits::of(profile, options.pictures));
        let pictures = limits.map_or(0, |limits| limits.pictures);
        Self {
            requests: CountRange { least: 1, most: parts * tries },
            pictures: CountRange::up_to(pictures * tries),
            texts: CountRange::up_to(parts * options.max_learnings + options.budget.skills),
            parts,
            part_tokens: REVIEW_TOKENS
                + options.budget.tokens
                + PAGE_TOKENS * u64::try_from(options.pages).unwrap_or(u64::MAX),
            reply_tokens: limits.map_or(0, |limits| u64::from(limits.output())),
        }
    }

    /// Returns the share of these requests and pictures if every answer is readable.
    fn first_answers(&self) -> CountRange {
        CountRange { least: self.parts, most: self.pictures.most * self.parts / self.requests.most.max(1) }
    }
}

/// A cost that was counted: its range, and what to expect.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountedCost {
    /// From one short request to the longest ones, each answered as often as it may be.
    pub range: CostRange,
    /// The same if every answer is readable. What is in between was never measured: the geometric middle stands for it.
    pub expected: CostSpread,
}

impl CountedCost {
    /// Multiplies the cost by a count.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        Self { range: self.range.times(count), expected: self.expected.times(count) }
    }
}

impl Add for CountedCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { range: self.range + other.range, expected: self.expected + other.expected }
    }
}

impl Pricing {
    /// Estimates the cost of the review of one attempt and of the decisions that follow it; `None` without a price.
    pub fn attempt_review(&self, work: &ReviewWork) -> Option<CountedCost> {
        let tariff = self.tariff.as_ref()?;
        let decisions = self.review()?;
        let request = Tokens { fresh: work.part_tokens, output: work.reply_tokens, ..Tokens::default() };
        let request = tariff.cost(&request, CALL_MS[1]);
        let picture = patches(Size::new(PICTURE_SIDE, PICTURE_SIDE));
        let picture = tariff.cost(&Tokens { fresh: picture, ..Tokens::default() }, 0);
        let asked = |requests: usize, pictures: usize| {
            decisions.most + number(requests) * request + number(pictures) * picture
        };
        let first = work.first_answers();
        let range = CostRange { least: decisions.least, most: asked(work.requests.most, work.pictures.most) };
        let usual = CostRange { least: decisions.least, most: asked(first.least, first.most) };
        Some(CountedCost { range, expected: usual.into() })
    }

    /// Estimates the cost of having so many texts read by this safety reader; `None` without a price.
    pub fn readings(&self, texts: CountRange) -> Option<CountedCost> {
        let tariff = self.tariff.as_ref()?;
        let [least, most] = [0, 1].map(|end| {
            let [fresh, output] = READING_TOKENS[end];
            tariff.cost(&Tokens { fresh, output, ..Tokens::default() }, CALL_MS[end])
        });
        let usual = CostRange { least: number(texts.least) * least, most: number(texts.most) * most };
        let range = CostRange { most: usual.most * f64::from(READING_TRIES), ..usual };
        Some(CountedCost { range, expected: usual.into() })
    }
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use apprentice_learning::reflect::{MaterialBudget, ReflectOptions};
    use apprentice_models::price::{Price, Tariff};
    use apprentice_protocol::{CoordinateSpace, HistoryRule, ImageRule, ModelProfile, ToolRule, ViewRule};

    use super::{CountRange, ReviewWork};
    use crate::estimates::cost::{CostRange, Pricing};

    fn reader(images: ImageRule) -> Pricing {
        let profile = ModelProfile {
            name: "p/m".into(),
            consumer: "c".into(),
            space: CoordinateSpace::ImagePixels,
            images,
            outline: false,
            views: ViewRule::Whole,
            history: HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        };
        let price = Price { input: 1.0, output: 10.0, ..Price::default() };
        Pricing { tariff: Some(Tariff::Tokens(price)), profile: Some(profile), attempt_cap: None }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn a_long_attempt_is_counted_by_its_parts_and_pictures_by_what_the_reviewer_takes() {
        let options = ReflectOptions { pictures: 10, tries: 2, ..ReflectOptions::default() };
        let sees = reader(ImageRule::AsIs);
        let work = |turns| ReviewWork::of(&options, turns, sees.profile.as_ref());
        assert_eq!(work(8).requests, CountRange { least: 1, most: 2 });
        assert_eq!(work(9).requests, CountRange { least: 1, most: 4 });
        assert_eq!(work(1000).requests.most, 2 * MaterialBudget::default().parts);
        assert_eq!(work(8).pictures, CountRange { least: 0, most: 20 });
        assert_eq!(work(9).texts, CountRange { least: 0, most: 2 * 3 + 12 });
        let blind = ReviewWork::of(&options, 9, reader(ImageRule::None).profile.as_ref());
        assert!(blind.pictures.is_none() && blind.requests == work(9).requests);
        assert!(ReviewWork::of(&options, 9, None).pictures.is_none());
    }

    #[test]
    fn parts_pictures_and_second_answers_cost_what_they_send() {
        let options = ReflectOptions { pictures: 10, tries: 2, ..ReflectOptions::default() };
        let sees = reader(ImageRule::AsIs);
        let cost = |options: &ReflectOptions, turns| {
            let work = ReviewWork::of(options, turns, sees.profile.as_ref());
            sees.attempt_review(&work).expect("has a price")
        };
        let decisions = sees.review().expect("has a price");
        // Twelve pages of the book are shown with the attempt.
        let request = (12_000.0 + 12.0 * 450.0 + 40_000.0 + 8_000.0 * 10.0) / 1e6;
        // 37 by 37 patches are 1,369 tokens.
        let picture = 1_369.0 / 1e6;
        let (short, long) = (cost(&options, 8), cost(&options, 16));
        close(short.range.least, decisions.least);
        close(short.range.most, decisions.most + 2.0 * request + 20.0 * picture);
        close(short.expected.high, decisions.most + request + 10.0 * picture);
        close(long.range.most - short.range.most, 2.0 * request);
        close(long.expected.high - short.expected.high, request);
        let none = cost(&ReflectOptions { pictures: 0, ..options }, 8);
        close(short.range.most - none.range.most, 20.0 * picture);
        let unpriced = Pricing { tariff: None, ..Pricing::free() };
        let work = ReviewWork::of(&options, 8, None);
        assert_eq!((unpriced.attempt_review(&work), unpriced.readings(work.texts)), (None, None));
        let free = Pricing::free().attempt_review(&work).expect("free");
        assert_eq!(free.range, CostRange::default());
    }

    #[test]
    fn a_text_is_read_once_or_up_to_three_times() {
        let one = reader(ImageRule::None).readings(CountRange { least: 1, most: 1 }).expect("has a price");
        close(one.range.least, (1_200.0 + 100.0 * 10.0) / 1e6);
        close(one.expected.high, (5_000.0 + 4_000.0 * 10.0) / 1e6);
        close(one.range.most, 3.0 * one.expected.high);
        let none = reader(ImageRule::None).readings(CountRange::default()).expect("has a price");
        assert_eq!(none.range, CostRange::default());
    }
}
