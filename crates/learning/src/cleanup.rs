//! The cleaner's detection: which skills or pairs of skills the counters single out. The manager decides what happens
//! to them. A destructive decision requires evidence from the class of model that the book is for.

use std::collections::BTreeMap;

use apprentice_protocol::{EmbedError, Side, SkillId};
use apprentice_skillbook::{Counts, Note, Skill, State, embedded_text};
use apprentice_wording::{
    EmbeddingModel, Vector, cosine, is_for_program, is_general, similar_pairs, word_similarity,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Thresholds for cleaning up.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanupOptions {
    /// Number of trajectories between two cleanups.
    pub every: usize,
    /// Number of negative reviews from which a skill may be negative-heavy.
    pub negative_threshold: u32,
    /// Share of positive reviews below which such a skill is negative-heavy.
    pub positive_ratio: f64,
    /// Similarity from which two skills of a domain may be duplicates.
    pub similarity: f64,
    /// Number of reviewed requests from which a follow rate is meaningful.
    pub min_requests: u32,
    /// Follow rate below which a skill is singled out.
    pub follow_rate: f64,
    /// The class of model that the book is for. If `None`, no class may show the contrary.
    pub target: Option<String>,
    /// True if skills of `os` and `general` are also compared with those of all domains.
    pub cross_domain: bool,
}

impl Default for CleanupOptions {
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

/// From when on a skill hurts more than it helps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarmRule {
    /// Number of negative reviews.
    pub negatives: u32,
    /// Share of positive reviews below which so many negative ones are too many.
    pub positive_share: f64,
}

impl HarmRule {
    /// Returns whether the counters of a skill show harm.
    pub fn holds(&self, counts: &Counts) -> bool {
        let impacts = counts.impacts();
        impacts > 0
            && counts.negative_impact >= self.negatives
            && f64::from(counts.positive_impact) / f64::from(impacts) < self.positive_share
    }
}

impl Default for HarmRule {
    fn default() -> Self {
        CleanupOptions::default().harm()
    }
}

impl CleanupOptions {
    /// Returns the rule for negative-heavy skills.
    pub fn harm(&self) -> HarmRule {
        HarmRule { negatives: self.negative_threshold, positive_share: self.positive_ratio }
    }
}

/// Returns whether a skill hurts more than it helps: many negative reviews and few positive ones.
pub fn negative_heavy(counts: &Counts, options: &CleanupOptions) -> bool {
    options.harm().holds(counts)
}

/// Returns whether a skill is often received and rarely followed. A request without a review says nothing about
/// following.
pub fn low_follow_rate(counts: &Counts, options: &CleanupOptions) -> bool {
    let reviewed = reviewed(counts);
    reviewed > 0
        && reviewed >= options.min_requests
        && counts.times_followed / f64::from(reviewed) < options.follow_rate
}

/// Returns the number of requests that a reflector reviewed.
fn reviewed(counts: &Counts) -> u32 {
    counts.times_requested.saturating_sub(counts.times_unreviewed)
}

/// Returns the similarity of two skills by all their texts.
pub fn skill_similarity(left: &Skill, right: &Skill) -> f64 {
    word_similarity(&whole_text(left), &whole_text(right))
}

fn whole_text(skill: &Skill) -> String {
    format!("{} {} {}", skill.text.description, skill.text.situation, skill.text.guidance)
}

/// A cleanup task for the manager.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "cleanup_type", rename_all = "snake_case")]
pub enum CleanupTask {
    /// A skill that hurts more than it helps.
    NegativeHeavy {
        /// The skill.
        skill_id: SkillId,
        /// Its counters and notes.
        context: CleanupContext,
    },
    /// Two skills with the same content.
    Duplicates {
        /// Both skills, sorted by id.
        skill_ids: [SkillId; 2],
        /// Similarity, from 0 to 1.
        similarity: f64,
        /// Hashes of their texts. Changed texts make a new task.
        #[serde(skip_serializing)]
        hashes: [String; 2],
    },
    /// A skill that is rarely followed.
    LowFollowRate {
        /// The skill.
        skill_id: SkillId,
        /// Its counters and notes.
        context: CleanupContext,
    },
}

/// The counters and notes of a skill.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CleanupContext {
    /// Version of the skill.
    pub version: u32,
    /// Counters of this version, for all classes.
    pub metrics: Counts,
    /// Counters of this version, for the class that the book is for.
    pub target_metrics: Option<Counts>,
    /// Counters of this version, by class.
    pub by_consumer: BTreeMap<String, Counts>,
    /// Notes on the skill's page.
    pub annotations: Vec<String>,
}

