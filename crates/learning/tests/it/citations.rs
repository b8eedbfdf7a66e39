//! What the manager cites: a reader says which reports agree, and the program checks ids, attempts, verdicts and numbers.

use apprentice_learning::cleanup::{CleanupOptions, CleanupTask, HarmRule, find_cleanup_tasks};
use apprentice_learning::manage::{
    Decision, ItemOutcome, ManageItem, ManageOptions, ReportKind, WorkItem, item, manage,
};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews};
use apprentice_protocol::{JudgedBy, StepId, Trajectory, Verdict};
use apprentice_skillbook::review::{Checked, Learning, SkillReview};
use apprentice_skillbook::{
    Actor, Applied, AuthoredPages, Cause, Change, Citation, Gateway, GatewayOptions, Judgement, LeaveReason,
    OpId, Operation, Stage, WriteRequest, blame, history,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, create, id, request};

const NEEDED: ManageOptions =
    ManageOptions { turns: 12, corroboration: 2, harm: HarmRule { negatives: 3, positive_share: 0.3 } };

fn complaint(issue: &str, correction: &str) -> SkillReview {
    serde_json::from_value(json!({
        "skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": issue,
        "what_went_wrong": "no such entry", "corrected_guidance": correction,
    }))
    .expect("a review")
}

fn learning(confidence: &str, guidance: &str) -> Learning {
    serde_json::from_value(json!({
        "type": "friction", "scope": "gimp", "situation": "You want a soft edge.", "guidance": guidance,
        "confidence": confidence, "steps_wasted": 2, "evidence": ["s2"],
    }))
    .expect("a learning")
}

fn tried(name: &str, verdict: Verdict) -> Trajectory {
    attempt(name, "goal", verdict, &[("gimp/a", 1)])
}

