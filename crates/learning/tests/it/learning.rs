//! Foreground learning: packages are published completely or not at all, and reports at the end are judged.

use std::fs;
use std::os::unix::fs::symlink;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use apprentice_guidance::{SKILL_VIEW, reading_tools};
use apprentice_learning::foreground::{
    AttemptLearning, AttemptLearningOptions, BundleBudget, Journal, JournalEntry, Language, Reason, counters,
    expand, review, summarize_events,
};
use apprentice_protocol::{
    BoxFuture, ChatModel, Clock, Event, EventId, EventKind, Finish, Guidance, Machine, SkillEvent,
    SkillEventKind, StepId, StepRef, ToolOutcome, Why,
};
use apprentice_screening::effect::Concern;
use apprentice_skillbook::package::export;
use apprentice_skillbook::{Actor, At, Change, Gateway, GatewayOptions, Origin, Snapshot, WriteMode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::Written;
use crate::folder::Folder;
use crate::shelf::{Shelf, id, request, tree, write};

const HOME: &str = "/home/user/.claude/skills";
const PAGE: &str = "---\nname: rl-export\ndescription: \"Exporting without a background\"\nmetadata:\n  cua-domain: gimp\n\
                    ---\n\n## Situation\n\nA picture must keep its transparency.\n\n## Guidance\n\n1. Choose File > Export As.\n\n\
                    ## Annotations\n\nNone\n";

pub(crate) struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn mono(&self) -> Duration {
        Duration::ZERO
    }

    fn pause(&self, _: Duration, _: Why) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// One attempt over a book and a folder.
struct Turn {
    shelf: Shelf,
    world: Arc<Folder>,
    workshop: Arc<AttemptLearning>,
    lent: Guidance,
}

fn finished(text: &str) -> EventKind {
    EventKind::Finished(Finish::Answer { text: text.to_owned() })
}

fn turn_in(shelf: Shelf, language: Language) -> Turn {
    turn_writing(shelf, language, WriteMode::Auto)
}

fn turn_writing(shelf: Shelf, language: Language, mode: WriteMode) -> Turn {
    turn_with(shelf, language, mode, Vec::new())
}

fn turn_with(shelf: Shelf, language: Language, mode: WriteMode, readers: Vec<Arc<dyn ChatModel>>) -> Turn {
    let plan = AttemptLearningOptions {
        trace: None,
        book: shelf.path().to_owned(),
        clock: Arc::new(Standing),
        language,
        run: "r".into(),
        mode,
        readers,
    };
    let (workshop, world) = (AttemptLearning::new(plan), Arc::new(Folder::new()));
    workshop.enter(Arc::clone(&world) as Arc<dyn Machine>);
    for number in 1..=3 {
        workshop.timeline().note(EventId(number), &finished("a"));
    }
    let lent = workshop.extend_guidance(Guidance::default());
    Turn { shelf, world, workshop, lent }
}

fn turn() -> Turn {
    turn_in(Shelf::with(&[("gimp/layers", "layers")]), Language::English)
}

/// Polls a future up to a limit. Returns `None` if it is dropped before its end.
fn poll<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(future);
    for _ in 0..times {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
    }
    None
}

impl Turn {
    fn call_for(&self, name: &str, arguments: &Value, times: usize) -> Option<ToolOutcome> {
        let tool = self.lent.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        poll(tool.call(arguments, StepRef { step: StepId(2) }), times)
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better so")]
    fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.call_for(name, &arguments, 1000).expect("answers")
    }

    fn book(&self) -> Snapshot {
        self.shelf.snapshot()
    }

    fn start(&self) {
        let started = self.call("skill_learning_start", start("create", "rl-export", "multi_step_workflow"));
        assert!(
            !started.is_error && said(&started).contains("/home/user/.claude/skills/rl-export"),
            "{started:?}"
        );
    }

