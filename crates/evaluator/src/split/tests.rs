//! Tests of the split lock: its rejections, and that a row's own claims never override the lock.

use std::collections::BTreeMap;

use apprentice_protocol::{Limits, ResourceUsage, StopReason, TaskId, Trajectory, Verdict};

use serde_json::json;

use super::{LockedSuite, SharedBy, Shares, SplitDraft, SplitError, SplitLock, overlaps};
use crate::sample;
use crate::trial_identity::{expected_trial_id, trajectory_id};
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;

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
        judged_by: Default::default(),
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
    check("apprentice.split/1", "apprentice.split/3", "schema \"apprentice.split/3\"");
    check("apprentice.split/1", "apprentice.split/2", "it needs `instructions`");
    check("\"dev\"", "\"develop\"", "not a split lock (field templates.zoom)");
    check(
        "\"save-1\": \"save-as\"",
        "\"save-1\": \"save-us\"",
        "template \"save-us\" of task save-1 is in no split; did you mean \"save-as\"?",
    );
    check("\"tabs-1\": \"tabs\"", "\"tabs-1\": \"zoom\"", "template \"tabs\" of the split has no task");
}

/// A suite of tasks of ours (`(id, template, instruction)`) and of tasks without a template (`(id, start file)`).
fn suite(ours: &[(&str, &str, &str)], bare: &[(&str, &str)]) -> Suite {
    let task = |json: serde_json::Value| -> Task { serde_json::from_value(json).expect("a task") };
    let ours = ours.iter().map(|(id, template, instruction)| {
        task(json!({ "id": id, "instruction": instruction, "evaluator": { "func": "exact_match" },
            "apprentice": { "environment": "desktop", "template": template } }))
    });
    let bare = bare.iter().map(|(id, file)| {
        let files = json!({ "files": [{ "url": file, "path": "/x" }] });
        let made = task(
            json!({ "id": id, "instruction": format!("Do {id}."), "evaluator": { "func": "exact_match" },
            "config": [{ "type": "download", "parameters": files }] }),
        );
        Task { app: "calc".into(), ..made }
    });
    Suite { name: "large".into(), root: "/none".into(), hash: "h1".into(), tasks: ours.chain(bare).collect() }
}

/// A suite whose instructions have no word in common.
fn large(count: usize) -> Suite {
    let names: Vec<[String; 3]> =
        (0..count).map(|n| [format!("task-{n}"), format!("template-{n}"), format!("w{n}")]).collect();
    let ours: Vec<(&str, &str, &str)> =
        names.iter().map(|[id, t, i]| (id.as_str(), t.as_str(), i.as_str())).collect();
    suite(&ours, &[])
}

const SHARES: Shares = Shares { train: 6, dev: 2, test: 12 };

#[test]
fn a_draw_deals_all_templates_and_repeats_by_salt() {
    let large = large(20);
    let draw = |salt: &str| SplitDraft::draw(&large, SHARES, salt).expect("a draft");
    let count = |split| draw("a").part(split).len();
    assert_eq!([Split::Train, Split::Dev, Split::Test].map(count), [6, 2, 12]);
    assert_eq!(draw("a"), draw("a"));
    assert_ne!(draw("a").part(Split::Train), draw("b").part(Split::Train));
    assert!(SplitDraft::draw(&large, Shares { train: 0, dev: 0, test: 0 }, "a").is_err());
    let two =
        SplitDraft::draw(&self::large(2), Shares { train: 50, dev: 10, test: 40 }, "a").expect("a draft");
    assert_eq!([Split::Train, Split::Dev, Split::Test].map(|split| two.part(split).len()), [1, 0, 1]);
}

#[test]
fn each_part_gets_its_share_of_every_program() {
    let mut suite = large(40);
    for (number, task) in suite.tasks.iter_mut().enumerate() {
        task.app = ["a", "b", "c", "d"][number % 4].to_owned();
    }
    let app = |id: &TaskId| suite.tasks.iter().find(|task| task.id == *id).map(|task| task.app.clone());
    for salt in 0..20 {
        let halves = Shares { train: 1, dev: 0, test: 1 };
        let draft = SplitDraft::draw(&suite, halves, &salt.to_string()).expect("a draft");
        for name in ["a", "b", "c", "d"] {
            let tasks = draft.part(Split::Train).values().flatten();
            let count = tasks.filter(|id| app(id).as_deref() == Some(name)).count();
            assert_eq!(count, 5, "{name}, salt {salt}");
        }
    }
}

