//! Suites of other benchmarks, made and run: WebArena's over pages that the world serves, Harbor's graded by their own script.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, rows, text, worlds_can_start};
use crate::starter::is_installed;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// Runs all tasks of a suite by scripted replies, and returns each task's row.
fn run(place: &Place, suite: &str, replies: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
    write(&place.path(""), "replies", &lines.join("\n"));
    let model = format!("scripted:{}", place.path("replies").display());
    let status = place.run_of(&place.path(suite), &model).status().expect("it starts");
    let said = || format!("{}{}", place.text("stdout"), place.text("stderr"));
    assert!(status.code().is_some_and(|code| matches!(code, 0 | 10 | 11)), "{status}: {}", said());
    rows(&place.run_folder())
}

fn verdicts(rows: &[Value]) -> Vec<(&str, &str)> {
    let mut last: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["task"].as_str().expect("a task"), row["verdict"].as_str().expect("a verdict")))
        .collect();
    last.sort_unstable();
    last.dedup();
    last
}

/// The address at which a world serves its own pages.
const SHOP: &str = "http://127.0.0.1:8123";

/// A task of WebArena's form over the world's own pages.
fn task(id: u32, eval: &Value) -> Value {
    json!({
        "task_id": id, "sites": ["shopping"], "start_url": "__SHOPPING__/index.html", "storage_state": "./.auth/shop_state.json",
        "geolocation": null, "intent": "How many are in the cart?", "intent_template_id": id, "eval": eval,
    })
}

/// What a page must hold.
fn target(url: &str, locator: &str, required: &Value) -> Value {
    json!({"url": url, "locator": locator, "required_contents": required})
}

/// Writes the pages of a shop, and the state of a browser that is logged in there.
fn write_shop(place: &Place) {
    let page = "<!doctype html><title>Shop</title><p id=name></p><p id=cookie></p><a href=cart.html>Cart &amp; more</a>\
                <script>document.getElementById('name').textContent = localStorage.user;\
                document.getElementById('cookie').textContent = document.cookie;</script>";
    write(&place.path("pages"), "index.html", page);
    let cart = "<!doctype html><title>Cart</title><ul><li>Tea</li><li>Pot</li></ul>";
    write(&place.path("pages"), "cart.html", cart);
    let state = json!({
        "cookies": [{"name": "session", "value": "s1", "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": false,
            "secure": false, "sameSite": "Lax"}],
        "origins": [{"origin": SHOP, "localStorage": [{"name": "user", "value": "Emma"}]}],
    });
    write(&place.path("auth"), "shop_state.json", &state.to_string());
}

/// Tasks of which one passes, two fail, two cannot be judged, and one has a site without an address.
fn shop_tasks() -> Value {
    let exact = |url: &str, locator: &str, text: &str| target(url, locator, &json!({"exact_match": text}));
    let right = json!([
        exact("last", "document.querySelector('#name').outerText", "Emma"),
        target("last", "document.cookie", &json!({"must_include": ["session=s1"]})),
        target("last", "", &json!({"must_include": ["Cart & more"]})),
        exact("__SHOPPING__/cart.html", "document.querySelectorAll('li').length", "2"),
        exact("last", "[...document.querySelectorAll('none')].map(one => one.id)", "[]"),
        exact("last", "document.querySelector('#none').outerText", ""),
    ]);
    let whole = json!({
        "eval_types": ["string_match", "url_match", "program_html"], "reference_answers": {"must_include": ["2"]},
        "reference_url": "__SHOPPING__/index.html", "url_note": "GOLD in PRED", "program_html": right,
    });
    let page = |target: Value| json!({"eval_types": ["program_html"], "program_html": [target]});
    json!([
        task(1, &whole),
        task(2, &page(exact("__SHOPPING__/cart.html", "document.title", "Shop"))),
        task(3, &json!({"eval_types": ["url_match"], "reference_url": "__SHOPPING__/cart.html"})),
        task(4, &json!({"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["two"]}})),
        task(5, &page(exact("http://127.0.0.1:9/", "document.title", "Shop"))),
        json!({"task_id": 6, "sites": ["map"], "start_url": "__MAP__", "intent": "x", "eval": {"eval_types": ["url_match"]}}),
    ])
}

#[test]
fn tasks_of_webarena_are_graded_over_pages_that_the_world_serves() {
    if !is_installed("chromium") || !is_installed("python3") || !worlds_can_start() {
        return;
    }
    let place = Place::new();
    write_shop(&place);
    write(&place.path(""), "list.json", &shop_tasks().to_string());
    let site = format!("shopping={SHOP}");
    let add = ["tasks", "add", "webarena", "--from", "list.json", "--to", "web", "--site", &site];
    let made = place.output(&[&add[..], &["--pages", "pages", "--auth", "auth"]].concat());
    let said = text(&made.stdout);
    assert!(said.contains("5 tasks in web"), "{said}{}", text(&made.stderr));
    assert!(said.contains("1 left out: the site \"map\""), "{said}");

    let answer =
        json!({"calls": [{"name": "finish", "arguments": {"finish": "answer", "text": "There are 2."}}]});
    let rows = run(&place, "web", &[answer]);
    let expected = [
        ("webarena.1", "pass"),
        ("webarena.2", "fail"),
        ("webarena.3", "fail"),
        ("webarena.4", "void"),
        ("webarena.5", "void"),
    ];
    assert_eq!(verdicts(&rows), expected, "{rows:#?}");
}

#[test]
fn tasks_of_harbor_are_graded_by_their_own_script() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let scripts = [
        ("half", "echo 0.5 > /logs/verifier/reward.txt"),
        ("mute", "echo nothing"),
        (
            "right",
            "#!/bin/sh\ntest \"$(cat a.txt) $KEY $MORE $GREETING\" = 'text 1 2 it is $5' && test \"${BASH_VERSION-none}\" = none && grep -qF GREETING ~/.bashrc && test -x /tests/tool && test -f made && echo '{\"reward\": 1}' \
                   > /logs/verifier/reward.json; echo 0 > /logs/verifier/reward.txt",
        ),
    ];
    for (task, script) in scripts {
        let root = place.path("from").join(task);
        write(
            &root,
            "task.toml",
            "version = \"1.0\"\n[environment.env]\nGREETING = \"it is $5\"\nMORE = \"1\"\n[verifier]\ntimeout_sec = 30.0\n[verifier.env]\nMORE = \"2\"\n",
        );
        write(&root, "instruction.md", "Do it.\n");
        write(
            &root,
            "environment/Dockerfile",
            "FROM debian\nENV KEY=1\nWORKDIR /app\nCOPY a.txt .\nRUN touch made\n",
        );
        write(&root, "environment/a.txt", "text\n");
        write(&root, "tests/test.sh", script);
        write(&root, "tests/tool", "#!/bin/sh\n");
        let tool = root.join("tests/tool");
        fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    }
    let made = place.output(&["tasks", "add", "harbor", "--from", "from", "--to", "harbor"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let rows =
        run(&place, "harbor", &[json!({"calls": [{"name": "finish", "arguments": {"finish": "done"}}]})]);
    assert_eq!(verdicts(&rows), [("half", "fail"), ("mute", "void"), ("right", "pass")], "{rows:#?}");
    let half = rows.iter().find(|row| row["task"] == "half").expect("a row");
    assert_eq!(half["score"], 0.5);
    let table = place.output(&["report", &place.run_folder().to_string_lossy(), "--by-steps"]);
    assert!(text(&table.stdout).contains("| 75.00 | 2 | 1 | 0 |"), "{}", text(&table.stdout));
}
