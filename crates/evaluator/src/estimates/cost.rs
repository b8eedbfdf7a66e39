//! Cost estimates, shared by every command that calls models.

use std::ops::{Add, AddAssign};

use apprentice_models::price::{Price, Tariff, Tokens};
use apprentice_protocol::{DEFAULT_SCREEN, HistoryRule, ImageRule, Limits, ModelProfile, Size, ViewRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Side length, in pixels, of the image patch that counts as one token.
const PATCH: u32 = 28;
/// Tokens before the first turn: prompt, tools, task and an outline.
const OPENING_TOKENS: u64 = 9000;
/// Text tokens that each turn adds to the conversation: a reply and its tool results.
const TURN_TOKENS: u64 = 600;
/// The same when every observation includes an outline.
const TURN_TOKENS_WITH_OUTLINE: u64 = 4000;
/// Tokens before the first turn, and those that each turn adds, of a model that gets short views: medians of Qwen2.5-Coder 1.5B in 7
/// attempts of 30 turns.
const SHORT_VIEW_TOKENS: (u64, u64) = (958, 237);
/// Output tokens of a short turn.
const SHORT_REPLY_TOKENS: u64 = 150;
/// Minimum and maximum calls per learned trajectory beside the review itself, and the input and output tokens of each call.
const CALLS_PER_TRAJECTORY: [u32; 2] = [1, 8];
const TOKENS_PER_CALL: [[u64; 2]; 2] = [[4_000, 300], [20_000, 2_000]];
/// Minimum and maximum calls among these that ask for the review itself, and the tokens of its question.
const REVIEW_CALLS: [u32; 2] = [1, 3];
const QUESTION_TOKENS: u64 = 2_500;
/// Minimum and maximum milliseconds that a self-hosted machine spends on one such call or one turn.
pub(crate) const CALL_MS: [u64; 2] = [1_000, 20_000];

/// Turns of an attempt: the first tenth, the median and the last tenth of the 16 attempts of a language model at the
/// training tasks of the shipped suites (`docs/records/shipped-skillbook.jsonl.xz`). Harder tasks take longer.
pub(crate) const TURNS_TAKEN: [u32; 3] = [4, 5, 8];

/// The cost that one would expect, in US dollars, if attempts take as many turns as the measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostSpread {
    /// Nine of ten cases cost more.
    pub low: f64,
    /// Half of the cases cost more.
    pub median: f64,
    /// One of ten cases costs more.
    pub high: f64,
}

impl CostSpread {
    /// Multiplies the spread by a count. The cases vary together: what makes one attempt of a model long makes the
    /// others long too, so that the spread of a sum is not narrowed.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        let count = u32::try_from(count).map_or(f64::INFINITY, f64::from);
        Self { low: self.low * count, median: self.median * count, high: self.high * count }
    }

    /// Keeps the spread below a cap.
    #[must_use]
    pub fn capped(self, cap: Option<f64>) -> Self {
        let cap = cap.unwrap_or(f64::INFINITY);
        Self { low: self.low.min(cap), median: self.median.min(cap), high: self.high.min(cap) }
    }
}

impl Add for CostSpread {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, median: self.median + other.median, high: self.high + other.high }
    }
}

impl From<CostRange> for CostSpread {
    /// The spread of what was never measured: the whole range, with its geometric middle.
    fn from(range: CostRange) -> Self {
        Self { low: range.least, median: (range.least * range.most).sqrt(), high: range.most }
    }
}

/// A cost range in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostRange {
    /// Minimum: every attempt ends after one short turn.
    pub least: f64,
    /// Maximum: every turn is used and no input is cached.
    pub most: f64,
}

impl CostRange {
    /// Multiplies the range by a count.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        let count = u32::try_from(count).map_or(f64::INFINITY, f64::from);
        Self { least: self.least * count, most: self.most * count }
    }

    fn capped(self, cap: Option<f64>) -> Self {
        let cap = cap.unwrap_or(f64::INFINITY);
        Self { least: self.least.min(cap), most: self.most.min(cap) }
    }
}

impl Add for CostRange {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }
}

impl AddAssign for CostRange {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The pricing of one model, as needed for estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct Pricing {
    /// The model's price; `None` if unknown.
    pub tariff: Option<Tariff>,
    /// The model's observation profile; `None` for a rule-based policy.
    pub profile: Option<ModelProfile>,
    /// Maximum cost per attempt, in US dollars.
    pub attempt_cap: Option<f64>,
}

impl Pricing {
    /// A model without cost.
    pub fn free() -> Self {
        Self { tariff: Some(Tariff::Hour(0.0)), profile: None, attempt_cap: None }
    }

