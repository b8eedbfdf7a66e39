//! Limits of what a manager sees and of what is kept for it, at their edges.

use std::sync::{Arc, Mutex};

use apprentice_guidance::{ArmPolicy, SKILL_VIEW, TaskView, build_guidance};
use apprentice_learning::manage::{ManageItem, ManageOptions, WorkItem, item, manage};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews};
use apprentice_protocol::{
    BoxFuture, EmbedError, Embedder, Side, StepAction, StepId, Trajectory, TrajectoryStep, Verdict,
};
use apprentice_skillbook::package::{ImportOptions, Package, SKILL_FILE, import};
use apprentice_skillbook::review::{Checked, Learning, SkillReview};
use apprentice_skillbook::{Actor, Change, Gateway};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;
use serde_json::json;

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, create, id, request};

fn complaint(what: &str) -> SkillReview {
    serde_json::from_value(json!({"skill_id": "gimp/a", "followed": "yes", "impact": "negative",
        "issue_type": "incorrect", "what_went_wrong": what, "corrected_guidance": "1. Open beta."}))
    .expect("a review")
}

fn learning(guidance: &str) -> Learning {
    serde_json::from_value(json!({"type": "discovered", "scope": "gimp", "situation": "You look.",
        "guidance": guidance, "confidence": "medium", "evidence": ["s1"]}))
    .expect("a learning")
}

fn tried(name: &str, verdict: Verdict) -> Trajectory {
    attempt(name, "goal", verdict, &[("gimp/a", 1)])
}

fn record(gateway: &mut Gateway, name: &str, checked: &Checked) {
    let trajectory = tried(name, Verdict::Pass);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    apply_reviews(gateway, &input, checked, &HandlerOptions::default()).expect("handled");
}

fn review_of(what: &str) -> Checked {
    Checked { reviews: vec![(id("gimp/a"), complaint(what))], ..Checked::default() }
}

fn shown(gateway: &Gateway, trajectory: &Trajectory, work_item: &WorkItem<'_>) -> ManageItem {
    let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
    item(gateway.state(), &input, work_item, &ManageOptions::default()).expect("an item")
}

#[test]
fn twenty_remarks_are_kept_and_twelve_are_shown() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let (key, review, own) = (id("gimp/a"), complaint("It is gone."), tried("own", Verdict::Fail));
    for number in 1..=21 {
        record(&mut gateway, &format!("t{number}"), &review_of("It is gone."));
        let kept = gateway.state().skills[&key].remarks.len();
        assert_eq!(kept, number.min(20));
        let reports = shown(&gateway, &own, &WorkItem::Review(&key, &review)).earlier_reports.len();
        assert_eq!(reports, number.min(12));
    }
    let remarks = &gateway.state().skills[&key].remarks;
    assert_eq!(remarks[0].trajectory, "run/t2/1", "the oldest goes");
}

#[test]
fn candidates_near_a_learning_are_shown_up_to_twelve_and_700_characters() {
    for (length, whole) in [(700, true), (701, false)] {
        let (mut gateway, _) = Shelf::new().open();
        for number in 0..13 {
            let checked = Checked { learnings: vec![learning(&"g".repeat(length))], ..Checked::default() };
            record(&mut gateway, &format!("t{number}"), &checked);
        }
        let (own, mine) = (tried("own", Verdict::Pass), learning("1. Go."));
        let reports = shown(&gateway, &own, &WorkItem::Learning(0, &mine)).earlier_reports;
        assert_eq!(reports.len(), 12);
        let text = reports[0].proposes.as_deref().expect("a text");
        assert_eq!(text == "g".repeat(length), whole, "{}", text.len());
        assert_eq!(reports[0].cut, !whole, "what is left out is told");
    }
}

#[test]
fn reports_that_do_not_fit_are_named_up_to_twenty_four_and_the_rest_is_counted() {
    let (mut gateway, _) = Shelf::new().open();
    let (own, mine) = (tried("own", Verdict::Pass), learning("1. Go."));
    for (number, named, more) in [(36, 24, 0), (37, 24, 1)] {
        let known = gateway.state().candidates.len();
        for number in known..number {
            let checked = Checked { learnings: vec![learning("1. Go far.")], ..Checked::default() };
            record(&mut gateway, &format!("t{number}"), &checked);
        }
        let item = shown(&gateway, &own, &WorkItem::Learning(0, &mine));
        assert_eq!(
            (item.earlier_reports.len(), item.farther_reports.len(), item.more_reports),
            (12, named, more)
        );
        assert!(item.farther_reports.iter().all(|report| report.begins.is_some()));
        let ids = item.earlier_reports.iter().map(|report| report.id);
        let ids: std::collections::BTreeSet<_> =
            ids.chain(item.farther_reports.iter().map(|one| one.id)).collect();
        assert_eq!(ids.len(), 36, "none is named twice");
    }
}

