//! Holds a task's own words to those that are known here: its steps, getters, metrics and their options.

use apprentice_protocol::did_you_mean;

use crate::task::Task;
use crate::{check, setup};

/// Our own tasks may use only supported steps, getters and metrics; third-party tasks are checked when they run.
/// An OSWorld task with our object may keep options that upstream's metric ignores (`doubts` names them).
pub(super) fn check_names(task: &Task) -> Result<(), (String, String)> {
    let known = |kind: &str, name: &str, valid: &[&str]| {
        if valid.contains(&name) {
            return Ok(());
        }
        let hint = did_you_mean(name, valid.iter().copied());
        Err((name.to_owned(), format!("unknown {kind} {name:?}{hint}")))
    };
    let metrics: Vec<&str> =
        check::METRICS.iter().filter(|metric| metric.is_implemented()).map(|metric| metric.name).collect();
    for step in task.config.iter().chain(&task.evaluator.postconfig) {
        known("setup step", &step.kind, setup::STEPS)?;
    }
    for (at, metric) in task.evaluator.func.iter().enumerate() {
        known("metric", metric, &metrics)?;
        let read = check::named(metric).and_then(check::Metric::options);
        let may_be_ignored = |option: &str| task.extra.contains_key("snapshot") || option.starts_with('_');
        for option in task.evaluator.options(at).into_iter().flat_map(serde_json::Map::keys) {
            if read.is_none() || !may_be_ignored(option) {
                known(&format!("option of {metric}"), option, read.unwrap_or_default())?;
            }
        }
    }
    for part in [&task.evaluator.result, &task.evaluator.expected].into_iter().flatten() {
        for getter in part.iter().filter_map(|spec| spec.get("type")?.as_str()) {
            known("getter", getter, check::GETTERS)?;
        }
    }
    Ok(())
}
