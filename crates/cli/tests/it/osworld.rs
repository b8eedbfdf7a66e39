//! Tasks as OSWorld writes them, in a cell: its names of programs, its Python, its browser's profile.

use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, rows, text, worlds_can_start};
use crate::starter::is_installed;

/// A task in the form of the suite's files, without anything of our own.
#[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
fn task(config: Value, evaluator: Value) -> Value {
    json!({ "apprentice": null, "snapshot": "chrome", "config": config, "evaluator": evaluator })
}

/// A page that takes a click anywhere for a change of its address.
const PAGE: &str = "printf '<title>Page</title><body style=height:100vh onclick=location.hash=1><p class=price> 12 <b>EUR</b></p>' > /home/user/page.html";

/// A click in the middle, as the suite's tasks make it.
const CLICK: &str = "import pyautogui; import time; pyautogui.click({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT_HALF}); time.sleep(0.5)";

/// A terminal that opens by the keys that open one on the suite's machines.
fn terminal() -> Value {
    let shortcut = "import pyautogui; pyautogui.hotkey('ctrl', 'alt', 't')";
    task(
        json!([
            {"type": "execute", "parameters": {"command": ["python", "-c", shortcut]}},
            {"type": "activate_window", "parameters": {"window_name": "Terminal"}},
        ]),
        json!({
            "func": "check_include_exclude",
            "result": {"type": "vm_command_line", "command": ["wmctrl", "-lx"]},
            "expected": {"type": "rule", "rules": {"include": ["Terminal"], "exclude": []}},
        }),
    )
}

#[test]
fn a_cell_has_what_tasks_of_the_suite_expect() {
    if !worlds_can_start()
        || !["chromium", "python3", "xfce4-terminal"].iter().all(|program| is_installed(program))
    {
        return;
    }
    let launch = |words: &[&str]| json!({"type": "launch", "parameters": {"command": words}});
    let browser = launch(&["google-chrome", "--remote-debugging-port=1337"]);
    let relay = launch(&["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"]);
    let tabs = task(
        json!([
            {"type": "execute", "parameters": {"command": PAGE, "shell": "true"}},
            browser, relay,
            {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["file:///home/user/page.html"]}},
            {"type": "activate_window", "parameters": {"window_name": "Google Chrome"}},
            {"type": "execute", "parameters": {"command": ["python", "-c", CLICK]}},
        ]),
        json!({
            "func": ["is_expected_tabs", "match_in_list", "check_direct_json_object", "check_direct_json_object",
                     "is_added_to_steam_cart", "is_added_to_steam_cart"],
            "conj": "and",
            "result": [
                {"type": "open_tabs_info"}, {"type": "default_search_engine"},
                {"type": "active_tab_html_parse", "goto_prefix": "file://", "category": "class",
                 "class_singleObject": {"price": "all", "none": "none"}, "class_multiObject_child": {"price": {"0": "own"}}},
                {"type": "active_tab_html_parse", "goto_prefix": "file://", "category": "xpath",
                 "xpathObject": {"/html/body/p/b": "unit"}},
                {"type": "page_info", "url": "file:///home/user/page.html"},
                {"type": "active_tab_info", "goto_prefix": "file://"},
            ],
            "expected": [
                {"type": "rule", "rules": {"type": "url", "urls": ["file:///home/user/page.html#1"]}},
                {"type": "rule", "rules": {"expected": ["Google", "DuckDuckGo"]}},
                {"type": "rule", "rules": {"expected": {"all": "12 EUR", "own": "12", "none": ""}}},
                {"type": "rule", "rules": {"expected": {"unit": "EUR"}}},
                {"type": "rule", "rules": {"items": ["<b>EUR</b>", "<title>Page</title>"]}},
                {"type": "rule", "rules": {"items": ["<b>EUR</b>"]}},
            ],
        }),
    );
    let again = task(
        json!([browser, relay]),
        json!({
            "postconfig": [
                {"type": "activate_window", "parameters": {"window_name": "Gone.xlsx - LibreOffice Calc", "strict": true}},
                launch(&["pkill", "chrome"]), browser, {"type": "sleep", "parameters": {"seconds": 3}},
            ],
            "func": "exact_match",
            "result": {"type": "enable_do_not_track"},
            "expected": {"type": "rule", "rules": {"expected": "false"}},
        }),
    );
    let place = Place::new();
    let suite = place.suite(&[("tabs", tabs), ("again", again), ("terminal", terminal())]);
    let status = place.run_of(&suite, "baseline/noop").status().expect("it ends");
    let run = place.run_folder();
    for row in rows(&run) {
        assert_eq!(row["verdict"], "pass", "{row}\n{}", told(&run, &row, "\"kind\""));
    }
    assert_eq!((status.code(), rows(&run).len()), (Some(0), 3), "{}", place.text("stderr"));
}

