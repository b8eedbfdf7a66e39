//! The address of a queue's database, which may hold a password and is never shown with it.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rustls::ClientConfig;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::certificates::{self, CertificatesError};

/// The PostgreSQL schema of the queue, unless the address names another as `options=-csearch_path=NAME`.
pub(crate) const SCHEMA: &str = "apprentice_queue";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection whose peer answers nothing for this long is closed.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a database, as `postgres://user@host:port/database`.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    /// How the connection is encrypted; `None` for one that is not.
    pub(crate) tls: Option<ClientConfig>,
}

/// An address that cannot be used. It never holds the address itself, which may contain a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It is not an address of PostgreSQL.
    #[error("the queue's address is not of the form postgres://USER@HOST:PORT/DATABASE: {0}")]
    Form(String),
    /// It names no host.
    #[error("the queue's address names no host: write postgres://USER@HOST:PORT/DATABASE")]
    NoHost,
    /// A word for the encryption that would not hold what it says.
    #[error(
        "sslmode={0} is not offered, because it may go on without encryption: write sslmode=verify-full, or sslmode=disable on a private network"
    )]
    Mode(String),
    /// The certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
}

/// What an address says about encryption, apart from what the client of the database reads itself.
struct Encryption {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

/// Takes `sslmode` and `sslrootcert` out of an address.
fn without_encryption(text: &str) -> (String, Encryption) {
    let mut said = Encryption { mode: None, roots: None };
    let Some((place, options)) = text.split_once('?') else { return (text.to_owned(), said) };
    let mut kept = Vec::new();
    for option in options.split('&') {
        match option.split_once('=') {
            Some(("sslmode", mode)) => said.mode = Some(mode.to_owned()),
            Some(("sslrootcert", file)) => {
                let decoded: Vec<u8> = percent_encoding::percent_decode_str(file).collect();
                said.roots = Some(PathBuf::from(OsString::from_vec(decoded)));
            }
            _ => kept.push(option),
        }
    }
    (if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }, said)
}

impl Encryption {
    /// A database of another machine is reached encrypted and known by its certificate, unless the address says otherwise.
    fn configured(&self, hosts: &[Host]) -> Result<Option<ClientConfig>, AddressError> {
        let is_here = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        };
        let encrypted = match self.mode.as_deref() {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(other) => return Err(AddressError::Mode(other.to_owned())),
            None => self.roots.is_some() || !hosts.iter().all(is_here),
        };
        Ok(encrypted.then(|| certificates::client(self.roots.as_deref())).transpose()?)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(AddressError::Form("it does not begin with postgres://".to_owned()));
        }
        let (text, encryption) = without_encryption(text);
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            // The cause names the part that is wrong; the error itself may repeat what it read.
            AddressError::Form(
                std::error::Error::source(&error).map_or("it is invalid", |_| "a part is invalid").into(),
            )
        })?;
        if config.get_hosts().is_empty() {
            return Err(AddressError::NoHost);
        }
        let tls = encryption.configured(config.get_hosts())?;
        config
            .ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable })
            .application_name("apprentice")
            .connect_timeout(CONNECT_TIMEOUT)
            .keepalives_idle(SILENCE_TIMEOUT)
            .tcp_user_timeout(SILENCE_TIMEOUT);
        Ok(Self { config, tls })
    }
}

impl Address {
    /// Returns whether the address holds a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Adds a password to an address that holds none.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Self {
        if !self.has_password() {
            self.config.password(password);
        }
        self
    }
}

/// Host, port and database: what a message may show.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "?".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        write!(f, "postgres://{host}:{port}/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_is_shown_without_user_and_password() {
        let address: Address = "postgres://me:s3cret@db.example:5433/fleet".parse().expect("an address");
        assert!(address.has_password());
        assert_eq!(
            format!("{address} {address:?}"),
            "postgres://db.example:5433/fleet postgres://db.example:5433/fleet"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for text in ["", "mysql://me:s3cret@h/d", "postgres://me:s3cret@h:notaport/d", "postgres:///d"] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(!error.contains("s3cret") && error.contains("postgres://"), "{text}: {error}");
        }
    }
    #[test]
    fn another_machine_is_reached_encrypted_unless_the_address_says_otherwise() {
        let encrypted = |text: &str| text.parse::<Address>().expect(text).tls.is_some();
        for (text, expected) in [
            ("postgres://me@db.example/d", true),
            ("postgres://me@db.example/d?sslmode=disable", false),
            ("postgres://me@127.0.0.1/d", false),
            ("postgres://me@/d?host=/run/postgresql", false),
            ("postgres://me@127.0.0.1/d?sslmode=verify-full", true),
        ] {
            assert_eq!(encrypted(text), expected, "{text}");
        }
        let error = "postgres://me:s3cret@h/d?sslmode=prefer".parse::<Address>().expect_err("may be plain");
        assert!(error.to_string().contains("sslmode=verify-full") && !error.to_string().contains("s3cret"));
        let error = "postgres://h/d?sslrootcert=/nonexistent".parse::<Address>().expect_err("is missing");
        assert!(error.to_string().contains("/nonexistent"), "{error}");
        let encoded = "postgres://h/d?sslrootcert=%2fnowhere%2FMy%20CA.pem".parse::<Address>();
        let error = encoded.expect_err("is missing").to_string();
        assert!(error.contains("/nowhere/My CA.pem"), "{error}");
    }
}
