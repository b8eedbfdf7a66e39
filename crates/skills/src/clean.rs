//! The cleaner's eyes: which skills, or pairs of them, the counters single out. What becomes of them is the
//! manager's decision; a destructive one needs evidence from those whom the book is for.

use std::collections::BTreeMap;

use apprentice_protocol::{EmbedError, Side, SkillId};
use serde::Serialize;

use crate::book::{Counts, Note, Skill, State};
use crate::meaning::{Meaning, Vector, cosine};
use crate::search::passage;
use crate::words::likeness;

/// When a skill stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanOptions {
    /// Trajectories between two cleanings.
    pub every: usize,
    /// Negative reviews from which on a skill may be negative-heavy.
    pub negative_threshold: u32,
    /// Share of positive reviews below which it is.
    pub positive_ratio: f64,
    /// Likeness from which on two skills of a domain may be duplicates.
    pub similarity: f64,
    /// Requests from which on a follow rate means something.
    pub min_requests: u32,
    /// Follow rate below which a skill stands out.
    pub follow_rate: f64,
    /// The class of model that the book is for; without one, no class may show the contrary.
    pub target: Option<String>,
    /// Whether skills of `os` and `general` are compared with those of all domains, too.
    pub cross_domain: bool,
}

impl Default for CleanOptions {
    fn default() -> Self {
        Self {
            every: 10,
            negative_threshold: 3,
            positive_ratio: 0.3,
            similarity: 0.85,
            min_requests: 5,
            follow_rate: 0.3,
            target: None,
            cross_domain: false,
        }
    }
}

/// Whether trouble outweighs help: many negative reviews and few positive ones.
pub fn negative_heavy(counts: &Counts, options: &CleanOptions) -> bool {
    let impacts = counts.impacts();
    impacts > 0
        && counts.negative_impact >= options.negative_threshold
        && f64::from(counts.positive_impact) / f64::from(impacts) < options.positive_ratio
}

/// Whether a skill is often received and rarely followed.
pub fn low_follow_rate(counts: &Counts, options: &CleanOptions) -> bool {
    counts.times_requested >= options.min_requests
        && counts.times_followed / f64::from(counts.times_requested) < options.follow_rate
}

/// How alike two skills are, by all their texts.
pub fn resemblance(one: &Skill, other: &Skill) -> f64 {
    let whole = |skill: &Skill| {
        format!("{} {} {}", skill.text.description, skill.text.situation, skill.text.guidance)
    };
    likeness(&whole(one), &whole(other))
}

/// Something to decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cleanup_type", rename_all = "snake_case")]
pub enum CleanupTask {
    /// A skill with more trouble than help.
    NegativeHeavy {
        /// Which.
        skill_id: SkillId,
        /// Why.
        context: CleanupContext,
    },
    /// Two skills that say the same.
    Duplicates {
        /// Both, in order.
        skill_ids: [SkillId; 2],
        /// How alike, from 0 to 1.
        similarity: f64,
        /// Hashes of their texts: another text is another question.
        #[serde(skip_serializing)]
        hashes: [String; 2],
    },
    /// A skill that is rarely followed.
    LowFollowRate {
        /// Which.
        skill_id: SkillId,
        /// Why.
        context: CleanupContext,
    },
}

/// What the counters say of a skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CleanupContext {
    /// Its version.
    pub version: u32,
    /// Counters of this version, all classes.
    pub metrics: Counts,
    /// Counters of this version, of the class that the book is for.
    pub target_metrics: Option<Counts>,
    /// Counters of this version, by class.
    pub by_consumer: BTreeMap<String, Counts>,
    /// Notes on its page.
    pub annotations: Vec<String>,
}

impl CleanupTask {
    /// A name that is the same as long as the question is: the same text, and not twice the experience.
    pub(crate) fn key(&self) -> String {
        let experience = |context: &CleanupContext| {
            let doublings = context.metrics.times_requested.checked_ilog2().unwrap_or_default();
            format!("v{}:{doublings}", context.version)
        };
        match self {
            Self::NegativeHeavy { skill_id, context } => {
                format!("negative_heavy:{skill_id}:{}", experience(context))
            }
            Self::LowFollowRate { skill_id, context } => {
                format!("low_follow_rate:{skill_id}:{}", experience(context))
            }
            Self::Duplicates { skill_ids: [one, other], hashes: [left, right], .. } => {
                format!("duplicates:{one}@{left:.12}:{other}@{right:.12}")
            }
        }
    }

    /// Whether those whom the book is for have shown it themselves.
    pub(crate) fn shown_by_target(&self, options: &CleanOptions) -> bool {
        let shown =
            |context: &CleanupContext, holds: fn(&Counts, &CleanOptions) -> bool| match &options.target {
                Some(_) => holds(&context.target_metrics.unwrap_or_default(), options),
                None => context.by_consumer.values().all(|counts| holds(counts, options)),
            };
        match self {
            Self::NegativeHeavy { context, .. } => shown(context, negative_heavy),
            Self::LowFollowRate { context, .. } => shown(context, low_follow_rate),
            Self::Duplicates { .. } => true,
        }
    }

    /// The skill, or the pair.
    pub fn skills(&self) -> Vec<&SkillId> {
        match self {
            Self::NegativeHeavy { skill_id, .. } | Self::LowFollowRate { skill_id, .. } => vec![skill_id],
            Self::Duplicates { skill_ids, .. } => skill_ids.iter().collect(),
        }
    }