#[test]
fn knowledge_that_several_templates_carry_is_learned_and_measured() {
    let mut labelled = large(12);
    for (number, task) in labelled.tasks.iter_mut().enumerate() {
        let ours = task.apprentice.as_mut().expect("ours");
        // Four labels with three templates each, but for the last, which stands alone.
        ours.knowledge =
            vec![if number == 11 { "alone".to_owned() } else { format!("label-{}", number / 3) }];
    }
    let shares = Shares { train: 50, dev: 10, test: 40 };
    for salt in 0..40 {
        let draft = SplitDraft::draw(&labelled, shares, &salt.to_string()).expect("a draft");
        let parts = draft.knowledge(&labelled);
        assert_eq!(parts.both.len(), 4, "salt {salt}: {parts:?}");
        assert_eq!(draft.part(Split::Train).len(), 6, "the shares hold, salt {salt}");
        assert!(!parts.both.contains("alone"), "salt {salt}: {parts:?}");
    }
    // A label of one template changes no draw.
    let plain = large(12);
    let mut single = plain.clone();
    single.tasks[0].apprentice.as_mut().expect("ours").knowledge = vec!["alone".to_owned()];
    let draw = |suite: &Suite| SplitDraft::draw(suite, shares, "1").expect("a draft");
    assert_eq!(draw(&plain), draw(&single));
}

