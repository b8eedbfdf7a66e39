//! Functions of skills through the agent loop: in a scene, in a real Chromium, and in a real editor of a cell.

use std::sync::Arc;
use std::time::Duration;

use apprentice_functions::Source;
use apprentice_harness::agent::{self, AttemptInput, AttemptResult};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_protocol::{
    ActionRecord, BoxFuture, ChangeWait, ChatModel, Command, Environment, EnvironmentKind,
    EnvironmentSource as _, EventKind, FunctionCall, FunctionEnd, FunctionRecord, Guidance, Header, Limits,
    Size, SkillId, StepRef, StopReason, TaskBrief, TaskId, Tool, ToolOutcome, ToolSpec, TreeBudget, Want,
    WorldSpec,
};
use apprentice_sandbox::SystemClock;
use apprentice_trace::{Recorder, Redactor, Trace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, call, done, editor, reply};
use crate::cell;
use crate::desk::Desk;
use crate::desktop;

/// A tool that runs one function.
struct Caller(ToolSpec, Source);

impl Caller {
    fn of(text: &str) -> Arc<dyn Tool> {
        let source = Source::read(text, &[]).unwrap_or_else(|found| panic!("{text}\n{found:?}"));
        let spec = ToolSpec { name: "skill_call".into(), description: "Runs it.".into(), schema: json!({}) };
        Arc::new(Self(spec, source))
    }
}

impl Tool for Caller {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn function(&self, arguments: &Value) -> Option<FunctionCall> {
        Some(FunctionCall {
            skill: SkillId::parse("pages/forms").expect("an id"),
            name: self.1.signature().name.clone(),
            version: 3,
            arguments: arguments.clone(),
            function: self.1.start(arguments).ok()?,
        })
    }

    fn call<'a>(&'a self, _arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(std::future::ready(ToolOutcome::error("the arguments do not fit")))
    }
}

/// What an attempt left in its trace.
struct Ran {
    ended: AttemptResult,
    trace: Trace,
}

impl Ran {
    fn calls(&self) -> Vec<&FunctionRecord> {
        let events = self.trace.events.iter();
        let called = events.filter_map(|event| match &event.kind {
            EventKind::FunctionCalled { record, .. } => Some(record.as_ref()),
            _ => None,
        });
        called.collect()
    }

    fn acts(&self) -> Vec<&ActionRecord> {
        let events = self.trace.events.iter();
        let acted = events.filter_map(|event| match &event.kind {
            EventKind::Action(record) => Some(record.as_ref()),
            _ => None,
        });
        acted.collect()
    }

    /// The text of the result that the model got last for a call.
    fn answer(&self) -> String {
        let told = |kind: &EventKind| match kind {
            EventKind::CallAnswered(result) => {
                let texts = result.content.iter().filter_map(|part| part.as_text());
                Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| text != "finished")
            }
            _ => None,
        };
        self.trace.events.iter().rev().find_map(|event| told(&event.kind)).expect("an answer")
    }
}

/// Runs a script with one function in a world.
async fn run_in(environment: &mut dyn Environment, source: &str, replies: Vec<ScriptedReply>) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(SystemClock::new());
    let redactor = Arc::new(Redactor::new([]).expect("builds"));
    let mut recorder = Recorder::create(folder.path(), &folder.path().join("blobs"), clock.clone(), redactor)
        .expect("records");
    let model = Scripted::new(replies).expect("a script");
    let world = WorldSpec::new(EnvironmentKind::Browser, Size::new(1280, 800));
    let brief =
        TaskBrief { id: TaskId::new("form"), instruction: "Fill it in.".into(), limits: Limits::default() };
    let guidance = Guidance { tools: vec![Caller::of(source)], ..Guidance::default() };
    let header = Header {
        version: 1,
        program: "test".into(),
        brief: brief.clone(),
        world,
        model: model.profile().clone(),
        seed: None,
        prompt_hash: agent::prompt_hash(),
    };
    let attempt = AttemptInput {
        brief: &brief,
        model: &model,
        guidance: &guidance,
        tools: &[],
        clock: clock.as_ref(),
        header,
        seed: None,
        cancel: CancellationToken::new(),
    };
    let ended = agent::run(attempt, environment, &mut recorder).await;
    recorder.sync().expect("syncs");
    let trace = Trace::read(&folder.path().join("events.jsonl")).expect("reads");
    Ran { ended, trace }
}

