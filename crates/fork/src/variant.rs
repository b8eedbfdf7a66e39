//! The two arms of a fork: the help of the recorded trial, and the same help with one thing changed.

use std::collections::BTreeSet;

use apprentice_protocol::{BoundedText, SkillId, TextBudget, did_you_mean};
use apprentice_results::ablations::AblationArm;
use apprentice_results::arm::Arm;
use apprentice_skillbook::Snapshot;

use super::error::ForkError;
use apprentice_evaluator::arms::guidance::{ArmGuidance, TrialHelp};
use apprentice_evaluator::arms::{ArmError, GuidanceProvider};
use apprentice_evaluator::run::TrialSpec;

const WITH: &str = "with:";

/// Room for the text of a skill that is put in, beside the opening text of the recorded help, in characters.
const OPENING_BUDGET: TextBudget = TextBudget(24_000);

/// What the second arm of a fork changes in the help of the recorded trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The same help over a book without this skill.
    Without(SkillId),
    /// The same help, with the text of this skill put in.
    With(SkillId),
    /// True skills that do not bear on the task, in place of the recorded help.
    Placebo,
}

impl Variant {
    /// The name of its arm in rows.
    pub fn arm(&self) -> String {
        match self {
            Self::Without(skill) => AblationArm::Without(skill.clone()).to_string(),
            Self::With(skill) => format!("{WITH}{skill}"),
            Self::Placebo => Arm::PlaceboInert.to_string(),
        }
    }

    /// Whether the help in question is in this arm, and not in the recorded one.
    pub fn is_treatment(&self) -> bool {
        matches!(self, Self::With(_))
    }

    /// Refuses a variant that the recorded help or the book does not allow.
    pub fn check(&self, recorded: &TrialHelp, book: &Snapshot) -> Result<(), ForkError> {
        let same = |why: String| Err(ForkError::SameHelp(why));
        match (self, recorded) {
            (Self::Without(_), TrialHelp::Unaided) => {
                return same("the recorded trial had no skills: there is nothing to leave out".to_owned());
            }
            (Self::Without(skill), TrialHelp::AidedWithout(other)) if skill == other => {
                return same(format!("the recorded trial was without {skill} already"));
            }
            (Self::Placebo, TrialHelp::Aided(Arm::PlaceboInert)) => {
                return same("the recorded trial had the placebo already".to_owned());
            }
            (Self::Without(_), TrialHelp::Aided(Arm::ToolsOnly | Arm::RawTrace)) => {
                return same("the recorded trial had no skills: there is nothing to leave out".to_owned());
            }
            _ => {}
        }
        match self {
            Self::Without(skill) | Self::With(skill) if book.skill(skill).is_none() => {
                let hint = did_you_mean(skill.as_str(), book.skills().map(|one| one.id.as_str()));
                Err(ForkError::NoSkill { skill: skill.clone(), hint })
            }
            Self::Without(_) | Self::With(_) | Self::Placebo => Ok(()),
        }
    }
}

/// Builds the help of one trial of a fork. `own` is the arm of the recorded trial.
pub(super) fn help(
    provider: &GuidanceProvider,
    own: &str,
    variant: Option<&Variant>,
    trial: &TrialSpec,
) -> Result<ArmGuidance, ArmError> {
    let hiding = |arm: Arm, hidden| provider.arm_guidance_hiding(arm, &trial.task, trial.seed, hidden);
    let recorded = || provider.guidance_for(&trial.model, own, &trial.task, trial.seed);
    match variant.filter(|variant| variant.arm() == trial.arm) {
        None => recorded(),
        Some(Variant::Placebo) => provider.arm_guidance(Arm::PlaceboInert, &trial.task, trial.seed),
        Some(Variant::With(skill)) => with_text(provider, recorded()?, skill, trial),
        Some(Variant::Without(skill)) => match TrialHelp::of_arm(own)? {
            TrialHelp::Unaided => recorded(),
            TrialHelp::Aided(arm) => {
                let arm = provider.resolve(arm, &trial.model, &trial.task)?;
                hiding(arm, BTreeSet::from([skill.clone()]))
            }
            TrialHelp::AidedWithout(other) => hiding(Arm::Pull, BTreeSet::from([skill.clone(), other])),
        },
    }
}

/// Puts the text of a skill below the opening text of other help.
fn with_text(
    provider: &GuidanceProvider,
    recorded: ArmGuidance,
    skill: &SkillId,
    trial: &TrialSpec,
) -> Result<ArmGuidance, ArmError> {
    let forced = provider.text_of(skill, &trial.task)?;
    let mut help = recorded;
    let opening = format!("{}\n{}", help.guidance.opening.as_str(), forced.as_str());
    help.guidance.opening = BoundedText::cut(opening.trim_start(), OPENING_BUDGET);
    help.skillbook_hash.get_or_insert_with(|| provider.hash().to_owned());
    Ok(help)
}