/// Counts a review of `gimp/a`, and returns the operation under which it can be cited.
fn count(gateway: &mut Gateway, trajectory: &Trajectory, review: &SkillReview) -> String {
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    let checked = Checked { reviews: vec![(id("gimp/a"), review.clone())], ..Checked::default() };
    let report = OpId(gateway.state().last.0 + 1);
    apply_reviews(gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
    report.to_string()
}

fn learn(gateway: &mut Gateway, trajectory: &Trajectory, learning: &Learning) -> String {
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    let checked = Checked { learnings: vec![learning.clone()], ..Checked::default() };
    let report = OpId(gateway.state().last.0 + 1);
    apply_reviews(gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
    report.to_string()
}

fn decide(
    gateway: &mut Gateway,
    trajectory: &Trajectory,
    work_item: &WorkItem<'_>,
    (turns, options): (Vec<Vec<(&str, Value)>>, &ManageOptions),
) -> Decision {
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    run(manage(&Written::turns(turns), gateway, &input, work_item, options)).expect("decides")
}

fn codes(decision: &Decision) -> Vec<&str> {
    decision.refusals.iter().map(|refusal| refusal.code.as_str()).collect()
}

fn wrote(decision: &Decision) -> Option<&str> {
    match &decision.outcome {
        ItemOutcome::Wrote { tool, .. } => Some(tool),
        _ => None,
    }
}

fn look() -> (&'static str, Value) {
    ("fetch_similar_skills", json!({"situation": "soft"}))
}

fn read() -> (&'static str, Value) {
    ("read_skills", json!({"skill_ids": ["gimp/a"]}))
}

fn update(fields: &Value) -> (&'static str, Value) {
    let mut arguments = json!({"skill_id": "gimp/a", "guidance": "1. Open Layer > Beta."});
    for (key, value) in fields.as_object().expect("fields") {
        arguments[key] = value.clone();
    }
    ("update_skill", arguments)
}

fn leave(reason: &str) -> (&'static str, Value) {
    ("leave_item", json!({"reason": reason, "why": "Nothing here is for a book."}))
}

fn view(gateway: &Gateway, trajectory: &Trajectory, work_item: &WorkItem<'_>) -> ManageItem {
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    item(gateway.state(), &input, work_item, &NEEDED).expect("an item")
}

#[test]
fn bad_citations_are_refused_in_words_and_write_nothing() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let review = complaint("incorrect", "1. Open Layer > Beta.");
    let one = count(&mut gateway, &tried("one", Verdict::Fail), &review);
    // A second report of the same attempt, as a merged skill can bring it.
    let cause = "o3".to_owned();
    let mut twice = tried("one", Verdict::Fail);
    twice.skills.clear();
    let again = learn(&mut gateway, &twice, &learning("low", "1. Open Layer > Beta."));
    assert_eq!((one.as_str(), again.clone()), ("o2", cause));
    let own = tried("two", Verdict::Fail);
    let mine = count(&mut gateway, &own, &review);
    let before = gateway.state().clone();
    let key = id("gimp/a");
    let work_item = WorkItem::Review(&key, &review);
    let bad = [
        (json!({"agrees_with": ["o99"]}), "unknown_report", "o2 (run/one/1, failed)"),
        (json!({"agrees_with": ["soon"]}), "unknown_report", "\"soon\""),
        (json!({"agrees_with": [mine]}), "unknown_report", "counts without being cited"),
        (json!({"agrees_with": ["o2", "o2"]}), "same_attempt", "cite one of them"),
        (json!({"agrees_with": ["o2"], "conflicts_with": ["o2"]}), "both_sides", "one side"),
        (json!({"proved_by": ["s1"]}), "no_proof", "did not pass"),
        (json!({}), "not_supported_enough", "1 attempt says this so far (this one, run/two/1, which failed)"),
        (json!({"agrees_with": ["o2"]}), "none_passed", "none of them passed"),
    ];
    let mut turns = vec![vec![read()]];
    turns.extend(bad.iter().map(|(fields, ..)| vec![update(fields)]));
    turns.push(vec![("update_skill", json!({"skill_id": "gimp/a", "agrees_with": "o2"}))]);
    turns.push(vec![]);
    let model = Written::turns(turns);
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let decision = run(manage(&model, &mut gateway, &input, &work_item, &NEEDED)).expect("decides");
    assert_eq!(codes(&decision), bad.iter().map(|(_, code, _)| *code).collect::<Vec<_>>());
    for ((_, _, part), refusal) in bad.iter().zip(&decision.refusals) {
        assert!(refusal.why.contains(part), "{part}: {}", refusal.why);
    }
    assert_eq!(model.answers().last().expect("answered").0["error"], "bad_arguments");
    assert_eq!(gateway.state().skills, before.skills, "nothing is half-written");
    assert_eq!(gateway.state().last.0, before.last.0 + 1, "only the end of the item is recorded");
}

/// Records who judged an attempt, as learning does before anything else.
fn judge(gateway: &mut Gateway, trajectory: &Trajectory, judgement: Judgement) {
    let item = format!("judged:{:?}", judgement.by);
    let cause = Cause { trajectory: trajectory.id.clone(), item, stage: Stage::Handle };
    let change = Change::AttemptJudged(judgement);
    let request = WriteRequest::of(Actor::Learner, Timestamp::UNIX_EPOCH, change);
    gateway.apply(WriteRequest { cause: Some(cause), ..request }).expect("written");
}

fn by(by: JudgedBy, verdict: Option<Verdict>) -> Judgement {
    Judgement { by, verdict, why: String::new() }
}

/// An attempt that is judged in this way.
fn judged(gateway: &mut Gateway, name: &str, judgement: &Judgement) -> Trajectory {
    let mut own = tried(name, judgement.verdict.unwrap_or(Verdict::Fail));
    own.judged_by = if judgement.verdict.is_some() { judgement.by } else { JudgedBy::Nobody };
    judge(gateway, &own, judgement.clone());
    own
}

fn create_skill(agrees: &str) -> (&'static str, Value) {
    let fields = json!({"domain": "gimp", "skill_name": "soft-edge", "description": "Soft edges",
        "situation": "You want a soft edge.", "guidance": "1. Open Layer > Beta.", "agrees_with": [agrees]});
    ("create_skill", fields)
}

/// Whether a suspicion is lifted by two agreeing attempts that were judged like this.
fn lifted(one: &Judgement, other: &Judgement) -> (bool, Vec<Operation>) {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let suspicion = learning("low", "1. Open Layer > Beta.");
    let first = judged(&mut gateway, "one", one);
    let report = learn(&mut gateway, &first, &suspicion);
    let second = judged(&mut gateway, "two", other);
    learn(&mut gateway, &second, &suspicion);
    let work_item = WorkItem::Learning(0, &suspicion);
    let turns = vec![vec![look()], vec![create_skill(&report)], vec![leave("unsupported")]];
    let decision = decide(&mut gateway, &second, &work_item, (turns, &NEEDED));
    (wrote(&decision) == Some("create_skill"), gateway.snapshot().operations())
}

#[test]
fn no_opinion_and_no_missing_verdict_lifts_a_suspicion() {
    let nobody = by(JudgedBy::Nobody, None);
    let unsure = by(JudgedBy::Model, None);
    let opinion = by(JudgedBy::Model, Some(Verdict::Pass));
    let (person, not) =
        (by(JudgedBy::Person, Some(Verdict::Pass)), by(JudgedBy::Person, Some(Verdict::Fail)));
    for one in [&nobody, &unsure, &opinion, &not] {
        for other in [&nobody, &unsure, &opinion] {
            for (one, other) in [(one, other), (other, one)] {
                let (lifted, log) = lifted(one, other);
                assert!(!lifted, "{one:?} and {other:?}");
                let kept = log.iter().filter_map(|operation| match &operation.change {
                    Change::SuspicionKept { cited, why } => Some((cited.len(), why.as_str())),
                    _ => None,
                });
                let kept: Vec<_> = kept.collect();
                assert_eq!(kept.len(), 1, "one event: {kept:?}");
                assert!(kept[0].0 == 1 && kept[0].1.contains("a model's opinion"), "{kept:?}");
            }
        }
    }
    for other in [&nobody, &opinion, &not, &person] {
        assert!(lifted(&person, other).0 && lifted(other, &person).0, "a person saw it pass: {other:?}");
    }
    assert!(!lifted(&not, &not).0);
}

#[test]
fn a_persons_word_replaces_a_models_and_never_the_reverse() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let opinion = by(JudgedBy::Model, Some(Verdict::Pass));
    let own = judged(&mut gateway, "one", &opinion);
    let seen = |gateway: &Gateway| gateway.state().judgements[&own.id].clone();
    judge(&mut gateway, &own, by(JudgedBy::Nobody, None));
    assert_eq!(seen(&gateway), opinion);
    judge(&mut gateway, &own, by(JudgedBy::Person, Some(Verdict::Fail)));
    assert_eq!((seen(&gateway).by, seen(&gateway).passed()), (JudgedBy::Person, false));
}

