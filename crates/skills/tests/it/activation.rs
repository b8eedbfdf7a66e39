//! Skills that bring tools: the timeline from the first list to the last refusal, for two agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_protocol::{EventKind, Guidance, SkillHappening, StepId, StepRef, Tool, ToolOutcome};
use apprentice_skills::book::Snapshot;
use apprentice_skills::lend::{ArmPolicy, Contributed, Gating, TaskView, lend_with, reading_tools};
use apprentice_skills::package::{ImportOptions, import_configs};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::run;
use crate::shelf::Shelf;

const SKILLS: &str = r#"{
    "triage": {"desc": "Sorting leads", "usage": "1. Call skill_search for the lead.", "tool_list": {"books": ["skill_search"]}},
    "reading": {"desc": "Reading it all", "usage": "1. Call any.", "active": true, "tool_list": {"books": []}}
}"#;

fn book() -> Snapshot {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "crm".into() };
    let taken = import_configs(&mut gateway, SKILLS, &options).expect("imports");
    assert!(taken.iter().all(|one| one.written), "{taken:?}");
    gateway.snapshot()
}

/// Two servers, whose tools are those over another book.
fn contributed(gating: Gating) -> Contributed {
    let shelf = Shelf::with(&[("os/trash", "the trash")]);
    let tools = reading_tools(&shelf.snapshot());
    let servers = [("books".to_owned(), tools.clone()), ("unclaimed".to_owned(), tools[2..].to_vec())];
    Contributed {
        servers: Some(Arc::new(BTreeMap::from(servers))),
        gating,
        denied: ["skill_list".to_owned()].into(),
    }
}

fn borrow(book: &Snapshot, gating: Gating) -> Guidance {
    lend_with(book, &ArmPolicy::Pull, &TaskView::default(), &contributed(gating)).expect("lends")
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better so")]
fn call(guidance: &Guidance, name: &str, arguments: Value) -> ToolOutcome {
    let tool: &Arc<dyn Tool> = guidance.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
    run(tool.call(&arguments, StepRef { step: StepId(1) }))
}

fn said(outcome: &ToolOutcome) -> &str {
    outcome.content[0].as_text().expect("text")
}

fn search(guidance: &Guidance, skill: &str) -> ToolOutcome {
    let arguments = json!({"skill": skill, "tool": "skill_search", "arguments": {"query": "trash"}});
    call(guidance, "skill_tool", arguments)
}

#[test]
fn tools_open_with_their_skill_and_close_with_it_for_one_agent_alone() {
    let book = book();
    let (one, other) = (borrow(&book, Gating::Strict), borrow(&book, Gating::Strict));
    let opening = one.opening.as_str();
    assert!(opening.contains("skill_activate") && opening.contains("crm/reading"), "{opening}");
    assert!(!opening.contains("Call skill_search"), "no body is in the opening");

    assert!(said(&search(&one, "crm/triage")).contains("not active"));
    let activated = call(&one, "skill_activate", json!({"skill": "crm/triage"}));
    assert!(said(&activated).starts_with("Active: crm/reading, crm/triage."), "{}", said(&activated));
    assert!(
        said(&activated).contains("1. Call skill_search for the lead.")
            && said(&activated).contains("- skill_search: ")
    );
    let happened: Vec<SkillHappening> = activated
        .events
        .iter()
        .filter_map(|event| if let EventKind::Skill(skill) = event { Some(skill.happening) } else { None })
        .collect();
    assert_eq!(happened, [SkillHappening::Viewed, SkillHappening::Activated]);
    let again = call(&one, "skill_activate", json!({"skill": "crm/triage"}));
    assert!(said(&again).contains("already active") && again.events.is_empty());

    assert!(said(&search(&one, "crm/triage")).contains("os/trash"));
    let beyond = json!({"skill": "crm/triage", "tool": "skill_view", "arguments": {"skill": "os/trash"}});
    let beyond = call(&one, "skill_tool", beyond);
    assert!(beyond.is_error && said(&beyond).contains("it brings: skill_search"), "{}", said(&beyond));
    assert!(search(&other, "crm/triage").is_error, "the other agent has not opened it");
    assert!(!search(&other, "crm/reading").is_error, "what is active from the start is so for everybody");

    let closed = call(&one, "skill_offload", json!({"skill": "crm/triage"}));
    assert!(said(&closed).ends_with("Active: crm/reading."));
    assert!(search(&one, "crm/triage").is_error);
    assert!(call(&one, "skill_offload", json!({"skill": "crm/triage"})).is_error);
    assert!(call(&one, "skill_activate", json!({"skill": "crm/nothing"})).is_error);
}

#[test]
fn gating_decides_on_servers_that_nobody_names_and_the_deny_list_on_all() {
    let book = book();
    let view = |guidance: &Guidance| {
        let arguments =
            json!({"skill": "crm/triage", "tool": "skill_view", "arguments": {"skill": "os/trash"}});
        call(guidance, "skill_activate", json!({"skill": "crm/triage"}));
        call(guidance, "skill_tool", arguments).is_error
    };
    assert!(view(&borrow(&book, Gating::Strict)));
    assert!(!view(&borrow(&book, Gating::Additive)));
    let denied = json!({"skill": "crm/reading", "tool": "skill_list", "arguments": {"domain": "os"}});
    assert!(call(&borrow(&book, Gating::Additive), "skill_tool", denied).is_error);
}

#[test]
fn a_book_without_such_skills_lends_no_such_tools() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let guidance = borrow(&shelf.snapshot(), Gating::Additive);
    assert_eq!(guidance.tools.len(), 3);
    assert!(!guidance.opening.as_str().contains("skill_activate"));
}