#[test]
fn pages_that_are_empty_or_have_no_title_are_opened_without_waiting_for_more() {
    if !worlds_can_start() || !is_installed("chromium") {
        return;
    }
    let untitled = "file:///home/user/untitled.html";
    let mut tabs = task(
        json!([
            {"type": "execute", "parameters": {"command": "echo '<p>Text' > /home/user/untitled.html", "shell": true}},
            {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["about:blank", untitled]}},
        ]),
        json!({
            "func": "is_expected_tabs",
            "result": {"type": "open_tabs_info"},
            "expected": {"type": "rule", "rules": {"type": "url", "urls": ["about:blank", untitled]}},
        }),
    );
    tabs["apprentice"] = json!({"environment": "browser", "template": "tabs"});
    let place = Place::new();
    let suite = place.suite(&[("tabs", tabs)]);
    place.run_of(&suite, "baseline/noop").status().expect("it ends");
    let (run, rows) = (place.run_folder(), rows(&place.run_folder()));
    assert_eq!(rows[0]["verdict"], "pass", "{}\n{}", rows[0], place.text("stderr"));
    let opened: Value = serde_json::from_str(&told(&run, &rows[0], "chrome_open_tabs")).expect("an event");
    // A minute is how long a page that never loads is waited for.
    let took = opened["data"]["took_ms"].as_u64().expect("a time");
    assert!(took < 50_000, "{opened}");
}

/// Every way to look into a browser's profile, none of which may pass.
fn profile(made: Value) -> Value {
    let asked = [
        ("default_search_engine", "exact_match", json!({"expected": "Google"})),
        ("enable_do_not_track", "exact_match", json!({"expected": "false"})),
        ("bookmarks", "is_expected_bookmarks", json!({"type": "bookmark_bar_folders_names", "names": []})),
        ("history", "check_history_deleted", json!({"type": "keywords", "keywords": ["x"]})),
        ("cookie_data", "is_cookie_deleted", json!({"type": "domains", "domains": ["x"]})),
        ("chrome_language", "exact_match", json!({"expected": "en-US"})),
        ("shortcuts_on_desktop", "is_shortcut_on_desktop", json!({"type": "name", "name": "x"})),
        ("list_directory", "exact_match", json!({"expected": ""})),
    ];
    let looks =
        asked.iter().map(|(getter, _, _)| json!({"type": getter, "dest": getter, "path": "/home/user/pipe"}));
    let rules = asked.iter().map(|(_, _, rules)| json!({"type": "rule", "rules": rules}));
    let evaluator = json!({
        "conj": "or",
        "func": asked.iter().map(|(_, func, _)| func).collect::<Vec<_>>(),
        "result": looks.collect::<Vec<_>>(),
        "expected": rules.collect::<Vec<_>>(),
    });
    task(made, evaluator)
}

/// The words of the last event of this kind of a row's trace.
fn told(run: &Path, row: &Value, kind: &str) -> String {
    let trace = run.join(row["trace"].as_str().expect("a trace")).join("events.jsonl");
    let text = std::fs::read_to_string(trace).expect("a trace");
    text.lines().rfind(|line| line.contains(kind)).unwrap_or_default().to_owned()
}

