//! A suite of OpenComputer's form: converted by the evaluation code of a small clone of our own, and graded by its verifier in a world.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, rows, text, worlds_can_start};
use crate::starter::is_installed;

/// The evaluation code of the clone, in files of the names that upstream's has.
const CODE: [(&str, &str); 7] = [
    (
        "computer_env/backends/base.py",
        "class CommandExitException(RuntimeError):\n    def __init__(self, command, exit_code):\n        self.command = command\n",
    ),
    (
        "evaluation/apps/launcher_contract.py",
        "class Wrapper:\n    name, target, base_args = 'editor', '/usr/bin/mousepad', ('--disable-server',)\n\nWRAPPER_SPECS = (Wrapper,)\n",
    ),
    (
        "computer_env/provision/docker/entrypoint.sh",
        "seed_editor_profile() {\n  if true; then\n    mkdir -p ~/seeded\n  fi\n}\n\nseed_other_profile() {\n  exit 1\n}\nexec sleep 1\n",
    ),
    (
        "evaluation/runtime/run_config.py",
        "DISPLAY_WIDTH, DISPLAY_HEIGHT, DEFAULT_MAX_ITERATIONS = 800, 600, 20\n",
    ),
    (
        "evaluation/apps/utils.py",
        "import shlex\n\nWINDOW_MIN_VISIBLE_WIDTH, WINDOW_MIN_VISIBLE_HEIGHT = 100, 50\n\n\
         def _normalized_window_tokens(context):\n    return [context.app_spec.app_id, 'mousepad']\n\n\
         def build_command(binary, *arguments):\n    return shlex.join([binary, *arguments])\n\n\
         def build_launcher_command(binary, *arguments):\n    return build_command(binary, *arguments)\n",
    ),
    (
        "evaluation/apps/registry.py",
        "from pathlib import Path\nfrom .utils import build_launcher_command\n\nROOT = Path(__file__).parents[2]\n\n\
         class Spec:\n\
         \x20   app_id, save_shortcut, save_window_name = 'editor', 'ctrl+s', None\n\
         \x20   verifier_local = ROOT / 'verifiers' / 'editor.py'\n\
         \x20   verifier_remote = '/home/user/verifiers/editor.py'\n\
         \x20   save_window_hints = {'class_tokens': ('mousepad',), 'name_tokens': ('.txt',), 'exact_name_penalty': ()}\n\n\
         def get_app_spec(name):\n    return {'editor': Spec}[name]\n\n\
         def command(task):\n    return build_launcher_command('/usr/local/bin/editor', task['env']['files'][0]['sandbox_path'])\n",
    ),
    (
        "evaluation/runtime/sandbox_session.py",
        "from types import SimpleNamespace\nfrom computer_env.backends.base import CommandExitException\n\
         from evaluation.apps.registry import command, get_app_spec\n\n\
         def create_env(**options):\n    raise RuntimeError('there is no such machine')\n\n\
         def upload_verifier(sandbox, name):\n    raise RuntimeError('not here')\n\n\
         def upload_task_env_files(sandbox, task):\n    raise RuntimeError('not here')\n\n\
         def wait_for_app_window_ready(context):\n    return False\n\n\
         def launch_app(context):\n    context.sandbox.commands.run(command(context.task), background=True)\n\n\
         def ready(sandbox):\n    for _ in range(3):\n\
         \x20       if sandbox.commands.run('pgrep -x mousepad', timeout=3).stdout.strip():\n            return True\n    return False\n\n\
         def setup_sandbox_session(name, task):\n\
         \x20   sandbox = create_env()\n    upload_verifier(sandbox, name)\n    upload_task_env_files(sandbox, task)\n\
         \x20   context = SimpleNamespace(sandbox=sandbox, app_spec=get_app_spec(name), task=task)\n\
         \x20   sandbox.files.write('/home/user/notes/made.txt', 'made')\n\
         \x20   try:\n        sandbox.commands.run('false', timeout=5)\n    except CommandExitException:\n        pass\n\
         \x20   launch_app(context)\n\
         \x20   if not ready(sandbox):\n        raise RuntimeError('not ready')\n\
         \x20   if not wait_for_app_window_ready(context):\n        raise RuntimeError('no window')\n\
         \x20   return context\n",
    ),
];

/// A verifier with a command that needs what no machine has.
const VERIFIER: &str = r#"import json, sys

def main(command, path, *rest):
    if command == "lacking":
        import module_that_nobody_has
    with open(path) as file:
        text = file.read()
    print(json.dumps({"text": text, "holds": rest[0] in text if rest else None}))
    sys.exit(1)

main(*sys.argv[1:])
"#;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// Writes a clone with a task for each of these checks, whose file holds `one`, and a task without its file.
fn write_clone(root: &Path, tasks: &[(&str, Value)]) {
    for (name, text) in CODE {
        write(root, name, text);
    }
    write(root, "verifiers/editor.py", VERIFIER);
    for (id, checks) in tasks {
        let task = json!({
            "id": id, "app": "editor", "task": "Write two.", "verification": checks,
            "env": {"files": [{"filename": "a b.txt", "sandbox_path": "/home/user/Documents/a b.txt"}]},
        });
        write(root, &format!("tasks/{id}/task.json"), &task.to_string());
        if *id != "fileless" {
            write(root, &format!("tasks/{id}/env/a b.txt"), "one");
        }
    }
}

