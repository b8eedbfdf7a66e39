//! Skills that bring tools: the sequence from the first list to the last refusal, for two agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_guidance::{
    ArmPolicy, ContributedTools, Gating, TaskView, ToolFormat, ToolServers, build_guidance_with_tools,
    reading_tools,
};
use apprentice_protocol::{
    BoxFuture, EventKind, Guidance, SkillEventKind, StepId, StepRef, TextMark, Tool, ToolOutcome, ToolSpec,
};
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::package::{ImportOptions, import_configs};
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
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "crm".into(), accept_effects: false };
    let taken = import_configs(&mut gateway, SKILLS, &options).expect("imports");
    assert!(taken.iter().all(|one| one.written), "{taken:?}");
    gateway.snapshot()
}

/// Two servers, whose tools are those over another book.
fn contributed(gating: Gating) -> ContributedTools {
    let shelf = Shelf::with(&[("os/trash", "the trash")]);
    let tools = reading_tools(&shelf.snapshot());
    let servers = [("books".to_owned(), tools.clone()), ("unclaimed".to_owned(), tools[2..].to_vec())];
    ContributedTools {
        servers: Some(Arc::new(BTreeMap::from(servers))),
        gating,
        denied: ["skill_list".to_owned()].into(),
        dialect: ToolFormat::Own,
    }
}