impl CleanupTask {
    /// Returns a stable key of the task: it changes when the text changes or the experience doubles.
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

    /// Returns whether the class of model that the book is for has shown the problem itself.
    pub(crate) fn shown_by_target(&self, options: &CleanupOptions) -> bool {
        let shown =
            |context: &CleanupContext, holds: fn(&Counts, &CleanupOptions) -> bool| match &options.target {
                Some(_) => holds(&context.target_metrics.unwrap_or_default(), options),
                None => context.by_consumer.values().all(|counts| holds(counts, options)),
            };
        match self {
            Self::NegativeHeavy { context, .. } => shown(context, negative_heavy),
            Self::LowFollowRate { context, .. } => shown(context, low_follow_rate),
            Self::Duplicates { .. } => true,
        }
    }

    /// Returns the skill, or the pair.
    pub fn skills(&self) -> Vec<&SkillId> {
        match self {
            Self::NegativeHeavy { skill_id, .. } | Self::LowFollowRate { skill_id, .. } => vec![skill_id],
            Self::Duplicates { skill_ids, .. } => skill_ids.iter().collect(),
        }
    }

    /// Returns a one-line summary for people.
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
                context.metrics.times_followed,
                reviewed(&context.metrics)
            ),
            Self::Duplicates { skill_ids: [one, other], similarity, .. } => {
                format!("duplicates {one} {other}: {similarity:.2} alike")
            }
        }
    }
}

/// Embeddings of a book's skills: a vector for each, and the similarity from which two texts say the same.
#[derive(Clone, Debug)]
pub struct SkillEmbeddings {
    vectors: BTreeMap<SkillId, Vector>,
    threshold: f64,
}

impl SkillEmbeddings {
    /// Embeds all skills if there are at least two to compare.
    pub async fn of(state: &State, meaning: &EmbeddingModel) -> Result<Self, EmbedError> {
        if state.skills.len() < 2 {
            return Ok(Self { vectors: BTreeMap::new(), threshold: 1.0 });
        }
        let texts: Vec<String> = state.skills.values().map(|skill| embedded_text(skill)).collect();
        let vectors = meaning.vectors(Side::Passage, &texts).await?;
        let vectors = state.skills.keys().cloned().zip(vectors).collect();
        Ok(Self { vectors, threshold: meaning.threshold().await? })
    }

    /// Returns the similarity of two skills if it reaches the threshold for equal content.
    fn same(&self, left: &SkillId, right: &SkillId) -> Option<f64> {
        let alike = cosine(self.vectors.get(left)?, self.vectors.get(right)?).ok()?;
        Some(alike).filter(|alike| *alike >= self.threshold)
    }
}

