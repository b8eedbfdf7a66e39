//! Faults of a task file that only a run would meet: placeholders, steps of solutions, getters' fields, missing files.

use std::path::Path;

use apprentice_protocol::{did_you_mean, nearest};
use serde_json::Value;

use crate::solution::{Script, ScriptError, VERBS};
use crate::task::{OneOrMany, Task};
use crate::variation::vary;

/// Variations that are tried: as many as a usual measurement runs.
const TRIED: u32 = 3;

/// Returns what a run of this task would meet. `root` is the base folder of the task's files.
pub fn faults(task: &Task, root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut add = |fault: String| {
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    };
    rules(task).into_iter().for_each(&mut add);
    for index in 0..if task.varies() { TRIED } else { 1 } {
        let varied = match vary(task, "check", index) {
            Ok(varied) => varied.task,
            Err(error) => {
                add(error.to_string());
                break;
            }
        };
        missing_files(&varied, root).into_iter().for_each(&mut add);
        let Some(ours) = &varied.apprentice else { continue };
        for (name, steps) in [("solution", &ours.solution), ("near_miss", &ours.near_miss)] {
            if let Err(error) = Script::read(steps) {
                add(format!("{name}: {error}{}", verb_hint(&error)));
            }
        }
    }
    faults
}

/// Getters of the type `rule` whose value stands under another name.
fn rules(task: &Task) -> Vec<String> {
    let both = [("result", &task.evaluator.result), ("expected", &task.evaluator.expected)];
    let mut faults = Vec::new();
    for (place, specs) in both {
        for spec in specs.iter().flat_map(OneOrMany::iter).filter_map(Value::as_object) {
            if spec.get("type").is_some_and(|kind| kind == "rule") && !spec.contains_key("rules") {
                let like = nearest("rules", spec.keys().map(String::as_str).filter(|key| *key != "type"));
                let hint = like.map_or(String::new(), |like| format!("; is {like:?} a typo of it?"));
                faults
                    .push(format!("evaluator.{place}: the getter \"rule\" needs the field \"rules\"{hint}"));
            }
        }
    }
    faults
}

/// Files to upload that are not there. Without our extension a path may lie on another machine.
fn missing_files(task: &Task, root: &Path) -> Vec<String> {
    let steps = task.config.iter().chain(&task.evaluator.postconfig);
    let listed = steps.filter(|step| step.kind == "upload_file" && task.apprentice.is_some());
    let files = listed.filter_map(|step| step.parameters.get("files").and_then(Value::as_array)).flatten();
    files
        .filter_map(|file| file.get("local_path").and_then(Value::as_str))
        .filter(|path| !root.join(path).is_file())
        .map(|path| format!("the file to upload is not there: {}", root.join(path).display()))
        .collect()
}

fn verb_hint(error: &ScriptError) -> String {
    let ScriptError::Form { step, .. } = error else { return String::new() };
    let verb = step.as_object().and_then(|step| step.keys().next());
    verb.filter(|verb| !VERBS.contains(&verb.as_str()))
        .map_or(String::new(), |verb| did_you_mean(verb, VERBS.iter().copied()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::faults;
    use crate::suite::load::read_task;

    const GOOD: &str = r#"{"id":"t","instruction":"Open {{file}}.","config":[
 {"type":"upload_file","parameters":{"files":[{"local_path":"files/a.txt","path":"/home/user/a.txt"}]}}],
 "evaluator":{"func":"exact_match","result":{"type":"rule","rules":1},"expected":{"type":"rule","rules":{"expected":1}}},
 "apprentice":{"environment":"desktop","template":"t","vary":{"file":["a","b"]},
  "solution":[{"click":{"name":"{{file}}"}}],"near_miss":[{"key":"ctrl+s"}]}}"#;

    #[test]
    fn what_a_run_would_meet_is_found_before_it() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("files")).expect("makes");
        std::fs::write(root.path().join("files/a.txt"), "a").expect("writes");
        let of = |text: &str| faults(&read_task(Path::new("t.json"), text).expect("loads"), root.path());
        assert_eq!(of(GOOD), [""; 0]);
        let messages: Vec<String> = [
            ("Open {{file}}", "Open {{fil}}"),
            ("{\"click\"", "{\"clik\""),
            ("\"rules\":{", "\"rule\":{"),
            ("files/a.txt", "files/b.txt"),
            ("ctrl+s", "ctrl+nokey"),
            ("[\"a\",\"b\"]", "[]"),
        ]
        .iter()
        .map(|(from, to)| of(&GOOD.replacen(from, to, 1)).join("; "))
        .map(|messages| messages.replace(&root.path().display().to_string(), "ROOT"))
        .collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        unknown placeholder {{fil}} in instruction; did you mean "file"?
        solution: step 0 must be one of click, double_click, right_click, hover, select with option, drag with to, key, type, scroll, wait_for, wait_gone, answer, give_up; found {"clik":{"name":"a"}}; did you mean "click"?
        evaluator.expected: the getter "rule" needs the field "rules"; is "rule" a typo of it?
        the file to upload is not there: ROOT/files/b.txt
        near_miss: step 0: unknown key "nokey" in chord "ctrl+nokey"; found {"key":"ctrl+nokey"}
        vary.file must be a list, a pick or an integer range: the list is empty
        "#);
    }
}
