//! Estimates how much of a model's context a conversation fills, and corrects the estimate by the provider's counts.

use apprentice_protocol::{ContextRule, ToolSpec};

pub(super) use apprentice_protocol::estimated_tokens as tokens_of;

/// Tokens of framing per message.
const TOKENS_PER_MESSAGE: u64 = 8;
/// Tokens of the world tool and the adapter's own text, until the provider has counted once.
const BASE_TOKENS: u64 = 1500;
/// A provider's count is ignored when it differs from the estimate by more than this factor.
const MAX_COUNT_RATIO: u64 = 3;

/// The meter of one conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenMeter {
    pub(super) rule: ContextRule,
    /// Estimated tokens of everything that is sent.
    estimated: u64,
    /// The provider's last count, and the estimate at that time.
    counted: Option<(u64, u64)>,
}

impl TokenMeter {
    pub(super) fn new(rule: ContextRule) -> Self {
        Self { rule, estimated: BASE_TOKENS, counted: None }
    }

    pub(super) fn add_text(&mut self, text: &str) {
        self.estimated += tokens_of(text);
    }

    pub(super) fn add_tool(&mut self, tool: &ToolSpec) {
        self.add_text(&tool.description);
        self.add_text(&tool.schema.to_string());
    }

    pub(super) fn add_message(&mut self) {
        self.estimated += TOKENS_PER_MESSAGE;
    }

    pub(super) fn add(&mut self, tokens: u64) {
        self.estimated += tokens;
    }

    pub(super) fn take(&mut self, tokens: u64) {
        self.estimated = self.estimated.saturating_sub(tokens);
    }

    /// Stores the provider's count for the conversation; `sent` is the estimate at the time it was sent.
    pub(super) fn correct(&mut self, sent: u64, counted: u64) {
        let believed = sent / MAX_COUNT_RATIO..=sent.saturating_mul(MAX_COUNT_RATIO);
        if counted > 0 && believed.contains(&counted) {
            self.counted = Some((counted, sent));
        }
    }

    /// Returns the current estimate, to be passed to [`Self::correct`] together with the count.
    pub(super) fn estimated(&self) -> u64 {
        self.estimated
    }

    /// Returns the tokens of the next request: the provider's last count plus the estimated changes since.
    pub(super) fn tokens(&self) -> u64 {
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
