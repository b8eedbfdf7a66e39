//! Tests of the comparison: which attempts count, what rules out a verdict, and its invariants.

use std::collections::BTreeMap;

use apprentice_protocol::Verdict::{Fail, Pass, Void};
use apprentice_protocol::{TaskId, Verdict};
use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{CompareError, CompareOptions, Comparison, Finding, MixedVersions, compare};
use crate::sample::row;
use apprentice_runs::row::TrialRow;

/// One task per template, one letter per seed: `p`, `f`, `v`, or `-` for a missing trial.
fn rows(arm: &str, templates: &[&str]) -> Vec<TrialRow> {
    let mut rows = Vec::new();
    for (place, outcomes) in templates.iter().enumerate() {
        for (seed, outcome) in outcomes.chars().enumerate().filter(|(_, outcome)| *outcome != '-') {
            let verdict = match outcome {
                'p' => Pass,
                'f' => Fail,
                _ => Void,
            };
            let (template, task) = (format!("template-{place:02}"), format!("task-{place:02}"));
            rows.push(row(arm, &template, &task, u32::try_from(seed).expect("few"), verdict));
        }
    }
    rows
}

fn run(a: &[&str], b: &[&str]) -> Comparison {
    compare(&rows("none", a), &rows("pull", b), CompareOptions::default()).expect("compares")
}

fn check(a: &[&str], b: &[&str], verdict: Finding, because: &str) {
    let found = run(a, b);
    assert_eq!((found.verdict, found.because.as_str()), (verdict, because), "{found:#?}");
}

#[test]
fn a_verdict_is_given_only_on_sound_grounds() {
    let (fail, pass) = (["fff"; 10], ["ppp"; 10]);
    check(&fail, &pass, Finding::Better, "p = 0.0020 over 10 templates");
    check(&pass, &fail, Finding::Worse, "p = 0.0020 over 10 templates");
    check(&pass, &pass, Finding::Inconclusive, "p = 1.000: the difference may be due to chance");
    check(&fail[..7], &pass[..7], Finding::TooFew, "7 templates are too few to decide: at least 8");
    let mut few_voids = pass;
    few_voids[3] = "pvp";
    check(&fail, &few_voids, Finding::Better, "p = 0.0020 over 10 templates");
    let mut many_voids = pass;
    many_voids[3] = "vvp";
    check(
        &fail,
        &many_voids,
        Finding::NoVerdict,
        "0 of 30 trials of a and 2 of 30 of b are void: more than 5 %",
    );
    let mut missing = pass;
    missing[0] = "p--";
    check(&fail, &missing, Finding::NoVerdict, "2 of 30 pairs lack one trial, more than 5 %");
    check(&["v"; 8], &["p"; 8], Finding::NoVerdict, "no pair of trials has a result on both sides");
}

#[test]
fn voids_that_could_turn_a_small_difference_forbid_its_claim() {
    // Eight templates gain one seed in a hundred; the void trials of the others outweigh that.
    let (fail, gain) = ("f".repeat(100), format!("{}p", "f".repeat(99)));
    let void = format!("{}vvvv", "f".repeat(96));
    let side = |first: &str, second: &str, third: &str| {
        let parts = [(first, 8), (second, 3), (third, 3)];
        parts.iter().flat_map(|(outcomes, count)| vec![(*outcomes).to_owned(); *count]).collect::<Vec<_>>()
    };
    let compared = |a: Vec<String>, b: Vec<String>| {
        compare(&lines("none", &a), &lines("pull", &b), CompareOptions::default()).expect("compares")
    };
    let found = compared(side(&fail, &void, &fail), side(&gain, &fail, &void));
    assert!(found.voids.worst_for_b.is_some_and(|worst| worst < 0.0), "{:?}", found.voids.worst_for_b);
    let because = "the void trials alone could reverse the difference";
    assert_eq!((found.verdict, found.because.as_str()), (Finding::NoVerdict, because));
    let sound = compared(side(&fail, &fail, &fail), side(&gain, &fail, &fail));
    assert_eq!(sound.verdict, Finding::Better, "{}", sound.because);
    let unequal = compared(side(&fail, &fail, &fail), side(&gain, &fail, &void));
    assert!(unequal.because.ends_with("more unequal than chance"), "{}", unequal.because);
}

