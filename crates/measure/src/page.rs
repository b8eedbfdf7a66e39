//! Makes the page from the folder of an experiment: from its rows, its evidence and its traces, and from nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, Verdict};
use apprentice_results::arm::Arm;
use apprentice_results::compare::{CompareOptions, Comparison, Finding, MixedVersions, compare};
use apprentice_results::report::{ArmReport, ComparisonReport, PrimaryComparison, Report};
use apprentice_results::stats::{Design, MIN_TEMPLATES, PowerAssumptions, smallest_effect};
use apprentice_runs::layout::{MEASURE_FOLDER, SKILL_FILE};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_runs::rows::trials;
use apprentice_runs::{RunError, StoredRun, latest_run};

use super::evidence::{DecidedBy, PartError, rows_by, traces};
use super::offer::Offer;
use super::schema::{
    ArmLine, Conclusion, Effect, MeasuredSkill, Reading, SKILL_PAGE_SCHEMA, SkillPage, Triggers,
};
use apprentice_evaluator::experiment::{BookPlan, Definition, DefinitionError, ExperimentError, report};

/// Where the results of a measurement lie.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// The experiment.
    pub experiment: &'a Path,
    /// The run of evaluations that only ask whether the skill is read.
    pub triggers: Option<&'a Path>,
}

/// The reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum SkillPageError {
    /// The folder holds no measurement of a skill.
    #[error("{} holds no measurement of a skill; `apprentice skills measure` makes one", .0.display())]
    NoMeasurement(PathBuf),
    /// What was measured cannot be read.
    #[error("{}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A file cannot be read.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The definition cannot be read.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The report cannot be made.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An attempt's evidence cannot be read.
    #[error("the evidence of an attempt cannot be read")]
    Evidence(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<PartError> for SkillPageError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Run(error) => Self::Run(error),
            PartError::Evidence(error) => Self::Evidence(error.into()),
        }
    }
}

impl MeasuredSkill {
    /// Reads what was measured from an experiment's folder.
    ///
    /// # Errors
    /// The folder holds no measurement of a skill, or it cannot be read.
    pub fn read(experiment: &Path) -> Result<Self, SkillPageError> {
        let path = experiment.join(SKILL_FILE);
        match apprentice_files::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|source| SkillPageError::Form { path, source }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(SkillPageError::NoMeasurement(experiment.to_owned()))
            }
            Err(source) => Err(SkillPageError::Io { path, source }),
        }
    }

    /// Writes it into an experiment's folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, experiment: &Path) -> Result<(), SkillPageError> {
        let path = experiment.join(SKILL_FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| SkillPageError::Form { path: path.clone(), source })?;
        std::fs::write(&path, text + "\n").map_err(|source| SkillPageError::Io { path, source })
    }
}

