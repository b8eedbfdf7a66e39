//! Authoring tools: their writes, their refusals, and the rule that names are not paths.

use std::sync::Arc;
use std::time::Duration;

use apprentice_learning::author_tools;
use apprentice_protocol::{BoxFuture, Clock, EventKind, SkillEventKind, StepId, StepRef, ToolOutcome, Why};
use apprentice_skillbook::WriteMode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::run;
use crate::shelf::{Shelf, id, tree};

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn mono(&self) -> Duration {
        Duration::ZERO
    }

    fn pause(&self, time: Duration, _: Why) -> BoxFuture<'_, ()> {
        std::thread::park_timeout(time);
        Box::pin(std::future::ready(()))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better so")]
fn call(shelf: &Shelf, name: &str, arguments: Value) -> ToolOutcome {
    call_as(WriteMode::Auto, shelf, (name, &arguments))
}

fn call_as(mode: WriteMode, shelf: &Shelf, (name, arguments): (&str, &Value)) -> ToolOutcome {
    let clock: Arc<dyn Clock> = Arc::new(Standing);
    let tools = author_tools(shelf.path(), &clock, mode);
    let tool = tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
    run(tool.call(arguments, StepRef { step: StepId(1) }))
}

fn said(outcome: &ToolOutcome) -> &str {
    outcome.content[0].as_text().expect("text")
}

fn refused(outcome: &ToolOutcome) -> &str {
    let EventKind::Skill(event) = &outcome.events[0] else { panic!("{outcome:?}") };
    assert!(outcome.is_error && event.happening == SkillEventKind::WriteRefused, "{outcome:?}");
    said(outcome).split(':').next().expect("a code")
}

fn triage() -> Value {
    json!({"id": "crm/triage", "summary": "Sorting leads in the CRM", "body": "1. Open Leads > Unassigned.\n2. Press T."})
}

#[test]
pub(crate) fn a_skill_is_created_patched_checked_and_deleted() {
    let shelf = Shelf::new();
    let created = call(&shelf, "skill_create", triage());
    let EventKind::Skill(event) = &created.events[0] else { panic!("{created:?}") };
    assert_eq!((event.happening, event.skill.clone()), (SkillEventKind::Written, Some(id("crm/triage"))));
    assert!(shelf.read("DOMAINS.md").contains("- crm (1 skill)"));
    assert_eq!(said(&call(&shelf, "skill_validate", json!({"id": "crm/triage"}))), "crm/triage is in order.");
    let patch = json!({"id": "crm/triage", "old": "Press T.", "new": "Press T, then Enter."});
    let patched = call(&shelf, "skill_patch", patch.clone());
    assert!(!patched.is_error, "{patched:?}");
    assert_eq!(refused(&call(&shelf, "skill_patch", patch)), "not_there");
    let twice = json!({"id": "crm/triage", "old": "e", "new": "i"});
    assert_eq!(refused(&call(&shelf, "skill_patch", twice)), "ambiguous");
    let heading = json!({"id": "crm/triage", "old": "## Guidance", "new": "## Steps"});
    assert_eq!(refused(&call(&shelf, "skill_patch", heading)), "bad_page");
    let note = json!({"id": "crm/triage", "old": "None", "new": "- mine"});
    assert_eq!(refused(&call(&shelf, "skill_patch", note)), "annotations");
    assert_eq!(shelf.snapshot().skill(&id("crm/triage")).expect("there").version, 2);
    assert!(!call(&shelf, "skill_delete", json!({"id": "crm/triage"})).is_error);
    assert_eq!(refused(&call(&shelf, "skill_delete", json!({"id": "crm/triage"}))), "unknown_skill");
}

