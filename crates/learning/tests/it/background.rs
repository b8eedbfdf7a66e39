//! Background learning: what turns show, what a reader has to say, what a review may write, and what survives a process
//! that ends in the middle.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apprentice_learning::background::{
    Answer, Derived, Relation, ReviewLock, ReviewRequest, ReviewSummary, SessionReading, SessionRecord,
    TurnReading, derive, pending_turns, read_session, review_sessions,
};
use apprentice_learning::foreground::{
    AttemptLearning, AttemptLearningOptions, Gate, Journal, JournalEntry, Language, Limits, ReviewOutcome,
    Trigger, budgets, counters, gate,
};
use apprentice_protocol::{
    ActionOutcome, ActionRecord, CallId, Event, EventId, EventKind, Finish, Message, ResourceUsage,
    SkillEvent, SkillEventKind, StopReason, TurnStart,
};
use apprentice_skillbook::{Actor, At, Change, Gateway, GatewayOptions, Origin, Snapshot, WriteMode};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, reply, run};
use crate::learning::Standing;
use crate::shelf::{Shelf, creation, id, request, tree};

/// Writes the events of a session.
#[derive(Default)]
pub(crate) struct Script {
    events: Vec<Event>,
    turn: u32,
}

impl Script {
    fn push(mut self, kind: EventKind) -> Self {
        let id = EventId(u32::try_from(self.events.len()).expect("fits") + 1);
        self.events.push(Event { version: 1, id, wall: Timestamp::UNIX_EPOCH, mono_us: 0, step: None, kind });
        self
    }

    pub(crate) fn asks(mut self, instruction: &str) -> Self {
        self.turn += 1;
        let instruction = instruction.to_owned();
        let start = TurnStart { turn: self.turn, instruction, asks_to_learn: false };
        self.push(EventKind::TurnStarted(start))
    }

    fn act(self, asked: Value, name: &str, outcome: ActionOutcome) -> Self {
        let asked = serde_json::from_value(asked).expect("an action");
        self.push(EventKind::Action(Box::new(ActionRecord {
            call: CallId::new("c1"),
            index: 0,
            asked,
            sent: None,
            line: None,
            point: None,
            target_role: Some("button".into()),
            target_name: Some(name.into()),
            outcome,
        })))
    }

    pub(crate) fn clicks(self, name: &str) -> Self {
        self.act(json!({ "do": "click", "at": { "ref": "n1" } }), name, ActionOutcome::Done { text: None })
    }

    pub(crate) fn fails(self, name: &str) -> Self {
        let problem = "it is not there".to_owned();
        self.act(json!({ "do": "click", "at": { "ref": "n1" } }), name, ActionOutcome::Failed { problem })
    }

    fn undoes(self) -> Self {
        self.act(json!({ "do": "key", "chord": "ctrl+z" }), "", ActionOutcome::Done { text: None })
    }

    pub(crate) fn views(self, skill: &str) -> Self {
        self.skill(SkillEventKind::Viewed, skill)
    }

    fn skill(self, happening: SkillEventKind, skill: &str) -> Self {
        self.push(EventKind::Skill(SkillEvent {
            happening,
            skill: Some(id(skill)),
            version: Some(1),
            rank: None,
            detail: None,
            text: None,
            delivered_chars: 0,
        }))
    }

    pub(crate) fn reports(self, text: &str) -> Self {
        self.push(EventKind::Finished(Finish::Answer { text: text.into() })).ends(StopReason::Answered)
    }

    fn ends(self, reason: StopReason) -> Self {
        let (turn, spent) = (self.turn, ResourceUsage::default());
        let reason = Some(reason);
        self.push(EventKind::TurnEnded { turn, reason, void: None, detail: String::new(), spent })
    }

    /// The session, with all turns waiting.
    pub(crate) fn read(self) -> SessionRecord {
        let mut session = read_session("run-1", &self.events).expect("a session");
        for turn in 1..=self.turn {
            session.set_pending(turn, &format!("l{turn}"));
        }
        session
    }
}

fn reading(turn: u32, relation: Relation, asks_to_remember: Answer, recurs: Answer) -> SessionReading {
    SessionReading { turns: vec![TurnReading { turn, relation, asks_to_remember, recurs }] }
}

fn correction() -> SessionReading {
    reading(2, Relation::Correction, Answer::No, Answer::Yes)
}

pub(crate) fn keys(derived: &Derived) -> Vec<&str> {
    derived.candidates.iter().map(|candidate| candidate.key.as_str()).collect()
}

