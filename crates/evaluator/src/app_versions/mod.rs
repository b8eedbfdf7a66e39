//! Detects the versions of the programs in a world. The world is queried once after its setup and once more for
//! programs opened later. A query takes a few seconds at most; without a result the version is unknown, which has
//! no other effect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apprentice_protocol::{Capability, Command, EventKind, Machine, SkillId, Versions};
use apprentice_wording::domain_name;
use serde_json::Value;

use apprentice_tasks::world_io::{HttpRequest, ask};

#[cfg(test)]
mod tests;

const SCRIPT: &str = include_str!("query_versions.sh");
/// The domain of the operating system.
const SYSTEM: &str = "os";
/// The maximum number of programs per query.
const MAX_PROGRAMS: usize = 16;
/// Time limits of the script and of a whole query.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(4);
const QUERY_TIMEOUT: Duration = Duration::from_secs(6);
const MAX_OUTPUT_BYTES: u64 = 8 << 10;
/// The maximum length of a version, in characters.
const MAX_VERSION_CHARS: usize = 40;
/// The port where a browser reports its version, in every kind of world.
const BROWSER_PORT: u16 = 9222;

/// Commands of domains whose name is not a command, likeliest first. The part after `@` is the process name where
/// it differs. For all other domains, the name is the command.
const COMMANDS: &[(&str, &str)] = &[
    ("chromium", "chromium,google-chrome@chrome,google-chrome-stable@chrome,chromium-browser,chrome"),
    ("terminal", "xfce4-terminal,gnome-terminal@gnome-terminal-,konsole,x-terminal-emulator,xterm"),
    ("vs-code", "code,codium"),
];
/// All LibreOffice domains belong to one package.
const OFFICE: (&str, &str) = ("libreoffice", "soffice@soffice.bin,libreoffice@soffice.bin");
/// Domains of tasks that concern several programs, or none in particular.
const NON_APP_DOMAINS: [&str; 2] = ["general", "multi-apps"];

/// The command line that starts the program of a domain: its likeliest command, or for a part of an office its option.
pub fn start_command(domain: &str) -> String {
    if let Some(part) = domain.strip_prefix(OFFICE.0).and_then(|rest| rest.strip_prefix('-')) {
        return format!("soffice --norestore --{part}");
    }
    let listed = COMMANDS.iter().find(|(name, _)| *name == domain).map(|(_, commands)| *commands);
    let first = listed.and_then(|commands| commands.split([',', '@']).next());
    first.unwrap_or(domain).to_owned()
}

/// The program versions that a world has reported so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppVersions {
    asked: BTreeMap<String, Option<String>>,
}

impl AppVersions {
    /// Queries a world for the versions of these domains, of the programs with open windows and of the operating
    /// system, skipping those already queried. Returns `None` when there is nothing new, or when the world cannot
    /// run commands.
    pub async fn query(&mut self, machine: &dyn Machine, domains: &[String]) -> Option<EventKind> {
        self.query_within(QUERY_TIMEOUT, machine, domains).await
    }

    async fn query_within(
        &mut self,
        time: Duration,
        machine: &dyn Machine,
        domains: &[String],
    ) -> Option<EventKind> {
        if !machine.offers().capabilities.contains(&Capability::Commands) {
            return None;
        }
        let is_new =
            |domain: &String| !self.asked.contains_key(domain) && !NON_APP_DOMAINS.contains(&domain.as_str());
        let named = domains.iter().map(|name| domain_of(name)).chain([SYSTEM.to_owned()]);
        let named: BTreeSet<String> = named.filter(is_new).collect();
        let told = tokio::time::timeout(time, async {
            let mut wanted = named.clone();
            wanted.extend(apps_with_windows(machine).await.into_iter().filter(is_new));
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).take(MAX_PROGRAMS).collect();
            if wanted.is_empty() { BTreeMap::new() } else { asked(machine, &wanted).await }
        })
        .await
        // After a timeout the same domains are not queried again; earlier results are kept.
        .unwrap_or_else(|_| named.iter().map(|domain| (domain.clone(), None)).collect());
        if told.is_empty() {
            return None;
        }
        self.asked.extend(told.clone());
        Some(EventKind::VersionsSeen { versions: told })
    }

    /// Returns the known versions.
    pub fn known(&self) -> Versions {
        let known = |(domain, version): (&String, &Option<String>)| Some((domain.clone(), version.clone()?));
        self.asked.iter().filter_map(known).collect()
    }
}

