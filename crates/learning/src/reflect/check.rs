//! Checks a reflection: matches its reviews with the skills that the attempt really received, and its confidence with
//! what the trace supports.

use std::collections::BTreeSet;

use apprentice_protocol::{RetrievedSkill, StepId, Trajectory, TrajectoryStep};
use apprentice_screening::{Finding, refused_words};
use apprentice_skillbook::review::{
    Checked, Confidence, Dropped, Learning, SkillReview, TrajectoryReflection,
};

use crate::adherence::adherence;

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
    for (index, mut learning) in reflection.new_learnings.into_iter().enumerate() {
        match grounds {
            EvidenceRule::Trace => adjust_confidence(&mut learning, trajectory),
            EvidenceRule::Word if trajectory.passed() => {}
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

/// Adjusts a learning: drops evidence that is not a step of the attempt. A learning becomes a suspicion without
/// evidence, from an attempt that is not known to have passed, or if it rests on steps that came after everything that the checks read.
fn adjust_confidence(learning: &mut Learning, trajectory: &Trajectory) {
    let steps: BTreeSet<StepId> = trajectory.steps.iter().map(|step| step.id).collect();
    let evidence: Vec<StepId> =
        learning.evidence().iter().copied().filter(|step| steps.contains(step)).collect();
    let proven = trajectory.passed()
        && !evidence.is_empty()
        && !evidence.iter().all(|step| is_afterthought(*step, &trajectory.steps));
    let confidence = if !proven {
        Confidence::Low
    } else if did_it(learning, &evidence, &trajectory.steps) {
        learning.confidence()
    } else {
        // What no cited step did was seen at most, and not confirmed.
        learning.confidence().min(Confidence::Medium)
    };
    learning.adjust_confidence(confidence, evidence);
}

/// Returns whether the cited steps did what a learning says: one of the menus, keys and labels that it names, or, if it
/// names none, anything.
fn did_it(learning: &Learning, cited: &[StepId], steps: &[TrajectoryStep]) -> bool {
    let cited: Vec<TrajectoryStep> = steps.iter().filter(|step| cited.contains(&step.id)).cloned().collect();
    let named = adherence(learning.guidance(), &cited, StepId(0));
    match named.verdict() {
        Some(_) => !named.done.is_empty(),
        None => cited.iter().flat_map(|step| &step.actions).any(|action| action.outcome == "done"),
    }
}

/// Returns whether a step came after the last one that changed what the checks read, and is known to have changed
/// nothing of it. Such a step did not bring the attempt to its end.
fn is_afterthought(step: StepId, steps: &[TrajectoryStep]) -> bool {
    let changed = |step: &TrajectoryStep| step.changed_checked_state == Some(true);
    let mut after = steps.iter().rev().take_while(|step| !changed(step));
    steps.iter().any(changed)
        && after.any(|step_after| step_after.id == step && step_after.changed_checked_state == Some(false))
}

/// A fault of one learning that the model can correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Position of the learning in the list.
    learning: usize,
    /// True if the learning is of no use with this fault.
    is_fatal: bool,
    /// Description for the model.
    pub(super) why: String,
}

/// Returns the contradictions between a reflection and the trace that the model can correct.
pub(super) fn trace_problems(reflection: &TrajectoryReflection, trajectory: &Trajectory) -> Vec<Problem> {
    let steps = trajectory.steps.len();
    let mut found = learning_problems(reflection, |wasted| {
        let fits = (1..=steps).contains(&usize::try_from(wasted).unwrap_or(usize::MAX));
        (!fits).then(|| format!("the attempt has {steps} steps, so it must be between 1 and {steps}"))
    });
    for (index, learning) in reflection.new_learnings.iter().enumerate() {
        found.extend(evidence_problem(index, learning, &trajectory.steps));
        found.extend(text_problem(index, learning));
    }
    found
}

/// Returns the problem of a learning whose words no skill may hold, or that names a way out of the program. It can be put
/// otherwise; if it is not, it is kept, and what is written of it is judged.
fn text_problem(index: usize, learning: &Learning) -> Option<Problem> {
    let (finding, words) = learning.texts().into_iter().find_map(refused_words)?;
    let quoted = match finding {
        Finding::Secret => String::new(),
        Finding::Injection | Finding::Address => format!(" ({words:?})"),
    };
    let why = format!(
        "new_learnings[{index}]: {}{quoted}; put it otherwise, or leave the learning out",
        finding.why()
    );
    Some(Problem { learning: index, is_fatal: false, why })
}

/// Returns the problem of a learning that cites no step, or steps that the attempt does not have.
fn evidence_problem(index: usize, learning: &Learning, steps: &[TrajectoryStep]) -> Option<Problem> {
    let is_step = |id: &&StepId| steps.iter().any(|step| step.id == **id);
    let (there, missing): (Vec<&StepId>, Vec<&StepId>) = learning.evidence().iter().partition(is_step);
    let is_fatal = there.is_empty();
    let range = match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => format!("its steps are {} to {}", first.id, last.id),
        _ => "it has no steps".to_owned(),
    };
    let why = if is_fatal && missing.is_empty() {
        format!(
            "new_learnings[{index}] cites no step; name in `evidence` the steps of this attempt that show it \
             ({range}), or leave the learning out"
        )
    } else if let Some(one) = missing.first() {
        format!(
            "new_learnings[{index}] cites {one}, which is no step of this attempt; {range}. Cite the steps that \
             show it, or leave the learning out"
        )
    } else {
        return None;
    };
    Some(Problem { learning: index, is_fatal, why })
}

/// Removes the learnings whose problems make them useless.
pub(super) fn without_problems(
    mut reflection: TrajectoryReflection,
    problems: Vec<Problem>,
) -> (TrajectoryReflection, Vec<Dropped>) {
    let mut number = 0;
    reflection.new_learnings.retain(|_| {
        number += 1;
        !problems.iter().any(|problem| problem.is_fatal && problem.learning + 1 == number)
    });
    let fatal = problems.into_iter().filter(|problem| problem.is_fatal);
    let dropped = fatal.map(|problem| Dropped::Refused {
        place: format!("new_learnings[{}]", problem.learning),
        why: problem.why,
        text: String::new(),
    });
    (reflection, dropped.collect())
}

/// Returns the deficiencies of a reflection for which no trace is available.
pub(crate) fn missing_parts(reflection: &TrajectoryReflection) -> Vec<String> {
    let found =
        learning_problems(reflection, |wasted| (wasted == 0).then(|| "it must be 1 at least".to_owned()));
    found.into_iter().map(|problem| problem.why).collect()
}

/// Returns learnings with empty texts, and learnings whose number of wasted steps violates the rule.
fn learning_problems(
    reflection: &TrajectoryReflection,
    rule: impl Fn(u32) -> Option<String>,
) -> Vec<Problem> {
    let mut found = Vec::new();
    for (index, learning) in reflection.new_learnings.iter().enumerate() {
        let mut add = |why| found.push(Problem { learning: index, is_fatal: true, why });
        if let Learning::Friction(friction) = learning
            && let Some(why) = rule(friction.steps_wasted)
        {
            add(format!("new_learnings[{index}].steps_wasted is {}; {why}", friction.steps_wasted));
        }
        if learning.guidance().trim().is_empty() || learning.situation().trim().is_empty() {
            add(format!("new_learnings[{index}] needs both a situation and a guidance"));
        }
    }
    found
}
