//! Real OSWorld files load. Runs only when `APPRENTICE_OSWORLD` names a folder of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use apprentice_tasks::suite::requirements::{HostCapabilities, missing};
use apprentice_tasks::suite::{load, survey};
use apprentice_tasks::variation::vary;

#[test]
fn every_real_task_file_loads_and_is_kept_whole() {
    #[expect(clippy::disallowed_methods, reason = "the data set's place is given by the environment")]
    let Some(root) = std::env::var_os("APPRENTICE_OSWORLD").map(PathBuf::from) else {
        println!("skipped: APPRENTICE_OSWORLD is not set");
        return;
    };
    let suite = load(&root).expect("the suite loads");
    assert_eq!(suite.name, "test_all");
    assert!(suite.tasks.len() > 100, "{} tasks", suite.tasks.len());
    for task in &suite.tasks {
        let path = root.join("examples").join(&task.app).join(format!("{}.json", task.id));
        let text = std::fs::read_to_string(&path).expect("the file");
        let mut raw: serde_json::Value = serde_json::from_str(&text).expect("json");
        let mut ours = serde_json::to_value(task).expect("writes");
        // Absent lists and objects are written as their defaults; everything else must be unchanged.
        for json in [&mut raw, &mut ours] {
            let object = json.as_object_mut().expect("an object");
            object.entry("config").or_insert_with(|| serde_json::json!([]));
            let check = object["evaluator"].as_object_mut().expect("an object");
            check.entry("conj").or_insert_with(|| "and".into());
            check.retain(|name, value| {
                let empty = name == "postconfig" && *value == serde_json::json!([]);
                !(value.is_null() || empty)
            });
            for step in
                check.get_mut("postconfig").and_then(|steps| steps.as_array_mut()).into_iter().flatten()
            {
                step.as_object_mut()
                    .expect("a step")
                    .entry("parameters")
                    .or_insert_with(|| serde_json::json!({}));
            }
        }
        assert_eq!(ours, raw, "{}", path.display());
        let varied = vary(task, &suite.name, 3).expect("varies");
        assert_eq!((varied.varies, &varied.task), (false, task));
    }
    let here =
        HostCapabilities { has_program: &|_| true, mirror: None, may_reach: &|_, _| true, has_judge: false };
    for one in survey(&root).expect("the suite is listed") {
        let task = one.task.expect("loads");
        assert_eq!(missing(&task, &here).unknown, Vec::<String>::new(), "{}", one.id);
    }
    let ids: BTreeSet<&str> = suite.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids.len(), suite.tasks.len());
}
