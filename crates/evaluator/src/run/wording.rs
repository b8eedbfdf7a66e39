//! The wording in which a trial's task is asked for.

use std::borrow::Cow;

use apprentice_protocol::TaskId;
use apprentice_results::ablations::AblationArm;
use apprentice_tasks::suite::WORDINGS_FILE;
use apprentice_tasks::task::Task;

/// A trial wants another wording of a task that has none.
#[derive(Debug, thiserror::Error)]
#[error("task {0} has no other wording in the suite's {WORDINGS_FILE}")]
pub struct NoOtherWording(TaskId);

/// Returns the task as the arm's trials are asked for it: the arms `reworded:…` take the wording with the number of the
/// trial's seed.
pub(super) fn worded<'t>(task: &'t Task, arm: &str, seed: u32) -> Result<Cow<'t, Task>, NoOtherWording> {
    match AblationArm::parse(arm) {
        Some(AblationArm::Reworded(_)) => {
            task.reworded(seed).map(Cow::Owned).ok_or_else(|| NoOtherWording(task.id.clone()))
        }
        _ => Ok(Cow::Borrowed(task)),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_tasks::task::Task;

    use super::worded;

    fn task(wordings: &[&str]) -> Task {
        let json = serde_json::json!({ "id": "t", "instruction": "Save it.", "evaluator": { "func": "infeasible" } });
        let task: Task = serde_json::from_value(json).expect("a task");
        Task { wordings: wordings.iter().map(|text| (*text).to_owned()).collect(), ..task }
    }

    #[test]
    fn only_the_arms_of_other_wordings_change_the_instruction() {
        let task = task(&["Put it on the disk.", "Keep it."]);
        let asked = |arm, seed| worded(&task, arm, seed).expect("worded").instruction.clone();
        for arm in ["none", "pull", "try-2", "more-steps", "without:os/sort"] {
            assert_eq!(asked(arm, 1), "Save it.", "{arm}");
        }
        assert_eq!(asked("reworded:none", 0), "Put it on the disk.");
        assert_eq!(asked("reworded:pull", 1), "Keep it.");
    }

    #[test]
    fn a_task_without_other_wordings_is_an_error_and_not_asked_for_in_its_own() {
        let told = worded(&task(&[]), "reworded:none", 0).map(|task| task.instruction.clone());
        assert_eq!(
            told.expect_err("refused").to_string(),
            "task t has no other wording in the suite's paraphrases.json"
        );
    }
}
