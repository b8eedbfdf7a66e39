//! Who may ask: the holders of the token, and without one programs on this machine alone.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, REFERER};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq as _;

use crate::problem::Problem;

/// The header in which browsers say which page a request is of.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// A secret that each request must carry: as `Authorization: Bearer TOKEN`, or as the password of basic authentication,
/// which clients send that are given `http://any:TOKEN@host:port`.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The least length of a token, in bytes.
    pub const LEAST: usize = 16;

    /// Returns the token, or `None` where it is shorter than [`Token::LEAST`] or holds other than visible ASCII.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let fits = text.len() >= Self::LEAST && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then_some(Self(text))
    }

    /// Compares in a time that does not depend on the place of the first difference.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// Which requests are answered.
#[derive(Clone)]
pub enum Access {
    /// Those that carry the token.
    Token(Token),
    /// Those to a loopback address that no web page can have made.
    Loopback,
}

impl Access {
    /// Returns the rule for an address: other machines need a token. `None` where it is missing.
    pub fn to(address: SocketAddr, token: Option<Token>) -> Option<Self> {
        match token {
            Some(token) => Some(Self::Token(token)),
            None => address.ip().is_loopback().then_some(Self::Loopback),
        }
    }

    /// Says why a request is refused, if it is.
    pub(crate) fn allows(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), String> {
        match self {
            Self::Token(token) => match given_token(headers) {
                Some(given) if token.is(&given) => Ok(()),
                Some(_) => Err("the token is another one".to_owned()),
                None => Err("the request carries no token: send `Authorization: Bearer TOKEN`".to_owned()),
            },
            Self::Loopback => {
                if is_of_a_page(headers) {
                    return Err("a web page may not ask this server".to_owned());
                }
                if has_page_body(headers) {
                    let why = "a body of text/plain is what web pages can send: send it as application/json";
                    return Err(why.to_owned());
                }
                // A name that resolves to this machine may be a web page's. Each one that the request gives counts.
                let named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
                let hosts: Vec<&str> = named.chain(uri.authority().map(|whole| whole.as_str())).collect();
                match hosts.iter().find(|host| !is_loopback_host(host)) {
                    Some(host) => Err(format!("{host:?} is no loopback address")),
                    None if hosts.is_empty() => Err("the request names no host".to_owned()),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Whether a page made the request. A browser names the page's origin only where a script or a form asks; of what a page shows, as
/// a picture is, it says how the page and this server are related, or at least which page it was.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    // `none` is what a person typed into the address bar.
    let is_asked_by_page = headers.get_all(SEC_FETCH_SITE).iter().any(|site| site != "none");
    headers.contains_key(ORIGIN) || headers.contains_key(REFERER) || is_asked_by_page
}

/// Whether the body has the form in which a page sends text without being asked whether it may, and which no client of this
/// server uses.
fn has_page_body(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(CONTENT_TYPE).iter().map(|kind| kind.to_str().unwrap_or("text/plain"));
    kinds
        .flat_map(|kinds| kinds.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/plain"))
}

fn given_token(headers: &HeaderMap) -> Option<String> {
    let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = given.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    let decoded = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (_, password) = decoded.split_once(':')?;
    scheme.eq_ignore_ascii_case("basic").then(|| password.to_owned())
}

fn is_loopback_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    // "localhost:x@example.org" is another host's name.
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_port && (name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Refuses requests that the rule does not allow.
pub(crate) async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    match access.allows(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            let mut refused = Problem::forbidden(why).into_response();
            if matches!(access, Access::Token(_)) {
                *refused.status_mut() = StatusCode::UNAUTHORIZED;
            }
            refused
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};

    use super::{Access, Token};

    fn asks(access: &Access, sent: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"));
        }
        access.allows(&headers, &Uri::from_static("/screenshot")).is_ok()
    }

    #[test]
    fn other_machines_need_a_token() {
        let here = "127.0.0.1:5000".parse().expect("an address");
        let everywhere = "0.0.0.0:5000".parse().expect("an address");
        assert!(matches!(Access::to(here, None), Some(Access::Loopback)));
        assert!(Access::to(everywhere, None).is_none());
        assert!(matches!(Access::to(everywhere, Token::new("0123456789abcdef")), Some(Access::Token(_))));
        assert!(Token::new("short").is_none() && Token::new("has a space inside").is_none());
    }

    #[test]
    fn the_token_is_sent_as_bearer_or_as_a_password() {
        let access = Access::Token(Token::new("0123456789abcdef").expect("a token"));
        // `any:0123456789abcdef` and `any:0123456789abcdeX` in base 64.
        for (given, right) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef", true),
            ("Basic YW55OjAxMjM0NTY3ODlhYmNkZWY=", true),
            ("Basic YW55OjAxMjM0NTY3ODlhYmNkZVg=", false),
            ("Bearer 0123456789abcde", false),
            ("Bearer 0123456789abcdef0", false),
            ("0123456789abcdef", false),
        ] {
            assert_eq!(asks(&access, &[("authorization", given)]), right, "{given}");
        }
        assert!(!asks(&access, &[("host", "localhost")]));
    }

    #[test]
    fn without_a_token_no_web_page_can_ask() {
        for (sent, right) in [
            (vec![("host", "127.0.0.1:5000")], true),
            (vec![("host", "localhost:5000")], true),
            (vec![("host", "[::1]:5000")], true),
            (vec![("host", "rebound.example.org:5000")], false),
            (vec![("host", "127.0.0.1.example.org")], false),
            (vec![("host", "localhost:5000"), ("origin", "https://example.org")], false),
            (
                vec![("host", "localhost"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
                false,
            ),
            (vec![("host", "localhost"), ("sec-fetch-site", "same-site")], false),
            (vec![("host", "localhost"), ("sec-fetch-site", "same-origin")], false),
            (vec![("host", "localhost"), ("sec-fetch-site", "none")], true),
            (vec![("host", "localhost"), ("referer", "http://example.org/")], false),
            (vec![("host", "localhost"), ("content-type", "text/plain")], false),
            (vec![("host", "localhost"), ("content-type", "Text/Plain; charset=utf-8")], false),
            (vec![("host", "localhost"), ("content-type", "application/json")], true),
            (vec![("host", "localhost"), ("content-type", "multipart/form-data; boundary=x")], true),
            (vec![("host", "localhost"), ("content-type", "application/x-www-form-urlencoded")], true),
            // Twice, in a list, or with more than a name and a port.
            (
                vec![("host", "localhost"), ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
                false,
            ),
            (vec![("host", "localhost"), ("host", "example.org")], false),
            (
                vec![
                    ("host", "localhost"),
                    ("content-type", "application/json"),
                    ("content-type", "text/plain"),
                ],
                false,
            ),
            (vec![("host", "localhost"), ("content-type", "text/plain, application/json")], false),
            (vec![("host", "localhost:x@example.org")], false),
            (vec![("host", "localhost:example.org")], false),
            (vec![("host", "[::1]@example.org")], false),
            (vec![], false),
        ] {
            assert_eq!(asks(&Access::Loopback, &sent), right, "{sent:?}");
        }
    }
}
