//! Creates a suite from MiniWoB++: its pages are served inside the world, and each page reports how its episode
//! ended.

use apprentice_protocol::Gather as _;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::conversion::{ConversionError, Files, NewSuite, read_folder, read_wheel};

/// The instruction given to the model; the task itself is on the page.
const INSTRUCTION: &str = include_str!("prompts/miniwob.md");
const SERVER: &str = include_str!("miniwob.py");
/// The folder of the pages inside the package.
const PACKAGE: &str = "miniwob/html/";
/// A file required by all pages; its presence identifies the package.
const CORE: &str = "core/core.js";

/// Writes a suite of all pages of a wheel or a folder into a new folder and returns the number of tasks. Each
/// episode ends by itself after `seconds`.
pub fn add(from: &Path, to: &Path, seconds: u32) -> Result<usize, ConversionError> {
    let pages = if from.is_dir() { read_pages(from)? } else { read_wheel(from, PACKAGE)? };
    if !pages.contains_key(CORE) {
        return Err(no_pages(from));
    }
    let mut suite = NewSuite::begin(to)?;
    let ids: BTreeMap<String, &str> =
        pages.keys().filter_map(|page| Some((id(page)?, page.as_str()))).gather();
    for (id, page) in &ids {
        suite.add("miniwob", id, &task(id, page, seconds))?;
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

fn task(id: &str, page: &str, seconds: u32) -> Value {
    let place = "/home/user/.miniwob";
    let server = format!("{place}/serve.py");
    let started = format!("{place}/started.json");
    let step = |kind: &str, parameters: Value| json!({"type": kind, "parameters": parameters});
    let browser = json!([
        "chromium",
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--force-renderer-accessibility",
        "--window-position=0,0",
        "--window-size={SCREEN_WIDTH},{SCREEN_HEIGHT}",
        format!("--app=http://127.0.0.1:8123/{page}"),
    ]);
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
            step("execute", json!({"command": ["tar", "-xf", format!("{place}/pages.tar"), "-C", place], "until": {"returncode": 0}})),
            step("launch", json!({"command": ["python3", server, page, "--seed={{seed}}", format!("--seconds={seconds}")]})),
            step("execute", json!({"command": ["python3", server, "ready"], "until": {"returncode": 0}})),
            step("launch", json!({"command": browser})),
            step("execute", json!({"command": ["test", "-e", started], "until": {"returncode": 0}})),
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
            "environment": "desktop",
            "template": id,
            "screen": {"width": 800, "height": 600},
            "limits": {"world_steps": 30, "turns": 45, "working_s": 600},
            "programs": ["chromium", "python3"],
            "vary": {"seed": {"integer": [0, 1_000_000]}},
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{INSTRUCTION, add};
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
        assert_eq!(add(place.path(), &to, 600).expect("made"), 2);
        let suite = load(&to).expect("loads");
        let ids: Vec<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["click", "flight-AA"]);
        let varied = vary(&suite.tasks[0], &suite.name, 0).expect("varies");
        let command = varied.task.config[2].parameters["command"].to_string();
        assert!(varied.varies && command.contains("--seed=") && !command.contains("{{"), "{command}");
        assert!(matches!(add(&from, &to, 600), Err(ConversionError::Taken(_))));
        fs::remove_file(from.join("core/core.js")).expect("removed");
        assert!(matches!(add(&from, &to, 600), Err(ConversionError::Nothing { .. })));
    }

    #[test]
    fn what_a_model_is_told() {
        insta::assert_snapshot!(INSTRUCTION.trim_end(), @"A page is open in the browser. Do what the text in its coloured field asks for. The page ends the task by itself: as soon as the word START covers it, you are done.");
    }
}
