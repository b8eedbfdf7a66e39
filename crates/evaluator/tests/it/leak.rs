//! Held-out material cannot enter a book: not through any kind of write, not through attempts at test tasks, and
//! not through a check's explanation. The tests mark held-out tasks with unique words and search whole experiments
//! for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::audits::contamination::examine;
use apprentice_evaluator::experiment::{Experiment, report};
use apprentice_evaluator::learn::{HeldOutTasks, lock_book};
use apprentice_evaluator::split::{SplitError, SplitLock};
use apprentice_evaluator::trial_identity::trajectory_id;
use apprentice_learning::{SKILL_CREATE, author_tools};
use apprentice_protocol::{Clock, StepId, StepRef, Trajectory, VirtualClock};
use apprentice_runs::rows;
use apprentice_screening::leak::HeldOutIndex as _;
use apprentice_skillbook::package::{ImportOptions, Package, import};
use apprentice_skillbook::{
    Actor, Change, Gateway, GatewayOptions, OpId, WriteMode, WriteRefusal, WriteRequest,
};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::experiment::{TRAIN, copied, experiment, learned, lock, suite, work};

/// Words that occur in a held-out task and nowhere else.
const SENTENCE: &str = "carry the seventeen amber lanterns down to the frozen harbour before noon";
const FILE: &str = "lantern-ledger.csv";

fn sealed_suite() -> (Suite, SplitLock) {
    let mut suite = Suite::clone(&suite());
    let jug = suite.tasks.iter_mut().find(|task| task.id.as_str() == "jug").expect("a test task");
    jug.instruction = format!("Throw the jug, then {SENTENCE}, as {FILE} says.");
    let lock = lock(&suite);
    (suite, lock)
}

#[test]
fn the_other_wordings_of_a_held_out_task_are_held_out_too() {
    let (mut suite, lock) = sealed_suite();
    let wording = "Would you kindly bring each of the nine copper kettles up to the attic?";
    let find = |suite: &Suite| HeldOutTasks::build(&lock, suite).find(&format!("Remember: {wording}"));
    assert_eq!(find(&suite), None);
    let jug = suite.tasks.iter_mut().find(|task| task.id.as_str() == "jug").expect("a test task");
    jug.wordings = vec![wording.to_owned()];
    assert!(find(&suite).expect("is found").contains("eight words"));
}

/// Where a writer gets the index of held-out tasks.
#[derive(Clone, Copy, Debug)]
enum IndexFrom {
    /// From the suite, which it has at hand.
    Suite,
    /// From the book, which is locked to the suite. So do `do --learn`, `mcp --write` and `skills apply`.
    Book,
}

fn gateway(folder: &Path) -> Gateway {
    gateway_with(folder, IndexFrom::Suite)
}

fn gateway_with(folder: &Path, from: IndexFrom) -> Gateway {
    let (suite, lock) = sealed_suite();
    let held_out = HeldOutTasks::build(&lock, &suite);
    let plain = GatewayOptions::at(Timestamp::UNIX_EPOCH);
    let options = match from {
        IndexFrom::Suite => GatewayOptions { leaks: Arc::new(held_out), ..plain },
        IndexFrom::Book => {
            lock_book(folder, &lock, &held_out).expect("locks");
            plain
        }
    };
    Gateway::open(folder, options).expect("opens").0
}

fn write(gateway: &mut Gateway, actor: Actor, change: &Value) -> Result<(), WriteRefusal> {
    let change: Change = serde_json::from_value(change.clone()).expect("a change");
    let (time, read) = (Timestamp::UNIX_EPOCH, BTreeMap::new());
    gateway.apply(WriteRequest { read, ..WriteRequest::of(actor, time, change) }).map(drop)
}

fn created(skill: &str, guidance: &str) -> Value {
    json!({ "op": "skill.created", "data": {
        "skill": skill, "origin": "learned",
        "text": { "description": "Finding a command.", "situation": "A command is hidden in a menu.", "guidance": guidance },
        "domain": { "domain": skill.split('/').next(), "description": "A program." },
    } })
}

fn without_domain(mut change: Value) -> Value {
    change["data"].as_object_mut().expect("data").remove("domain");
    change
}

