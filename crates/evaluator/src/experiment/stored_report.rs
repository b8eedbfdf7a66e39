//! Builds reports from stored files: the folder of an experiment, or run folders. Runs nothing and needs no suite. The
//! same folders always give the same report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::definition::{BookPlan, Definition};
use super::prereg::Prereg;
use super::stored_run::StoredRun;
use super::{ExperimentError, dev_trials, empty_book, learning_summary, replicate};
use crate::run::RunPlan;
use apprentice_results::compare::MixedVersions;
use apprentice_results::contamination::Contamination;
use apprentice_results::report::{
    Eligibility, FixedPlan, PlannedTrial, Registration, Report, ReportInput, build, contrasts,
    default_contrasts,
};
use apprentice_runs::layout::{
    CONTAMINATION_FILE, DEV_FOLDER, LEARNING_FOLDER, MEASURE_FOLDER, PREREG_FILE, ROWS_FILE,
};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_runs::rows;
use apprentice_runs::{Place, Wanted, WrongPlace, check};

/// Builds the report of the experiment in a folder, finished or not.
pub fn report(folder: &Path) -> Result<Report, ExperimentError> {
    let found = check(folder, Wanted::RunOrExperiment)?;
    let wrong = || WrongPlace { path: folder.to_owned(), found, wanted: Wanted::RunOrExperiment };
    let definition = Definition::read(folder)?.ok_or_else(wrong)?;
    let missing = || ExperimentError::NoRun(folder.to_owned());
    let learning = StoredRun::below(folder, LEARNING_FOLDER)?;
    let measured = StoredRun::below(folder, MEASURE_FOLDER)?;
    let dev = StoredRun::below(folder, DEV_FOLDER)?;
    let first = measured.as_ref().or(learning.as_ref()).ok_or_else(missing)?;
    let learned = match (&learning, &definition.book) {
        (Some(run), BookPlan::Learned { epochs, .. }) => {
            let place = folder.join(LEARNING_FOLDER).join(run.plan.run.as_str());
            Some(learning_summary::summary(folder, &place, &run.rows, *epochs)?)
        }
        (Some(_) | None, BookPlan::Learned { .. } | BookPlan::Given { .. }) => None,
    };
    let hygiene = Contamination::read(folder)
        .map_err(|source| ExperimentError::Read { path: folder.join(CONTAMINATION_FILE), source })?;
    let registered = Prereg::read(&folder.join(PREREG_FILE))?;
    let rows: Vec<TrialRow> = learning.iter().chain(&measured).flat_map(|run| run.rows.clone()).collect();
    let planned: Vec<PlannedTrial> = measured.iter().flat_map(StoredRun::planned).collect();
    let title = match &definition.book {
        BookPlan::Learned { teacher, .. } => {
            format!("{} and a book learned from {teacher}", definition.student)
        }
        BookPlan::Given { .. } => format!("{} and a given book", definition.student),
    };
    let fixed = fixed(&definition, registered.as_ref());
    let empty = learned.as_ref().map_or(Ok(None), |learned| empty_book::note(folder, learned))?;
    Ok(build(&ReportInput {
        run: first.plan.run.clone(),
        title,
        replicates: replicate::summary(folder, &definition, &fixed.primary)?,
        started_at: Some(learning.as_ref().unwrap_or(first).plan.planned_at),
        contrasts: contrasts(&rows, &fixed),
        rows: &rows,
        planned: &planned,
        strata: definition.strata.clone(),
        programs: definition.programs.clone(),
        unvaried: definition.unvaried.clone(),
        eligible: measured.iter().flat_map(|run| eligible(&definition, run)).collect(),
        learning: learned,
        registration: registered.map(|found| registration(&found, &definition)),
        facts: facts(&definition, measured.as_ref()),
        notes: empty
            .into_iter()
            .chain(hygiene.iter().flat_map(Contamination::warnings))
            .chain(notes(&definition, learning.as_ref(), measured.as_ref()))
            .chain(dev_trials::notes(&definition, dev.as_ref()))
            .collect(),
        hygiene,
        mixed: MixedVersions::Refuse,
    }))
}

