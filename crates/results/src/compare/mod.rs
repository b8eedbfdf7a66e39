//! Paired comparison of two sets of trials. Pure.
//!
//! Trials meet by task and seed; the last attempt of each counts. The template is the unit of inference, the
//! sign-flip test decides, and what forbids a verdict - too few templates, missing or void trials - is said
//! before any claim.

mod pair;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use pair::{Flip, Flips, TemplateDifference};
use pair::{Pairs, Side, Voids as Counting};
pub use select::{Selector, SelectorError};

use crate::row::{Role, TrialRow};
use crate::rows::{self, VoidAttempt};
use crate::stats::{self, Interval, McNemar, VoidCounts, VoidFault};

/// The name of the result's format.
pub const COMPARE_SCHEMA: &str = "apprentice.compare/1";

/// The largest share of missing pairs, or of planned trials that were not run, with which a verdict is given.
const HOLE_CAP: f64 = 0.05;

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Pass as 1, fail as 0.
    #[default]
    Success,
    /// The score of the checks.
    Score,
}

/// Whether rows of different suite or book versions may stand on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixed {
    /// They are refused.
    #[default]
    Refuse,
    /// They are compared, and the result says so.
    Allow,
}

/// How two sets are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// What is compared.
    pub measure: Measure,
    /// The level of a claim.
    pub alpha: f64,
    /// The seed of drawn sign vectors; used with more than [`stats::EXACT_UP_TO`] templates.
    pub seed: u64,
    /// Whether versions may be mixed.
    pub mixed: Mixed,
    /// How many trials were planned, where a plan is known. Who stops when it looks good finds something
    /// sooner or later: a plan that was not carried out gets no verdict.
    pub planned: Option<Planned>,
}

/// How many trials each side was planned to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// The first side.
    pub a: usize,
    /// The second side.
    pub b: usize,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            measure: Measure::default(),
            alpha: stats::ALPHA,
            seed: 0,
            mixed: Mixed::default(),
            planned: None,
        }
    }
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// `b` is better than `a`.
    Better,
    /// `b` is worse than `a`.
    Worse,
    /// The data allow neither claim.
    Inconclusive,
    /// Too few templates to decide anything.
    TooFew,
    /// The data are too damaged for a verdict.
    NoVerdict,
}

impl Finding {
    /// It in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
            Self::TooFew => "too few to decide",
            Self::NoVerdict => "no verdict",
        }
    }
}

/// Who stands on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contestant {
    /// The arm.
    pub arm: String,
    /// The model's part.
    pub role: Role,
    /// The model.
    pub model: String,
}

/// The void trials of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Voids {
    /// Trials of `a` that gave no result.
    pub a: VoidCounts,
    /// Trials of `b` that gave no result.
    pub b: VoidCounts,
    /// Every void attempt, those that a later attempt made good included.
    pub attempts: Vec<VoidAttempt>,
    /// The difference if every void of `a` had passed and every void of `b` failed.
    pub worst_for_b: Option<f64>,
    /// The difference if every void of `a` had failed and every void of `b` passed.
    pub best_for_b: Option<f64>,
}

/// Trials that found no partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Trials of `a` alone.
    pub a: usize,
    /// Trials of `b` alone.
    pub b: usize,
    /// Those of them whose task and seed both sides ran, so that the partner is missing.
    pub missing: usize,
}

/// How often two seeds of a task agree; none where no task has two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeedAgreement {
    /// In `a`.
    pub a: Option<f64>,
    /// In `b`.
    pub b: Option<f64>,
}

/// The result of [`compare`]. Differences are `b - a`: positive means that `b` is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The first side.
    pub a: Contestant,
    /// The second side.
    pub b: Contestant,
    /// What is compared.
    pub measure: Measure,
    /// Templates with at least one pair.
    pub templates: usize,
    /// Tasks with at least one pair.
    pub tasks: usize,
    /// Pairs of trials.
    pub trials: usize,
    /// The mean difference over templates; none without a pair.
    pub difference: Option<f64>,
    /// The differences that the deciding test does not reject at 5 %.
    pub ci95: Option<Interval>,
    /// The deciding test's two-sided p value.
    pub p_signflip: Option<f64>,
    /// Whether all sign vectors were enumerated.
    pub p_exact: bool,
    /// Descriptive: tasks that changed sides.
    pub mcnemar: McNemar,
    /// What it comes to.
    pub verdict: Finding,
    /// Why, in words.
    pub because: String,
    /// What a reader must know beside it.
    pub notes: Vec<String>,
    /// Void trials.
    pub voids: Voids,
    /// Trials without a partner.
    pub unpaired: Unpaired,
    /// Who changed sides.
    pub flips: Flips,
    /// How much the seed decides.
    pub seed_agreement: SeedAgreement,
    /// Template by template, in order of their names.
    pub by_template: Vec<TemplateDifference>,
}

