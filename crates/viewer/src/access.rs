//! Who may ask: the holder of the token in the address, from this machine, and no other web page.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use subtle::ConstantTimeEq as _;

/// The secret that begins the path of every request. Whoever has the address of a page may read what the page shows.
#[derive(Clone)]
pub struct ViewerToken(String);

impl ViewerToken {
    /// A fresh token of 128 random bits.
    pub fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// The token as it stands in an address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the rest of a path that begins with the token.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = path.strip_prefix('/')?;
        let (given, rest) = path.split_once('/').unwrap_or((path, ""));
        bool::from(self.0.as_bytes().ct_eq(given.as_bytes())).then_some(rest)
    }
}

/// Why a request is refused, or `None`.
pub(crate) fn refusal(headers: &HeaderMap, uri: &Uri, port: u16) -> Option<&'static str> {
    let text = |value: Option<&axum::http::HeaderValue>| {
        value.and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host =
        text(headers.get(HOST)).or_else(|| uri.authority().map(ToString::to_string)).unwrap_or_default();
    // A foreign name may resolve to this machine.
    if !own.contains(&host) {
        return Some("this address is not the viewer's");
    }
    let origin = headers.get(ORIGIN);
    let is_own = text(origin).is_some_and(|origin| own.iter().any(|own| origin == format!("http://{own}")));
    (origin.is_some() && !is_own).then_some("another web page may not ask the viewer")
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};

    use super::{ViewerToken, refusal};

    #[test]
    fn only_the_whole_token_opens_a_path() {
        let token = ViewerToken::random();
        assert_eq!(token.as_str().len(), 32);
        assert_eq!(token.strip(&format!("/{}/api/grid", token.as_str())), Some("api/grid"));
        assert_eq!(token.strip(&format!("/{}", token.as_str())), Some(""));
        for wrong in [
            "/".to_owned(),
            "/api/grid".to_owned(),
            format!("/{}/api", &token.as_str()[..31]),
            format!("/{}0/api", token.as_str()),
            format!("/{}/api", ViewerToken::random().as_str()),
        ] {
            assert_eq!(token.strip(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn other_names_and_other_pages_are_refused() {
        let asks = |sent: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in sent {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            refusal(&headers, &Uri::from_static("/x"), 8080).is_none()
        };
        assert!(asks(&[("host", "127.0.0.1:8080")]));
        assert!(asks(&[("host", "localhost:8080"), ("origin", "http://localhost:8080")]));
        assert!(!asks(&[("host", "rebound.example.org:8080")]));
        assert!(!asks(&[("host", "127.0.0.1:8081")]));
        assert!(!asks(&[("host", "127.0.0.1:8080"), ("origin", "https://example.org")]));
        assert!(!asks(&[("host", "127.0.0.1:8080"), ("origin", "null")]));
        assert!(!asks(&[]));
    }
}
