//! Compute-matched baselines: more steps, repeated tries, or handing over to the teacher when the student did not
//! finish. Computed from measured trials without a book. Each states who chooses the counting try: in practice only the
//! agent's own claim is available; choosing by the check is an upper bound and is reported separately.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{StopReason, TaskId, Usage, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grouping::Grouped;
use super::input::ArmKey;
use crate::ablations::AblationArm;
use crate::arm::Arm;
use crate::compare::Finding;
use crate::stats::{self, Interval, mean, sign_flip};
use apprentice_runs::row::{Role, TrialRow};

/// Who decides whether to try again and which try counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TryChooser {
    /// The agent's own claim to be done, which is also available in practice.
    #[default]
    OwnWord,
    /// The task's check, which is not available in practice: an upper bound.
    Check,
}

/// A compute-matched baseline: another way to spend the same compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComputeMatchedBaseline {
    /// The baseline's name.
    pub name: String,
    /// The student, which works first.
    pub student: String,
    /// The teacher that takes over, if any.
    pub teacher: Option<String>,
    /// Who decides which try counts.
    #[serde(default)]
    pub chooser: TryChooser,
    /// Templates on which it was measured.
    pub templates: usize,
    /// Mean success over templates.
    pub success: f64,
    /// Share of trials that were handed over or tried again.
    pub handed_over: f64,
    /// Tokens per trial, all attempts together.
    pub tokens: f64,
    /// US dollars per trial; `None` if a model has no price.
    pub cost_usd: Option<f64>,
    /// The book compared with this baseline, if the student was measured with a book.
    #[serde(default)]
    pub book: Option<BookVsBaseline>,
}

/// The arm `pull` compared with a baseline, on the trials that both have. Exploratory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BookVsBaseline {
    /// Templates with trials of both.
    pub templates: usize,
    /// Success with the book minus success of the baseline, the mean over templates.
    pub difference: f64,
    /// The 95 % confidence interval.
    pub ci95: Interval,
    /// The conclusion.
    pub finding: Finding,
    /// Spending of the baseline per trial relative to a trial with the book; in money if both are priced, else in
    /// tokens. Values near 1 mean a comparison at equal cost.
    pub spends: f64,
    /// Number of uses after which the tokens saved pay for learning; `None` if the baseline uses no more tokens or
    /// nothing was learned.
    pub pays_after: Option<f64>,
}

/// The key by which trials are matched: template, task and seed.
type TrialKey<'a> = (&'a str, &'a TaskId, u32);

/// The outcome of one trial.
#[derive(Clone, Copy, Debug)]
struct TrialOutcome {
    passed: f64,
    continued: f64,
    tokens: f64,
    cost: Option<f64>,
}

type TrialOutcomes<'a> = BTreeMap<TrialKey<'a>, TrialOutcome>;

/// Rows by their key.
type RowsByKey<'a> = BTreeMap<TrialKey<'a>, &'a TrialRow>;

/// The baselines of every student that was measured without a book. `learned` is the token cost of learning.
pub(super) fn baselines(grouped: &Grouped<'_>, learned: Option<f64>) -> Vec<ComputeMatchedBaseline> {
    let rows = |role: Role, model: &str, arm: &str| -> RowsByKey<'_> {
        let of = |(key, _): &(&_, &_)| {
            let key: &ArmKey = key;
            (key.role, key.model.as_str(), key.arm.as_str()) == (role, model, arm)
        };
        let trials = grouped.iter().filter(of).flat_map(|(_, trials)| trials);
        let judged = trials.filter(|trial| !trial.is_void()).map(|trial| trial.last);
        judged.map(|row| ((row.template.as_str(), &row.task, row.seed), row)).collect()
    };
    let models = |role: Role| -> BTreeSet<&str> {
        grouped.keys().filter(|key| key.role == role).map(|key| key.model.as_str()).collect()
    };
    let mut found = Vec::new();
    for student in models(Role::Student) {
        let of = |arm: &str| rows(Role::Student, student, arm);
        let alone = of(Arm::None.as_str());
        let book = of(Arm::Pull.as_str());
        let book: TrialOutcomes<'_> = book.iter().map(|(place, row)| (*place, once(row))).collect();
        let bare = |name: &str, chooser| ComputeMatchedBaseline {
            name: name.to_owned(),
            student: student.to_owned(),
            teacher: None,
            chooser,
            templates: 0,
            success: 0.0,
            handed_over: 0.0,
            tokens: 0.0,
            cost_usd: None,
            book: None,
        };
        let mut add = |baseline: ComputeMatchedBaseline, way: &TrialOutcomes<'_>| {
            found.extend(with_numbers(baseline, way, &book, learned));
        };
        let wide = of(&AblationArm::MoreSteps.to_string());
        let wide = wide.iter().map(|(place, row)| (*place, once(row))).collect();
        add(bare("more steps", TryChooser::OwnWord), &wide);
        let mut tries = vec![alone.clone()];
        for number in 2.. {
            let next = of(&AblationArm::Retry(number).to_string());
            if next.is_empty() {
                break;
            }
            tries.push(next);
            for chooser in [TryChooser::OwnWord, TryChooser::Check] {
                add(bare(&format!("best of {number}"), chooser), &best_of(&tries, chooser));
            }
        }
        for teacher in models(Role::Teacher) {
            let taught = rows(Role::Teacher, teacher, Arm::None.as_str());
            let baseline = bare("student, then teacher", TryChooser::OwnWord);
            add(
                ComputeMatchedBaseline { teacher: Some(teacher.to_owned()), ..baseline },
                &handed_over(&alone, &taught),
            );
        }
    }
    found
}

