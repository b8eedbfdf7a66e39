//! Verification: which skills have been shown to work, and which of them a policy admits to a trial.
//!
//! A skill is verified on a task template other than those it was learned on: at least two attempts at tasks of one
//! such template received its current text, did what the text names, and passed. No model is involved.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::adherence::adherence;
use crate::book::{
    Actor, Applied, Change, Gateway, OpId, Origin, ReceivedSkill, Skill, Snapshot, Stage, State,
    WriteRefusal, hash,
};
use crate::handle::LearningInput;

/// Number of attempts at tasks of one template that verify a skill.
pub const REQUIRED_PASSES: usize = 2;
/// Length of a template's hash, in characters.
const HASH: usize = 16;

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

/// Records which skills an attempt at a task of this template received and whether it followed them. Repeated calls for
/// the same attempt record it once.
pub fn note_trial(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    template: &str,
) -> Result<Applied, WriteRefusal> {
    let trajectory = input.trajectory;
    let tried = trajectory.skills.iter().map(|received| ReceivedSkill {
        skill: received.id.clone(),
        version: received.version,
        followed: adherence(&received.text, &trajectory.steps, received.step).verdict(),
    });
    let mut template = hash(template.as_bytes());
    template.truncate(HASH);
    let change = Change::SkillsTried { template, skills: tried.collect(), passed: input.passed() };
    gateway.apply(input.request(Actor::Handler, Stage::Handle, "trial".to_owned(), change))
}

/// Returns the skills whose current text is verified.
pub fn verified_skills(state: &State) -> BTreeSet<SkillId> {
    let causes: BTreeMap<OpId, &str> =
        state.causes.iter().map(|(cause, operation)| (*operation, cause.trajectory.as_str())).collect();
    let proved = state.skills.values().filter(|skill| is_verified(state, &causes, skill));
    proved.map(|skill| skill.id.clone()).collect()
}

/// Returns whether a skill is verified. A text from an unknown template never is, because any template may be the one
/// that it was learned on.
fn is_verified(state: &State, causes: &BTreeMap<OpId, &str>, skill: &Skill) -> bool {
    let sources = skill.history.iter().filter_map(|operation| causes.get(operation));
    let sources: Option<BTreeSet<&String>> =
        sources.map(|trajectory| state.templates.get(*trajectory)).collect();
    let Some(sources) = sources else { return false };
    let mut proofs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for trial in &skill.trials {
        let counts = trial.version == skill.version && trial.passed && trial.followed == Some(true);
        if counts && !sources.contains(&trial.template) {
            proofs.entry(&trial.template).or_default().insert(&trial.trajectory);
        }
    }
    proofs.values().any(|attempts| attempts.len() >= REQUIRED_PASSES)
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
