//! The comparisons of a report: computed, corrected as a family, split by stratum, and related to the teacher.

use std::collections::{BTreeMap, BTreeSet};

use super::grouping::{Grouped, clusters};
use super::headline;
use super::input::{ArmKey, Contrast, Family, ReportInput, Stratum};
use super::schema::{ComparisonReport, GapClosed, StratumReport};
use crate::ablations::AblationArm;
use crate::compare::{CompareOptions, Finding, PlannedCounts, Selector, compare};
use crate::stats::{self, holm, mean, sign_flip};
use apprentice_runs::row::{Role, TrialRow};

/// Minimum advantage of the teacher for a meaningful gap.
const MIN_GAP: f64 = 0.05;

/// The comparisons that were made, and the reasons others were refused.
pub(super) struct Comparisons {
    pub(super) made: Vec<ComparisonReport>,
    pub(super) refused: Vec<String>,
}

/// Makes the comparisons, primary family first. An incomplete plan gets no verdict.
pub(super) fn comparisons(rows: &[TrialRow], input: &ReportInput<'_>) -> Comparisons {
    let planned = input.planned;
    let planned_for = |key: &ArmKey| planned.iter().filter(|trial| trial.key == *key).count();
    let mut found = Comparisons { made: Vec::new(), refused: Vec::new() };
    let mut ordered: Vec<&Contrast> = input.contrasts.iter().collect();
    ordered.sort_by_key(|contrast| contrast.family);
    for contrast in ordered {
        let name = name_of(contrast);
        let side = |key: &ArmKey| {
            let (arm, role, model) = (Some(key.arm.clone()), Some(key.role), Some(key.model.clone()));
            Selector { arm, role, model, split: None }.select(rows)
        };
        let sides = PlannedCounts { a: planned_for(&contrast.control), b: planned_for(&contrast.treatment) };
        let planned = (!planned.is_empty()).then_some(sides);
        let options = CompareOptions { planned, mixed: input.mixed, ..CompareOptions::default() };
        match compare(&side(&contrast.control), &side(&contrast.treatment), options) {
            Ok(result) => found.made.push(ComparisonReport {
                name,
                family: contrast.family,
                p_holm: None,
                claim: (contrast.family != Family::Exploratory).then_some(result.verdict),
                sentence: String::new(),
                result,
            }),
            Err(error) => found.refused.push(format!("{name} was not compared: {error}")),
        }
    }
    correct(&mut found.made);
    for made in &mut found.made {
        made.sentence = format!("{}: {}", headline::claim(made), headline::result(made));
    }
    found
}

fn name_of(contrast: &Contrast) -> String {
    let Contrast { treatment, control, .. } = contrast;
    if (treatment.role, &treatment.model) == (control.role, &control.model) {
        return format!("{} vs {}", treatment.arm, control.arm);
    }
    if (treatment.role, &treatment.arm) == (control.role, &control.arm) {
        return format!("{} vs {} ({})", treatment.model, control.model, treatment.arm);
    }
    let side = |key: &ArmKey| format!("{} {}", key.role.as_str(), key.arm);
    format!("{} vs {}", side(treatment), side(control))
}

/// Applies Holm's correction to the secondary comparisons and withdraws claims that do not survive.
fn correct(made: &mut [ComparisonReport]) {
    let of_family = |one: &&mut ComparisonReport| one.family == Family::Secondary;
    let p_values: Vec<f64> =
        made.iter_mut().filter(of_family).map(|one| one.result.p_signflip.unwrap_or(1.0)).collect();
    for (one, p) in made.iter_mut().filter(of_family).zip(holm(&p_values)) {
        one.p_holm = Some(p);
        let claimed = matches!(one.claim, Some(Finding::Better | Finding::Worse));
        if claimed && p > stats::ALPHA {
            one.claim = Some(Finding::Inconclusive);
        }
    }
}

/// Computes the gap to each teacher that each student's book closes, on the templates that all three share.
pub(super) fn gaps(grouped: &Grouped<'_>) -> Vec<GapClosed> {
    let mut gaps = Vec::new();
    let teaches = |key: &ArmKey| key.role == Role::Teacher && !AblationArm::is_auxiliary(&key.arm);
    for (teacher, teacher_trials) in grouped.iter().filter(|(key, _)| teaches(key)) {
        for (with_book, pull_trials) in
            grouped.iter().filter(|(key, _)| key.role == Role::Student && key.arm == "pull")
        {
            let alone = ArmKey { arm: "none".into(), ..with_book.clone() };
            let Some(alone_trials) = grouped.get(&alone) else { continue };
            let sides = [alone_trials, pull_trials, teacher_trials].map(|trials| clusters(trials));
            let shared: BTreeSet<&String> = sides[0]
                .keys()
                .filter(|template| sides.iter().all(|side| side.contains_key(*template)))
                .collect();
            let rate = |side: usize| {
                mean(shared.iter().filter_map(|template| sides[side].get(*template)).map(|one| one.rate))
            };
            let (Some(alone), Some(helped), Some(taught)) = (rate(0), rate(1), rate(2)) else { continue };
            gaps.push(GapClosed {
                student: with_book.model.clone(),
                teacher: format!("{} ({})", teacher.model, teacher.arm),
                templates: shared.len(),
                alone,
                with_book: helped,
                taught,
                closed: (taught - alone >= MIN_GAP).then(|| (helped - alone) / (taught - alone)),
            });
        }
    }
    gaps
}

/// Repeats each confirmatory comparison on the templates of each stratum.
pub(super) fn strata(made: &[ComparisonReport], strata: &BTreeMap<String, Stratum>) -> Vec<StratumReport> {
    let mut found = Vec::new();
    for one in made.iter().filter(|one| one.family != Family::Exploratory) {
        for stratum in [Stratum::Seen, Stratum::Unseen] {
            let differences: Vec<f64> = one
                .result
                .by_template
                .iter()
                .filter(|line| strata.get(&line.template) == Some(&stratum))
                .map(|line| line.difference)
                .collect();
            let Some(test) = sign_flip(&differences, stats::ALPHA, 0) else { continue };
            let verdict = match one.result.verdict {
                Finding::NoVerdict => Finding::NoVerdict,
                _ if differences.len() < stats::MIN_TEMPLATES => Finding::TooFew,
                _ if test.p > stats::ALPHA => Finding::Inconclusive,
                _ if test.mean > 0.0 => Finding::Better,
                _ => Finding::Worse,
            };
            found.push(StratumReport {
                stratum,
                name: one.name.clone(),
                templates: differences.len(),
                difference: test.mean,
                ci95: test.interval.within(-1.0, 1.0),
                p_signflip: test.p,
                verdict,
            });
        }
    }
    found
}
