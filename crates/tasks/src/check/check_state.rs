//! Tells after each batch of actions whether something that a check reads has changed, as far as that is cheap: files,
//! and the addresses of open pages. Only hashes are kept, and only whether they differ is told.

use std::time::Duration;

use apprentice_protocol::{Machine, MachineError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::getter::{GIMP_FOLDERS, is_written_late};
use crate::task::{CheckSpec, OneOrMany};
use crate::world_io::{CommandText, DEBUG_PORTS, HttpRequest, argv, ask, at_home};

/// Largest size of a watched file, in bytes. A larger one is not watched any more.
const MAX_FILE_BYTES: usize = 4 << 20;
/// Largest number of watched files.
const MAX_FILES: usize = 8;
/// Longest duration of one look. After a slower one, nothing is watched any more.
const LOOK_DEADLINE: Duration = Duration::from_millis(500);
/// Characters that make a word of a command more than a plain path.
const SHELL_SIGNS: &[char] =
    &['$', '*', '?', '`', '{', '}', '[', ']', '(', ')', ';', '|', '&', '<', '>', '\n'];

/// Something that a check reads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// A file.
    File(String),
    /// The addresses of the browser's open pages.
    Pages,
}

/// The state of a source: a hash of its content, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fingerprint {
    Content([u8; 32]),
    Absent,
    /// It cannot be read, or it is too large.
    Unknown,
}

/// Watches what a check reads. It holds no content.
#[derive(Debug)]
pub struct CheckedState {
    sources: Vec<Source>,
    /// Whether the sources are everything that the check reads.
    is_whole: bool,
    last: Option<Vec<Fingerprint>>,
}

impl CheckedState {
    /// Finds what can be watched of the actual results of a check. Expected results are not looked at.
    pub fn of(spec: &CheckSpec, machine: &dyn Machine) -> Self {
        let mut found = Self { sources: Vec::new(), is_whole: !spec.is_infeasible(), last: None };
        for getter in spec.result.iter().flat_map(OneOrMany::iter) {
            found.add(getter, machine);
        }
        if found.sources.len() > MAX_FILES {
            found.sources.truncate(MAX_FILES);
            found.is_whole = false;
        }
        found
    }

    /// Returns whether there is nothing to watch.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Looks at the sources. Returns whether one of them changed since the last look; `None` if unknown, as at the
    /// first look.
    pub async fn look(&mut self, machine: &dyn Machine) -> Option<bool> {
        if self.sources.is_empty() {
            return None;
        }
        let looked = tokio::time::timeout(LOOK_DEADLINE, fingerprints(&self.sources, machine)).await;
        let Ok(now) = looked else {
            // A slow machine must not slow the attempt down any further.
            self.sources.clear();
            return None;
        };
        let last = self.last.replace(now.clone());
        changed(&last?, &now, self.is_whole)
    }

