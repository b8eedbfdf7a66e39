//! External reflections, written by somebody else: read from JSON, counted and decided like any other, and reported row
//! by row.

use std::collections::BTreeMap;

use apprentice_model_json::remove_nulls;
use apprentice_protocol::{
    ChatModel, JudgedBy, Limits, ResourceUsage, RetrievedSkill, SkillId, StepId, StopReason, Trajectory,
    Verdict, Versions,
};
use apprentice_skillbook::review::{Dropped, SkillReview, TrajectoryReflection};
use apprentice_skillbook::{Counts, Gateway, State};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::apply_reviews::{LearningInput, Refusal, review_effect, with_version};
use crate::learn::learn_trajectory::{LearnError, LearnOptions, learn_external_reflection};
use crate::manage::Decision;
use crate::reflect::missing_parts;

/// An external reflection with the known facts about its attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalReflection {
    /// Name of the attempt. The same name never acts twice.
    pub trajectory_id: String,
    /// Class of the model that had received the skills.
    pub consumer: String,
    /// Verdict on the attempt.
    pub verdict: Verdict,
    /// Versions of the programs.
    pub versions: Versions,
    /// Skills that the attempt had received. Defaults to the reviewed skills.
    pub retrieved: Vec<SkillId>,
    /// The reflection.
    pub reflection: TrajectoryReflection,
}

/// The reason why a text contains no reflections. Positions start at 0.
#[derive(Debug, thiserror::Error)]
pub enum ExternalReflectionError {
    /// The text is not JSON.
    #[error("not JSON")]
    Json(#[source] serde_json::Error),
    /// The JSON is neither a reflection nor a list of reflections.
    #[error(
        "a reflection is an object {{\"skill_reviews\", \"new_learnings\"}}, or an array of such objects"
    )]
    Shape,
    /// One reflection is malformed.
    #[error("reflection {place}: {why}")]
    Reflection {
        /// Position of the reflection in the list.
        place: usize,
        /// Description of the problem.
        why: String,
    },
}

impl ExternalReflection {
    /// Reads one reflection or an array of them. `trajectory_id`, `consumer`, `verdict`, `versions` and `retrieved` may
    /// accompany the two lists. An entry without a name is identified by its content and position. An entry without a
    /// verdict counts as passed, because there is no evidence against it.
    pub fn read(text: &str) -> Result<Vec<Self>, ExternalReflectionError> {
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str(text).map_err(ExternalReflectionError::Json)? {
            Value::Array(entries) => {
                entries.into_iter().enumerate().map(|(index, entry)| Self::entry(index, entry)).collect()
            }
            entry @ Value::Object(_) => Ok(vec![Self::entry(0, entry)?]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(ExternalReflectionError::Shape)
            }
        }
    }

    fn entry(place: usize, entry: Value) -> Result<Self, ExternalReflectionError> {
        let wrong = |why: String| ExternalReflectionError::Reflection { place, why };
        let name = format!("given-{:.12}-{place}", apprentice_skillbook::hash(entry.to_string().as_bytes()));
        let Value::Object(mut fields) = entry else { return Err(ExternalReflectionError::Shape) };
        let mut word = |key: &str| match fields.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(other) => Err(wrong(format!("{key} must be a text, not {other}"))),
        };
        let (trajectory_id, consumer) = (word("trajectory_id")?, word("consumer")?);
        let verdict = match word("verdict")?.as_deref() {
            None | Some("pass") => Verdict::Pass,
            Some("fail") => Verdict::Fail,
            Some("void") => return Err(wrong("a void attempt cannot be learned from".to_owned())),
            Some(other) => return Err(wrong(format!("verdict must be pass or fail, not {other:?}"))),
        };
        let mut beside = |key: &str| fields.remove(key).unwrap_or_default();
        let retrieved: Option<Vec<SkillId>> = serde_json::from_value(beside("retrieved"))
            .map_err(|error| wrong(format!("retrieved: {error}")))?;
        let versions: Option<Versions> = serde_json::from_value(beside("versions"))
            .map_err(|error| wrong(format!("versions: {error}")))?;
        let mut lists = Value::Object(fields);
        remove_nulls(&mut lists);
        let reflection: TrajectoryReflection =
            serde_path_to_error::deserialize(lists).map_err(|error| wrong(error.to_string()))?;
        let missing = missing_parts(&reflection);
        if !missing.is_empty() {
            return Err(wrong(missing.join("; ")));
        }
        let reviewed =
            reflection.skill_reviews.iter().filter_map(|review| SkillId::parse(review.skill_id()).ok());
        Ok(Self {
            trajectory_id: trajectory_id.unwrap_or(name),
            consumer: consumer.unwrap_or_else(|| "unnamed".to_owned()),
            verdict,
            versions: versions.unwrap_or_default(),
            retrieved: retrieved.unwrap_or_else(|| reviewed.collect()),
            reflection,
        })
    }

    /// Returns the attempt as far as it is known: without steps, and with the skills at their current versions.
    fn trajectory(&self, state: &State) -> Trajectory {
        let received = |skill: &SkillId| RetrievedSkill {
            id: skill.clone(),
            version: state.skills.get(skill).map_or(1, |existing| existing.version),
            text: String::new(),
            step: StepId(1),
        };
        Trajectory {
            versions: self.versions.clone(),
            consumer: self.consumer.clone(),
            verdict: self.verdict,
            score: if self.verdict == Verdict::Pass { 1.0 } else { 0.0 },
            skills: self.retrieved.iter().map(received).collect(),
            ..trajectory_by_name(&self.trajectory_id)
        }
    }
}