#[test]
fn what_is_asked_in_the_same_words_is_dealt_to_one_part_and_never_locked_apart() {
    let twins =
        [("a", "a", "make this text line bold"), ("b", "b", "make this text line green"), ("c", "c", "zoom")];
    let twins = suite(&twins, &[]);
    for salt in 0..20 {
        let draft = SplitDraft::draw(&twins, SHARES, &salt.to_string()).expect("a draft");
        let [a, b] = ["a", "b"].map(|id| draft.split_of_task(&TaskId::new(id)));
        assert_eq!(a, b, "salt {salt}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("split.toml");
    let lock = |parts: &str| {
        std::fs::write(&path, format!("suite = 'large'\nsalt = '1'\n{parts}")).expect("writes");
        SplitDraft::read(&path)?.lock(&twins)
    };
    let said = |parts: &str| {
        lock(parts).expect_err("is refused").to_string().replace(path.to_str().expect("text"), "FILE")
    };
    insta::assert_snapshot!(
        [
            "[train]\na = ['a']\n[test]\nb = ['b']\nc = ['c']",
            "[train]\na = ['a']\nb = ['b']\n[test]\na = ['a']",
            "[train]\na = ['a', 'b']\n[dev]\nc = ['d']",
            "[tain]\na = ['a']",
        ]
        .map(said)
        .join("\n"),
        @r#"
    the split cannot be locked:
      a (train) and b (test) ask for the same in nearly the same words: put both into one part
    the split cannot be locked:
      template "a" stands in train and in test
      task c stands in no part
      a (test) and b (train) ask for the same in nearly the same words: put both into one part
    the split cannot be locked:
      task b stands in "a", but its file names the template "b"
      task c stands in no part
      the suite has no task d; did you mean "a"?
      part test is empty: learning needs train, a measurement needs test
    FILE: not a split draft: TOML parse error at line 3, column 2
        |
      3 | [tain]
        |  ^^^^
      unknown field `tain`, expected one of `suite`, `salt`, `train`, `dev`, `test`
    "#
    );
    let good = lock("[train]\na = ['a']\nb = ['b']\n[test]\nc = ['c']").expect("a lock");
    assert_eq!(good.split_of("b"), Some(Split::Train));
    let again = SplitDraft::of_lock(&twins, &good);
    again.write(&path).expect("writes");
    assert_eq!(SplitDraft::read(&path).expect("reads").lock(&twins).expect("a lock"), good);
}

#[test]
fn tasks_without_templates_are_grouped_by_program_and_start_file() {
    let bare =
        suite(&[], &[("11111111-a", "f1"), ("22222222-b", "f2"), ("33333333-c", "f1"), ("22222222-d", "f4")]);
    let draft = SplitDraft::draw(&bare, SHARES, "s").expect("a draft");
    let lock = draft.lock(&bare).expect("a lock");
    let groups: Vec<String> = [Split::Train, Split::Dev, Split::Test]
        .iter()
        .flat_map(|split| lock.templates(*split).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let groups: std::collections::BTreeSet<String> = groups.into_iter().collect();
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), ["calc-11111111", "calc-22222222", "calc-22222222-d"]);
    // The suite as it is loaded beside this lock.
    let mut loaded = bare.clone();
    for (task, group) in
        loaded.tasks.iter_mut().zip(["calc-11111111", "calc-22222222", "calc-11111111", "calc-22222222-d"])
    {
        task.group = Some(group.to_owned());
    }
    lock.check_suite(&loaded).expect("fits");
    let apart = lock.check_suite(&bare).expect_err("groups are unknown").to_string();
    assert!(apart.contains("4 tasks with another template"), "{apart}");
}

#[test]
fn a_lock_that_was_edited_into_a_leak_is_refused() {
    let twins = [
        ("a", "a", "make this text line bold"),
        ("b", "b", "make this text line green"),
        ("c", "c", "zoom"),
        ("d", "d", "print it"),
    ];
    let twins = suite(&twins, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("split.toml");
    let parts = "[train]\nd = ['d']\n[test]\na = ['a']\nb = ['b']\nc = ['c']";
    std::fs::write(&path, format!("suite = 'large'\nsalt = '1'\n{parts}")).expect("writes");
    let good = SplitDraft::read(&path).expect("reads").lock(&twins).expect("a lock");
    good.check_suite(&twins).expect("fits");
    let path = folder.path().join("split.json");
    let edited = |from: &str, to: &str| {
        assert!(good.to_text().contains(from), "{}", good.to_text());
        std::fs::write(&path, good.to_text().replace(from, to)).expect("writes");
        SplitLock::read(&path).expect("reads").check_suite(&twins)
    };
    edited("\"c\": \"test\"", "\"c\": \"train\"").expect("no leak: nothing else asks for the same");
    edited("\"b\": \"test\"", "\"b\": \"dev\"").expect("dev is measured by nobody");
    let said = edited("\"b\": \"test\"", "\"b\": \"train\"").expect_err("a leak").to_string();
    insta::assert_snapshot!(said, @"the split leaks: a (test) and b (train) ask for the same in nearly the same words: put both into one part; edit split.toml and lock it again (`apprentice split lock`)");

    // A lock of the first form covers every file of the suite, and not its own parts.
    let parts = ["a", "b", "c", "d"].map(|name| (name.to_owned(), Split::Test));
    let mut parts = BTreeMap::from(parts);
    let tasks = twins.templates();
    let locked = LockedSuite { name: &twins.name, hash: &twins.hash, tasks: &tasks };
    SplitLock::new(locked, parts.clone(), "1").expect("a lock").check_suite(&twins).expect("fits");
    parts.insert("a".to_owned(), Split::Train);
    let error = SplitLock::new(locked, parts, "1").expect("a lock").check_suite(&twins);
    assert!(matches!(error, Err(SplitError::Leak(pairs)) if pairs.len() == 1));
}

#[test]
fn a_lock_covers_words_and_templates_and_no_solution() {
    let suite = large(4);
    let draft = SplitDraft::draw(&suite, SHARES, "s").expect("a draft");
    let lock = draft.lock(&suite).expect("a lock");
    let mut changed = suite.clone();
    changed.hash = "another".into();
    changed.name = "renamed".into();
    changed.tasks[0].apprentice.as_mut().expect("ours").solution = vec![json!({ "key": "a" })];
    lock.check_suite(&changed).expect("a solution is not covered");
    changed.tasks[1].instruction = "Other words.".into();
    changed.tasks[2].apprentice.as_mut().expect("ours").template = "new".into();
    changed.tasks.remove(3);
    changed.tasks.extend(self::suite(&[("x", "x", "x")], &[]).tasks);
    let said = lock.check_suite(&changed).expect_err("words are covered").to_string();
    insta::assert_snapshot!(said, @"the suite no longer fits its split: 1 task new (x), 1 task gone (task-3), 1 task with another template (task-2), 1 task with another instruction (task-1); edit the split and lock it again (`apprentice split lock`)");
    let task =
        lock.tasks.iter().find(|(_, template)| lock.split_of(template) == Some(Split::Train)).expect("one");
    let row = TrialRow {
        suite_hash: "older".into(),
        suite: "renamed".into(),
        ..row("none", task.1, task.0.as_str(), 0, Verdict::Pass)
    };
    let row = TrialRow { trial: expected_trial_id(&row, "renamed"), ..row };
    lock.admit(&row, trajectory(&row)).expect("a renamed suite's attempt is admitted");
    let words = suite.task(task.0.as_str()).expect("the task").instruction.clone();
    super::check_wording(&suite, &row, &words).expect("the same words");
    let error = super::check_wording(&suite, &row, "Before.").expect_err("other words").to_string();
    assert!(error.contains("read otherwise"), "{error}");
}

#[test]
fn a_start_file_on_both_sides_is_told_and_is_no_leak() {
    let shared = suite(&[], &[("one", "f1"), ("two", "f1"), ("three", "f2")]);
    let part = |task: &TaskId| Some(if task.as_str() == "two" { Split::Test } else { Split::Train });
    let found = overlaps(&shared, &part);
    let shared: Vec<_> =
        found.iter().map(|one| (one.one.as_str(), one.other.as_str(), &one.shared)).collect();
    assert_eq!(shared, [("one", "two", &SharedBy::StartFile("f1".into()))]);
    assert!(!found[0].is_leak());
}