#[test]
fn an_attempt_counts_once_however_often_it_reported() {
    let shelf = Shelf::with(&[("gimp/b", "beta")]);
    let (mut gateway, _) = shelf.open();
    let mut first = attempt("one", "goal", Verdict::Pass, &[]);
    let both = Checked {
        learnings: vec![learning("low", "1. Feather it."), learning("low", "1. Feather by 5.")],
        ..Checked::default()
    };
    first.skills.clear();
    let input = LearningInput::new(&first, Timestamp::UNIX_EPOCH);
    apply_reviews(&mut gateway, &input, &both, &HandlerOptions::default()).expect("handled");
    let second = attempt("two", "goal", Verdict::Pass, &[]);
    let low = learning("low", "1. Feather the edge.");
    learn(&mut gateway, &second, &low);
    let create = |cited: Value| {
        (
            "create_skill",
            json!({"domain": "gimp", "skill_name": "soft", "description": "Soft edges",
            "situation": "You want a soft edge.", "guidance": "1. Choose Select > Feather.", "agrees_with": cited}),
        )
    };
    let split = (
        "annotate_skill",
        json!({"skill_id": "gimp/b", "annotation": "n", "agrees_with": ["o2"], "conflicts_with": ["o3"]}),
    );
    let turns = vec![
        vec![look(), create(json!(["o2", "o3"])), create(json!([])), split],
        vec![create(json!(["o2"]))],
    ];
    let decision = decide(&mut gateway, &second, &WorkItem::Learning(0, &low), (turns, &NEEDED));
    assert_eq!(codes(&decision), ["same_attempt", "not_supported_enough", "both_sides"]);
    assert_eq!(wrote(&decision), Some("create_skill"), "two attempts lift the suspicion");
}