    fn add(&mut self, getter: &Value, machine: &dyn Machine) {
        let text = |field: &str| getter.get(field).and_then(Value::as_str);
        let name = text("type").unwrap_or_default();
        let paths: Vec<String> = match name {
            "rule" | "cache_file" => Vec::new(),
            "vm_file" => match getter.get("path") {
                Some(Value::String(path)) => vec![path.clone()],
                Some(Value::Array(paths)) => {
                    paths.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => Vec::new(),
            },
            "gimp_config_file" => {
                let file = text("file_name").unwrap_or_default();
                GIMP_FOLDERS.iter().map(|folder| format!("~/{folder}/{file}")).collect()
            }
            "vlc_config" => vec!["~/.config/vlc/vlcrc".to_owned()],
            "vm_command_line" | "vm_command_error" => {
                // A command may read more than the files it names.
                self.is_whole = false;
                named_files(getter)
            }
            "open_tabs_info"
            | "active_url_from_accessTree"
            | "active_tab_url_parse"
            | "url_dashPart"
            | "active_tab_info"
            | "active_tab_html_parse" => {
                // The addresses tell nothing about which tab is active, nor about the content of a page.
                self.is_whole = false;
                self.sources.push(Source::Pages);
                Vec::new()
            }
            _ => {
                self.is_whole = false;
                Vec::new()
            }
        };
        for path in paths.iter().map(|path| at_home(machine, path)) {
            if is_written_late(&path) {
                // A later step would seem to have made the change.
                self.is_whole = false;
            } else {
                self.sources.push(Source::File(path));
            }
        }
        let mut known: Vec<Source> = Vec::new();
        self.sources.retain(|source| {
            let is_new = !known.contains(source);
            known.push(source.clone());
            is_new
        });
    }
}

/// Returns the absolute paths that a command names as plain words.
fn named_files(getter: &Value) -> Vec<String> {
    let command = getter.get("command").cloned().unwrap_or_default();
    let Ok(command) = serde_json::from_value::<CommandText>(command) else { return Vec::new() };
    let words = argv(&command, false).unwrap_or_default();
    let split = |word: &String| {
        if word.contains(' ') { shlex::split(word).unwrap_or_default() } else { vec![word.clone()] }
    };
    let is_path = |word: &String| {
        (word.starts_with('/') || word.starts_with("~/")) && word.len() > 1 && !word.contains(SHELL_SIGNS)
    };
    words.iter().flat_map(split).filter(is_path).collect()
}

async fn fingerprints(sources: &[Source], machine: &dyn Machine) -> Vec<Fingerprint> {
    let mut found = Vec::with_capacity(sources.len());
    for source in sources {
        found.push(match source {
            Source::File(path) => file(path, machine).await,
            Source::Pages => pages(machine).await,
        });
    }
    found
}

async fn file(path: &str, machine: &dyn Machine) -> Fingerprint {
    match machine.read(path).await {
        Ok(bytes) if bytes.len() <= MAX_FILE_BYTES => Fingerprint::Content(Sha256::digest(&bytes).into()),
        Err(MachineError::NotFound(_)) => Fingerprint::Absent,
        Ok(_) | Err(_) => Fingerprint::Unknown,
    }
}

/// Hashes the addresses of the open pages, in the browser's order of use made independent of it.
async fn pages(machine: &dyn Machine) -> Fingerprint {
    for port in DEBUG_PORTS {
        let Ok(endpoint) = machine.dial(*port).await else { return Fingerprint::Unknown };
        let Ok(body) = ask(endpoint.address, HttpRequest::get("/json/list")).await else { continue };
        let targets: Value = serde_json::from_slice(&body).unwrap_or_default();
        let page = |target: &&Value| target["type"] == "page";
        let mut urls: Vec<&str> = targets
            .as_array()
            .into_iter()
            .flatten()
            .filter(page)
            .filter_map(|page| page["url"].as_str())
            .collect();
        urls.sort_unstable();
        return Fingerprint::Content(Sha256::digest(urls.join("\n")).into());
    }
    Fingerprint::Absent
}

/// Compares two looks: a change of one source is a change; that nothing changed is known only if all sources are known
/// and are everything that the check reads.
fn changed(before: &[Fingerprint], after: &[Fingerprint], is_whole: bool) -> Option<bool> {
    let unknown = |one: &Fingerprint| *one == Fingerprint::Unknown;
    let differs =
        |(one, other): (&Fingerprint, &Fingerprint)| !unknown(one) && !unknown(other) && one != other;
    if before.iter().zip(after).any(differs) {
        return Some(true);
    }
    let is_known = is_whole && !before.iter().chain(after).any(unknown);
    is_known.then_some(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fingerprint, changed, named_files};

    #[test]
    fn a_command_names_files_as_plain_words() {
        let names = |command: serde_json::Value| named_files(&json!({"command": command}));
        assert_eq!(names(json!(["sh", "-c", "cat /home/user/a.txt"])), ["/home/user/a.txt"]);
        assert_eq!(
            names(json!(["sh", "-c", "grep -s '^x=' '/home/user/my notes'"])),
            ["/home/user/my notes"]
        );
        assert_eq!(names(json!("tail -n 1 ~/log")), ["~/log"]);
        assert!(names(json!(["sh", "-c", "cat \"$(ls -t /home/user/a*.json | head -n 1)\""])).is_empty());
        assert!(names(json!(["sh", "-c", "cat /a; /b*"])).is_empty());
        assert!(names(json!({"odd": 1})).is_empty());
    }

    #[test]
    fn a_change_is_known_from_one_source_and_rest_only_from_all() {
        let (one, other) = (Fingerprint::Content([1; 32]), Fingerprint::Content([2; 32]));
        let (absent, unknown) = (Fingerprint::Absent, Fingerprint::Unknown);
        assert_eq!(changed(&[one, absent], &[one, other], false), Some(true));
        assert_eq!(changed(&[one, absent], &[one, absent], true), Some(false));
        assert_eq!(changed(&[one, absent], &[one, absent], false), None);
        assert_eq!(changed(&[one, unknown], &[one, other], true), None);
        assert_eq!(changed(&[one, unknown], &[other, unknown], true), Some(true));
    }
}
