//! Paired comparison of two sets of trials. Pure: no I/O.
//!
//! Trials are paired by task and seed; the last attempt of each counts. The template is the unit of inference, and the
//! sign-flip test decides. Conditions that rule out a verdict (too few templates, missing or void trials) are checked
//! before any claim.

mod comparison;
mod error;
mod options;
mod pair;
mod select;

use apprentice_protocol::{VoidCause, counted};
use std::collections::{BTreeMap, BTreeSet};

pub use comparison::{COMPARE_SCHEMA, ComparedArm, Comparison, Finding, SeedAgreement, Unpaired, Voids};
pub use error::CompareError;
pub use options::{CompareOptions, Measure, MixedVersions, PlannedCounts};
pub use pair::{Flip, Flips, TemplateDifference};
use pair::{Pairs, Side, VoidCounting as Counting};
pub use select::{Selector, SelectorError};

use crate::stats::{self, VoidCounts, VoidFault};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows;

/// Largest share of missing pairs, or of planned trials that did not run, at which a verdict is still given.
const MISSING_CAP: f64 = 0.05;

/// Compares two sets of attempts. Each side contains the rows of one model in one arm.
///
/// # Errors
///
/// Fails if a side is empty, has rows of several models or arms, or has a trial twice, or if the sides share no task.
pub fn compare(a: &[TrialRow], b: &[TrialRow], options: CompareOptions) -> Result<Comparison, CompareError> {
    let measured = |rows: &[TrialRow]| rows.iter().map(TrialRow::measured).collect::<Vec<_>>();
    let (a, b) = (&*measured(a), &*measured(b));
    let contestants = (contestant("a", a)?, contestant("b", b)?);
    let mut notes = versions(a, b, options.mixed)?;
    let (side_a, side_b) = (Side::of("a", a)?, Side::of("b", b)?);
    let pairs = Pairs::of(&side_a, &side_b);
    let by_template = pairs.templates(options.measure, Counting::LeftOut);
    let worst = |counting| {
        stats::mean(pairs.templates(options.measure, counting).into_iter().map(|one| one.difference))
    };
    let voids = Voids {
        a: void_counts(&side_a),
        b: void_counts(&side_b),
        attempts: rows::voids(&side_a.trials).into_iter().chain(rows::voids(&side_b.trials)).collect(),
        worst_for_b: worst(Counting::AgainstB),
        best_for_b: worst(Counting::ForB),
    };
    let unpaired = Unpaired { a: pairs.only_a, b: pairs.only_b, missing: pairs.missing };
    notes.extend(acts_of_persons(a.iter().chain(b)));
    if unpaired.a + unpaired.b > 0 {
        notes.push(format!(
            "left out, having no partner with the same task and seed: {} of a, {} of b",
            counted(unpaired.a, "trial"),
            unpaired.b
        ));
    }
    let differences: Vec<f64> = by_template.iter().map(|template| template.difference).collect();
    let test = stats::sign_flip(&differences, options.alpha, options.seed);
    let (verdict, because) = decide_verdict(&VerdictInputs {
        test,
        templates: by_template.len(),
        pairs: &pairs,
        voids: &voids,
        options,
    });
    let (only_a, only_b) = pairs.majorities();
    Ok(Comparison {
        schema: COMPARE_SCHEMA.into(),
        a: contestants.0,
        b: contestants.1,
        measure: options.measure,
        templates: by_template.len(),
        tasks: by_template.iter().map(|template| template.tasks).sum(),
        trials: by_template.iter().map(|template| template.trials).sum(),
        difference: test.map(|test| test.mean),
        ci95: test.map(|test| test.interval.within(-1.0, 1.0)),
        p_signflip: test.map(|test| test.p),
        p_exact: test.is_none_or(|test| test.exact),
        mcnemar: stats::mcnemar(only_a, only_b),
        verdict,
        because,
        notes,
        voids,
        unpaired,
        flips: pairs.flips(),
        seed_agreement: SeedAgreement { a: side_a.seed_agreement(), b: side_b.seed_agreement() },
        by_template,
    })
}

/// Tells the attempts that are void because a person acted in them.
fn acts_of_persons<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> Option<String> {
    let found = rows.filter(|row| row.void_cause == Some(VoidCause::PersonActed)).count();
    (found > 0).then(|| format!("{} with acts of a person counted as void", counted(found, "attempt")))
}

/// The inputs of a verdict.
struct VerdictInputs<'g> {
    test: Option<stats::SignFlip>,
    templates: usize,
    pairs: &'g Pairs<'g, 'g>,
    voids: &'g Voids,
    options: CompareOptions,
}