/// What was fixed before the run: the preregistration if there is one, else the definition.
fn fixed(definition: &Definition, registered: Option<&Prereg>) -> FixedPlan {
    let base = registered.map_or(definition, |found| &found.definition);
    FixedPlan {
        primary: base.primary.clone(),
        student: Some(base.student.clone()),
        arms: Some(base.arms.iter().cloned().collect()),
    }
}

fn registration(found: &Prereg, definition: &Definition) -> Registration {
    Registration {
        registered_at: found.registered_at,
        primary: found.definition.primary.clone(),
        smallest_effect: found.smallest_effect,
        deviations: found.deviations(definition),
    }
}

/// The number of test templates on which each arm runs.
fn eligible(definition: &Definition, run: &StoredRun) -> Vec<Eligibility> {
    let of = definition.test.values().collect::<BTreeSet<_>>().len();
    let on = |arm: &String| {
        let student = run.plan.trials.iter().filter(|trial| trial.role == Role::Student && trial.arm == *arm);
        student.map(|trial| &trial.template).collect::<BTreeSet<_>>().len()
    };
    definition.arms.iter().map(|arm| Eligibility { arm: arm.clone(), templates: on(arm), of }).collect()
}

fn facts(definition: &Definition, measured: Option<&StoredRun>) -> BTreeMap<String, String> {
    let book = measured.and_then(|run| run.plan.arms.iter().find_map(|arm| arm.skillbook_hash.clone()));
    let none = || "none".to_owned();
    BTreeMap::from([
        ("command".to_owned(), definition.command.join(" ")),
        ("program".to_owned(), definition.program.clone()),
        ("suite".to_owned(), definition.suite.clone()),
        ("suite hash".to_owned(), definition.suite_hash.clone()),
        ("split hash".to_owned(), definition.split_hash.clone().unwrap_or_else(none)),
        ("prompt hash".to_owned(), definition.prompt_hash.clone()),
        ("skillbook hash".to_owned(), book.unwrap_or_else(none)),
        ("spare skills hash".to_owned(), definition.spare.clone().unwrap_or_else(none)),
        ("teacher".to_owned(), definition.teacher.clone().unwrap_or_else(none)),
        ("student".to_owned(), definition.student.clone()),
        ("seeds".to_owned(), definition.seeds.to_string()),
        ("training tasks".to_owned(), definition.train.len().to_string()),
        ("test tasks".to_owned(), definition.test.len().to_string()),
    ])
}

fn notes(definition: &Definition, learning: Option<&StoredRun>, measured: Option<&StoredRun>) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(definition.book, BookPlan::Learned { .. }) {
        let pulled = |run: &StoredRun| run.rows.iter().any(|row| !row.skills_viewed.is_empty());
        if !learning.is_some_and(pulled) {
            notes.push("no skill was requested during learning".to_owned());
        }
        let planned = learning.map_or(0, |run| run.plan.trials.len());
        let done = learning.map_or(0, |run| apprentice_runs::rows::trials(&run.rows).len());
        if done < planned {
            notes.push(format!("learning is not finished: {done} of {planned} attempts have finished"));
        }
    }
    if !definition.suppress.is_empty() {
        notes.push(format!("hidden from the tasks of a program, as skill@program: {}", definition.suppress));
    }
    if !definition.functions.is_verified() {
        notes.push("the arms with functions also lend those that no replays have verified".to_owned());
    }
    if measured.is_none() {
        notes.push("nothing has been measured yet".to_owned());
    }
    notes
}

/// Rows of a report: those of a run with its plan, or those of a file alone.
struct ReportSource {
    plan: Option<RunPlan>,
    rows: Vec<TrialRow>,
    planned: Vec<PlannedTrial>,
}