/// Returns the programs that have windows, as domains.
async fn apps_with_windows(machine: &dyn Machine) -> Vec<String> {
    if !machine.offers().capabilities.contains(&Capability::Windows) {
        return Vec::new();
    }
    let windows = machine.windows().await.unwrap_or_default();
    windows.iter().filter_map(|window| Some(domain_of(&domain_name(&window.class)?))).collect()
}

async fn asked(machine: &dyn Machine, domains: &[&str]) -> BTreeMap<String, Option<String>> {
    let mut command = Command::new(["sh", "-c", SCRIPT, "sh"]).within(SCRIPT_TIMEOUT);
    command.output_limit = MAX_OUTPUT_BYTES;
    let named = domains.iter().filter(|domain| SkillId::is_slug(domain));
    command.argv.extend(named.map(|domain| format!("{domain}={}", commands(domain))));
    let output = machine.run(&command).await.map(|output| output.stdout_text()).unwrap_or_default();
    let mut told: BTreeMap<String, Option<String>> =
        domains.iter().map(|domain| ((*domain).to_owned(), None)).collect();
    for (name, text) in output.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(version) = told.get_mut(name) {
            *version = if name == SYSTEM { parse_os_release(text) } else { number(text) };
        }
    }
    if let Some(unknown @ None) = told.get_mut("chromium") {
        *unknown = running_browser(machine).await;
    }
    told
}

fn commands(domain: &str) -> &str {
    let office = [OFFICE].into_iter().filter(|(name, _)| domain.starts_with(name));
    let found = COMMANDS.iter().copied().filter(|(name, _)| *name == domain).chain(office).next();
    found.map_or(domain, |(_, commands)| commands)
}

/// Returns the domain of a program.
fn domain_of(program: &str) -> String {
    let is_one = |commands: &str| commands.split(',').any(|one| one.split('@').any(|name| name == program));
    let found = COMMANDS.iter().chain([&OFFICE]).find(|(_, commands)| is_one(commands));
    found.map_or(program, |(domain, _)| *domain).to_owned()
}

/// Queries a running browser for its version.
async fn running_browser(machine: &dyn Machine) -> Option<String> {
    let way = machine.dial(BROWSER_PORT).await.ok()?;
    let body = ask(way.address, HttpRequest::get("/json/version")).await.ok()?;
    let told: Value = serde_json::from_slice(&body).ok()?;
    number(told.get("Browser")?.as_str()?.split_once('/')?.1)
}

/// Extracts the upstream version from a package version, without an epoch prefix or a distribution suffix. Models
/// see this text, so it may contain only letters, digits and dots, and at most eight letters: too few for an
/// instruction.
fn number(text: &str) -> Option<String> {
    let starts = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let word = text.split_whitespace().find(starts)?;
    let word = match word.split_once(':') {
        Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => word,
    };
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(word.len());
    let version = word[..end].trim_end_matches('.');
    let letters = version.bytes().filter(u8::is_ascii_alphabetic).count();
    let sound = starts(&version) && version.len() <= MAX_VERSION_CHARS && letters <= 8;
    sound.then(|| version.to_owned())
}

/// Validates a system's name and version, such as `debian-12`.
fn parse_os_release(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, number) = text.rsplit_once('-')?;
    let plain = number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    (SkillId::is_slug(name) && plain && !number.is_empty() && text.len() <= MAX_VERSION_CHARS)
        .then(|| text.to_owned())
}
