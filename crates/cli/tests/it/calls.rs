//! Settings of a model's calls, from the settings file to the bytes of a request.

use std::path::Path;

use serde_json::{Value, json};

use crate::models::apprentice;
use crate::spending::serving_by;

/// A token that must never be seen again.
const PLANTED: &str = "planted-gate-91c7";

/// Writes the settings and checks this model with these variables; gives the exit code and everything said.
fn check(home: &Path, settings: &str, model: &str, variables: &[(&str, &str)]) -> (i32, String) {
    std::fs::write(home.join("apprentice.toml"), settings).expect("writes");
    let (code, shown, told) = apprentice(home, &["models", "check", model], variables);
    (code, shown + told.as_str())
}

/// The head and the body of the first request for an answer.
fn first_post(heard: &std::sync::Mutex<Vec<String>>) -> (String, Value) {
    let heard = heard.lock().expect("unpoisoned");
    let post = heard.iter().find(|one| one.starts_with("POST")).expect("a request");
    let (head, body) = post.split_once("\r\n\r\n").expect("a head");
    (head.to_lowercase(), serde_json::from_str(body).expect("JSON"))
}

#[test]
fn settings_of_a_role_reach_the_request_of_each_vendor() {
    let home = tempfile::tempdir().expect("a home");
    let (base, heard) = serving_by(
        |_| json!({ "content": [{ "type": "text", "text": "ready" }], "stop_reason": "end_turn", "usage": {} }),
    );
    let settings = format!(
        "[provider.anthropic]\nbase_url = \"{base}\"\neffort = \"low\"\n[role.reflector]\n\
         model = \"anthropic/claude-sonnet-5-5\"\neffort = \"max\"\ncache_ttl = \"1h\"\nservice_tier = \"standard_only\"\n"
    );
    check(home.path(), &settings, "reflector", &[]);
    let (_, body) = first_post(&heard);
    assert_eq!(body["output_config"]["effort"], "max");
    assert_eq!(body["cache_control"], json!({ "type": "ephemeral", "ttl": "1h" }));
    assert_eq!((&body["service_tier"], &body["stream"]), (&json!("standard_only"), &json!(true)));

    let (base, heard) = serving_by(|_| json!({ "status": "completed", "output": [], "usage": {} }));
    let settings =
        format!("[provider.openai]\nbase_url = \"{base}\"\nservice_tier = \"flex\"\nstream = false\n");
    check(home.path(), &settings, "openai/gpt-6.1-sol", &[]);
    let (_, body) = first_post(&heard);
    assert_eq!((&body["service_tier"], body.get("stream")), (&json!("flex"), None));
    let key = body["prompt_cache_key"].as_str().expect("a key of the command");
    assert!(key.starts_with("apprentice-") && key.len() <= 64, "{key}");

    let (base, heard) = serving_by(|_| json!({ "choices": [{ "message": { "content": "ready" } }] }));
    let settings = format!(
        "[provider.compat]\nbase_url = \"{base}\"\neffort = \"low\"\nprompt_cache_key = \"k\"\nmax_output_tokens = 70\n"
    );
    let (code, said) = check(home.path(), &settings, "compat/m", &[]);
    let (_, body) = first_post(&heard);
    assert_eq!((&body["reasoning_effort"], &body["prompt_cache_key"]), (&json!("low"), &json!("k")));
    assert_eq!(body["stream"], true, "what holds no call is streamed: {code} {said}");
    let heard = heard.lock().expect("unpoisoned");
    let called = heard.iter().find(|asked| asked.contains("\"tools\":")).expect("a request with tools");
    assert!(!called.contains("\"stream\""), "a call comes in one piece: {called}");
}

#[test]
fn headers_from_the_environment_are_sent_and_shown_nowhere() {
    let home = tempfile::tempdir().expect("a home");
    let answer = json!({ "error": { "code": "x", "message": format!("{PLANTED} may not do this") } });
    let (base, heard) = serving_by(move |_| answer.clone());
    let settings = format!(
        "retries = 0\n[provider.compat]\nbase_url = \"{base}\"\nheaders = [\"X-Gate: env:GATE\", \"X-Team: a: b\"]\n"
    );
    let (code, said) = check(home.path(), &settings, "compat/m", &[("GATE", PLANTED)]);
    assert!(code == 20 && said.contains("may not do this") && !said.contains(PLANTED), "{code}: {said}");
    let (head, _) = first_post(&heard);
    assert!(head.contains(&format!("x-gate: {PLANTED}")) && head.contains("x-team: a: b"), "{head}");
    let (code, said) = check(home.path(), &settings, "compat/m", &[]);
    assert!(code == 3 && said.contains("provider.compat.headers: the variable GATE is not set"), "{said}");
}

