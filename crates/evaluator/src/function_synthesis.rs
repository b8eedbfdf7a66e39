//! Synthesis of a function from a run: the attempts at one training task that passed, the values that their variations
//! drew, and, for admission, the task's placeholders that the arguments came from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use apprentice_protocol::{ChatModel, EnvironmentKind, SkillId, TaskId, Trajectory, Verdict};
use apprentice_results::row::TrialRow;
use apprentice_skills::book::Snapshot;
use apprentice_skills::synthesis::{
    SourceConstant, Surface, Synthesis, SynthesisError, SynthesisMaterial, SynthesizedFunction,
    replace_words, synthesize,
};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::task::Task;
use apprentice_tasks::variation::{VariationError, drawn_values};
use serde_json::{Map, Value};

use crate::learn::{RecordedAttemptError, recorded_attempt};
use crate::split::{SplitError, SplitLock};

/// Attempts to make a function from.
pub struct Lesson<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The split. Only training attempts are read.
    pub lock: &'a SplitLock,
    /// The task.
    pub task: TaskId,
    /// The skill that the function will belong to.
    pub skill: SkillId,
    /// Rows of runs, each with its run's folder.
    pub rows: Vec<(PathBuf, TrialRow)>,
}

/// A function that was synthesized, with its arguments in the words of the task's placeholders.
#[derive(Clone)]
pub struct Learned {
    /// The function.
    pub function: SynthesizedFunction,
    /// The arguments by name, such as `{"name": "{{name}}"}`.
    pub arguments: Value,
    /// The variation of the first attempt.
    pub learned_on: u32,
}

/// Why a lesson gave no function.
#[derive(Debug, thiserror::Error)]
pub enum LessonError {
    /// The suite has no such task.
    #[error("the suite has no task {0:?}")]
    NoTask(TaskId),
    /// The book has no such skill.
    #[error("the skillbook has no skill {0}; a function belongs to a skill: create one first")]
    NoSkill(SkillId),
    /// An attempt cannot be read.
    #[error(transparent)]
    Attempt(#[from] RecordedAttemptError),
    /// An attempt is not for training.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The values of a variation cannot be drawn.
    #[error(transparent)]
    Values(#[from] VariationError),
    /// The task draws no values.
    #[error(
        "the task {0} asks for the same in every variation, so no replay could give a function another argument; \
         choose a task with placeholders"
    )]
    NothingVaries(TaskId),
    /// The synthesis failed.
    #[error(transparent)]
    Synthesis(#[from] SynthesisError),
    /// The model says that no function can do this.
    #[error("no function was written: {0}")]
    Declined(String),
    /// The function broke a rule in every answer.
    #[error("every answer broke a rule, and nothing was kept; of the last: {}", .0.join("\n"))]
    Rejected(Vec<String>),
    /// An argument is no value of the task, so no replay can give it another one.
    #[error(
        "the argument {name:?} was {value} in the attempt, which is no value that the task varies; no replay could try \
         another one"
    )]
    Unbound {
        /// The argument.
        name: String,
        /// Its value.
        value: Value,
    },
}

impl Lesson<'_> {
    /// Has a model write a function from the attempts that passed. Writes nothing.
    pub async fn learn(&self, model: &dyn ChatModel, book: &Snapshot) -> Result<Learned, LessonError> {
        let no_task = || LessonError::NoTask(self.task.clone());
        let task = self.suite.task(self.task.as_str()).ok_or_else(no_task)?;
        let skill = book.skill(&self.skill).ok_or_else(|| LessonError::NoSkill(self.skill.clone()))?;
        let attempts = self.attempts()?;
        let mut constants = Vec::new();
        for (seed, _) in &attempts {
            constants.extend(self.constants(task, *seed)?);
        }
        if constants.is_empty() && !attempts.is_empty() {
            return Err(LessonError::NothingVaries(self.task.clone()));
        }
        let trajectories: Vec<&Trajectory> = attempts.iter().map(|(_, trajectory)| trajectory).collect();
        let material = SynthesisMaterial::new(skill, surface(task), &trajectories);
        let function = match synthesize(model, &material, &constants).await? {
            Synthesis::Written(function) => *function,
            Synthesis::Declined(why) => return Err(LessonError::Declined(why)),
            Synthesis::Rejected(problems) => return Err(LessonError::Rejected(problems)),
        };
        let (learned_on, first) = attempts.first().ok_or(SynthesisError::NoAttempt)?;
        let given = function.arguments.iter().find(|(attempt, _)| *attempt == first.id);
        let given = given.map(|(_, values)| values.clone()).unwrap_or_default();
        let arguments = bound(&given, &drawn_values(task, &self.suite.name, *learned_on)?)?;
        Ok(Learned { function, arguments, learned_on: *learned_on })
    }

    /// Returns the attempts at the task that passed, with their variations.
    fn attempts(&self) -> Result<Vec<(u32, Trajectory)>, LessonError> {
        let mut found = Vec::new();
        let passed = |row: &TrialRow| row.task == self.task && row.verdict == Verdict::Pass;
        for (run, row) in self.rows.iter().filter(|(_, row)| passed(row)) {
            let attempted = recorded_attempt(run, row.clone(), self.suite)?;
            if let Some((trajectory, _)) = attempted.trajectory {
                found.push((row.seed, self.lock.admit(row, trajectory)?.into_inner()));
            }
        }
        Ok(found)
    }

    /// Returns the values that a variation drew, but for the size of the screen.
    fn constants(&self, task: &Task, seed: u32) -> Result<Vec<SourceConstant>, LessonError> {
        let values = drawn_values(task, &self.suite.name, seed)?;
        let mut leaves = BTreeMap::new();
        for (name, value) in values.iter().filter(|(name, _)| *name != "screen") {
            add_leaves(name, value, &mut leaves);
        }
        let constant = |(name, value): (String, Value)| SourceConstant {
            value: plain(&value),
            from: format!("the attempt's task ({name})"),
        };
        Ok(leaves.into_iter().map(constant).collect())
    }
}

