//! Tests of the report: its numbers, its texts and its page.

use std::collections::BTreeMap;

use apprentice_protocol::Verdict::{Fail, Pass, Void};
use apprentice_protocol::{RunId, SkillId, TaskId, TrialId, Usage, Verdict};
use jiff::Timestamp;
use proptest::prelude::{prop_assert_eq, proptest};

use super::{
    ArmKey, ArmReport, AttemptLinks, CurvePoint, Family, LearningSummary, PlannedTrial, Report, ReportInput,
    ReviewerSummary, SkillSummary, Stratum, UnreviewedAttempt, build, default_contrasts, render_page,
    render_page_with, render_text,
};
use crate::compare::{Finding, MixedVersions};
use crate::sample::row;
use apprentice_runs::row::{JudgeUse, Role, Split, TrialRow};

const TEMPLATES: [&str; 13] = [
    "bookmark-folder",
    "default-zoom",
    "download-place",
    "find-replace-case",
    "font-size",
    "hidden-files",
    "line-numbers",
    "private-search",
    "rename-many",
    "sort-by-size",
    "terminal-scrollback",
    "trash-restore",
    "word-wrap",
];

/// Returns whether a student passes, by template and arm: two templates alone, eight more with the book.
fn passes(arm: &str, place: usize, seed: u32) -> bool {
    match arm {
        "pull" if place < 10 => !(place + seed as usize).is_multiple_of(11),
        "placebo-inert" => place < 2 || (place == 7 && seed == 1),
        _ => place < 2 || (place == 5 && seed == 2),
    }
}

fn attempt(role: Role, arm: &str, place: usize, seed: u32, verdict: Verdict) -> TrialRow {
    let template = TEMPLATES[place];
    let mut row = row(arm, template, &format!("{template}-1"), seed, verdict);
    row.split = Some(Split::Test);
    row.role = role;
    row.trial = TrialId::new(format!("{}-{}-{place}-{seed}", role.as_str(), arm));
    row.trace = format!("trials/{template}-1-{}/attempt-01", row.trial);
    if role == Role::Teacher {
        row.model = "builtin/explorer".into();
        row.world_steps = 21;
    }
    if arm == "pull" || arm.starts_with("placebo") {
        row.skillbook_hash = Some(if arm == "pull" { "b00c" } else { "p1ac" }.repeat(16));
        row.delivered_tokens = 640;
        row.skills_viewed = vec![SkillId::parse("mousepad/word-wrap").expect("an id")];
    }
    row
}

/// A run of `templates` test templates, three seeds, four student arms and a teacher, with voids and baselines.
fn rows(templates: usize) -> Vec<TrialRow> {
    let mut rows = Vec::new();
    for place in 0..templates {
        for arm in ["none", "pull", "placebo-inert", "placebo-wrong"] {
            for seed in 0..3 {
                let verdict = if passes(arm, place, seed) { Pass } else { Fail };
                rows.push(attempt(Role::Student, arm, place, seed, verdict));
            }
        }
        let taught = if place == 12 { Fail } else { Pass };
        rows.push(attempt(Role::Teacher, "none", place, 0, taught));
        for (arm, verdict) in [("solution", Pass), ("no-op", Fail), ("always-fail", Fail)] {
            rows.push(attempt(Role::Baseline, arm, place, 0, verdict));
        }
        let mut train = attempt(Role::Teacher, "pull", place, 1, Pass);
        train.split = Some(Split::Train);
        rows.push(train);
    }
    // One trial of `pull` was void twice and then passed; one of `none` stayed void.
    let again = rows.iter().position(|row| row.arm == "pull" && row.verdict == Pass).expect("a pass");
    for number in [1, 2] {
        let mut lost = rows[again].clone();
        (lost.attempt, lost.verdict, lost.score, lost.stop_reason) = (number, Void, 0.0, None);
        lost.void_cause = Some(apprentice_protocol::VoidCause::WorldLost);
        rows.push(lost);
    }
    rows[again].attempt = 3;
    let lost = rows.iter().position(|row| row.arm == "none" && row.verdict == Fail).expect("a failure");
    (rows[lost].verdict, rows[lost].stop_reason) = (Void, None);
    rows[lost].void_cause = Some(apprentice_protocol::VoidCause::ModelUnavailable);
    rows
}

