//! The cost of calls: dated price lists as data, and arithmetic that counts each token once.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use apprentice_protocol::{ChatRequest, Content, Message, Usage};
use serde::{Deserialize, Serialize};

use super::family::family;

/// The price list in the binary.
const SHIPPED: &str = include_str!("prices.toml");
const MILLION: f64 = 1e6;
/// The least characters per token, so that an estimate errs on the expensive side.
const CHARS_PER_TOKEN: u64 = 2;
/// Side, in pixels, of the square that models count as one token.
const PATCH: u32 = 28;

/// The tokens of one call, each counted once, however the provider counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was neither read from nor written to a cache.
    pub fresh: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache that lasts minutes.
    pub cache_write: u64,
    /// Input written to a cache that lasts an hour.
    pub cache_write_long: u64,
    /// Output, including reasoning.
    pub output: u64,
}

impl Tokens {
    /// Returns the sum of all input tokens.
    pub fn input(&self) -> u64 {
        self.fresh + self.cache_read + self.cache_write + self.cache_write_long
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self { input: tokens.input(), output: tokens.output, cached: tokens.cache_read }
    }
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of fresh input.
    pub input: f64,
    /// Price of output.
    pub output: f64,
    /// Price of input read from a cache; `None` means the price of fresh input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of input written to a cache; `None` means the price of fresh input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Price of input written to a cache for an hour; `None` means the price of `cache_write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_long: Option<f64>,
    /// Another price for the whole request when its input exceeds a threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<LongPromptPrice>,
}

/// The price of long prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPromptPrice {
    /// The threshold in input tokens.
    pub tokens: u64,
    /// The price above the threshold.
    pub price: Box<Price>,
}

impl LongPromptPrice {
    fn map(&self, change: impl FnOnce(&Price) -> Price) -> Self {
        Self { tokens: self.tokens, price: Box::new(change(&self.price)) }
    }
}

/// The tariff of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Tariff {
    /// By the token.
    Tokens(Price),
    /// By the time a self-hosted machine is busy, in US dollars per hour; zero means free.
    Hour(f64),
}

/// A dated price list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// The day on which the prices were read.
    pub read_on: String,
    /// The source of the prices.
    pub source: String,
    /// Prices by `provider/model`; a name that ends in `*` matches every name with that prefix.
    pub price: BTreeMap<String, Price>,
    /// Factors on these prices by `provider/tier`, for requests of a service tier.
    #[serde(default)]
    pub tier: BTreeMap<String, f64>,
    /// Factors on the vendors' prices by platform, with `/regional` or `/gov` where these have prices of their own.
    #[serde(default)]
    pub platform: BTreeMap<String, f64>,
}

impl PriceList {
    /// Parses a price list in TOML.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Returns the price list in the binary.
    pub fn shipped() -> &'static Self {
        static LIST: OnceLock<PriceList> = OnceLock::new();
        LIST.get_or_init(|| {
            Self::parse(SHIPPED).unwrap_or_else(|_| Self {
                read_on: String::new(),
                source: String::new(),
                price: BTreeMap::new(),
                tier: BTreeMap::new(),
                platform: BTreeMap::new(),
            })
        })
    }

    /// Returns the factor of a service tier: this list's own, else that of the list in the binary. `None` if unknown.
    pub fn tier_factor(&self, provider: &str, tier: &str) -> Option<f64> {
        let name = format!("{provider}/{tier}");
        self.tier.get(&name).or_else(|| Self::shipped().tier.get(&name)).copied()
    }

    /// Returns the factor of a platform's endpoint, of the list in the binary. `None` if unknown.
    pub fn platform_factor(endpoint: &str) -> Option<f64> {
        Self::shipped().platform.get(endpoint).copied()
    }

    /// Returns the price of `provider/model`: its own entry, else that of the model's family, else the longest matching
    /// prefix.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let family = model.split_once('/').map(|(provider, name)| format!("{provider}/{}", family(name)));
        let own = self.price.get(model).or_else(|| self.price.get(family.as_ref()?));
        own.or_else(|| {
            let fits = |name: &&String| name.strip_suffix('*').is_some_and(|head| model.starts_with(head));
            let longest = self.price.keys().filter(fits).max_by_key(|name| name.len())?;
            self.price.get(longest)
        })
    }
}