#[test]
fn what_cannot_be_taken_as_evidence_fails_and_what_cannot_be_opened_is_void() {
    if !worlds_can_start() || !is_installed("xdg-open") {
        return;
    }
    let place = Place::new();
    let make = "mkfifo pipe; truncate -s 4G huge; mkdir folder; ln -s /dev/zero zero; touch shut; chmod 0 shut; \
         mkdir Desktop/x.desktop; mkdir -p .config/google-chrome/Default; cd .config/google-chrome/Default; \
         ln -s Preferences Preferences; mkdir Bookmarks; mkfifo History; truncate -s 4G Cookies; ln -s /dev/zero '../Local State'";
    let made = json!([{"type": "execute", "parameters": {"command": format!("cd /home/user; {make}"), "shell": true}}]);
    let names = ["pipe", "huge", "folder", "zero", "shut"];
    let file = |name: &str| json!({"type": "vm_file", "path": format!("/home/user/{name}"), "dest": name});
    let rule = json!({"type": "rule", "rules": {"expected": ["x"]}});
    let odd = names.map(|name| {
        let evaluator = json!({"func": "file_contains", "result": file(name), "expected": rule});
        (name, task(made.clone(), evaluator))
    });
    let gone = json!([{"type": "open", "parameters": {"path": "/home/user/gone.txt"}}]);
    let gone = task(gone, json!({"func": "file_contains", "result": file("gone"), "expected": rule}));
    let suite =
        place.suite(&odd.into_iter().chain([("gone", gone), ("profile", profile(made))]).collect::<Vec<_>>());
    let mut command = place.run_of(&suite, "baseline/noop");
    command.env("APPRENTICE_ATTEMPTS", "1").status().expect("it ends");
    let run = place.run_folder();
    let rows = rows(&run);
    assert_eq!(rows.len(), names.len() + 2, "{}", place.text("stderr"));
    for row in rows {
        if row["task"] == "gone" {
            assert_eq!(row["void_cause"], "setup", "{row}");
            assert!(told(&run, &row, "\"stopped\"").contains("no such file"), "{row}");
        } else {
            assert_eq!(row["verdict"], "fail", "{row}");
            assert!(told(&run, &row, "cannot be read").contains("cannot be read"), "{row}");
        }
    }
}

/// A page in the format of portable documents, whose title is not the file's name.
const DOCUMENT: &str = "%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
4 0 obj<</Title(Another name)>>endobj
trailer<</Root 1 0 R/Info 4 0 R>>
";