fn learning() -> LearningSummary {
    let point = |trajectories: u32, skills, success, world_steps| CurvePoint {
        trajectories,
        skills,
        success,
        world_steps,
    };
    LearningSummary {
        epochs: 2,
        trajectories: 24,
        unread: vec![UnreviewedAttempt {
            attempt: "20261120T101500Z-x7k2/0123456789ab/1".into(),
            task: TaskId::new("mousepad-word-wrap"),
            why: "the reflector gave no usable answer in 3 tries".into(),
        }],
        reviews: BTreeMap::from([("helpful".into(), 14), ("not_followed".into(), 3)]),
        operations: BTreeMap::from([("create".into(), 9), ("update".into(), 4), ("merge".into(), 1)]),
        updated_by_reviews: 2,
        cleanup_tasks: 3,
        skills: vec![SkillSummary {
            skill: "mousepad/word-wrap".into(),
            situation: "Long lines must be wrapped in Mousepad".into(),
            version: 2,
            status: "active".into(),
        }],
        reviewer: ReviewerSummary {
            received: 40,
            reviewed: 36,
            both_followed: 20,
            only_reviewer: 4,
            neither: 6,
            undecided: 6,
            kappa: Some(0.68),
            positive_on_pass: 14,
            positive_on_fail: 2,
            ..ReviewerSummary::default()
        },
        curve: vec![
            point(0, 0, 0.4, 24.0),
            point(6, 4, 0.55, 19.0),
            point(12, 7, 0.8, 14.5),
            point(24, 9, 0.85, 9.0),
        ],
        tokens: Usage { input: 91_234, output: 7_210, cached: 0 },
        cost_usd: None,
    }
}

fn input<'a>(rows: &'a [TrialRow], planned: &'a [PlannedTrial]) -> ReportInput<'a> {
    let stratum = |place: usize| if place < 10 { Stratum::Seen } else { Stratum::Unseen };
    ReportInput {
        run: RunId::new("20261120T101500Z-x7k2"),
        title: "Starter suite".into(),
        started_at: Some(Timestamp::UNIX_EPOCH),
        rows,
        planned,
        contrasts: default_contrasts(rows),
        strata: TEMPLATES
            .iter()
            .enumerate()
            .map(|(place, name)| ((*name).to_owned(), stratum(place)))
            .collect(),
        unvaried: vec![TaskId::new("word-wrap-1")],
        eligible: Vec::new(),
        learning: Some(learning()),
        replicates: None,
        programs: BTreeMap::new(),
        registration: None,
        hygiene: None,
        mixed: MixedVersions::Refuse,
        facts: BTreeMap::from([("command".into(), "apprentice demo".into())]),
        notes: Vec::new(),
    }
}

fn planned() -> Vec<PlannedTrial> {
    let key = ArmKey { role: Role::Student, model: "builtin/novice".into(), arm: "index".into() };
    vec![PlannedTrial { trial: TrialId::new("absent"), task: TaskId::new("word-wrap-1"), key, seed: 0 }]
}

fn sample() -> Report {
    build(&input(&rows(13), &planned()))
}

#[test]
fn the_report_reads_as_documented() {
    let rows: Vec<TrialRow> = rows(9);
    let mut report = build(&input(&rows, &planned()));
    report.trials.truncate(2);
    report.comparisons.truncate(2);
    for comparison in &mut report.comparisons {
        comparison.result.flips.gained.truncate(1);
        comparison.result.by_template.truncate(1);
    }
    insta::assert_json_snapshot!(report);
}