#[test]
fn what_cannot_be_honoured_is_refused_before_anything_is_sent() {
    let home = tempfile::tempdir().expect("a home");
    let (base, heard) = serving_by(|_| json!({}));
    let key = [("ANTHROPIC_API_KEY", "no-real-key")];
    for (settings, model, words) in [
        (
            "[provider.gemini]\ncache_ttl = \"1h\"\n".to_owned(),
            "builtin/novice",
            "provider.gemini.cache_ttl: ",
        ),
        (
            format!("[role.student]\nmodel = \"compat/m\"\nbase_url = \"{base}\"\nthinking_budget = 2048\n"),
            "student",
            "role.student.thinking_budget: this provider takes no budget",
        ),
        (
            format!("[provider.anthropic]\nbase_url = \"{base}\"\nmax_output_tokens = 128001\n"),
            "anthropic/claude-opus-5-5",
            "provider.anthropic.max_output_tokens: anthropic/claude-opus-5-5 gives at most 128000",
        ),
        (
            format!(
                "[provider.compat]\nbase_url = \"{base}\"\ncontext_tokens = 4096\nmax_output_tokens = 4096\n"
            ),
            "compat/m",
            "provider.compat.max_output_tokens: 4096 tokens leave nothing of the context of 4096",
        ),
        (
            "[provider.anthropic]\nplatform = \"vertex\"\nregion = \"eu\"\n".to_owned(),
            "anthropic/claude-opus-5-5",
            "provider.anthropic.project: Vertex needs it",
        ),
    ] {
        let (code, said) = check(home.path(), &settings, model, &key);
        assert!(code == 3 && said.contains(words) && said.contains("hint: "), "{model}: {code}: {said}");
    }
    assert!(heard.lock().expect("unpoisoned").is_empty(), "nothing was sent");
}

#[test]
fn a_silent_server_is_told_by_the_limit_that_it_exceeded() {
    let home = tempfile::tempdir().expect("a home");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let settings =
        format!("retries = 0\n[provider.compat]\nbase_url = \"{base}\"\nfirst_byte_timeout_s = 0.2\n");
    let (code, said) = check(home.path(), &settings, "compat/m", &[]);
    assert!(code == 20 && said.contains("timeout: no first byte within 0.2 s"), "{code}: {said}");
}

#[test]
fn a_token_that_a_command_prints_is_the_credential_of_a_platform() {
    let home = tempfile::tempdir().expect("a home");
    let (base, heard) = serving_by(
        |_| json!({ "content": [{ "type": "text", "text": "ready" }], "stop_reason": "end_turn", "usage": {} }),
    );
    let base = base.trim_end_matches("/v1");
    let settings = format!(
        "[provider.anthropic]\nbase_url = \"{base}\"\nplatform = \"vertex\"\nproject = \"proj\"\nregion = \"eu\"\n\
         token_command = \"echo {PLANTED}\"\n"
    );
    check(home.path(), &settings, "anthropic/claude-sonnet-5-5", &[]);
    let (head, body) = first_post(&heard);
    let path =
        "/v1/projects/proj/locations/eu/publishers/anthropic/models/claude-sonnet-5-5:streamrawpredict";
    assert!(head.starts_with(&format!("post {path} ")), "{head}");
    assert!(head.contains(&format!("authorization: bearer {PLANTED}")), "{head}");
    assert_eq!(body["anthropic_version"], "2026-10-21");
    let failing = settings.replace(&format!("echo {PLANTED}"), "false");
    let (code, said) = check(home.path(), &failing, "anthropic/claude-sonnet-5-5", &[]);
    assert!(code == 3 && said.contains("token_command printed nothing, or failed"), "{code}: {said}");
}

