//! The setup step types, parsed from task files with OSWorld's names and its tolerance for loose types.

use apprentice_metrics::is_truthy;
use apprentice_protocol::nearest;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::task::SetupStep;
use crate::world_io::{CommandText, argv, programs_started};

/// Names of the supported step types. `write_file`, `await_window` and `browser_state` are additions; the others are OSWorld's.
pub const STEPS: &[&str] = &[
    "download",
    "upload_file",
    "write_file",
    "launch",
    "open",
    "execute",
    "command",
    "activate_window",
    "close_window",
    "await_window",
    "sleep",
    "chrome_open_tabs",
    "chrome_close_tabs",
    "update_browse_history",
    "change_wallpaper",
    "execute_with_verification",
    "browser_state",
];

/// The parameters that each step type reads.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("download", &["files"]),
    ("upload_file", &["files"]),
    ("write_file", &["path", "content"]),
    ("launch", &["command", "shell", "window"]),
    ("open", &["path"]),
    ("execute", &["command", "shell", "stdout", "stderr", "until"]),
    ("command", &["command", "shell", "stdout", "stderr", "until"]),
    ("activate_window", &["window_name", "strict", "by_class"]),
    ("close_window", &["window_name", "strict", "by_class"]),
    ("await_window", &["names", "size"]),
    ("sleep", &["seconds"]),
    ("chrome_open_tabs", &["urls_to_open"]),
    ("chrome_close_tabs", &["urls_to_close", "urls_to_open"]),
    ("update_browse_history", &["history"]),
    ("change_wallpaper", &["path"]),
    ("execute_with_verification", &["command", "shell", "verification", "max_wait_time"]),
    ("browser_state", &["local_path"]),
];

/// Returns what is wrong with the names of a step's parameters. Later versions of OSWorld's format add some, so that in
/// its tasks only a name that is like a known one is a fault.
pub(crate) fn unknown_parameters(step: &SetupStep, is_own: bool) -> Vec<String> {
    let Some((kind, known)) = PARAMETERS.iter().find(|(kind, _)| *kind == step.kind) else {
        return Vec::new();
    };
    let unknown =
        step.parameters.keys().filter(|name| !known.contains(&name.as_str()) && !name.starts_with('_'));
    let fault = |name: &String| {
        let like = nearest(name, known.iter().copied().filter(|one| !step.parameters.contains_key(*one)));
        let message = format!("setup step {kind:?}: unknown parameter {name:?}");
        match like {
            Some(like) => Some(format!("{message}; did you mean {like:?}?")),
            None if is_own => Some(format!("{message}; it has {}", known.join(", "))),
            None => None,
        }
    };
    unknown.filter_map(fault).collect()
}

/// Returns the programs that a step starts, as far as its command line says so.
pub(crate) fn programs_of_step(step: &SetupStep) -> Vec<String> {
    let words = match Step::read(step) {
        Some(Ok(Step::Launch(launch))) => argv(&launch.command, launch.shell),
        Some(Ok(Step::Execute(execute))) => argv(&execute.command, execute.shell),
        Some(Ok(Step::Verify(verified))) => argv(&verified.command, verified.shell),
        _ => None,
    };
    words.as_deref().map(programs_started).unwrap_or_default()
}

/// OSWorld's step types that are not supported, with the reason.
pub const KNOWN_STEPS: &[(&str, &str)] = &[
    ("googledrive", "it needs a Google account"),
    ("login", "it needs a Google account"),
    ("proxy", "it needs the proxy of the suite's authors"),
    ("tidy_desktop", "upstream does not implement it either"),
    ("act", "upstream does not implement it either"),
    ("replay", "upstream does not implement it either"),
];

/// `execute` and `command`. Unknown parameters are ignored, since later versions of the format add some.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Execute {
    pub(crate) command: CommandText,
    #[serde(default, deserialize_with = "truth")]
    pub(crate) shell: bool,
    /// Name of the cache file that receives standard output.
    #[serde(default)]
    pub(crate) stdout: String,
    /// Name of the cache file that receives standard error.
    #[serde(default)]
    pub(crate) stderr: String,
    /// The command is repeated until this holds.
    #[serde(default)]
    pub(crate) until: Option<Until>,
}

/// The conditions `execute` waits for. One of those given must hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Until {
    #[serde(default)]
    pub(crate) returncode: Option<i32>,
    #[serde(default)]
    pub(crate) stdout: Option<String>,
    #[serde(default)]
    pub(crate) stderr: Option<String>,
}

/// `launch`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Launch {
    pub(crate) command: CommandText,
    #[serde(default, deserialize_with = "truth")]
    pub(crate) shell: bool,
    /// Ours: waits until a window with this text in its title or class exists.
    #[serde(default)]
    pub(crate) window: Option<String>,
}