#[test]
fn the_last_attempt_counts_and_earlier_voids_are_listed() {
    let fail = rows("none", &["f"; 8]);
    let mut pass = rows("pull", &["p"; 8]);
    for row in &mut pass {
        row.attempt = 2;
    }
    let mut lost = pass[0].clone();
    (lost.attempt, lost.verdict) = (1, Void);
    pass.push(lost);
    let found = compare(&fail, &pass, CompareOptions::default()).expect("compares");
    assert_eq!((found.trials, found.voids.b.void, found.voids.attempts.len()), (8, 0, 1));
    assert_eq!(found.verdict, Finding::Better);
}

#[test]
fn tasks_weigh_alike_within_a_template_whatever_their_repeats() {
    let of = |arm: &str, first: Verdict, second: Verdict| {
        let mut rows: Vec<TrialRow> = (0..4).map(|seed| row(arm, "t", "often", seed, first)).collect();
        rows.push(row(arm, "t", "once", 0, second));
        rows
    };
    let found = compare(&of("a", Fail, Fail), &of("b", Pass, Fail), CompareOptions::default());
    let found = found.expect("compares");
    assert_eq!(found.difference, Some(0.5));
    assert_eq!((found.templates, found.tasks, found.trials), (1, 2, 5));
    assert_eq!((found.mcnemar.b, found.mcnemar.c), (0, 1));
    assert_eq!(found.flips.gained.len(), 4);
}

#[test]
fn a_task_changes_sides_by_the_majority_of_its_judged_pairs_and_a_draw_counts_on_neither() {
    // Outcomes of one task's seeds on both sides, and the cell of the table it falls into.
    let cases = [
        ("fff", "ppp", (0, 1)),
        ("ppf", "fff", (1, 0)),
        // One of two is no majority, on either side.
        ("pf", "pp", (0, 0)),
        ("ff", "pf", (0, 0)),
        // A pair with a void trial on either side is left out; counted as a failure it would change the majority.
        ("pvv", "fpp", (1, 0)),
        ("fff", "pvv", (0, 1)),
        ("fv", "pp", (0, 1)),
        ("vv", "pp", (0, 0)),
    ];
    for (a, b, expected) in cases {
        let found = compare(&rows("none", &[a]), &rows("pull", &[b]), CompareOptions::default());
        let found = found.expect("compares").mcnemar;
        assert_eq!((found.b, found.c), expected, "{a} against {b}");
    }
}

#[test]
fn sides_that_are_not_one_thing_are_refused() {
    let (a, b) = (rows("none", &["f"; 8]), rows("pull", &["p"; 8]));
    let options = CompareOptions::default();
    let both: Vec<TrialRow> = a.iter().chain(&b).cloned().collect();
    let error = compare(&both, &b, options).expect_err("two arms").to_string();
    assert_eq!(error, "side a contains more than one arm (none, pull): select one, for example arm=none");
    assert_eq!(compare(&[], &b, options), Err(CompareError::Empty { side: "a" }));
    let mut again = a[0].clone();
    again.run = apprentice_protocol::RunId::new("another");
    let twice: Vec<TrialRow> = a.iter().cloned().chain([again]).collect();
    let (task, seed) = (TaskId::new("task-00"), 0);
    assert_eq!(compare(&twice, &b, options), Err(CompareError::DuplicateTrial { side: "a", task, seed }));
    let mut newer = b.clone();
    newer[0].suite_hash = "newer".into();
    let error = compare(&a, &newer, options).expect_err("two suites").to_string();
    assert!(error.starts_with("versions of suite starter differ (5uite, newer)"), "{error}");
    let allowed = compare(&a, &newer, CompareOptions { mixed: MixedVersions::Allow, ..options });
    assert_eq!(allowed.expect("compares").notes, ["versions of suite starter differ (5uite, newer)"]);
}

#[test]
fn partners_that_were_never_meant_to_run_are_no_holes() {
    let once: Vec<String> = (0..10).map(|_| "p".to_owned()).collect();
    let once: Vec<&str> = once.iter().map(String::as_str).collect();
    let found = run(&["fff"; 10], &once);
    assert_eq!((found.unpaired.a, found.unpaired.missing, found.trials), (20, 0, 10));
    assert_eq!(found.verdict, Finding::Better);
}

#[test]
fn the_result_reads_as_documented() {
    let found = run(&["fp", "ff", "fv"], &["pp", "fp", "ff"]);
    insta::assert_json_snapshot!(found);
}