/// Fills in a baseline's numbers; `None` if it has no trial.
fn with_numbers(
    baseline: ComputeMatchedBaseline,
    way: &TrialOutcomes<'_>,
    book: &TrialOutcomes<'_>,
    learned: Option<f64>,
) -> Option<ComputeMatchedBaseline> {
    let cost: Option<Vec<f64>> = way.values().map(|one| one.cost).collect();
    Some(ComputeMatchedBaseline {
        templates: way.keys().map(|place| place.0).collect::<BTreeSet<_>>().len(),
        success: mean(by_template(way.iter().map(|(place, one)| (*place, one.passed))).into_values())?,
        handed_over: mean(way.values().map(|one| one.continued))?,
        tokens: mean(way.values().map(|one| one.tokens))?,
        cost_usd: cost.and_then(mean),
        book: compare_with_book(way, book, learned),
        ..baseline
    })
}

/// Compares the book with a baseline on trials of the same task and seed.
fn compare_with_book(
    baseline: &TrialOutcomes<'_>,
    book: &TrialOutcomes<'_>,
    learned: Option<f64>,
) -> Option<BookVsBaseline> {
    let both: Vec<(TrialKey<'_>, TrialOutcome, TrialOutcome)> =
        baseline.iter().filter_map(|(place, one)| Some((*place, *one, *book.get(place)?))).collect();
    let gains = both.iter().map(|(place, baseline, book)| (*place, book.passed - baseline.passed));
    let differences: Vec<f64> = by_template(gains).into_values().collect();
    let test = sign_flip(&differences, stats::ALPHA, 0)?;
    let finding = match (differences.len() < stats::MIN_TEMPLATES, test.p > stats::ALPHA, test.mean > 0.0) {
        (true, _, _) => Finding::TooFew,
        (_, true, _) => Finding::Inconclusive,
        (_, _, true) => Finding::Better,
        (_, _, false) => Finding::Worse,
    };
    let tokens = |of: fn(&(TrialKey<'_>, TrialOutcome, TrialOutcome)) -> TrialOutcome| {
        mean(both.iter().map(|one| of(one).tokens))
    };
    let (baselines, books) = (tokens(|one| one.1)?, tokens(|one| one.2)?);
    let money = |of: fn(&(TrialKey<'_>, TrialOutcome, TrialOutcome)) -> TrialOutcome| {
        let cost: Option<Vec<f64>> = both.iter().map(|one| of(one).cost).collect();
        cost.and_then(mean).filter(|usd| *usd > 0.0)
    };
    let spends = match money(|one| one.1).zip(money(|one| one.2)) {
        Some((baseline, book)) => baseline / book,
        None => baselines / books.max(1.0),
    };
    Some(BookVsBaseline {
        templates: differences.len(),
        difference: test.mean,
        ci95: test.interval.within(-1.0, 1.0),
        finding,
        spends,
        pays_after: learned.filter(|_| baselines > books).map(|learned| learned / (baselines - books)),
    })
}

/// Averages seeds within tasks and tasks within templates.
fn by_template<'a>(values: impl Iterator<Item = (TrialKey<'a>, f64)>) -> BTreeMap<&'a str, f64> {
    let mut tasks: BTreeMap<&str, BTreeMap<&TaskId, Vec<f64>>> = BTreeMap::new();
    for ((template, task, _), value) in values {
        tasks.entry(template).or_default().entry(task).or_default().push(value);
    }
    let averaged = |tasks: BTreeMap<&TaskId, Vec<f64>>| mean(tasks.into_values().filter_map(mean));
    tasks.into_iter().filter_map(|(template, tasks)| Some((template, averaged(tasks)?))).collect()
}