#[test]
fn the_headline_says_what_the_models_are() {
    let report = sample();
    assert!(report.headline.mechanism_check);
    let words =
        [report.headline.title, report.headline.claim, report.headline.result, report.notes.join("\n")]
            .join("\n");
    insta::assert_snapshot!(words, @r"
    Mechanism check with rule-based policies: it says nothing about language models
    Better
    builtin/novice passed 72 % with this book and 18 % with irrelevant skills of equal length (+53.8 points, 95 % interval +22.2 to +86.7, 13 templates).
    the run is not complete: 1 of 1 planned trials were not run
    one book was measured: every sentence is about this book, not about the method
    ");
    let mut rows = rows(13);
    for row in rows.iter_mut().filter(|row| row.role == Role::Student) {
        row.model = "other/small".into();
    }
    let report = build(&input(&rows, &[]));
    assert_eq!((report.headline.title.as_str(), report.headline.mechanism_check), ("Starter suite", false));
}

#[test]
fn a_judge_is_named_with_its_own_cost() {
    let mut rows = rows(9);
    let judge = |model: &str, cost_usd| JudgeUse {
        model: model.into(),
        questions: 2,
        cost_usd,
        ..JudgeUse::default()
    };
    let before = build(&input(&rows, &planned()));
    assert!(before.judges.is_empty() && !before.versions.contains_key("judge"));
    rows[0].judge = Some(judge("a/one", Some(0.02)));
    rows[1].judge = Some(judge("a/one", None));
    let one = build(&input(&rows, &planned()));
    assert_eq!((one.judges.len(), one.judges[0].questions, one.judges[0].cost_usd), (1, 4, Some(0.02)));
    let note = one.notes.iter().find(|note| note.contains("hang on a/one")).expect("a note");
    assert!(note.contains("4 questions") && note.contains("$0.02"), "{note}");
    assert_eq!(one.totals, before.totals, "its cost is its own");
    rows[2].judge = Some(judge("b/two", None));
    let two = build(&input(&rows, &planned()));
    assert!(two.notes.iter().any(|note| note.contains("several models")), "{:?}", two.notes);
    assert_eq!(two.versions["judge"], ["a/one", "b/two"]);
}

#[test]
fn arms_count_test_trials_once_and_attempts_in_full() {
    let report = sample();
    let arm = |name: &str, role: Role| {
        report.arms.iter().find(|arm| arm.key.arm == name && arm.key.role == role).expect("the arm")
    };
    let pull = arm("pull", Role::Student);
    assert_eq!((pull.tally.trials, pull.tally.void), (39, 0));
    assert_eq!(pull.tokens.input, 41 * 9000, "attempts that were lost cost tokens too");
    assert_eq!(arm("none", Role::Student).tally.void, 1);
    assert_eq!(arm("none", Role::Teacher).tally.trials, 13);
    assert!(report.arms.iter().all(|arm| arm.key.role != Role::Baseline));
    assert!(!report.arms.iter().any(|arm| arm.key.role == Role::Teacher && arm.key.arm == "pull"));
    assert_eq!(report.baselines.iter().map(|one| one.tally.passed).collect::<Vec<_>>(), [0, 0, 13]);
    assert_eq!((report.voids.len(), report.not_run.len()), (3, 1));
    let gap = report.gap_closed.first().expect("a gap");
    assert!(gap.closed.is_some_and(|closed| (0.5..1.0).contains(&closed)), "{gap:?}");
}

#[test]
fn only_what_survives_the_correction_is_claimed() {
    let report = sample();
    let first = report.comparisons.first().expect("comparisons");
    assert_eq!(
        (first.name.as_str(), first.family, first.p_holm),
        ("pull vs placebo-inert", Family::Primary, None)
    );
    assert_eq!(first.claim, Some(Finding::Better), "{}", first.sentence);
    for one in &report.comparisons {
        match one.family {
            Family::Secondary => assert!(one.p_holm >= one.result.p_signflip, "{}", one.name),
            Family::Primary | Family::Exploratory => assert_eq!(one.p_holm, None, "{}", one.name),
        }
    }
    let unseen = report.strata.iter().find(|one| one.stratum == Stratum::Unseen).expect("a stratum");
    assert_eq!((unseen.difference, unseen.verdict), (0.0, Finding::TooFew));
}

#[test]
fn a_report_of_two_models_says_what_compare_says() {
    let of = |model: &str, every: usize| -> Vec<TrialRow> {
        let rows = (0..12).map(|place| {
            let verdict = if place % every == 0 { Pass } else { Fail };
            TrialRow { model: model.into(), ..attempt(Role::Solo, "none", place, 0, verdict) }
        });
        rows.collect()
    };
    let (a, b) = (of("compat/a", 3), of("compat/b", 1));
    let rows = [a.clone(), b.clone()].concat();
    let report = build(&input(&rows, &[]));
    let [one] = report.comparisons.as_slice() else { panic!("{:?}", report.comparisons) };
    assert_eq!(one.name, "compat/b vs compat/a (none)");
    let found = crate::compare::compare(&a, &b, crate::compare::CompareOptions::default()).expect("compares");
    assert_eq!(one.result, found);
    assert_eq!(one.result.verdict, Finding::Better, "{}", one.sentence);
}

#[test]
fn every_link_of_the_page_leads_somewhere() {
    let page = render_page(&sample()).expect("renders");
    let mut targets: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    targets.sort_unstable();
    let count = targets.len();
    targets.dedup();
    assert_eq!(count, targets.len(), "two elements share an id");
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 100, "{} links", links.len());
    for link in links {
        assert!(targets.binary_search(&link).is_ok(), "nothing stands at #{link}");
    }
    for outside in ["http://", "https://", "<script", "@import", "url("] {
        assert!(!page.contains(outside), "the page reaches out with {outside}");
    }
}

