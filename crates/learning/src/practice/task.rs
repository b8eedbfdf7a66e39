//! The task that a model proposes, and the bounded material from which it does.

use std::collections::BTreeMap;

use apprentice_functions::Source;
use apprentice_protocol::{BoundedText, SkillId, TextBudget};
use apprentice_skillbook::{SkillFunction, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema name of the block.
pub const PRACTICE_SCHEMA: &str = "practice.material.v1";
/// Schema name of the answer.
pub const PRACTICE_TASK_SCHEMA: &str = "practice.task.v1";
/// Most elements, skills and earlier tasks of the material; the longest text in it, in characters.
const MAX_ELEMENTS: usize = 200;
const MAX_SKILLS: usize = 60;
const MAX_PRACTISED_TASKS: usize = 40;
const MAX_TEXT_CHARS: TextBudget = TextBudget(200);
/// Longest text of what a check found, and of its errors, in characters; most worlds and earlier tasks of which it is shown.
const MAX_OUTPUT_CHARS: TextBudget = TextBudget(1200);
const MAX_ERRORS_CHARS: TextBudget = TextBudget(600);
const MAX_WORLDS: usize = 2;
const MAX_TASKS_WITH_OUTPUT: usize = 4;

/// What shows after an attempt that its task was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateCheckKind {
    /// A file.
    File,
    /// The output of a command, such as one that prints a setting.
    Command,
    /// The elements on the screen.
    View,
}

/// A check of the state that a task leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateCheck {
    /// Where it looks.
    pub kind: StateCheckKind,
    /// The absolute path of a file in the home folder, such as `/home/user/Documents/report.txt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command with its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The text that must be found.
    pub contains: String,
}

/// A value that differs from one attempt to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PracticeValue {
    /// The placeholder.
    pub name: String,
    /// The values.
    pub of: Vec<String>,
}

/// A task that a model proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PracticeTask {
    /// Its name.
    pub name: String,
    /// What the agent is asked to do.
    pub instruction: String,
    /// The values of its placeholders.
    #[serde(default)]
    pub values: Vec<PracticeValue>,
    /// The check of the state; `None` if no state shows that it was done.
    #[serde(default)]
    pub check: Option<StateCheck>,
    /// Elements of the start that it begins with.
    #[serde(default)]
    pub uses: Vec<String>,
    /// What is new about it.
    pub new: String,
    /// The skill that is nearest to it.
    #[serde(default)]
    pub near: Option<String>,
    /// How it would be undone.
    pub undo: String,
    /// Whether it would reach anything outside the world.
    #[serde(default)]
    pub outside: bool,
}

/// The world at the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PracticeStart {
    /// The title of the front window or page.
    pub title: String,
    /// The elements.
    pub elements: Vec<String>,
}

/// A skill of the book, as the proposer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownSkill {
    /// Its id.
    pub id: SkillId,
    /// When to look at it.
    pub description: String,
    /// The descriptions of its functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

/// A task that was practised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PractisedTask {
    /// Its name.
    pub name: String,
    /// Its instruction.
    pub instruction: String,
    /// How it ended.
    pub outcome: String,
    /// What its check showed where it passed before anything was done, or failed after a report that the task was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_showed: Vec<CheckOutput>,
}

/// What a check of the state showed in one world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckOutput {
    /// The values of the world's task, by placeholder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The exit code of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The text in which it looked, at most 1 200 characters.
    pub output: String,
    /// What its command wrote on its error stream, or why there is no text; at most 600 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub errors: String,
}

/// Why a check is doubted after it was asked in untouched worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckDoubt {
    /// It passed before anything was done.
    PassesUntouched,
    /// Its command could not be run, or ended with an error.
    CommandFails,
}

/// A proposed task whose check is to be mended, or confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckToMend {
    /// The task.
    pub task: PracticeTask,
    /// Why the check is doubted.
    pub why: CheckDoubt,
    /// What it showed in untouched worlds.
    pub showed: Vec<CheckOutput>,
}