pub(crate) fn unread(session: &SessionRecord) -> Derived {
    derive(session, &SessionReading::default())
}

#[test]
fn a_further_instruction_is_a_correction_only_if_a_reader_or_an_undone_change_says_so() {
    let twice =
        || Script::default().asks("Set it.").clicks("Bold").reports("Done.").asks("Now that.").clicks("Bold");
    let session = twice().reports("Done.").read();
    assert_eq!(unread(&session), Derived::default(), "the same element again proves nothing");
    assert_eq!(keys(&derive(&session, &correction())), ["run-1#2:create:user_correction"]);
    let goes_on = reading(2, Relation::Continuation, Answer::No, Answer::Yes);
    assert_eq!(derive(&session, &goes_on), Derived::default());
    let undone = twice().undoes().reports("Done.").read();
    assert_eq!(keys(&unread(&undone)), ["run-1#2:create:user_correction"]);
    assert_eq!(derive(&undone, &goes_on), Derived::default(), "the reader knows better");
    let elsewhere =
        Script::default().asks("a").clicks("Bold").reports("Done.").asks("b").clicks("Open").undoes();
    assert_eq!(unread(&elsewhere.reports("Done.").read()), Derived::default());
    let unreported = Script::default().asks("a").clicks("Bold").ends(StopReason::StepLimit);
    let unreported = unreported.asks("b").clicks("Bold").undoes().reports("Done.").read();
    assert_eq!(unread(&unreported), Derived::default(), "nothing had been reported as done");
}

#[test]
fn a_correction_after_a_received_skill_is_about_the_skill() {
    let session = Script::default().asks("a").views("gimp/layers").clicks("Bold").reports("Done.");
    let session = session.asks("No.").clicks("Open").reports("Done.").read();
    let derived = derive(&session, &correction());
    let candidate = &derived.candidates[0];
    assert_eq!(candidate.key, "run-1#2:patch:gimp/layers");
    let shown = serde_json::to_value(candidate).expect("json");
    assert_eq!(
        (&shown["may_only"], &shown["observed_effect"], &shown["origin"]),
        (&json!("patch"), &json!("retry_after_user_correction"), &json!("nudge"))
    );
    let session = Script::default().asks("a").clicks("Bold").reports("Done.");
    let session = session.asks("No.").views("gimp/layers").clicks("Open").reports("Done.").read();
    let derived = derive(&session, &correction());
    assert_eq!(keys(&derived), ["run-1#2:patch:gimp/layers"], "read during the correction, it did not help");
    // The report, the correction and the skill's delivery, in no other turn's words.
    assert!(
        candidate.event_refs.len() >= 3 && candidate.event_refs.contains(&"e2".to_owned()),
        "{candidate:?}"
    );
}

#[test]
fn failures_and_loops_count_when_they_were_got_over() {
    let failed = || Script::default().asks("a").fails("Export");
    assert_eq!(
        keys(&unread(&failed().clicks("Save").reports("Done.").read())),
        ["run-1#1:create:recovered_surprise"]
    );
    assert_eq!(unread(&failed().reports("Done.").read()), Derived::default(), "nothing followed");
    let gave_up = failed().clicks("Save").ends(StopReason::GaveUp).read();
    assert_eq!(unread(&gave_up), Derived::default(), "a failed attempt teaches no way");
    let with_skill = failed().views("gimp/layers").clicks("Save").reports("Done.").read();
    assert_eq!(keys(&unread(&with_skill)), ["run-1#1:patch:gimp/layers"]);
    let circles = Script::default().asks("a").push(EventKind::LoopSuspected { repeats: 3 }).clicks("Save");
    assert_eq!(keys(&unread(&circles.reports("Done.").read())), ["run-1#1:create:recovered_surprise"]);
}

#[test]
fn a_request_to_remember_is_a_command_or_what_the_reader_understands() {
    let session = Script::default().asks("Remember to save.").clicks("Save").reports("Done.").read();
    assert_eq!(unread(&session), Derived::default(), "a word is no request");
    let asked = reading(1, Relation::NewTask, Answer::Yes, Answer::Unclear);
    assert_eq!(keys(&derive(&session, &asked)), ["run-1#1:create:explicit_user_request"]);
    let command = TurnStart { turn: 1, instruction: "Keep it.".into(), asks_to_learn: true };
    let script = Script { turn: 1, ..Script::default() }.push(EventKind::TurnStarted(command));
    let session = script.reports("Done.").read();
    assert_eq!(keys(&unread(&session)), ["run-1#1:create:explicit_user_request"]);
}