impl Tariff {
    /// Returns the cost of a call, in US dollars.
    pub fn cost(&self, tokens: &Tokens, busy_ms: u64) -> f64 {
        match self {
            Self::Tokens(price) => price.cost(tokens),
            Self::Hour(dollars) => dollars * seconds(busy_ms) / 3600.0,
        }
    }

    /// Returns the most that a request can cost, in US dollars: all input fresh or written to a cache, and the longest
    /// output. `longest_ms` is the deadline of a request.
    pub fn worst_case_cost(&self, request: &ChatRequest, longest_ms: u64) -> f64 {
        match self {
            Self::Tokens(price) => {
                let input = estimate(request);
                let price = price.step(input);
                let dearest = price.input.max(price.cache_write.unwrap_or(0.0));
                (real(input) * dearest + f64::from(request.max_output_tokens) * price.output) / MILLION
            }
            Self::Hour(dollars) => dollars * seconds(longest_ms) / 3600.0,
        }
    }
}

impl Price {
    /// Returns this price for requests whose cache entries all last an hour.
    #[must_use]
    pub fn with_long_cache(&self) -> Self {
        let cache_write = self.cache_write_long.or(self.cache_write);
        let above = self.above.as_ref().map(|above| above.map(Self::with_long_cache));
        Self { cache_write, above, ..self.clone() }
    }

    /// Returns this price times a factor.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self {
            input: self.input * factor,
            output: self.output * factor,
            cache_read: self.cache_read.map(|price| price * factor),
            cache_write: self.cache_write.map(|price| price * factor),
            cache_write_long: self.cache_write_long.map(|price| price * factor),
            above: self.above.as_ref().map(|above| above.map(|price| price.times(factor))),
        }
    }

    /// Returns the price that applies to a request of `input` tokens.
    fn step(&self, input: u64) -> &Self {
        match &self.above {
            Some(above) if input > above.tokens => above.price.step(input),
            Some(_) | None => self,
        }
    }

    fn cost(&self, tokens: &Tokens) -> f64 {
        let price = self.step(tokens.input());
        let write = price.cache_write.unwrap_or(price.input);
        let sum = real(tokens.fresh) * price.input
            + real(tokens.cache_read) * price.cache_read.unwrap_or(price.input)
            + real(tokens.cache_write) * write
            + real(tokens.cache_write_long) * price.cache_write_long.unwrap_or(write)
            + real(tokens.output) * price.output;
        sum / MILLION
    }
}

/// Returns an upper estimate of a request's input tokens.
pub fn estimate(request: &ChatRequest) -> u64 {
    let mut text = request.system.len();
    text += request
        .tools
        .iter()
        .map(|tool| tool.description.len() + tool.schema.to_string().len())
        .sum::<usize>();
    text += request.schema.as_ref().map_or(0, |schema| schema.schema.to_string().len());
    let mut pictures = 0u64;
    let mut count = |content: &Content| match content {
        Content::Text { text: words } => text += words.len(),
        Content::Image { image } => {
            let patches = |side: u32| u64::from(side.div_ceil(PATCH));
            pictures += patches(image.size.width) * patches(image.size.height);
        }
    };
    for message in &request.messages {
        match message {
            Message::User { content } => content.iter().for_each(&mut count),
            Message::Results { results, notices } => {
                results.iter().flat_map(|result| &result.content).chain(notices).for_each(&mut count);
            }
            Message::Assistant { .. } => {}
        }
    }
    let raw: usize = request.messages.iter().map(raw_bytes).sum();
    // The definition of a native computer tool alone costs a few thousand tokens.
    let native = if request.world.is_some() { 5000 } else { 0 };
    ((text + raw) as u64).div_ceil(CHARS_PER_TOKEN) + pictures + native
}