/// Makes the page of a measurement.
///
/// # Errors
/// The folder holds no measurement of a skill, or what it holds cannot be read.
pub fn skill_page(source: PageSource<'_>) -> Result<SkillPage, SkillPageError> {
    let missing = || SkillPageError::NoMeasurement(source.experiment.to_owned());
    let skill = MeasuredSkill::read(source.experiment)?;
    let definition = Definition::read(source.experiment)?.ok_or_else(missing)?;
    let BookPlan::Given { content_hash } = &definition.book else { return Err(missing()) };
    let made = report(source.experiment)?;
    let run = latest_run(&source.experiment.join(MEASURE_FOLDER)).ok_or_else(missing)?;
    let run = StoredRun::open(&run)?;
    let rows: Vec<TrialRow> = trials(&run.rows).into_iter().map(|trial| trial.last.clone()).collect();
    let primary = &definition.primary;
    let offer = Offer::of(primary).ok_or_else(missing)?;
    let with = of_arm(&rows, &primary.treatment);
    let others = [of_arm(&rows, &primary.control), of_arm(&rows, Arm::None.as_str())];
    let facts = traces(&run, &rows)?;
    let parts = |by| -> Result<Vec<Effect>, SkillPageError> {
        let with = rows_by(&run, &with, by)?;
        let others = others.iter().map(|rows| rows_by(&run, rows, by)).collect::<Result<Vec<_>, _>>()?;
        Ok(others.iter().filter_map(|rows| part(rows, &with)).collect())
    };
    let against = |other: &str| against(&made, &primary.treatment, other);
    let (against_placebo, against_none) = (against(&primary.control), against(Arm::None.as_str()));
    let trigger_rows = source.triggers.map(StoredRun::open).transpose()?;
    let trigger_rows = trigger_rows.iter().flat_map(|run| trials(&run.rows)).map(|trial| trial.last);
    let (lost, won) = flips(&with, &others[1]);
    let evals = against_placebo.as_ref().map_or(0, |effect| effect.evals);
    let seeds = definition.seeds.max(1);
    let student_arms = made.arms.iter().filter(|arm| arm.key.role == Role::Student);
    Ok(SkillPage {
        schema: SKILL_PAGE_SCHEMA.to_owned(),
        book_hash: content_hash.clone(),
        model: definition.student.clone(),
        offer,
        judge: definition.judge.clone(),
        date: made.started_at.map(|time| time.strftime("%Y-%m-%d").to_string()),
        program: definition.program.clone(),
        evals,
        needed: MIN_TEMPLATES,
        smallest_effect: smallest_effect(
            Design { templates: definition.test.values().collect::<BTreeSet<_>>().len(), seeds },
            PowerAssumptions::default(),
        ),
        conclusion: conclusion(against_placebo.as_ref(), against_none.as_ref()),
        arms: student_arms.map(|arm| arm_line(arm, primary)).collect(),
        against_placebo,
        against_none,
        by_state: parts(DecidedBy::State)?,
        by_judge: parts(DecidedBy::Judge)?,
        reading: reading(&with, &others[0], &facts.followed),
        // A text in the prompt is there whether it is wanted or not.
        triggers: (offer == Offer::Read).then(|| triggers(&skill, with.iter().chain(trigger_rows))).flatten(),
        lost,
        won,
        harm: made.harm.clone(),
        programs: facts.programs,
        judge_usd: made.judges.iter().filter_map(|judge| judge.cost_usd).reduce(|a, b| a + b),
        notes: notes(&made),
        skill,
    })
}

/// The rows of the student in an arm.
fn of_arm(rows: &[TrialRow], arm: &str) -> Vec<TrialRow> {
    rows.iter().filter(|row| row.role == Role::Student && row.arm == arm).cloned().collect()
}

/// The comparison of an arm with another one.
fn against(made: &Report, treatment: &str, other: &str) -> Option<Effect> {
    let compared = |one: &&ComparisonReport| one.result.b.arm == treatment && one.result.a.arm == other;
    made.comparisons.iter().find(compared).map(effect)
}

/// The notes of the report that say something of a skill's measurement.
fn notes(made: &Report) -> Vec<String> {
    // What a page says itself, in its own words.
    let told =
        ["one book was measured", "below ", " may do harm", "the verdicts of ", "never viewed a skill"];
    let keeps = |note: &&String| !told.iter().any(|part| note.contains(part));
    made.notes.iter().filter(keeps).cloned().collect()
}

fn effect(one: &ComparisonReport) -> Effect {
    let finding = one.claim.unwrap_or(one.result.verdict);
    Effect { finding, ..effect_of(&one.result) }
}

fn effect_of(result: &Comparison) -> Effect {
    Effect {
        against: result.a.arm.clone(),
        evals: result.templates,
        difference: result.difference,
        ci95: result.ci95,
        p: result.p_signflip,
        finding: result.verdict,
        because: result.because.clone(),
    }
}

/// A comparison by one kind of checks; `None` where one side has none of them.
fn part(other: &[TrialRow], with: &[TrialRow]) -> Option<Effect> {
    let options = CompareOptions { mixed: MixedVersions::Allow, ..CompareOptions::default() };
    compare(other, with, options).ok().as_ref().map(effect_of)
}

/// The comparison with the placebo decides; harm against nothing is harm, too.
pub(super) fn conclusion(placebo: Option<&Effect>, none: Option<&Effect>) -> Conclusion {
    let Some(placebo) = placebo else { return Conclusion::NoVerdict };
    let worse_than_none = none.is_some_and(|effect| effect.finding == Finding::Worse);
    match placebo.finding {
        Finding::TooFew | Finding::NoVerdict => Conclusion::NoVerdict,
        Finding::Worse => Conclusion::Harms,
        Finding::Better | Finding::Inconclusive if worse_than_none => Conclusion::Harms,
        Finding::Better => Conclusion::Helps,
        Finding::Inconclusive => Conclusion::NoDifference,
    }
}