#[test]
fn an_item_shows_the_first_six_steps_that_its_report_cites() {
    let (gateway, _) = Shelf::new().open();
    let mut own = tried("own", Verdict::Pass);
    let step = own.steps[0].clone();
    own.steps = (1..=9).map(|number| TrajectoryStep { id: StepId(number), ..step.clone() }).collect();
    own.steps[2].say = vec!["long ".repeat(2000)];
    let cited = |ids: &[u32]| {
        let mut told = serde_json::to_value(learning("1. Go.")).expect("JSON");
        told["evidence"] = json!(ids.iter().map(|id| StepId(*id)).collect::<Vec<_>>());
        let told: Learning = serde_json::from_value(told).expect("a learning");
        shown(&gateway, &own, &WorkItem::Learning(0, &told)).evidence_steps
    };
    let few = cited(&[3, 5]);
    assert_eq!(few.iter().map(|step| step.id.0).collect::<Vec<_>>(), [3, 5]);
    assert!(few[0].say[0].len() < 2000 && !few[1].seen.title.is_empty());
    assert_eq!(cited(&[1, 2, 3, 4, 5, 6]).len(), 6);
    assert_eq!(cited(&[1, 2, 3, 4, 5, 6, 7]).len(), 6);
}

/// Counts the texts of each request, and finds all of them equal.
struct Counting(Arc<Mutex<Vec<usize>>>);

impl Embedder for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        self.0.lock().expect("unpoisoned").push(texts.len());
        Box::pin(std::future::ready(Ok(vec![vec![1.0]; texts.len()])))
    }
}

#[test]
fn the_newest_five_hundred_candidates_are_compared_by_meaning() {
    let (mut gateway, _) = Shelf::new().open();
    let learnings = (0..501).map(|number| learning(&format!("1. Go {number}."))).collect();
    record(&mut gateway, "earlier", &Checked { learnings, ..Checked::default() });
    let asked = Arc::new(Mutex::new(Vec::new()));
    gateway.set_embedding(Some(Arc::new(EmbeddingModel::new(Arc::new(Counting(asked.clone()))))));
    let (own, mine) = (tried("own", Verdict::Pass), learning("1. Go."));
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let model = Written::turns(vec![vec![]]);
    let work_item = WorkItem::Learning(0, &mine);
    run(manage(&model, &mut gateway, &input, &work_item, &ManageOptions::default())).expect("decides");
    let texts: usize = asked.lock().expect("unpoisoned").iter().sum();
    assert_eq!(texts, 501, "of 501 candidates 500, and the learning itself");
}

#[test]
fn an_item_names_forty_skills_of_its_domain_six_of_others_and_forty_domains() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    for number in 1..41 {
        create(&mut gateway, &format!("gimp/n{number:02}"), "alpha");
    }
    for number in 0..7 {
        create(&mut gateway, &format!("calc/n{number}"), "alpha");
    }
    let (own, mine) = (tried("own", Verdict::Pass), learning("1. Go."));
    let item = shown(&gateway, &own, &WorkItem::Learning(0, &mine));
    let of = |domain: &str| {
        let names = item.domains.iter().find(|one| one.domain == domain).expect("named");
        (names.skills.len(), names.more)
    };
    assert_eq!((of("gimp"), of("calc")), ((40, 1), (6, 1)));
    assert_eq!(item.more_domains, 0);
    // gimp, calc, general and os are there.
    for number in 4..41 {
        create(&mut gateway, &format!("d{number}/a"), "alpha");
    }
    let item = shown(&gateway, &own, &WorkItem::Learning(0, &mine));
    assert_eq!((item.domains.len(), item.more_domains), (40, 1));
}

#[test]
fn forty_steps_may_prove_a_correction_the_last_ones() {
    let step = |number: u32| TrajectoryStep {
        actions: vec![StepAction {
            action: "click".into(),
            role: Some("button".into()),
            name: Some(format!("B{number}")),
            at: None,
            near: None,
            outcome: "done".into(),
        }],
        ..TrajectoryStep::new(StepId(number), Default::default())
    };
    for (steps, first) in [(40, 1), (41, 2)] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (gateway, _) = shelf.open();
        let own = Trajectory { steps: (1..=steps).map(step).collect(), ..tried("own", Verdict::Pass) };
        let (key, review) = (id("gimp/a"), complaint("It is gone."));
        let item = shown(&gateway, &own, &WorkItem::Review(&key, &review));
        assert_eq!((item.steps.len(), item.steps[0].id), (40, StepId(first)));
    }
}