#[test]
fn what_a_step_opens_is_shown_by_a_program_made_for_it_and_what_is_missing_is_told_at_once() {
    if !worlds_can_start() || !is_installed("xdg-open") || !is_installed("chromium") {
        return;
    }
    let place = Place::new();
    let write = |path: &str, content: &str| json!({"type": "write_file", "parameters": {"path": path, "content": content}});
    let open = |path: &str| json!({"type": "open", "parameters": {"path": path}});
    // GIMP claims such documents, and only offers to import them.
    let windows = json!({
        "func": "check_include_exclude",
        "result": {"type": "vm_command_line", "command": ["wmctrl", "-lx"]},
        "expected": {"type": "rule", "rules": {"include": [], "exclude": ["gimp", "Gimp"]}},
    });
    let shown = |name: &str, content: &str, title: &str| {
        let mut evaluator = windows.clone();
        evaluator["expected"]["rules"]["include"] = json!([title]);
        task(json!([write(name, content), open(name)]), evaluator)
    };
    let by_shell = |line: &str| json!({"type": "execute", "parameters": {"command": line, "shell": true}});
    let viewer = if is_installed("evince") { "evince" } else { "chromium.Chromium" };
    let no_viewer = "printf '[Default Applications]\\napplication/pdf=chromium.desktop;\\n' > /home/user/.config/mimeapps.list";
    let by_browser =
        json!([write("/home/user/thing.pdf", DOCUMENT), by_shell(no_viewer), open("/home/user/thing.pdf"),]);
    let mut titled = windows.clone();
    titled["expected"]["rules"]["include"] = json!(["chromium.Chromium"]);
    let nothing = json!([
        by_shell("head -c 64 /dev/urandom > /home/user/thing.unheard"),
        open("/home/user/thing.unheard"),
    ]);
    let seen = json!({"type": "execute", "parameters": {"command": ["wmctrl", "-l"], "until": {"stdout": "notes.txt"}}});
    let in_background =
        json!([write("/home/user/notes.txt", "a line"), by_shell("xdg-open /home/user/notes.txt"), seen]);
    let suite = place.suite(&[
        ("background", task(in_background, windows.clone())),
        ("no program", task(json!([by_shell("true; no-such-terminal --maximize")]), windows.clone())),
        ("document", shown("/home/user/thing.pdf", DOCUMENT, viewer)),
        ("browser", task(by_browser, titled)),
        ("text", shown("/home/user/notes.txt", "a line", "notes.txt")),
        ("nothing", task(nothing, windows)),
    ]);
    let mut command = place.run_of(&suite, "baseline/noop");
    command.env("APPRENTICE_ATTEMPTS", "1").status().expect("it ends");
    let run = place.run_folder();
    let rows = rows(&run);
    assert_eq!(rows.len(), 6, "{}", place.text("stderr"));
    for row in rows {
        let missing = match row["task"].as_str() {
            Some("nothing") => "no program here opens",
            Some("no program") => "is not here: no-such-terminal",
            _ => {
                assert_eq!(row["verdict"], "pass", "{row} {}", told(&run, &row, "\"judged\""));
                ""
            }
        };
        if !missing.is_empty() {
            assert_eq!(row["void_cause"], "missing_program", "{row}");
            assert!(told(&run, &row, "\"stopped\"").contains(missing), "{row}");
        }
        assert!(row["wall_s"].as_f64().is_some_and(|took| took < 60.0), "{row}");
    }
}

/// What MiniWoB++ promises of its core, for a page of this test.
const CORE: &str = "var WOB_DONE_GLOBAL = false, WOB_REWARD_GLOBAL = 0, WOB_RAW_REWARD_GLOBAL = 0;
var WOB_REWARD_REASON = null, WOB_TASK_READY = true, core = {};
Math.seedrandom = function (seed) { core.seed = seed; };
core.getUtterance = function () { return document.getElementById('query').textContent; };
core.startEpisodeReal = function () { document.getElementById('query').textContent = 'Click ' + core.seed; };
core.endEpisode = function (reward) { WOB_DONE_GLOBAL = true; WOB_REWARD_GLOBAL = WOB_RAW_REWARD_GLOBAL = reward; };
";

#[test]
fn pages_of_miniwob_start_and_tell_how_they_ended() {
    if !worlds_can_start() || !is_installed("chromium") || !is_installed("python3") {
        return;
    }
    for environment in ["desktop", "browser"] {
        told_of_miniwob(environment);
    }
}

fn told_of_miniwob(environment: &str) {
    let place = Place::new();
    // Nothing was shown before the page.
    for (name, rewards) in [("wrong", "-1"), ("right", "history.length==1?1:-1")] {
        let page = format!(
            "<script src=../core/core.js></script><div id=query></div>\
             <body style=height:100vh onclick=core.endEpisode({rewards})>"
        );
        std::fs::create_dir_all(place.path("html/miniwob")).expect("made");
        std::fs::create_dir_all(place.path("html/core")).expect("made");
        std::fs::write(place.path(&format!("html/miniwob/{name}.html")), page).expect("written");
    }
    std::fs::write(place.path("html/core/core.js"), CORE).expect("written");
    let from = ["tasks", "add", "miniwob", "--from", "html", "--to", "small", "--environment", environment];
    let made = place.output(&from);
    assert_eq!(text(&made.stdout), "2 tasks in small\n", "{}", text(&made.stderr));
    let script = [
        r#"{"calls":[{"name":"computer","arguments":{"actions":[{"do":"click","at":{"point":{"x":400,"y":300}}}]}}]}"#,
        r#"{"calls":[{"name":"finish","arguments":{"finish":"done"}}]}"#,
    ];
    std::fs::write(place.path("script.jsonl"), script.join("\n")).expect("written");
    let status = place.run_of(&place.path("small"), "scripted:script.jsonl").status().expect("it ends");
    let run = place.run_folder();
    let mut told: Vec<(Value, Value)> =
        rows(&run).into_iter().map(|mut row| (row["task"].take(), row["verdict"].take())).collect();
    told.sort_by_key(|(task, _)| task.to_string());
    let expected =
        [("right", "pass"), ("wrong", "fail")].map(|(task, verdict)| (json!(task), json!(verdict)));
    assert_eq!(told, expected, "{environment}: {}", place.text("stderr"));
    assert_eq!(status.code(), Some(10));
}

