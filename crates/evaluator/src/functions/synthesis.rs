//! Synthesis of a function from a run: the attempts at one training task that passed, the values that their variations
//! drew, and, for admission, the task's placeholders that the arguments came from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use apprentice_learning::synthesis::{
    SourceConstant, Surface, Synthesis, SynthesisError, SynthesisMaterial, SynthesizedFunction,
    replace_words, synthesize,
};
use apprentice_protocol::{ChatModel, EnvironmentKind, SkillId, TaskId, Trajectory, Verdict};
use apprentice_runs::row::TrialRow;
use apprentice_skillbook::Snapshot;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::{VariationError, drawn_values, filled};
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
        let (learned_on, _) = attempts.first().ok_or(SynthesisError::NoAttempt)?;
        let mut uses = Vec::new();
        for (seed, trajectory) in &attempts {
            let given = function.arguments.iter().find(|(attempt, _)| *attempt == trajectory.id);
            let Some((_, arguments)) = given else { continue };
            uses.push(ArgumentUse { arguments, values: drawn_values(task, &self.suite.name, *seed)? });
        }
        let arguments = bound(&uses)?;
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

/// The arguments of one attempt, and the values that its variation drew.
struct ArgumentUse<'a> {
    arguments: &'a Value,
    values: BTreeMap<String, Value>,
}

/// Replaces each argument by the placeholder whose value it was in every attempt, or the parts of a text that were such values.
fn bound(uses: &[ArgumentUse<'_>]) -> Result<Value, LessonError> {
    let Some((first, others)) = uses.split_first() else { return Ok(Value::Object(Map::new())) };
    let mut leaves = BTreeMap::new();
    first.values.iter().for_each(|(name, value)| add_leaves(name, value, &mut leaves));
    let mut found = Map::new();
    for (name, value) in first.arguments.as_object().into_iter().flatten() {
        let whole =
            leaves.iter().filter(|(_, leaf)| plain(leaf) == plain(value)).map(|(path, _)| stand_in(path));
        let within = value.as_str().into_iter().flat_map(|text| composed(text, &leaves));
        // Two placeholders may have had the same value in one attempt; what they had in the others tells them apart.
        let fits = |text: &String| others.iter().all(|other| gives(text, name, other));
        let Some(text) = whole.chain(within).find(fits) else {
            return Err(LessonError::Unbound { name: name.clone(), value: value.clone() });
        };
        found.insert(name.clone(), Value::String(text));
    }
    Ok(Value::Object(found))
}

/// Returns whether a text with placeholders gives an argument of an attempt.
fn gives(text: &str, name: &str, of: &ArgumentUse<'_>) -> bool {
    let given = filled(&Value::String(text.to_owned()), &of.values);
    given.is_ok_and(|given| of.arguments.get(name).is_some_and(|value| plain(value) == plain(&given)))
}

fn stand_in(path: &str) -> String {
    format!("{{{{{path}}}}}")
}

/// Replaces values in a text, as whole words, by their placeholders: `/home/user/out.txt` is `/home/user/{{file}}`. First with
/// all of them replaced, longer ones before those that they hold, and then with one alone, the longest first.
fn composed(text: &str, leaves: &BTreeMap<String, Value>) -> Vec<String> {
    let mut values: Vec<(String, String)> =
        leaves.iter().map(|(path, leaf)| (plain(leaf), stand_in(path))).collect();
    values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    // A mark that no text holds stands for a placeholder, whose own name may be a value.
    let marks: Vec<(char, &String)> = ('\u{f0000}'..).zip(values.iter().map(|(_, with)| with)).collect();
    let mut all = text.to_owned();
    for ((value, _), (mark, _)) in values.iter().zip(&marks) {
        all = replace_words(&all, value, &mark.to_string()).unwrap_or(all);
    }
    let is_replaced = all != text;
    for (mark, with) in &marks {
        all = all.replace(*mark, with);
    }
    let alone = values.iter().filter_map(|(value, with)| replace_words(text, value, with));
    is_replaced.then_some(all).into_iter().chain(alone).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ArgumentUse, LessonError, bound};

    /// An attempt with these arguments, whose variation drew these values.
    fn of<'a>((arguments, values): (&'a Value, &Value)) -> ArgumentUse<'a> {
        let values = values.as_object().expect("values").clone();
        ArgumentUse { arguments, values: values.into_iter().collect() }
    }

    fn binds(uses: &[(&Value, &Value)]) -> Result<Value, LessonError> {
        bound(&uses.iter().copied().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn an_argument_is_bound_to_the_placeholder_whose_value_it_was() {
        let values = json!({ "who": ["Ulrike", "Viktor"], "room": { "name": "D20", "floor": 2 } });
        let arguments = json!({ "person": "Viktor", "room": "D20", "floor": 2 });
        let expected = json!({ "person": "{{who.1}}", "room": "{{room.name}}", "floor": "{{room.floor}}" });
        assert_eq!(binds(&[(&arguments, &values)]).expect("bound"), expected);
        let within = binds(&[(&json!({ "path": "/srv/Viktor/D20/Viktoria.txt" }), &values)]).expect("bound");
        assert_eq!(within, json!({ "path": "/srv/{{who.1}}/{{room.name}}/Viktoria.txt" }));
        let error = binds(&[(&json!({ "person": "Wanda" }), &values)]).expect_err("no value of the task");
        assert!(error.to_string().contains("\"Wanda\""), "{error}");
    }

    #[test]
    fn what_varied_between_the_attempts_decides_where_one_alone_leaves_it_open() {
        let (one, other) =
            (json!({ "from": "a.txt", "to": "a.txt" }), json!({ "from": "a.txt", "to": "b.txt" }));
        let path = |name: &str| json!({ "path": format!("/home/user/{name}") });
        let bound = binds(&[(&path("a.txt"), &one), (&path("b.txt"), &other)]).expect("bound");
        assert_eq!(bound, json!({ "path": "/home/user/{{to}}" }));
        // A value that stands in a fixed part by chance is not replaced there.
        let values = |file: &str| json!({ "file": file, "folder": "user" });
        let later = json!({ "file": "b.txt", "folder": "Work" });
        let bound = binds(&[(&path("a.txt"), &values("a.txt")), (&path("b.txt"), &later)]).expect("bound");
        assert_eq!(bound, json!({ "path": "/home/user/{{file}}" }));
        let fixed = binds(&[(&path("a.txt"), &one), (&path("c.txt"), &other)]);
        assert!(fixed.is_err(), "no placeholder had these values: {fixed:?}");
    }
}
