//! The models that read each text before it enters the skillbook.

use std::sync::Arc;

use apprentice_protocol::ChatModel;
use apprentice_screening::effect::EffectRule;

use super::{Models, rule_based};
use crate::failure::{Failure, Kind};
use crate::settings::provider::provider_of;

impl Models {
    /// Returns what happens to a text with an effect that this model writes. A rule-based model puts the program's own
    /// sentences around the names of controls: unless the settings refuse effects, its texts are written.
    pub(crate) fn effect_rule(&self, writer: &str) -> Result<EffectRule, Failure> {
        let is_rule_based = rule_based::is_rule_based(self.resolve(writer)?);
        Ok(match self.config.effects {
            EffectRule::Wait | EffectRule::Allow if is_rule_based => EffectRule::RuleBased,
            rule => rule,
        })
    }

    /// Returns the models that read each text before it enters the skillbook: those of the roles, or the manager's model if
    /// it reads language. Rule-based models and scripts read none, and the rules decide alone.
    pub(crate) fn safety_readers(&self, manager: &str) -> Result<Vec<Arc<dyn ChatModel>>, Failure> {
        let manager = self.resolve(manager)?;
        self.readers(provider_of(manager).map(|_| manager))
    }

    /// Returns the models that the roles name as readers. An import has no manager that could read.
    pub(crate) fn named_safety_readers(&self) -> Result<Vec<Arc<dyn ChatModel>>, Failure> {
        self.readers(None)
    }

    /// Returns the names of the models that read what this manager writes.
    pub(crate) fn safety_reader_names(&self, manager: &str) -> Result<Vec<String>, Failure> {
        let manager = self.resolve(manager)?;
        let names = self.reader_names(provider_of(manager).map(|_| manager))?;
        names.into_iter().map(|name| self.resolve(name).map(str::to_owned)).collect()
    }

    fn readers(&self, default: Option<&str>) -> Result<Vec<Arc<dyn ChatModel>>, Failure> {
        self.reader_names(default)?.into_iter().map(|name| self.get(name, "safety")).collect()
    }

    fn reader_names<'a>(&'a self, default: Option<&'a str>) -> Result<Vec<&'a str>, Failure> {
        let roles = &self.config.role;
        let first = roles.safety_reader.model.as_deref().or(default);
        let second = roles.second_safety_reader.model.as_deref();
        if second.is_some() && first == second {
            let story = "the second safety reader is the same model as the first one";
            return Err(
                Failure::say(Kind::Config, story).hint("name another model in role.second_safety_reader")
            );
        }
        Ok(first.into_iter().chain(second).collect())
    }
}
