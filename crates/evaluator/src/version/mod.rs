//! Which versions the programs of a world have: asked of the world itself, once after its setup and once more for what
//! was opened later. An answer is worth a few seconds at most; without one a version is unknown, and nothing else
//! follows from that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apprentice_protocol::{Capability, Command, EventKind, Machine, SkillId, Versions};
use apprentice_skills::domain_name;
use serde_json::Value;

use apprentice_tasks::check::{Ask, ask};

#[cfg(test)]
mod tests;

const SCRIPT: &str = include_str!("ask.sh");
/// The system itself.
const SYSTEM: &str = "os";
/// Programs that one world is asked for.
const MOST: usize = 16;
/// What the script may take, and what all asking may take.
const SCRIPT_TIME: Duration = Duration::from_secs(4);
const ALL_TIME: Duration = Duration::from_secs(6);
const ANSWER_BYTES: u64 = 8 << 10;
/// Characters of a version.
const LONGEST: usize = 40;
/// Where a browser tells of itself, in every kind of world.
const BROWSER_PORT: u16 = 9222;

/// Commands behind a domain whose name is no command, the likeliest first; behind `@` the process where it has another
/// name. Of all other domains the name is the command.
const COMMANDS: &[(&str, &str)] = &[
    ("chromium", "chromium,google-chrome@chrome,google-chrome-stable@chrome,chromium-browser,chrome"),
    ("terminal", "xfce4-terminal,gnome-terminal@gnome-terminal-,konsole,x-terminal-emulator,xterm"),
    ("vs-code", "code,codium"),
];
/// All of its programs are one package.
const OFFICE: (&str, &str) = ("libreoffice", "soffice@soffice.bin,libreoffice@soffice.bin");
/// What stands where a task is about several programs, or about none.
const NOBODY: [&str; 2] = ["general", "multi-apps"];

/// What a world has told of its programs so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    asked: BTreeMap<String, Option<String>>,
}

impl Roll {
    /// Asks a world for the versions of these domains, of the programs that have windows, and of the system, as far as
    /// they were not asked for before. Nothing where there is nothing new, or where no command can be run.
    pub async fn call(&mut self, machine: &dyn Machine, domains: &[String]) -> Option<EventKind> {
        self.call_within(ALL_TIME, machine, domains).await
    }

    async fn call_within(
        &mut self,
        time: Duration,
        machine: &dyn Machine,
        domains: &[String],
    ) -> Option<EventKind> {
        if !machine.offers().capabilities.contains(&Capability::Commands) {
            return None;
        }
        let is_new = |domain: &String| !self.asked.contains_key(domain) && !NOBODY.contains(&domain.as_str());
        let named = domains.iter().map(|name| domain_of(name)).chain([SYSTEM.to_owned()]);
        let named: BTreeSet<String> = named.filter(is_new).collect();
        let told = tokio::time::timeout(time, async {
            let mut wanted = named.clone();
            wanted.extend(shown(machine).await.into_iter().filter(is_new));
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).take(MOST).collect();
            if wanted.is_empty() { BTreeMap::new() } else { asked(machine, &wanted).await }
        })
        .await
        // A world that does not answer in time is asked for the same no second time; what it told before stands.
        .unwrap_or_else(|_| named.iter().map(|domain| (domain.clone(), None)).collect());
        if told.is_empty() {
            return None;
        }
        self.asked.extend(told.clone());
        Some(EventKind::VersionsSeen { versions: told })
    }

    /// The versions that are known.
    pub fn known(&self) -> Versions {
        let known = |(domain, version): (&String, &Option<String>)| Some((domain.clone(), version.clone()?));
        self.asked.iter().filter_map(known).collect()
    }
}

/// The programs that have windows, as domains.
async fn shown(machine: &dyn Machine) -> Vec<String> {
    if !machine.offers().capabilities.contains(&Capability::Windows) {
        return Vec::new();
    }
    let windows = machine.windows().await.unwrap_or_default();
    windows.iter().filter_map(|window| Some(domain_of(&domain_name(&window.class)?))).collect()
}

async fn asked(machine: &dyn Machine, domains: &[&str]) -> BTreeMap<String, Option<String>> {
    let mut command = Command::new(["sh", "-c", SCRIPT, "sh"]).within(SCRIPT_TIME);
    command.output_limit = ANSWER_BYTES;
    let named = domains.iter().filter(|domain| SkillId::is_slug(domain));
    command.argv.extend(named.map(|domain| format!("{domain}={}", commands(domain))));
    let output = machine.run(&command).await.map(|output| output.stdout_text()).unwrap_or_default();
    let mut told: BTreeMap<String, Option<String>> =
        domains.iter().map(|domain| ((*domain).to_owned(), None)).collect();
    for (name, text) in output.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(version) = told.get_mut(name) {
            *version = if name == SYSTEM { release(text) } else { number(text) };
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

/// The domain behind a program's name.
fn domain_of(program: &str) -> String {
    let is_one = |commands: &str| commands.split(',').any(|one| one.split('@').any(|name| name == program));
    let found = COMMANDS.iter().chain([&OFFICE]).find(|(_, commands)| is_one(commands));
    found.map_or(program, |(domain, _)| *domain).to_owned()
}

/// What a browser that runs says of itself.
async fn running_browser(machine: &dyn Machine) -> Option<String> {
    let way = machine.dial(BROWSER_PORT).await.ok()?;
    let body = ask(way.address, Ask::get("/json/version")).await.ok()?;
    let told: Value = serde_json::from_slice(&body).ok()?;
    number(told.get("Browser")?.as_str()?.split_once('/')?.1)
}

/// The makers' version in a package's: without an epoch before it, and without what a distribution adds. What a world
/// says is put before models, so only letters, digits and dots are taken, and none of it is a word.
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
    let sound = starts(&version) && version.len() <= LONGEST && letters <= 8;
    sound.then(|| version.to_owned())
}

/// A system's name and number, as `debian-12`.
fn release(text: &str) -> Option<String> {
    let text = text.trim();
    let (name, number) = text.rsplit_once('-')?;
    let plain = number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    (SkillId::is_slug(name) && plain && !number.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}