#[test]
fn the_number_of_attempts_is_counted_to_the_one() {
    for (needed, cited, passed, expected) in [
        (3, 2, true, Ok("update_skill")),
        (3, 1, true, Err("not_supported_enough")),
        (2, 1, true, Ok("update_skill")),
        (2, 1, false, Err("none_passed")),
        (1, 0, true, Ok("update_skill")),
        (1, 0, false, Err("none_passed")),
    ] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let review = complaint("unclear", "1. Open Layer > Beta.");
        let ids: Vec<String> = (0..cited)
            .map(|n| count(&mut gateway, &tried(&format!("a{n}"), Verdict::Fail), &review))
            .collect();
        let own = tried("own", if passed { Verdict::Pass } else { Verdict::Fail });
        count(&mut gateway, &own, &review);
        let turns = vec![vec![read(), update(&json!({"agrees_with": ids}))], vec![]];
        let options = ManageOptions { corroboration: needed, ..NEEDED };
        let key = id("gimp/a");
        let decision = decide(&mut gateway, &own, &WorkItem::Review(&key, &review), (turns, &options));
        let got = wrote(&decision).ok_or_else(|| codes(&decision)[0]);
        assert_eq!(got, expected, "{needed} needed, {cited} cited, passed: {passed}");
    }
    assert_eq!(ManageOptions::default(), NEEDED);
}

#[test]
fn a_cited_conflict_leaves_the_text_and_cannot_be_taken_back() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let review = complaint("incorrect", "1. Check Lock.");
    let agreeing = count(&mut gateway, &tried("one", Verdict::Pass), &review);
    let contrary =
        count(&mut gateway, &tried("two", Verdict::Pass), &complaint("incorrect", "1. Uncheck Lock."));
    let own = tried("three", Verdict::Pass);
    count(&mut gateway, &own, &review);
    let note = json!({"skill_id": "gimp/a", "annotation": "[conflict] Lock: checked or not",
                      "agrees_with": [agreeing], "conflicts_with": [contrary]});
    let turns = vec![
        vec![read(), update(&json!({"agrees_with": [agreeing], "conflicts_with": [contrary]}))],
        vec![update(&json!({"agrees_with": [agreeing]})), update(&json!({"proved_by": ["s2"]}))],
        vec![("annotate_skill", note)],
    ];
    let key = id("gimp/a");
    let decision = decide(&mut gateway, &own, &WorkItem::Review(&key, &review), (turns, &NEEDED));
    assert_eq!(codes(&decision), ["conflict", "conflict", "conflict"]);
    assert_eq!(wrote(&decision), Some("annotate_skill"));
    let book = gateway.snapshot();
    assert_eq!(book.skill(&key).expect("there").text.guidance, "1. Open alpha.");
    let operations = book.operations();
    let last = operations.last().expect("a note");
    let cited = Citation { origins: Vec::new(), ..last.citation.clone() };
    assert_eq!(
        cited,
        Citation { agrees_with: vec![OpId(2)], conflicts_with: vec![OpId(3)], ..Citation::default() }
    );
    assert_eq!(Operation::from_line(&last.to_line().expect("a line")).expect("parses"), *last);
    let lines = blame(&operations, &key).expect("lines");
    let cited = &lines.last().expect("the note").conflicts_with[0];
    assert_eq!((cited.id, cited.trajectory.as_deref()), (OpId(3), Some("run/two/1")));
    assert_eq!(history(&operations, Some(&key)).last().expect("an entry").citation, last.citation);
}