#[test]
pub(crate) fn names_are_ids_and_never_paths() {
    let shelf = Shelf::new();
    let before = tree(shelf.path());
    for name in [
        "../escape/skill",
        "crm/../../etc",
        "/etc/passwd",
        "crm/a/b",
        "crm/\u{0}",
        "CRM/triage",
        "crm/tri age",
        "сrm/triage",
        "crm/triagе",
        "crm\\triage",
        "crm/.meta",
        ".meta/ops",
        "crm/-x",
        "",
        "crm/",
        "con/ａ",
    ] {
        let mut arguments = triage();
        arguments["id"] = json!(name);
        assert_eq!(refused(&call(&shelf, "skill_create", arguments)), "bad_name", "{name:?}");
        assert_eq!(refused(&call(&shelf, "skill_delete", json!({"id": name}))), "bad_name", "{name:?}");
    }
    assert_eq!(tree(shelf.path()), before, "nothing was written");
}

#[cfg(unix)]
pub(crate) fn a_link_in_the_book_is_not_followed() {
    let (shelf, outside) = (Shelf::new(), Shelf::new());
    call(&shelf, "skill_create", triage());
    let page = shelf.path().join("crm/triage.md");
    outside.edit("victim.md", "untouched");
    std::fs::remove_file(&page).expect("removes");
    std::os::unix::fs::symlink(outside.path().join("victim.md"), &page).expect("links");
    let outcome =
        call(&shelf, "skill_patch", json!({"id": "crm/triage", "old": "Press T.", "new": "Press U."}));
    assert!(outcome.is_error, "{outcome:?}");
    assert_eq!(outside.read("victim.md"), "untouched");
}

pub(crate) fn what_no_skill_may_hold_is_refused() {
    let check = |field: &str, value: &str, code: &str| {
        let shelf = Shelf::new();
        let mut arguments = triage();
        arguments[field] = json!(value);
        assert_eq!(refused(&call(&shelf, "skill_create", arguments)), code, "{value}");
        assert!(shelf.snapshot().is_empty());
    };
    check("body", &format!("Sign in with AKIA{} first.", "ABCDEFGHIJKLMNOP"), "unsafe_text");
    check("body", "The password is hunter2hunter2", "unsafe_text");
    check("summary", "The api key: 0123456789abcdef", "unsafe_text");
    check("summary", "two\nlines", "line_break");
    check("body", "Click the button.", "basic");
    check("body", "## Steps\n1. Open it.", "bad_page");
    check("body", &"Layer > Mask ".repeat(2000), "too_long");
    assert_eq!(refused(&call(&Shelf::new(), "skill_create", json!({"id": "a/b"}))), "bad_arguments");
}

#[test]
fn the_rules_of_writing_stand_in_the_tool() {
    let clock: Arc<dyn Clock> = Arc::new(Standing);
    let tools = author_tools(Shelf::new().path(), &clock, WriteMode::Auto);
    insta::assert_snapshot!(tools[0].spec().description);
}

#[test]
fn what_is_far_too_long_is_refused_before_it_is_read() {
    let shelf = Shelf::new();
    let mut huge = triage();
    huge["body"] = json!("x".repeat(2_000_000));
    assert_eq!(refused(&call(&shelf, "skill_create", huge)), "too_long");
    let mut named = triage();
    named["id"] = json!("a".repeat(10_000) + "/b");
    let outcome = call(&shelf, "skill_create", named);
    assert!(
        outcome.is_error && said(&outcome).chars().count() <= 600,
        "a refusal repeats no more than it must"
    );
}

#[test]
fn what_an_agent_writes_can_wait_for_the_user_and_the_agent_is_told() {
    let shelf = Shelf::new();
    let proposed = call_as(WriteMode::Propose, &shelf, ("skill_create", &triage()));
    assert!(said(&proposed).contains("waits for a person's word"), "{proposed:?}");
    let EventKind::Skill(event) = &proposed.events[0] else { panic!("{proposed:?}") };
    assert_eq!((event.happening, event.detail.as_deref()), (SkillEventKind::Proposed, Some("o1")));
    assert!(shelf.snapshot().is_empty());
    let again = call_as(WriteMode::Propose, &shelf, ("skill_create", &triage()));
    assert_eq!(refused(&again), "waits");
    assert_eq!(refused(&call(&shelf, "skill_validate", json!({"id": "crm/triage"}))), "unknown_skill");
}
