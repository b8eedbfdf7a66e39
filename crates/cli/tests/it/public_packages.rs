//! Packages in the forms of public ones, in own words: what `skills validate` and the plan of `skills measure` say of each. The forms
//! were read on 2026-11-30 in the repositories that stand beside them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, worlds_can_start};
use crate::starter::is_installed;

/// A package: its name, its files, the evaluations that can be measured, and the beginning of the reason for each that cannot.
struct Form {
    name: &'static str,
    files: Vec<(&'static str, String)>,
    measured: usize,
    left_out: &'static [&'static str],
}

/// The form of the Agent Skills guide with files, and questions in a file of their own (anthropics/skills, skill-creator).
fn published() -> Form {
    let evals = json!({"skill_name": "published", "evals": [
        {"id": 1, "prompt": "How many rows has orders.csv?", "expected_output": "The number", "files": ["evals/files/orders.csv"],
         "expectations": ["The answer names 3 rows", "The answer names no column"]},
        {"id": 2, "prompt": "Which row is the longest?", "expected_output": "The second row.", "files": ["evals/files/orders.csv"]}]});
    let triggers = json!([{"query": "count my orders", "should_trigger": true, "reason": "r"}, {"query": "hello", "should_trigger": false}]);
    let files = vec![
        ("evals/evals.json", evals.to_string()),
        ("evals/trigger-eval.json", triggers.to_string()),
        ("evals/files/orders.csv", "a\nb\nc\n".to_owned()),
    ];
    Form { name: "published", files, measured: 2, left_out: &[] }
}

/// Scorers: patterns and criteria, ids from 0 (0xdeafcafe/tslsp-cli).
fn scorers() -> Form {
    let evals = json!({"skill_name": "scorers", "description": "d", "evals": [
        {"id": 0, "eval_name": "rename", "prompt": "Rename it.", "scorers": [
            {"type": "regex", "name": "dry run first", "pattern": "--dry-run"},
            {"type": "llm_judge", "name": "no grep", "criterion": "Does the answer avoid a search by text?"}]}]});
    Form { name: "scorers", files: vec![("evals/evals.json", evals.to_string())], measured: 1, left_out: &[] }
}

/// Checks as sentences in another language, with a note (AboutRSS/rsshub-route-authoring-skill).
fn checks() -> Form {
    let evals = json!({"skill_name": "checks", "note": "n", "evals": [
        {"id": 1, "name": "n", "prompt": "帮我做一个路由。", "expected_output": "A route.", "checks": ["只请求第一页"], "files": []}]});
    Form { name: "checks", files: vec![("evals/evals.json", evals.to_string())], measured: 1, left_out: &[] }
}

/// Inputs outside of `evals/`, folders among them (jaxx2104/exiftool-skill, edgegap/edgegap-agent-skills).
fn fixtures() -> Form {
    let evals = json!({"skill_name": "fixtures", "evals": [
        {"id": 1, "prompt": "Strip the places from tests/fixtures/share/.", "expected_output": "No place is left.",
         "files": ["tests/fixtures/share/"], "assertions": ["No place is left in any picture"]},
        {"id": 2, "prompt": "Build fixtures/game.", "expected_output": "It is built.", "files": ["fixtures/lost"]}]});
    let files = vec![("evals/evals.json", evals.to_string()), ("tests/fixtures/share/a.txt", "a".to_owned())];
    Form {
        name: "fixtures",
        files,
        measured: 1,
        left_out: &["its file \"fixtures/lost\" is not in the package"],
    }
}

/// Patterns that must be there and must not (127-c/vhdl-to-sv-skill): of what, the file does not say.
fn patterns() -> Form {
    let evals = json!({"skill_name": "patterns", "evals": [
        {"id": 0, "prompt": "Convert a.vhd.", "expected_output": "A module.", "must_have": ["module"], "must_not_have": ["initial"]},
        {"id": 1, "prompt": "Name the module.", "expected_output": "The module is named a."}]});
    let left_out = &["it is also checked by \"must_have\", which is not read"];
    Form { name: "patterns", files: vec![("evals/evals.json", evals.to_string())], measured: 1, left_out }
}