fn arm_line(arm: &ArmReport, primary: &PrimaryComparison) -> ArmLine {
    let judged = arm.tally.passed + arm.tally.failed;
    #[expect(clippy::cast_precision_loss, reason = "a mean to be read by a person")]
    let tokens = (judged > 0).then(|| (arm.tokens.input + arm.tokens.output) as f64 / f64::from(judged));
    let words = match arm.key.arm.as_str() {
        "none" => "without the skill",
        own if own == primary.treatment => "with the skill",
        other if other == primary.control => "with an unrelated text of the same length",
        other => other,
    };
    ArmLine {
        arm: arm.key.arm.clone(),
        words: words.to_owned(),
        passed: arm.tally.passed,
        judged,
        void: arm.tally.void,
        success: arm.success.map(|success| success.value),
        tokens,
        steps: arm.world_steps,
        cost_usd: arm.cost_usd,
    }
}

fn reading(with: &[TrialRow], placebo: &[TrialRow], followed: &BTreeMap<String, bool>) -> Reading {
    let mut found = Reading::default();
    for row in with.iter().filter(|row| row.verdict != Verdict::Void) {
        found.of += 1;
        if row.skills_viewed.is_empty() {
            continue;
        }
        found.read += 1;
        match followed.get(&row.trace) {
            Some(true) => found.followed += 1,
            Some(false) => found.not_followed += 1,
            None => {}
        }
    }
    let read = placebo.iter().filter(|row| row.verdict != Verdict::Void && !row.skills_viewed.is_empty());
    found.placebo_read = u32::try_from(read.count()).unwrap_or(u32::MAX);
    found
}

fn triggers<'a>(skill: &MeasuredSkill, rows: impl Iterator<Item = &'a TrialRow>) -> Option<Triggers> {
    let mut found = Triggers::default();
    for row in rows.filter(|row| row.verdict != Verdict::Void) {
        let read = !row.skills_viewed.is_empty();
        match skill.should_trigger.get(&row.task) {
            Some(true) => {
                found.wanted += 1;
                found.read += u32::from(read);
            }
            Some(false) => {
                found.unwanted += 1;
                found.left_alone += u32::from(!read);
            }
            None => {}
        }
    }
    (found.wanted + found.unwanted > 0).then_some(found)
}

/// The evaluations that most repetitions lost and won with the skill.
fn flips(with: &[TrialRow], without: &[TrialRow]) -> (Vec<String>, Vec<String>) {
    let mut tally: BTreeMap<&TaskId, i64> = BTreeMap::new();
    for row in with.iter().filter(|row| row.verdict != Verdict::Void) {
        let alone = without.iter().find(|other| (&other.task, other.seed) == (&row.task, row.seed));
        let change = match (alone.map(|other| other.verdict), row.verdict) {
            (Some(Verdict::Pass), Verdict::Fail) => -1,
            (Some(Verdict::Fail), Verdict::Pass) => 1,
            _ => 0,
        };
        *tally.entry(&row.task).or_default() += change;
    }
    let named = |wanted: fn(i64) -> bool| {
        let own = tally.iter().filter(|(_, change)| wanted(**change));
        own.map(|(task, _)| task.as_str().trim_start_matches("eval-").to_owned()).collect()
    };
    (named(|change| change < 0), named(|change| change > 0))
}

#[cfg(test)]
mod tests {
    use apprentice_results::compare::Finding;

    use super::{Conclusion, Effect, conclusion};

    #[test]
    fn the_placebo_decides_and_harm_against_nothing_is_harm() {
        let effect = |finding| Effect {
            against: "x".into(),
            evals: 8,
            difference: None,
            ci95: None,
            p: None,
            finding,
            because: String::new(),
        };
        use Finding::{Better, Inconclusive, NoVerdict, TooFew, Worse};
        for (placebo, none, wanted) in [
            (Better, Better, Conclusion::Helps),
            (Better, Inconclusive, Conclusion::Helps),
            (Better, Worse, Conclusion::Harms),
            (Inconclusive, Better, Conclusion::NoDifference),
            (Inconclusive, Worse, Conclusion::Harms),
            (Worse, Better, Conclusion::Harms),
            (TooFew, Better, Conclusion::NoVerdict),
            (NoVerdict, Worse, Conclusion::NoVerdict),
        ] {
            let (placebo, none) = (effect(placebo), effect(none));
            assert_eq!(conclusion(Some(&placebo), Some(&none)), wanted, "{placebo:?} {none:?}");
        }
        assert_eq!(conclusion(None, None), Conclusion::NoVerdict);
    }
}