impl ReportSource {
    /// Reads a run folder, a folder with rows only, or a file of rows.
    fn read(place: &Path, out: &Path) -> Result<Self, ExperimentError> {
        let folder = if place.is_file() { place.parent().unwrap_or(Path::new("")) } else { place };
        let from = relative_path(out, folder)?;
        if matches!(check(place, Wanted::RunOrRows)?, Place::Run) {
            let stored = StoredRun::read(place, &from)?;
            let planned = stored.planned().collect();
            return Ok(Self { plan: Some(stored.plan), rows: stored.rows, planned });
        }
        let file = if place.is_file() { place.to_owned() } else { place.join(ROWS_FILE) };
        let mut rows = rows::read(&file)?.rows;
        for row in rows.iter_mut().filter(|_| !from.is_empty()) {
            row.trace = format!("{from}/{}", row.trace);
        }
        if rows.is_empty() {
            return Err(ExperimentError::NoRows(file));
        }
        Ok(Self { plan: None, rows, planned: Vec::new() })
    }
}

/// Builds the report of runs (finished or not) or of row files. `mixed` decides whether rows of different versions may
/// be compared. Links to traces are relative to `out`, the report's folder.
pub fn runs(places: &[PathBuf], out: &Path, mixed: MixedVersions) -> Result<Report, ExperimentError> {
    let mut sources = Vec::new();
    for place in places {
        sources.push(ReportSource::read(place, out)?);
    }
    let rows: Vec<TrialRow> = sources.iter().flat_map(|source| source.rows.clone()).collect();
    let planned: Vec<PlannedTrial> = sources.iter().flat_map(|source| source.planned.clone()).collect();
    let plans = || sources.iter().filter_map(|source| source.plan.as_ref());
    let first = plans().map(|plan| (plan.planned_at, &plan.run)).min();
    let first = first.or_else(|| rows.iter().map(|row| (row.started_at, &row.run)).min());
    let Some((started_at, run)) = first.map(|(time, run)| (time, run.clone())) else {
        return Err(ExperimentError::NoRows(out.to_owned()));
    };
    let joined = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let of_plans = |of: fn(&RunPlan) -> String| joined(plans().map(of).collect());
    let suite = joined(
        rows.iter().map(|row| row.suite.clone()).chain(plans().map(|plan| plan.suite.clone())).collect(),
    );
    let models: BTreeSet<String> = rows
        .iter()
        .map(|row| row.model.clone())
        .chain(plans().flat_map(|plan| plan.models.iter().map(|one| one.model.clone())))
        .collect();
    let runs = rows.iter().map(|row| row.run.to_string()).chain(plans().map(|plan| plan.run.to_string()));
    let runs = joined(runs.collect());
    Ok(build(&ReportInput {
        run,
        title: format!("{} on {suite}", joined(models)),
        replicates: None,
        started_at: Some(started_at),
        contrasts: default_contrasts(&rows),
        rows: &rows,
        planned: &planned,
        strata: BTreeMap::new(),
        programs: plans().flat_map(|plan| plan.programs.clone()).collect(),
        unvaried: Vec::new(),
        eligible: Vec::new(),
        learning: None,
        registration: None,
        hygiene: None,
        mixed,
        facts: BTreeMap::from([
            ("command".to_owned(), of_plans(|plan| plan.command.join(" "))),
            ("program".to_owned(), of_plans(|plan| plan.program.clone())),
            ("runs".to_owned(), runs),
            ("suite".to_owned(), suite),
        ]),
        notes: Vec::new(),
    }))
}

/// The relative path from one folder to another, with `/`; empty if they are the same.
fn relative_path(from: &Path, to: &Path) -> Result<String, ExperimentError> {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        path.canonicalize().map_err(|source| ExperimentError::Read { path: path.to_owned(), source })
    };
    let (from, to) = (whole(from)?, whole(to)?);
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| "..".to_owned());
    let down = to.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}