/// Cases with an input, commands on the author's machine, and a rubric (A-H-911/tamheed).
fn cases() -> Form {
    let evals = json!({"skill": "cases", "method": "m", "cases": [
        {"id": "thin", "intent": "i", "input": "Plan it.", "rubric": [{"dimension": "d", "pass_if": "It asks what is meant."}]},
        {"id": "full", "input": "Plan it.", "deterministic_assertions": [{"check": "c", "cmd": ["python", "x"], "expect_exit": 0}],
         "rubric": [{"dimension": "d", "pass_if": "It is whole."}]}]});
    let left_out = &["it is also checked by \"deterministic_assertions\", which is not read"];
    Form { name: "cases", files: vec![("evals/evals.json", evals.to_string())], measured: 1, left_out }
}

/// A page in a browser and a program of a desktop: the fields of this program.
fn worlds() -> Form {
    let evals = json!([
        {"id": "page", "prompt": "Order it.", "files": ["evals/files/shop.html"], "environment": "browser", "open": "shop.html",
         "expectations": [{"type": "page_contains", "text": "Ordered"}]},
        {"id": "text", "prompt": "Sign it.", "files": ["evals/files/letter.txt"], "environment": "desktop", "program": "mousepad",
         "open": "letter.txt", "expectations": [{"type": "file_contains", "path": "letter.txt", "text": "Signed"}]},
        {"id": "phone", "prompt": "Call.", "environment": "phone", "expected_output": "Called."}]);
    let files = vec![
        ("evals/evals.json", evals.to_string()),
        ("evals/files/shop.html", "<button>Order</button>".to_owned()),
        ("evals/files/letter.txt", "Dear".to_owned()),
    ];
    let left_out = &["the environment \"phone\" is none of terminal, browser, desktop"];
    Form { name: "worlds", files, measured: 2, left_out }
}

fn forms() -> [Form; 7] {
    [published(), scorers(), checks(), fixtures(), patterns(), cases(), worlds()]
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("written");
}

fn packages(place: &Place) -> String {
    let folder = place.path("packages");
    for form in forms() {
        let page = format!(
            "---\nname: {}\ndescription: Works as this office does.\n---\n\n# How\n\nDo it well.\n",
            form.name
        );
        write(&folder.join(form.name).join("SKILL.md"), &page);
        for (path, text) in &form.files {
            write(&folder.join(form.name).join(path), text);
        }
    }
    // One whose evaluations are another program's (lacolaco/angular-skills: skillgrade).
    write(&folder.join("graded/SKILL.md"), "---\nname: graded\ndescription: d\n---\n\n# How\n\nDo it.\n");
    write(&folder.join("graded/evals/eval.yaml"), "version: \"1\"\ntasks:\n  - name: a\n");
    folder.to_string_lossy().into_owned()
}

