//! The task file format: OSWorld's JSON plus one optional `apprentice` object. Unknown fields are kept.

mod files;

use std::collections::BTreeMap;

use apprentice_protocol::{AllowedHost, EnvironmentKind, Limits, Monitors, RootFolder, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::files::read_blocking;
pub use self::files::{SuiteFileError, read_beneath};

/// One step of `config` or `postconfig`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupStep {
    /// The step type, for example `launch`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The step's keyword parameters.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// A value that OSWorld writes either alone or as a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A list of values.
    Many(Vec<T>),
    /// A single value.
    One(T),
}

/// How the scores of several metrics are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conjunction {
    /// All metrics must pass; the score is their mean.
    #[default]
    And,
    /// One metric must pass; the score is the best one.
    Or,
    /// All metrics must pass; the score is their mean, also where one of them is zero.
    Mean,
}

/// A task's check: the evidence to collect and the metrics to apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSpec {
    /// The metric names.
    pub func: OneOrMany<String>,
    /// How several metrics are combined.
    #[serde(default)]
    pub conj: Conjunction,
    /// Getters of the actual result.
    #[serde(default)]
    pub result: Option<OneOrMany<Value>>,
    /// Getters of the expected result; collected in the same way.
    #[serde(default)]
    pub expected: Option<OneOrMany<Value>>,
    /// Keyword arguments of the metrics.
    #[serde(default)]
    pub options: Option<OneOrMany<Value>>,
    /// Setup steps that run just before grading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub postconfig: Vec<SetupStep>,
    /// Other fields, kept unchanged.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl CheckSpec {
    /// Returns the keyword arguments of the metric at index `at`.
    pub fn options(&self, at: usize) -> Option<&serde_json::Map<String, Value>> {
        match self.options.as_ref()? {
            OneOrMany::One(one) => Some(one),
            OneOrMany::Many(list) => list.get(at),
        }?
        .as_object()
    }
}

/// The fields of a task that extend OSWorld's format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskExtension {
    /// The kind of world.
    pub environment: EnvironmentKind,
    /// The template's name: the unit of splits and of statistical inference.
    pub template: String,
    /// The screen, unless `vary` sets it: a width and a height, or the monitors of a desktop as in `"1920x1080+1280x1024"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Monitors>,
    /// The attempt's caps.
    #[serde(default)]
    pub limits: Limits,
    /// The start page of a browser world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Definition of a scene world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Value>,
    /// Hosts that its programs need to reach, each as `HOST[:PORT][=ADDRESS:PORT]`. A world reaches them where the setting
    /// `network` is `task`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<AllowedHost>,
    /// Folders below the root that its programs and its check write to, such as `/app`; a cell gives no other place there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<RootFolder>,
    /// Programs that must be installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Known-good actions, in the script format of decision D11.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub solution: Vec<Value>,
    /// Actions that nearly solve the task and must fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near_miss: Vec<Value>,
    /// Labels of the knowledge that is relevant to the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<String>,
    /// Seeded variation: placeholder name to a list of values, or to a generator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vary: BTreeMap<String, Value>,
}

/// A task file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The task's id.
    pub id: TaskId,
    /// The instruction given to the agent.
    pub instruction: String,
    /// Setup steps.
    #[serde(default)]
    pub config: Vec<SetupStep>,
    /// The check.
    pub evaluator: CheckSpec,
    /// The extension of OSWorld's format; `None` in OSWorld's own files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apprentice: Option<TaskExtension>,
    /// Other fields, kept unchanged.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
    /// The application under which the suite file lists the task.
    #[serde(skip)]
    pub app: String,
    /// The group that the split beside the suite gives to a task without a template.
    #[serde(skip)]
    pub group: Option<String>,
    /// Other wordings of the instruction, from the file beside the suite.
    #[serde(skip)]
    pub wordings: Vec<String>,
}

impl<T> OneOrMany<T> {
    /// Iterates over the values.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        match self {
            Self::Many(list) => list.iter(),
            Self::One(one) => std::slice::from_ref(one).iter(),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Task {
    /// The unit of splits and of inference: the template; without one the group that the suite's split names, or the
    /// task's id.
    pub fn template(&self) -> &str {
        let own = self.apprentice.as_ref().map(|ours| ours.template.as_str());
        own.or(self.group.as_deref()).unwrap_or(self.id.as_str())
    }

    /// The attempt's caps.
    pub fn limits(&self) -> Limits {
        self.apprentice.as_ref().map_or_else(Limits::default, |ours| ours.limits)
    }

    /// The kind of world. OSWorld's own files name none: they are desktop tasks.
    pub fn environment(&self) -> EnvironmentKind {
        self.apprentice.as_ref().map_or(EnvironmentKind::Desktop, |ours| ours.environment)
    }

    /// The task's programs: its related apps, or the app under which it is listed.
    pub fn apps(&self) -> Vec<String> {
        let related = self.extra.get("related_apps").and_then(Value::as_array);
        let related: Vec<String> =
            related.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        if related.is_empty() { vec![self.app.clone()] } else { related }
    }

    /// Returns whether the seed changes the task's world.
    pub fn varies(&self) -> bool {
        self.apprentice.as_ref().is_some_and(|ours| !ours.vary.is_empty())
    }
}