    fn refused(&self, name: &str, arguments: Value) -> String {
        let before = tree(self.shelf.path());
        let outcome = self.call(name, arguments);
        assert!(outcome.is_error, "{outcome:?}");
        let now = tree(self.shelf.path());
        assert!(now == before, "a refusal writes nothing");
        said(&outcome).split(':').next().expect("a code").to_owned()
    }
}

fn said(outcome: &ToolOutcome) -> &str {
    outcome.content[0].as_text().expect("text")
}

fn skills(outcome: &ToolOutcome) -> Vec<&SkillEvent> {
    let mut found = Vec::new();
    for event in &outcome.events {
        if let EventKind::Skill(skill) = event {
            found.push(skill);
        }
    }
    found
}

fn start(action: &str, name: &str, reason: &str) -> Value {
    json!({"action": action, "skill_name": name, "reason": reason, "event_refs": ["e1", "e2"], "message": "I learn."})
}

fn finish(action: &str, name: &str, status: &str) -> Value {
    json!({"action": action, "skill_name": name, "status": status, "message": "Done.", "summary": "How to export."})
}

fn created() -> Value {
    finish("create", "rl-export", "created")
}

/// Returns the answer of a safety reader that finds sentences of one class.
fn reading(class: &str, sentences: &[&str]) -> String {
    let classes = Concern::EFFECTS.iter().map(|one| one.word()).chain(["unreadable"]);
    let lists = classes.map(|word| (word.to_owned(), json!(if word == class { sentences } else { &[] })));
    Value::Object(lists.collect()).to_string()
}

/// Publishes a page whose guidance ends with this sentence, after a reader with this answer. Returns the turn and whether
/// the package waits for a person.
fn published_after(sentence: &str, answer: Option<&str>) -> (Turn, bool) {
    let readers = answer.into_iter().map(|answer| Arc::new(Written::words(&[answer])) as Arc<dyn ChatModel>);
    let turn = turn_with(Shelf::new(), Language::English, WriteMode::Auto, readers.collect());
    turn.start();
    let page = PAGE.replace("Choose File > Export As.", &format!("Choose File > Export As. {sentence}"));
    turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), &page);
    let done = turn.call("skill_learning_finish", created());
    assert!(!done.is_error, "{done:?}");
    let waits = skills(&done).iter().any(|event| event.happening == SkillEventKind::Proposed);
    assert_eq!(turn.book().skill(&id("gimp/rl-export")).is_none(), waits, "{done:?}");
    (turn, waits)
}

#[test]
fn a_safety_reader_judges_what_an_agent_publishes() {
    let (harmless, harmful) = ("Take the third entry of the list.", "Delete all files in the folder.");
    let (nothing, spends) = (reading("", &[]), reading("spend", &[harmless]));
    assert!(!published_after(harmless, None).1 && published_after(harmful, None).1, "the rules alone");
    assert!(published_after(harmless, Some(&spends)).1, "a reader finds what words do not");
    assert!(!published_after(harmful, Some(&nothing)).1, "a reader knows better than words");
    let (turn, waits) = published_after(harmless, Some("no answer"));
    assert!(waits, "what no reader has read waits");
    let (gateway, _) = turn.shelf.open();
    let waiting = gateway.state().proposals.values().next().expect("a proposal");
    assert_eq!(waiting.assessment.findings[0].concern, Concern::Unread);
}

#[test]
fn a_package_that_is_proposed_is_published_by_the_user_as_a_whole() {
    let turn = turn_writing(Shelf::new(), Language::English, WriteMode::Propose);
    turn.start();
    turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
    turn.world.put(&format!("{HOME}/rl-export/references/export.md"), "Click Export.\n");
    let outcome = turn.call("skill_learning_finish", created());
    assert!(said(&outcome).contains("waits for the user's word"), "{outcome:?}");
    let events = skills(&outcome);
    assert_eq!(events[0].happening, SkillEventKind::Proposed);
    assert_eq!(turn.book().skills().count(), 0);
    let waiting = *turn.book().state().proposals.keys().next().expect("one waits");
    let (mut gateway, _) = turn.shelf.open();
    gateway.accept(waiting, Timestamp::UNIX_EPOCH).expect("accepted");
    drop(gateway);
    let book = turn.book();
    assert_eq!(book.skill(&id("gimp/rl-export")).expect("is there").origin, Origin::Learned);
    assert_eq!(export(&book)[0].files["references/export.md"], b"Click Export.\n", "with all its files");
}

