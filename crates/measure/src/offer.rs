//! How a measured skill comes to the model, and the arms that follow from it.

use apprentice_results::arm::Arm;
use apprentice_results::report::PrimaryComparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a skill is offered to a model. The placebo is offered in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Its description, and its text when the model asks for it.
    #[default]
    Read,
    /// Its text, in the prompt of every attempt.
    Prompt,
}

impl Offer {
    /// The comparison that decides: the skill against the placebo.
    pub fn primary(self) -> PrimaryComparison {
        let [_, treatment, control] = self.arms().map(|arm| arm.to_string());
        PrimaryComparison { treatment, control }
    }

    /// The arms: nothing, the skill, the placebo.
    pub fn arms(self) -> [Arm; 3] {
        match self {
            Self::Read => [Arm::None, Arm::Pull, Arm::PlaceboInert],
            Self::Prompt => [Arm::None, Arm::Forced, Arm::PlaceboForced],
        }
    }

    /// The offer of an experiment, by its primary comparison; `None` where it compares something else.
    pub fn of(primary: &PrimaryComparison) -> Option<Self> {
        [Self::Read, Self::Prompt].into_iter().find(|offer| offer.primary() == *primary)
    }

    /// The offer in words, behind "the model gets".
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "its description, and its text when it asks for it",
            Self::Prompt => "its text in the prompt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Offer;

    #[test]
    fn an_offer_is_known_by_the_comparison_that_it_made() {
        for offer in [Offer::Read, Offer::Prompt] {
            assert_eq!(Offer::of(&offer.primary()), Some(offer));
            assert_eq!(offer.arms().map(|arm| arm.needs_book()), [false, true, true]);
        }
    }
}