    /// It in one line, for people.
    pub fn headline(&self) -> String {
        match self {
            Self::NegativeHeavy { skill_id, context } => format!(
                "negative_heavy {skill_id}: positive {}, negative {}, neutral {}",
                context.metrics.positive_impact,
                context.metrics.negative_impact,
                context.metrics.neutral_impact
            ),
            Self::LowFollowRate { skill_id, context } => format!(
                "low_follow_rate {skill_id}: followed {} of {}",
                context.metrics.times_followed, context.metrics.times_requested
            ),
            Self::Duplicates { skill_ids: [one, other], similarity, .. } => {
                format!("duplicates {one} {other}: {similarity:.2} alike")
            }
        }
    }
}

/// What meaning says of a book's skills: a vector for each, and from which likeness on two say the same.
#[derive(Clone, Debug)]
pub struct Sense {
    vectors: BTreeMap<SkillId, Vector>,
    threshold: f64,
}

impl Sense {
    /// Asks for the meaning of all skills, if there are two to compare.
    pub async fn of(state: &State, meaning: &Meaning) -> Result<Self, EmbedError> {
        if state.skills.len() < 2 {
            return Ok(Self { vectors: BTreeMap::new(), threshold: 1.0 });
        }
        let texts: Vec<String> = state.skills.values().map(|skill| passage(skill)).collect();
        let vectors = meaning.vectors(Side::Passage, &texts).await?;
        let vectors = state.skills.keys().cloned().zip(vectors).collect();
        Ok(Self { vectors, threshold: meaning.threshold().await? })
    }

    /// How alike two skills are, if that says that they are the same.
    fn same(&self, one: &SkillId, other: &SkillId) -> Option<f64> {
        let alike = cosine(self.vectors.get(one)?, self.vectors.get(other)?).ok()?;
        Some(alike).filter(|alike| *alike >= self.threshold)
    }
}

/// Looks through a book: negative-heavy skills, then pairs with the most alike first, then skills that are
/// rarely followed. Two skills are a pair by their words, or by their meaning where it is known.
pub fn scan(state: &State, options: &CleanOptions, sense: Option<&Sense>) -> Vec<CleanupTask> {
    let skills: Vec<&Skill> = state.skills.values().map(AsRef::as_ref).collect();
    let mut tasks = Vec::new();
    for skill in &skills {
        if negative_heavy(&skill.counts(None), options) {
            tasks.push(CleanupTask::NegativeHeavy {
                skill_id: skill.id.clone(),
                context: context(skill, options),
            });
        }
    }
    tasks.extend(pairs(state, &skills, options, sense));
    for skill in &skills {
        let target = options.target.as_ref().map(|target| skill.counts(Some(target)));
        // The teacher's indifference says nothing about the student: its numbers serve only while there are
        // none of the student's.
        let counts = target.filter(|counts| counts.times_requested > 0).unwrap_or_else(|| skill.counts(None));
        if low_follow_rate(&counts, options) {
            tasks.push(CleanupTask::LowFollowRate {
                skill_id: skill.id.clone(),
                context: context(skill, options),
            });
        }
    }
    tasks
}

fn pairs(
    state: &State,
    skills: &[&Skill],
    options: &CleanOptions,
    sense: Option<&Sense>,
) -> Vec<CleanupTask> {
    let mut found = Vec::new();
    for (place, one) in skills.iter().enumerate() {
        let everywhere =
            |skill: &Skill| options.cross_domain && matches!(skill.id.domain(), "os" | "general");
        let compared =
            |other: &&&Skill| other.id.domain() == one.id.domain() || everywhere(one) || everywhere(other);
        for other in skills[place + 1..].iter().filter(compared) {
            let by_words = Some(resemblance(one, other)).filter(|alike| *alike >= options.similarity);
            let similarity = by_words.or_else(|| sense?.same(&one.id, &other.id));
            let kept = ([one.id.clone(), other.id.clone()], [one.text_hash(), other.text_hash()]);
            if let Some(similarity) = similarity.filter(|_| !state.kept_pairs.contains(&kept)) {
                found.push((similarity, kept));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found
        .into_iter()
        .map(|(similarity, (skill_ids, hashes))| CleanupTask::Duplicates { skill_ids, similarity, hashes })
        .collect()
}

fn context(skill: &Skill, options: &CleanOptions) -> CleanupContext {
    let target = options.target.as_ref().map(|target| skill.counts(Some(target)));
    CleanupContext {
        version: skill.version,
        metrics: skill.counts(None),
        target_metrics: target.filter(|counts| counts.times_requested > 0),
        by_consumer: skill
            .counters
            .keys()
            .filter(|(version, _)| *version == skill.version)
            .map(|(_, consumer)| (consumer.clone(), skill.counts(Some(consumer))))
            .collect(),
        annotations: skill.notes.iter().map(|note: &Note| note.text.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CleanOptions, low_follow_rate, negative_heavy};
    use crate::book::Counts;

    #[test]
    fn negative_heavy_needs_three_and_less_than_a_third_positive() {
        let check = |positive, negative, neutral, expected| {
            let counts = Counts {
                positive_impact: positive,
                negative_impact: negative,
                neutral_impact: neutral,
                ..Counts::default()
            };
            assert_eq!(negative_heavy(&counts, &CleanOptions::default()), expected, "{counts:?}");
        };
        check(1, 3, 0, true);
        check(2, 3, 0, false);
        check(3, 7, 0, false);
        check(0, 2, 9, false);
        check(0, 0, 0, false);
    }

    #[test]
    fn a_follow_rate_needs_five_requests() {
        let check = |requested, followed, expected| {
            let counts = Counts { times_requested: requested, times_followed: followed, ..Counts::default() };
            assert_eq!(low_follow_rate(&counts, &CleanOptions::default()), expected, "{counts:?}");
        };
        check(5, 1.5, false);
        check(5, 1.0, true);
        check(4, 0.0, false);
    }
}
