//! The network of a cell: none, or a proxy outside of it that carries connections to allowed hosts alone.
//!
//! A cell has a network namespace without a route, so that the proxy's port is its programs' only way out. The port is
//! opened inside; whoever connects to it talks to this process, which decides, resolves names and connects.

mod address;
mod connection_log;
mod outbound;
mod proxy;

use std::fmt;
use std::str::FromStr;

use apprentice_protocol::{AllowedHost, AllowedHostError, WorldError, WorldErrorKind};

pub(super) use proxy::Proxy;
use serde::Deserialize;

/// The proxy's port inside the cell.
pub(super) const PROXY_PORT: u16 = 3128;
/// The proxy, as programs inside the cell are told of it.
pub const PROXY: &str = "http://127.0.0.1:3128";
/// Ports of pages.
const WEB: [u16; 2] = [443, 80];
/// What is reached without the proxy: the cell itself.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// The environment variables by which programs find the proxy. There is no standard for their case.
pub(super) fn environment() -> Vec<(&'static str, String)> {
    let of = |name, value: &str| (name, value.to_owned());
    let mut variables: Vec<_> = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
        .into_iter()
        .map(|name| of(name, PROXY))
        .collect();
    variables.extend([of("no_proxy", DIRECT), of("NO_PROXY", DIRECT)]);
    variables
}

/// Which hosts the programs of cells may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum NetworkPolicy {
    /// None.
    #[default]
    None,
    /// Those that the task names.
    Task,
    /// These, whatever the task names.
    Hosts(Vec<AllowedHost>),
}

/// Why a world does not get the network that its task needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the task needs {}, and the setting `network` is \"{policy}\"; allow it with --network task",
    hosts(missing)
)]
pub struct NetworkNotAllowed {
    policy: NetworkPolicy,
    missing: Vec<AllowedHost>,
}

fn hosts(hosts: &[AllowedHost]) -> String {
    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl NetworkPolicy {
    /// The hosts that a world may reach whose task names `needed`, or what is not allowed.
    ///
    /// # Errors
    ///
    /// Returns the first needed host that the settings do not allow.
    pub fn hosts(&self, needed: &[AllowedHost]) -> Result<Vec<AllowedHost>, NetworkNotAllowed> {
        let missing: Vec<AllowedHost> = match self {
            Self::Task => return Ok(needed.to_vec()),
            Self::None => needed.to_vec(),
            Self::Hosts(allowed) => needed.iter().filter(|host| !allowed.contains(host)).cloned().collect(),
        };
        if missing.is_empty() {
            return Ok(if let Self::Hosts(allowed) = self { allowed.clone() } else { Vec::new() });
        }
        Err(NetworkNotAllowed { policy: self.clone(), missing })
    }

    /// Returns whether a world whose task names `needed` may ask a host for pages. The host may be one of these entries, too.
    pub fn allows(&self, needed: &[AllowedHost], host: &str) -> bool {
        let allowed = match self {
            Self::None => return false,
            Self::Task => needed,
            Self::Hosts(allowed) => allowed,
        };
        let asks = |one: &AllowedHost| WEB.iter().any(|port| one.allows(host, *port));
        allowed.iter().any(|one| one.to_string() == host || asks(one))
    }
}

impl From<NetworkNotAllowed> for WorldError {
    fn from(error: NetworkNotAllowed) -> Self {
        Self::new(WorldErrorKind::NetworkNotAllowed, error.to_string())
    }
}

/// `none`, `task`, or hosts separated by commas.
impl FromStr for NetworkPolicy {
    type Err = AllowedHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "none" => Ok(Self::None),
            "task" => Ok(Self::Task),
            hosts => {
                hosts.split(',').map(|host| host.trim().parse()).collect::<Result<_, _>>().map(Self::Hosts)
            }
        }
    }
}

impl TryFrom<String> for NetworkPolicy {
    type Error = AllowedHostError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for NetworkPolicy {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => form.write_str("none"),
            Self::Task => form.write_str("task"),
            Self::Hosts(allowed) => form.write_str(&hosts(allowed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NetworkPolicy;

    fn policy(text: &str) -> NetworkPolicy {
        text.parse().expect(text)
    }

    #[test]
    fn a_task_gets_the_hosts_that_it_names_or_none_at_all() {
        let needed = ["shop.example".parse().expect("a host")];
        assert_eq!(policy("task").hosts(&needed), Ok(needed.to_vec()));
        assert_eq!(policy("none").hosts(&[]), Ok(vec![]));
        let refused = policy("none").hosts(&needed).expect_err("not allowed").to_string();
        insta::assert_snapshot!(refused, @r#"the task needs shop.example, and the setting `network` is "none"; allow it with --network task"#);
    }

    #[test]
    fn a_list_is_what_every_world_gets() {
        let listed = policy("a.example, *.b.example:8080");
        assert_eq!(listed.hosts(&[]).expect("allowed").len(), 2);
        assert_eq!(listed.to_string(), "a.example, *.b.example:8080");
        assert!(listed.hosts(&["c.example".parse().expect("a host")]).is_err());
        assert!(listed.allows(&[], "a.example") && !listed.allows(&[], "c.example"));
    }
}
