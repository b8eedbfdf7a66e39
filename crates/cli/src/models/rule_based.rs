//! The rule-based models, which only a build with the feature `demo` links.
//!
//! Everything that depends on the feature stands here: the rest of the program asks whether a name is one of theirs.

use std::sync::Arc;

use apprentice_protocol::ChatModel;

use super::Models;
use crate::failure::{Failure, Kind};

/// How the name of a rule-based model begins.
const PREFIX: &str = "builtin/";

/// Returns the names of the rule-based models of this build.
#[cfg(feature = "demo")]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    apprentice_policies::Policy::ALL.iter().map(|policy| policy.name())
}

/// Returns no name: this build has no rule-based model.
#[cfg(not(feature = "demo"))]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// Returns whether a name is that of a rule-based model of this build.
pub(crate) fn is_rule_based(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Returns an error for the name of a rule-based model in a build without them.
pub(super) fn left_out(name: &str) -> Option<Failure> {
    let is_left_out = name.starts_with(PREFIX) && names().next().is_none();
    let message = || format!("this build has no rule-based models, so there is no {name}");
    is_left_out.then(|| {
        Failure::say(Kind::Model, message())
            .hint("name a language model, as in --model PROVIDER/MODEL; `apprentice models list` shows the providers")
            .hint("or build with the feature `demo`: cargo build --package apprentice-cli --features demo")
    })
}

impl Models {
    /// Builds the rule-based model with this name, if this build has it.
    #[cfg(feature = "demo")]
    pub(super) fn rule_based(&self, name: &str, trial: &str) -> Option<Arc<dyn ChatModel>> {
        let policy = apprentice_policies::Policy::named(name)?;
        Some(self.recorded(apprentice_policies::BuiltInModel::new(policy), trial))
    }

    /// Builds no model: this build has no rule-based one.
    #[cfg(not(feature = "demo"))]
    pub(super) fn rule_based(&self, _name: &str, _trial: &str) -> Option<Arc<dyn ChatModel>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{is_rule_based, left_out};

    #[cfg(feature = "demo")]
    #[test]
    fn a_build_with_the_demo_has_them() {
        assert!(is_rule_based("builtin/explorer") && is_rule_based("builtin/novice"));
        assert!(!is_rule_based("anthropic/claude-sonnet-5-5"));
        assert!(left_out("builtin/explorr").is_none(), "a wrong name gets the nearest one");
    }

    #[cfg(not(feature = "demo"))]
    #[test]
    fn a_build_without_the_demo_names_its_feature() {
        assert!(!is_rule_based("builtin/explorer"));
        let told = left_out("builtin/explorer").expect("an error").to_string();
        assert!(told.contains("no rule-based models") && told.contains("builtin/explorer"), "{told}");
        assert!(left_out("anthropic/claude-sonnet-5-5").is_none());
    }
}