#[test]
fn what_cannot_come_again_is_dropped_unless_it_was_asked_for() {
    let session = Script::default().asks("a").fails("Export").clicks("Save").reports("Done.").read();
    let once = |asks| derive(&session, &reading(1, Relation::NewTask, asks, Answer::No));
    assert_eq!(once(Answer::No).candidates, []);
    assert_eq!(once(Answer::No).dropped[0].code, "one_off");
    assert_eq!(keys(&once(Answer::Yes)), ["run-1#1:create:explicit_user_request"]);
    let unclear = derive(&session, &reading(1, Relation::NewTask, Answer::No, Answer::Unclear));
    assert_eq!(unclear.candidates.len(), 1, "what is unclear is not dropped");
}

#[test]
fn patterns_and_long_work_are_nudges_and_a_finished_skill_ends_them() {
    let row = |script: Script| script.clicks("A").clicks("B").clicks("C");
    let twice = row(row(Script::default().asks("a")).reports("Done.").asks("b")).reports("Done.").read();
    assert_eq!(keys(&unread(&twice)), ["run-1#2:create:repeated_tool_pattern"]);
    let long = row(row(Script::default().asks("a"))).reports("Done.").read();
    assert_eq!(keys(&unread(&long)), ["run-1#1:create:multi_step_workflow"]);
    let written = row(row(Script::default().asks("a"))).skill(SkillEventKind::Created, "gimp/rl-x");
    let derived = unread(&written.reports("Done.").read());
    assert_eq!((derived.candidates.len(), derived.dropped[0].code.as_str()), (0, "finish_recorded"));
}

/// A book, a session that waits for a review, and the review.
pub(crate) struct Desk {
    pub(crate) shelf: Shelf,
    session: SessionRecord,
}

fn limits() -> Limits {
    Limits { interval: Duration::ZERO, turns: 1, ..Limits::default() }
}

impl Desk {
    pub(crate) fn new(shelf: Shelf, script: Script) -> Self {
        let plan = AttemptLearningOptions {
            book: shelf.path().to_owned(),
            clock: Arc::new(Standing),
            language: Language::English,
            run: "run-1".into(),
            trace: Some(PathBuf::from("/somewhere")),
            mode: WriteMode::Auto,
            readers: Vec::new(),
        };
        let turns = script.turn;
        let learning = AttemptLearning::new(plan);
        for turn in 1..=turns {
            learning.begin_turn();
            learning.end_turn(Some(turn)).expect("counts");
        }
        let desk = Self { shelf, session: script.read() };
        assert_eq!(desk.waiting(), usize::try_from(turns).expect("fits"));
        desk
    }

    pub(crate) fn recovered(shelf: Shelf) -> Self {
        let script =
            Script::default().asks("Export it.").fails("Export").clicks("Export As").reports("Done.");
        Self::new(shelf, script)
    }

    fn journal(&self) -> Journal {
        Journal::beside(self.shelf.path())
    }

    pub(crate) fn waiting(&self) -> usize {
        pending_turns(&self.journal().read().expect("reads")).len()
    }

    fn happenings(&self) -> Vec<String> {
        let lines = self.journal().read().expect("reads");
        let lines = lines.iter().filter(|line| line.actor == Actor::Background);
        lines
            .map(|line| match &line.entry {
                JournalEntry::Event { event } => json!(event).as_str().unwrap_or_default().to_owned(),
                JournalEntry::Turn { usd, .. } => format!("${usd:.2}"),
            })
            .collect()
    }

    pub(crate) fn review(&self, model: &Written) -> ReviewSummary {
        self.review_for(model, &|| 0.0)
    }

    fn review_for(&self, model: &Written, spent: &dyn Fn() -> f64) -> ReviewSummary {
        let lock = ReviewLock::try_take(self.shelf.path()).expect("locks").expect("free");
        let request = ReviewRequest {
            book: self.shelf.path(),
            model,
            readers: &[],
            clock: &Standing,
            mode: WriteMode::Auto,
            spent,
        };
        let sessions = std::slice::from_ref(&self.session);
        run(review_sessions(&lock, &request, sessions, Vec::new())).expect("reviews")
    }

    fn skill(&self, name: &str) -> Option<(Origin, u32, String)> {
        let book = Snapshot::open(self.shelf.path(), At::Now).ok()?;
        let skill = book.skill(&id(name))?;
        Some((skill.origin, skill.version, skill.text.guidance.clone()))
    }
}