#[test]
fn a_package_is_written_in_the_world_and_published_as_a_whole() {
    let turn = turn_in(Shelf::new(), Language::German);
    assert!(turn.lent.opening.as_str().contains("authoring/right-learn-skill"));
    turn.start();
    turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
    turn.world.put(&format!("{HOME}/rl-export/references/export.md"), "Click Export.\n");
    let outcome = turn.call("skill_learning_finish", created());
    assert!(!outcome.is_error, "{outcome:?}");
    let events = skills(&outcome);
    assert_eq!(
        events.iter().map(|event| event.happening).collect::<Vec<_>>(),
        [SkillEventKind::Created, SkillEventKind::LearningFinished]
    );
    assert_eq!(events[1].text.as_deref(), Some("Fertigkeit gelernt: rl-export"));
    let book = turn.book();
    let skill = book.skill(&id("gimp/rl-export")).expect("is there");
    assert_eq!((skill.origin, skill.version), (Origin::Learned, 1));
    assert_eq!(book.operations().len(), 1, "one operation, with its domain and its files");
    let packages = export(&book);
    assert_eq!(packages[0].files["SKILL.md"], PAGE.as_bytes(), "the package is kept as it was written");
    assert_eq!(packages[0].files["references/export.md"], b"Click Export.\n");
    assert!(!turn.world.at(HOME).join("rl-export").exists(), "the folder is gone");

    let lines = Journal::beside(turn.shelf.path()).read().expect("reads");
    let told: Vec<&JournalEntry> = lines.iter().map(|line| &line.entry).collect();
    let event = |event| JournalEntry::Event { event };
    assert_eq!(
        told,
        [
            &event(SkillEventKind::LearningStarted),
            &event(SkillEventKind::Created),
            &event(SkillEventKind::LearningFinished)
        ]
    );
    assert_eq!((lines[2].book_before.0, lines[2].book_after.0, lines[2].id.as_str()), (0, 1, "l3"));
    assert_eq!((lines[2].run.as_str(), lines[2].step.as_deref()), ("r", Some("s2")));
}

#[test]
fn a_skill_that_is_there_is_changed_from_what_it_says_now() {
    let turn = turn();
    let started = turn.call("skill_learning_start", start("update", "gimp/layers", "missing_step"));
    assert!(!started.is_error, "{started:?}");
    let place = turn.world.at(HOME).join("gimp-layers/SKILL.md");
    let now = fs::read_to_string(&place).expect("is staged");
    fs::write(&place, now.replace("1. Open layers.", "1. Open layers.\n2. Choose Merge Down."))
        .expect("writes");
    // Somebody else was faster: what was read is no longer what is there.
    let mut gateway = turn.shelf.open().0;
    let change = apprentice_skillbook::Change::SkillUpdated {
        skill: id("gimp/layers"),
        description: None,
        situation: None,
        guidance: Some("1. Press Ctrl+L.".to_owned()),
    };
    let other = change.clone();
    write(&mut gateway, other).expect("written");
    drop(gateway);
    assert_eq!(
        turn.refused("skill_learning_finish", finish("update", "gimp/layers", "updated")),
        "stale_read"
    );
    let left = turn.call("skill_learning_finish", finish("update", "gimp/layers", "skipped"));
    assert!(!left.is_error && said(&left).contains("Nothing was published"));
    turn.call("skill_learning_start", start("update", "layers", "stale_command"));
    let now = fs::read_to_string(&place).expect("is staged anew");
    assert!(now.contains("Press Ctrl+L") && !now.contains("Merge Down"), "{now}");
    fs::write(&place, now.replace("Ctrl+L", "Ctrl+Shift+L")).expect("writes");
    let done = turn.call("skill_learning_finish", finish("update", "layers", "updated"));
    assert_eq!(skills(&done)[0].happening, SkillEventKind::Updated, "{done:?}");
    let book = turn.book();
    let skill = book.skill(&id("gimp/layers")).expect("is there");
    assert_eq!((skill.version, skill.text.guidance.as_str()), (3, "1. Press Ctrl+Shift+L."));
    assert_eq!(skill.text.description, "About layers", "what was not changed is as it was");
}