/// Why two sets cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side has no rows.
    #[error("side {side} has no rows: check the file and its selection")]
    Empty {
        /// `a` or `b`.
        side: &'static str,
    },
    /// A side holds several arms, roles or models.
    #[error("side {side} holds more than one {field} ({found}): select one, for example {field}={first}")]
    Several {
        /// `a` or `b`.
        side: &'static str,
        /// What there are several of.
        field: &'static str,
        /// Which.
        found: String,
        /// One of them.
        first: String,
    },
    /// Two trials stand for the same task and seed.
    #[error("side {side} holds two trials of task {task} with seed {seed}: compare one run at a time")]
    Twice {
        /// `a` or `b`.
        side: &'static str,
        /// The task.
        task: TaskId,
        /// The seed.
        seed: u32,
    },
    /// Rows of different versions.
    #[error(
        "{what} differ ({found}): the numbers would not be of one thing; allow mixed versions (--allow-mixed) to compare all the same"
    )]
    Mixed {
        /// What differs.
        what: String,
        /// The versions.
        found: String,
    },
}

/// Compares two sets of attempts. Each side holds the rows of one model in one arm.
pub fn compare(a: &[TrialRow], b: &[TrialRow], options: CompareOptions) -> Result<Comparison, CompareError> {
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
    let unpaired = Unpaired { a: pairs.only_a, b: pairs.only_b, missing: pairs.holes };
    if unpaired.a + unpaired.b > 0 {
        notes.push(format!(
            "left out for want of a partner with the same task and seed: {} trials of a, {} of b",
            unpaired.a, unpaired.b
        ));
    }
    let differences: Vec<f64> = by_template.iter().map(|template| template.difference).collect();
    let test = stats::sign_flip(&differences, options.alpha, options.seed);
    let (verdict, because) =
        judge(&Grounds { test, templates: by_template.len(), pairs: &pairs, voids: &voids, options });
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

/// All that a verdict rests on.
struct Grounds<'g> {
    test: Option<stats::SignFlip>,
    templates: usize,
    pairs: &'g Pairs<'g, 'g>,
    voids: &'g Voids,
    options: CompareOptions,
}

/// Decides: first what forbids a verdict, then the test, then whether voids could turn its claim.
fn judge(grounds: &Grounds<'_>) -> (Finding, String) {
    let Grounds { test, templates, pairs, voids, options } = grounds;
    let Some(test) = test else {
        return (Finding::NoVerdict, "no pair of trials gave a result on both sides".into());
    };
    if let Some(planned) = options.planned {
        let (all, done) = (planned.a + planned.b, pairs.met.len() * 2 + pairs.only_a + pairs.only_b);
        let open = all.saturating_sub(done);
        if is_too_large(open, all) {
            return (
                Finding::NoVerdict,
                format!("{open} of {all} planned trials were not run, more than 5 %"),
            );
        }
    }
    let of_all = pairs.met.len() + pairs.holes;
    if is_too_large(pairs.holes, of_all) {
        let holes = pairs.holes;
        return (Finding::NoVerdict, format!("{holes} of {of_all} pairs lack one trial, more than 5 %"));
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
        return (Finding::TooFew, format!("{templates} templates are too few to decide: at least {least}"));
    }
    if test.p > options.alpha {
        return (Finding::Inconclusive, format!("p = {:.3}: so large a difference may be chance", test.p));
    }
    let better = test.mean > 0.0;
    let bound = if better { voids.worst_for_b } else { voids.best_for_b };
    if bound.is_none_or(|bound| (bound > 0.0) != better) {
        return (Finding::NoVerdict, "the void trials alone could turn the difference around".into());
    }
    let finding = if better { Finding::Better } else { Finding::Worse };
    (finding, format!("p = {:.4} over {templates} templates", test.p))
}

/// Whether this many missing trials forbid a verdict.
fn is_too_large(missing: usize, all: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials are small")]
    let share = missing as f64 / all.max(1) as f64;
    share > HOLE_CAP
}

fn void_counts(side: &Side<'_>) -> VoidCounts {
    let void = side.trials.iter().filter(|trial| trial.is_void()).count() as u64;
    VoidCounts { void, trials: side.trials.len() as u64 }
}

fn contestant(side: &'static str, rows: &[TrialRow]) -> Result<Contestant, CompareError> {
    let first = rows.first().ok_or(CompareError::Empty { side })?;
    let one = |field, values: BTreeSet<String>| match values.len() {
        0 | 1 => Ok(()),
        _ => {
            let first = values.first().cloned().unwrap_or_default();
            let found = values.into_iter().collect::<Vec<_>>().join(", ");
            Err(CompareError::Several { side, field, found, first })
        }
    };
    one("arm", rows.iter().map(|row| row.arm.clone()).collect())?;
    one("role", rows.iter().map(|row| row.role.as_str().to_owned()).collect())?;
    one("model", rows.iter().map(|row| row.model.clone()).collect())?;
    Ok(Contestant { arm: first.arm.clone(), role: first.role, model: first.model.clone() })
}

/// Finds versions that differ where they must not. Refused, or noted when that is allowed.
fn versions(a: &[TrialRow], b: &[TrialRow], mixed: Mixed) -> Result<Vec<String>, CompareError> {
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
            Mixed::Refuse => return Err(CompareError::Mixed { what, found }),
            Mixed::Allow => notes.push(format!("{what} differ ({found})")),
        }
    }
    let prompts: BTreeSet<&str> = a.iter().chain(b).map(|row| row.prompt_hash.as_str()).collect();
    if prompts.len() > 1 {
        notes.push(format!("{} versions of the prompts were in use", prompts.len()));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests;
