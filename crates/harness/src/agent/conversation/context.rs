//! Estimates how much of a model's context a conversation fills, and corrects the estimate by the provider's counts.

use apprentice_protocol::{ContextRule, ToolSpec};

/// Tokens of framing per message.
const TOKENS_PER_MESSAGE: u64 = 8;
/// Tokens of the world tool or of the instructions of a text format, until the provider has counted once: 400 to 760.
const BASE_TOKENS: u64 = 600;
/// A provider's count is ignored when it differs from the estimate by more than this factor.
const MAX_COUNT_RATIO: u64 = 3;

/// Estimates the tokens of a text by what tokenizers split at: words are cut in pieces of about four letters, and digits and
/// runs of other signs stand alone. Fitted to SmolLM2's tokenizer on the views, tools and words of 148 recorded requests
/// (`docs/records/shipped-skillbook.jsonl.xz`): 0.91 to 1.12 of its count. Bytes alone were 0.63 to 1.31 of it.
pub fn tokens_of(text: &str) -> u64 {
    let (mut letters, mut digits, mut runs, mut other) = (0u64, 0u64, 0u64, 0u64);
    let mut in_run = false;
    for c in text.chars() {
        let sign = c.is_ascii_punctuation();
        runs += u64::from(sign && !in_run);
        in_run = sign;
        letters += u64::from(c.is_ascii_alphabetic());
        digits += u64::from(c.is_ascii_digit());
        other += u64::from(!c.is_ascii());
    }
    (letters * 27 + digits * 110 + runs * 115).div_ceil(100) + other
}

/// The meter of one conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenMeter {
    pub(crate) rule: ContextRule,
    /// Estimated tokens of everything that is sent.
    estimated: u64,
    /// The provider's last count, and the estimate at that time.
    counted: Option<(u64, u64)>,
}

impl TokenMeter {
    pub(crate) fn new(rule: ContextRule) -> Self {
        Self { rule, estimated: BASE_TOKENS, counted: None }
    }

    pub(crate) fn add_text(&mut self, text: &str) {
        self.estimated += tokens_of(text);
    }

    pub(crate) fn add_tool(&mut self, tool: &ToolSpec) {
        self.add_text(&tool.description);
        self.add_text(&tool.schema.to_string());
    }

    pub(crate) fn add_message(&mut self) {
        self.estimated += TOKENS_PER_MESSAGE;
    }

    pub(crate) fn add(&mut self, tokens: u64) {
        self.estimated += tokens;
    }

    pub(crate) fn take(&mut self, tokens: u64) {
        self.estimated = self.estimated.saturating_sub(tokens);
    }

    /// Stores the provider's count for the conversation; `sent` is the estimate at the time it was sent.
    pub(crate) fn correct(&mut self, sent: u64, counted: u64) {
        let believed = sent / MAX_COUNT_RATIO..=sent.saturating_mul(MAX_COUNT_RATIO);
        if counted > 0 && believed.contains(&counted) {
            self.counted = Some((counted, sent));
        }
    }

    /// Returns the current estimate, to be passed to [`Self::correct`] together with the count.
    pub(crate) fn estimated(&self) -> u64 {
        self.estimated
    }

    /// Returns the tokens of the next request: the provider's last count plus the estimated changes since.
    pub(crate) fn tokens(&self) -> u64 {
        match self.counted {
            Some((counted, then)) => (counted + self.estimated).saturating_sub(then),
            None => self.estimated,
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ContextRule, Size};

    use super::{BASE_TOKENS, TokenMeter, tokens_of};

    const RULE: ContextRule = ContextRule { tokens: 4096, patch: 28 };

    #[test]
    fn text_counts_by_its_bytes_and_pictures_by_their_patches() {
        assert_eq!((tokens_of(""), tokens_of("abcdef"), tokens_of("日本語")), (0, 2, 3));
        assert_eq!(RULE.picture(Size::new(1288, 728)), 46 * 26);
        assert_eq!(RULE.picture(Size::new(1, 29)), 2);
    }

    #[test]
    fn the_servers_count_replaces_the_estimate_of_all_that_it_saw() {
        let mut meter = TokenMeter::new(RULE);
        meter.add(500);
        let sent = meter.estimated();
        assert_eq!((sent, meter.tokens()), (BASE_TOKENS + 500, BASE_TOKENS + 500));
        meter.add(100);
        meter.correct(sent, 900);
        assert_eq!(meter.tokens(), 1000);
        meter.take(300);
        assert_eq!(meter.tokens(), 700);
        for nonsense in [0, 1, sent * 10] {
            meter.correct(sent, nonsense);
            assert_eq!(meter.tokens(), 700, "{nonsense} is not believed");
        }
    }
}
