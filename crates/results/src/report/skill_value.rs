//! The value of individual skills: from trials with the book without that skill, from trials in which a random draw hid
//! some skills, and, without such trials, from pairs that changed outcome while a skill was viewed. Exploratory
//! throughout.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{SkillId, TaskId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ablations::AblationArm;
use crate::arm::{Arm, is_masked};
use crate::compare::{CompareOptions, Finding, compare};
use crate::stats::{self, Interval, mean, sign_flip};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_runs::rows::trials;

/// Losses that raise an alarm, if they exceed the gains.
const MIN_ALARM_LOSSES: u32 = 2;

/// The book compared with the book without one skill, on the trials that both have. Trials that could view the skill
/// and did not count as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillAblation {
    /// Templates with pairs.
    pub templates: usize,
    /// Pairs of trials.
    pub pairs: usize,
    /// Pairs in which the trial with the full book viewed the skill.
    pub viewed: usize,
    /// Success with the skill minus success without it, the mean over templates.
    pub difference: Option<f64>,
    /// The 95 % confidence interval.
    pub ci95: Option<Interval>,
    /// Two-sided p value of the sign-flip test.
    pub p: Option<f64>,
    /// The conclusion; not corrected for the number of skills.
    pub finding: Finding,
}

/// The value of one skill to the student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillValue {
    /// The skill's id.
    pub skill: String,
    /// Trials of the arm `pull` in which the skill was viewed.
    pub viewed: u32,
    /// Of those, trials that passed where the same task and seed failed without a book.
    pub gained: u32,
    /// Of those, trials that failed where the same task and seed passed without a book.
    pub lost: u32,
    /// Judged trials of the arm `masked` that could view the skill, on templates where it was ever viewed.
    pub shown: u32,
    /// Judged trials of the arm `masked` from which the skill was hidden, on the same templates.
    pub hidden: u32,
    /// Templates with both kinds of trials.
    pub templates: usize,
    /// Mean difference over those templates, shown minus hidden.
    pub difference: Option<f64>,
    /// The 95 % confidence interval.
    pub ci95: Option<Interval>,
    /// The ablation result, if the skill was left out.
    #[serde(default)]
    pub left_out: Option<SkillAblation>,
    /// Whether the skill may do harm: an interval lies below zero, the ablation found the book better without it, or
    /// more pairs were lost than won while it was viewed.
    pub alarm: bool,
}

/// Returns the values of all skills that a student ever viewed, least valuable first.
pub(super) fn values(rows: &[TrialRow]) -> Vec<SkillValue> {
    let found = trials(rows);
    let judged: Vec<&TrialRow> = found
        .iter()
        .map(|trial| trial.last)
        .filter(|row| row.role != Role::Teacher && row.role != Role::Baseline && row.verdict != Verdict::Void)
        .collect();
    let left_out: BTreeMap<SkillId, SkillAblation> = left_out(rows);
    let looked_at = judged.iter().flat_map(|row| &row.skills_viewed);
    let skills: BTreeSet<&SkillId> = looked_at.chain(left_out.keys()).collect();
    let mut values: Vec<SkillValue> =
        skills.into_iter().map(|skill| value(skill, &judged, left_out.get(skill))).collect();
    let worth = |one: &SkillValue| {
        let left_out = one.left_out.as_ref().and_then(|left_out| left_out.difference);
        left_out.or(one.difference).unwrap_or_else(|| f64::from(one.gained) - f64::from(one.lost))
    };
    values.sort_by(|one, other| worth(one).total_cmp(&worth(other)));
    values
}

