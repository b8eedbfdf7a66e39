//! The lines of a session that matter, with the fields that are read.

use std::collections::BTreeMap;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::node::{Node, Words};

/// One line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) uuid: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Node<'a>>,
    #[serde(default)]
    pub(super) is_sidechain: Option<bool>,
    #[serde(borrow, default)]
    pub(super) agent_id: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) session_id: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) request_session_id: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) version: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) timestamp: Option<Words<'a>>,
    #[serde(default)]
    pub(super) is_meta: Option<bool>,
    #[serde(default)]
    pub(super) is_compact_summary: Option<bool>,
    #[serde(default)]
    pub(super) is_visible_in_transcript_only: Option<bool>,
    #[serde(default)]
    pub(super) is_aborted_mid_stream: Option<bool>,
    #[serde(default)]
    pub(super) is_api_error_message: Option<bool>,
    #[serde(borrow, default)]
    pub(super) row_source: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) prompt_source: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) origin: Option<Origin<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_result: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) model_usage: Option<BTreeMap<String, ModelUsage>>,
}

/// Where a line of a user comes from.
#[derive(Debug, Deserialize)]
pub(super) struct Origin<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Option<Words<'a>>,
}

/// The program's running sum for a model.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
}

/// What the program says of a result for itself: of an agent, how it was started.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentResult {
    pub(super) status: Option<String>,
    pub(super) agent_id: Option<String>,
}

/// Bytes of a line in which the type of a copied request stands.
const HEAD_BYTES: usize = 40;

/// Bytes of a line in which its type is sought first.
const TYPE_BYTES: usize = 512;

/// Finds out, without parsing, whether a line can matter.
#[derive(Debug)]
pub(super) struct Sieve {
    words: Vec<memmem::Finder<'static>>,
    blob: memmem::Finder<'static>,
}

impl Sieve {
    pub(super) fn new() -> Self {
        // Most of a session's bytes are in lines of other types, which hold the request once more.
        let words = ["\"assistant\"", "\"user\"", "\"cost-state\""];
        let words = words.into_iter().map(|word| memmem::Finder::new(word.as_bytes())).collect();
        Self { words, blob: memmem::Finder::new(b"\"api-request-blob\"") }
    }

    pub(super) fn takes(&self, line: &[u8]) -> bool {
        // These lines hold the messages of a request once more.
        let head = &line[..line.len().min(HEAD_BYTES)];
        let holds = |part: &[u8]| self.words.iter().any(|word| word.find(part).is_some());
        // The type mostly stands before the message, which may be long.
        self.blob.find(head).is_none() && (holds(&line[..line.len().min(TYPE_BYTES)]) || holds(line))
    }
}
