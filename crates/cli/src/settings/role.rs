//! Roles of models (teacher, student, reflector, manager, grounder, judge, safety readers) and their settings.

use std::path::PathBuf;

use apprentice_evaluator::arms::PUSH_COUNT;
use apprentice_guidance::ArmPolicy;
use apprentice_models::compat::History;
use serde::Deserialize;

use crate::failure::{Failure, Kind};
use crate::settings::call_settings::CallSettings;
use crate::settings::provider::Provider;
use crate::settings::value_type::ValueType;

/// Settings of a role, below its name, with their types. The role's name alone is short for its `model`.
pub(crate) const OPTIONAL: &[(&str, ValueType)] = &[
    ("model", ValueType::Text),
    ("base_url", ValueType::Text),
    ("key_env", ValueType::Text),
    ("key_file", ValueType::Text),
    ("key_command", ValueType::Text),
    ("max_in_flight", ValueType::Whole),
    ("profile", ValueType::Text),
    ("context_tokens", ValueType::Whole),
    ("history", ValueType::Text),
    ("usd_per_hour", ValueType::Number),
    ("trial_usd", ValueType::Number),
    ("delivery", ValueType::Text),
];

/// The names of the roles.
pub(crate) const ROLE_NAMES: [&str; 9] = [
    "teacher",
    "student",
    "reflector",
    "manager",
    "background",
    "grounder",
    "judge",
    "safety_reader",
    "second_safety_reader",
];

/// The settings of all roles. A role's name is accepted wherever a model's name is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Roles {
    /// The capable model that fills the skillbook.
    pub(crate) teacher: RoleSettings,
    /// The small model that is measured.
    pub(crate) student: RoleSettings,
    /// The model that reviews trajectories.
    pub(crate) reflector: RoleSettings,
    /// The model that curates the skillbook.
    pub(crate) manager: RoleSettings,
    /// The model that reviews finished sessions in the background.
    pub(crate) background: RoleSettings,
    /// The model that locates on the screenshot what another model describes.
    pub(crate) grounder: RoleSettings,
    /// The model that compares answers with the references of a check.
    pub(crate) judge: RoleSettings,
    /// The model that reads each text before it enters the skillbook.
    pub(crate) safety_reader: RoleSettings,
    /// A second model that must read it as well.
    pub(crate) second_safety_reader: RoleSettings,
}

/// The model of one role, with settings that override its provider's.
///
/// Unknown keys are refused where settings are read; a flattened struct cannot refuse them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct RoleSettings {
    /// The model's name.
    pub(crate) model: Option<String>,
    /// Base URL of the API.
    pub(crate) base_url: Option<String>,
    /// Name of the environment variable with the key.
    pub(crate) key_env: Option<String>,
    /// File with the key.
    pub(crate) key_file: Option<PathBuf>,
    /// Command that prints the key.
    pub(crate) key_command: Option<String>,
    /// Concurrent calls per key.
    pub(crate) max_in_flight: Option<u32>,
    /// Profile of the model, by name or as a file (compat).
    pub(crate) profile: Option<String>,
    /// Context length in tokens (compat).
    pub(crate) context_tokens: Option<u64>,
    /// What is left out of a conversation, and when (compat).
    pub(crate) history: Option<History>,
    /// US dollars per hour of the machine.
    pub(crate) usd_per_hour: Option<f64>,
    /// Cap on the cost of one attempt, in US dollars.
    pub(crate) trial_usd: Option<f64>,
    /// How a skillbook reaches the model in `do`.
    pub(crate) delivery: Option<DeliveryChoice>,
    /// Settings of its calls.
    #[serde(flatten)]
    pub(crate) calls: CallSettings,
}

/// How a skillbook reaches a model outside of experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum DeliveryChoice {
    /// The model requests skills.
    #[default]
    #[serde(rename = "pull")]
    Pull,
    /// The model requests skills, and sees their figures.
    #[serde(rename = "pull+figures")]
    PullFigures,
    /// The model sees the descriptions of the front program's skills, and requests skills.
    #[serde(rename = "index+pull")]
    IndexPull,
    /// The nearest skills are shown unasked.
    #[serde(rename = "push")]
    Push,
}

impl DeliveryChoice {
    /// Returns the policy by which a book is provided.
    pub(crate) fn policy(self) -> ArmPolicy {
        match self {
            Self::Pull => ArmPolicy::Pull { figures: false },
            Self::PullFigures => ArmPolicy::Pull { figures: true },
            Self::IndexPull => ArmPolicy::IndexPull,
            Self::Push => ArmPolicy::Push { count: PUSH_COUNT },
        }
    }
}

impl Roles {
    /// Returns all roles with their names.
    pub(crate) fn all(&self) -> [(&'static str, &RoleSettings); 9] {
        [
            ("teacher", &self.teacher),
            ("student", &self.student),
            ("reflector", &self.reflector),
            ("manager", &self.manager),
            ("background", &self.background),
            ("grounder", &self.grounder),
            ("judge", &self.judge),
            ("safety_reader", &self.safety_reader),
            ("second_safety_reader", &self.second_safety_reader),
        ]
    }

    /// Returns the model of the role with this name: `None` if there is no such role, `Some(None)` if it has no model.
    pub(crate) fn of(&self, part: &str) -> Option<Option<&str>> {
        self.all().into_iter().find(|(name, _)| *name == part).map(|(_, part)| part.model.as_deref())
    }

    /// Returns the name of the role that a model plays, where it has settings of its own.
    pub(crate) fn name_of_model(&self, model: &str) -> Option<&'static str> {
        self.all().into_iter().find(|(_, part)| part.model.as_deref() == Some(model)).map(|(name, _)| name)
    }

    /// Returns the role that a model plays, for its settings: after planning, only the model's name is known.
    pub(crate) fn settings_of_model(&self, model: &str) -> Result<Option<&RoleSettings>, Failure> {
        let mut playing = self.all().into_iter().filter(|(_, part)| part.model.as_deref() == Some(model));
        let Some((first, part)) = playing.next() else { return Ok(None) };
        match playing.find(|(_, other)| *other != part) {
            None => Ok(Some(part)),
            Some((second, _)) => Err(Failure::say(
                Kind::Config,
                format!("role.{first} and role.{second} are both {model}, with different settings"),
            )
            .hint("give both the same settings, or serve one of them under another name")),
        }
    }
}

impl Provider {
    /// Returns these settings with a role's overrides. A role's key source replaces all key sources of the provider.
    pub(crate) fn with_role_settings(&self, part: &RoleSettings) -> Self {
        let mut own = self.clone();
        let keys = part.key_env.is_some() || part.key_file.is_some() || part.key_command.is_some();
        if keys || part.calls.token_command.is_some() {
            own.calls.token_command = None;
            own.key_env = part.key_env.clone().unwrap_or_default();
            (own.key_file, own.key_command) = (part.key_file.clone(), part.key_command.clone());
        }
        own.base_url = part.base_url.clone().unwrap_or(own.base_url);
        own.max_in_flight = part.max_in_flight.unwrap_or(own.max_in_flight);
        own.calls = part.calls.over(&own.calls);
        own.profile = part.profile.clone().or(own.profile);
        own.context_tokens = part.context_tokens.or(own.context_tokens);
        own.history = part.history.or(own.history);
        own.usd_per_hour = part.usd_per_hour.or(own.usd_per_hour);
        own
    }
}