#[test]
fn what_must_not_begin_does_not() {
    let turn = turn();
    let begin = |arguments| turn.refused("skill_learning_start", arguments);
    assert_eq!(begin(start("create", "export", "multi_step_workflow")), "wrong_prefix");
    assert_eq!(begin(start("create", "rl-../x", "multi_step_workflow")), "wrong_prefix");
    assert_eq!(begin(start("create", "rl-export", "missing_step")), "wrong_reason");
    assert_eq!(begin(start("create", "rl-export", "boredom")), "bad_arguments");
    assert_eq!(begin(start("update", "gimp/nothing", "missing_step")), "unknown_skill");
    assert_eq!(begin(start("update", "right-learn-skill", "missing_step")), "core_skill");
    assert_eq!(begin(start("update", "interaction/dialogs", "missing_step")), "core_skill");
    let mut unknown = start("create", "rl-export", "multi_step_workflow");
    unknown["event_refs"] = json!(["e77"]);
    assert_eq!(begin(unknown.clone()), "unknown_event");
    unknown["event_refs"] = json!([]);
    assert_eq!(begin(unknown), "no_events");
    assert_eq!(turn.refused("skill_learning_finish", created()), "not_started");
    turn.start();
    assert_eq!(begin(start("create", "rl-other", "multi_step_workflow")), "already_started");
    assert_eq!(
        turn.refused("skill_learning_finish", finish("create", "rl-export", "updated")),
        "wrong_status"
    );
    assert_eq!(turn.refused("skill_learning_finish", finish("create", "rl-other", "created")), "not_started");
}

#[test]
fn what_is_no_package_is_said_and_can_be_mended() {
    let turn = turn();
    turn.start();
    let file = |path: &str| format!("{HOME}/rl-export/{path}");
    let end = || turn.refused("skill_learning_finish", created());
    assert_eq!(end(), "bad_package", "an empty folder");
    turn.world.put(&file("SKILL.md"), &PAGE.replace("rl-export", "rl-other"));
    assert_eq!(end(), "bad_package", "another name");
    turn.world.put(&file("SKILL.md"), PAGE);
    for (path, text, code) in [
        ("notes.txt", "a", "bad_file"),
        ("scripts/a.sh", "export TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345", "unsafe_text"),
        ("assets/big.bin", &"x".repeat(600_000), "too_large"),
    ] {
        turn.world.put(&file(path), text);
        assert_eq!(end(), code, "{path}");
        fs::remove_file(turn.world.at(&file(path))).expect("gone");
    }
    fs::create_dir_all(turn.world.at(&file("assets"))).expect("a folder");
    symlink("/etc/passwd", turn.world.at(&file("assets/passwd"))).expect("a link");
    assert_eq!(end(), "bad_file", "a link");
    fs::remove_file(turn.world.at(&file("assets/passwd"))).expect("gone");
    assert!(!turn.call("skill_learning_finish", created()).is_error, "mended");
    let again = start("create", "rl-export", "multi_step_workflow");
    assert_eq!(turn.refused("skill_learning_start", again), "exists");
}