fn borrow(book: &Snapshot, gating: Gating) -> Guidance {
    build_guidance_with_tools(
        book,
        &ArmPolicy::Pull { figures: false },
        &TaskView::default(),
        &contributed(gating),
    )
    .expect("lends")
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
pub(crate) fn tools_open_with_their_skill_and_close_with_it_for_one_agent_alone() {
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
    let happened: Vec<SkillEventKind> = activated
        .events
        .iter()
        .filter_map(|event| if let EventKind::Skill(skill) = event { Some(skill.happening) } else { None })
        .collect();
    assert_eq!(happened, [SkillEventKind::Viewed, SkillEventKind::Activated]);
    let key = || "crm/triage".to_owned();
    assert_eq!(activated.marks, [TextMark::Holds(key()), TextMark::Pins(key())]);
    let again = call(&one, "skill_activate", json!({"skill": "crm/triage"}));
    assert!(said(&again).contains("already active") && again.events.is_empty() && again.marks.is_empty());

    assert!(said(&search(&one, "crm/triage")).contains("os/trash"));
    let beyond = json!({"skill": "crm/triage", "tool": "skill_view", "arguments": {"skill": "os/trash"}});
    let beyond = call(&one, "skill_tool", beyond);
    assert!(beyond.is_error && said(&beyond).contains("it brings: skill_search"), "{}", said(&beyond));
    assert!(search(&other, "crm/triage").is_error, "the other agent has not opened it");
    assert!(!search(&other, "crm/reading").is_error, "what is active from the start is so for everybody");

    let closed = call(&one, "skill_offload", json!({"skill": "crm/triage"}));
    assert!(said(&closed).ends_with("Active: crm/reading."));
    let left_out = "[the text of a skill that was put away, left out]";
    assert_eq!(closed.marks, [TextMark::Releases { key: key(), left_out }]);
    assert!(search(&one, "crm/triage").is_error);
    assert!(call(&one, "skill_offload", json!({"skill": "crm/triage"})).is_error);
    assert!(call(&one, "skill_activate", json!({"skill": "crm/nothing"})).is_error);
}

#[test]
pub(crate) fn gating_decides_on_servers_that_nobody_names_and_the_deny_list_on_all() {
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

fn seeded(book: &Snapshot) -> Guidance {
    let contributed = ContributedTools { dialect: ToolFormat::Seed, ..contributed(Gating::Additive) };
    build_guidance_with_tools(book, &ArmPolicy::Pull { figures: false }, &TaskView::default(), &contributed)
        .expect("lends")
}

#[test]
pub(crate) fn the_dialect_of_the_seed_speaks_its_names_its_block_and_its_replies() {
    let book = book();
    let (one, other) = (seeded(&book), seeded(&book));
    let names: Vec<&str> = one.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(names, ["active_skill", "offload_skill", "skill_tool"]);
    let opening = one.opening.as_str();
    assert!(opening.starts_with("<skills_guide>\n  <skill_guide>\n"), "{opening}");
    assert!(opening.ends_with("  </skills_info>\n</skills_guide>\n"), "{opening}");
    let entry = "    <skill id=\"crm/triage\">\n      <skill_name>triage</skill_name>\n      \
                 <skill_desc>Sorting leads</skill_desc>\n    </skill>\n";
    assert!(opening.contains(entry), "{opening}");
    assert!(!opening.contains("Call skill_search"), "no guide is in the opening");

    let tool = |name: &str, arguments: Value| json!({"tool": name, "arguments": arguments});
    let trash = || tool("skill_search", json!({"query": "trash"}));
    let unknown = call(&one, "active_skill", json!({"skill_name": "nothing"}));
    assert!(unknown.is_error && said(&unknown) == "skill not found");
    assert!(call(&other, "offload_skill", json!({"skill_name": "reading"})).events.len() == 1);
    assert!(call(&other, "skill_tool", trash()).is_error, "without an active skill there is no such tool");
    let activated = call(&other, "active_skill", json!({"skill_name": "triage"}));
    let reply = said(&activated);
    assert!(
        reply.starts_with("skill crm/triage activated, current skills: ['crm/triage']\n\n<skill_guide>"),
        "{reply}"
    );
    assert!(
        reply.contains("1. Call skill_search for the lead.") && reply.ends_with("</skill_guide>"),
        "{reply}"
    );
    assert!(said(&call(&other, "skill_tool", trash())).contains("os/trash"));
    let beyond = call(&other, "skill_tool", tool("skill_view", json!({"skill": "os/trash"})));
    assert!(beyond.is_error && said(&beyond).contains("their tools: skill_search"), "{}", said(&beyond));
    let again = call(&other, "active_skill", json!({"skill_name": "triage"}));
    assert!(said(&again).contains("already active") && again.events.is_empty() && again.marks.is_empty());

    // A skill that asks for all of a server opens all of it, but for what is denied.
    assert!(!call(&one, "skill_tool", tool("skill_view", json!({"skill": "os/trash"}))).is_error);
    assert!(call(&one, "skill_tool", tool("skill_list", json!({"domain": "os"}))).is_error, "denied");
    let closed = call(&other, "offload_skill", json!({"skill_name": "crm/triage"}));
    assert_eq!(said(&closed), "skill crm/triage offloaded, current skills: []");
    assert!(matches!(closed.marks.as_slice(), [TextMark::Releases { key, .. }] if key == "crm/triage"));
    assert!(call(&other, "skill_tool", trash()).is_error);
    let twice = call(&other, "offload_skill", json!({"skill_name": "crm/triage"}));
    assert_eq!(said(&twice), "skill crm/triage not found, current skills: []");
}

/// A server that does not answer.
struct Silent;

impl ToolServers for Silent {
    fn names(&self) -> Vec<String> {
        vec!["books".to_owned()]
    }

    fn tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, String>> {
        Box::pin(std::future::ready(Err("no answer within 10 s".to_owned())))
    }
}

#[test]
fn either_dialect_says_which_tools_are_not_there_and_why() {
    let book = book();
    for dialect in [ToolFormat::Own, ToolFormat::Seed] {
        for (servers, why) in [
            (Arc::new(Silent) as Arc<dyn ToolServers>, "the server books: no answer within 10 s"),
            (Arc::new(BTreeMap::new()), "the server books: it is not set up here"),
        ] {
            let servers = Some(servers);
            let contributed = ContributedTools { servers, dialect, ..contributed(Gating::Strict) };
            let policy = ArmPolicy::Pull { figures: false };
            let guidance = build_guidance_with_tools(&book, &policy, &TaskView::default(), &contributed);
            let guidance = guidance.expect("lends");
            let (tool, name) = match dialect {
                ToolFormat::Own => ("skill_activate", json!({"skill": "crm/triage"})),
                ToolFormat::Seed => ("active_skill", json!({"skill_name": "triage"})),
            };
            let activated = call(&guidance, tool, name);
            let told = said(&activated);
            assert!(told.contains(&format!("Not to be had: {why}.")), "{dialect:?}: {told}");
            assert!(told.contains("None of its tools can be reached here."), "{dialect:?}: {told}");
        }
    }
}

#[test]
fn the_block_of_the_seed_is_bounded_and_escaped() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let table: BTreeMap<String, Value> = (0..400)
        .map(|number| {
            (format!("s{number}"), json!({"desc": format!("<b> & {}", "x".repeat(150)), "usage": "1. Go."}))
        })
        .collect();
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "crm".into(), accept_effects: false };
    let text = serde_json::to_string(&table).expect("json");
    import_configs(&mut gateway, &text, &options).expect("imports");
    let opening = seeded(&gateway.snapshot()).opening;
    let opening = opening.as_str();
    assert!(opening.chars().count() <= 24_000, "{}", opening.chars().count());
    assert!(opening.ends_with("</skills_guide>\n") && opening.contains("more are not listed"));
    assert!(opening.contains("&lt;b&gt; &amp; x") && !opening.contains("<b>"));
}

struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Value, _: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(std::future::ready(ToolOutcome::text(self.0.name.clone())))
    }
}

/// Servers of which one cannot be reached.
struct OneUnreachable(BTreeMap<String, Vec<Arc<dyn Tool>>>, String);

impl ToolServers for OneUnreachable {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().chain(["elsewhere".to_owned()]).collect()
    }

    fn tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, String>> {
        let tools = self.0.get(server).cloned().ok_or_else(|| self.1.clone());
        Box::pin(std::future::ready(tools))
    }
}

#[test]
fn what_cannot_be_reached_is_told_whole_after_many_tools() {
    let book = book();
    let tool = |number: usize| -> Arc<dyn Tool> {
        let (name, schema) = (format!("tool_{number}"), json!({"type": "object"}));
        Arc::new(Named(ToolSpec { name, description: "d".repeat(300), schema }))
    };
    let tools = BTreeMap::from([("books".to_owned(), (0..200).map(tool).collect::<Vec<_>>())]);
    let why = format!("it did not start: {}, said its last line", "x".repeat(450));
    let contributed = ContributedTools {
        servers: Some(Arc::new(OneUnreachable(tools, why.clone()))),
        ..ContributedTools::default()
    };
    let policy = ArmPolicy::Pull { figures: false };
    let lent = build_guidance_with_tools(&book, &policy, &TaskView::default(), &contributed).expect("lends");
    call(&lent, "skill_offload", json!({"skill": "crm/reading"}));
    let activated = call(&lent, "skill_activate", json!({"skill": "crm/reading"}));
    let text = said(&activated);
    assert!(text.contains(&why) && text.chars().count() <= 16_000, "{}", &text[text.len() - 900..]);
}

#[test]
fn of_many_tools_all_are_named_and_can_be_called() {
    let book = book();
    let tool = |number: usize| -> Arc<dyn Tool> {
        let (name, schema) = (format!("tool_{number}"), json!({"type": "object"}));
        Arc::new(Named(ToolSpec { name, description: "d".repeat(300), schema }))
    };
    let servers = BTreeMap::from([("books".to_owned(), (0..200).map(tool).collect::<Vec<_>>())]);
    let contributed = ContributedTools { servers: Some(Arc::new(servers)), ..ContributedTools::default() };
    let lent = build_guidance_with_tools(
        &book,
        &ArmPolicy::Pull { figures: false },
        &TaskView::default(),
        &contributed,
    )
    .expect("lends");
    call(&lent, "skill_offload", json!({"skill": "crm/reading"}));
    let activated = call(&lent, "skill_activate", json!({"skill": "crm/reading"}));
    let text = said(&activated);
    assert!(text.chars().count() <= 16_000 && text.contains("- tool_0: ddd"), "{}", text.len());
    // A line of a description has 337 characters at most, so that one more would not fit.
    assert!(text.chars().count() > 16_000 - 340, "as many tools are described as there is room for");
    assert!(text.trim_end().ends_with(", tool_198, tool_199\n</tools>"), "{}", &text[text.len() - 100..]);
    let last = json!({"skill": "crm/reading", "tool": "tool_199", "arguments": {}});
    assert_eq!(
        said(&call(&lent, "skill_tool", last)),
        "<tool_answer tool=\"tool_199\">\ntool_199\n</tool_answer>"
    );
}
