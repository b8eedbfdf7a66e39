//! The programs of a task, by the names of their skillbook domains.

use apprentice_tasks::task::Task;
use apprentice_wording::domain_name;

/// Returns the programs of a task as skillbook domains.
pub fn apps_of(task: &Task) -> Vec<String> {
    let mut apps: Vec<String> = domain_name(&task.app).into_iter().collect();
    let related = task.extra.get("related_apps").and_then(|apps| apps.as_array());
    let related = related.into_iter().flatten().filter_map(|app| app.as_str());
    apps.extend(related.filter_map(domain_name).filter(|app| !task.app.eq_ignore_ascii_case(app)));
    apps
}
