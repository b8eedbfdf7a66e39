//! What the same models reach without a book when they are put together: the student first, and the teacher where
//! the student said itself, or was told by a limit, that it did not get there. Computed from what was measured; the
//! check decides nothing about who works.

use std::collections::BTreeMap;

use apprentice_protocol::{StopReason, TaskId, Usage, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tally::Grouped;
use crate::row::{Role, TrialRow};
use crate::stats::mean;

/// The arm of those who work without help.
const ALONE: &str = "none";

/// A way to spend money on models instead of on a book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rival {
    /// What it is called.
    pub name: String,
    /// Who works first.
    pub student: String,
    /// Who takes over.
    pub teacher: String,
    /// Templates on which both were measured.
    pub templates: usize,
    /// Success, the mean over templates.
    pub success: f64,
    /// The share of trials that were handed over.
    pub handed_over: f64,
    /// Tokens per trial, both together.
    pub tokens: f64,
    /// US dollars per trial; none where somebody has no price.
    pub cost_usd: Option<f64>,
}

/// One trial of the two together.
struct Together {
    passed: f64,
    handed: f64,
    tokens: f64,
    cost: Option<f64>,
}

/// The rivals, for every student and teacher that were measured without help.
pub(super) fn rivals(grouped: &Grouped<'_>) -> Vec<Rival> {
    let alone = |role: Role| {
        grouped.iter().filter(move |(key, _)| key.role == role && key.arm == ALONE).map(|(key, trials)| {
            let judged = trials.iter().filter(|trial| !trial.is_void()).map(|trial| trial.last);
            (key.model.as_str(), judged.collect::<Vec<&TrialRow>>())
        })
    };
    let mut found = Vec::new();
    for (teacher, taught) in alone(Role::Teacher) {
        for (student, own) in alone(Role::Student) {
            found.extend(rival((student, &own), (teacher, &taught)));
        }
    }
    found
}

fn rival((student, own): (&str, &[&TrialRow]), (teacher, taught): (&str, &[&TrialRow])) -> Option<Rival> {
    let mut by_template: BTreeMap<&str, BTreeMap<&TaskId, Vec<f64>>> = BTreeMap::new();
    let mut trials: Vec<Together> = Vec::new();
    for row in own {
        let behind: Vec<&&TrialRow> = taught.iter().filter(|other| other.task == row.task).collect();
        let Some(one) = together(row, &behind) else { continue };
        by_template.entry(&row.template).or_default().entry(&row.task).or_default().push(one.passed);
        trials.push(one);
    }
    let templates = by_template.len();
    let of_template = |tasks: BTreeMap<&TaskId, Vec<f64>>| mean(tasks.into_values().filter_map(mean));
    let success = mean(by_template.into_values().filter_map(of_template))?;
    let cost: Option<Vec<f64>> = trials.iter().map(|one| one.cost).collect();
    Some(Rival {
        name: "student, then teacher".into(),
        student: student.to_owned(),
        teacher: teacher.to_owned(),
        templates,
        success,
        handed_over: mean(trials.iter().map(|one| one.handed))?,
        tokens: mean(trials.iter().map(|one| one.tokens))?,
        cost_usd: cost.and_then(mean),
    })
}

/// A student's trial, and behind it the mean of the teacher's on the same task if the student did not get there.
fn together(row: &TrialRow, behind: &[&&TrialRow]) -> Option<Together> {
    let passed = |row: &TrialRow| f64::from(u8::from(row.verdict == Verdict::Pass));
    let reached = matches!(row.stop_reason, Some(StopReason::Done | StopReason::Answered));
    if reached {
        let (passed, cost) = (passed(row), row.cost_usd);
        return Some(Together { passed, handed: 0.0, tokens: tokens(&row.tokens), cost });
    }
    let costs: Option<Vec<f64>> = behind.iter().map(|other| other.cost_usd).collect();
    Some(Together {
        passed: mean(behind.iter().map(|other| passed(other)))?,
        handed: 1.0,
        tokens: tokens(&row.tokens) + mean(behind.iter().map(|other| tokens(&other.tokens)))?,
        cost: row.cost_usd.zip(costs.and_then(mean)).map(|(own, more)| own + more),
    })
}

#[expect(clippy::cast_precision_loss, reason = "tokens of a trial are far below 2^52")]
fn tokens(usage: &Usage) -> f64 {
    (usage.input + usage.output) as f64
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{StopReason, Verdict};

    use super::rivals;
    use crate::report::tally::by_key;
    use crate::row::Role;
    use crate::rows::sample::row;

    #[test]
    fn the_teacher_takes_over_where_the_student_says_so_and_not_where_the_check_does() {
        let teacher = |task: &str, verdict| {
            let mut row = row("none", task, task, 0, verdict);
            (row.role, row.model) = (Role::Teacher, "builtin/explorer".into());
            row.trial = apprentice_protocol::TrialId::new(format!("teacher-{task}"));
            row
        };
        // The first says it is done and is not; the second gives up; the third passes by itself.
        let mut gave_up = row("none", "b", "b", 0, Verdict::Fail);
        gave_up.stop_reason = Some(StopReason::GaveUp);
        let rows = [
            row("none", "a", "a", 0, Verdict::Fail),
            gave_up,
            row("none", "c", "c", 0, Verdict::Pass),
            teacher("a", Verdict::Pass),
            teacher("b", Verdict::Pass),
            teacher("c", Verdict::Pass),
        ];
        let found = rivals(&by_key(&rows));
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.templates, one.cost_usd), (3, None));
        assert!(
            (one.success - 2.0 / 3.0).abs() < 1e-9 && (one.handed_over - 1.0 / 3.0).abs() < 1e-9,
            "{one:?}"
        );
        assert!((one.tokens - 9400.0 * 4.0 / 3.0).abs() < 1e-6, "{one:?}");
        assert!(rivals(&by_key(&rows[..3])).is_empty(), "nobody to hand over to");
    }
}