fn outcomes() -> impl Strategy<Value = Vec<String>> {
    let letter = prop_oneof![4 => Just('p'), 4 => Just('f'), 1 => Just('v'), 1 => Just('-')];
    let seeds = proptest::collection::vec(letter, 3).prop_map(|letters| letters.into_iter().collect());
    proptest::collection::vec(seeds, 8..14)
}

fn lines(arm: &str, outcomes: &[String]) -> Vec<TrialRow> {
    rows(arm, &outcomes.iter().map(String::as_str).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn a_comparison_turned_around_says_the_opposite(a in outcomes(), b in outcomes()) {
        let (a, b) = (lines("none", &a), lines("pull", &b));
        let (Ok(one), Ok(other)) = (
            compare(&a, &b, CompareOptions::default()),
            compare(&b, &a, CompareOptions::default()),
        ) else { return Ok(()) };
        prop_assert_eq!(one.difference.map(|d| d + 0.0), other.difference.map(|d| -d + 0.0));
        prop_assert_eq!(one.p_signflip, other.p_signflip);
        prop_assert_eq!(
            one.ci95.map(|ci| [ci.low + 0.0, ci.high + 0.0]),
            other.ci95.map(|ci| ci.mirrored()).map(|ci| [ci.low + 0.0, ci.high + 0.0])
        );
        prop_assert_eq!(&one.flips.gained.len(), &other.flips.lost.len());
        prop_assert_eq!((one.mcnemar.b, one.mcnemar.c), (other.mcnemar.c, other.mcnemar.b));
        let opposite = match one.verdict {
            Finding::Better => Finding::Worse,
            Finding::Worse => Finding::Better,
            same @ (Finding::Inconclusive | Finding::TooFew | Finding::NoVerdict) => same,
        };
        prop_assert_eq!(opposite, other.verdict);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(
        a in outcomes(), b in outcomes(), order in proptest::collection::vec(0u32..1000, 42),
    ) {
        let (a, b) = (lines("none", &a), lines("pull", &b));
        let mut keyed: BTreeMap<(u32, usize), TrialRow> = BTreeMap::new();
        for (place, row) in b.iter().enumerate() {
            keyed.insert((order[place], place), row.clone());
        }
        let shuffled: Vec<TrialRow> = keyed.into_values().collect();
        prop_assert_eq!(
            compare(&a, &b, CompareOptions::default()), compare(&a, &shuffled, CompareOptions::default())
        );
    }

    #[test]
    fn the_found_difference_lies_between_the_worst_cases(a in outcomes(), b in outcomes()) {
        let (a, b) = (lines("none", &a), lines("pull", &b));
        let Ok(found) = compare(&a, &b, CompareOptions::default()) else { return Ok(()) };
        let (worst, best) = (found.voids.worst_for_b, found.voids.best_for_b);
        prop_assert!(worst <= best, "{:?} {:?}", worst, best);
    }
}

#[test]
fn a_trial_in_which_a_person_acted_is_not_the_models_result() {
    let (fail, pass) = (["fff"; 10], ["ppp"; 10]);
    let (none, mut pull) = (rows("none", &fail), rows("pull", &pass));
    pull[4].person_acts = 1;
    let found = compare(&none, &pull, CompareOptions::default()).expect("compares");
    assert_eq!((found.voids.b.void, found.voids.a.void), (1, 0));
    assert_eq!(found.voids.attempts[0].cause, Some(apprentice_protocol::VoidCause::PersonActed));
    assert!(
        found.notes.iter().any(|note| note == "1 attempt with acts of a person counted as void"),
        "{:?}",
        found.notes
    );
    for row in &mut pull[..3] {
        row.person_acts = 2;
    }
    let found = compare(&none, &pull, CompareOptions::default()).expect("compares");
    assert_eq!(found.verdict, Finding::NoVerdict, "too many of them leave no verdict: {}", found.because);
    let text = serde_json::to_string(&pull[0]).expect("writes");
    assert!(
        text.contains("\"person_acts\":2") && text.contains("\"verdict\":\"pass\""),
        "the row keeps its verdict: {text}"
    );
    assert!(
        !serde_json::to_string(&none[0]).expect("writes").contains("person_acts"),
        "other rows are as before"
    );
}