const FILE: &str = "'/home/user/Documents/a b.txt'";

fn tasks() -> Vec<(&'static str, Value)> {
    let holds = |word: &str| json!({"command": format!("holds {FILE} {word}"), "key": "holds", "expected": true, "description": word});
    let text = json!({"command": format!("text {FILE}"), "eval": "'one' in result['text'] and result['text'].count('two') == 1"});
    let made =
        json!({"command": "holds /home/user/seeded/../notes/made.txt made", "key": "holds", "expected": 1});
    let failing = json!({"command": "holds /home/user/none.txt x", "key": "holds", "expected": true});
    vec![
        (
            "asked",
            json!([{"judge": "llm", "prompt": "Does it hold two?", "command": format!("text {FILE}")}]),
        ),
        ("fileless", json!([made])),
        ("half", json!([holds("two"), holds("three"), failing, made])),
        ("judged", json!([holds("two"), {"judge": "llm", "prompt": "Is it blue?", "description": "blue"}])),
        ("lacking", json!([{"command": format!("lacking {FILE}"), "key": "holds", "expected": true}])),
        ("right", json!([holds("two"), text, made])),
    ]
}

#[test]
fn tasks_of_opencomputer_are_graded_by_their_own_verifiers() {
    if !is_installed("python3") {
        return;
    }
    let place = Place::new();
    write_clone(&place.path("clone"), &tasks());
    let made = place.output(&["tasks", "add", "opencomputer", "--from", "clone", "--to", "suite"]);
    let said = text(&made.stdout);
    assert!(said.contains("5 tasks in suite"), "{said}{}", text(&made.stderr));
    assert!(said.contains("1 left out: fileless: its start file a b.txt is missing"), "{said}");
    assert!(said.contains("1 of them: a model has to judge a check by pictures of the screen"), "{said}");
    assert!(said.contains("1 of them: void without a model as judge (--judge MODEL)"), "{said}");
    let task = fs::read_to_string(place.path("suite/examples/editor/right.json")).expect("a task");
    assert!(task.contains("mousepad --disable-server '/home/user/Documents/a b.txt'"), "{task}");

    let needed = ["mousepad", "xdotool", "xprop"];
    if !needed.iter().all(|program| is_installed(program)) || !worlds_can_start() {
        return;
    }
    // What is typed is saved only by the step before the checks.
    let replies = [
        json!({"calls": [{"name": "computer", "arguments": {"actions": [{"do": "type", "text": "two "}]}}]}),
        json!({"calls": [{"name": "finish", "arguments": {"finish": "done"}}]}),
    ];
    let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
    write(&place.path(""), "replies", &lines.join("\n"));
    let model = format!("scripted:{}", place.path("replies").display());
    let verdict = json!({"reason": "The text holds it.", "verdict": "correct"}).to_string();
    write(&place.path(""), "judge", &json!({"say": verdict}).to_string());
    let judge = format!("scripted:{}", place.path("judge").display());
    let mut run = place.run_of(&place.path("suite"), &model);
    let status = run.args(["--judge", &judge]).status().expect("it starts");
    let said = format!("{status}: {}{}", place.text("stdout"), place.text("stderr"));
    let rows = rows(&place.run_folder());
    let graded: Vec<Value> =
        rows.iter().map(|row| json!([row["task"], row["verdict"], row["score"]])).collect();
    let expected = json!([
        ["asked", "pass", 1.0],
        ["half", "fail", 0.5],
        ["judged", "void", 0.0],
        ["lacking", "void", 0.0],
        ["right", "pass", 1.0],
    ]);
    let mut last = graded;
    last.sort_by_key(ToString::to_string);
    last.dedup();
    assert_eq!(json!(last), expected, "{said}\n{rows:#?}");
}

#[test]
fn a_clone_of_another_form_is_refused_with_the_file() {
    if !is_installed("python3") {
        return;
    }
    let place = Place::new();
    let add = |to: &str| {
        let made = place.output(&["tasks", "add", "opencomputer", "--from", "clone", "--to", to]);
        assert!(!made.status.success());
        text(&made.stderr).to_owned()
    };
    fs::create_dir_all(place.path("clone")).expect("made");
    assert!(add("a").contains("holds no clone of OpenComputer"));
    write_clone(&place.path("clone"), &tasks());
    write(&place.path("clone"), "evaluation/apps/registry.py", "get_spec = None\n");
    let said = add("b");
    assert!(said.contains("clone/evaluation/runtime") || said.contains("clone/evaluation"), "{said}");
    write(&place.path("clone"), "evaluation/runtime/sandbox_session.py", "");
    let said = add("c");
    assert!(
        said.contains("evaluation/runtime/sandbox_session.py: it has no setup_sandbox_session"),
        "{said}"
    );
}
