//! Transcripts of the command line: what a person or a program reads.

use std::process::{Command, Output};

/// Runs the program with no environment but a search path and a home of its own.
fn apprentice(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a home");
    let mut command = Command::new(env!("CARGO_BIN_EXE_apprentice"));
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
    crate::place::output_of(command.current_dir(home.path()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_reads_well() {
    let output = apprentice(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!("help", text(&output.stdout));
}

#[test]
fn options_of_all_commands_are_shown_once_and_taken_by_each() {
    let first = text(&apprentice(&["--help"]).stdout);
    let below = text(&apprentice(&["models", "list", "--help"]).stdout);
    for option in ["--base-url", "--isolation", "--mirror"] {
        assert!(first.contains(option) && !below.contains(option), "{option}: {below}");
    }
    assert!(below.contains("`apprentice --help`"), "{below}");
    let listed = apprentice(&["models", "list", "--isolation", "plain"]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
}

#[test]
fn each_shell_gets_completions_that_it_can_read() {
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().ok().map(|output| output.status.success())
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let output = apprentice(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for word in ["doctor", "skillbook", "max-usd"] {
            assert!(script.contains(word), "{shell} completes {word}");
        }
        let path = folder.path().join(shell);
        std::fs::write(&path, script).expect("written");
        // A shell that is not installed reads nothing.
        assert_ne!(run(shell, &[check, &path.to_string_lossy()]), Some(false), "{shell}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = apprentice(&["manual", &folder.path().to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    assert!(page("apprentice.1").contains("apprentice\\-doctor(1)"), "{}", page("apprentice.1"));
    assert!(page("apprentice-run.1").contains(".SH OPTIONS"));
    assert!(page("apprentice-skills-show.1").contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_is_a_usage_error_with_the_nearest_name() {
    let output = apprentice(&["doctr"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'doctor'"), "{}", text(&output.stderr));
}

#[test]
fn doctor_answers_programs_in_its_own_schema() {
    let output = apprentice(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(report["schema"], "apprentice.doctor/1");
    let missing =
        report["findings"].as_array().expect("findings").iter().filter(|one| one["ok"] == false).count();
    assert_eq!(output.status.code(), Some(if missing == 0 { 0 } else { 21 }));
    assert_eq!(report["ok"], missing == 0);
}

#[test]
fn settings_name_their_origin() {
    let output = apprentice(&["config", "show", "--origin"]);
    assert!(text(&output.stdout).contains("isolation = \"cell\"  # default"), "{}", text(&output.stdout));
}

#[test]
fn a_user_without_a_home_writes_nothing_where_others_could_foresee_it() {
    let place = crate::place::Place::new();
    let shared = place.path("tmp");
    for folder in ["apprentice-state", "ours/cell-precious"] {
        std::fs::create_dir_all(shared.join(folder)).expect("a folder");
    }
    let mode = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("set");
    };
    mode(&shared, 0o1777);
    mode(&shared.join("apprentice-state"), 0o777);
    for name in ["apprentice-0", "apprentice-0-aaaaaa"] {
        std::os::unix::fs::symlink(shared.join("ours"), shared.join(name)).expect("linked");
    }
    // A model's server that only fails: asking it opens the day's ledger.
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in server.incoming().flatten() {
            let mut stream = &stream;
            // Whoever hangs up early gets no answer.
            let _ = std::io::Read::read(&mut stream, &mut [0; 65_536]);
            let answer = b"HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = std::io::Write::write_all(&mut stream, answer);
        }
    });
    let settings =
        format!("retries = 0\nattempts = 1\n[provider.anthropic]\nbase_url = \"http://{address}\"\n");
    std::fs::write(place.path("apprentice.toml"), settings).expect("written");
    let end = serde_json::json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] });
    std::fs::write(place.path("script.jsonl"), end.to_string()).expect("written");
    for (model, code) in [("scripted:script.jsonl", 0), ("anthropic/claude-sonnet-5-5", 11)] {
        let mut command =
            place.command(&["do", "nothing", "--model", model, "--out", &format!("out-{code}")]);
        command
            .env_remove("HOME")
            .env_remove("APPRENTICE_STATE")
            .env("TMPDIR", &shared)
            .env("ANTHROPIC_API_KEY", "none");
        let done = command.output().expect("it starts");
        assert_eq!(done.status.code(), Some(code), "{done:?}");
    }
    assert_eq!(std::fs::read_dir(shared.join("apprentice-state")).expect("a folder").count(), 0);
    assert!(shared.join("ours/cell-precious").exists());
    assert_eq!(std::fs::read_dir(shared.join("ours")).expect("a folder").count(), 1);
}
