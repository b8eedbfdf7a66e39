//! Which hosts the programs of a world may reach, and the record of each connection that they asked for.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ports of an entry that names none: those of `http` and `https`.
const WEB_PORTS: [u16; 2] = [80, 443];

/// A host that programs may reach, written `HOST[:PORT][=ADDRESS:PORT]`.
///
/// `HOST` is a name, `*.NAME` for every name below it, or an address; an IPv6 address stands in brackets. Without a port,
/// 80 and 443 are meant. `=ADDRESS:PORT` sends its connections to this address, so that a copy of a site can answer under the
/// site's own name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct AllowedHost {
    host: HostPattern,
    port: Option<u16>,
    answered_by: Option<SocketAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum HostPattern {
    Name(String),
    Below(String),
    Address(IpAddr),
}

/// Why a text is no [`AllowedHost`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no host: {why}; write HOST, HOST:PORT, *.DOMAIN or HOST=ADDRESS:PORT")]
pub struct AllowedHostError {
    text: String,
    why: &'static str,
}

impl AllowedHost {
    /// Returns whether this entry allows connections to a host, as a program names it, and a port.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let of_port = self.port.map_or(WEB_PORTS.contains(&port), |own| own == port);
        of_port && self.host.matches(host)
    }

    /// The address that answers for the host, if the entry names one.
    pub fn answered_by(&self) -> Option<SocketAddr> {
        self.answered_by
    }

    /// Returns whether the entry names an address, not a name that somebody else resolves.
    pub fn is_address(&self) -> bool {
        matches!(self.host, HostPattern::Address(_))
    }
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        let host = normalised(host);
        match self {
            Self::Name(name) => *name == host,
            Self::Below(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Self::Address(address) => {
                host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|asked| asked == *address)
            }
        }
    }
}

/// A host name as it is compared: lower case, without the root's dot.
fn normalised(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

impl FromStr for AllowedHost {
    type Err = AllowedHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why| AllowedHostError { text: text.to_owned(), why };
        if text.contains("://") {
            return Err(wrong("it is an address of a page"));
        }
        let (asked, answered_by) = match text.split_once('=') {
            Some((asked, address)) => {
                let address = address.parse().map_err(|_| wrong("after \"=\" stands no ADDRESS:PORT"))?;
                (asked, Some(address))
            }
            None => (text, None),
        };
        let (host, port) = split_port(asked).map_err(wrong)?;
        let host = pattern(host).map_err(wrong)?;
        Ok(Self { host, port, answered_by })
    }
}

/// Splits `HOST:PORT`. The colons of an address without brackets belong to the address.
fn split_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    if text.parse::<IpAddr>().is_ok() {
        return Ok((text, None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => match port.parse() {
            Ok(0) | Err(_) => Err("the port is no number from 1 to 65535"),
            Ok(port) => Ok((host, Some(port))),
        },
        _ => Ok((text, None)),
    }
}

fn pattern(host: &str) -> Result<HostPattern, &'static str> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse() {
        return Ok(HostPattern::Address(address));
    }
    let (name, below) = match host.strip_prefix("*.") {
        Some(domain) => (domain, true),
        None => (host, false),
    };
    let name = normalised(name);
    let of_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if name.is_empty() {
        Err("it is empty")
    } else if !name.chars().all(of_name) || name.split('.').any(str::is_empty) {
        Err("a name holds letters, digits, \"-\", \"_\" and single dots; write others in their ASCII form")
    } else if below && !name.contains('.') {
        Err("this would allow a whole top-level domain")
    } else {
        Ok(if below { HostPattern::Below(name) } else { HostPattern::Name(name) })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostPattern::Name(name) => form.write_str(name)?,
            HostPattern::Below(domain) => write!(form, "*.{domain}")?,
            HostPattern::Address(IpAddr::V4(address)) => write!(form, "{address}")?,
            HostPattern::Address(IpAddr::V6(address)) => write!(form, "[{address}]")?,
        }
        if let Some(port) = self.port {
            write!(form, ":{port}")?;
        }
        self.answered_by.map_or(Ok(()), |address| write!(form, "={address}"))
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = AllowedHostError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AllowedHost> for String {
    fn from(host: AllowedHost) -> Self {
        host.to_string()
    }
}