/// Returns what a function for a task acts on: the page of a browser world, and the desktop of every other.
fn surface(task: &Task) -> Surface {
    if task.environment() == EnvironmentKind::Browser { Surface::Page } else { Surface::Desktop }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Collects the single values of a drawn value, by placeholder: `{{who.1}}` is `who.1`.
fn add_leaves(path: &str, value: &Value, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Array(list) => {
            for (place, one) in list.iter().enumerate() {
                add_leaves(&format!("{path}.{place}"), one, leaves);
            }
        }
        Value::Object(map) => {
            for (name, one) in map {
                add_leaves(&format!("{path}.{name}"), one, leaves);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            leaves.insert(path.to_owned(), value.clone());
        }
    }
}

/// Replaces each argument by the placeholder whose value it is, or the parts of a text that are such values.
fn bound(arguments: &Value, values: &BTreeMap<String, Value>) -> Result<Value, LessonError> {
    let mut leaves = BTreeMap::new();
    values.iter().for_each(|(name, value)| add_leaves(name, value, &mut leaves));
    let mut found = Map::new();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let placeholder = leaves.iter().find(|(_, leaf)| plain(leaf) == plain(value)).map(|(path, _)| path);
        let text = placeholder.map(|path| stand_in(path)).or_else(|| composed(value.as_str()?, &leaves));
        let Some(text) = text else {
            return Err(LessonError::Unbound { name: name.clone(), value: value.clone() });
        };
        found.insert(name.clone(), Value::String(text));
    }
    Ok(Value::Object(found))
}

fn stand_in(path: &str) -> String {
    format!("{{{{{path}}}}}")
}

/// Replaces the longest value in a text, as whole words, by its placeholder: `/home/user/out.txt` is `/home/user/{{file}}`.
fn composed(text: &str, leaves: &BTreeMap<String, Value>) -> Option<String> {
    let values = leaves.iter().map(|(path, leaf)| (plain(leaf), stand_in(path)));
    let replaced =
        values.filter_map(|(value, with)| Some((value.len(), replace_words(text, &value, &with)?)));
    replaced.max_by_key(|(length, _)| *length).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::bound;

    #[test]
    fn an_argument_is_bound_to_the_placeholder_whose_value_it_was() {
        let values = BTreeMap::from([
            ("who".to_owned(), json!(["Ulrike", "Viktor"])),
            ("room".to_owned(), json!({ "name": "D20", "floor": 2 })),
        ]);
        let arguments = json!({ "person": "Viktor", "room": "D20", "floor": 2 });
        let expected = json!({ "person": "{{who.1}}", "room": "{{room.name}}", "floor": "{{room.floor}}" });
        assert_eq!(bound(&arguments, &values).expect("bound"), expected);
        let within = bound(&json!({ "path": "/srv/Viktor/D20/Viktoria.txt" }), &values).expect("bound");
        assert_eq!(within, json!({ "path": "/srv/{{who.1}}/D20/Viktoria.txt" }), "one value, the longest");
        let error = bound(&json!({ "person": "Wanda" }), &values).expect_err("no value of the task");
        assert!(error.to_string().contains("\"Wanda\""), "{error}");
    }
}
