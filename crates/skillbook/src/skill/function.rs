//! Functions of a skill: code that an agent may have run, with what replays and calls showed about each version.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::OpId;

/// Passed replays with different arguments that a version needs.
pub const REPLAYS_NEEDED: usize = 2;
/// Stopped calls after which a version is no longer provided, until it is admitted again.
pub const STOPPED_CALLS: usize = 2;

/// Where a function was learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionReference {
    /// The trajectory.
    pub trajectory: String,
    /// Its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepId>,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FunctionTrial {
    /// A replay in a fresh world, judged by the task's checks.
    Replay,
    /// A replay with an argument that is wrong: the checks must fail it.
    NearMiss,
    /// A call by an agent.
    Call,
}

/// What one trial of a function showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionEvidence {
    /// What was tried.
    pub trial: FunctionTrial,
    /// Whether it showed what it should: the checks passed, the near miss failed, the call ran to its end.
    pub held: bool,
    /// The attempt, `run/trial/attempt`.
    pub attempt: String,
    /// Hash of the arguments.
    pub arguments: String,
    /// Where a call stopped, or why a replay does not count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A function of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillFunction {
    /// Its version, from 1. Each new source is a new version.
    pub version: u32,
    /// Its source.
    pub source: String,
    /// The operation that wrote the source.
    pub written: OpId,
    /// Where it was learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<FunctionReference>,
    /// What trials showed about this version, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FunctionEvidence>,
    /// Why it is no longer lent, if it was retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<String>,
    /// The operations that wrote, tested and retired it, over all versions.
    pub events: Vec<OpId>,
}

impl SkillFunction {
    /// Returns the number of passed replays of this version with different arguments.
    pub fn test_count(&self) -> usize {
        let passed =
            self.evidence.iter().filter(|evidence| evidence.trial == FunctionTrial::Replay && evidence.held);
        passed.map(|evidence| evidence.arguments.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// Returns what this version lacks to be verified; `None` if it is.
    pub fn missing(&self) -> Option<String> {
        if let Some(why) = &self.retired {
            return Some(format!("it was retired: {why}"));
        }
        if let Some(failed) = self.last_admission().find(|evidence| !evidence.held) {
            return Some(format!("a replay failed: {}", failed.why));
        }
        let passed = self.test_count();
        if passed < REPLAYS_NEEDED {
            return Some(format!("{passed} of {REPLAYS_NEEDED} replays with other arguments have passed"));
        }
        let near_misses =
            || self.evidence.iter().filter(|evidence| evidence.trial == FunctionTrial::NearMiss);
        if near_misses().next().is_none() {
            return Some("no near miss was tried".to_owned());
        }
        if let Some(passed) = near_misses().find(|evidence| !evidence.held) {
            return Some(format!("a wrong argument passed the checks: {}", passed.why));
        }
        let stopped = self.stopped_calls();
        (stopped >= STOPPED_CALLS).then(|| format!("{stopped} calls stopped since it was admitted"))
    }

    /// Returns whether replays have shown this version to work, and calls have not shown the contrary.
    pub fn is_verified(&self) -> bool {
        self.missing().is_none()
    }

    /// Returns the number of calls that stopped since the last passed replay.
    pub fn stopped_calls(&self) -> usize {
        let later = self.evidence.iter().rev();
        let calls = later.take_while(|evidence| !(evidence.trial == FunctionTrial::Replay && evidence.held));
        calls.filter(|evidence| evidence.trial == FunctionTrial::Call && !evidence.held).count()
    }

    /// Returns the replays of the last admission: those of one run. One that passed makes up for one that failed in an earlier
    /// admission, and never for one beside it.
    fn last_admission(&self) -> impl Iterator<Item = &FunctionEvidence> {
        fn run(evidence: &FunctionEvidence) -> Option<&str> {
            evidence.attempt.split('/').next()
        }
        let replays = || self.evidence.iter().filter(|evidence| evidence.trial == FunctionTrial::Replay);
        let last = replays().next_back().and_then(run);
        replays().filter(move |evidence| run(evidence) == last)
    }

    /// Replaces the source. What is known of the old one is known of another version.
    fn renew(&mut self, source: &str, references: &[FunctionReference], by: OpId) {
        self.version += 1;
        source.clone_into(&mut self.source);
        self.references = references.to_vec();
        self.evidence.clear();
        self.retired = None;
        self.written = by;
        self.events.push(by);
    }
}

/// Writes a function into those of a skill.
pub(crate) fn write(
    functions: &mut BTreeMap<String, SkillFunction>,
    name: &str,
    source: &str,
    references: &[FunctionReference],
    by: OpId,
) {
    match functions.get_mut(name) {
        Some(known) => known.renew(source, references, by),
        None => {
            let function = SkillFunction {
                version: 1,
                source: source.to_owned(),
                written: by,
                references: references.to_vec(),
                evidence: Vec::new(),
                retired: None,
                events: vec![by],
            };
            functions.insert(name.to_owned(), function);
        }
    }
}

/// Records what a trial of a version showed. Of another version than the present one it says nothing.
pub(crate) fn test(
    functions: &mut BTreeMap<String, SkillFunction>,
    name: &str,
    version: u32,
    evidence: &FunctionEvidence,
    by: OpId,
) {
    if let Some(existing) = functions.get_mut(name).filter(|existing| existing.version == version) {
        existing.evidence.push(evidence.clone());
        existing.events.push(by);
    }
}

/// Retires a function.
pub(crate) fn retire(functions: &mut BTreeMap<String, SkillFunction>, name: &str, why: &str, by: OpId) {
    if let Some(known) = functions.get_mut(name) {
        known.retired = Some(why.to_owned());
        known.events.push(by);
    }
}

/// Returns the functions as they were before an operation, where it changed some: those that it changed go back, unless
/// a later operation changed them again. `None` stands for that conflict.
pub(crate) fn reverted(
    [was, became, now]: [&BTreeMap<String, SkillFunction>; 3],
) -> Option<BTreeMap<String, SkillFunction>> {
    let mut back = now.clone();
    let names: BTreeSet<&String> = was.keys().chain(became.keys()).collect();
    for name in names.into_iter().filter(|name| was.get(*name) != became.get(*name)) {
        let version = |functions: &BTreeMap<String, SkillFunction>| {
            functions.get(name).map(|function| function.version)
        };
        if version(now) != version(became) {
            return None;
        }
        match was.get(name) {
            Some(before) => drop(back.insert(name.clone(), before.clone())),
            None => drop(back.remove(name)),
        }
    }
    Some(back)
}
