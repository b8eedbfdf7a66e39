//! What a reader is told of a task beside its id: the domain and the instruction, where the id alone says little.

use std::collections::BTreeMap;
use std::path::Path;

use apprentice_evaluator::run::RunPlan;
use apprentice_protocol::TaskId;
use apprentice_runs::read_plan;

/// Characters of an instruction in a line.
const MAX_WORDS: usize = 40;

/// The domains and instructions of a run's tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskWords {
    domains: BTreeMap<TaskId, String>,
    instructions: BTreeMap<TaskId, String>,
}

impl TaskWords {
    /// Reads them from a run's plan. Without one, a task has its id alone.
    pub(crate) fn of_run(folder: &Path) -> Self {
        let plan = read_plan::<RunPlan>(folder).ok();
        plan.map(|RunPlan { programs, instructions, .. }| Self { domains: programs, instructions })
            .unwrap_or_default()
    }

    /// The task's domain.
    pub(crate) fn domain(&self, task: &TaskId) -> Option<&str> {
        self.domains.get(task).map(String::as_str)
    }

    /// The beginning of its instruction.
    pub(crate) fn instruction(&self, task: &TaskId) -> Option<&str> {
        self.instructions.get(task).map(String::as_str)
    }

    /// A task's name in a line: its id, with its domain, and with the first words of its instruction where the id has no words.
    pub(crate) fn named(&self, task: &TaskId) -> String {
        let words = self.instruction(task).filter(|_| is_a_number(task.as_str())).map(shortened);
        let said: Vec<String> = self.domain(task).map(str::to_owned).into_iter().chain(words).collect();
        match said.is_empty() {
            true => task.to_string(),
            false => format!("{task} ({})", said.join(": ")),
        }
    }
}

/// Whether an id is of hexadecimal digits and hyphens alone, as OSWorld's are.
fn is_a_number(id: &str) -> bool {
    id.len() >= 8 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_WORDS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_WORDS).collect();
    format!("{}…", head.rsplit_once(' ').map_or(head.as_str(), |(words, _)| words))
}

#[cfg(test)]
mod tests {
    use super::{TaskId, TaskWords};

    #[test]
    fn a_task_without_words_in_its_id_has_those_of_its_instruction() {
        let both = |id: &str, text: &str| [(TaskId::new(id), text.to_owned())].into_iter().collect();
        let named = |id: &str| {
            let instruction = "Can you make the volume bar of the player smaller than it is?";
            TaskWords { domains: both(id, "vlc"), instructions: both(id, instruction) }
                .named(&TaskId::new(id))
        };
        assert_eq!(
            named("9195653c-f4aa-453d-aa95-787f6ccfaae9"),
            "9195653c-f4aa-453d-aa95-787f6ccfaae9 (vlc: Can you make the volume bar of the…)"
        );
        assert_eq!(named("volume-bar"), "volume-bar (vlc)");
        assert_eq!(TaskWords::default().named(&TaskId::new("a")), "a");
    }
}
