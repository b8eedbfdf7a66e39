//! Recognises what other benchmarks publish, so that it is named instead of being called a broken suite.

use std::fs;
use std::path::Path;

use serde_json::Value;

const ANDROID_WORLD: &str = "AndroidWorld, which is not supported: its tasks are Python over an Android emulator, and there is no \
    Android world here";
const MACOS_WORLD: &str =
    "macOSWorld, which is not supported: its tasks need macOS machines, and there is no macOS world here";
const WEB_ARENA: &str = "of WebArena's form; make a suite of it with `apprentice tasks add webarena --from`";
const HARBOR: &str = "of Harbor's form; make a suite of it with `apprentice tasks add harbor --from`";
const MINIWOB: &str = "MiniWoB++; make a suite of it with `apprentice tasks add miniwob --from`";

/// Says of which other suite a folder is.
pub(super) fn of_folder(folder: &Path) -> Option<&'static str> {
    let has = |name: &str| folder.join(name).exists();
    let below = || fs::read_dir(folder).into_iter().flatten().flatten();
    if has("android_world/task_evals") || has("task_evals/task_eval.py") {
        return Some(ANDROID_WORLD);
    }
    if has("testbench.py") && has("tasks")
        || first_json(&folder.join("tasks")).is_some_and(|task| is_macos(&task))
    {
        return Some(MACOS_WORLD);
    }
    if has("core/core.js") || has("html/core/core.js") || has("miniwob/html/core/core.js") {
        return Some(MINIWOB);
    }
    if has("task.toml") || below().any(|entry| entry.path().join("task.toml").is_file()) {
        return Some(HARBOR);
    }
    match first_json(folder)? {
        task if is_macos(&task) => Some(MACOS_WORLD),
        task if is_web_arena(&task) => Some(WEB_ARENA),
        _ => None,
    }
}

/// Says of which other suite a file is.
pub(super) fn of_file(text: &str) -> Option<&'static str> {
    let value: Value = serde_json::from_str(text).ok()?;
    let task = value.as_array().map_or(Some(&value), |list| list.first())?;
    if is_macos(task) {
        return Some(MACOS_WORLD);
    }
    is_web_arena(task).then_some(WEB_ARENA)
}

/// Reads the first JSON file of a folder by name, or of one folder below it.
fn first_json(folder: &Path) -> Option<Value> {
    let listed = |folder: &Path| {
        let mut all: Vec<_> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()).collect();
        all.sort_unstable();
        all
    };
    let is_json = |path: &Path| path.extension().is_some_and(|end| end == "json");
    let own = listed(folder);
    let found = own.iter().find(|path| is_json(path)).cloned();
    let found = found.or_else(|| own.iter().flat_map(|path| listed(path)).find(|path| is_json(path)))?;
    let value: Value = serde_json::from_str(&apprentice_files::read_to_string(found).ok()?).ok()?;
    match value {
        Value::Array(list) => list.into_iter().next(),
        other => Some(other),
    }
}

fn is_macos(task: &Value) -> bool {
    task.get("grading_command").is_some() && task.get("snapshot").is_some()
}

/// Returns whether a task has WebArena's form: an intent and how to evaluate it.
pub(super) fn is_web_arena(task: &Value) -> bool {
    task.get("intent").is_some() && task.pointer("/eval/eval_types").is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{of_file, of_folder};
    use crate::suite::{SuiteError, load};

    #[test]
    fn folders_of_other_suites_are_named() {
        let cases = [
            ("android_world/task_evals/task_eval.py", "x", "AndroidWorld"),
            ("tasks/advanced/a.json", r#"{"snapshot": {}, "grading_command": []}"#, "macOSWorld"),
            ("config/0.json", r#"{"intent": "x", "eval": {"eval_types": []}}"#, "WebArena"),
            ("one/task.toml", "", "Harbor"),
            ("html/core/core.js", "", "MiniWoB++"),
        ];
        for (name, text, expected) in cases {
            let place = tempfile::tempdir().expect("a folder");
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
            let error = load(place.path()).expect_err("no suite of ours");
            assert!(
                matches!(error, SuiteError::Foreign { what, .. } if what.contains(expected)),
                "{name}: {error}"
            );
        }
        let place = tempfile::tempdir().expect("a folder");
        assert_eq!(of_folder(place.path()), None);
        assert!(of_file(r#"[{"intent": "x", "eval": {"eval_types": []}}]"#).is_some());
        assert_eq!(of_file(r#"{"chrome": ["a"]}"#), None);
    }
}
