//! Our suites: they load, their scripts parse, every variation can be generated, and their splits match their
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_evaluator::arms::open_inert_skills;
use apprentice_evaluator::learn::HeldOutTasks;
use apprentice_evaluator::split::{LockedSuite, SplitLock};
use apprentice_evaluator::task_apps::apps_of;
use apprentice_runs::row::Split;
use apprentice_screening::leak::HeldOutIndex as _;
use apprentice_tasks::solution::SolutionModel;
use apprentice_tasks::suite::{Selection, Suite, load};
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::vary;

const SUITES: &[&str] = &["starter", "office", "everyday"];

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks").join(name)
}

fn suite(name: &str) -> Suite {
    let suite = load(&root(name)).expect("the suite loads");
    assert_eq!(suite.name, name);
    suite
}

#[test]
fn every_variation_fills_in_and_every_script_reads() {
    let suites: Vec<Suite> = SUITES.iter().map(|name| suite(name)).collect();
    for (suite, task) in suites.iter().flat_map(|suite| suite.tasks.iter().map(move |task| (suite, task))) {
        let ours = task.apprentice.as_ref().expect("our additions");
        assert!(!ours.solution.is_empty() && !ours.near_miss.is_empty(), "{} has no scripts", task.id);
        assert_ne!(ours.solution, ours.near_miss, "{}", task.id);
        let mut worlds = BTreeSet::new();
        for index in 0..12 {
            let varied = vary(task, &suite.name, index).expect("varies");
            let text = serde_json::to_string(&varied.task.evaluator).expect("writes");
            assert!(!text.contains("{{"), "{} keeps a placeholder: {text}", task.id);
            assert!(!varied.task.instruction.contains("{{"), "{}", varied.task.instruction);
            SolutionModel::solution(&varied.task).expect("the solution reads");
            SolutionModel::near_miss(&varied.task).expect("the near miss reads");
            worlds.insert(serde_json::to_string(&(&varied.world, &varied.task.config)).expect("writes"));
        }
        assert!(worlds.len() > 1, "{} does not vary", task.id);
    }
}

/// The suite's locked split. If its files have changed, a fresh lock is written beside the old one.
fn fitting_split(suite: &Suite) -> SplitLock {
    let path = root(&suite.name).join("split.json");
    let lock = SplitLock::read(&path).expect("the lock reads");
    if lock.check_suite(suite).is_err() {
        let templates: BTreeMap<String, Split> = suite
            .tasks
            .iter()
            .map(|task| task.template().to_owned())
            .map(|template| {
                let split = lock.split_of(&template).unwrap_or(Split::Test);
                (template, split)
            })
            .collect();
        let tasks = suite.templates();
        let locked = LockedSuite { name: &suite.name, hash: &suite.hash, tasks: &tasks };
        let fresh = SplitLock::new(locked, templates, lock.salt()).expect("a lock");
        fresh.write(&path.with_extension("json.new")).expect("writes");
        panic!(
            "the files of {} have changed: check split.json.new and put it in place of split.json",
            suite.name
        );
    }
    lock
}

/// The splits in which each piece of knowledge is needed.
fn knowledge<'a>(suite: &'a Suite, lock: &SplitLock) -> BTreeMap<&'a str, BTreeSet<Split>> {
    let mut knowledge: BTreeMap<&str, BTreeSet<Split>> = BTreeMap::new();
    for task in &suite.tasks {
        let split = lock.split_of(task.template()).expect("a split");
        for piece in task.apprentice.iter().flat_map(|ours| &ours.knowledge) {
            knowledge.entry(piece).or_default().insert(split);
        }
    }
    knowledge
}

#[test]
fn what_an_office_task_teaches_another_one_tests() {
    let suite = suite("office");
    let knowledge = knowledge(&suite, &fitting_split(&suite));
    let both = BTreeSet::from([Split::Train, Split::Test]);
    assert!(knowledge.len() >= 3 && knowledge.values().all(|splits| *splits == both), "{knowledge:?}");
}

#[test]
fn the_starter_split_has_all_three_strata() {
    let suite = suite("starter");
    let lock = fitting_split(&suite);
    let knowledge = knowledge(&suite, &lock);
    let mut unseen = 0;
    for task in &suite.tasks {
        let pieces = task.apprentice.as_ref().map(|ours| ours.knowledge.as_slice()).unwrap_or_default();
        let seen = |piece: &String| knowledge[piece.as_str()].contains(&Split::Train);
        unseen += usize::from(!pieces.is_empty() && !pieces.iter().any(seen));
    }
    let shared =
        knowledge.values().filter(|splits| splits.contains(&Split::Train) && splits.contains(&Split::Test));
    assert!(shared.count() >= 8, "{knowledge:?}");
    assert!(knowledge.values().all(|splits| splits.contains(&Split::Test)), "{knowledge:?}");
    assert!(unseen >= 3, "{unseen} templates need knowledge that no training template holds");
    assert!(lock.templates(Split::Train).count() >= 6 && lock.templates(Split::Test).count() >= 10);
}