#[test]
fn dropped_anywhere_there_is_the_whole_skill_or_none_of_it() {
    let mut outcomes = [0, 0];
    for times in 0..40 {
        let turn = turn();
        turn.start();
        turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
        turn.world.put(&format!("{HOME}/rl-export/references/export.md"), "Click Export.\n");
        let ended = turn.call_for("skill_learning_finish", &created(), times);
        let book = turn.book();
        let skill = book.skill(&id("gimp/rl-export"));
        outcomes[usize::from(skill.is_some())] += 1;
        assert!(ended.is_none() || skill.is_some());
        let Some(skill) = skill else {
            assert_eq!(book.operations().len(), 1, "after {times} looks");
            continue;
        };
        let files = &skill.package.as_ref().expect("its package").files;
        assert!(files.len() == 2 && files.iter().all(|file| book.attachment(&file.sha256).is_some()));
        let lines = Journal::beside(turn.shelf.path()).read().expect("reads");
        assert_eq!(lines.len(), 3, "what is published is noted");
    }
    assert!(outcomes[0] > 3 && outcomes[1] > 3, "{outcomes:?}");
}

#[test]
fn a_log_that_ends_anywhere_holds_the_whole_skill_or_none_of_it() {
    let turn = turn();
    turn.start();
    turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
    turn.call("skill_learning_finish", created());
    let path = turn.shelf.path().join(".meta/ops.jsonl");
    let whole = fs::read(&path).expect("a log");
    let first = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for end in (first..=whole.len()).step_by(7).chain([whole.len() - 1, whole.len()]) {
        let shelf = Shelf::new();
        fs::create_dir_all(shelf.path().join(".meta")).expect("a folder");
        fs::write(shelf.path().join(".meta/ops.jsonl"), &whole[..end]).expect("written");
        let (gateway, _) =
            Gateway::open(shelf.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
        let skill = gateway.state().skills.get(&id("gimp/rl-export"));
        assert_eq!(skill.is_some(), end == whole.len(), "{end} bytes");
        assert!(skill.is_none_or(|skill| skill.package.is_some()));
    }
}

fn signal(name: &str, trigger: &str, refs: &[&str]) -> Value {
    json!({"kind": "create_candidate", "package_name_hint": name, "trigger": trigger,
           "reason_not_written": "needs_full_context_review", "event_refs": refs, "summary": "How to export."})
}

#[test]
fn a_report_is_judged_noted_and_counted() {
    let turn = turn();
    let viewed = SkillEvent {
        happening: SkillEventKind::Viewed,
        skill: Some(id("gimp/layers")),
        version: Some(1),
        rank: None,
        detail: None,
        text: None,
        delivered_chars: 0,
    };
    let report = json!({
        "used_skill_receipts": [{"skill_name": "layers", "message": "Used it."}, {"skill_name": "dialogs", "message": "m"}],
        "learning_signal": signal("rl-export", "recovered_surprise", &["e1", "e2"]),
    });
    turn.workshop.timeline().note(EventId(4), &EventKind::Skill(viewed));
    let outcome = turn.call("skill_report", report.clone());
    let events = skills(&outcome);
    assert_eq!(events[0].happening, SkillEventKind::DeclaredUsed);
    assert_eq!((events[0].detail.as_deref(), events[0].version), (None, Some(1)));
    assert!(events[1].detail.as_deref().is_some_and(|detail| detail.contains("not delivered")), "{events:?}");
    assert_eq!((events[2].happening, said(&outcome)), (SkillEventKind::LearningSignal, "Noted."));
    assert!(said(&turn.call("skill_report", report)).starts_with("already_reported"));
    let output = turn.workshop.end_turn(None).expect("closes");
    assert_eq!(output.signal.code, "valid");
    assert_eq!(output.receipts, ["Used learned skill: layers", "Used learned skill: dialogs"]);
    assert_eq!((output.counters.skipped_foreground, output.counters.turns_since_review), (1, 1));
    let text = serde_json::to_value(&output.output).expect("json");
    let keys: Vec<&str> = text.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["learning_signal", "skill_issue_signal", "used_skill_receipts"]);
}

#[test]
fn most_attempts_report_nothing_and_are_counted_all_the_same() {
    let turn = turn();
    turn.start();
    let output = turn.workshop.end_turn(None).expect("closes");
    assert_eq!((output.output.learning_signal, output.receipts.len()), (None, 0));
    let lines = Journal::beside(turn.shelf.path()).read().expect("reads");
    assert_eq!(lines[1].data["status"], "failed", "what was open is ended, too: {lines:?}");
    assert_eq!(counters(&lines).turns_since_review, 1);
    assert_eq!(turn.book().operations().len(), 1);
}

