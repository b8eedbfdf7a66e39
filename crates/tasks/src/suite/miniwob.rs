//! Creates a suite from MiniWoB++: its pages are served inside the world, and each page reports how its episode
//! ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use apprentice_protocol::EnvironmentKind;
use serde_json::{Value, json};

use super::conversion::{ConversionError, Files, NewSuite, read_folder, read_wheel};

/// The instruction given to the model; the task itself is on the page.
const INSTRUCTION: &str = include_str!("prompts/miniwob.md");
const SERVER: &str = include_str!("miniwob.py");
/// The folder of the pages inside the package.
const PACKAGE: &str = "miniwob/html/";
/// A file required by all pages; its presence identifies the package.
const CORE: &str = "core/core.js";

/// Where a world keeps the pages, and what they tell.
const PLACE: &str = "/home/user/.miniwob";

/// How pages become tasks.
#[derive(Clone, Debug)]
pub struct MiniwobOptions {
    /// The wheel of the package `miniwob`, or the folder of its pages.
    pub from: PathBuf,
    /// The kind of world: a page in a browser's window on a desktop, or in a browser world.
    pub environment: EnvironmentKind,
    /// Seconds after which an episode ends by itself.
    pub seconds: u32,
}

/// Writes a suite of all pages into a new folder and returns the number of tasks.
///
/// # Errors
///
/// Fails if the wheel cannot be read or holds no pages, or if `to` is not empty.
pub fn add(options: &MiniwobOptions, to: &Path) -> Result<usize, ConversionError> {
    let from = options.from.as_path();
    let pages = if from.is_dir() { read_pages(from)? } else { read_wheel(from, PACKAGE)? };
    if !pages.contains_key(CORE) {
        return Err(no_pages(from));
    }
    let mut suite = NewSuite::begin(to)?;
    let ids: BTreeMap<String, &str> =
        pages.keys().filter_map(|page| Some((id(page)?, page.as_str()))).collect();
    for (id, page) in &ids {
        suite.add("miniwob", id, &task(id, page, options))?;
    }
    suite.write("files/serve.py", SERVER.as_bytes())?;
    let below = |(name, file): (&String, &_)| (format!("html/{name}"), Clone::clone(file));
    suite.pack("files/pages.tar", &pages.iter().map(below).collect())?;
    suite.finish()?;
    Ok(ids.len())
}

fn no_pages(from: &Path) -> ConversionError {
    let what = "core/core.js: name the wheel of the package `miniwob`, or the folder of its pages";
    ConversionError::Nothing { path: from.to_owned(), what }
}

/// Reads the pages of a folder, which may hold them further below.
fn read_pages(from: &Path) -> Result<Files, ConversionError> {
    let root = [from.to_owned(), from.join("html"), from.join("miniwob/html")];
    let root = root.into_iter().find(|root| root.join(CORE).is_file());
    read_folder(&root.ok_or_else(|| no_pages(from))?)
}

/// Returns the task id of a page; `None` for other files.
fn id(page: &str) -> Option<String> {
    let parts: Vec<&str> = page.split('/').collect();
    match parts.as_slice() {
        ["miniwob", file] => file.strip_suffix(".html").map(str::to_owned),
        ["flight", name, "wrapper.html"] => Some(format!("flight-{name}")),
        _ => None,
    }
}