const READING: &str =
    r#"{"turns":[{"turn":1,"relation":"new_task","asks_to_remember":"no","recurs":"yes"}]}"#;

fn created() -> (&'static str, Value) {
    let guidance =
        "1. Choose File > Export As, not Export.\n2. Confirm.\nVerification: the file has the new ending.";
    let asked = json!({ "name": "rl-export-as", "domain": "gimp", "description": "Exporting a picture",
        "situation": "A picture is to be exported under another format.", "guidance": guidance,
        "event_refs": ["e2", "e3"] });
    ("create_skill", asked)
}

pub(crate) fn model(turns: Vec<Vec<(&str, Value)>>) -> Written {
    let read = std::iter::once(reply(READING, Vec::new()));
    Written::of(read.chain(turns.into_iter().map(|calls| reply("", calls))).collect())
}

#[test]
fn a_review_writes_a_learned_skill_once_and_keeps_its_journal() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let asked = model(vec![
        vec![("review_event", json!({ "id": "e2" })), ("patch_skill", json!({ "event_refs": ["e2", "e3"] }))],
        vec![created()],
    ]);
    let summary = desk.review(&asked);
    assert_eq!((summary.outcome, summary.changes.len()), (ReviewOutcome::Learned, 1), "{summary:?}");
    assert!(summary.changes[0].created && !summary.changes[0].proposed);
    let (origin, version, guidance) = desk.skill("gimp/rl-export-as").expect("a skill");
    assert!(origin == Origin::Learned && version == 1 && guidance.contains("Export As"), "{guidance}");
    assert_eq!(desk.happenings(), ["review.started", "skill.created", "review.finished"]);
    assert_eq!(desk.waiting(), 0);
    let again = desk.review(&model(Vec::new()));
    assert_eq!((again.outcome, again.changes), (ReviewOutcome::NoCandidate, Vec::new()));
    let requests = asked.requests.lock().expect("unpoisoned");
    let tools: Vec<&str> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["review_event", "create_skill", "no_skill"], "no tool that changes a skill");
    let Some(Message::Results { results, .. }) = requests[2].messages.last() else { panic!("results") };
    assert!(!results[0].is_error && results[0].content[0].as_text().expect("text").starts_with("e2 action"));
    assert!(
        results[1].is_error && results[1].content[0].as_text().expect("text").starts_with("unknown_tool")
    );
}

#[test]
fn what_a_reviewer_is_asked_is_bounded_and_says_what_it_is() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let asked = model(vec![vec![("no_skill", json!({ "reason": "basic", "why": "known" }))]]);
    let summary = desk.review(&asked);
    assert_eq!(summary.outcome, ReviewOutcome::Nothing);
    assert_eq!(summary.left[0].1, "basic: known");
    let requests = asked.requests.lock().expect("unpoisoned");
    let text = |place: usize| {
        let Message::User { content } = &requests[place].messages[0] else { panic!("a question") };
        content[0].as_text().expect("text").to_owned()
    };
    insta::assert_snapshot!("background_reading_system", requests[0].system);
    insta::assert_snapshot!("background_reading", text(0));
    insta::assert_snapshot!("background_system", requests[1].system);
    let material = text(1);
    let start = material.find("\"authoring\"").expect("authoring");
    insta::assert_snapshot!("background_material", &material[..start]);
    assert!(material.contains("skill_learning_start"), "the authoring guidance is part of it");
}

#[test]
fn a_long_session_is_bounded_and_its_events_open_by_id() {
    let mut script = Script::default().asks("Export it.").fails("Export");
    for place in 0..600 {
        script = script.clicks(&format!("{place}{}", "x".repeat(200)));
    }
    let desk = Desk::new(Shelf::with(&[("gimp/layers", "layers")]), script.reports("Done."));
    let asked = model(vec![
        vec![("review_event", json!({ "id": "e300" }))],
        vec![("no_skill", json!({ "reason": "unverified", "why": "w" }))],
    ]);
    desk.review(&asked);
    let requests = asked.requests.lock().expect("unpoisoned");
    let size = serde_json::to_string(&requests[1].messages).expect("json").len();
    assert!(size < 110_000, "{size}");
    let Some(Message::Results { results, .. }) = requests[2].messages.last() else { panic!("results") };
    assert!(results[0].content[0].as_text().expect("text").contains("297xxx"), "{:?}", results[0]);
}

