//! The four adapters, built for a server on the loopback; the tests of the agent loop use them, too.

use std::sync::Arc;

use apprentice_models::anthropic::{Anthropic, AnthropicConfig, ApiVersion, ModelDefaults};
use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::gemini::Gemini;
use apprentice_models::hosted::HostedConfig;
use apprentice_models::http::{Endpoint, ReplyWords, Secret, Transport};
use apprentice_models::middleware::{RetryPolicy, Retrying};
use apprentice_models::openai::OpenAi;
use apprentice_models::options::{CallOptions, Streaming};
use apprentice_models::price::Tariff;
use apprentice_models::safety::SafetyPolicy;
use apprentice_protocol::{ChatModel, VirtualClock};
use tokio::sync::mpsc::UnboundedSender;

use super::PLANTED;

/// Tries of one call after the first.
pub(crate) const RETRIES: u32 = 2;

/// The four adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adapter {
    Anthropic,
    OpenAi,
    Gemini,
    Compat,
}

pub(crate) const ALL: [Adapter; 4] = [Adapter::Anthropic, Adapter::OpenAi, Adapter::Gemini, Adapter::Compat];

impl Adapter {
    pub(crate) fn model(
        self,
        base: &str,
        transport: Transport,
        tariff: Option<Tariff>,
    ) -> Box<dyn ChatModel> {
        // A stream is asked for, and servers may answer in one piece all the same.
        let calls = CallOptions { stream: Streaming::Always, ..CallOptions::default() };
        self.model_at(Endpoint::new(base, Some(Secret::new(PLANTED))), transport, tariff, calls)
    }

    /// A model that tells its words as they come.
    pub(crate) fn model_that_tells(
        self,
        base: &str,
        transport: Transport,
        words: UnboundedSender<ReplyWords>,
    ) -> Box<dyn ChatModel> {
        let calls = CallOptions { stream: Streaming::Always, words: Some(words), ..CallOptions::default() };
        self.model_at(Endpoint::new(base, None), transport, None, calls)
    }

    pub(crate) fn model_at(
        self,
        endpoint: Endpoint,
        transport: Transport,
        tariff: Option<Tariff>,
        calls: CallOptions,
    ) -> Box<dyn ChatModel> {
        let clock = Arc::new(VirtualClock::default());
        let patience = RetryPolicy { retries: RETRIES, ..RetryPolicy::default() };
        let (safety, effort) = (SafetyPolicy::Refuse, None);
        match self {
            Self::Anthropic => {
                let model = "claude-sonnet-5-5".to_owned();
                let facts = ModelDefaults::of(&model).expect("a known family");
                let (version, forget_above) = (ApiVersion::default(), None);
                let config = AnthropicConfig {
                    model,
                    endpoint,
                    version,
                    facts,
                    effort: None,
                    page_scripts: true,
                    forget_above,
                    tariff,
                    calls,
                };
                Box::new(Retrying::new(Anthropic::new(config, transport), clock, patience))
            }
            Self::OpenAi => {
                let config =
                    HostedConfig { model: "gpt-6.1-sol".into(), endpoint, effort, safety, tariff, calls };
                Box::new(Retrying::new(OpenAi::new(config, transport), clock, patience))
            }
            Self::Gemini => {
                let config = HostedConfig {
                    model: "gemini-3.8-flash".into(),
                    endpoint,
                    effort,
                    safety,
                    tariff,
                    calls,
                };
                Box::new(Retrying::new(Gemini::new(config, transport), clock, patience))
            }
            Self::Compat => {
                let student = StudentProfile::load("generic").expect("is sound");
                let adaptation = Arc::default();
                let config = CompatConfig {
                    model: "m".into(),
                    endpoint,
                    student,
                    tariff,
                    effort: None,
                    calls,
                    adaptation,
                };
                Box::new(Retrying::new(Compat::new(config, transport), clock, patience))
            }
        }
    }
}
