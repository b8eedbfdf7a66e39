//! Checks a reflection: matches its reviews with the skills that the attempt really received, and its confidence with
//! what the trace supports.

use std::collections::BTreeSet;

use apprentice_protocol::{RetrievedSkill, SkillId, StepId, Trajectory, Verdict};
use serde::{Deserialize, Serialize};

use super::{Confidence, Learning, SkillReview, TrajectoryReflection};

/// A part of a reflection that is not used, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "dropped", rename_all = "snake_case")]
pub enum Dropped {
    /// A review of a skill that the attempt never received.
    UnknownSkill {
        /// The skill id as the model wrote it.
        skill_id: String,
    },
    /// A second review of the same skill.
    SecondReview {
        /// The skill.
        skill: SkillId,
    },
    /// A learning over the cap. It is stored as a candidate.
    OverCap {
        /// Position in the list.
        index: usize,
    },
    /// A text that no skill may contain.
    Refused {
        /// Location of the text.
        place: String,
        /// Reason for refusing it.
        why: String,
    },
}

/// A reflection that matches its trajectory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Reviews, at most one per received skill, in the order of receipt.
    pub reviews: Vec<(SkillId, SkillReview)>,
    /// Skills that were received and not reviewed.
    pub unreviewed: Vec<SkillId>,
    /// Learnings with adjusted confidence.
    pub learnings: Vec<Learning>,
    /// Learnings over the cap.
    pub overflow: Vec<Learning>,
    /// Parts that were not used.
    pub dropped: Vec<Dropped>,
}

impl Checked {
    /// Returns every free text, for scanning.
    pub fn texts(&self) -> Vec<&str> {
        let reviews = self.reviews.iter().flat_map(|(_, review)| review.texts());
        let learnings = self.learnings.iter().chain(&self.overflow);
        reviews.chain(learnings.flat_map(|learning| [learning.situation(), learning.guidance()])).collect()
    }

    /// Removes texts that no skill may contain, so that not even the log contains them.
    #[must_use]
    pub fn without_refused(mut self, refuse: impl Fn(&str) -> Option<String>) -> Self {
        let Self { reviews, unreviewed, learnings, overflow, dropped } = &mut self;
        reviews.retain(|(skill, review)| {
            let why = review.texts().into_iter().find_map(&refuse);
            if let Some(why) = &why {
                unreviewed.push(skill.clone());
                dropped.push(Dropped::Refused { place: format!("review of {skill}"), why: why.clone() });
            }
            why.is_none()
        });
        for (name, list) in [("learning", learnings), ("learning over the cap", overflow)] {
            list.retain(|learning| {
                let why = [learning.situation(), learning.guidance()].into_iter().find_map(&refuse);
                if let Some(why) = &why {
                    dropped.push(Dropped::Refused { place: name.to_owned(), why: why.clone() });
                }
                why.is_none()
            });
        }
        self
    }
}

/// The evidence that a learning's confidence is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceRule {
    /// The steps of the trace. A learning that names none of them is a suspicion.
    Trace,
    /// The reflection's own word, where no trace is available.
    Word,
}

/// Matches a reflection with its trajectory.
pub fn check(
    reflection: TrajectoryReflection,
    trajectory: &Trajectory,
    grounds: EvidenceRule,
    max_learnings: usize,
) -> Checked {
    let mut checked = Checked::default();
    let received: Vec<&RetrievedSkill> = unique(&trajectory.skills);
    let mut reviews: Vec<Option<SkillReview>> = vec![None; received.len()];
    for review in reflection.skill_reviews {
        match received.iter().position(|skill| skill.id.as_str() == review.skill_id()) {
            None => checked.dropped.push(Dropped::UnknownSkill { skill_id: review.skill_id().to_owned() }),
            Some(place) if reviews[place].is_some() => {
                checked.dropped.push(Dropped::SecondReview { skill: received[place].id.clone() });
            }
            Some(place) => reviews[place] = Some(review),
        }
    }
    for (skill, review) in received.iter().zip(reviews) {
        match review {
            Some(review) => checked.reviews.push((skill.id.clone(), review)),
            None => checked.unreviewed.push(skill.id.clone()),
        }
    }
    let steps: BTreeSet<StepId> = trajectory.steps.iter().map(|step| step.id).collect();
    for (index, mut learning) in reflection.new_learnings.into_iter().enumerate() {
        match grounds {
            EvidenceRule::Trace => adjust_confidence(&mut learning, &steps, trajectory.verdict),
            EvidenceRule::Word if trajectory.verdict == Verdict::Pass => {}
            EvidenceRule::Word => learning.adjust_confidence(Confidence::Low, learning.evidence().to_vec()),
        }
        if index < max_learnings {
            checked.learnings.push(learning);
        } else {
            checked.dropped.push(Dropped::OverCap { index });
            checked.overflow.push(learning);
        }
    }
    checked
}

fn unique(skills: &[RetrievedSkill]) -> Vec<&RetrievedSkill> {
    let mut seen = BTreeSet::new();
    skills.iter().filter(|skill| seen.insert(skill.id.clone())).collect()
}

/// Adjusts a learning: drops evidence that is not a step of the attempt. A learning without evidence or from a failed
/// attempt becomes a suspicion.
fn adjust_confidence(learning: &mut Learning, steps: &BTreeSet<StepId>, verdict: Verdict) {
    let evidence: Vec<StepId> =
        learning.evidence().iter().copied().filter(|step| steps.contains(step)).collect();
    let proven = verdict == Verdict::Pass && !evidence.is_empty();
    let confidence = if proven { learning.confidence() } else { Confidence::Low };
    learning.adjust_confidence(confidence, evidence);
}

/// Returns the contradictions between a reflection and the trace that the model can correct.
pub(super) fn trace_problems(reflection: &TrajectoryReflection, trajectory: &Trajectory) -> Vec<String> {
    let steps = trajectory.steps.len();
    learning_problems(reflection, |wasted| {
        let fits = (1..=steps).contains(&usize::try_from(wasted).unwrap_or(usize::MAX));
        (!fits).then(|| format!("the attempt has {steps} steps, so it must be between 1 and {steps}"))
    })
}

/// Returns the deficiencies of a reflection for which no trace is available.
pub(crate) fn missing_parts(reflection: &TrajectoryReflection) -> Vec<String> {
    learning_problems(reflection, |wasted| (wasted == 0).then(|| "it must be 1 at least".to_owned()))
}

/// Returns learnings with empty texts, and learnings whose number of wasted steps violates the rule.
fn learning_problems(reflection: &TrajectoryReflection, rule: impl Fn(u32) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (index, learning) in reflection.new_learnings.iter().enumerate() {
        if let Learning::Friction(friction) = learning
            && let Some(why) = rule(friction.steps_wasted)
        {
            found.push(format!("new_learnings[{index}].steps_wasted is {}; {why}", friction.steps_wasted));
        }
        if learning.guidance().trim().is_empty() || learning.situation().trim().is_empty() {
            found.push(format!("new_learnings[{index}] needs both a situation and a guidance"));
        }
    }
    found
}