fn task(id: &str, page: &str, options: &MiniwobOptions) -> Value {
    let (place, seconds) = (PLACE, options.seconds);
    let server = format!("{place}/serve.py");
    let started = format!("{place}/started.json");
    let step = |kind: &str, parameters: Value| json!({"type": kind, "parameters": parameters});
    let run = |command: Value| step("execute", json!({"command": command, "until": {"returncode": 0}}));
    let address = format!("http://127.0.0.1:8123/{page}");
    let open = if options.environment == EnvironmentKind::Browser {
        step("chrome_open_tabs", json!({"urls_to_open": [address]}))
    } else {
        step("launch", json!({"command": window(&address)}))
    };
    json!({
        "id": id,
        "instruction": INSTRUCTION.trim_end(),
        "source": "MiniWoB++",
        "related_apps": ["chromium"],
        "config": [
            step("upload_file", json!({"files": [
                {"local_path": "files/pages.tar", "path": format!("{place}/pages.tar")},
                {"local_path": "files/serve.py", "path": server},
            ]})),
            run(json!(["tar", "-xf", format!("{place}/pages.tar"), "-C", place])),
            run(json!(["python3", server, page, "--seed={{seed}}", format!("--seconds={seconds}")])),
            open,
            run(json!(["test", "-e", started])),
        ],
        "evaluator": {
            "func": "check_json",
            "result": {"type": "vm_file", "path": format!("{place}/result.json"), "dest": "result.json"},
            "expected": {"type": "rule", "rules": {"expect": [
                {"key": ["done"], "method": "eq", "ref": true},
                {"key": ["raw_reward"], "method": "gt", "ref": 0},
            ]}},
        },
        "apprentice": {
            "environment": options.environment,
            "template": id,
            "screen": {"width": 800, "height": 600},
            "limits": {"world_steps": 30, "turns": 45, "working_s": 600},
            "programs": ["chromium", "python3"],
            "vary": {"seed": {"integer": [0, 1_000_000]}},
        },
    })
}

/// The command that shows a page in a window of its own.
fn window(address: &str) -> Value {
    json!([
        "chromium",
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--force-renderer-accessibility",
        "--window-position=0,0",
        "--window-size={SCREEN_WIDTH},{SCREEN_HEIGHT}",
        format!("--app={address}"),
    ])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use apprentice_protocol::EnvironmentKind;
    use serde_json::Value;

    use super::{INSTRUCTION, MiniwobOptions, add};
    use crate::suite::{ConversionError, load};
    use crate::variation::vary;

    #[test]
    fn pages_become_tasks_that_load() {
        let place = tempfile::tempdir().expect("a folder");
        let (from, to) = (place.path().join("html"), place.path().join("suite"));
        for (name, text) in
            [("core/core.js", "var core"), ("miniwob/click.html", "<p>"), ("flight/AA/wrapper.html", "<p>")]
        {
            fs::create_dir_all(from.join(name).parent().expect("a folder")).expect("made");
            fs::write(from.join(name), text).expect("written");
        }
        let options =
            |from: &Path, environment| MiniwobOptions { from: from.to_owned(), environment, seconds: 600 };
        let desktop = options(place.path(), EnvironmentKind::Desktop);
        assert_eq!(add(&desktop, &to).expect("made"), 2);
        let suite = load(&to).expect("loads");
        let ids: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["click", "flight-AA"]);
        let varied = vary(&suite.tasks[0], &suite.name, 0).expect("varies");
        let command = varied.task.config[2].parameters["command"].to_string();
        assert!(varied.varies && command.contains("--seed=") && !command.contains("{{"), "{command}");
        let browser = options(&from, EnvironmentKind::Browser);
        assert!(matches!(add(&browser, &to), Err(ConversionError::Taken(_))));
        let other = place.path().join("other");
        assert_eq!(add(&browser, &other).expect("made"), 2);
        let opens = |suite: &Path| -> Value {
            let suite = load(suite).expect("loads");
            suite.tasks[0].config[3].kind.clone().into()
        };
        assert_eq!((opens(&to), opens(&other)), ("launch".into(), "chrome_open_tabs".into()));
        fs::remove_file(from.join("core/core.js")).expect("removed");
        assert!(matches!(add(&browser, &to), Err(ConversionError::Nothing { .. })));
    }

    #[test]
    fn what_a_model_is_told() {
        insta::assert_snapshot!(INSTRUCTION.trim_end(), @"A page is open in the browser. Do what the text in its coloured field asks for. The page ends the task by itself: as soon as the word START covers it, you are done.");
    }
}
