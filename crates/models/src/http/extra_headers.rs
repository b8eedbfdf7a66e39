//! Headers that a user adds to every request of a provider.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that the program sets: credentials, the form of the body and the connection, and versions of the APIs.
const OWN: [&str; 19] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "api-key",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
];

/// A header that cannot be added.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The name is not one.
    #[error("{0:?} is not the name of a header")]
    Name(String),
    /// The program sets this header.
    #[error("the header {0} is set by the program and cannot be replaced")]
    Own(String),
    /// The value cannot be sent. It is not shown, because it may be a secret.
    #[error("the value of the header {0} contains characters that are not allowed in a header")]
    Value(String),
    /// The header is named twice.
    #[error("the header {0} is named twice")]
    Twice(String),
}

/// Headers to add, whose values are shown nowhere.
#[derive(Clone, Debug, Default)]
pub struct ExtraHeaders(HeaderMap);

impl ExtraHeaders {
    /// Adds a header.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), HeaderError> {
        let header =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderError::Name(name.to_owned()))?;
        if OWN.contains(&header.as_str()) || header.as_str().starts_with("x-amz-") {
            return Err(HeaderError::Own(header.to_string()));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| HeaderError::Value(header.to_string()))?;
        value.set_sensitive(true);
        match self.0.insert(header.clone(), value) {
            None => Ok(()),
            Some(_) => Err(HeaderError::Twice(header.to_string())),
        }
    }

    pub(super) fn into_map(self) -> HeaderMap {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtraHeaders, HeaderError};

    #[test]
    fn credentials_and_the_form_of_requests_stay_the_programs_own() {
        let mut headers = ExtraHeaders::default();
        for name in
            ["Authorization", "X-API-Key", "api-key", "x-goog-api-key", "Host", "X-Amz-Date", "Content-Type"]
        {
            assert_eq!(headers.add(name, "x"), Err(HeaderError::Own(name.to_lowercase())));
        }
        assert_eq!(headers.add("a b", "x"), Err(HeaderError::Name("a b".into())));
        assert_eq!(headers.add("x-team", "a\nb"), Err(HeaderError::Value("x-team".into())));
        assert_eq!(headers.add("X-Team", "planted"), Ok(()));
        assert_eq!(headers.add("x-team", "again"), Err(HeaderError::Twice("x-team".into())));
        assert!(!format!("{headers:?}").contains("again"));
    }
}
