//! Tests of the split lock: its rejections, and that a row's own claims never override the lock.

use std::collections::BTreeMap;

use apprentice_protocol::{Limits, ResourceUsage, StopReason, TaskId, Trajectory, Verdict};

use super::{LockedSuite, Shares, SplitError, SplitLock};
use crate::sample;
use crate::trial_identity::{expected_trial_id, trajectory_id};
use apprentice_results::row::{Role, Split, TrialRow};

fn tasks() -> BTreeMap<TaskId, String> {
    [("save-1", "save-as"), ("save-2", "save-as"), ("zoom-1", "zoom"), ("tabs-1", "tabs")]
        .map(|(task, template)| (TaskId::new(task), template.to_owned()))
        .into()
}

fn lock() -> SplitLock {
    let tasks = tasks();
    let suite = LockedSuite { name: "starter", hash: "5uite", tasks: &tasks };
    let templates = [("save-as", Split::Train), ("zoom", Split::Dev), ("tabs", Split::Test)];
    SplitLock::new(suite, templates.map(|(name, split)| (name.to_owned(), split)).into(), "salt")
        .expect("a lock")
}

fn trajectory(row: &TrialRow) -> Trajectory {
    Trajectory {
        id: trajectory_id(row),
        goal: "Save the file".into(),
        apps: vec!["mousepad".into()],
        versions: Default::default(),
        consumer: "builtin/novice".into(),
        verdict: row.verdict,
        score: row.score,
        stop: StopReason::Done,
        limits: Limits::default(),
        spent: ResourceUsage::default(),
        steps: Vec::new(),
        skills: Vec::new(),
    }
}

/// A row whose trial id matches its fields.
fn row(arm: &str, template: &str, task: &str, seed: u32, verdict: Verdict) -> TrialRow {
    let row = sample::row(arm, template, task, seed, verdict);
    TrialRow { trial: expected_trial_id(&row, "starter"), ..row }
}

fn refusal(row: &TrialRow) -> String {
    lock().admit(row, trajectory(row)).expect_err("is refused").to_string()
}

#[test]
fn a_training_attempt_is_admitted_passed_or_failed() {
    for verdict in [Verdict::Pass, Verdict::Fail] {
        let row = row("none", "save-as", "save-2", 1, verdict);
        let admitted = lock().admit(&row, trajectory(&row)).expect("is admitted");
        assert_eq!(admitted.trajectory().verdict, verdict);
        assert_eq!(admitted.into_inner(), trajectory(&row));
    }
}

#[test]
fn the_rows_own_words_open_nothing() {
    let mut forged = row("none", "tabs", "tabs-1", 0, Verdict::Pass);
    forged.split = Some(Split::Train);
    assert_eq!(refusal(&forged), "task tabs-1 belongs to template \"tabs\", held out as test");
    forged.template = "save-as".into();
    assert_eq!(
        refusal(&forged),
        "the row of task tabs-1 claims template \"save-as\", the lock says \"tabs\""
    );
    forged.task = TaskId::new("zoom-1");
    forged.template = "zoom".into();
    assert_eq!(refusal(&forged), "task zoom-1 belongs to template \"zoom\", held out as dev");
    let mut honest = row("none", "save-as", "save-1", 0, Verdict::Pass);
    honest.split = Some(Split::Test);
    assert!(lock().admit(&honest, trajectory(&honest)).is_ok(), "the lock alone decides");
}

#[test]
fn void_foreign_and_mistaken_attempts_are_refused() {
    let void = row("none", "save-as", "save-1", 0, Verdict::Void);
    assert!(refusal(&void).ends_with("/1 is void and cannot be used for learning"));
    let mut foreign = row("none", "save-as", "save-1", 0, Verdict::Pass);
    foreign.suite_hash = "other".into();
    assert!(refusal(&foreign).starts_with("split lock is for suite 5uite, not other"));
    let typo = row("none", "save-as", "save-11", 0, Verdict::Pass);
    assert_eq!(refusal(&typo), "the locked suite has no task save-11; did you mean \"save-1\"?");

    let honest = row("none", "save-as", "save-1", 0, Verdict::Pass);
    for forged in [
        TrialRow { seed: 1, ..honest.clone() },
        TrialRow { arm: "pull".into(), ..honest.clone() },
        TrialRow { model: "other/model".into(), ..honest.clone() },
        TrialRow { role: Role::Teacher, ..honest.clone() },
        TrialRow { task: TaskId::new("save-2"), ..honest.clone() },
    ] {
        assert!(refusal(&forged).contains(&format!("claims trial id {}", honest.trial)), "{forged:?}");
    }

    let train = row("none", "save-as", "save-1", 0, Verdict::Pass);
    let test = row("none", "tabs", "tabs-1", 0, Verdict::Pass);
    let error = lock().admit(&train, trajectory(&test)).expect_err("another attempt's trajectory");
    assert!(matches!(error, SplitError::Mismatch { .. }), "{error}");
    let mut turned = trajectory(&train);
    turned.verdict = Verdict::Fail;
    let error = lock().admit(&train, turned).expect_err("another verdict");
    assert!(matches!(error, SplitError::Mismatch { .. }), "{error}");
}

#[test]
fn a_lock_survives_its_file_and_faults_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("split.lock");
    lock().write(&path).expect("writes");
    let read = SplitLock::read(&path).expect("reads");
    assert_eq!((read.hash(), &read), (lock().hash(), &lock()));
    assert_eq!(read.split_of("tabs"), Some(Split::Test));
    assert_eq!(read.templates(Split::Train).collect::<Vec<_>>(), ["save-as"]);

    let check = |from: &str, to: &str, expected: &str| {
        std::fs::write(&path, lock().to_text().replace(from, to)).expect("writes");
        let error = SplitLock::read(&path).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("apprentice.split/1", "apprentice.split/2", "schema \"apprentice.split/2\"");
    check("\"dev\"", "\"develop\"", "not a split lock (field templates.zoom)");
    check(
        "\"save-1\": \"save-as\"",
        "\"save-1\": \"save-us\"",
        "template \"save-us\" of task save-1 is in no split; did you mean \"save-as\"?",
    );
    check("\"tabs-1\": \"tabs\"", "\"tabs-1\": \"zoom\"", "template \"tabs\" of the split has no task");
}

#[test]
fn a_draw_deals_all_templates_and_repeats_by_salt() {
    let tasks: BTreeMap<TaskId, String> =
        (0..20).map(|n| (TaskId::new(format!("task-{n}")), format!("template-{n}"))).collect();
    let suite = LockedSuite { name: "large", hash: "hash", tasks: &tasks };
    let shares = Shares { train: 6, dev: 2, test: 12 };
    let draw = |salt: &str| SplitLock::draw(suite, shares, salt).expect("a lock");
    let count = |split| draw("a").templates(split).count();
    assert_eq!([Split::Train, Split::Dev, Split::Test].map(count), [6, 2, 12]);
    assert_eq!(draw("a"), draw("a"));
    assert_ne!(draw("a").templates, draw("b").templates);
}
