//! Long attempts: which steps are shown, over which requests they are spread, and how the answers are joined.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use apprentice_protocol::{StepId, TrajectoryStep};
use apprentice_skillbook::review::{Learning, TrajectoryReflection};

/// Steps at the start and at the end of an attempt that are shown before all others.
const HEAD_STEPS: usize = 2;
const TAIL_STEPS: usize = 6;

/// Returns the rank of a step between the first and the last ones. A change of what the checks read counts most, then
/// a failure, then an action on a named element, then the number of changed lines.
fn rank(step: &TrajectoryStep) -> (bool, bool, bool, usize) {
    let failed = step.actions.iter().any(|action| action.outcome.starts_with("failed"));
    let named = step.actions.iter().any(|action| action.name.is_some());
    (step.changed_checked_state == Some(true), failed, named, step.seen.changed.len())
}

/// Selects the steps that fit into `tokens`, in order: the last ones, the first ones, and the weightiest between them.
/// `costs` are the tokens of the steps.
pub(super) fn salient(steps: &[TrajectoryStep], costs: &[u64], tokens: u64) -> Vec<usize> {
    let tail = steps.len().saturating_sub(TAIL_STEPS);
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|index| {
        let class: u8 = match *index {
            index if index >= tail => 0,
            index if index < HEAD_STEPS => 1,
            _ => 2,
        };
        let weight = (class == 2).then(|| Reverse(rank(&steps[*index])));
        (class, weight, if class == 0 { usize::MAX - index } else { *index })
    });
    let mut left = tokens;
    let mut kept = BTreeSet::new();
    for index in order {
        let Some(rest) = left.checked_sub(costs[index]) else { break };
        left = rest;
        kept.insert(index);
    }
    kept.into_iter().collect()
}

/// Spreads the steps of these costs over requests of `room` tokens each, in order. A step alone may exceed the room.
fn packed(costs: &[u64], room: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (index, cost) in costs.iter().enumerate() {
        match parts.last_mut().filter(|_| used + cost <= room) {
            Some(part) => part.end = index + 1,
            None => {
                used = 0;
                parts.push(index..index + 1);
            }
        }
        used += cost;
    }
    parts
}

/// Returns the indexes of the steps shown, one list per request: at most `most` lists of at most `room` tokens.
pub(super) fn parted(steps: &[TrajectoryStep], costs: &[u64], room: u64, most: usize) -> Vec<Vec<usize>> {
    let most = most.max(1);
    let mut limit = room.saturating_mul(u64::try_from(most).unwrap_or(u64::MAX));
    loop {
        let kept = salient(steps, costs, limit);
        let chosen: Vec<u64> = kept.iter().map(|index| costs[*index]).collect();
        let parts = packed(&chosen, room);
        if parts.len() <= most {
            return parts.into_iter().map(|part| kept[part].to_vec()).collect();
        }
        // The ends of the requests waste room, so the step that tells least is left out.
        limit = chosen.iter().sum::<u64>().saturating_sub(1);
    }
}

/// Adds the answer about a later part. A later review of a skill replaces an earlier one, and a later learning
/// replaces an earlier one about the same program that the same steps show.
pub(super) fn join(joined: &mut TrajectoryReflection, later: TrajectoryReflection) {
    for review in later.skill_reviews {
        joined.skill_reviews.retain(|earlier| earlier.skill_id() != review.skill_id());
        joined.skill_reviews.push(review);
    }
    // One answer may learn several things from the same steps.
    joined
        .new_learnings
        .retain(|earlier| !later.new_learnings.iter().any(|learning| is_same(earlier, learning)));
    joined.new_learnings.extend(later.new_learnings);
}