/// Evaluates the skill ablations. The usual comparison rules apply: void trials, missing partners and too few templates
/// give no difference.
fn left_out(rows: &[TrialRow]) -> BTreeMap<SkillId, SkillAblation> {
    let students = || rows.iter().filter(|row| row.role == Role::Student);
    let arms: BTreeMap<(SkillId, &str), &str> = students()
        .filter_map(|row| match AblationArm::parse(&row.arm)? {
            AblationArm::Without(skill) => Some(((skill, row.model.as_str()), row.arm.as_str())),
            AblationArm::MoreSteps | AblationArm::Retry(_) | AblationArm::Reworded(_) => None,
        })
        .collect();
    let told = |((skill, model), arm): ((SkillId, &str), &str)| {
        let of = |arm: &str| -> Vec<TrialRow> {
            students().filter(|row| row.model == model && row.arm == arm).cloned().collect()
        };
        let (without, with) = (of(arm), of(Arm::Pull.as_str()));
        let found = compare(&without, &with, CompareOptions::default()).ok()?;
        let places: BTreeSet<(&TaskId, u32)> = without.iter().map(|row| (&row.task, row.seed)).collect();
        let looked = trials(&with).into_iter().map(|trial| trial.last);
        let looked = looked.filter(|row| places.contains(&(&row.task, row.seed)));
        let viewed = looked.filter(|row| row.skills_viewed.contains(&skill)).count();
        let left_out = SkillAblation {
            templates: found.templates,
            pairs: found.trials,
            viewed,
            difference: found.difference,
            ci95: found.ci95,
            p: found.p_signflip,
            finding: found.verdict,
        };
        Some((skill, left_out))
    };
    arms.into_iter().filter_map(told).collect()
}

fn value(skill: &SkillId, judged: &[&TrialRow], left_out: Option<&SkillAblation>) -> SkillValue {
    let of_arm = |arm: Arm| judged.iter().filter(move |row| row.arm == arm.as_str());
    let alone: BTreeMap<(&str, &TaskId, u32), bool> =
        of_arm(Arm::None).map(|row| ((row.model.as_str(), &row.task, row.seed), passed(row))).collect();
    let (mut viewed, mut gained, mut lost) = (0, 0, 0);
    for row in of_arm(Arm::Pull).filter(|row| row.skills_viewed.contains(skill)) {
        viewed += 1;
        match (alone.get(&(row.model.as_str(), &row.task, row.seed)), passed(row)) {
            (Some(false), true) => gained += 1,
            (Some(true), false) => lost += 1,
            (Some(_) | None, _) => {}
        }
    }
    let bears: BTreeSet<&str> = judged
        .iter()
        .filter(|row| row.skills_viewed.contains(skill))
        .map(|row| row.template.as_str())
        .collect();
    let masked = || of_arm(Arm::Masked).filter(|row| bears.contains(row.template.as_str()));
    let hidden = |row: &&&TrialRow| is_masked(skill, &row.task, row.seed);
    let differences = differences(&masked().map(|row| (*row, hidden(&row))).collect::<Vec<_>>());
    let test = sign_flip(&differences, stats::ALPHA, 0);
    let ci95 = test.map(|test| test.interval.within(-1.0, 1.0));
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    SkillValue {
        skill: skill.to_string(),
        viewed,
        gained,
        lost,
        shown: count(masked().filter(|row| !hidden(row)).count()),
        hidden: count(masked().filter(hidden).count()),
        templates: differences.len(),
        difference: test.map(|test| test.mean),
        ci95,
        left_out: left_out.cloned(),
        alarm: ci95.is_some_and(|ci| ci.high < 0.0)
            || left_out.is_some_and(|found| found.finding == Finding::Worse)
            || (lost >= MIN_ALARM_LOSSES && lost > gained),
    }
}

fn passed(row: &TrialRow) -> bool {
    row.verdict == Verdict::Pass
}

