//! The arm `auto` in an experiment: each student's dev trials choose what it stands for, before the test tasks run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::experiment::{BookSource, Experiment};
use apprentice_evaluator::split::{LockedSuite, SplitLock};
use apprentice_protocol::TaskId;
use apprentice_results::arm::Arm;
use apprentice_runs::row::{Role, Split, TrialRow};
use apprentice_skillbook::{At, Snapshot};
use apprentice_tasks::task::Task;
use tempfile::TempDir;

use crate::experiment::{TRAIN, copied, experiment, forecast_of, suite, work};

/// The learned book, with copies of two tasks as `dev` dev tasks.
async fn wanted(dev: usize) -> Experiment {
    let (first, _) = copied().await;
    let book = Snapshot::open(&first.path().join("skillbook"), At::Now).expect("opens");
    let mut suite = suite().as_ref().clone();
    let originals: Vec<Task> =
        ["jug", "renew"].iter().map(|id| suite.task(id).expect("a task").clone()).collect();
    suite.tasks.retain(|task| !originals.iter().any(|original| original.id == task.id));
    for (number, original) in (0..dev).zip(originals.iter().cycle()) {
        let mut copy = original.clone();
        copy.id = TaskId::new(format!("dev-{number}"));
        if let Some(ours) = &mut copy.apprentice {
            ours.template = copy.id.to_string();
        }
        suite.tasks.push(copy);
    }
    let tasks: BTreeMap<TaskId, String> = suite.templates();
    let split = |id: &str| match id {
        _ if TRAIN.contains(&id) => Split::Train,
        _ if id.starts_with("dev-") => Split::Dev,
        _ => Split::Test,
    };
    let templates = tasks.values().map(|template| (template.clone(), split(template))).collect();
    let named = LockedSuite { name: &suite.name, hash: &suite.hash, tasks: &tasks };
    let lock = SplitLock::new(named, templates, "salt").expect("a lock");
    Experiment {
        suite: Arc::new(suite),
        lock: Some(lock),
        others: vec!["builtin/explorer".into()],
        arms: vec![Arm::None, Arm::Auto],
        ..experiment(BookSource::Given(book))
    }
}

fn aids(run: &Path) -> String {
    let plan = fs::read_to_string(run.join("run.json")).expect("reads");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("parses");
    let arms = plan["arms"].as_array().expect("arms");
    let auto = arms.iter().find(|arm| arm["arm"] == "auto").expect("is planned");
    auto["aids"]["auto"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn dev_trials_choose_what_auto_stands_for_and_no_test_task_takes_part() {
    let folder = TempDir::new().expect("a folder");
    let wanted = wanted(6).await;
    let planned = forecast_of(&wanted, &[]);
    let outcome = work(&wanted, folder.path(), None).await.expect("works");
    let measured = &outcome.measured;
    let dev: Vec<std::path::PathBuf> = fs::read_dir(folder.path().join("dev"))
        .expect("dev trials")
        .map(|one| one.expect("reads").path())
        .collect();
    assert_eq!(dev.len(), 1);
    let rows: Vec<TrialRow> = apprentice_runs::rows::read(&dev[0].join("trials.jsonl")).expect("reads").rows;
    let of = |rows: &[TrialRow]| rows.iter().map(|row| row.task.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(of(&rows).len(), 6);
    assert!(of(&rows).iter().all(|task| task.starts_with("dev-")));
    assert_eq!(of(&measured.results), BTreeSet::from(["fire".to_owned(), "mend".to_owned()]));
    let arms: BTreeSet<&str> = rows.iter().map(|row| row.arm.as_str()).collect();
    assert_eq!(arms, BTreeSet::from(["pull", "index+pull", "push"]));
    assert_eq!(rows.len(), 3 * 6 * 2, "three arms, six tasks, two students");
    assert_eq!(planned, rows.len() + measured.results.len(), "the forecast counts both");

    // The trials of `auto` got what the chosen arm gives, and the plan and the report name it.
    let chosen = aids(&measured.folder);
    assert!(chosen.contains("builtin/novice: ") && chosen.contains("builtin/explorer: "), "{chosen}");
    let auto = measured.results.iter().filter(|row| row.role == Role::Student && row.arm == "auto");
    assert_eq!(auto.filter(|row| row.skillbook_hash.is_some()).count(), 2 * 2);
    let notes = outcome.report.notes.join("\n");
    assert!(notes.contains("for builtin/novice: passed of 6 dev trials: pull "), "{notes}");

    // The same command again runs nothing anew.
    let again = work(&wanted, folder.path(), None).await.expect("resumes");
    assert_eq!(again.measured.results.len(), measured.results.len());
    assert_eq!(fs::read_dir(folder.path().join("dev")).expect("dev trials").count(), 1);
}

#[tokio::test]
async fn too_few_dev_trials_are_refused_before_any_trial() {
    let folder = TempDir::new().expect("a folder");
    let few = wanted(4).await;
    let error = work(&few, folder.path(), None).await.err().expect("is refused").to_string();
    assert_eq!(
        error,
        "the arm auto chooses by at least 5 trials on dev tasks, and the experiment has 4 such trials: select more dev \
         tasks, raise the number of seeds, or name the arm that you want (pull, index+pull, push)"
    );
    assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 0, "nothing is written");
    let none = Experiment { tasks: Some(BTreeSet::from([TaskId::new("fire")])), ..wanted(5).await };
    let error = work(&none, folder.path(), None).await.err().expect("is refused").to_string();
    assert!(error.contains("has 0 such trials"), "{error}");
}