/// Every way of writing with a slot for text: its name, its actor and the change.
fn ways(text: &str) -> Vec<(&'static str, Actor, Value)> {
    let learning = json!({
        "type": "discovered", "scope": "pottery", "situation": "A jug is wanted.", "guidance": text,
        "confidence": "high", "evidence": ["s1"],
    });
    let review = json!({
        "review_type": "positive", "skill_id": "pottery/wheel", "followed": "yes", "impact": "positive", "what_helped": text,
    });
    let name = |text: &str| {
        let plain = text.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        plain.trim_matches('-').to_owned()
    };
    vec![
        (
            "a reflection",
            Actor::Learner,
            json!({ "op": "trajectory.reflected", "data": { "mode": "fresh", "checked": {
            "reviews": [], "unreviewed": [], "learnings": [learning], "overflow": [], "dropped": [] } } }),
        ),
        (
            "a review",
            Actor::Handler,
            json!({ "op": "skill.reviewed", "data": {
            "skill": "pottery/wheel", "version": 1, "consumer": "small", "passed": true, "review": review,
            "counts": serde_json::to_value(apprentice_skillbook::Counts::default()).expect("counts") } }),
        ),
        (
            "a candidate",
            Actor::Learner,
            json!({ "op": "candidate.recorded", "data": { "learning": learning, "passed": true } }),
        ),
        ("a candidate that is promoted", Actor::Manager, without_domain(created("pottery/new", text))),
        ("a foreground write", Actor::Human, without_domain(created("pottery/other", text))),
        (
            "an update",
            Actor::Manager,
            json!({ "op": "skill.updated", "data": { "skill": "pottery/wheel", "guidance": text } }),
        ),
        (
            "an annotation",
            Actor::Handler,
            json!({ "op": "skill.annotated", "data": { "skill": "pottery/wheel", "note": text } }),
        ),
        (
            "a merge",
            Actor::Cleaner,
            json!({ "op": "skill.merged", "data": {
            "source": "pottery/kiln", "target": "pottery/wheel",
            "text": { "description": "Commands.", "situation": "A command is hidden.", "guidance": text } } }),
        ),
        (
            "a name",
            Actor::Human,
            json!({ "op": "skill.renamed", "data": {
            "from": "pottery/kiln", "to": format!("pottery/{}", name(text)) } }),
        ),
        ("a closing word", Actor::Manager, json!({ "op": "item.closed", "data": { "outcome": text } })),
    ]
}

fn begun(folder: &Path) -> Gateway {
    begun_with(folder, IndexFrom::Suite)
}

fn begun_with(folder: &Path, from: IndexFrom) -> Gateway {
    let mut gateway = gateway_with(folder, from);
    write(&mut gateway, Actor::Manager, &created("pottery/wheel", "Choose Wheel > Shapes.")).expect("writes");
    let kiln = without_domain(created("pottery/kiln", "Choose Kiln > Firing."));
    write(&mut gateway, Actor::Manager, &kiln).expect("writes");
    gateway
}

#[test]
fn no_kind_of_write_takes_sealed_material() {
    no_way_takes_it(IndexFrom::Suite);
}

#[test]
fn a_book_that_is_locked_to_a_suite_keeps_its_tasks_from_every_writer() {
    no_way_takes_it(IndexFrom::Book);
}

#[test]
fn a_book_whose_index_cannot_be_read_is_not_written() {
    let folder = TempDir::new().expect("a folder");
    drop(begun_with(folder.path(), IndexFrom::Book));
    let kept = folder.path().join(".meta/held-out");
    let file = fs::read_dir(&kept).expect("a folder").next().expect("a file").expect("an entry").path();
    fs::write(&file, "{").expect("writes");
    let Err(error) = Gateway::open(folder.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)) else {
        panic!("it opened")
    };
    assert!(error.to_string().contains("not an index of held-out tasks"), "{error}");
}

