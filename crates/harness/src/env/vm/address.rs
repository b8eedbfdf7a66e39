//! The address of a machine: a URL, or a host with the ports that its provider publishes.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// Port of the server inside the machine.
const SERVER: u16 = 5000;
/// Port of the browser's DevTools inside the machine.
const BROWSER: u16 = 9222;
/// Port of the media player's web interface inside the machine.
const PLAYER: u16 = 8080;

/// The address of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineAddress {
    base: Url,
    /// Pairs of inside and outside ports, where they differ. `None`: each port is published as itself.
    published: Option<Vec<(u16, u16)>>,
    text: String,
}

/// A text that is not the address of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no machine: give an address such as http://10.0.0.5:5000, or HOST:SERVER:BROWSER:SCREEN:PLAYER \
     with the ports published for 5000, 9222, the remote screen and 8080"
)]
pub struct MachineAddressError(pub String);

impl MachineAddress {
    /// The URL of one of the server's paths.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// The host's name.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// The outside port for an inside port, if it is published.
    pub(super) fn port(&self, inside: u16) -> Option<u16> {
        match &self.published {
            None => Some(inside),
            Some(ports) => ports.iter().find(|(known, _)| *known == inside).map(|(_, outside)| *outside),
        }
    }
}

impl fmt::Display for MachineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for MachineAddress {
    type Err = MachineAddressError;

    fn from_str(text: &str) -> Result<Self, MachineAddressError> {
        let text = text.trim();
        let wrong = || MachineAddressError(text.to_owned());
        let url = |address: &str| Url::parse(address).ok().filter(Url::has_host).ok_or_else(wrong);
        let parts: Vec<&str> = text.split(':').collect();
        if let ([host, ports @ ..], false) = (parts.as_slice(), text.contains('/') || text.contains('['))
            && ports.len() == 4
        {
            let ports: Option<Vec<u16>> = ports.iter().map(|port| port.parse().ok()).collect();
            let Some([server, browser, _, player]) = ports.as_deref() else { return Err(wrong()) };
            let base = url(&format!("http://{host}:{server}"))?;
            // Port 0 means that a port is not published.
            let pairs = [(SERVER, *server), (BROWSER, *browser), (PLAYER, *player)];
            let published = pairs.into_iter().filter(|(_, outside)| *outside != 0).collect();
            return Ok(Self { base, published: Some(published), text: text.to_owned() });
        }
        if text.is_empty() || text.contains(char::is_whitespace) {
            return Err(wrong());
        }
        let (base, bare) = if text.contains("://") {
            (url(text)?, false)
        } else {
            (url(&format!("http://{text}"))?, !text.rsplit(']').next().unwrap_or(text).contains(':'))
        };
        if !["http", "https"].contains(&base.scheme()) || base.query().is_some() {
            return Err(wrong());
        }
        let mut base = base;
        if bare && base.set_port(Some(SERVER)).is_err() {
            return Err(wrong());
        }
        Ok(Self { base, published: None, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::MachineAddress;

    #[test]
    fn places_are_read_in_each_form() {
        for (text, server, browser) in [
            ("http://10.0.0.5:5000", "http://10.0.0.5:5000/screenshot", Some(9222)),
            ("10.0.0.5", "http://10.0.0.5:5000/screenshot", Some(9222)),
            ("vm7:5001", "http://vm7:5001/screenshot", Some(9222)),
            ("[::1]:5001", "http://[::1]:5001/screenshot", Some(9222)),
            ("https://5000-x.example.org/", "https://5000-x.example.org/screenshot", Some(9222)),
            ("localhost:5003:9225:8009:8083", "http://localhost:5003/screenshot", Some(9225)),
            ("localhost:5003:0:0:0", "http://localhost:5003/screenshot", None),
        ] {
            let place: MachineAddress = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((place.at("/screenshot").as_str(), place.port(9222)), (server, browser), "{text}");
            assert_eq!(place.to_string(), text);
        }
        let place: MachineAddress = "[::1]:5001".parse().expect("a place");
        assert_eq!(place.host(), "::1");
        for text in ["", "a b", "ftp://h", "h:1:2:3:x", "http://", "http://h/?a=1", "h:99999"] {
            assert!(text.parse::<MachineAddress>().is_err(), "{text}");
        }
    }
}