#[test]
fn a_package_has_at_most_64_files_half_a_mebibyte_and_four_folders_deep() {
    let taken = |files: &[(String, usize)]| {
        let turn = turn();
        turn.start();
        for (path, bytes) in files {
            turn.world.put(&format!("{HOME}/rl-export/{path}"), &"x".repeat(*bytes));
        }
        turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
        let outcome = turn.call("skill_learning_finish", created());
        if outcome.is_error { said(&outcome).to_owned() } else { "taken".to_owned() }
    };
    let many = |count: usize| (0..count).map(|n| (format!("assets/{n}.txt"), 1)).collect::<Vec<_>>();
    assert_eq!(taken(&many(63)), "taken", "with SKILL.md there are 64");
    assert!(taken(&many(64)).starts_with("too_large: 65 files"), "{}", taken(&many(64)));
    let sized = |bytes: usize| taken(&[("assets/big.txt".to_owned(), bytes - PAGE.len())]);
    assert_eq!(sized(512 * 1024), "taken");
    assert!(sized(512 * 1024 + 1).contains("at most 64 files and 524288 bytes"), "{}", sized(512 * 1024 + 1));
    let deep = |path: &str| taken(&[(path.to_owned(), 1)]);
    assert_eq!(deep("assets/b/c/d.txt"), "taken");
    assert!(deep("assets/b/c/d/e.txt").starts_with("bad_file"));
}

#[test]
fn a_timeline_names_the_last_80_events_in_140_characters_each() {
    let shown = |events: u32| {
        let turn = turn_in(Shelf::new(), Language::English);
        // Three events are there before.
        for number in 4..=events {
            turn.workshop.timeline().note(EventId(number), &finished(&"z".repeat(200)));
        }
        said(&turn.call("skill_timeline", json!({}))).to_owned()
    };
    let (fits, over) = (shown(80), shown(81));
    assert_eq!((fits.lines().count(), fits.contains("left out")), (80, false), "{fits}");
    assert!(over.starts_with("(1 earlier events are left out)\n") && over.lines().count() == 81);
    let longest = fits.lines().last().expect("a line").split_once("): ").expect("a detail").1;
    assert_eq!(longest.chars().count(), 140);
}

#[test]
fn instructions_for_learning_stand_within_6000_characters_and_messages_within_300() {
    let turn = turn();
    let opening =
        apprentice_protocol::BoundedText::cut(&"o".repeat(9000), apprentice_protocol::TextBudget(9000));
    let lent = turn.workshop.extend_guidance(Guidance { opening, ..Guidance::default() });
    assert_eq!(lent.opening.as_str().chars().count(), 6000);
    let kept = |length: usize| {
        let used = json!([{ "skill_name": "layers", "message": "m".repeat(length) }]);
        let turn = turn_in(Shelf::with(&[("gimp/layers", "layers")]), Language::English);
        let outcome = turn.call("skill_report", json!({ "used_skill_receipts": used }));
        skills(&outcome)[0].text.clone().unwrap_or_default()
    };
    assert_eq!(kept(300), "m".repeat(300));
    assert!(!kept(301).contains(&"m".repeat(301)) && kept(301).chars().count() <= 300);
}

#[test]
fn a_wrong_report_is_answered_with_its_fault_three_times() {
    let turn = turn();
    let wrong = || json!({"learning_signal": signal("rl-export", "because", &["e1"])});
    let report = |arguments: Value| said(&turn.call("skill_report", arguments)).to_owned();
    assert!(report(wrong()).contains("unknown variant `because`"), "the fault is said");
    assert!(
        report(json!({"used_skill_receipts": [{"skill_name": "gone", "message": "m"}]}))
            .contains("1 more tries")
    );
    assert!(report(json!({"skill_receipt": []})).contains("goes without one"));
    assert!(report(json!({})).starts_with("report_left_out"));
    assert_eq!(turn.workshop.end_turn(None).expect("closes").signal.code, "silent");
}

