//! Setup steps and getters against a scene's machine.

use std::path::Path;
use std::time::Duration;

use apprentice_harness::env::scene::SceneSource;
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{EnvironmentKind, EnvironmentSource, Size, VoidCause, World, WorldSpec};
use apprentice_tasks::check::{CollectContext, Compat, Evidence, EvidenceValue, collect};
use apprentice_tasks::setup::{CompletedStep, SetupContext, SetupError, SetupPhase, SleepMode, prepare};
use apprentice_tasks::task::{CheckSpec, SetupStep};
use apprentice_trace::Redactor;
use serde_json::{Value, json};

const SCREEN: Size = Size::new(640, 400);

async fn world() -> World {
    let scene = json!({"start": "main", "pages": {"main": {"title": "Main", "controls": []}}});
    let spec = WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, SCREEN) };
    SceneSource::default().open(&spec).await.expect("opens")
}

async fn perform(world: &World, root: &Path, steps: Value) -> Result<Vec<CompletedStep>, SetupError> {
    let steps: Vec<SetupStep> = serde_json::from_value(steps).expect("steps");
    let context = SetupContext {
        machine: world.machine.as_ref(),
        clock: &VirtualClock::default(),
        suite_root: root,
        screen: SCREEN,
        cache_dir: &root.join("cache"),
        mirror: None,
        sleep_mode: SleepMode::Ready,
        phase: SetupPhase::Start,
        password: "secret",
    };
    prepare(&steps, &context).await
}

fn step(kind: &str, parameters: &Value) -> Value {
    json!([{"type": kind, "parameters": parameters}])
}

#[tokio::test]
async fn files_reach_the_world_from_the_task_and_from_the_suite() {
    let (world, root) = (world().await, tempfile::tempdir().expect("a folder"));
    std::fs::write(root.path().join("own.txt"), "of the suite").expect("writes");
    let steps = json!([
        {"type": "write_file", "parameters": {"path": "~/a.txt", "content": "of the task"}},
        {"type": "upload_file", "parameters": {"files": [{"local_path": "own.txt", "path": "/tmp/b.txt"}]}},
        {"type": "download", "parameters": {"files": [{"url": "file:own.txt", "path": "/tmp/c.txt"}]}},
        {"type": "sleep", "parameters": {"seconds": 0.5}},
    ]);
    let done = perform(&world, root.path(), steps).await.expect("sets up");
    assert_eq!(done.len(), 4);
    assert!(done[3].took >= std::time::Duration::from_millis(500), "{done:?}");
    let home = world.machine.offers().home.clone();
    for (path, text) in [
        (format!("{home}/a.txt"), "of the task"),
        ("/tmp/b.txt".into(), "of the suite"),
        ("/tmp/c.txt".into(), "of the suite"),
    ] {
        assert_eq!(world.machine.read(&path).await.expect("reads"), text.as_bytes(), "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_set_up_says_why_and_is_void() {
    let (world, root) = (world().await, tempfile::tempdir().expect("a folder"));
    let cases = [
        ("googledrive", json!({}), "step 0 (googledrive) failed: steps of this type are not supported"),
        ("launch", json!({"program": "x"}), "step 0 (launch) failed: invalid parameters"),
        ("launch", json!({"command": "un'closed"}), "cannot be split into words"),
        (
            "download",
            json!({"files": [{"url": "https://example.org/x", "path": "/x"}]}),
            "https://example.org/x is not fetched",
        ),
        (
            "upload_file",
            json!({"files": [{"local_path": "../x", "path": "/x"}]}),
            "leads out of the suite's folder",
        ),
        ("upload_file", json!({"files": [{"local_path": "none", "path": "/x"}]}), "none"),
    ];
    for (kind, parameters, expected) in cases {
        let error = perform(&world, root.path(), step(kind, &parameters)).await.expect_err("is refused");
        assert!(error.message().contains(expected), "{}", error.message());
        assert_eq!(error.void_cause(), VoidCause::Setup);
    }
}

#[tokio::test]
async fn a_missing_file_is_evidence_and_a_missing_getter_is_void() {
    let (world, root) = (world().await, tempfile::tempdir().expect("a folder"));
    world.machine.write("/tmp/there.txt", b"here").await.expect("writes");
    let clock = VirtualClock::default();
    let folder = root.path().join("evidence");
    let secret = "a-key-that-was-planted";
    let redactor = Redactor::new([secret]).expect("builds");
    let context = CollectContext {
        machine: world.machine.as_ref(),
        clock: &clock,
        ended: Duration::ZERO,
        cache_dir: root.path(),
        folder: &folder,
        redactor: &redactor,
        suite_root: root.path(),
        mirror: None,
        compat: Compat::Fixed,
    };
    let spec = |results: Value| -> CheckSpec {
        let func = vec!["compare_text_file"; results.as_array().map_or(0, Vec::len)];
        serde_json::from_value(json!({"func": func, "result": results})).expect("a check")
    };
    let files = spec(json!([
        {"type": "vm_file", "path": "/tmp/there.txt", "dest": "x"},
        {"type": "vm_file", "path": "/tmp/nowhere.txt", "dest": "y"},
        {"type": "vm_file", "multi": "true", "path": ["/tmp/nowhere.txt", "/tmp/there.txt"], "dest": ["y", "x"], "gives": [1]},
    ]));
    let evidence = collect(&files, &context).await.expect("collects");
    assert!(matches!(evidence.results[1].found, EvidenceValue::Absent { .. }));
    let text = |at: usize| evidence.results[at].found.files()[0].as_ref().map(|file| file.text());
    assert_eq!((text(0).as_deref(), text(2).as_deref()), (Some("here"), Some("here")));
    assert_eq!(Evidence::load(&folder).expect("loads"), evidence);
    std::fs::write(
        folder.join(evidence.results[0].found.files()[0].as_ref().expect("a file").hash.as_str()),
        "changed",
    )
    .expect("writes");
    assert!(Evidence::load(&folder).expect_err("was changed").to_string().contains("was changed"));
    let shape = format!("sk-{}", "x".repeat(30));
    let text = format!("{secret} and {shape}");
    world.machine.write("/tmp/there.txt", text.as_bytes()).await.expect("writes");
    let bytes = [text.as_bytes(), &[0xff, 0]].concat();
    world.machine.write("/tmp/nowhere.txt", &bytes).await.expect("writes");
    let evidence = collect(&files, &context).await.expect("collects");
    let kept = |at: usize| evidence.results[at].found.files()[0].as_ref().map(|file| file.bytes.to_vec());
    assert_eq!(
        kept(0),
        Some(format!("[redacted] and {shape}").into_bytes()),
        "text loses known secrets alone"
    );
    assert_eq!(kept(1), Some(bytes), "what is no text stays as it is");
    assert_eq!(Evidence::load(&folder).expect("loads"), evidence, "what is judged is what is kept");
    for getter in ["vscode_config", "cache_file"] {
        let error =
            collect(&spec(json!([{"type": getter, "path": "none"}])), &context).await.expect_err("none");
        assert_eq!(error.void_cause(), VoidCause::EvidenceMissing, "{error}");
    }
}