/// Asks for metrics, one question a line, and gives the answers.
pub(crate) fn answers(place: &Place, reading: &str, questions: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = questions.iter().map(Value::to_string).collect();
    std::fs::write(place.path("questions"), lines.join("\n")).expect("written");
    let questions = std::fs::File::open(place.path("questions")).expect("there");
    let mut command = place.command(&["tasks", "metric", "--stdin", "--osworld-compat", reading]);
    let output = command.stdin(questions).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn metrics_answer_line_by_line_by_either_reading() {
    let place = Place::new();
    std::fs::write(place.path("found.txt"), "one\ntwo\n").expect("written");
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let questions = [
        json!({"func": "exact_match", "result": "a", "expected": {"expected": "a"}, "id": 7}),
        json!({"func": "diff_text_file", "result": path("found.txt"), "expected": path("found.txt")}),
        json!({"func": "compare_text_file", "result": path("absent.txt"), "expected": path("found.txt")}),
        json!({"func": "compare_tabel", "result": "a"}),
        json!({"func": "compare_config", "result": path("found.txt"), "expected": {"expected": "two"}}),
        json!({"func": "check_slide_numbers_color", "result": path("found.txt")}),
    ];
    let mended = answers(&place, "fixed", &questions);
    let scores: Vec<&Value> = mended.iter().map(|answer| &answer["score"]).collect();
    assert_eq!(scores, [&json!(1.0), &json!(1.0), &json!(0.0), &Value::Null, &json!(1.0), &Value::Null]);
    assert_eq!(mended[0]["id"], 7);
    let error = |at: usize| mended[at]["error"].as_str().expect("an error");
    assert!(error(3).ends_with("did you mean \"compare_table\"?"), "{}", error(3));
    assert!(error(5).contains("not implemented"), "{}", error(5));
    assert_eq!(mended[4]["other_reading"], 0.0);
    let exact = answers(&place, "exact", &questions[4..5]);
    assert_eq!((&exact[0]["score"], &exact[0]["other_reading"]), (&json!(0.0), &json!(1.0)));
}

#[test]
fn the_guides_table_of_all_tasks_is_that_of_the_command() {
    #[expect(clippy::disallowed_methods, reason = "the data set's place is given by the environment")]
    let Some(root) = std::env::var_os("APPRENTICE_OSWORLD") else { return };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = std::fs::read_dir(repository.join("crates/cli/tests/osworld")).expect("solutions");
    let solved: Vec<String> = folders
        .map(|folder| folder.expect("a folder").path().join("solutions.json").to_string_lossy().into_owned())
        .collect();
    let place = Place::new();
    let root = root.to_string_lossy();
    let mut command = vec!["tasks", "check", &root, "--table", "--solved"];
    command.extend(solved.iter().map(String::as_str));
    let output = place.output(&command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(repository.join("docs/osworld-tasks.md")).expect("a page");
    let (_, table) = page.split_once("<!-- table -->\n\n").expect("a mark");
    assert!(
        table == text(&output.stdout),
        "docs/osworld-tasks.md lacks what `apprentice tasks check --table` prints"
    );
}
