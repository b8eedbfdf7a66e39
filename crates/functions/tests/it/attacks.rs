//! Functions that would run for ever, fill the memory or act without end: each is stopped, and says why.

use apprentice_functions::{ACTS, Source};
use serde_json::json;

use crate::driver::{drive, function, seen};

async fn reason(body: &str) -> (usize, String) {
    let text = function("", &format!("{body}\n    page.press(\"enter\");"));
    let source = Source::read(&text, &[]).unwrap_or_else(|found| panic!("{text}\n{found:?}"));
    let driven = drive(&source, &json!({}), |_, _| seen(&[(0, "button", "A")])).await;
    (driven.acts.len(), driven.reason())
}

#[tokio::test]
async fn a_function_is_bounded_in_steps_memory_and_acts() {
    for (body, expected) in [
        (
            "    let n = 0; for i in 0..1000000000 { n += i; } if n == 1 { page.press(\"a\"); }",
            "Too many operations",
        ),
        (
            "    let n = 0; for i in 0..40000 { for j in 0..40000 { n += i + j; } } if n == 1 { page.press(\"a\"); }",
            "Too many operations",
        ),
        ("    let s = \"aaaaaaaa\"; for i in 0..64 { s += s + `${i}`; } page.press(s);", "too large"),
        ("    let s = \"a\"; for i in 0..64 { s = s + s + s + s + `${i}`; } page.press(s);", "too large"),
        (
            "    let l = [1]; for i in 0..64 { l = l + l + [i]; } if l.len() == 1 { page.press(\"a\"); }",
            "too large",
        ),
    ] {
        let (acts, reason) = reason(body).await;
        assert!(reason.contains(expected), "{body}: {reason}");
        assert_eq!(acts, 0);
    }
    let (acts, reason) =
        reason("    for i in 0..1000 { page.press(if i == 0 { \"tab\" } else { \"enter\" }); }").await;
    assert_eq!(acts, ACTS as usize);
    assert!(reason.contains("at most"), "{reason}");
}

#[test]
fn deep_nesting_is_no_function() {
    let deep = format!("    page.press({}\"a\"{});", "(".repeat(400), ")".repeat(400));
    let lists = format!("    let a = {}1{}; page.press(`${{a}}`);", "[".repeat(400), "]".repeat(400));
    for body in [deep, lists] {
        assert!(Source::read(&function("", &body), &[]).is_err());
    }
}

#[tokio::test]
async fn a_dropped_function_ends() {
    let source =
        Source::read(&function("", "    page.get_by_text(\"A\").click();"), &[]).expect("a function");
    let before = threads();
    for _ in 0..20 {
        drop(source.start(&json!({})).expect("starts"));
    }
    let gone = async {
        while threads() > before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), gone).await.expect("the threads end");
}

/// The threads of this process that run functions.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("tasks");
    let name =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.flatten().map(name).filter(|name| name.trim() == "function").count()
}