#[test]
fn a_review_changes_learned_skills_only_and_a_person_can_do_more() {
    let script =
        || Script::default().asks("a").fails("Bold").views("gimp/layers").clicks("Bold").reports("Done.");
    let patch = || {
        (
            "patch_skill",
            json!({ "guidance": "1. Open layers.\n2. Choose Layer > New (Ctrl+Shift+N).", "event_refs": ["e2", "e4"] }),
        )
    };
    let desk = Desk::new(Shelf::with(&[("gimp/layers", "layers")]), script());
    let asked = model(vec![vec![created()], vec![patch()]]);
    let summary = desk.review(&asked);
    assert_eq!((summary.outcome, summary.changes.len()), (ReviewOutcome::Learned, 1), "{summary:?}");
    assert!(!summary.changes[0].created);
    assert_eq!(desk.skill("gimp/rl-export-as"), None, "a candidate about a skill leads to no other skill");
    let requests = asked.requests.lock().expect("unpoisoned").clone();
    let Some(Message::Results { results, .. }) = requests[2].messages.last() else { panic!("results") };
    assert!(results[0].content[0].as_text().expect("text").starts_with("unknown_tool"), "{results:?}");
    let tools: Vec<&str> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["review_event", "patch_skill", "no_skill"], "no tool that creates a skill");
    assert_eq!(desk.skill("gimp/layers").expect("there").1, 2);

    let authored = Shelf::new();
    let mut change = creation("gimp/layers", "layers");
    if let Change::SkillCreated { origin, .. } = &mut change {
        *origin = Origin::Authored;
    }
    authored.open().0.apply(request(Actor::Human, change)).expect("written");
    let desk = Desk::new(authored, script());
    let before = desk.skill("gimp/layers");
    let summary = desk.review(&model(Vec::new()));
    assert_eq!(summary.outcome, ReviewOutcome::Nothing);
    assert!(summary.left[0].1.starts_with("not_permitted"), "{summary:?}");
    assert_eq!(desk.skill("gimp/layers"), before);

    // The gateway holds, whoever asks.
    let mut gateway = desk.shelf.open().0;
    let refused = |gateway: &mut Gateway, change: Change| {
        gateway.apply(request(Actor::Background, change)).expect_err("refused").to_string()
    };
    let skill = id("gimp/layers");
    let update = Change::SkillUpdated {
        skill: skill.clone(),
        description: None,
        situation: None,
        guidance: Some("1. Other.".into()),
    };
    for change in [
        update,
        Change::SkillDeleted { skill: skill.clone() },
        Change::SkillAnnotated { skill, note: "a".into() },
        creation("gimp/unmarked", "other"),
    ] {
        assert!(refused(&mut gateway, change).starts_with("not_permitted"));
    }
}

#[test]
fn a_change_cites_what_shows_it_and_refusals_can_be_mended() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let with = |key: &str, value: Value| {
        let (name, mut asked) = created();
        asked[key] = value;
        vec![(name, asked)]
    };
    let asked = model(vec![
        with("event_refs", json!(["e2"])),
        with("event_refs", json!(["e2", "e99"])),
        with("name", json!("export-as")),
        with("guidance", json!("1. Click the button.")),
        with("description", json!("")),
        vec![created()],
    ]);
    let summary = desk.review(&asked);
    assert_eq!(summary.outcome, ReviewOutcome::Learned, "{summary:?}");
    let requests = asked.requests.lock().expect("unpoisoned");
    let codes: Vec<String> = requests
        .iter()
        .filter_map(|request| match request.messages.last() {
            Some(Message::Results { results, .. }) => results[0].content[0].as_text(),
            _ => None,
        })
        .map(|text| text.split(':').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(codes[..4], ["too_few_events", "unknown_event", "wrong_prefix", "basic"]);
    assert_eq!(codes.len(), 5);
}

#[test]
fn a_decided_change_waits_on_the_stage_and_is_written_once() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let before = desk.skill("gimp/layers");
    let (writer, _) =
        Gateway::open(desk.shelf.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens");
    let summary = desk.review(&model(vec![vec![created()]]));
    assert_eq!((summary.outcome, summary.reviewed), (ReviewOutcome::Failed, 0), "the book is locked");
    drop(writer);
    assert!(desk.shelf.path().join(".meta/review/staged.json").is_file());
    assert_eq!((desk.skill("gimp/rl-export-as"), desk.skill("gimp/layers")), (None, before));
    assert_eq!(desk.waiting(), 1);
    // The next review pays for the reading alone: what was decided is not asked again.
    let summary = desk.review(&model(Vec::new()));
    assert_eq!((summary.outcome, summary.changes.len()), (ReviewOutcome::Learned, 1), "{summary:?}");
    assert_eq!(desk.skill("gimp/rl-export-as").expect("written").1, 1);
    assert!(!desk.shelf.path().join(".meta/review/staged.json").exists());
    assert_eq!(desk.waiting(), 0);
}

