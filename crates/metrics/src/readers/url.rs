//! URLs, split as by Python's `urllib` and compared as by OSWorld: without `www`, public suffix and port.

use std::sync::LazyLock;

use apprentice_packed::unpack_text;
use publicsuffix::{List, Psl as _};

/// Schemes whose last path segment may have parameters after a semicolon.
const WITH_PARAMS: &[&str] = &[
    "",
    "ftp",
    "hdl",
    "prospero",
    "http",
    "https",
    "imap",
    "itms-services",
    "mms",
    "rtsp",
    "rtsps",
    "sftp",
    "shttp",
    "sip",
    "sips",
    "tel",
];

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case; empty without one.
    pub scheme: String,
    /// The host, with user and port as they are written.
    pub host: String,
    /// The path.
    pub path: String,
    /// What follows a semicolon in the last part of the path.
    pub params: String,
    /// What follows the question mark.
    pub query: String,
    /// What follows the hash sign.
    pub fragment: String,
}

impl Url {
    /// Parses a URL as Python's `urlparse` does: every text is one.
    pub fn parse(text: &str) -> Self {
        let clean: String = text
            .trim_start_matches(|c: char| c <= ' ')
            .chars()
            .filter(|c| !matches!(c, '\t' | '\r' | '\n'))
            .collect();
        let mut rest = clean.as_str();
        let mut url = Self::default();
        if let Some((scheme, after)) = rest.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
            url.scheme = scheme.to_ascii_lowercase();
            rest = after;
        }
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?', '#']).unwrap_or(after.len());
            url.host = after[..end].to_owned();
            rest = &after[end..];
        }
        if let Some((before, fragment)) = rest.split_once('#') {
            url.fragment = fragment.to_owned();
            rest = before;
        }
        if let Some((before, query)) = rest.split_once('?') {
            url.query = query.to_owned();
            rest = before;
        }
        let last = rest.rfind('/').map_or(0, |at| at + 1);
        match rest[last..].find(';').filter(|_| WITH_PARAMS.contains(&url.scheme.as_str())) {
            Some(at) => {
                url.params = rest[last + at + 1..].to_owned();
                url.path = rest[..last + at].to_owned();
            }
            None => url.path = rest.to_owned(),
        }
        url
    }

    /// Reassembles the URL.
    pub fn write(&self) -> String {
        let mut out = self.path.clone();
        if !self.params.is_empty() {
            out = format!("{out};{}", self.params);
        }
        let web = matches!(self.scheme.as_str(), "http" | "https" | "ftp" | "file" | "ws" | "wss");
        if !self.host.is_empty() || web && !out.starts_with("//") {
            let slash = if out.is_empty() || out.starts_with('/') { "" } else { "/" };
            out = format!("//{}{slash}{out}", self.host);
        }
        if !self.scheme.is_empty() {
            out = format!("{}:{out}", self.scheme);
        }
        for (mark, part) in [('?', &self.query), ('#', &self.fragment)] {
            if !part.is_empty() {
                out.push(mark);
                out.push_str(part);
            }
        }
        out
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Returns whether two URLs are equal by OSWorld's comparison.
pub fn same(a: &str, b: &str) -> bool {
    normal(a) == normal(b)
}

/// Normalizes a URL for OSWorld's comparison.
pub(crate) fn normal(text: &str) -> String {
    let has_scheme = text.split_once("://").is_some_and(|(scheme, _)| is_scheme_here(scheme));
    let mut url = if has_scheme { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    let (subdomain, domain) = name(&url.host.to_lowercase());
    url.host = match subdomain.as_str() {
        "" | "www" => domain,
        subdomain => format!("{subdomain}.{domain}"),
    };
    if url.path == "/" {
        url.path.clear();
    }
    url.write()
}

fn is_scheme_here(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-'))
}

/// Returns subdomain and domain of a host, without public suffix, port and user. Private suffixes do not count.
fn name(host: &str) -> (String, String) {
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or(host)
    } else {
        host.split(':').next().unwrap_or(host)
    };
    let host = host.trim().trim_end_matches(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
    if host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[') {
        return (String::new(), host.to_owned());
    }
    let labels: Vec<&str> = host.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).collect();
    let known = labels.len().saturating_sub(suffix_labels(host));
    let domain = known.checked_sub(1).map_or("", |at| labels[at]);
    (labels[..known.saturating_sub(1)].join("."), domain.to_owned())
}

/// The public suffixes that registries set. A test reads them, so the list always parses.
static SUFFIXES: LazyLock<List> = LazyLock::new(|| {
    let text = unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/public_suffixes.zz")));
    text.parse().unwrap_or_default()
});

/// Returns the number of labels in a host's public suffix; zero for an unknown one.
fn suffix_labels(host: &str) -> usize {
    let known = SUFFIXES.suffix(host.as_bytes()).filter(publicsuffix::Suffix::is_known);
    known.map_or(0, |suffix| suffix.as_bytes().split(|byte| *byte == b'.').count())
}

#[cfg(test)]
mod tests {
    use super::{Url, normal, same};

    #[test]
    fn addresses_are_compared_as_upstream_compares_them() {
        for (a, b, expected) in [
            ("https://www.airbnb.com/", "https://airbnb.com.sg", true),
            ("google.com", "http://www.google.com/", true),
            ("google.com", ".google.com", true),
            ("https://a.b.com/x?q=1#f", "https://a.b.com/x?q=1#f", true),
            ("https://a.b.com/x?q=1", "https://a.b.com/x?q=2", false),
            ("https://b.com:8080/x", "https://b.com/x", true),
            ("http://b.com", "https://b.com", false),
            ("chrome://settings/", "chrome://settings", true),
            ("https://user.github.io/", "https://user.github.com", true),
            ("http://localhost:1/a", "localhost/a", true),
            ("http://127.0.0.1/a", "http://127.0.0.2/a", false),
        ] {
            assert_eq!(same(a, b), expected, "{a} {b}: {} {}", normal(a), normal(b));
        }
    }

    #[test]
    fn the_list_of_public_suffixes_has_rules_wildcards_and_exceptions() {
        for (host, subdomain, domain) in [
            ("a.b.example.co.uk", "a.b", "example"),
            ("www.ck", "", "www"),
            ("a.b.ck", "", "a"),
            ("shop.city.kobe.jp", "shop", "city"),
            ("x.city.nagoya.jp", "x", "city"),
            ("例子.公司.cn", "", "例子"),
            ("xn--fsqu00a.xn--55qx5d.cn", "", "xn--fsqu00a"),
            ("user.github.io", "user", "github"),
            ("host.internal-name", "host", "internal-name"),
        ] {
            assert_eq!(super::name(host), (subdomain.to_owned(), domain.to_owned()), "{host}");
        }
    }

    #[test]
    fn an_address_is_split_and_put_together() {
        let text = "https://h.org/a/b;p=1?q#f";
        let url = Url::parse(text);
        assert_eq!((url.params.as_str(), url.path.as_str()), ("p=1", "/a/b"));
        assert_eq!(url.write(), text);
    }
}