/// Scans a book: negative-heavy skills first, then pairs with the most similar first, then rarely followed skills. Two
/// skills form a pair by their words, or by their embeddings where known.
pub fn find_cleanup_tasks(
    state: &State,
    options: &CleanupOptions,
    embeddings: Option<&SkillEmbeddings>,
) -> Vec<CleanupTask> {
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
    tasks.extend(pairs(state, &skills, options, embeddings));
    for skill in &skills {
        let target = options.target.as_ref().map(|target| skill.counts(Some(target)));
        // A teacher's indifference says nothing about the student. The teacher's numbers count only until the student
        // has some.
        let counts = target.filter(|counts| reviewed(counts) > 0).unwrap_or_else(|| skill.counts(None));
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
    options: &CleanupOptions,
    embeddings: Option<&SkillEmbeddings>,
) -> Vec<CleanupTask> {
    let everywhere = |skill: &Skill| options.cross_domain && is_general(skill.id.domain());
    let compared = |left: &Skill, right: &Skill| {
        let of_suite = |left: &Skill, right: &Skill| is_for_program(left.id.domain(), right.id.domain());
        left.id.domain() == right.id.domain()
            || (options.cross_domain && (of_suite(left, right) || of_suite(right, left)))
            || everywhere(left)
            || everywhere(right)
    };
    let mut found: BTreeMap<[&SkillId; 2], (f64, [String; 2])> = BTreeMap::new();
    // The skills are sorted by id, so a domain is a run of them.
    let groups: Vec<&[&Skill]> = if options.cross_domain {
        vec![skills]
    } else {
        skills.chunk_by(|left, right| left.id.domain() == right.id.domain()).collect()
    };
    for group in groups {
        let texts: Vec<String> = group.iter().map(|skill| whole_text(skill)).collect();
        for (left, right, similarity) in similar_pairs(&texts, options.similarity) {
            let (left, right) = (group[left], group[right]);
            if compared(left, right) {
                found.insert([&left.id, &right.id], (similarity, [left.text_hash(), right.text_hash()]));
            }
        }
        let Some(embeddings) = embeddings else { continue };
        for (index, left) in group.iter().enumerate() {
            for right in group[index + 1..].iter().filter(|right| compared(left, right)) {
                let pair = [&left.id, &right.id];
                if let Some(similarity) = embeddings.same(&left.id, &right.id)
                    && !found.contains_key(&pair)
                {
                    found.insert(pair, (similarity, [left.text_hash(), right.text_hash()]));
                }
            }
        }
    }
    let pairs =
        found.into_iter().map(|(pair, (similarity, hashes))| (similarity, (pair.map(Clone::clone), hashes)));
    let mut tasks: Vec<_> = pairs.filter(|(_, kept)| !state.kept_pairs.contains(kept)).collect();
    tasks.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    tasks
        .into_iter()
        .map(|(similarity, (skill_ids, hashes))| CleanupTask::Duplicates { skill_ids, similarity, hashes })
        .collect()
}

fn context(skill: &Skill, options: &CleanupOptions) -> CleanupContext {
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
    use apprentice_skillbook::Counts;

    use super::{CleanupOptions, low_follow_rate, negative_heavy};

    #[test]
    fn negative_heavy_needs_three_and_less_than_a_third_positive() {
        let check = |positive, negative, neutral, expected| {
            let counts = Counts {
                positive_impact: positive,
                negative_impact: negative,
                neutral_impact: neutral,
                ..Counts::default()
            };
            assert_eq!(negative_heavy(&counts, &CleanupOptions::default()), expected, "{counts:?}");
        };
        check(1, 3, 0, true);
        check(2, 3, 0, false);
        check(3, 7, 0, false);
        check(0, 2, 9, false);
        check(0, 0, 0, false);
        check(29, 68, 0, true);
        check(30, 70, 0, false);
    }

    #[test]
    fn a_follow_rate_needs_five_requests() {
        let check = |requested, followed, expected| {
            let counts = Counts { times_requested: requested, times_followed: followed, ..Counts::default() };
            assert_eq!(low_follow_rate(&counts, &CleanupOptions::default()), expected, "{counts:?}");
        };
        check(5, 1.5, false);
        check(5, 1.0, true);
        check(4, 0.0, false);
        check(100, 29.9, true);
        check(100, 30.0, false);
        check(0, 0.0, false);
    }

    #[test]
    fn requests_without_a_review_say_nothing_about_following() {
        let check = |requested, unreviewed, followed, expected| {
            let counts = Counts {
                times_requested: requested,
                times_unreviewed: unreviewed,
                times_followed: followed,
                ..Counts::default()
            };
            assert_eq!(low_follow_rate(&counts, &CleanupOptions::default()), expected, "{counts:?}");
        };
        check(5, 5, 0.0, false);
        check(9, 5, 0.0, false);
        check(10, 5, 0.0, true);
        check(10, 5, 1.5, false);
        check(100, 90, 3.0, false);
        let any = CleanupOptions { min_requests: 0, ..CleanupOptions::default() };
        let silent = Counts { times_requested: 5, times_unreviewed: 5, ..Counts::default() };
        assert!(!low_follow_rate(&silent, &any), "no review is no share");
    }
}
