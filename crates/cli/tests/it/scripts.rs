//! The scripts of the repository: each that a text names is there, and what is flaky is named.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

#[test]
fn every_script_that_a_text_names_is_there() {
    let output = Command::new("git")
        .args(["ls-files", "*.md", "*.toml", "justfile", "scripts", ".ci", ".github"])
        .current_dir(root())
        .output()
        .expect("git");
    let named = Regex::new(r"(?:^|[\s`(])(scripts/[a-z][\w/-]*(?:\.(?:py|json|rs))?)").expect("a pattern");
    let mut missing = Vec::new();
    for file in String::from_utf8(output.stdout).expect("text").lines() {
        // Pages of skills name the scripts of their own packages, and the changelog those of its day.
        let is_ours = !file.starts_with("crates/") && !["docs/skillbook.md", "CHANGELOG.md"].contains(&file);
        let Some(text) = is_ours.then(|| fs::read_to_string(root().join(file)).ok()).flatten() else {
            continue;
        };
        for found in named.captures_iter(&text) {
            if !root().join(&found[1]).exists() {
                missing.push(format!("{file}: {}", &found[1]));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Runs `scripts/ci/flaky` in a checkout with these noted runs, over a report of one flaky test; returns whether it passed, and
/// what it printed.
fn flaky(noted: &str) -> (bool, String) {
    let place = tempfile::tempdir().expect("a folder");
    for folder in [".config", "scripts/ci", "reports"] {
        fs::create_dir_all(place.path().join(folder)).expect("a folder");
    }
    fs::copy(root().join("scripts/ci/flaky"), place.path().join("scripts/ci/flaky")).expect("a copy");
    fs::write(place.path().join(".config/flaky.toml"), noted).expect("writes");
    let report = r#"<testsuites><testsuite name="a::it"><testcase name="x::shaky" classname="a::it"><flakyFailure/></testcase>
        <testcase name="x::sound" classname="a::it"/></testsuite></testsuites>"#;
    fs::write(place.path().join("reports/lane.xml"), report).expect("writes");
    fs::write(place.path().join("reports/flaky.txt"), "exports\n").expect("writes");
    let ran =
        Command::new("python3").args(["scripts/ci/flaky", "reports"]).current_dir(place.path()).output();
    let ran = ran.expect("python3");
    (ran.status.success(), String::from_utf8(ran.stdout).expect("text"))
}

#[test]
fn what_passed_at_the_second_try_is_named_and_fails_when_it_did_so_before() {
    let (passed, told) = flaky("");
    assert!(passed && told == "flaky: 2\n  a::it x::shaky\n  lane exports\n", "{told}");
    let (passed, told) = flaky("[[run]]\ndate = \"d\"\ncommit = \"c\"\nflaky = [\"a::it x::shaky\"]\n");
    assert!(!passed && told.contains("a::it x::shaky - as in 1 of the 1 runs"), "{told}");
    let (passed, _) = flaky("[[run]]\ndate = \"d\"\ncommit = \"c\"\nflaky = [\"a::it x::sound\"]\n");
    assert!(passed, "another test was flaky");
}

/// Answers one request as llama.cpp's server does, with this context, and with one reply under a grammar and another without.
fn answer(stream: &mut TcpStream, context: u32, replies: [&str; 2]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or_default();
        }
    }
    let mut asked = String::new();
    reader.take(length).read_to_string(&mut asked)?;
    let reply = if asked.contains("grammar") { replies[0] } else { replies[1] };
    let body: Value = match first.split(' ').nth(1) {
        Some("/v1/models") => json!({ "data": [{ "id": "tiny" }] }),
        Some("/props") => json!({ "default_generation_settings": { "n_ctx": context } }),
        _ => json!({ "choices": [{ "message": { "content": reply } }] }),
    };
    let body = body.to_string();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Runs `scripts/real-demo` and returns whether it went on, and what it said.
fn real_demo(arguments: &[&str]) -> (bool, String) {
    let out = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("python3");
    command.arg(root().join("scripts/real-demo")).args(["--no-setup", "--out"]).arg(out.path());
    let ran = command.args(arguments).output().expect("python3");
    assert!(!out.path().join("pilot.json").exists(), "no attempt is made");
    (ran.status.success(), String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
fn the_demo_with_a_real_model_refuses_what_it_would_stumble_over() {
    for (context, replies, why) in [
        (1024, ["violet seven"; 2], "has a context of 1024 tokens for a request, and 4096 are needed"),
        (8192, ["Hello!"; 2], "ignores grammars (it said 'Hello!')"),
        (8192, ["violet seven", "\t\t Violet"], "computes wrongly, or serves no model that can be asked"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                drop(answer(&mut stream, context, replies));
            }
        });
        let (went_on, told) = real_demo(&["--server", &url]);
        assert!(!went_on && told.contains(why), "{told}");
    }
    let (went_on, told) = real_demo(&["--server", "http://127.0.0.1:9/v1"]);
    assert!(!went_on && told.contains("does not answer as llama.cpp's does"), "{told}");

    let place = tempfile::tempdir().expect("a folder");
    let weights = place.path().join("qwen2.5-coder-0.5b.gguf");
    fs::write(&weights, "other bytes").expect("writes");
    let (went_on, told) = real_demo(&["--student", "0.5b", "--dir", place.path().to_str().expect("a path")]);
    assert!(!went_on && told.contains("the registry holds other bytes"), "{told}");
    assert!(!weights.exists(), "the file is removed");
}