#[test]
fn a_correction_is_proved_by_steps_of_a_passed_attempt_alone() {
    // The attempt received the skill in its first step, and each of its three steps did something.
    let prove = |issue: &str, verdict: Verdict, received: u32, steps: &[&str]| {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let mut own = tried("own", verdict);
        own.skills[0].step = StepId(received);
        own.steps[2].actions[0].outcome = "failed".into();
        let review = complaint(issue, "1. Open Colors > Entry 2.");
        count(&mut gateway, &own, &review);
        let key = id("gimp/a");
        let shown = view(&gateway, &own, &WorkItem::Review(&key, &review));
        let turns = vec![vec![read(), update(&json!({"proved_by": steps}))], vec![]];
        let decision = decide(&mut gateway, &own, &WorkItem::Review(&key, &review), (turns, &NEEDED));
        let proved = gateway.snapshot().operations().last().expect("one").citation.proved_by.clone();
        (wrote(&decision).is_some(), proved, shown.steps.len(), shown.corroboration.named_actions_done)
    };
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    assert_eq!(prove("incorrect", pass, 1, &["s2"]), (true, vec![StepId(2)], 2, Some(true)));
    assert_eq!(prove("outdated", pass, 2, &["s2"]), (true, vec![StepId(2)], 1, Some(true)));
    let no = |shown: usize, hint: Option<bool>| (false, Vec::new(), shown, hint);
    assert_eq!(prove("outdated", pass, 2, &["s1"]), no(1, Some(true)), "before it was received");
    assert_eq!(prove("incorrect", pass, 1, &["s3"]), no(2, Some(true)), "nothing was done there");
    assert_eq!(prove("incorrect", pass, 1, &["s9"]), no(2, Some(true)));
    assert_eq!(prove("incorrect", pass, 1, &[]), no(2, Some(true)), "a hint by words is no proof");
    assert_eq!(prove("incorrect", fail, 1, &["s2"]), no(0, None));
    assert_eq!(prove("incomplete", pass, 1, &["s2"]), no(0, None));
}

#[test]
fn one_attempts_learning_adds_to_a_page_and_replaces_nothing() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let earlier = learn(
        &mut gateway,
        &attempt("one", "goal", Verdict::Pass, &[]),
        &learning("medium", "1. Feather it."),
    );
    let guidance = |text: &str, cited: &[&str]| update(&json!({"guidance": text, "agrees_with": cited}));
    let keeps = "1. Click the layer.\n2. Open alpha.";
    let other = json!({"skill_id": "gimp/a", "situation": "Something else."});
    for (confidence, call, expected) in [
        ("high", guidance("1. Open beta.", &[]), None),
        ("medium", guidance("1. Open beta.", &[]), None),
        ("medium", ("update_skill", other), None),
        ("low", guidance(keeps, &[]), None),
        ("low", guidance(keeps, &[&earlier]), Some("update_skill")),
        ("medium", guidance("1. Open beta.", &[&earlier]), Some("update_skill")),
        ("medium", guidance("1. Open beta.\n2. Wait.", &[]), Some("update_skill")),
    ] {
        let own = attempt(&format!("own{}", gateway.state().last), "goal", Verdict::Pass, &[]);
        let learned = learning(confidence, "1. Feather the edge.");
        let turns = vec![vec![read(), call.clone()], vec![]];
        let decision = decide(&mut gateway, &own, &WorkItem::Learning(0, &learned), (turns, &NEEDED));
        assert_eq!(wrote(&decision), expected, "{confidence} {call:?}: {decision:?}");
        if expected.is_none() {
            assert_eq!(codes(&decision), ["not_supported_enough"]);
        }
    }
}

