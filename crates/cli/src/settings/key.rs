//! Finds a provider's API key: from a command, a private file, or the environment.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use apprentice_models::http::Secret;
use reqwest::Url;

use crate::failure::{Failure, Kind};
use crate::settings::provider::Provider;
use crate::{process_env, terminal};

/// The places to look for a key, in order: command, file, environment variable.
pub(crate) struct Place<'a> {
    pub(crate) command: Option<&'a str>,
    pub(crate) file: Option<&'a Path>,
    pub(crate) variable: &'a str,
}

/// Returns a provider's key, if there is one.
pub(crate) fn find(provider: &Provider) -> Result<Option<Secret>, Failure> {
    let Provider { key_command, key_file, key_env, .. } = provider;
    at(&Place { command: key_command.as_deref(), file: key_file.as_deref(), variable: key_env })
}

/// Returns the key from these places, if there is one. The terminal does not show it from then on.
pub(crate) fn at(place: &Place<'_>) -> Result<Option<Secret>, Failure> {
    let found = look_up(place)?;
    if let Some(key) = &found {
        terminal::hide(key.reveal());
    }
    Ok(found)
}

fn look_up(place: &Place<'_>) -> Result<Option<Secret>, Failure> {
    if let Some(command) = place.command {
        return printed(command, "key_command").map(Some);
    }
    if let Some(path) = place.file {
        return stored(path).map(Some);
    }
    let key = process_env::variable(place.variable).and_then(|key| key.into_string().ok());
    Ok(key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).map(Secret::new))
}

/// Returns what a shell command prints. `setting` names it in messages.
pub(crate) fn printed(command: &str, setting: &str) -> Result<Secret, Failure> {
    let shell =
        Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = shell.map_err(|error| Failure::say(Kind::Config, format!("{setting}: {error}")))?;
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() && !key.is_empty() {
        true => Ok(Secret::new(key)),
        false => Err(Failure::say(
            Kind::Config,
            format!("{setting} printed nothing, or failed ({})", output.status),
        )),
    }
}

fn stored(path: &Path) -> Result<Secret, Failure> {
    let place = path.display();
    let failed = |error: std::io::Error| Failure::say(Kind::Config, format!("key_file {place}: {error}"));
    let mode = std::fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Failure::say(Kind::Config, format!("key_file {place} can be read by others"))
            .hint(format!("chmod 600 {place}")));
    }
    let key = std::fs::read_to_string(path).map_err(failed)?;
    Ok(Secret::new(key.trim()))
}

/// Whether a URL points to this machine, where servers often need no key: its host is `localhost` or a loopback address.
pub(crate) fn on_this_machine(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{on_this_machine, printed, stored};

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "the-key\n").expect("writes");
        let allow = |mode| std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode));
        allow(0o600).expect("sets");
        assert_eq!(stored(file.path()).expect("a key").reveal(), "the-key");
        allow(0o640).expect("sets");
        assert!(stored(file.path()).expect_err("is refused").to_string().contains("can be read by others"));
    }

    #[test]
    fn a_command_prints_the_key_or_fails() {
        assert_eq!(printed("echo the-key", "key_command").expect("a key").reveal(), "the-key");
        assert!(printed("true", "key_command").is_err() && printed("echo k; exit 3", "key_command").is_err());
    }

    #[test]
    fn loopback_addresses_are_known() {
        assert!(on_this_machine("http://127.0.0.1:8000/v1") && on_this_machine("http://localhost/"));
        assert!(on_this_machine("http://[::1]:8000/v1") && on_this_machine("HTTPS://LocalHost:8443"));
        assert!(on_this_machine("http://127.8.9.10"), "the whole block 127.0.0.0/8 is loopback");
        assert!(!on_this_machine("https://api.example.org/localhost"));
    }

    #[test]
    fn a_host_that_only_starts_like_this_machine_is_another_one() {
        for url in [
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1@example.org/v1",
            "http://localhost:secret@example.org",
            "http://localhosts/v1",
            "http://10.0.0.1/v1",
            "localhost",
            "",
        ] {
            assert!(!on_this_machine(url), "{url}");
        }
    }
}