fn once(row: &TrialRow) -> TrialOutcome {
    let passed = f64::from(u8::from(row.verdict == Verdict::Pass));
    TrialOutcome { passed, continued: 0.0, tokens: tokens(&row.tokens), cost: row.cost_usd }
}

/// Returns whether the agent claimed success.
fn claims_done(row: &TrialRow) -> bool {
    matches!(row.stop_reason, Some(StopReason::Done | StopReason::Answered))
}

/// Tries one after the other until the chooser accepts one; if none is accepted, the last counts. Trials with a missing
/// or void try are left out.
fn best_of<'a>(tries: &[RowsByKey<'a>], chooser: TryChooser) -> TrialOutcomes<'a> {
    let content = |row: &TrialRow| match chooser {
        TryChooser::OwnWord => claims_done(row),
        TryChooser::Check => row.verdict == Verdict::Pass,
    };
    let Some((first, later)) = tries.split_first() else { return TrialOutcomes::new() };
    let mut way = TrialOutcomes::new();
    'places: for (place, row) in first {
        let mut rows = vec![*row];
        for more in later {
            let Some(row) = more.get(place) else { continue 'places };
            rows.push(row);
        }
        let made = rows.iter().position(|row| content(row)).map_or(rows.len(), |at| at + 1);
        let made = rows.get(..made).unwrap_or_default();
        let Some(last) = made.last() else { continue };
        way.insert(
            *place,
            TrialOutcome { continued: f64::from(u8::from(made.len() > 1)), ..summed(made, last) },
        );
    }
    way
}

/// The result of one attempt with the resources of several.
fn summed(rows: &[&TrialRow], counts: &TrialRow) -> TrialOutcome {
    let cost: Option<Vec<f64>> = rows.iter().map(|row| row.cost_usd).collect();
    let tokens = rows.iter().map(|row| tokens(&row.tokens)).sum();
    TrialOutcome { tokens, cost: cost.map(|cost| cost.iter().sum()), ..once(counts) }
}

/// The student's trials; each one that did not claim success is followed by the mean of the teacher's trials on the
/// same task.
fn handed_over<'a>(own: &RowsByKey<'a>, taught: &RowsByKey<'_>) -> TrialOutcomes<'a> {
    let mut way = TrialOutcomes::new();
    for (place, row) in own {
        let behind: Vec<TrialOutcome> =
            taught.iter().filter(|(other, _)| other.1 == place.1).map(|(_, row)| once(row)).collect();
        let (Some(passed), Some(more)) =
            (mean(behind.iter().map(|one| one.passed)), mean(behind.iter().map(|one| one.tokens)))
        else {
            continue;
        };
        let own = once(row);
        let costs: Option<Vec<f64>> = behind.iter().map(|one| one.cost).collect();
        let cost = own.cost.zip(costs.and_then(mean)).map(|(own, more)| own + more);
        let together = TrialOutcome { passed, continued: 1.0, tokens: own.tokens + more, cost };
        way.insert(*place, if claims_done(row) { own } else { together });
    }
    way
}

