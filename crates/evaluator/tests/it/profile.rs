//! Missing and broken browser profile files, read by every getter that uses them.

use std::path::Path;

use apprentice_harness::env::scene::SceneSource;
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{EnvironmentKind, EnvironmentSource, Machine, Size, VoidCause, WorldSpec};
use apprentice_tasks::check::{CollectContext, CollectError, Compat, EvidenceValue, collect};
use apprentice_tasks::task::CheckSpec;
use apprentice_trace::Redactor;
use serde_json::{Value, json};

/// The result of one getter: a value, or the reason there is none.
async fn look(
    machine: &dyn Machine,
    getter: &str,
    compat: Compat,
) -> Result<Result<Value, String>, CollectError> {
    let root = tempfile::tempdir().expect("a folder");
    let context = CollectContext {
        machine,
        clock: &VirtualClock::default(),
        ended: std::time::Duration::ZERO,
        cache_dir: root.path(),
        folder: &root.path().join("evidence"),
        redactor: &Redactor::new([]).expect("builds"),
        suite_root: Path::new("."),
        mirror: None,
        compat,
    };
    let spec: CheckSpec =
        serde_json::from_value(json!({"func": "exact_match", "result": {"type": getter, "dest": "x"}}))
            .expect("a check");
    Ok(match collect(&spec, &context).await?.results.remove(0).found {
        EvidenceValue::Value { value } => Ok(value),
        EvidenceValue::Absent { why } => Err(why),
        EvidenceValue::Files { .. } => panic!("{getter} finds no files"),
    })
}

/// Getters, with upstream's result for a file that it cannot read. `null` means no result.
fn getters() -> Vec<(&'static str, &'static str, Value)> {
    let sizes = json!({"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13});
    vec![
        ("default_search_engine", "Preferences", "Google".into()),
        ("profile_name", "Preferences", Value::Null),
        ("chrome_font_size", "Preferences", sizes),
        ("enable_do_not_track", "Preferences", "false".into()),
        ("enable_safe_browsing", "Preferences", "false".into()),
        ("enable_enhanced_safety_browsing", "Preferences", "Google".into()),
        ("new_startup_page", "Preferences", "Google".into()),
        ("data_delete_automacally", "Preferences", "Google".into()),
        ("find_unpacked_extension_path", "Preferences", "Google".into()),
        ("find_installed_extension_name", "Preferences", "Google".into()),
        ("chrome_language", "../Local State", "en-US".into()),
        ("enabled_experiments", "../Local State", json!([])),
        ("bookmarks", "Bookmarks", json!({})),
        ("cookie_data", "Cookies", Value::Null),
        ("history", "History", Value::Null),
    ]
}

#[tokio::test]
async fn a_profile_that_was_never_written_or_was_broken_is_what_the_world_holds() {
    let scene = json!({"start": "main", "pages": {"main": {"title": "Main", "controls": []}}});
    let spec =
        WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 400)) };
    let world = SceneSource::default().open(&spec).await.expect("opens");
    let machine = world.machine.as_ref();
    let folder = format!("{}/.config/google-chrome/Default", machine.offers().home);
    for (getter, _, upstream) in getters() {
        let exact = look(machine, getter, Compat::Exact).await.expect("collects");
        assert_eq!(exact.unwrap_or_default(), upstream, "{getter} without a profile");
        // A result that upstream gives for a different question does not count.
        let placeholder = upstream == "Google" && getter != "default_search_engine";
        let fixed = look(machine, getter, Compat::Fixed).await.expect("collects");
        let expected = if placeholder { Value::Null } else { upstream };
        assert_eq!(fixed.unwrap_or_default(), expected, "{getter} without a profile");
    }
    let deep = "[".repeat(200_000);
    for content in ["", "{\"profile\": ", "[1]", "\"text\"", "SQLite format 3\0 and no more", &deep] {
        for (getter, name, upstream) in getters() {
            let path = format!("{folder}/{name}").replace("/Default/..", "");
            machine.write(&path, content.as_bytes()).await.expect("writes");
            let fixed = look(machine, getter, Compat::Fixed).await.expect("is no fault of the world");
            assert!(fixed.as_ref().is_err_and(|why| !why.is_empty()), "{getter} of {content:.20}: {fixed:?}");
            match look(machine, getter, Compat::Exact).await {
                Ok(exact) => assert_eq!(exact.unwrap_or_default(), upstream, "{getter} of {content:.20}"),
                Err(error) => {
                    assert_eq!((getter, error.void_cause()), ("bookmarks", VoidCause::EvidenceMissing));
                }
            }
        }
    }
    // Bytes that some programs write before a text are no fault.
    let marked = "\u{feff}{\"profile\": {\"name\": \"Ann\"}}";
    machine.write(&format!("{folder}/Preferences"), marked.as_bytes()).await.expect("writes");
    assert_eq!(look(machine, "profile_name", Compat::Exact).await.expect("collects"), Ok("Ann".into()));
}