#[test]
fn one_review_at_a_time_and_a_cut_off_one_is_said_to_be_one() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let held = ReviewLock::try_take(desk.shelf.path()).expect("locks").expect("free");
    assert!(ReviewLock::try_take(desk.shelf.path()).expect("asks").is_none(), "another process reviews");
    drop(held);
    // A process that ends in the middle leaves the first line alone.
    let lines = desk.journal().read().expect("reads").len();
    desk.review(&model(vec![vec![created()]]));
    let path = desk.shelf.path().join(".meta/learning.jsonl");
    let text = std::fs::read_to_string(&path).expect("reads");
    let cut: Vec<&str> = text.lines().take(lines + 1).collect();
    std::fs::write(&path, format!("{}\n", cut.join("\n"))).expect("writes");
    assert_eq!(desk.happenings(), ["review.started"]);
    let book = tree(&desk.shelf.path().join("gimp"));
    let summary = desk.review(&model(vec![vec![created()]]));
    assert_eq!(desk.happenings()[..3], ["review.started", "review.finished", "review.started"]);
    let journal = desk.journal().read().expect("reads");
    assert!(journal.iter().any(|line| line.data["outcome"] == "interrupted"), "{journal:?}");
    assert_eq!(summary.changes.len(), 1, "the cause had acted, and is found again");
    assert_eq!(tree(&desk.shelf.path().join("gimp")), book, "no second skill, no second version");
}

#[test]
fn money_is_written_down_at_once_and_a_failure_leaves_the_turns() {
    let desk = Desk::recovered(Shelf::with(&[("gimp/layers", "layers")]));
    let total = std::cell::Cell::new(0.0);
    let spent = || {
        total.set(total.get() + 0.25);
        total.get()
    };
    let summary = desk.review_for(&model(Vec::new()), &spent);
    assert_eq!((summary.outcome, summary.reviewed), (ReviewOutcome::Failed, 0), "{summary:?}");
    assert_eq!(desk.happenings(), ["review.started", "$0.25", "$0.25", "review.finished"]);
    let lines = desk.journal().read().expect("reads");
    let used = budgets(&lines, Timestamp::UNIX_EPOCH);
    assert!((used.spent_today_usd - 0.5).abs() < 1e-9 && used.reviews_today == 1 && !used.running);
    let counted = counters(&lines);
    assert_eq!((counted.turns_since_review, counted.last_review_at), (1, Some(Timestamp::UNIX_EPOCH)));
    let due = gate(&counted, &limits(), &used, Timestamp::UNIX_EPOCH);
    assert!(matches!(due, Gate::Run(Trigger::Threshold, _)), "{due:?}");
    let poor = Limits { day_usd: 0.6, ..limits() };
    assert_eq!(
        gate(&counted, &poor, &used, Timestamp::UNIX_EPOCH),
        Gate::HeldBack("the money of today is used up")
    );
}

#[test]
fn busy_turns_become_one_review_and_a_review_is_no_turn() {
    let script = Script::default().asks("a").fails("A").clicks("B").reports("Done.");
    let script = script.asks("b").fails("C").clicks("D").reports("Done.");
    let desk = Desk::new(Shelf::with(&[("gimp/layers", "layers")]), script);
    let reading = r#"{"turns":[]}"#;
    let left = || reply("", vec![("no_skill", json!({ "reason": "basic", "why": "w" }))]);
    let asked = Written::of([reply(reading, Vec::new()), left(), left()].into());
    let summary = desk.review_for(&asked, &{
        let total = std::cell::Cell::new(0.0);
        move || {
            total.set(total.get() + 0.1);
            total.get()
        }
    });
    assert_eq!((summary.outcome, summary.reviewed, summary.left.len()), (ReviewOutcome::Nothing, 2, 2));
    let counted = counters(&desk.journal().read().expect("reads"));
    assert_eq!(
        (counted.turns_since_review, counted.tool_iters_since_review),
        (0, 0),
        "its own costs are no turns"
    );
    assert_eq!(desk.waiting(), 0);
}