/// Returns an attempt of which only the name is known.
pub fn trajectory_by_name(id: &str) -> Trajectory {
    Trajectory {
        id: id.to_owned(),
        goal: String::new(),
        apps: Vec::new(),
        versions: Versions::new(),
        consumer: String::new(),
        verdict: Verdict::Pass,
        judged_by: JudgedBy::default(),
        score: 1.0,
        stop: StopReason::Done,
        limits: Limits::default(),
        spent: ResourceUsage::default(),
        steps: Vec::new(),
        skills: Vec::new(),
    }
}

/// The effect of one review.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AppliedRow {
    /// The skill id in the review.
    pub skill_id: String,
    /// The skill that was counted: its successor if it was merged or renamed.
    pub counted_on: Option<SkillId>,
    /// The version that was counted.
    pub version: Option<u32>,
    /// Kind of review: positive, negative, neutral, not followed, or unreviewed.
    pub review_type: String,
    /// The contribution to the counters.
    pub added: Counts,
    /// The counters of that version and class before.
    pub before: Counts,
    /// The counters of that version and class after.
    pub after: Counts,
    /// Notes for the page.
    pub annotations: Vec<String>,
    /// Whether the review was forwarded to the manager.
    pub to_manager: bool,
}

/// The effect of one reflection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AppliedReflection {
    /// Name of the attempt.
    pub trajectory_id: String,
    /// Class of the model that had received the skills.
    pub consumer: String,
    /// Verdict on the attempt.
    pub verdict: Verdict,
    /// Whether the book had already learned from it, so that nothing changed.
    pub known_before: bool,
    /// Reviews, in order.
    pub rows: Vec<AppliedRow>,
    /// Decisions about items, in order.
    pub decisions: Vec<Decision>,
    /// Parts of the reflection that were not used.
    pub dropped: Vec<Dropped>,
    /// Writes of the handler that were refused.
    pub refusals: Vec<Refusal>,
}

/// Applies an external reflection to a book.
pub async fn apply(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    external: &ExternalReflection,
    time: Timestamp,
    options: &LearnOptions,
) -> Result<AppliedReflection, LearnError> {
    let before = gateway.state().clone();
    let trajectory = external.trajectory(&before);
    let input = LearningInput::new(&trajectory, time);
    let result =
        learn_external_reflection(gateway, manager, &input, external.reflection.clone(), options).await?;
    let counted = Counted { before: &before, after: gateway.state(), external };
    let mut rows = Vec::new();
    if !result.known_before {
        for (skill, review) in &result.checked.reviews {
            let effect = review_effect(review, &options.handler);
            rows.push(counted.applied_row(skill, Some(review), effect));
        }
        for skill in &result.checked.unreviewed {
            let counts = Counts { times_requested: 1, times_unreviewed: 1, ..Counts::default() };
            rows.push(counted.applied_row(
                skill,
                None,
                crate::apply_reviews::ReviewEffect { counts, ..Default::default() },
            ));
        }
    }
    Ok(AppliedReflection {
        trajectory_id: external.trajectory_id.clone(),
        consumer: external.consumer.clone(),
        verdict: external.verdict,
        known_before: result.known_before,
        rows,
        decisions: result.decisions,
        dropped: result.checked.dropped,
        refusals: result.refusals,
    })
}

/// Counters before and after.
struct Counted<'a> {
    before: &'a State,
    after: &'a State,
    external: &'a ExternalReflection,
}

impl Counted<'_> {
    fn applied_row(
        &self,
        skill: &SkillId,
        review: Option<&SkillReview>,
        effect: crate::apply_reviews::ReviewEffect,
    ) -> AppliedRow {
        let now = self.before.resolve(skill);
        let version = now.map(|now| now.version);
        let counts = |state: &State| {
            let key = (version?, self.external.consumer.clone());
            let counters: &BTreeMap<_, Counts> = &state.resolve(skill)?.counters;
            counters.get(&key).copied()
        };
        let counted = now.is_some();
        let domain = now.map_or(skill, |now| &now.id);
        let noted = |notes: Vec<String>| {
            notes.iter().map(|note| with_version(note, domain, &self.external.versions)).collect()
        };
        AppliedRow {
            skill_id: skill.to_string(),
            counted_on: now.map(|now| now.id.clone()),
            version,
            review_type: review.map_or("unreviewed", SkillReview::kind).to_owned(),
            added: if counted { effect.counts } else { Counts::default() },
            before: counts(self.before).unwrap_or_default(),
            after: counts(self.after).unwrap_or_default(),
            annotations: if counted { noted(effect.notes) } else { Vec::new() },
            to_manager: counted && effect.to_manager,
        }
    }
}