/// What became of a connection that a program of the world asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ConnectionOutcome {
    /// It was made.
    Connected {
        /// The address, as `ADDRESS:PORT`; `None` if the connection had ended before it was read.
        address: Option<String>,
    },
    /// It was not allowed.
    Refused {
        /// The rule that it broke.
        why: String,
    },
    /// It was allowed, and the host could not be reached.
    Failed {
        /// The error.
        why: String,
    },
}

/// A connection that a program of the world asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionRecord {
    /// The host, as the program named it.
    pub host: String,
    /// The port; 0 if the request could not be read.
    pub port: u16,
    /// Whether the program asked for a tunnel (`https`, and whatever else is encrypted) or for one page (`http`).
    pub tunnel: bool,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: ConnectionOutcome,
    /// Milliseconds until it was made, refused or given up.
    pub took_ms: u64,
}

/// The connections that programs of a world asked for since the last report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionReport {
    /// The connections, in order.
    pub connections: Vec<ConnectionRecord>,
    /// Number of further connections, which are counted alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Bytes that all connections have carried out of the world.
    pub sent: u64,
    /// Bytes that all connections have carried into the world.
    pub received: u64,
}

impl ConnectionReport {
    /// Returns whether nothing was asked for or carried.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::AllowedHost;

    fn host(text: &str) -> AllowedHost {
        text.parse().expect(text)
    }

    #[test]
    fn a_name_allows_itself_on_the_ports_of_the_web() {
        let named = host("Example.org");
        assert!(named.allows("example.org", 443) && named.allows("EXAMPLE.ORG.", 80));
        for (other, port) in [
            ("www.example.org", 443),
            ("example.org", 22),
            ("example.org.evil.net", 443),
            ("notexample.org", 80),
        ] {
            assert!(!named.allows(other, port), "{other}:{port}");
        }
        assert!(host("example.org:8080").allows("example.org", 8080));
        assert!(!host("example.org:8080").allows("example.org", 443));
    }

    #[test]
    fn a_star_allows_what_lies_below_a_domain_and_not_the_domain() {
        let below = host("*.example.org");
        assert!(below.allows("a.example.org", 443) && below.allows("a.b.example.org", 443));
        for other in ["example.org", ".example.org", "evilexample.org", "example.org.", "a.example.org.net"] {
            assert!(!below.allows(other, 443), "{other}");
        }
    }

    #[test]
    fn an_address_is_compared_as_an_address() {
        assert!(host("127.0.0.1:8000").allows("127.0.0.1", 8000));
        assert!(host("[::1]:8000").allows("[0:0:0:0:0:0:0:1]", 8000));
        assert!(host("::1").allows("::1", 80));
        assert!(!host("127.0.0.1:8000").allows("localhost", 8000));
    }

    #[test]
    fn another_address_can_answer_for_a_host() {
        let copy = host("shop.example:80=127.0.0.1:8001");
        assert!(copy.allows("shop.example", 80));
        assert_eq!(copy.answered_by(), Some(([127, 0, 0, 1], 8001).into()));
        assert_eq!(copy.to_string(), "shop.example:80=127.0.0.1:8001");
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for (text, why) in [
            ("", "empty"),
            ("https://example.org", "address of a page"),
            ("*.org", "top-level"),
            ("*", "letters"),
            ("a..b", "single dots"),
            ("example.org:0", "port"),
            ("example.org:http", "port"),
            ("bücher.example", "ASCII"),
            ("example.org=8000", "ADDRESS:PORT"),
            ("example.org/path", "letters"),
        ] {
            let error = text.parse::<AllowedHost>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_or_refused_and_reads_as_it_is_written(text in "\\PC{0,40}") {
            if let Ok(read) = text.parse::<AllowedHost>() {
                prop_assert_eq!(read.to_string().parse::<AllowedHost>(), Ok(read));
            }
        }
    }
}