    /// Estimates the cost of one attempt within these limits; `None` without a price.
    pub fn attempt(&self, limits: &Limits) -> Option<CostRange> {
        let range = match self.tariff.as_ref()? {
            Tariff::Hour(dollars) => CostRange {
                least: dollars * hours(CALL_MS[0]),
                most: dollars * hours(CALL_MS[1].saturating_mul(limits.turns.into())),
            },
            Tariff::Tokens(price) => turns(price, self.profile.as_ref(), limits),
        };
        Some(range.capped(limits.cost_usd).capped(self.attempt_cap))
    }

    /// Estimates what one attempt within these limits can be expected to cost, from the turns that attempts took and a
    /// conversation that the provider caches; `None` without a price.
    pub fn expected_attempt(&self, limits: &Limits) -> Option<CostSpread> {
        let range = self.attempt(limits)?;
        let [low, median, high] = match (self.tariff.as_ref()?, &self.profile) {
            (tariff @ Tariff::Tokens(_), Some(profile)) => TURNS_TAKEN.map(|turns| {
                let turns = u64::from(turns.min(limits.turns));
                (0..turns).map(|turn| tariff.cost(&turn_tokens(profile, turn), 0)).sum::<f64>()
            }),
            (tariff, _) => TURNS_TAKEN.map(|turns| {
                let turns = u64::from(turns.min(limits.turns));
                tariff.cost(&Tokens::default(), turns * CALL_MS[1])
            }),
        };
        let within = |dollars: f64| dollars.max(range.least).min(range.most);
        Some(CostSpread { low: within(low), median: within(median), high: within(high) })
    }

    /// Estimates the cost of deciding the items of one trajectory, or one item of a book.
    pub fn review(&self) -> Option<CostRange> {
        let tariff = self.tariff.as_ref()?;
        let [least, most] = [0, 1].map(|end| {
            let [fresh, output] = TOKENS_PER_CALL[end];
            let tokens = Tokens { fresh, output, ..Tokens::default() };
            f64::from(CALLS_PER_TRAJECTORY[end]) * tariff.cost(&tokens, CALL_MS[end])
        });
        Some(CostRange { least, most })
    }

    /// Estimates the same when the question is asked in the attempt's own conversation of `turns` turns (minimum and
    /// maximum). The minimum assumes a cached conversation; the maximum assumes no cache and a fallback to a separate
    /// reviewer, which costs `reader`.
    pub fn review_in_context(&self, turns: [u32; 2], reader: CostRange) -> Option<CostRange> {
        let tariff = self.tariff.as_ref()?;
        let fresh = reader;
        let Some(profile) = &self.profile else { return Some(fresh) };
        let sent = turns.map(|turns| request(profile, u64::from(turns.saturating_sub(1))));
        let asked =
            |end: usize, tokens: Tokens| f64::from(REVIEW_CALLS[end]) * tariff.cost(&tokens, CALL_MS[end]);
        let output = TOKENS_PER_CALL.map(|[_, output]| output);
        let least =
            Tokens { fresh: QUESTION_TOKENS, cache_read: sent[0], output: output[0], ..Tokens::default() };
        let most = Tokens { fresh: sent[1] + QUESTION_TOKENS, output: output[1], ..Tokens::default() };
        Some(CostRange { least: asked(0, least), most: fresh.most + asked(1, most) })
    }

