//! The address of a model's server, the platform that it stands on, and the credentials for it.

use std::fmt;
use std::sync::Arc;

use apprentice_protocol::{BoxFuture, ModelError};
use jiff::Timestamp;

use super::header::Header;
use super::secret::Secret;
use super::signing::{AwsKeys, sign};

/// A source of tokens that expire.
pub trait TokenSource: Send + Sync {
    /// Returns a token that is valid now.
    fn token(&self) -> BoxFuture<'_, Result<Secret, ModelError>>;
}

/// Who serves a vendor's API. It decides paths and the header of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// The vendor itself, or a server that speaks like it.
    #[default]
    Direct,
    /// Microsoft Azure: OpenAI's paths, with a version of the API in the query.
    Azure {
        /// The value of `api-version`; addresses that end in `/v1` need none.
        api_version: Option<String>,
    },
    /// Google Vertex AI.
    Vertex {
        /// The project's id.
        project: String,
        /// The region, or `global`.
        region: String,
    },
    /// Amazon Bedrock.
    Bedrock,
}

/// The header in which a vendor takes its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer KEY`
    Bearer,
    /// The key alone, under this name.
    Named(&'static str),
}

/// The address and the credentials of a provider.
#[derive(Clone)]
pub struct Endpoint {
    /// Base URL of the API, without a slash at the end.
    pub base_url: String,
    /// The key; local servers often need none.
    pub key: Option<Secret>,
    /// Who serves the API.
    pub platform: Platform,
    tokens: Option<Arc<dyn TokenSource>>,
    aws: Option<AwsKeys>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base_url, key, platform, .. } = self;
        f.debug_struct("Endpoint")
            .field("base_url", base_url)
            .field("key", key)
            .field("platform", platform)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates an endpoint of the vendor itself; slashes at the end of the URL are removed.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self { base_url, key, platform: Platform::Direct, tokens: None, aws: None }
    }

    /// Names the platform that serves the API.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// Takes tokens from this source in place of the key.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<dyn TokenSource>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Signs requests with these keys in place of a key in a header.
    #[must_use]
    pub fn signed_by(mut self, keys: AwsKeys) -> Self {
        self.aws = Some(keys);
        self
    }

    /// Returns the headers that sign a POST of this body, if keys are there to sign with.
    pub(crate) fn signature(
        &self,
        url: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<Header>, ModelError> {
        self.aws.as_ref().map_or(Ok(Vec::new()), |keys| sign(keys, url, body, now))
    }

    /// Returns the URL of a path below the base.
    pub(crate) fn url(&self, path: &str) -> String {
        let query = match &self.platform {
            Platform::Azure { api_version: Some(version) } => format!("?api-version={version}"),
            Platform::Azure { api_version: None }
            | Platform::Direct
            | Platform::Vertex { .. }
            | Platform::Bedrock => String::new(),
        };
        format!("{}{path}{query}", self.base_url)
    }

    /// Returns the header that carries the credentials, if there are any. `own` is the vendor's own.
    pub(crate) async fn authorization(
        &self,
        own: KeyHeader,
    ) -> Result<Option<(&'static str, String)>, ModelError> {
        let bearer = |secret: &Secret| ("authorization", format!("Bearer {}", secret.reveal()));
        if let Some(tokens) = &self.tokens {
            return Ok(Some(bearer(&tokens.token().await?)));
        }
        Ok(self.key.as_ref().map(|key| match (&self.platform, own) {
            (Platform::Azure { .. }, _) => ("api-key", key.reveal().to_owned()),
            (Platform::Vertex { .. } | Platform::Bedrock, _) | (Platform::Direct, KeyHeader::Bearer) => {
                bearer(key)
            }
            (Platform::Direct, KeyHeader::Named(name)) => (name, key.reveal().to_owned()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, KeyHeader, Platform, Secret};

    #[tokio::test]
    async fn each_platform_takes_the_key_in_its_own_header() {
        let at = |platform| Endpoint::new("https://x/openai/", Some(Secret::new("k"))).on(platform);
        let named = KeyHeader::Named("x-api-key");
        let vertex = Platform::Vertex { project: "p".into(), region: "r".into() };
        for (platform, own, expected) in [
            (Platform::Direct, named, ("x-api-key", "k")),
            (Platform::Direct, KeyHeader::Bearer, ("authorization", "Bearer k")),
            (Platform::Azure { api_version: None }, KeyHeader::Bearer, ("api-key", "k")),
            (vertex, named, ("authorization", "Bearer k")),
            (Platform::Bedrock, named, ("authorization", "Bearer k")),
        ] {
            let header = at(platform).authorization(own).await.expect("a header");
            assert_eq!(header, Some((expected.0, expected.1.to_owned())));
        }
        let dated = at(Platform::Azure { api_version: Some("2026-10-01".into()) });
        assert_eq!(dated.url("/responses"), "https://x/openai/responses?api-version=2026-10-01");
        assert_eq!(at(Platform::Direct).url("/responses"), "https://x/openai/responses");
        assert!(!format!("{dated:?}").contains("\"k\""), "{dated:?}");
    }
}