fn is_same(left: &Learning, right: &Learning) -> bool {
    let steps = |learning: &Learning| learning.evidence().iter().copied().collect::<BTreeSet<StepId>>();
    left.scope() == right.scope() && !left.evidence().is_empty() && steps(left) == steps(right)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Seen, StepId, TrajectoryStep};
    use serde_json::json;

    use super::{TrajectoryReflection, join, packed, parted, salient};

    fn steps(count: u32) -> Vec<TrajectoryStep> {
        (1..=count).map(|number| TrajectoryStep::new(StepId(number), Seen::default())).collect()
    }

    #[test]
    fn figures_may_be_absent_empty_or_null() {
        let learning = json!({"type": "discovered", "scope": "os", "situation": "s", "guidance": "g",
                              "confidence": "low", "evidence": ["s1"]});
        let read = |figures: Option<serde_json::Value>| {
            let mut learning = learning.clone();
            if let Some(figures) = figures {
                learning["figures"] = figures;
            }
            let answer = json!({ "new_learnings": [learning] }).to_string();
            apprentice_model_json::from_text::<TrajectoryReflection>(&answer).expect("reads")
        };
        for figures in [Some(json!([])), Some(json!(null))] {
            assert_eq!(read(figures), read(None));
        }
        assert!(read(None).new_learnings[0].figures().is_empty());
    }

    #[test]
    fn the_last_six_and_the_first_two_come_before_the_weightiest() {
        let mut steps = steps(20);
        steps[9].seen.changed = vec!["+ x".into(); 9];
        steps[11].changed_checked_state = Some(true);
        let shown = |tokens| salient(&steps, &[1; 20], tokens);
        assert_eq!(shown(6), [14, 15, 16, 17, 18, 19]);
        assert_eq!(shown(8), [0, 1, 14, 15, 16, 17, 18, 19]);
        assert_eq!(shown(9), [0, 1, 11, 14, 15, 16, 17, 18, 19]);
        assert_eq!(shown(10), [0, 1, 9, 11, 14, 15, 16, 17, 18, 19]);
        assert_eq!(shown(11), [0, 1, 2, 9, 11, 14, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn requests_are_filled_to_the_last_token() {
        assert_eq!(packed(&[5, 5, 5], 10), [0..2, 2..3]);
        assert_eq!(packed(&[5, 6, 5], 10), [0..1, 1..2, 2..3]);
        assert_eq!(packed(&[50, 1], 10), [0..1, 1..2]);
        assert!(packed(&[], 10).is_empty());
    }

    #[test]
    fn there_are_never_more_requests_than_allowed() {
        let steps = steps(100);
        let shown = parted(&steps, &[6; 100], 10, 3);
        assert_eq!(shown.len(), 3);
        assert_eq!(shown.concat(), [97, 98, 99]);
        assert_eq!(parted(&steps, &[1; 100], 50, 3), [(0..50).collect::<Vec<_>>(), (50..100).collect()]);
        assert_eq!(parted(&steps[..1], &[1], 50, 0), [[0]]);
    }

    #[test]
    fn no_more_steps_are_left_out_than_the_ends_of_the_requests_waste() {
        let steps = steps(10);
        // Two requests of 100 hold four steps of 40, although 200 tokens hold five. The first and the last ones stay.
        assert_eq!(parted(&steps, &[40; 10], 100, 2), [[6, 7], [8, 9]]);
        // All steps but one have room: of those in the middle, the one that tells least goes.
        let mut costs = [18; 10];
        costs[4] = 38;
        assert_eq!(parted(&steps, &costs, 100, 2), [vec![0, 1, 2, 4], vec![5, 6, 7, 8, 9]]);
    }

    #[test]
    fn what_the_same_steps_show_is_told_once() {
        let learning = |scope: &str, evidence: &[&str], guidance: &str| {
            json!({"type": "discovered", "scope": scope, "situation": "s", "guidance": guidance,
                   "confidence": "high", "evidence": evidence})
        };
        let review =
            |kind: &str| json!({"skill_id": "a/b", "followed": "yes", "impact": "neutral", "reason": kind});
        let answer = |reviews: &[_], learnings: &[_]| -> TrajectoryReflection {
            serde_json::from_value(json!({"skill_reviews": reviews, "new_learnings": learnings}))
                .expect("reads")
        };
        let mut joined = answer(&[review("marginal")], &[learning("gimp", &["s1", "s2"], "early")]);
        let later = [
            learning("gimp", &["s2", "s1"], "late"),
            learning("os", &["s1", "s2"], "other program"),
            learning("gimp", &["s1"], "other steps"),
            learning("gimp", &["s1"], "another thing that they show"),
        ];
        join(&mut joined, answer(&[review("not_needed")], &later));
        assert_eq!(joined, answer(&[review("not_needed")], &later));
    }
}