/// `activate_window` and `close_window`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct WindowChoice {
    pub(crate) window_name: String,
    #[serde(default, deserialize_with = "truth")]
    pub(crate) strict: bool,
    #[serde(default, deserialize_with = "truth")]
    pub(crate) by_class: bool,
}

/// `await_window`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AwaitedWindow {
    /// Texts of which its title or class holds one, in any case; any window if there are none.
    pub(crate) names: Vec<String>,
    /// The least width and height.
    #[serde(default)]
    pub(crate) size: (i32, i32),
}

/// One entry of `download`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Download {
    pub(crate) url: String,
    pub(crate) path: String,
}

/// One entry of `upload_file`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Upload {
    pub(crate) local_path: String,
    pub(crate) path: String,
}

/// `execute_with_verification`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct VerifiedExecute {
    pub(crate) command: CommandText,
    #[serde(default, deserialize_with = "truth")]
    pub(crate) shell: bool,
    #[serde(default)]
    pub(crate) verification: Verification,
    /// The maximum wait, in seconds.
    #[serde(default = "ten")]
    pub(crate) max_wait_time: f64,
}

/// The conditions to wait for. All that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Verification {
    #[serde(default)]
    pub(crate) window_exists: Option<String>,
    #[serde(default)]
    pub(crate) command_success: Option<String>,
}

fn ten() -> f64 {
    10.0
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Tabs {
    #[serde(alias = "urls_to_close")]
    urls_to_open: Vec<String>,
}

/// One entry of `update_browse_history`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct HistoryVisit {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) visit_time_from_now_in_seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct History {
    history: Vec<HistoryVisit>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Files<T> {
    files: Vec<T>,
}

/// `write_file`: writes text into a file of the world.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// `browser_state`: gives the browser the cookies and the stored values of a file that Playwright saved.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserState {
    pub(crate) local_path: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Pause {
    seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Open {
    path: String,
}

/// A parsed step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Download(Vec<Download>),
    Upload(Vec<Upload>),
    Write(WriteFile),
    Launch(Launch),
    Open(String),
    Execute(Execute),
    Activate(WindowChoice),
    Close(WindowChoice),
    Await(AwaitedWindow),
    Sleep(f64),
    OpenTabs(Vec<String>),
    CloseTabs(Vec<String>),
    AddHistory(Vec<HistoryVisit>),
    Wallpaper(String),
    Verify(VerifiedExecute),
    BrowserState(BrowserState),
}

impl Step {
    /// Parses a step; `None` for an unknown type.
    pub(crate) fn read(step: &SetupStep) -> Option<Result<Self, serde_json::Error>> {
        Some(match step.kind.as_str() {
            "download" => parameters(step).map(|Files { files }| Self::Download(files)),
            "upload_file" => parameters(step).map(|Files { files }| Self::Upload(files)),
            "write_file" => parameters(step).map(Self::Write),
            "launch" => parameters(step).map(Self::Launch),
            "open" => parameters(step).map(|Open { path }| Self::Open(path)),
            "execute" | "command" => parameters(step).map(Self::Execute),
            "activate_window" => parameters(step).map(Self::Activate),
            "close_window" => parameters(step).map(Self::Close),
            "await_window" => parameters(step).map(Self::Await),
            "sleep" => parameters(step).map(|Pause { seconds }| Self::Sleep(seconds)),
            "chrome_open_tabs" => parameters(step).map(|Tabs { urls_to_open }| Self::OpenTabs(urls_to_open)),
            "chrome_close_tabs" => {
                parameters(step).map(|Tabs { urls_to_open }| Self::CloseTabs(urls_to_open))
            }
            "update_browse_history" => parameters(step).map(|History { history }| Self::AddHistory(history)),
            "change_wallpaper" => parameters(step).map(|Open { path }| Self::Wallpaper(path)),
            "execute_with_verification" => parameters(step).map(Self::Verify),
            "browser_state" => parameters(step).map(Self::BrowserState),
            _ => return None,
        })
    }
}

fn parameters<T: serde::de::DeserializeOwned>(step: &SetupStep) -> Result<T, serde_json::Error> {
    T::deserialize(Value::Object(Map::clone(&step.parameters)))
}

/// A flag as OSWorld's files write it: a boolean, or any non-empty text other than "false".
pub(crate) fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(is_truthy(&Value::deserialize(deserializer)?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Step;
    use crate::task::SetupStep;

    fn step(kind: &str, parameters: Value) -> SetupStep {
        let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
        SetupStep { kind: kind.into(), parameters }
    }

    #[test]
    fn flags_may_be_texts() {
        let read = Step::read(&step("launch", json!({"command": "a b", "shell": "true"})));
        let Some(Ok(Step::Launch(launch))) = read else { panic!("{read:?}") };
        assert!(launch.shell);
        assert!(Step::read(&step("googledrive", json!({}))).is_none());
        assert!(matches!(Step::read(&step("sleep", json!({"seconds": "x"}))), Some(Err(_))));
    }
}
