//! Verification: which skills have been shown to work, and which of them a policy admits to a trial.
//!
//! A skill is verified when its current text helped once elsewhere: an attempt at another task, or at other values of the
//! same task, than those it was learned on received it, did what it names, is known to have passed, and its review did not
//! find fault with the text. No model is asked.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::review::SkillReview;
use crate::{Actor, OpId, Origin, Skill, Snapshot, State, Trial};

/// Policy for the skills that a measured agent may get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionPolicy {
    /// Every skill.
    #[default]
    Auto,
    /// Verified skills only.
    Verified,
    /// Only skills whose current text a person wrote.
    Human,
}

/// The result of applying a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The policy.
    pub policy: AdmissionPolicy,
    /// Number of admitted skills.
    pub eligible: usize,
    /// Withheld skills.
    pub quarantined: Vec<SkillId>,
}

/// What is known of a skill's current text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verification {
    /// Whether the text is verified.
    pub verified: bool,
    /// The attempts that show it.
    pub helped: Vec<String>,
    /// What is missing, if it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Returns the skills whose current text is verified.
pub fn verified_skills(state: &State) -> BTreeSet<SkillId> {
    let causes = causes(state);
    let proved =
        state.skills.values().filter(|skill| proofs(state, &causes, skill).is_ok_and(|by| !by.is_empty()));
    proved.map(|skill| skill.id.clone()).collect()
}

/// Returns what is known of a skill's current text.
pub fn verification(state: &State, skill: &Skill) -> Verification {
    match proofs(state, &causes(state), skill) {
        Err(missing) => {
            Verification { verified: false, helped: Vec::new(), missing: Some(missing.to_owned()) }
        }
        Ok(helped) => {
            let missing =
                "no attempt at another task or other values followed it, passed, and found no fault";
            let missing = helped.is_empty().then(|| missing.to_owned());
            Verification { verified: missing.is_none(), helped, missing }
        }
    }
}

fn causes(state: &State) -> BTreeMap<OpId, &str> {
    state.causes.iter().map(|(cause, operation)| (*operation, cause.trajectory.as_str())).collect()
}

/// Returns the attempts that verify a skill's current text. A text from an attempt of unknown template never is verified,
/// because any attempt may be like the one that it was learned on.
fn proofs(state: &State, causes: &BTreeMap<OpId, &str>, skill: &Skill) -> Result<Vec<String>, &'static str> {
    let sources: BTreeSet<&str> =
        skill.history.iter().filter_map(|operation| causes.get(operation)).copied().collect();
    let all_hashes = |hashes: &BTreeMap<String, String>| -> Option<BTreeSet<String>> {
        sources.iter().map(|trajectory| hashes.get(*trajectory).cloned()).collect()
    };
    let templates =
        all_hashes(&state.templates).ok_or("the task of an attempt that it was learned on is not known")?;
    let variations = all_hashes(&state.variations);
    let elsewhere = |trial: &Trial| {
        let other_values = variations.as_ref().zip(trial.variation.as_ref());
        !templates.contains(&trial.template)
            || other_values.is_some_and(|(learned, own)| !sources.is_empty() && !learned.contains(own))
    };
    let faulted = |trial: &Trial| {
        skill.remarks.iter().any(|remark| {
            (&remark.trajectory, remark.version) == (&trial.trajectory, trial.version)
                && matches!(remark.review, SkillReview::Negative(_))
        })
    };
    let helped = skill.trials.iter().filter(|trial| {
        trial.version == skill.version
            && trial.passed
            && trial.followed == Some(true)
            && elsewhere(trial)
            && !faulted(trial)
    });
    let helped: BTreeSet<&String> = helped.map(|trial| &trial.trajectory).collect();
    Ok(helped.into_iter().cloned().collect())
}

/// Returns the skills whose current text a person wrote. Merely importing a text is not enough.
fn human_written(book: &Snapshot) -> BTreeSet<SkillId> {
    let operations = book.operations();
    let human = operations.iter().filter(|operation| operation.actor == Actor::Human);
    let human: BTreeSet<OpId> = human.map(|operation| operation.id).collect();
    let wrote = |skill: &&Skill| {
        let last = skill.history.last();
        let taken_over = skill.origin == Origin::Imported && last == Some(&skill.uid);
        last.is_some_and(|last| human.contains(last)) && !taken_over
    };
    book.skills().filter(wrote).map(|skill| skill.id.clone()).collect()
}

/// Returns the admitted part of the book, and the withheld skills.
pub fn admit(book: &Snapshot, policy: AdmissionPolicy) -> (Snapshot, Admission) {
    let eligible = match policy {
        AdmissionPolicy::Auto => {
            let eligible = book.skills().count();
            return (book.clone(), Admission { policy, eligible, quarantined: Vec::new() });
        }
        AdmissionPolicy::Verified => verified_skills(book.state()),
        AdmissionPolicy::Human => human_written(book),
    };
    let (through, waiting): (BTreeMap<_, _>, BTreeMap<_, _>) =
        book.state().skills.clone().into_iter().partition(|(id, _)| eligible.contains(id));
    let quarantined = waiting.into_keys().collect();
    let admission = Admission { policy, eligible: through.len(), quarantined };
    (book.with_skills(through), admission)
}