    /// Estimates the cost of `count` small requests, each with at most one image of this size.
    pub fn requests(&self, count: u32, output: u32, picture: Option<Size>) -> Option<CostRange> {
        let tariff = self.tariff.as_ref()?;
        let fresh = OPENING_TOKENS / 10 + picture.map_or(0, patches);
        let cost = |output, busy_ms| tariff.cost(&Tokens { fresh, output, ..Tokens::default() }, busy_ms);
        let count = f64::from(count);
        let [least, most] = [cost(1, CALL_MS[0]), cost(u64::from(output), CALL_MS[1])];
        Some(CostRange { least: count * least, most: count * most })
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of an attempt are far below 2^52")]
fn hours(ms: u64) -> f64 {
    ms as f64 / 3_600_000.0
}

pub(crate) fn patches(size: Size) -> u64 {
    u64::from(size.width.div_ceil(PATCH)) * u64::from(size.height.div_ceil(PATCH))
}

/// The cost of one short turn, and of all turns without a cache.
fn turns(price: &Price, profile: Option<&ModelProfile>, limits: &Limits) -> CostRange {
    let tariff = Tariff::Tokens(price.clone());
    let cost = |fresh: u64, output: u64| tariff.cost(&Tokens { fresh, output, ..Tokens::default() }, 0);
    let Some(profile) = profile else { return CostRange::default() };
    let output = u64::from(profile.max_output_tokens);
    let (mut most, mut tokens) = (0.0, 0);
    for turn in 0..u64::from(limits.turns) {
        if limits.tokens.is_some_and(|cap| tokens >= cap) {
            break;
        }
        let input = request(profile, turn);
        most += cost(input, output);
        tokens += input + output;
    }
    CostRange { least: cost(request(profile, 0), SHORT_REPLY_TOKENS).min(most), most }
}

/// Tokens of a usual turn: what was sent before is read from the cache where the conversation only grows.
pub(crate) fn turn_tokens(profile: &ModelProfile, turn: u64) -> Tokens {
    let input = request(profile, turn);
    let grows = match profile.history {
        // A block that is left out breaks the cache once in many turns, which this ignores.
        HistoryRule::AppendOnly { .. } | HistoryRule::Blocks { .. } => true,
        HistoryRule::Window { at_most, .. } => at_most.is_some() || profile.images == ImageRule::None,
    };
    let before = if grows && turn > 0 { request(profile, turn - 1).min(input) } else { 0 };
    Tokens { fresh: input - before, cache_read: before, output: SHORT_REPLY_TOKENS, ..Tokens::default() }
}

/// Input tokens of a turn, counted from 0.
fn request(profile: &ModelProfile, turn: u64) -> u64 {
    let picture = profile.images.fit(DEFAULT_SCREEN).map_or(0, patches);
    let (opening, text) = match profile.views {
        ViewRule::Short => SHORT_VIEW_TOKENS,
        ViewRule::Whole | ViewRule::Changes if profile.outline => (OPENING_TOKENS, TURN_TOKENS_WITH_OUTLINE),
        ViewRule::Whole | ViewRule::Changes => (OPENING_TOKENS, TURN_TOKENS),
    };
    match profile.history {
        HistoryRule::AppendOnly { context, .. } => {
            let whole = opening + turn * text + (turn + 1) * picture;
            context.map_or(whole, |context| whole.min(context.tokens))
        }
        HistoryRule::Blocks { at_most, .. } => {
            opening + turn * text + (turn + 1).min(u64::from(at_most)) * picture
        }
        HistoryRule::Window { images, at_most, context } => {
            let most = u64::from(at_most.unwrap_or(images));
            let whole = opening + turn * text + (turn + 1).min(most) * picture;
            context.map_or(whole, |context| whole.min(context.tokens))
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_models::price::{Price, Tariff};
    use apprentice_protocol::{
        ContextRule, CoordinateSpace, HistoryRule, ImageRule, Limits, ModelProfile, Size, ToolRule, ViewRule,
    };
    use proptest::prelude::{prop_assert, proptest};

    use super::{CostRange, Pricing};

    fn quote(images: ImageRule, history: HistoryRule) -> Pricing {
        let profile = ModelProfile {
            name: "p/m".into(),
            consumer: "c".into(),
            space: CoordinateSpace::ImagePixels,
            images,
            outline: false,
            views: ViewRule::Whole,
            history,
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        };
        let price = Price { input: 1.0, output: 10.0, ..Price::default() };
        Pricing { tariff: Some(Tariff::Tokens(price)), profile: Some(profile), attempt_cap: None }
    }

    const WITHIN: ImageRule = ImageRule::Within { size: Size::new(1280, 720) };
    const GROWING: HistoryRule =
        HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false, context: None };
    const SLIDING: HistoryRule = HistoryRule::Window { images: 1, at_most: None, context: None };

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn the_range_follows_from_turns_pictures_and_prices() {
        let limits = Limits { turns: 2, ..Limits::default() };
        let range = |quote: &Pricing, limits: &Limits| quote.attempt(limits).expect("has a price");
        let CostRange { least, most } = range(&quote(WITHIN, GROWING), &limits);
        // 46 by 26 patches are 1,196 tokens.
        close(least, (9000.0 + 1196.0 + 150.0 * 10.0) / 1e6);
        close(most, (2.0 * 9000.0 + 600.0 + 3.0 * 1196.0 + 2.0 * 1000.0 * 10.0) / 1e6);
        close(range(&quote(WITHIN, SLIDING), &limits).most, most - 1196.0 / 1e6);
        close(range(&quote(ImageRule::None, SLIDING), &limits).most, most - 3.0 * 1196.0 / 1e6);
        let narrow = Some(ContextRule { tokens: 10_000, patch: 28 });
        let narrow = quote(WITHIN, HistoryRule::Window { images: 1, at_most: None, context: narrow });
        close(range(&narrow, &limits).most, (2.0 * 10_000.0 + 2.0 * 1000.0 * 10.0) / 1e6);
        let short = Limits { tokens: Some(5000), ..limits };
        close(range(&quote(WITHIN, GROWING), &short).most, (9000.0 + 1196.0 + 10_000.0) / 1e6);
        let capped = Pricing { attempt_cap: Some(0.001), ..quote(WITHIN, GROWING) };
        assert_eq!(range(&capped, &limits), CostRange { least: 0.001, most: 0.001 });
    }

    #[test]
    fn what_is_expected_follows_from_measured_turns_and_lies_within_the_range() {
        let limits = Limits { turns: 60, ..Limits::default() };
        let spread = quote(ImageRule::None, GROWING).expected_attempt(&limits).expect("has a price");
        // No cached rate: five turns send 9,000 tokens each and 600 more with every turn, and answer with 150.
        close(spread.median, (5.0 * 9_000.0 + 10.0 * 600.0 + 5.0 * 1_500.0) / 1e6);
        close(spread.low, (4.0 * 9_000.0 + 6.0 * 600.0 + 4.0 * 1_500.0) / 1e6);
        close(spread.high, (8.0 * 9_000.0 + 28.0 * 600.0 + 8.0 * 1_500.0) / 1e6);
        let short = quote(ImageRule::None, GROWING)
            .expected_attempt(&Limits { turns: 5, ..limits })
            .expect("a price");
        assert_eq!((short.median, short.low), (short.high, spread.low), "a cap on turns caps the spread");
        close(spread.times(2).high, 2.0 * spread.high);
        assert_eq!(Pricing { tariff: None, ..Pricing::free() }.expected_attempt(&limits), None);
        let review = super::CostSpread::from(CostRange { least: 1.0, most: 4.0 });
        close(review.median, 2.0);
    }

    #[test]
    fn a_machine_of_ones_own_costs_by_the_hour_and_what_has_no_price_is_not_guessed() {
        let own = Pricing { tariff: Some(Tariff::Hour(3.6)), ..Pricing::free() };
        let limits = Limits { turns: 50, ..Limits::default() };
        let range = own.attempt(&limits).expect("has a price");
        close(range.least, 0.001);
        close(range.most, 1.0);
        assert_eq!(Pricing::free().attempt(&limits), Some(CostRange::default()));
        assert_eq!(Pricing::free().review(), Some(CostRange::default()));
        let unknown = Pricing { tariff: None, ..Pricing::free() };
        assert_eq!((unknown.attempt(&limits), unknown.review()), (None, None));
        let review = quote(WITHIN, GROWING).review().expect("has a price");
        close(review.least, (4_000.0 + 300.0 * 10.0) / 1e6);
        close(review.most, 8.0 * (20_000.0 + 2_000.0 * 10.0) / 1e6);
        assert_eq!(review.times(3).least, review.least * 3.0);
    }

    #[test]
    fn a_review_below_the_attempts_own_conversation_costs_what_is_sent_again() {
        let quote = quote(WITHIN, GROWING);
        let reader = quote.review().expect("has a price");
        let here = |turns| quote.review_in_context(turns, reader).expect("has a price");
        let one = here([1, 1]);
        // The conversation of one turn is 9,000 tokens and a picture of 1,196; the price has no cached rate.
        close(one.least, (9_000.0 + 1_196.0 + 2_500.0 + 300.0 * 10.0) / 1e6);
        close(one.most, reader.most + 3.0 * (9_000.0 + 1_196.0 + 2_500.0 + 2_000.0 * 10.0) / 1e6);
        let more = here([1, 30]);
        close(more.least, one.least);
        close(more.most - one.most, 3.0 * 29.0 * (600.0 + 1_196.0) / 1e6);
        let price = Price { input: 1.0, output: 10.0, cache_read: Some(0.1), ..Price::default() };
        let cheap = Pricing { tariff: Some(Tariff::Tokens(price)), ..quote.clone() };
        let range = cheap.review_in_context([1, 1], reader).expect("has a price");
        close(range.least, ((9_000.0 + 1_196.0) * 0.1 + 2_500.0 + 300.0 * 10.0) / 1e6);
        close(range.most, one.most);
        assert_eq!(
            Pricing::free().review_in_context([1, 30], CostRange::default()),
            Some(CostRange::default())
        );
        assert_eq!(Pricing { tariff: None, ..Pricing::free() }.review_in_context([1, 1], reader), None);
    }

    proptest! {
        #[test]
        fn more_turns_never_cost_less(turns in 1u32..60, tokens in proptest::option::of(1u64..200_000)) {
            let quote = quote(WITHIN, GROWING);
            let range = |turns| quote.attempt(&Limits { turns, tokens, ..Limits::default() }).expect("a price");
            let (fewer, more) = (range(turns), range(turns + 1));
            prop_assert!(fewer.least <= fewer.most && fewer.most <= more.most && fewer.least <= more.least);
        }
    }
}