#[test]
fn eight_similar_skills_are_shown_and_a_reason_has_300_characters() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    for number in 0..9 {
        create(&mut gateway, &format!("gimp/n{number}"), "alpha");
    }
    let (own, mine) = (tried("own", Verdict::Pass), learning("1. Go."));
    let model = Written::turns(vec![
        vec![("fetch_similar_skills", json!({"situation": "You need alpha."}))],
        vec![("leave_item", json!({"reason": "other", "why": "w".repeat(301)}))],
    ]);
    let input = LearningInput::new(&own, Timestamp::UNIX_EPOCH);
    let decided =
        run(manage(&model, &mut gateway, &input, &WorkItem::Learning(0, &mine), &ManageOptions::default()))
            .expect("decides");
    assert_eq!(decided.calls[0].answer["skills"].as_array().map(Vec::len), Some(8));
    let left = gateway.snapshot().operations().into_iter().find_map(|one| match one.change {
        Change::ItemClosed { left, .. } => left,
        _ => None,
    });
    assert_eq!(left.expect("left").why.chars().count(), 300);
}

#[test]
fn a_note_of_the_handler_is_cut_at_500_characters() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let mut review = complaint(&"word ".repeat(200));
    if let SkillReview::Negative(review) = &mut review {
        review.corrected_guidance = None;
    }
    record(&mut gateway, "t", &Checked { reviews: vec![(id("gimp/a"), review)], ..Checked::default() });
    assert_eq!(gateway.state().skills[&id("gimp/a")].notes[0].text.chars().count(), 500);
}

#[test]
fn an_imported_situation_keeps_1400_characters_and_a_description_160() {
    let taken = |situation: usize, description: usize| {
        let (mut gateway, _) = Shelf::new().open();
        let options =
            ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "gimp".into(), accept_effects: true };
        let text = format!(
            "---\nname: batch\ndescription: {}\n---\n\n## Situation\n{}\n\n## Guidance\n1. Go.\n\n## Annotations\nNone\n",
            "d".repeat(description),
            "s".repeat(situation)
        );
        let files = [(SKILL_FILE.to_owned(), text.into_bytes())].into();
        import(&mut gateway, &Package { name: "batch".into(), files }, &options).expect("imports");
        let skill = gateway.state().skills[&id("gimp/batch")].text.clone();
        (skill.situation.ends_with(" …"), skill.description.chars().filter(|c| *c == 'd').count())
    };
    assert_eq!(taken(1400, 160), (false, 160));
    let (cut, kept) = taken(1401, 161);
    assert!(cut && kept < 160, "{kept}");
}

#[test]
fn a_note_that_stood_twice_stays_once_when_one_is_taken_back() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let note = |gateway: &mut Gateway| {
        let change = Change::SkillAnnotated { skill: id("gimp/a"), note: "It moved.".to_owned() };
        match gateway.apply(request(Actor::Manager, change)).expect("written") {
            apprentice_skillbook::Applied::Written(by) => by,
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (note(&mut gateway), note(&mut gateway));
    let count = |gateway: &Gateway| {
        gateway.state().skills[&id("gimp/a")].notes.iter().map(|note| note.count).collect::<Vec<_>>()
    };
    assert_eq!(count(&gateway), [2]);
    gateway.revert(second, Timestamp::UNIX_EPOCH).expect("reverted");
    assert_eq!(count(&gateway), [1]);
    gateway.revert(first, Timestamp::UNIX_EPOCH).expect("reverted");
    assert_eq!(count(&gateway), [0u32; 0], "nothing is left of it");
}

#[test]
fn a_mistyped_name_finds_its_neighbour_and_another_word_none() {
    let shelf = Shelf::with(&[("gimp/layers", "raising layers")]);
    let guidance =
        build_guidance(&shelf.snapshot(), &ArmPolicy::Pull { figures: false }, &TaskView::default())
            .expect("lends");
    let view = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("the tool");
    let at = apprentice_protocol::StepRef { step: StepId(1) };
    let said = |name: &str| {
        let outcome = run(view.call(&json!({ "skill": name }), at));
        outcome.content[0].as_text().expect("text").to_owned()
    };
    for near in ["gimp/layer", "gmip/layers", "gimp/lawyers"] {
        assert!(said(near).contains("Did you mean gimp/layers?"), "{}", said(near));
    }
    // By Jaro and Winkler 0.71, and 0.697 and less; the border is 0.7.
    assert!(said("calc/layers").contains("Did you mean"), "{}", said("calc/layers"));
    for far in ["zzzzzlayers", "gal/less", "calc/sums", "zzz"] {
        assert!(said(far).contains("skill_list shows"), "{}", said(far));
    }
}

#[test]
fn the_opening_of_a_trial_has_at_most_4000_characters() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    for number in 0..60 {
        let mut change = crate::shelf::creation(&format!("d{number:02}/a"), "alpha");
        if let Change::SkillCreated { domain: Some(domain), .. } = &mut change {
            domain.description = "w".repeat(150);
        }
        crate::shelf::write(&mut gateway, change).expect("written");
    }
    let policy = ArmPolicy::Pull { figures: false };
    let guidance = build_guidance(&gateway.snapshot(), &policy, &TaskView::default()).expect("lends");
    let length = guidance.opening.as_str().chars().count();
    assert!((2400..=4000).contains(&length), "{length}");
}