/// Checks that an agent with the authoring tools, which opens the book itself, writes nothing of a held-out task.
#[test]
fn an_agents_own_tools_take_no_sealed_material() {
    let folder = TempDir::new().expect("a folder");
    drop(begun_with(folder.path(), IndexFrom::Book));
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let tools = author_tools(folder.path(), &clock, WriteMode::Auto);
    let create = tools.iter().find(|tool| tool.spec().name == SKILL_CREATE).expect("a tool");
    let body = |text: &str| json!({ "id": "pottery/own", "summary": "Throwing jugs.", "body": text });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let at = StepRef { step: StepId(1) };
    let refused = runtime.block_on(create.call(&body(&format!("Then {SENTENCE}.")), at));
    assert!(
        refused.is_error && refused.content[0].as_text().expect("text").starts_with("leak"),
        "{refused:?}"
    );
    let taken = runtime.block_on(create.call(&body("Choose Wheel > Shapes > Throw Jug."), at));
    assert!(!taken.is_error, "{taken:?}");
}

fn no_way_takes_it(from: IndexFrom) {
    let folder = TempDir::new().expect("a folder");
    let mut gateway = begun_with(folder.path(), from);
    for text in [format!("First {SENTENCE}."), format!("Open {FILE} and go on.")] {
        for (name, actor, change) in ways(&text) {
            // An id cannot contain a sentence, but it can contain a file name.
            if name == "a name" && text.contains(SENTENCE) {
                continue;
            }
            let refused = write(&mut gateway, actor, &change);
            match refused {
                Err(WriteRefusal::Refused { code: "leak", why }) => {
                    assert!(!why.contains("lantern"), "the refusal itself says nothing: {why}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert_eq!(gateway.state().last, OpId(2), "nothing was written");
    // All other text may be written in the same ways.
    for (name, actor, change) in ways("Choose Wheel and then Shapes") {
        let fresh = TempDir::new().expect("a folder");
        let mut gateway = begun_with(fresh.path(), from);
        write(&mut gateway, actor, &change).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_package_takes_no_sealed_material_along() {
    let folder = TempDir::new().expect("a folder");
    let mut gateway = begun(folder.path());
    let package = |body: &str| {
        let text = format!(
            "---\nname: pottery-jug\ndescription: Throwing jugs on the wheel.\n---\n\n# Jugs\n\n{body}\n"
        );
        Package { name: "pottery-jug".into(), files: [("SKILL.md".to_owned(), text.into_bytes())].into() }
    };
    let options =
        ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "pottery".into(), accept_effects: false };
    let taken = import(&mut gateway, &package(&format!("Then {SENTENCE}.")), &options).expect("is judged");
    assert!(
        !taken.written && taken.refused.as_deref().is_some_and(|why| why.starts_with("leak")),
        "{taken:?}"
    );
    let taken =
        import(&mut gateway, &package("Choose Wheel, Shapes, Throw Jug."), &options).expect("is judged");
    assert!(taken.written, "{taken:?}");
}

/// Returns every text below a folder, by path.
fn below(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, found);
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).expect("reads")).into_owned();
            found.insert(path.display().to_string(), text);
        }
    }
}

/// Puts marker words into a task, its check's expectation and every text that the check may produce.
fn marked(task: &mut Task, mark: &str, instruct: bool) {
    let mut check = serde_json::to_value(&task.evaluator).expect("json");
    let rules = &mut check["expected"]["rules"];
    rules["unexpect"] = json!([{ "key": ["values", "done"], "method": "eq", "ref": mark }]);
    task.evaluator = serde_json::from_value(check).expect("a check");
    if instruct {
        task.instruction = format!("{} The order is {mark}.", task.instruction);
    }
}

#[tokio::test]
async fn marked_words_of_test_tasks_and_of_checks_reach_no_learner_and_no_book() {
    const OF_TEST: &str = "zqx7f3acanary";
    const OF_CHECK: &str = "wvk9b2ecanary";
    let mut own = Suite::clone(&suite());
    for task in &mut own.tasks {
        let is_train = TRAIN.contains(&task.id.as_str());
        marked(task, if is_train { OF_CHECK } else { OF_TEST }, !is_train);
    }
    let lock = lock(&own);
    let marked = Experiment { suite: Arc::new(own), lock: Some(lock.clone()), ..experiment(learned()) };
    let folder = TempDir::new().expect("a folder");
    let outcome = work(&marked, folder.path(), None).await.expect("works");

    let mut texts = BTreeMap::new();
    below(&folder.path().join("skillbook"), &mut texts);
    assert!(texts.keys().any(|path| path.ends_with("ops.jsonl")), "the whole log is looked through");
    let run =
        fs::read_dir(folder.path().join("learning")).expect("runs").flatten().next().expect("a run").path();
    below(&run.join("learning"), &mut texts);
    assert!(texts.keys().any(|path| path.contains("reflect-")), "and every conversation of the learners");
    for mark in [OF_TEST, OF_CHECK] {
        let found: Vec<&String> =
            texts.iter().filter(|(_, text)| text.contains(mark)).map(|(path, _)| path).collect();
        assert!(found.is_empty(), "{mark} in {found:?}");
    }
    // The marker words are where they should be, so the search is meaningful.
    let mut measured = BTreeMap::new();
    below(&outcome.measured.folder, &mut measured);
    assert!(measured.values().any(|text| text.contains(OF_TEST)));
    let mut lessons = BTreeMap::new();
    below(&run.join("trials"), &mut lessons);
    assert!(lessons.values().any(|text| text.contains(OF_CHECK)));

    // Learning uses no attempt of the teacher at a test task, whatever the row claims.
    let rows = rows::read(&outcome.measured.folder.join("trials.jsonl")).expect("rows").rows;
    let row = rows.iter().find(|row| row.model == "builtin/explorer").expect("the teacher's");
    let trajectory = || -> Trajectory {
        serde_json::from_value(json!({
            "id": trajectory_id(row), "goal": "g", "apps": [], "consumer": "c", "verdict": row.verdict, "score": 0.0,
            "stop": "done", "limits": {}, "spent": serde_json::to_value(apprentice_protocol::ResourceUsage::default()).expect("json"),
            "steps": [], "skills": [],
        }))
        .expect("a trajectory")
    };
    assert!(matches!(lock.admit(row, trajectory()), Err(SplitError::HeldOut { .. })));
    let mut forged = row.clone();
    forged.split = Some(apprentice_runs::row::Split::Train);
    assert!(matches!(lock.admit(&forged, trajectory()), Err(SplitError::HeldOut { .. })));
    forged.task = apprentice_protocol::TaskId::new("bowl");
    assert!(lock.admit(&forged, trajectory()).is_err());
    forged.template = "bowl".into();
    assert!(matches!(lock.admit(&forged, trajectory()), Err(SplitError::TrialMismatch { .. })));
}

#[tokio::test]
async fn a_book_that_a_person_filled_with_sealed_words_is_told_beside_its_result() {
    let (folder, _) = copied().await;
    let clean = report(folder.path()).expect("a report");
    let hygiene = clean.hygiene.expect("an examination");
    assert!(!hygiene.skills.is_empty() && hygiene.skills.iter().all(|one| one.leak.is_none()), "{hygiene:?}");
    assert!(hygiene.skills.iter().all(|one| one.specificity < 0.7), "menus, no answers: {hygiene:?}");
    assert!(!clean.notes.iter().any(|note| note.contains("sealed")), "{:?}", clean.notes);

    // Pages may be edited by hand, bypassing the gateway.
    let (suite, lock) = sealed_suite();
    let book = folder.path().join("skillbook");
    let page = fs::read_dir(book.join("pottery")).expect("pages").flatten().map(|entry| entry.path());
    let page = page.filter(|path| !path.ends_with("INDEX.md")).min().expect("a page");
    let text = fs::read_to_string(&page).expect("reads");
    fs::write(&page, text.replacen("## Guidance\n", &format!("## Guidance\nFirst {SENTENCE}.\n"), 1))
        .expect("writes");
    drop(gateway(&book));
    let book = apprentice_skillbook::Snapshot::open(&book, apprentice_skillbook::At::Now).expect("opens");
    let found = examine(&suite, Some(&lock), &book, &[]);
    assert_eq!(found.skills.iter().filter(|one| one.leak.is_some()).count(), 1, "{found:?}");
    assert!(found.warnings().iter().any(|warning| warning.contains("sealed")));
}