/// Shown minus hidden for each template that has both.
fn differences(trials: &[(&TrialRow, bool)]) -> Vec<f64> {
    let mut templates: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for (row, hidden) in trials {
        let sides = templates.entry(&row.template).or_default();
        sides[usize::from(*hidden)].push(f64::from(u8::from(passed(row))));
    }
    let both = templates.into_values();
    both.filter_map(|[seen, hidden]| Some(mean(seen)? - mean(hidden)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::{SkillValue, values};
    use crate::arm::is_masked;
    use crate::compare::Finding;
    use crate::sample::row;
    use apprentice_protocol::{SkillId, TaskId, Verdict};
    use apprentice_runs::row::TrialRow;

    fn trial(arm: &str, task: u32, seed: u32, pass: bool, viewed: &[&SkillId]) -> TrialRow {
        let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
        let mut row = row(arm, &format!("template{task}"), &format!("task{task}"), seed, verdict);
        row.skills_viewed = viewed.iter().map(|skill| (*skill).clone()).collect();
        row
    }

    #[test]
    fn a_skill_that_helps_one_that_does_nothing_and_one_that_harms_are_told_apart() {
        let skill = |name: &str| SkillId::parse(name).expect("an id");
        let (good, idle, bad) = (skill("mousepad/good"), skill("mousepad/idle"), skill("mousepad/bad"));
        let mut rows = Vec::new();
        for task in 0..12 {
            for seed in 0..8 {
                let id = TaskId::new(format!("task{task}"));
                let seen = |skill: &SkillId| !is_masked(skill, &id, seed);
                // Half of the tasks depend on the good skill, the others on the bad one.
                let pass = if task % 2 == 0 { seen(&good) } else { !seen(&bad) };
                let bears = if task % 2 == 0 { &good } else { &bad };
                let viewed: Vec<&SkillId> = [bears, &idle].into_iter().filter(|skill| seen(skill)).collect();
                rows.push(trial("masked", task, seed, pass, &viewed));
            }
        }
        let found = values(&rows);
        let names: Vec<&str> = found.iter().map(|one| one.skill.as_str()).collect();
        assert_eq!(names, ["mousepad/bad", "mousepad/idle", "mousepad/good"], "{found:#?}");
        assert!(found[0].difference == Some(-1.0) && found[2].difference == Some(1.0));
        assert!(found[1].ci95.expect("an interval").contains(0.0), "{:?}", found[1]);
        // The random draw may show a skill in all of a template's trials, or in none.
        assert!(found[0].templates == 6 && found[2].templates == 6 && found[1].templates >= 10, "{found:#?}");
        assert!(!found[1].alarm && !found[2].alarm);
        assert!(found[0].shown + found[0].hidden == 48 && found[0].hidden > 10);
    }

    #[test]
    fn a_book_is_held_against_itself_without_one_skill() {
        let skill = |name: &str| SkillId::parse(name).expect("an id");
        let (good, idle, bad) = (skill("mousepad/good"), skill("mousepad/idle"), skill("mousepad/bad"));
        let mut rows = Vec::new();
        for task in 0..10 {
            // Half of the tasks need the good skill; the bad one spoils the others.
            rows.push(trial("pull", task, 0, task % 2 == 0, &[&good]));
            rows.push(trial("without:mousepad/good", task, 0, false, &[]));
            rows.push(trial("without:mousepad/idle", task, 0, task % 2 == 0, &[&good]));
            rows.push(trial("without:mousepad/bad", task, 0, true, &[&good]));
        }
        let found = values(&rows);
        let told = |id: &SkillId| {
            let one = found.iter().find(|one| one.skill == id.as_str()).expect("a value");
            let left_out = one.left_out.as_ref().expect("was left out");
            (left_out.templates, left_out.viewed, left_out.difference, left_out.finding, one.alarm)
        };
        // Five of ten are too few changes for the test: 0.0625.
        assert_eq!(told(&good), (10, 10, Some(0.5), Finding::Inconclusive, false));
        assert_eq!(told(&idle), (10, 0, Some(0.0), Finding::Inconclusive, false));
        assert_eq!(told(&bad), (10, 0, Some(-0.5), Finding::Inconclusive, false));
        for task in 10..16 {
            rows.push(trial("pull", task, 0, false, &[&bad]));
            rows.push(trial("without:mousepad/bad", task, 0, true, &[]));
        }
        let found = values(&rows);
        let worst = found.first().expect("a value");
        assert_eq!((worst.skill.as_str(), worst.alarm), ("mousepad/bad", true), "{found:#?}");
    }

    #[test]
    fn pairs_that_were_lost_while_a_skill_was_looked_at_raise_an_alarm() {
        let bad = SkillId::parse("mousepad/bad").expect("an id");
        let mut rows = Vec::new();
        for seed in 0..3 {
            rows.push(trial("none", 0, seed, true, &[]));
            rows.push(trial("pull", 0, seed, seed == 2, &[&bad]));
        }
        let [found]: [SkillValue; 1] = values(&rows).try_into().expect("one skill");
        assert_eq!((found.viewed, found.gained, found.lost, found.difference), (3, 0, 2, None));
        assert!(found.alarm);
        rows.push(trial("none", 1, 0, false, &[]));
        rows.push(trial("pull", 1, 0, true, &[&bad]));
        rows.push(trial("none", 1, 1, false, &[]));
        rows.push(trial("pull", 1, 1, true, &[&bad]));
        assert!(!values(&rows)[0].alarm, "it helped as often");
    }
}
