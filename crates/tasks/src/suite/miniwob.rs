//! Creates a suite from MiniWoB++: its pages are served inside the world, and each page reports how its episode
//! ended.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The instruction given to the model; the task itself is on the page.
const INSTRUCTION: &str = include_str!("prompts/miniwob.md");
const SERVER: &str = include_str!("miniwob.py");
/// The folder of the pages inside the package.
const PACKAGE: &str = "miniwob/html/";
/// A file required by all pages; its presence identifies the package.
const CORE: &str = "core/core.js";
/// Limit on the total size of all files, in bytes.
const LIMIT: u64 = 256 << 20;

/// The reason the suite was not created.
#[derive(Debug, thiserror::Error)]
pub enum MiniwobError {
    /// A file or folder cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The wheel is not a valid archive.
    #[error("{} is not a valid wheel", path.display())]
    Archive {
        /// The wheel.
        path: PathBuf,
        /// The cause.
        #[source]
        source: zip::result::ZipError,
    },
    /// The source has no pages.
    #[error("{} holds no {CORE}: name the wheel of the package `miniwob`, or the folder of its pages", .0.display())]
    NoPages(PathBuf),
    /// The source is larger than the package can be.
    #[error("{} holds more than {LIMIT} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The target folder is not empty.
    #[error("{} is not empty; name a new folder with --to", .0.display())]
    Taken(PathBuf),
}

type Pages = BTreeMap<String, Vec<u8>>;

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> MiniwobError {
    let path = path.to_owned();
    move |source| MiniwobError::Io { path, source }
}

/// Writes a suite of all pages of a wheel or a folder into a new folder and returns the number of tasks. Each
/// episode ends by itself after `seconds`.
pub fn add(from: &Path, to: &Path, seconds: u32) -> Result<usize, MiniwobError> {
    let pages = if from.is_dir() { read_folder(from)? } else { read_wheel(from)? };
    if !pages.contains_key(CORE) {
        return Err(MiniwobError::NoPages(from.to_owned()));
    }
    if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(MiniwobError::Taken(to.to_owned()));
    }
    let (tasks, files) = (to.join("examples/miniwob"), to.join("files"));
    for folder in [&tasks, &files] {
        fs::create_dir_all(folder).map_err(io_error(folder))?;
    }
    let ids: BTreeMap<String, &str> =
        pages.keys().filter_map(|page| Some((id(page)?, page.as_str()))).collect();
    for (id, page) in &ids {
        write(&tasks.join(format!("{id}.json")), &pretty(&task(id, page, seconds)))?;
    }
    write(&files.join("serve.py"), SERVER.as_bytes())?;
    pack(&files.join("pages.tar"), &pages)?;
    let names: Vec<&String> = ids.keys().collect();
    write(&to.join("suite.json"), &pretty(&json!({ "miniwob": names })))?;
    Ok(ids.len())
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), MiniwobError> {
    fs::write(path, bytes).map_err(io_error(path))
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

fn read_wheel(path: &Path) -> Result<Pages, MiniwobError> {
    let bad = |source| MiniwobError::Archive { path: path.to_owned(), source };
    let mut archive = zip::ZipArchive::new(File::open(path).map_err(io_error(path))?).map_err(bad)?;
    let (mut pages, mut size) = (Pages::new(), 0_u64);
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(bad)?;
        let name = entry.name().map_err(bad)?;
        let Some(name) = name.strip_prefix(PACKAGE).map(str::to_owned) else { continue };
        let plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !plain || entry.is_dir() {
            continue;
        }
        let mut bytes = Vec::new();
        entry.take(LIMIT - size + 1).read_to_end(&mut bytes).map_err(io_error(path))?;
        size += bytes.len() as u64;
        if size > LIMIT {
            return Err(MiniwobError::TooLarge(path.to_owned()));
        }
        pages.insert(name, bytes);
    }
    Ok(pages)
}

fn read_folder(from: &Path) -> Result<Pages, MiniwobError> {
    let root = [from.to_owned(), from.join("html"), from.join("miniwob/html")];
    let root = root.into_iter().find(|root| root.join(CORE).is_file());
    let root = root.ok_or_else(|| MiniwobError::NoPages(from.to_owned()))?;
    let (mut pages, mut size, mut folders) = (Pages::new(), 0_u64, vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(io_error(&folder))? {
            let entry = entry.map_err(io_error(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(io_error(&folder))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                size += entry.metadata().map_err(io_error(&path))?.len();
                if size > LIMIT {
                    return Err(MiniwobError::TooLarge(root));
                }
                let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
                pages.insert(name, fs::read(&path).map_err(io_error(&path))?);
            }
        }
    }
    Ok(pages)
}

/// Packs all files into one tar archive, byte-for-byte reproducibly.
fn pack(path: &Path, pages: &Pages) -> Result<(), MiniwobError> {
    let mut archive = tar::Builder::new(File::create(path).map_err(io_error(path))?);
    for (name, bytes) in pages {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("html/{name}"), &bytes[..]).map_err(io_error(path))?;
    }
    archive.finish().map_err(io_error(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{INSTRUCTION, MiniwobError, add};
    use crate::suite::load;
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
        assert!(matches!(add(&from, &to, 600), Err(MiniwobError::Taken(_))));
        fs::remove_file(from.join("core/core.js")).expect("removed");
        assert!(matches!(add(&from, &to, 600), Err(MiniwobError::NoPages(_))));
    }

    #[test]
    fn what_a_model_is_told() {
        insta::assert_snapshot!(INSTRUCTION.trim_end(), @"A page is open in the browser. Do what the text in its coloured field asks for. The page ends the task by itself: as soon as the word START covers it, you are done.");
    }
}