#[expect(clippy::cast_precision_loss, reason = "tokens of a trial are far below 2^52")]
fn tokens(usage: &Usage) -> f64 {
    (usage.input + usage.output) as f64
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{StopReason, TrialId, Verdict};

    use super::{ComputeMatchedBaseline, TryChooser, baselines};
    use crate::compare::Finding;
    use crate::report::grouping::by_key;
    use crate::sample::row;
    use apprentice_runs::row::{Role, TrialRow};

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    fn ended(mut row: TrialRow, how: StopReason) -> TrialRow {
        row.stop_reason = Some(how);
        row
    }

    fn named<'a>(
        found: &'a [ComputeMatchedBaseline],
        name: &str,
        chooser: TryChooser,
    ) -> &'a ComputeMatchedBaseline {
        let one = found.iter().find(|one| one.name == name && one.chooser == chooser);
        one.unwrap_or_else(|| panic!("no {name}: {found:#?}"))
    }

    #[test]
    fn the_teacher_takes_over_where_the_student_says_so_and_not_where_the_check_does() {
        let teacher = |task: &str, verdict| {
            let mut row = row("none", task, task, 0, verdict);
            (row.role, row.model) = (Role::Teacher, "builtin/explorer".into());
            row.trial = TrialId::new(format!("teacher-{task}"));
            row
        };
        // The first claims to be done and is not; the second gives up; the third passes by itself.
        let rows = [
            row("none", "a", "a", 0, Verdict::Fail),
            ended(row("none", "b", "b", 0, Verdict::Fail), StopReason::GaveUp),
            row("none", "c", "c", 0, Verdict::Pass),
            teacher("a", Verdict::Pass),
            teacher("b", Verdict::Pass),
            teacher("c", Verdict::Pass),
        ];
        let found = baselines(&by_key(&rows), None);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.templates, one.cost_usd, &one.book), (3, None, &None));
        assert!(near(one.success, 2.0 / 3.0) && near(one.handed_over, 1.0 / 3.0), "{one:?}");
        assert!((one.tokens - 9400.0 * 4.0 / 3.0).abs() < 1e-6, "{one:?}");
        assert!(baselines(&by_key(&rows[..3]), None).is_empty(), "nobody to hand over to");
    }

    #[test]
    fn what_the_agent_says_and_what_the_check_says_choose_differently() {
        // Claims to be done and is not; gives up, then passes; gives up, then fails; passes at once.
        let tries = [
            [(Verdict::Fail, StopReason::Done), (Verdict::Pass, StopReason::Done)],
            [(Verdict::Fail, StopReason::GaveUp), (Verdict::Pass, StopReason::Done)],
            [(Verdict::Fail, StopReason::StepLimit), (Verdict::Fail, StopReason::GaveUp)],
            [(Verdict::Pass, StopReason::Done), (Verdict::Fail, StopReason::Done)],
        ];
        let mut rows = Vec::new();
        for (name, outcomes) in ["a", "b", "c", "d"].iter().zip(tries) {
            for (arm, (verdict, how)) in ["none", "try-2"].iter().zip(outcomes) {
                rows.push(ended(row(arm, name, name, 0, verdict), how));
            }
            rows.push(row("pull", name, name, 0, Verdict::Pass));
        }
        // The fifth task has a void second try, so it does not count for two tries.
        rows.push(row("none", "e", "e", 0, Verdict::Pass));
        rows.push(row("try-2", "e", "e", 0, Verdict::Void));
        let found = baselines(&by_key(&rows), Some(94_000.0));
        let own = named(&found, "best of 2", TryChooser::OwnWord);
        let check = named(&found, "best of 2", TryChooser::Check);
        assert_eq!((own.templates, check.templates), (4, 4));
        assert!(near(own.success, 0.5) && near(check.success, 0.75), "{found:#?}");
        // The agent tries again in b and c, the check in a as well.
        assert!(near(own.handed_over, 0.5) && near(check.handed_over, 0.75), "{found:#?}");
        assert!(near(own.tokens, 9400.0 * 1.5) && near(check.tokens, 9400.0 * 1.75), "{found:#?}");
        let book = own.book.as_ref().expect("the book was measured");
        assert!(near(book.difference, 0.5) && near(book.spends, 1.5), "{book:?}");
        assert_eq!((book.templates, book.finding), (4, Finding::TooFew));
        // Learning cost twenty times the tokens that two tries use more than the book.
        assert!(near(book.pays_after.expect("it is dearer"), 20.0), "{book:?}");
    }

    #[test]
    fn wider_caps_are_held_against_the_book_at_what_they_took() {
        let mut rows = Vec::new();
        for place in 0..9 {
            let name = format!("t{place}");
            let mut wide = row("more-steps", &name, &name, 0, Verdict::Fail);
            (wide.tokens.input, wide.cost_usd) = (wide.tokens.input * 2, Some(0.3));
            let mut book = row("pull", &name, &name, 0, Verdict::Pass);
            book.cost_usd = Some(0.1);
            rows.extend([wide, book, row("none", &name, &name, 0, Verdict::Fail)]);
        }
        let found = baselines(&by_key(&rows), None);
        let one = named(&found, "more steps", TryChooser::OwnWord);
        let book = one.book.as_ref().expect("the book was measured");
        assert_eq!((book.finding, book.pays_after), (Finding::Better, None));
        assert!(near(book.spends, 3.0), "money where there are prices: {book:?}");
    }
}