#[test]
fn other_platforms_have_prices_of_their_own() {
    let home = tempfile::tempdir().expect("a home");
    let settings = |more: &str| format!("[provider.anthropic]\n{more}");
    let forecast = |settings: &str, model: &str| {
        std::fs::write(home.path().join("apprentice.toml"), settings).expect("writes");
        let asked = ["models", "calibrate", model, "--dry-run"];
        apprentice(home.path(), &asked, &[]).1
    };
    let dollars = |said: &str| -> f64 {
        let last = said.rsplit('$').next().expect("a sum");
        let number: String = last.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("no sum: {said}"))
    };
    let model = "openai/gpt-6.1-sol";
    let (full, flex) = (forecast("", model), forecast("[provider.openai]\nservice_tier = \"flex\"\n", model));
    assert!((dollars(&full) / dollars(&flex) - 2.0).abs() < 0.3, "{full}{flex}");
    let unknown = forecast("[provider.openai]\nservice_tier = \"priority\"\n", model);
    assert!(unknown.contains("has no price"), "{unknown}");
    let vertex = "platform = \"vertex\"\nproject = \"p\"\nregion = \"eu\"\n";
    let model = "anthropic/claude-sonnet-5-5";
    let (direct, regional) = (forecast("", model), forecast(&settings(vertex), model));
    assert!((dollars(&regional) / dollars(&direct) - 1.1).abs() < 0.05, "{direct}{regional}");
    let everywhere = forecast(&settings(&vertex.replace("\"eu\"", "\"global\"")), model);
    assert!((dollars(&everywhere) / dollars(&direct) - 1.0).abs() < 0.02, "{direct}{everywhere}");
}

#[test]
fn a_vendors_key_is_never_sent_to_another_platform() {
    let home = tempfile::tempdir().expect("a home");
    let key = [("ANTHROPIC_API_KEY", PLANTED), ("OPENAI_API_KEY", PLANTED)];
    for (model, platform) in [
        ("anthropic/claude-sonnet-5-5", "platform = \"vertex\"\nproject = \"p\"\nregion = \"eu\"\n"),
        ("anthropic/claude-sonnet-5-5", "platform = \"bedrock\"\nregion = \"us-east-1\"\n"),
        ("openai/gpt-6.1-sol", "platform = \"azure\"\n"),
    ] {
        let (base, heard) = serving_by(|_| json!({}));
        let provider = model.split('/').next().expect("a provider");
        let settings = format!("retries = 0\n[provider.{provider}]\nbase_url = \"{base}\"\n{platform}");
        check(home.path(), &settings, model, &key);
        let (head, body) = first_post(&heard);
        assert!(!head.contains(PLANTED), "{head}");
        assert_eq!(body.get("prompt_cache_key"), None, "older versions of Azure's API refuse it");
        let away = settings.replace(&base, "https://h.invalid/v1");
        let (code, said) = check(home.path(), &away, model, &key);
        assert!(code == 20 && said.contains(" is not set, so "), "{said}");
    }
    let settings = "[provider.anthropic]\nplatform = \"bedrock\"\nregion = \"us-east-1\"\n";
    let keys = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", PLANTED)];
    if !cfg!(feature = "bedrock") {
        let (code, said) = check(home.path(), settings, "anthropic/claude-sonnet-5-5", &keys);
        assert!(code == 20 && said.contains("hint: set AWS_BEARER_TOKEN_BEDROCK"), "{code}: {said}");
        assert!(said.contains("--features bedrock") && !said.contains(PLANTED), "{said}");
    }
}

#[test]
fn trouble_that_stops_nothing_is_told_on_standard_error() {
    let home = tempfile::tempdir().expect("a home");
    let (base, _) = serving_by(|_| json!({ "choices": [{ "message": { "content": "ready" } }] }));
    let told = |levels: &[(&str, &str)]| {
        let words = ["models", "check", "compat/m", "--base-url", base.as_str()];
        let (code, _, told) = apprentice(home.path(), &words, levels);
        (code, told)
    };
    let (_, said) = told(&[]);
    assert!(!said.contains("WARN"), "{said}");
    let ledger = std::fs::read_dir(home.path().join(".local/state/apprentice/spent")).expect("a folder");
    for file in ledger {
        std::fs::write(file.expect("a file").path(), "{\"at\":\"2026-\n").expect("writes");
    }
    let (code, said) = told(&[]);
    assert_ne!(code, 2, "{said}");
    let warning =
        "WARN apprentice_models::middleware::spending: skipped an unreadable line of the day's ledger error=";
    assert!(said.contains(warning), "{said}");
    let (code, said) = told(&[("APPRENTICE_LOG", "apprentice_harness=error")]);
    assert!(code != 2 && !said.contains("WARN"), "{said}");
    let (code, said) = told(&[("APPRENTICE_LOG", "apprentice=loud")]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("APPRENTICE_LOG=apprentice=loud: ") && said.contains("hint: give a level"),
        "{said}"
    );
}