#[test]
fn a_page_by_a_person_gets_a_proposal() {
    for (authored, waits) in [(AuthoredPages::Propose, true), (AuthoredPages::Write, false)] {
        for how in ["new", "edited", "learned"] {
            let shelf = Shelf::new();
            let (mut gateway, _) = shelf.open();
            if how != "new" {
                create(&mut gateway, "gimp/a", "alpha");
            }
            drop(gateway);
            let page =
                "## Situation\n\nYou need it.\n\n## Guidance\n\n1. Open by hand.\n\n## Annotations\n\nNone\n";
            if how != "learned" {
                shelf.edit("gimp/a.md", page);
            }
            let options = GatewayOptions { authored, ..GatewayOptions::at(Timestamp::UNIX_EPOCH) };
            let (mut gateway, _) = Gateway::open(shelf.path(), options).expect("opens");
            let by_hand = how != "learned";
            let change = || Change::SkillUpdated {
                skill: id("gimp/a"),
                description: None,
                situation: None,
                guidance: Some("1. Open Layer > Beta.".to_owned()),
            };
            let applied = gateway.apply(request(Actor::Manager, change())).expect("applies");
            assert_eq!(matches!(applied, Applied::Proposed(_)), waits && by_hand, "{how} {authored:?}");
            let note = Change::SkillAnnotated { skill: id("gimp/a"), note: "seen".to_owned() };
            let noted = gateway.apply(request(Actor::Manager, note)).expect("applies");
            assert!(matches!(noted, Applied::Written(_)), "a note replaces nothing");
            if let Applied::Proposed(waiting) = applied {
                let gone = Change::SkillDeleted { skill: id("gimp/a") };
                let gone = gateway.apply(request(Actor::Cleaner, gone)).expect("applies");
                assert!(matches!(gone, Applied::Proposed(_)));
                gateway.accept(waiting, Timestamp::UNIX_EPOCH).expect("accepted");
                let other = Change::SkillUpdated {
                    skill: id("gimp/a"),
                    description: None,
                    situation: None,
                    guidance: Some("1. Open Gamma.".to_owned()),
                };
                let again = gateway.apply(request(Actor::Manager, other)).expect("applies");
                assert!(matches!(again, Applied::Proposed(_)), "it is still the person's page");
            }
        }
    }
}

#[test]
fn a_reason_for_leaving_is_kept_and_what_is_unfit_is_not_shown_again() {
    for (reason, shown) in
        [("private", 0), ("one_off", 0), ("basic", 0), ("unsupported", 1), ("already_known", 1)]
    {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let first = attempt("one", "goal", Verdict::Pass, &[]);
        let told = learning("medium", "1. Open the Miller album.");
        let checked = Checked { learnings: vec![told.clone()], ..Checked::default() };
        let input = LearningInput::new(&first, Timestamp::UNIX_EPOCH);
        let reflected = Change::TrajectoryReflected {
            mode: apprentice_skillbook::review::ReflectMode::Given,
            fallback: None,
            checked: checked.clone(),
        };
        let cause = apprentice_skillbook::Cause {
            trajectory: first.id.clone(),
            item: String::new(),
            stage: apprentice_skillbook::Stage::Reflect,
        };
        let reflected =
            apprentice_skillbook::WriteRequest { cause: Some(cause), ..request(Actor::Learner, reflected) };
        gateway.apply(reflected).expect("kept");
        apply_reviews(&mut gateway, &input, &checked, &HandlerOptions::default()).expect("handled");
        let empty = ("leave_item", json!({"reason": reason, "why": " "}));
        let turns = vec![vec![empty, leave(reason)]];
        let decision = decide(&mut gateway, &first, &WorkItem::Learning(0, &told), (turns, &NEEDED));
        assert_eq!(codes(&decision), ["empty"]);
        let ItemOutcome::Nothing { reason: Some(kept), .. } = decision.outcome else {
            panic!("{decision:?}")
        };
        assert_eq!(kept.word(), reason);
        let told_in_log = &history(&gateway.snapshot().operations(), None).pop().expect("an entry").summary;
        assert_eq!(told_in_log, &format!("left as it is, {reason}: Nothing here is for a book."));
        let second = attempt("two", "goal", Verdict::Pass, &[]);
        let item = view(&gateway, &second, &WorkItem::Learning(0, &told));
        assert_eq!(item.earlier_reports.len(), shown, "{reason}");
    }
    assert_eq!(serde_json::to_value(LeaveReason::OneOff).expect("a word"), "one_off");
}