#[test]
fn in_the_viewer_each_attempt_leads_to_its_page_and_a_file_leads_to_no_raw_lines() {
    let report = sample();
    let (file, served) = (render_page(&report), render_page_with(&report, AttemptLinks::Viewer));
    let (file, served) = (file.expect("renders"), served.expect("renders"));
    assert!(!file.contains("events.jsonl") && !served.contains("events.jsonl"));
    assert!(file.contains("apprentice view") && !file.contains("#/attempt/"));
    let line = report.trials.first().expect("an attempt");
    let link = format!("href=\"./#/attempt/~/{}/{}\"", line.trial, line.attempt);
    assert!(served.contains(&link), "{link}");
    assert_eq!(served.matches("./#/attempt/").count(), report.trials.len());
}

#[test]
fn success_by_program_is_the_mean_score_as_osworld_reports_it() {
    let mut rows = rows(9);
    rows.iter_mut().filter(|row| row.verdict == Fail).for_each(|row| row.score = 0.25);
    let program = |task: &TaskId| if task.as_str() < "f" { "chromium" } else { "mousepad" };
    let programs = rows.iter().map(|row| (row.task.clone(), program(&row.task).to_owned())).collect();
    let report = build(&ReportInput { programs, ..input(&rows, &[]) });
    assert_eq!(
        report.programs.iter().map(|one| one.program.as_str()).collect::<Vec<_>>(),
        ["chromium", "mousepad"]
    );
    let place = report.arms.iter().position(|arm| arm.key.arm == "none" && arm.key.role == Role::Student);
    let alone = &report.programs[0].arms[place.expect("the arm")];
    // Three templates of three seeds: two always pass, one never does; the first failure is void.
    assert_eq!((alone.tasks, alone.trials, alone.void), (3, 9, 1), "{alone:?}");
    assert_eq!(alone.score, Some((6.0 + 2.0 * 0.25) / 8.0));
    assert!(render_page(&report).expect("renders").contains("Success by program"));
    let text = render_text(&report).expect("renders");
    let section = text.lines().skip_while(|line| *line != "## Success by program").skip(2);
    let table: Vec<&str> = section.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 4, "a header, a rule and two programs: {table:?}");
    let columns = |line: &&str| line.matches('|').count();
    assert!(table.iter().all(|line| columns(line) == columns(&table[0])), "{table:?}");
    assert!(table[2].starts_with("| chromium | 3 |"), "{table:?}");
    assert!(sample().programs.is_empty(), "unknown programs are not guessed");
}

#[test]
fn hostile_names_stay_text() {
    let mut rows = rows(9);
    for row in &mut rows {
        row.template = format!("<script>alert(1)</script>{}", row.template);
        row.trace = "javascript:alert(1)".into();
    }
    let page = render_page(&build(&input(&rows, &[]))).expect("renders");
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    assert!(!page.contains("href=\"javascript:"));
}

#[test]
fn the_first_screen_reads_as_intended() {
    let page = render_page(&sample()).expect("renders");
    let (from, to) = (page.find("<header>").expect("a header"), page.find("</header>").expect("its end"));
    insta::assert_snapshot!(&page[from..to]);
}

#[test]
fn an_empty_run_still_has_a_page() {
    let report = build(&ReportInput { learning: None, ..input(&[], &planned()) });
    assert_eq!(report.headline.result, "No trial was finished.");
    assert!(render_page(&report).expect("renders").contains("1 of 1 planned trials were not run"));
}

/// Writes the sample's page below the target folder, for inspection.
#[test]
#[ignore = "writes a file to look at"]
fn a_page_to_look_at() {
    let page = render_page(&sample()).expect("renders");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/sample-report.html");
    std::fs::write(path, page).expect("writes");
}

proptest! {
    #[test]
    fn the_order_of_rows_does_not_matter(turn in 0usize..100, swap in 0usize..100) {
        let rows = rows(9);
        let mut other = rows.clone();
        other.rotate_left(turn % rows.len());
        other.swap(0, swap % rows.len());
        let contrasts = default_contrasts(&rows);
        let one = build(&ReportInput { contrasts: contrasts.clone(), ..input(&rows, &[]) });
        let two = build(&ReportInput { contrasts, ..input(&other, &[]) });
        // Sums of seconds and money may differ in the last bit.
        prop_assert_eq!(one.comparisons, two.comparisons);
        prop_assert_eq!(one.templates, two.templates);
        prop_assert_eq!(one.trials, two.trials);
        prop_assert_eq!(one.headline, two.headline);
        let tallies = |arms: &[ArmReport]| arms.iter().map(|arm| (arm.tally, arm.success)).collect::<Vec<_>>();
        prop_assert_eq!(tallies(&one.arms), tallies(&two.arms));
    }
}
