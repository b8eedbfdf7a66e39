//! What calls cost: dated prices as data, and the arithmetic that counts each token once.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use apprentice_protocol::{ChatRequest, Content, Message, Usage};
use serde::{Deserialize, Serialize};

/// The prices that the program brings along.
const SHIPPED: &str = include_str!("prices.toml");
const MILLION: f64 = 1e6;
/// Characters per token at the least: an estimate that errs on the dear side.
const CHARS_PER_TOKEN: u64 = 2;
/// Pixels on a side of the square that models count as one token.
const PATCH: u32 = 28;

/// Tokens of one call, each counted once, whichever way the provider counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was neither read from nor written to a cache.
    pub fresh: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache for minutes.
    pub cache_write: u64,
    /// Input written to a cache for an hour.
    pub cache_write_long: u64,
    /// Output, thinking included.
    pub output: u64,
}

impl Tokens {
    /// All input.
    pub fn input(&self) -> u64 {
        self.fresh + self.cache_read + self.cache_write + self.cache_write_long
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self { input: tokens.input(), output: tokens.output, cached: tokens.cache_read }
    }
}

/// A price in US dollars per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from a cache; as fresh input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to a cache; as fresh input if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Input written to a cache for an hour; as for minutes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_long: Option<f64>,
    /// Above so many input tokens of one request, the whole request has another price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Above>,
}

/// The price of long prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Above {
    /// Input tokens.
    pub tokens: u64,
    /// The price above them.
    pub price: Box<Price>,
}

/// What a model's calls are priced by.
#[derive(Clone, Debug, PartialEq)]
pub enum Tariff {
    /// By the token.
    Tokens(Price),
    /// By the time that a machine of one's own is busy: US dollars per hour, zero for free.
    Hour(f64),
}

/// A dated list of prices.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// The day on which the prices were read.
    pub read_on: String,
    /// Where they were read.
    pub source: String,
    /// By `provider/model`; a name that ends in `*` stands for all that begin so.
    pub price: BTreeMap<String, Price>,
}

impl PriceList {
    /// Reads a list.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The list that the program brings along.
    pub fn shipped() -> &'static Self {
        static LIST: OnceLock<PriceList> = OnceLock::new();
        LIST.get_or_init(|| {
            Self::parse(SHIPPED).unwrap_or_else(|_| Self {
                read_on: String::new(),
                source: String::new(),
                price: BTreeMap::new(),
            })
        })
    }

    /// The price of `provider/model`: its own entry, else the longest beginning that fits.
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.price.get(model).or_else(|| {
            let fits = |name: &&String| name.strip_suffix('*').is_some_and(|head| model.starts_with(head));
            let longest = self.price.keys().filter(fits).max_by_key(|name| name.len())?;
            self.price.get(longest)
        })
    }
}

impl Tariff {
    /// What a call cost, in US dollars.
    pub fn cost(&self, tokens: &Tokens, busy_ms: u64) -> f64 {
        match self {
            Self::Tokens(price) => price.cost(tokens),
            Self::Hour(dollars) => dollars * seconds(busy_ms) / 3600.0,
        }
    }

    /// The most that a request can cost, in US dollars: all of it fresh or written to a cache, and the longest
    /// answer. `longest_ms` is the deadline of an exchange.
    pub fn worst(&self, request: &ChatRequest, longest_ms: u64) -> f64 {
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
    /// The price for a request of so many input tokens.
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

/// An upper estimate of a request's input tokens.
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
    // The definition of a native computer tool costs a few thousand tokens of its own.
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
            prop_assert!(tariff.worst(&request, 0) >= tariff.cost(&tokens, 0));
        }
    }
}