/// Decides the verdict: first the conditions that rule one out, then the test, then whether void trials could reverse
/// the result.
fn decide_verdict(grounds: &VerdictInputs<'_>) -> (Finding, String) {
    let VerdictInputs { test, templates, pairs, voids, options } = grounds;
    let Some(test) = test else {
        return (Finding::NoVerdict, "no pair of trials has a result on both sides".into());
    };
    if let Some(planned) = options.planned {
        let (all, done) = (planned.a + planned.b, pairs.matched.len() * 2 + pairs.only_a + pairs.only_b);
        let open = all.saturating_sub(done);
        if exceeds_missing_cap(open, all) {
            return (
                Finding::NoVerdict,
                format!("{open} of {all} planned trials were not run, more than 5 %"),
            );
        }
    }
    let of_all = pairs.matched.len() + pairs.missing;
    if exceeds_missing_cap(pairs.missing, of_all) {
        let missing = pairs.missing;
        return (Finding::NoVerdict, format!("{missing} of {of_all} pairs lack one trial, more than 5 %"));
    }
    if let Some(fault) = voids.a.fault(&voids.b) {
        let counts = format!(
            "{} of {} trials of a and {} of {} of b are void",
            voids.a.void, voids.a.trials, voids.b.void, voids.b.trials
        );
        let why = match fault {
            VoidFault::TooMany => "more than 5 %",
            VoidFault::Unequal => "more unequal than chance",
        };
        return (Finding::NoVerdict, format!("{counts}: {why}"));
    }
    if *templates < stats::MIN_TEMPLATES {
        let least = stats::MIN_TEMPLATES;
        let (few, are) = (counted(*templates, "template"), if *templates == 1 { "is" } else { "are" });
        return (Finding::TooFew, format!("{few} {are} too few to decide: at least {least}"));
    }
    if test.p > options.alpha {
        return (Finding::Inconclusive, format!("p = {:.3}: the difference may be due to chance", test.p));
    }
    let better = test.mean > 0.0;
    let bound = if better { voids.worst_for_b } else { voids.best_for_b };
    if bound.is_none_or(|bound| (bound > 0.0) != better) {
        return (Finding::NoVerdict, "the void trials alone could reverse the difference".into());
    }
    let finding = if better { Finding::Better } else { Finding::Worse };
    (finding, format!("p = {:.4} over {templates} templates", test.p))
}

/// Returns whether the share of missing trials rules out a verdict.
fn exceeds_missing_cap(missing: usize, all: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials are small")]
    let share = missing as f64 / all.max(1) as f64;
    share > MISSING_CAP
}

fn void_counts(side: &Side<'_>) -> VoidCounts {
    let void = side.trials.iter().filter(|trial| trial.is_void()).count() as u64;
    VoidCounts { void, trials: side.trials.len() as u64 }
}

fn contestant(side: &'static str, rows: &[TrialRow]) -> Result<ComparedArm, CompareError> {
    let first = rows.first().ok_or(CompareError::Empty { side })?;
    let one = |field, values: BTreeSet<String>| match values.len() {
        0 | 1 => Ok(()),
        _ => {
            let first = values.first().cloned().unwrap_or_default();
            let found = values.into_iter().collect::<Vec<_>>().join(", ");
            Err(CompareError::NotUniform { side, field, found, first })
        }
    };
    one("arm", rows.iter().map(|row| row.arm.clone()).collect())?;
    one("role", rows.iter().map(|row| row.role.as_str().to_owned()).collect())?;
    one("model", rows.iter().map(|row| row.model.clone()).collect())?;
    Ok(ComparedArm { arm: first.arm.clone(), role: first.role, model: first.model.clone() })
}

/// Finds versions that differ where they must not, and rejects them or returns notes, depending on `mixed`.
fn versions(a: &[TrialRow], b: &[TrialRow], mixed: MixedVersions) -> Result<Vec<String>, CompareError> {
    let mut suites: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in a.iter().chain(b) {
        suites.entry(&row.suite).or_default().insert(&row.suite_hash);
    }
    let books = |rows: &'_ [TrialRow]| -> BTreeSet<String> {
        rows.iter().map(|row| row.skillbook_hash.clone().unwrap_or_else(|| "none".into())).collect()
    };
    let suites = suites.into_iter().map(|(suite, hashes)| {
        (format!("versions of suite {suite}"), hashes.into_iter().map(str::to_owned).collect())
    });
    let books = [("a", a), ("b", b)].map(|(side, rows)| (format!("skillbooks of side {side}"), books(rows)));
    let mut notes = Vec::new();
    for (what, found) in suites.chain(books) {
        if found.len() < 2 {
            continue;
        }
        let found = found.into_iter().collect::<Vec<_>>().join(", ");
        match mixed {
            MixedVersions::Refuse => return Err(CompareError::MixedVersions { what, found }),
            MixedVersions::Allow => notes.push(format!("{what} differ ({found})")),
        }
    }
    let prompts: BTreeSet<&str> = a.iter().chain(b).map(|row| row.prompt_hash.as_str()).collect();
    if prompts.len() > 1 {
        notes.push(format!("{} versions of the prompts were used", prompts.len()));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests;