#[test]
fn validating_tells_what_can_be_measured() {
    let place = Place::new();
    let folder = packages(&place);
    let told = place.output(&["skills", "validate", &folder, "--json"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let of = |name: &str| {
        let results = told["results"].as_array().expect("results");
        results.iter().find(|one| one["path"].as_str().is_some_and(|path| path.ends_with(name))).expect(name)
    };
    for form in forms() {
        let found = of(form.name);
        let triggers = form.files.iter().any(|(path, _)| path.contains("trigger"));
        assert_eq!(found["evaluations"], form.measured + if triggers { 2 } else { 0 }, "{found}");
        for why in form.left_out {
            assert!(found["findings"].to_string().contains(&json!(why).to_string()[1..20]), "{why}: {found}");
        }
    }
    let graded = of("graded")["findings"].to_string();
    assert!(graded.contains("evals_not_read") && graded.contains("evals/eval.yaml"), "{graded}");
}

#[test]
fn the_plan_of_a_measurement_names_what_is_left_out_of_each_form() {
    if !is_installed("xfce4-terminal") {
        return;
    }
    let place = Place::new();
    let folder = packages(&place);
    write(&place.path("replies"), &json!({"calls": []}).to_string());
    let model = format!("scripted:{}", place.path("replies").display());
    let measure =
        ["skills", "measure", &folder, "--model", &model, "--judge", &model, "--dry-run", "--offer", "read"];
    let told = place.output(&[&measure[..], &["--json"]].concat());
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let plan: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    for form in forms() {
        let skills = plan["skills"].as_array().expect("skills");
        let found = skills
            .iter()
            .find(|one| one["name"] == form.name)
            .unwrap_or_else(|| panic!("{}: {plan}", form.name));
        assert_eq!(
            (&found["evals"], &found["trials"]),
            (&json!(form.measured), &json!(form.measured * 3)),
            "{found}"
        );
        let left_out: Vec<&str> =
            found["left_out"].as_object().expect("left out").values().filter_map(Value::as_str).collect();
        assert_eq!(left_out.len(), form.left_out.len(), "{found}");
        for why in form.left_out {
            assert!(left_out.iter().any(|told| told.starts_with(why)), "{why}: {found}");
        }
    }
    let refused = &plan["refused"][0];
    assert_eq!((&refused["name"], plan["refused"].as_array().map(Vec::len)), (&json!("graded"), Some(1)));
    assert!(refused["why"].as_str().is_some_and(|why| why.contains("skillgrade")), "{refused}");
}

/// The two worlds that an evaluation may name, with a model that types: into the page, which then shows that it is ordered, and into
/// the text, which it saves.
#[test]
fn evaluations_in_a_browser_and_in_a_program_are_judged_by_what_they_leave() {
    if !worlds_can_start() || !is_installed("chromium") {
        return;
    }
    let place = Place::new();
    let folder = place.path("worlds");
    let page = "<!doctype html><title>Shop</title><p>One key orders a cake.</p><script>addEventListener('keydown', () => {\
                const line = document.createElement('p'); line.textContent = 'Ordered: a cake'; document.body.append(line); \
                }, {once: true});</script>";
    let evals = json!([
        {"id": "page", "prompt": "Order a cake.", "files": ["evals/files/shop.html"], "environment": "browser", "open": "shop.html",
         "expectations": [{"type": "page_contains", "text": "Ordered: a cake"}]},
        {"id": "lost", "prompt": "Order a cake.", "files": ["evals/files/shop.html"], "environment": "browser", "open": "shop.html",
         "expectations": [{"type": "page_contains", "text": "Ordered: a pie"}]},
        {"id": "text", "prompt": "Sign it.", "files": ["evals/files/letter.txt"], "environment": "desktop", "program": "mousepad",
         "open": "letter.txt", "expectations": [{"type": "file_contains", "path": "letter.txt", "text": "x"}]}]);
    write(&folder.join("SKILL.md"), "---\nname: worlds\ndescription: d\n---\n\n# How\n\nType.\n");
    write(&folder.join("evals/evals.json"), &evals.to_string());
    write(&folder.join("evals/files/shop.html"), page);
    write(&folder.join("evals/files/letter.txt"), "Dear");
    let typed = json!({"calls": [{"name": "computer", "arguments": {"actions": [
        {"do": "type", "text": "x"}, {"do": "key", "chord": "ctrl+s"}]}}]});
    let end =
        json!({"calls": [{"name": "finish", "arguments": {"finish": "answer", "text": "It is done."}}]});
    write(&place.path("replies"), &format!("{typed}\n{end}\n"));
    let (folder, out) = (folder.to_string_lossy().into_owned(), place.path("out"));
    let model = format!("scripted:{}", place.path("replies").display());
    let measure =
        ["skills", "measure", &folder, "--model", &model, "--offer", "prompt", "--json", "--yes", "--out"];
    let told = place.output(&[&measure[..], &[&out.to_string_lossy()]].concat());
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{stderr}");
    let rows =
        fs::read_dir(out.join("worlds/experiment/measure")).expect("a run").flatten().next().expect("one");
    let rows = fs::read_to_string(rows.path().join("trials.jsonl")).expect("rows");
    let mut verdicts: Vec<String> = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON"))
        .map(|row| {
            format!(
                "{} {}",
                row["task"].as_str().expect("a task"),
                row["verdict"].as_str().expect("a verdict")
            )
        })
        .collect();
    verdicts.sort();
    verdicts.dedup();
    assert_eq!(verdicts, ["eval-lost fail", "eval-page pass", "eval-text pass"], "{stderr}");
}