#[test]
fn two_pages_are_merged_when_both_are_cited() {
    for (cited, merged) in [(json!(["o1", "o2"]), true), (json!(["o1"]), false), (json!([]), false)] {
        let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let options = CleanupOptions::default();
        let tasks = find_cleanup_tasks(gateway.state(), &options, None);
        let [task @ CleanupTask::Duplicates { .. }] = tasks.as_slice() else { panic!("{tasks:?}") };
        let own = attempt("t", "goal", Verdict::Pass, &[]);
        let shown = view(&gateway, &own, &WorkItem::Cleanup(task, &options));
        assert!(shown.earlier_reports.iter().all(|report| report.kind == ReportKind::Page));
        let merge = json!({"source_skill_id": "gimp/b", "target_skill_id": "gimp/a", "description": "About alpha",
                           "situation": "You need alpha.", "guidance": "1. Open alpha.", "agrees_with": cited});
        let both = ("read_skills", json!({"skill_ids": ["gimp/a", "gimp/b"]}));
        let turns = vec![vec![look(), both, ("merge_skills", merge)], vec![leave("other")]];
        let decision = decide(&mut gateway, &own, &WorkItem::Cleanup(task, &options), (turns, &NEEDED));
        assert_eq!(wrote(&decision).is_some(), merged, "{cited}: {decision:?}");
        if !merged {
            assert_eq!(find_cleanup_tasks(gateway.state(), &options, None), [], "a pair that is left stays");
        }
    }
}

#[test]
fn an_item_is_bounded_and_shows_own_domain_and_faults_first() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let praise: SkillReview = serde_json::from_value(
        json!({"skill_id": "gimp/a", "followed": "yes", "impact": "positive", "what_helped": "the menu"}),
    )
    .expect("a review");
    let fault = count(&mut gateway, &tried("fault", Verdict::Fail), &complaint("unclear", "1. Wait."));
    let mut reports = Vec::new();
    let key = id("gimp/a");
    let own = tried("own", Verdict::Pass);
    let review = complaint("unclear", "1. Wait longer.");
    for number in 0..12 {
        count(&mut gateway, &tried(&format!("p{number}"), Verdict::Pass), &praise);
        let item = view(&gateway, &own, &WorkItem::Review(&key, &review));
        reports.push(item.earlier_reports.len());
        assert_eq!(item.earlier_reports[0].id.to_string(), fault);
    }
    assert_eq!(reports[9..], [11, 12, 12], "twelve reports at most");

    let told = learning("medium", "1. Feather it.");
    let elsewhere: Learning = serde_json::from_value(json!({
        "type": "discovered", "scope": "krita", "situation": "You want a soft edge.",
        "guidance": "1. Feather it.", "confidence": "medium", "evidence": ["s1"],
    }))
    .expect("a learning");
    learn(&mut gateway, &attempt("k", "goal", Verdict::Pass, &[]), &elsewhere);
    let far = learning("medium", "1. Nothing in common whatsoever.");
    learn(&mut gateway, &attempt("g", "goal", Verdict::Pass, &[]), &far);
    let item = view(&gateway, &own, &WorkItem::Learning(0, &told));
    let proposals: Vec<&str> =
        item.earlier_reports.iter().map(|report| report.proposes.as_deref().expect("guidance")).collect();
    assert_eq!(proposals, ["1. Nothing in common whatsoever.", "1. Wait.", "1. Feather it."]);

    for number in 0..42 {
        create(&mut gateway, &format!("gimp/n{number:02}"), &format!("number {number}"));
        create(&mut gateway, &format!("d{number:02}/only"), &format!("domain {number}"));
    }
    for number in 0..7 {
        create(&mut gateway, &format!("os/n{number}"), &format!("system {number}"));
    }
    let item = view(&gateway, &own, &WorkItem::Learning(0, &told));
    let sizes = |name: &str| {
        let found = item.domains.iter().find(|domain| domain.domain == name);
        found.map(|domain| (domain.skills.len(), domain.more))
    };
    assert_eq!((item.domains.len(), item.more_domains), (40, 5));
    assert_eq!(item.domains[0].domain, "gimp");
    assert_eq!((sizes("gimp"), sizes("d00")), (Some((40, 3)), Some((1, 0))));
    assert_eq!(sizes("os"), Some((6, 1)), "large domains come before small ones");
    let item = view(&gateway, &own, &WorkItem::Learning(0, &elsewhere));
    let other = item.domains.iter().find(|domain| domain.domain == "gimp").expect("listed");
    assert_eq!((other.skills.len(), other.more), (6, 37), "other domains show fewer names");

    let mut long = tried("long", Verdict::Pass);
    long.steps = (1..=41)
        .map(|n| apprentice_protocol::TrajectoryStep { id: StepId(n), ..own.steps[0].clone() })
        .collect();
    let review = complaint("incorrect", "1. Wait.");
    let item = view(&gateway, &long, &WorkItem::Review(&key, &review));
    assert_eq!((item.steps.len(), item.steps[0].id), (40, StepId(2)), "the last forty steps");
}

