//! Options of calls that a user sets per provider or per role. An adapter honours an option or the settings refuse it;
//! none is ignored.

use tokio::sync::mpsc::UnboundedSender;

use super::http::{Assembler, ReplyWords, Streamed};

/// How long a provider keeps a written cache entry (Anthropic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheLifetime {
    /// Five minutes after its last use.
    #[default]
    Minutes,
    /// An hour after its last use.
    Hour,
}

impl CacheLifetime {
    /// Returns the lifetime with the API's name, `5m` or `1h`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "5m" => Some(Self::Minutes),
            "1h" => Some(Self::Hour),
            _ => None,
        }
    }
}

/// Which responses come as a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// None.
    #[default]
    Never,
    /// Those in which the server has no call to read: several servers read a streamed call by other code than a whole
    /// one, and with other results.
    WithoutTools,
    /// All.
    Always,
}

impl Streaming {
    /// Returns whether every response is streamed.
    pub(super) fn always(self) -> bool {
        self == Self::Always
    }
}

/// Options of a model's calls.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Which responses are streamed.
    pub stream: Streaming,
    /// Receives the words of streamed responses as they come.
    pub words: Option<UnboundedSender<ReplyWords>>,
    /// Limit on output tokens, reasoning included; `None` for the adapter's own.
    pub max_output_tokens: Option<u32>,
    /// Reasoning tokens of one reply, for Anthropic's models that take a budget; `None` for the adapter's own.
    pub thinking_budget: Option<u32>,
    /// Lifetime of cache entries (Anthropic).
    pub cache: CacheLifetime,
    /// The key by which requests with a common beginning are brought to one cache (OpenAI, and servers like it).
    pub prompt_cache_key: Option<String>,
    /// The tier in which requests are served, in the provider's spelling.
    pub service_tier: Option<String>,
}

impl CallOptions {
    /// Returns how a response is read by an adapter that streams all or nothing.
    pub(super) fn streamed<'a>(&'a self, assembler: &'a mut dyn Assembler) -> Option<Streamed<'a>> {
        self.streamed_if(self.stream.always(), assembler)
    }

    /// Returns how a response is read that is asked for as a stream, or in one piece.
    pub(super) fn streamed_if<'a>(
        &'a self,
        streams: bool,
        assembler: &'a mut dyn Assembler,
    ) -> Option<Streamed<'a>> {
        streams.then_some(Streamed { assembler, words: self.words.as_ref() })
    }
}