fn calls(arguments: Value) -> Vec<ScriptedReply> {
    vec![reply(vec![call("skill_call", arguments)]), done()]
}

const FORM: &str =
    "<h1>People</h1><button onclick=\"document.querySelector('form').hidden=false\">Add person</button>
    <form hidden onsubmit=\"event.preventDefault(); document.querySelector('output').textContent =
      'Saved ' + n.value + ' as ' + r.value + (m.checked ? ' with mail' : '');\">
    <label>Name <input id=n></label> <label>Role <select id=r><option>Guest<option>Editor</select></label>
    <label><input id=m type=checkbox> Send mail</label> <button>Save</button></form><output></output>";

const ADD_PERSON: &str = "/// Adds a person to the list of people.
/// - name (text): the person's full name
/// - role (text): Guest or Editor
/// - mail (yes/no): whether the person gets mail
/// Example: add_person(\"Ann Lee\", \"Guest\", false)
fn add_person(page, name, role, mail) {
    page.get_by_role(\"button\", \"Add person\").click();
    page.get_by_label(\"Name\").fill(name);
    page.get_by_label(\"Role\").select_option(role);
    if mail { page.get_by_label(\"Send mail\").check(); }
    page.get_by_role(\"button\", \"Save\").click();
    let saved = page.get_by_text(\"Saved \" + name + \"*\");
    expect(saved).to_be_visible();
    return saved.text();
}
";

#[tokio::test]
async fn a_function_fills_in_a_real_page_and_each_act_is_recorded() {
    let mut desk = Desk::open().await;
    desk.show("people", FORM).await;
    let arguments = json!({ "name": "Zoë Park", "role": "Editor", "mail": true });
    let ran = run_in(desk.environment.as_mut(), ADD_PERSON, calls(arguments.clone())).await;
    assert_eq!(ran.ended.stop, Ok(StopReason::Done), "{}", ran.ended.detail);
    let record = ran.calls()[0].clone();
    let returned = json!("Saved Zoë Park as Editor with mail");
    assert_eq!(record.end, FunctionEnd::Returned { value: returned }, "{}", ran.answer());
    assert_eq!((record.version, record.acts, &record.arguments), (3, 5, &arguments));
    let lines: Vec<Option<u32>> = ran.acts().iter().map(|record| record.line).collect();
    assert_eq!(lines, [Some(7), Some(8), Some(9), Some(10), Some(11)]);
    let names: Vec<&str> = ran.acts().iter().filter_map(|record| record.target_name.as_deref()).collect();
    assert_eq!(names, ["Add person", "Name", "Role", "Send mail", "Save"]);
    assert_eq!((ran.ended.spent.world_steps, ran.ended.spent.turns), (5, 2));

    // The page has changed since the function was admitted: it says where it stops, and what it did stands.
    desk.show("changed", &FORM.replace("<button>Save</button>", "<button>Send</button>")).await;
    let ran = run_in(desk.environment.as_mut(), ADD_PERSON, calls(arguments)).await;
    let FunctionEnd::Stopped(failure) = &ran.calls()[0].end else { panic!("{:?}", ran.calls()) };
    assert_eq!((failure.line, ran.acts().len()), (11, 4));
    let answer = ran.answer();
    assert!(answer.contains(
        "add_person stopped at line 11: page.get_by_role(\"button\", \"Save\").click(): no element"
    ));
    assert!(answer.contains("go on by hand"), "{answer}");
    assert_eq!(desk.node("textbox", "Name").await.value.as_deref(), Some("Zoë Park"));
    desk.close().await;
}

const REPLACE: &str = "/// Replaces every place of a word in the open text.
/// - word (text): the word to look for
/// - by (text): what stands there afterwards
/// Example: replace_all(\"grey\", \"gray\")
fn replace_all(desktop, word, by) {
    desktop.window(\"*Mousepad\").menu(\"Search\", \"Find and Replace…*\");
    let dialog = desktop.window(\"Find and Replace\");
    dialog.get_by_label(\"Search for:\").fill(word);
    dialog.get_by_label(\"Replace with:\").fill(by);
    dialog.get_by_label(\"Replace all in:\").check();
    dialog.get_by_role(\"button\", \"Replace*\").click();
    dialog.get_by_role(\"button\", \"Close\").click();
    desktop.press(\"ctrl+s\");
}
";

#[tokio::test]
async fn a_function_works_in_a_real_editor() {
    let state = cell::state();
    let mut world = desktop::open(state.path()).await;
    world.machine.write("Documents/a.txt", b"a red door, a red car\n").await.expect("written");
    desktop::launch(&mut world, &["mousepad", "/home/user/Documents/a.txt"], "a.txt").await;
    let arguments = json!({ "word": "red", "by": "blue" });
    let ran = run_in(world.environment.as_mut(), REPLACE, calls(arguments)).await;
    let end = &ran.calls()[0].end;
    let listed = "the elements";
    if !matches!(end, FunctionEnd::Returned { .. }) {
        let seen = desktop::until_within(&mut world, Default::default(), listed, |_| true).await;
        panic!(
            "{end:?}\n{:#?}",
            seen.tree.map(|tree| tree
                .nodes
                .iter()
                .map(|node| format!("{} {:?}", node.role.as_str(), node.name))
                .collect::<Vec<_>>())
        );
    }
    let saved = |seen: &apprentice_protocol::Observation| {
        seen.windows.iter().all(|window| !window.title.starts_with('*'))
    };
    desktop::until_within(&mut world, Default::default(), "a saved file", saved).await;
    let text = world.machine.read("Documents/a.txt").await.expect("read");
    assert_eq!(String::from_utf8_lossy(&text).trim_end(), "a blue door, a blue car");
    desktop::close(world).await;
}

/// Looks at a world, so that the next wait is for what changes after it.
async fn look(environment: &mut dyn Environment) {
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    environment.observe(want).await.expect("seen");
}

/// A wait that only its end by time could end within a test's patience is one that no event ends.
const LONG: Duration = Duration::from_secs(120);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_wait_for_a_page_ends_with_its_change_or_with_its_time() {
    let mut desk = Desk::open().await;
    desk.show("still", "<p>Nothing moves.</p>").await;
    look(desk.environment.as_mut()).await;
    assert_eq!(desk.environment.await_change(SHORT).await.expect("waits"), ChangeWait::Unchanged);
    let counting =
        "<p id=a>0</p><script>setInterval(() => { a.textContent = Number(a.textContent) + 1 }, 700)</script>";
    desk.show("counting", counting).await;
    look(desk.environment.as_mut()).await;
    assert_eq!(desk.environment.await_change(LONG).await.expect("waits"), ChangeWait::Changed);
    // A document that is replaced is a change, too.
    desk.show("leaving", "<script>setTimeout(() => { location = 'still.html' }, 1500)</script>").await;
    look(desk.environment.as_mut()).await;
    assert_eq!(desk.environment.await_change(LONG).await.expect("waits"), ChangeWait::Changed);
    desk.close().await;
}

#[tokio::test]
async fn a_wait_for_a_desktop_ends_with_what_is_drawn_or_with_its_time() {
    let state = cell::state();
    let mut world = desktop::open(state.path()).await;
    look(world.environment.as_mut()).await;
    assert_eq!(world.environment.await_change(SHORT).await.expect("waits"), ChangeWait::Unchanged);
    world.machine.launch(&Command::new(["mousepad"])).await.expect("launched");
    assert_eq!(world.environment.await_change(LONG).await.expect("waits"), ChangeWait::Changed);
    desktop::close(world).await;
}

#[tokio::test]
async fn a_world_without_events_says_so_at_once() {
    let spec =
        WorldSpec { scene: Some(editor()), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 400)) };
    let mut world = SceneSource::default().open(&spec).await.expect("opens");
    assert_eq!(world.environment.await_change(LONG).await.expect("answers"), ChangeWait::Untold);
}

const CAPITALS: &str = "/// Turns the note into capitals and saves it.
/// Example: capitals()
fn capitals(desktop) {
    desktop.get_by_role(\"menu\", \"Edit\").click();
    desktop.get_by_role(\"menuitem\", \"Convert\").click();
    desktop.get_by_role(\"menuitem\", \"To capitals\").click();
    desktop.press(\"ctrl+s\");
}
";

#[tokio::test]
async fn a_function_obeys_the_limits_of_the_attempt() {
    let mut bench = Bench::new(editor(), calls(json!({})));
    bench.tools = vec![Caller::of(CAPITALS)];
    bench.limits = Limits { world_steps: 2, ..Limits::default() };
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::StepLimit));
    assert_eq!(left.ended.spent.world_steps, 2);
    let ran = Ran { ended: left.ended, trace: left.trace };
    assert_eq!((ran.acts().len(), &ran.calls()[0].end), (2, &FunctionEnd::Interrupted));
    let stopped = ran.trace.events.iter().filter(|event| matches!(event.kind, EventKind::Stopped { .. }));
    assert_eq!(stopped.count(), 1);
}

#[tokio::test]
async fn wrong_arguments_and_later_calls_of_the_batch_are_answered() {
    let replies = vec![
        reply(vec![call("skill_call", json!({ "n": 1 }))]),
        reply(vec![call("skill_call", json!({})), call("skill_call", json!({}))]),
        done(),
    ];
    let mut bench = Bench::new(editor(), replies);
    bench.tools = vec![Caller::of(&CAPITALS.replace("\"ctrl+s\"", "\"ctrl+nothing\""))];
    let left = bench.run().await;
    assert_eq!(left.ended.stop, Ok(StopReason::Done));
    let ran = Ran { ended: left.ended, trace: left.trace };
    assert_eq!(ran.calls().len(), 1, "the second of the batch is skipped");
    let FunctionEnd::Stopped(failure) = &ran.calls()[0].end else { panic!("{:?}", ran.calls()) };
    assert!(failure.reason.contains("unknown key \"nothing\""), "{failure}");
}

/// A function that presses a button so many times.
fn presses(times: usize) -> String {
    let press = "    desktop.get_by_role(\"button\", name).click();\n".repeat(times);
    format!(
        "/// Presses the button again and again.\n/// - name (text): the button's name\n/// Example: press_all(\"Next\")\n\
         fn press_all(desktop, name) {{\n{press}}}\n"
    )
}

/// The time from the model's first reply to the answer of its call, as the trace has it.
fn answered_in(trace: &Trace) -> Duration {
    let at = |wanted: fn(&EventKind) -> bool| {
        trace.events.iter().find(|event| wanted(&event.kind)).expect("recorded").mono_us
    };
    let replied = at(|kind| matches!(kind, EventKind::ModelReplied { .. }));
    Duration::from_micros(at(|kind| matches!(kind, EventKind::CallAnswered(_))) - replied)
}

/// A scene with one button.
fn one_button() -> WorldSpec {
    let button = json!({ "role": "button", "name": "Count", "click": [{ "set": { "on": true } }] });
    let page = json!({ "title": "Main", "controls": [button] });
    WorldSpec {
        scene: Some(json!({ "start": "main", "state": { "on": false }, "pages": { "main": page } })),
        ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 400))
    }
}

/// The time that pressing the button so often takes by one call, and sent as actions of the model.
async fn pressed(times: usize) -> [Duration; 2] {
    let source = presses(times);
    let mut world = SceneSource::default().open(&one_button()).await.expect("opens");
    let ran = run_in(world.environment.as_mut(), &source, calls(json!({ "name": "Count" }))).await;
    assert_eq!(ran.acts().len(), times, "{}", ran.answer());
    let called = answered_in(&ran.trace);

    let mut world = SceneSource::default().open(&one_button()).await.expect("opens");
    let seen = world.environment.observe(Want { screenshot: false, tree: Some(TreeBudget::default()) });
    let tree = seen.await.expect("seen").tree.expect("elements");
    let node = tree.nodes.iter().find(|node| node.name == "Count").expect("the button");
    let click = json!({ "do": "click", "at": { "ref": node.id } });
    let ran = run_in(
        world.environment.as_mut(),
        &source,
        vec![crate::bench::acts(json!(vec![click; times])), done()],
    )
    .await;
    assert_eq!(ran.acts().len(), times);
    [called, answered_in(&ran.trace)]
}

/// What a call costs above its actions: the middle of forty-one attempts that press a button by one call, beside as many that
/// send the same actions. The world is a scene, whose own share is small.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_a_call_costs() {
    const ROUNDS: usize = 41;
    for times in [1, 5, 20] {
        let (mut called, mut sent): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let [by_call, by_actions] = pressed(times).await;
            called.push(by_call);
            sent.push(by_actions);
        }
        called.sort();
        sent.sort();
        // A busy machine keeps the function's thread waiting at each of its requests: the least times show what the call takes.
        for (which, place) in [("least", 0), ("median", ROUNDS / 2)] {
            let (called, sent) = (called[place], sent[place]);
            let more = called.saturating_sub(sent);
            println!(
                "{times} actions, {which}: by one call {called:?}, sent {sent:?}; the call costs {more:?} above them"
            );
        }
    }
}
