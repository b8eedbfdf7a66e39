//! A connection to an allowed host: the decision, the name's addresses, and the socket.

use std::net::SocketAddr;
use std::time::Duration;

use apprentice_protocol::{AllowedHost, ConnectionOutcome};
use tokio::net::TcpStream;

use super::address::is_public;

/// How long resolving a name and connecting to one of its addresses may take.
const CONNECT: Duration = Duration::from_secs(20);

/// Why there is no connection.
pub(super) enum NoConnection {
    /// A rule was broken.
    Refused(String),
    /// The host could not be reached.
    Failed(String),
}

impl NoConnection {
    pub(super) fn outcome(&self) -> ConnectionOutcome {
        match self {
            Self::Refused(why) => ConnectionOutcome::Refused { why: why.clone() },
            Self::Failed(why) => ConnectionOutcome::Failed { why: why.clone() },
        }
    }
}

/// Connects to a host if an entry allows it.
pub(super) async fn connect(
    allowed: &[AllowedHost],
    host: &str,
    port: u16,
) -> Result<TcpStream, NoConnection> {
    let entry = allowed.iter().find(|entry| entry.allows(host, port));
    let entry = entry.ok_or_else(|| {
        NoConnection::Refused(format!("{host}:{port} is not among the hosts that this world may reach"))
    })?;
    let reached = async {
        let addresses = addresses(entry, host, port).await?;
        let stream = TcpStream::connect(addresses.as_slice()).await;
        stream.map_err(|error| NoConnection::Failed(error.to_string()))
    };
    let late = || NoConnection::Failed(format!("no connection within {} s", CONNECT.as_secs()));
    tokio::time::timeout(CONNECT, reached).await.map_err(|_| late())?
}

/// The addresses of an allowed host. A name of the internet must not lead to this machine or into its network, whoever
/// answers for the name; the user can name an address for it, or the address itself.
async fn addresses(entry: &AllowedHost, host: &str, port: u16) -> Result<Vec<SocketAddr>, NoConnection> {
    if let Some(address) = entry.answered_by() {
        return Ok(vec![address]);
    }
    let bare = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((bare, port)).await;
    let found: Vec<SocketAddr> =
        found.map_err(|error| NoConnection::Failed(format!("the name {host}: {error}")))?.collect();
    if entry.is_address() {
        return Ok(found);
    }
    let public: Vec<SocketAddr> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
    match (public.is_empty(), found.first()) {
        (false, _) => Ok(public),
        (true, None) => Err(NoConnection::Failed(format!("the name {host} has no address"))),
        (true, Some(found)) => Err(NoConnection::Refused(format!(
            "{host} leads to {}, which is no address of the internet; to allow it, write {host}:{port}={}:{port}",
            found.ip(),
            found.ip()
        ))),
    }
}
