//! A task file: OSWorld's JSON as it is, plus one optional object of our own. Unknown fields are kept.

use std::collections::BTreeMap;

use apprentice_protocol::{EnvironmentKind, Limits, Size, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of `config` or `postconfig`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupStep {
    /// Its type, for example `launch`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its parameters, as keywords.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// A value that OSWorld writes alone or as a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A list.
    Many(Vec<T>),
    /// Alone.
    One(T),
}

/// How several metrics are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conjunction {
    /// All must hold; the mean counts.
    #[default]
    And,
    /// One must hold; the best counts.
    Or,
}

/// What is collected and how it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSpec {
    /// The metrics.
    pub func: OneOrMany<String>,
    /// How they are joined.
    #[serde(default)]
    pub conj: Conjunction,
    /// What is looked at.
    #[serde(default)]
    pub result: Option<OneOrMany<Value>>,
    /// What is expected; collected too.
    #[serde(default)]
    pub expected: Option<OneOrMany<Value>>,
    /// Keyword arguments of the metrics.
    #[serde(default)]
    pub options: Option<OneOrMany<Value>>,
    /// Steps run just before grading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub postconfig: Vec<SetupStep>,
    /// Other fields, kept.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl CheckSpec {
    /// The keyword arguments of the metric at a place of the list.
    pub fn options(&self, at: usize) -> Option<&serde_json::Map<String, Value>> {
        match self.options.as_ref()? {
            OneOrMany::One(one) => Some(one),
            OneOrMany::Many(list) => list.get(at),
        }?
        .as_object()
    }
}

/// What our own tasks add.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Additions {
    /// Which world.
    pub environment: EnvironmentKind,
    /// The unit of splits and of inference.
    pub template: String,
    /// Screen size, unless it varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Size>,
    /// The attempt's caps.
    #[serde(default)]
    pub limits: Limits,
    /// First address of a browser world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Definition of a scene world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Value>,
    /// Programs that must be installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Known-good actions, in the form of decision D11.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub solution: Vec<Value>,
    /// Actions that come near and must fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near_miss: Vec<Value>,
    /// Which pieces of knowledge bear on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<String>,
    /// What the seed varies: placeholder name to the list of its values, or to a generator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vary: BTreeMap<String, Value>,
}

/// A task file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// What the agent is told.
    pub instruction: String,
    /// Setup steps.
    #[serde(default)]
    pub config: Vec<SetupStep>,
    /// The check.
    pub evaluator: CheckSpec,
    /// Our additions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apprentice: Option<Additions>,
    /// Other fields, kept.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
    /// The application under which the suite lists it.
    #[serde(skip)]
    pub app: String,
}

impl<T> OneOrMany<T> {
    /// The values, one or many.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        match self {
            Self::Many(list) => list.iter(),
            Self::One(one) => std::slice::from_ref(one).iter(),
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.iter().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Task {
    /// The unit of splits and of inference: the template, or the task itself.
    pub fn template(&self) -> &str {
        self.apprentice.as_ref().map_or(self.id.as_str(), |ours| ours.template.as_str())
    }

    /// The attempt's caps.
    pub fn limits(&self) -> Limits {
        self.apprentice.as_ref().map_or_else(Limits::default, |ours| ours.limits)
    }

    /// Which world it needs. OSWorld's own files name none: they are desktop tasks.
    pub fn environment(&self) -> EnvironmentKind {
        self.apprentice.as_ref().map_or(EnvironmentKind::Desktop, |ours| ours.environment)
    }

    /// The programs it is about, as domains of a skillbook.
    pub fn apps(&self) -> Vec<String> {
        let related = self.extra.get("related_apps").and_then(Value::as_array);
        let related: Vec<String> =
            related.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        if related.is_empty() { vec![self.app.clone()] } else { related }
    }

    /// Whether a seed changes its world.
    pub fn varies(&self) -> bool {
        self.apprentice.as_ref().is_some_and(|ours| !ours.vary.is_empty())
    }
}