impl CheckOutput {
    /// Returns the same with its texts cut to their largest lengths.
    #[must_use]
    pub fn bounded(self) -> Self {
        let cut = |text: &str, budget| BoundedText::cut(text, budget).as_str().to_owned();
        let values = self.values.into_iter().map(|(name, value)| (name, cut(&value, MAX_TEXT_CHARS)));
        Self {
            values: values.collect(),
            code: self.code,
            output: cut(&self.output, MAX_OUTPUT_CHARS),
            errors: cut(&self.errors, MAX_ERRORS_CHARS),
        }
    }
}

/// Number of parts that are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PracticeLeftOut {
    /// Elements of the start.
    pub elements: usize,
    /// Skills.
    pub skills: usize,
    /// Earlier tasks.
    pub practised: usize,
}

/// The material of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PracticeMaterial {
    /// [`PRACTICE_SCHEMA`].
    pub schema: String,
    /// The world.
    pub start: PracticeStart,
    /// The book.
    pub skills: Vec<KnownSkill>,
    /// What was practised before, the newest last.
    pub practised: Vec<PractisedTask>,
    /// The proposed task whose check is to be mended; absent where a new task is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<CheckToMend>,
    /// What is not shown.
    pub left_out: PracticeLeftOut,
}

impl PracticeMaterial {
    /// Builds the bounded material. The book's skills come in its order, and of the earlier tasks the newest.
    pub fn new(start: &PracticeStart, book: &Snapshot, practised: &[PractisedTask]) -> Self {
        let all = book.skills().count();
        let left_out = PracticeLeftOut {
            elements: start.elements.len().saturating_sub(MAX_ELEMENTS),
            skills: all.saturating_sub(MAX_SKILLS),
            practised: practised.len().saturating_sub(MAX_PRACTISED_TASKS),
        };
        let elements = start.elements.iter().take(MAX_ELEMENTS).map(|line| cut(line)).collect();
        let skill = |skill: &apprentice_skillbook::Skill| KnownSkill {
            id: skill.id.clone(),
            description: cut(&skill.text.description),
            functions: skill.functions.values().filter_map(described).collect(),
        };
        // What checks showed is long: only the newest tasks have it.
        let newest = practised.len().saturating_sub(MAX_TASKS_WITH_OUTPUT);
        let showed = |index: usize, all: &[CheckOutput]| {
            if index >= newest {
                all.iter().take(MAX_WORLDS).cloned().map(CheckOutput::bounded).collect()
            } else {
                Vec::new()
            }
        };
        let practised =
            practised.iter().enumerate().skip(left_out.practised).map(|(index, task)| PractisedTask {
                name: cut(&task.name),
                instruction: cut(&task.instruction),
                outcome: cut(&task.outcome),
                check_showed: showed(index, &task.check_showed),
            });
        Self {
            schema: PRACTICE_SCHEMA.to_owned(),
            start: PracticeStart { title: cut(&start.title), elements },
            skills: book.skills().take(MAX_SKILLS).map(skill).collect(),
            practised: practised.collect(),
            mend: None,
            left_out,
        }
    }

    /// Returns the material of a request to mend the check of a task that was proposed.
    #[must_use]
    pub fn mending(self, mend: CheckToMend) -> Self {
        let showed = mend.showed.into_iter().take(MAX_WORLDS).map(CheckOutput::bounded).collect();
        Self { mend: Some(CheckToMend { showed, ..mend }), ..self }
    }
}

/// The signature of a function that is in use.
fn described(function: &SkillFunction) -> Option<String> {
    let source: Source = apprentice_skillbook::check_function(&function.source, &[]).ok()?;
    function.retired.is_none().then(|| cut(&source.signature().told()))
}

fn cut(text: &str) -> String {
    BoundedText::cut(text, MAX_TEXT_CHARS).as_str().to_owned()
}