#[test]
fn a_manager_that_only_reads_ends_after_its_turns() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let own = attempt("own", "goal", Verdict::Pass, &[]);
    let model = Written::turns(vec![vec![read()]; 20]);
    let told = learning("high", "1. Feather it.");
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let work_item = WorkItem::Learning(0, &told);
    let decision = run(manage(&model, &mut gateway, &input, &work_item, &ManageOptions::default()));
    assert!(matches!(decision.expect("ends").outcome, ItemOutcome::Nothing { reason: None, .. }));
    assert_eq!(model.requests.lock().expect("unpoisoned").len(), 12);
}

/// Whether a new skill repeats one of which a given number of words are the same.
fn repeats(words: usize, same: usize) -> bool {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let text = |own: &str| -> Vec<String> {
        (0..words).map(|number| format!("{}{number}x", if number < same { "w" } else { own })).collect()
    };
    let fields = |all: &[String], name: &str| {
        json!({"domain": "os", "skill_name": name, "description": all[0], "situation": all[1],
               "guidance": all[2..].join(" ")})
    };
    let mut codes_seen = Vec::new();
    for (name, own) in [("one", "u"), ("other", "v")] {
        let turns = vec![vec![look(), ("create_skill", fields(&text(own), name))], vec![]];
        let told = learning("high", "1. Feather it.");
        let own = attempt(name, "goal", Verdict::Pass, &[]);
        let decision = decide(&mut gateway, &own, &WorkItem::Learning(0, &told), (turns, &NEEDED));
        codes_seen.extend(codes(&decision).into_iter().map(str::to_owned));
    }
    codes_seen == ["duplicate"]
}

#[test]
fn a_new_skill_repeats_another_from_the_threshold_on() {
    assert!(repeats(20, 17), "0.85");
    assert!(!repeats(53, 45), "0.849");
}

#[test]
fn texts_for_the_manager_and_of_the_manager_are_cut_to_the_letter() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let names: Vec<String> = (0..9).map(|number| format!("gimp/n{number}")).collect();
    for name in &names {
        create(&mut gateway, name, name.trim_start_matches("gimp/"));
    }
    let own = attempt("own", "goal", Verdict::Pass, &[]);
    let told = learning("high", "1. Feather it.");
    let all = ("read_skills", json!({ "skill_ids": names }));
    let left = ("leave_item", json!({"reason": "other", "why": "w".repeat(301)}));
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let model = Written::turns(vec![vec![all, look()], vec![left]]);
    let work_item = WorkItem::Learning(0, &told);
    let decision = run(manage(&model, &mut gateway, &input, &work_item, &NEEDED)).expect("decides");
    let answers = model.answers();
    assert_eq!(answers[0].0["skills"].as_array().expect("skills").len(), 8);
    let ItemOutcome::Nothing { words, .. } = decision.outcome else { panic!("left") };
    assert_eq!(words.len(), 300);

    for (length, kept) in [(700, true), (701, false)] {
        let name = format!("long{length}");
        let long = learning("low", &"x".repeat(length));
        learn(&mut gateway, &attempt(&name, "goal", Verdict::Pass, &[]), &long);
        let item = view(&gateway, &own, &WorkItem::Learning(0, &told));
        let wanted = format!("run/{name}/1");
        let report = item.earlier_reports.iter().find(|one| one.attempt.as_deref() == Some(wanted.as_str()));
        let shown = report.and_then(|report| report.proposes.as_deref()).expect("shown");
        assert_eq!(shown == long.guidance(), kept, "{length}");
    }

    create(&mut gateway, "gimp/a", "alpha");
    let said: SkillReview = serde_json::from_value(json!({
        "skill_id": "gimp/a", "followed": "no", "reason": "chose_alternative", "explanation": "e".repeat(600),
    }))
    .expect("a review");
    count(&mut gateway, &tried("note", Verdict::Pass), &said);
    assert_eq!(gateway.state().skills[&id("gimp/a")].notes[0].text.len(), 500);
}
