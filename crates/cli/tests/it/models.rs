//! Naming a model on the command line: settings, keys, what it may cost, and what is said when it cannot be.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::place::output_of;
use crate::spending::serving_by;

/// A key that must never be seen again.
const PLANTED: &str = "planted-key-4c09ab";

/// Runs the program in a folder of its own, with these variables only.
pub(crate) fn apprentice(
    home: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    command.args(arguments).env_clear().envs(variables.iter().copied());
    command.env("PATH", "/usr/bin:/bin").env("HOME", home).current_dir(home).stdin(Stdio::null());
    let Output { status, stdout, stderr } = output_of(&mut command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code().expect("a code"), text(&stdout), text(&stderr))
}

fn starter() -> String {
    format!("{}/../../tasks/starter", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_cannot_be_asked_says_what_to_do() {
    let home = tempfile::tempdir().expect("a home");
    for (model, variables, words) in [
        ("anthropc/claude-sonnet-5-5", &[][..], "did you mean \"anthropic/claude-sonnet-5-5"),
        ("builtin/explorr", &[], "did you mean \"builtin/explorer\"?"),
        ("anthropic/claude-sonnet-5-5", &[], "ANTHROPIC_API_KEY is not set"),
        ("openai/gpt-6.1-sol", &[("OPENAI_API_KEY", "  ")], "OPENAI_API_KEY is not set"),
        ("gemini/gemini-3.8-flash", &[], "GEMINI_API_KEY is not set"),
    ] {
        let (code, _, told) = apprentice(home.path(), &["models", "check", model], variables);
        assert_eq!(code, 20, "{model}: {told}");
        assert!(told.contains(words), "{model}: {told}");
    }
    let (code, _, told) = apprentice(home.path(), &["models", "check", "student"], &[]);
    assert_eq!(code, 3, "{told}");
    assert!(told.contains("the role \"student\" has no model"), "{told}");
}

#[test]
fn an_impossible_profile_is_refused_at_its_line() {
    let home = tempfile::tempdir().expect("a home");
    let head = "consumer = \"x\"\ndialect = \"tools\"\nmax_output_tokens = 512\n";
    for (rest, words) in [
        ("space = { grid = 0 }\nimages = \"as_is\"\n", "mine.toml:4: space:"),
        ("space = \"pixels\"\nimages = \"none\"\n", "mine.toml:5: images:"),
    ] {
        std::fs::write(home.path().join("mine.toml"), format!("{head}{rest}")).expect("writes");
        let asked = ["run", &starter(), "--model", "compat/m", "--profile", "mine.toml"];
        let (code, _, told) = apprentice(home.path(), &asked, &[]);
        assert_eq!(code, 3, "{told}");
        assert!(told.contains(words), "{told}");
    }
    let (code, _, told) =
        apprentice(home.path(), &["models", "check", "compat/m", "--profile", "qwen3vl"], &[]);
    assert_eq!(code, 3, "{told}");
    assert!(told.contains("there is no profile \"qwen3vl\""), "{told}");
}

/// A student that sees and answers so.
fn profile(images: &str, structured: &str) -> String {
    format!(
        "consumer = \"small\"\ndialect = \"tools\"\nspace = \"pixels\"\nimages = \"{images}\"\noutline = true\n\
         history_images = 1\nmax_output_tokens = 2048\nstructured = \"{structured}\"\n"
    )
}

#[test]
fn what_a_profile_says_of_a_model_is_tried() {
    let home = tempfile::tempdir().expect("a home");
    let words = |text: &str| json!({ "model": "m-1", "choices": [{ "message": { "content": text }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 7, "completion_tokens": 2 } });
    let act = |arguments: Value| {
        let function = json!({ "name": "computer", "arguments": arguments.to_string() });
        let message = json!({ "content": null, "tool_calls": [{ "id": "a", "type": "function", "function": function }] });
        json!({ "model": "m-1", "choices": [{ "message": message, "finish_reason": "tool_calls" }] })
    };
    let able = move |asked: &str| match (asked.contains("image_url"), asked.contains("json_schema")) {
        // The blue target stands so in the picture of 640x360.
        (true, _) if asked.contains("\"tools\"") => {
            act(json!({ "action": "left_click", "coordinate": [556, 49] }))
        }
        (true, _) => words("Yellow, blue."),
        (_, true) => words("```json\n{\"word\": \"anything\", \"letters\": 5}\n```"),
        _ if asked.contains("\"tools\"") => act(json!({ "action": "wait", "duration": 1 })),
        _ => words("ready"),
    };
    let check = |base: &str, profile: &str| {
        let asked = ["models", "check", "compat/m", "--base-url", base, "--profile", profile];
        apprentice(home.path(), &asked, &[])
    };
    for (name, images, structured) in
        [("both", "as_is", "json_schema"), ("neither", "none", "words"), ("form", "none", "json_schema")]
    {
        std::fs::write(home.path().join(format!("{name}.toml")), profile(images, structured))
            .expect("writes");
    }
    let (base, heard) = serving_by(able);
    let (code, shown, told) = check(&base, "both.toml");
    assert_eq!(code, 0, "{shown}{told}");
    assert!(shown.contains("accepts images: yes"), "{shown}");
    assert!(shown.contains("structured output: yes"), "{shown}");
    let posts = |heard: &Vec<String>| heard.iter().filter(|one| one.starts_with("POST")).count();
    assert!(shown.contains("calls tools: yes") && shown.contains("points where it should: yes"), "{shown}");
    assert_eq!(posts(&heard.lock().expect("unpoisoned")), 5);
    let (code, shown, _) = check(&base, "neither.toml");
    assert!(
        code == 0 && !shown.contains("accepts images") && !shown.contains("structured output"),
        "what nobody claims is not tried: {shown}"
    );
    assert_eq!(posts(&heard.lock().expect("unpoisoned")), 7);

    let (base, _) = serving_by(move |_| words("ready"));
    let (code, shown, told) = check(&base, "both.toml");
    assert_eq!(code, 20, "{shown}{told}");
    assert!(shown.contains("accepts images: no; the answer was \"ready\""), "{shown}");
    assert!(
        told.contains("accepts images, calls tools, points where it should, structured output"),
        "{told}"
    );
    assert!(told.contains("`structured`") && told.contains("--tool-call-parser"), "{told}");
    let (code, _, told) = check(&base, "form.toml");
    assert!(code == 20 && !told.contains("accepts images"), "{told}");
}

#[test]
fn a_part_is_reached_at_its_own_address_with_its_own_key_and_the_key_is_stored_nowhere() {
    let home = tempfile::tempdir().expect("a home");
    let call = json!({ "id": "a", "type": "function",
        "function": { "name": "computer", "arguments": "{\"action\":\"wait\",\"duration\":1}" } });
    let (base, heard) = serving_by(move |asked| {
        let calls = asked.contains("\"tools\"").then(|| vec![call.clone()]);
        json!({ "model": "m-1", "usage": { "prompt_tokens": 7, "completion_tokens": 2 },
            "choices": [{ "message": { "content": format!("ready, {PLANTED}"), "tool_calls": calls } }] })
    });
    let key = home.path().join("key");
    std::fs::write(&key, PLANTED).expect("writes");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("sets");
    let settings = format!(
        "[provider.compat]\nbase_url = \"http://127.0.0.1:9/v1\"\n[role.student]\nmodel = \"compat/m\"\n\
         base_url = \"{base}\"\nkey_file = \"key\"\nusd_per_hour = 3600.0\nprofile = \"plain.toml\"\n"
    );
    std::fs::write(home.path().join("plain.toml"), profile("none", "words")).expect("writes");
    std::fs::write(home.path().join("apprentice.toml"), settings).expect("writes");
    let asked = ["models", "check", "student", "--record", "tape.jsonl"];
    let (code, shown, told) = apprentice(home.path(), &asked, &[]);
    assert_eq!(code, 0, "{told}");
    let heard = heard.lock().expect("unpoisoned").clone();
    let asked = heard.iter().find(|one| one.starts_with("POST")).expect("a request");
    assert!(
        asked.starts_with("POST /v1/chat/completions") && asked.contains(&format!("Bearer {PLANTED}")),
        "{asked}"
    );
    assert!(shown.contains("compat/m") && shown.contains("answering model: m-1"), "{shown}");
    assert!(!shown.contains("has no price") && shown.contains("cost: $"), "{shown}");
    let tape = std::fs::read_to_string(home.path().join("tape.jsonl")).expect("a tape");
    assert!(tape.contains("[redacted]") && !tape.contains(PLANTED), "{tape}");

    let (_, shown, _) = apprentice(home.path(), &["config", "show", "--origin"], &[]);
    assert!(shown.contains("role.student.model = \"compat/m\"  # apprentice.toml"), "{shown}");
    assert!(shown.contains("role.student.usd_per_hour = 3600.0  # apprentice.toml"), "{shown}");
}

#[test]
fn what_a_run_may_cost_is_said_before_it_spends() {
    let home = tempfile::tempdir().expect("a home");
    let key = [("ANTHROPIC_API_KEY", "no-real-key")];
    let suite = starter();
    let asked = |more: &[&'static str]| {
        let mut words = vec!["run", suite.as_str(), "--task", "mousepad-add-line", "--model"];
        words.extend_from_slice(more);
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |more: &[&'static str], variables: &[(&str, &str)]| {
        let words = asked(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        apprentice(home.path(), &words, variables)
    };
    let (code, shown, told) = run(&["anthropic/claude-sonnet-5-5", "--dry-run"], &key);
    assert_eq!(code, 0, "{told}");
    assert!(shown.starts_with("1 attempt, from $0.0"), "{shown}");
    let (_, shown, _) = run(&["anthropic/claude-sonnet-5-5", "--dry-run", "--max-usd", "0.5"], &key);
    assert!(shown.contains("to $0.50 ("), "a cap bounds it: {shown}");
    let (_, shown, _) = run(&["builtin/novice", "--dry-run"], &[]);
    assert_eq!(shown, "1 attempt, free\n");
    let (_, shown, _) = run(&["compat/m", "--dry-run"], &[]);
    assert!(shown.starts_with("1 attempt; compat/m has no price: about 5 turns (4 to 8), "), "{shown}");

    let above = [("ANTHROPIC_API_KEY", "no-real-key"), ("APPRENTICE_CONFIRM_ABOVE", "0.1")];
    let (code, _, told) = run(&["anthropic/claude-sonnet-5-5"], &above);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("not confirmed") && told.contains("--yes"), "{told}");
    let (code, shown, told) = run(&["compat/m", "--max-usd", "1"], &[]);
    assert_eq!(code, 20, "{shown}{told}");
    assert!(told.contains("has no price"), "{told}");
    assert!(!home.path().join("runs").exists(), "nothing was run");
}

#[test]
fn the_list_of_models_is_also_one_object_without_a_key() {
    let home = tempfile::tempdir().expect("a home");
    let key = "planted-key-of-the-list";
    let variables = [("ANTHROPIC_API_KEY", key)];
    let (code, said, told) = apprentice(home.path(), &["models", "list", "--json"], &variables);
    assert_eq!(code, 0, "{told}");
    assert!(!said.contains(key));
    let list: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(list["schema"], "apprentice.models.list/1");
    let providers = list["providers"].as_array().expect("a list");
    let keys: Vec<_> = providers.iter().map(|one| (one["name"].as_str(), one["has_key"].as_bool())).collect();
    assert_eq!(keys[..2], [(Some("anthropic"), Some(true)), (Some("openai"), Some(false))]);
    let model = &providers[0]["models"][0];
    assert!(model["name"].as_str().is_some_and(|name| name.starts_with("anthropic/")), "{model}");
    assert!(model["input_usd"].as_f64().is_some_and(|price| price > 0.0), "{model}");
}