fn raw_bytes(message: &Message) -> usize {
    match message {
        Message::Assistant { raw, .. } => raw.blocks.iter().map(String::len).sum(),
        Message::User { .. } | Message::Results { .. } => 0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn real(tokens: u64) -> f64 {
    tokens as f64
}

fn seconds(ms: u64) -> f64 {
    real(ms) / 1000.0
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Content, Message};
    use proptest::prelude::{prop_assert, proptest};

    use super::{PriceList, Tariff, Tokens, estimate};

    #[test]
    fn tiers_and_long_caches_change_every_part_of_a_price() {
        let list = PriceList::shipped();
        let long = list.of("anthropic/claude-haiku-5-5").expect("a price").with_long_cache();
        assert_eq!((long.cache_write, long.above.expect("a step").price.cache_write), (Some(0.2), Some(1.0)));
        let factor = list.tier_factor("openai", "flex").expect("a factor");
        let flex = list.of("openai/gpt-6.1-sol").expect("a price").times(factor);
        let above = flex.above.expect("a step").price;
        assert_eq!((flex.input, flex.output, flex.cache_read), (1.0, 5.0, Some(0.05)));
        assert_eq!((above.input, above.output, above.cache_write), (2.0, 7.5, Some(2.5)));
        assert_eq!(list.tier_factor("openai", "priority"), None);
    }

    #[test]
    fn the_shipped_list_is_whole_and_dated() {
        let list = PriceList::parse(super::SHIPPED).expect("reads");
        assert!(list.read_on.starts_with("20") && !list.source.is_empty());
        assert_eq!(&list, PriceList::shipped());
        for (name, price) in &list.price {
            assert!(price.input >= 0.0 && price.output >= price.input, "{name}");
            assert!(price.cache_read.is_none_or(|read| read <= price.input), "{name}");
        }
        assert!(list.of("anthropic/claude-sonnet-5-5").is_some());
        assert!(list.of("nobody/nothing").is_none());
        for (dated, plain) in [
            ("openai/gpt-5.5-2026-04-23", "openai/gpt-5.5"),
            ("anthropic/us.anthropic.claude-opus-4-5-20251101-v1:0", "anthropic/claude-opus-4-5"),
            ("anthropic/claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4-5"),
        ] {
            assert_eq!(list.of(dated), list.price.get(plain), "{dated}");
            assert!(list.of(dated).is_some(), "{dated}");
        }
        // A name that is not listed may be dearer than the one that it begins with.
        for unlisted in
            ["anthropic/claude-opus-5-5-fast", "anthropic/claude-opus-5-6", "openai/gpt-6-sol-pro"]
        {
            assert_eq!(list.of(unlisted), None, "{unlisted}");
        }
    }

    #[test]
    fn each_token_is_paid_once_and_long_prompts_step_up() {
        let price = PriceList::shipped().of("anthropic/claude-haiku-5-5").expect("a price").clone();
        let tariff = Tariff::Tokens(price);
        let tokens =
            Tokens { fresh: 1_000, cache_read: 50_000, cache_write: 2_000, output: 400, ..Tokens::default() };
        let expected = (1_000.0 * 0.10 + 50_000.0 * 0.01 + 2_000.0 * 0.125 + 400.0 * 0.50) / 1e6;
        assert!((tariff.cost(&tokens, 9) - expected).abs() < 1e-12);
        let long = Tokens { cache_read: 150_000, ..tokens };
        let expected = (1_000.0 * 0.50 + 150_000.0 * 0.05 + 2_000.0 * 0.625 + 400.0 * 2.50) / 1e6;
        assert!((tariff.cost(&long, 9) - expected).abs() < 1e-12);
        assert!((Tariff::Hour(3.6).cost(&long, 2_000) - 0.002).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_worst_price_covers_what_english_costs(text in "[a-z ]{0,4000}", output in 0u32..5000) {
            let content = vec![Content::text(text.clone())];
            let request = ChatRequest {
                messages: vec![Message::User { content }],
                max_output_tokens: output,
                ..ChatRequest::default()
            };
            let tariff = Tariff::Tokens(PriceList::shipped().of("openai/gpt-6.1-sol").expect("a price").clone());
            let tokens = Tokens { fresh: text.len() as u64 / 3, output: u64::from(output), ..Tokens::default() };
            prop_assert!(estimate(&request) >= tokens.fresh);
            prop_assert!(tariff.worst_case_cost(&request, 0) >= tariff.cost(&tokens, 0));
        }
    }
}