#[test]
fn an_unsafe_skill_is_kept_from_agents_at_once_until_somebody_decides() {
    let turn = turn();
    let skill = id("gimp/layers");
    let view = |book: &Snapshot| {
        let tool =
            reading_tools(book).into_iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("a tool");
        let asked = json!({ "skill": "gimp/layers" });
        poll(tool.call(&asked, StepRef { step: StepId(1) }), 10).expect("answers")
    };
    let before = turn.book().content_hash();
    assert!(!view(&turn.book()).is_error);
    let issue = |issue: &str| {
        json!({ "skill_issue_signal": { "kind": "update_candidate", "skill_name": "gimp/layers", "issue": issue,
            "reason_not_patched": "needs_existing_skill_diff", "observed_effect": "manual_override",
            "event_refs": ["e1", "e2"], "patch_hint": "It deletes the backup." } })
    };
    let outcome = turn.call("skill_report", issue("unsafe_instruction"));
    let told: Vec<&SkillEvent> = skills(&outcome);
    let suspended = told.iter().find(|event| event.happening == SkillEventKind::Suspended).expect("told");
    assert!(
        suspended.text.as_deref().is_some_and(|text| text.starts_with("Suspended skill")),
        "{suspended:?}"
    );
    let book = turn.book();
    assert!(book.state().is_suspended(&skill) && book.skill(&skill).is_some(), "it is still in the book");
    assert!(view(&book).is_error, "no agent gets it");
    assert_ne!(book.content_hash(), before);

    // A person's word ends it, and so does another text.
    let mut gateway = turn.shelf.open().0;
    let resumed = || Change::SkillResumed { skill: skill.clone() };
    assert!(gateway.apply(request(Actor::Manager, resumed())).is_err(), "no model resumes");
    gateway.apply(request(Actor::Human, resumed())).expect("resumed");
    assert!(gateway.apply(request(Actor::Human, resumed())).is_err(), "once is enough");
    drop(gateway);
    assert!(!view(&turn.book()).is_error);
    assert_eq!(turn.book().content_hash(), before);
    let mut gateway = turn.shelf.open().0;
    let why = "as before".to_owned();
    let again = Change::SkillSuspended { skill: skill.clone(), why };
    assert!(
        gateway.apply(request(Actor::Agent, again.clone())).is_err(),
        "an agent reports, and does not decide"
    );
    gateway.apply(request(Actor::Handler, again)).expect("suspended");
    let guidance = Some("1. Keep the backup, and open layers.".to_owned());
    let update = Change::SkillUpdated { skill: skill.clone(), description: None, situation: None, guidance };
    gateway.apply(request(Actor::Manager, update)).expect("written");
    drop(gateway);
    assert!(!view(&turn.book()).is_error, "the new text is another one");

    let other = self::turn();
    other.call("skill_report", issue("missing_step"));
    assert!(!other.book().state().is_suspended(&skill), "other faults suspend nothing");
}

#[test]
fn signals_beside_a_finished_skill_and_two_at_once_do_not_count() {
    let turn = turn();
    turn.start();
    turn.world.put(&format!("{HOME}/rl-export/SKILL.md"), PAGE);
    turn.call("skill_learning_finish", created());
    let outcome = turn.call(
        "skill_report",
        json!({"learning_signal": signal("rl-other", "recovered_surprise", &["e1", "e2"])}),
    );
    assert!(said(&outcome).contains("finish_recorded"), "{outcome:?}");
    assert_eq!(skills(&outcome)[0].happening, SkillEventKind::LearningSignalRejected);
    assert_eq!(turn.workshop.end_turn(None).expect("closes").counters.skill_issue_hints_since_review, 1);

    let turn = self::turn();
    let issue = json!({"kind": "update_candidate", "skill_name": "gimp/layers", "issue": "missing_step",
        "reason_not_patched": "needs_existing_skill_diff", "observed_effect": "manual_override",
        "event_refs": ["e1", "e2"], "patch_hint": "Say which."});
    let both = json!({"learning_signal": signal("rl-x", "recovered_surprise", &["e1", "e2"]), "skill_issue_signal": issue});
    assert!(said(&turn.call("skill_report", both)).contains("both_signals"));
    assert_eq!(turn.workshop.end_turn(None).expect("closes").counters.skipped_foreground, 0);
}