/// Whoever measures a real model by this suite wants both strata to be large enough for a statement of their own.
#[test]
fn the_everyday_split_teaches_most_functions_and_leaves_some_untaught() {
    let suite = suite("everyday");
    let lock = fitting_split(&suite);
    let knowledge = knowledge(&suite, &lock);
    let (mut seen, mut unseen) = (0, 0);
    for task in suite.tasks.iter().filter(|task| lock.split_of(task.template()) == Some(Split::Test)) {
        let pieces = task.apprentice.as_ref().map(|ours| ours.knowledge.as_slice()).unwrap_or_default();
        let [piece] = pieces else { panic!("{} asks for one function, not {pieces:?}", task.id) };
        match knowledge[piece.as_str()].contains(&Split::Train) {
            true => seen += 1,
            false => unseen += 1,
        }
    }
    assert!(lock.templates(Split::Train).count() >= 16);
    assert!(seen >= 20 && unseen >= 8, "{seen} and {unseen} test templates");
    let untested = knowledge.iter().filter(|(_, splits)| !splits.contains(&Split::Test));
    assert_eq!(untested.count(), 0, "{knowledge:?}");
    let unlike =
        knowledge.iter().filter(|(_, splits)| splits.contains(&Split::Dev) != splits.contains(&Split::Train));
    assert_eq!(
        unlike.count(),
        0,
        "choices on dev tasks are about the functions that training teaches: {knowledge:?}"
    );
    assert_eq!(lock.templates(Split::Dev).count(), 24);
    let other = ["starter", "office"].map(self::suite);
    let taken: BTreeSet<&str> = other.iter().flat_map(|suite| &suite.tasks).flat_map(pieces).collect();
    assert!(knowledge.keys().all(|piece| !taken.contains(piece)), "no function of another suite");
}

fn pieces(task: &Task) -> impl Iterator<Item = &str> {
    task.apprentice.iter().flat_map(|ours| &ours.knowledge).map(String::as_str)
}

#[test]
fn the_demo_covers_every_program_and_stratum() {
    let suite = suite("starter");
    let lock = fitting_split(&suite);
    let selection = Selection::read(&root("starter").join("demo.json"), &suite).expect("fits the suite");
    let chosen = selection.chosen();
    assert_eq!(chosen.len(), selection.tasks.len(), "each task stands once");
    let part = |split| -> Vec<&Task> {
        let of_part =
            |task: &&Task| chosen.contains(&task.id) && lock.split_of(task.template()) == Some(split);
        suite.tasks.iter().filter(of_part).collect()
    };
    let (train, test) = (part(Split::Train), part(Split::Test));
    assert!(train.len() >= 6 && test.len() >= 10, "{} and {}", train.len(), test.len());
    let apps = |tasks: &[&Task]| -> BTreeSet<String> { tasks.iter().map(|task| task.app.clone()).collect() };
    let all: BTreeSet<String> = suite.tasks.iter().map(|task| task.app.clone()).collect();
    assert_eq!((apps(&train), apps(&test)), (all.clone(), all), "every program is worked in and measured");
    let pieces = |task: &Task| task.apprentice.clone().map(|ours| ours.knowledge).unwrap_or_default();
    let taught: BTreeSet<String> = train.iter().flat_map(|task| pieces(task)).collect();
    assert_eq!(taught.len(), train.len(), "one training template for each piece of knowledge");
    let seen = |task: &&&Task| pieces(task).iter().any(|piece| taught.contains(piece));
    assert_eq!(test.iter().filter(seen).count(), taught.len(), "and one test template");
    let unseen = |task: &&&Task| !pieces(task).is_empty() && !seen(task);
    assert!((2..=3).contains(&test.iter().filter(unseen).count()));
    let elsewhere = suite.tasks.iter().filter(|task| lock.split_of(task.template()) == Some(Split::Train));
    let elsewhere: BTreeSet<String> = elsewhere.flat_map(pieces).collect();
    let truly = |task: &&&Task| pieces(task).iter().all(|piece| !elsewhere.contains(piece));
    assert!(test.iter().filter(unseen).all(|task| truly(&task)), "no training template at all holds it");
    let needless: Vec<_> = test.iter().filter(|task| pieces(task).is_empty()).collect();
    assert!(needless.iter().any(|task| task.id.as_str().starts_with("page-")), "one on a page needs none");
    assert!(needless.len() >= 2, "one in a program needs none");
}

#[test]
fn the_spare_skills_cover_every_program_and_tell_nothing_of_a_task() {
    for suite in ["starter", "everyday"].map(suite) {
        check_spare_skills(&suite);
    }
}

fn check_spare_skills(suite: &Suite) {
    let index = HeldOutTasks::build(&fitting_split(suite), suite);
    let spare = open_inert_skills(suite).expect("opens").expect("there are some");
    assert_eq!(spare.problems(), []);
    for task in &suite.tasks {
        let apps = apps_of(task);
        assert!(spare.skills().any(|skill| apps.iter().any(|app| app == skill.id.domain())), "{apps:?}");
    }
    for skill in spare.skills() {
        assert!(!skill.text.guidance.is_empty(), "{} does not read", skill.id);
        assert_eq!(index.find(&skill.view()), None, "{}", skill.id);
    }
}