#[test]
fn the_journal_survives_a_line_that_was_cut_off() {
    let turn = turn();
    turn.workshop.end_turn(None).expect("closes");
    let path = turn.shelf.path().join(".meta/learning.jsonl");
    let mut text = fs::read_to_string(&path).expect("a journal");
    text.push_str("{\"v\":1,\"id\":\"l2\",\"ti");
    fs::write(&path, text).expect("written");
    turn.workshop.end_turn(None).expect("closes again");
    let lines = Journal::beside(turn.shelf.path()).read().expect("reads");
    assert_eq!(lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["l1", "l3"]);
}

#[test]
fn the_book_tells_its_log_in_the_words_of_the_vocabulary() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("os/b", "beta")]);
    let mut gateway = shelf.open().0;
    write(&mut gateway, apprentice_skillbook::Change::SkillDeleted { skill: id("os/b") }).expect("written");
    drop(gateway);
    let book = Snapshot::open(shelf.path(), At::Now).expect("opens");
    let events = book.events();
    let told: Vec<(SkillEventKind, Option<u32>)> =
        events.iter().map(|event| (event.event, event.version)).collect();
    assert_eq!(
        told,
        [
            (SkillEventKind::DomainCreated, None),
            (SkillEventKind::Created, Some(1)),
            (SkillEventKind::Quarantined, Some(1)),
            (SkillEventKind::Created, Some(1)),
            (SkillEventKind::Quarantined, Some(1)),
            (SkillEventKind::Tombstoned, None)
        ],
        "a new text waits for proof"
    );
    assert_eq!(events[5].book_after, book.log_hash());
    assert!(events.windows(2).all(|two| two[0].id == two[1].id || two[0].book_after == two[1].book_before));
}

#[test]
fn a_stored_attempt_becomes_a_bundle_and_its_events_open_by_id() {
    let event = |number: u32, kind: EventKind| Event {
        version: 1,
        id: EventId(number),
        wall: Timestamp::UNIX_EPOCH,
        mono_us: 0,
        step: None,
        kind,
    };
    let tool = |number: u32, is_error: bool| {
        event(
            number,
            EventKind::ToolCalled {
                call: apprentice_protocol::CallId::new("c"),
                name: "skill_view".into(),
                is_error,
                took_ms: 1,
            },
        )
    };
    let long = "the long answer ".repeat(100);
    let events = [tool(1, false), tool(2, true), tool(3, false), tool(4, false), event(5, finished(&long))];
    let reasons: Vec<Reason> = summarize_events(&events).iter().map(|one| one.reason).collect();
    assert_eq!(
        reasons,
        [Reason::Ordinary, Reason::Error, Reason::Retry, Reason::Ordinary, Reason::FinalAnswer],
        "what follows a failure is another try, once"
    );
    let small = BundleBudget { events: 3, ..BundleBudget::default() };
    let bundle = review(&events, "run", "trial", &small).expect("a bundle");
    assert_eq!(bundle.included_events.len(), 3);
    assert_eq!(
        bundle.omitted_spans.iter().map(|span| span.summary.as_str()).collect::<Vec<_>>(),
        ["1 tool.called"; 2]
    );
    let shown = &bundle.included_events[2];
    assert!(shown.detail.chars().count() < long.len());
    assert!(expand(&summarize_events(&events), &shown.id).is_some_and(|whole| whole.contains(&long)));
    assert_eq!(review(&[], "run", "trial", &small), None);
}
