//! Reports from what stands on disk: an experiment's folder, or the folders of runs. Nothing is run and no
//! suite is needed; the same folders always give the same report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::definition::{BookPlan, Definition};
use super::prereg::{PREREG_FILE, Prereg};
use super::{ExperimentError, existing, lesson};
use crate::compare::Mixed;
use crate::hygiene::{HYGIENE_FILE, Hygiene};
use crate::report::{
    ArmKey, Eligibility, Fixed, PlannedTrial, Registration, Report, ReportInput, build, contrasts,
    default_contrasts,
};
use crate::row::{Role, TrialRow};
use crate::run::{RunPlan, peek};

/// Folders of an experiment, as they are named below it.
const LEARNING: &str = "learning";
const MEASURE: &str = "measure";

/// A run as it stands on disk, with its rows' traces named from where the report lies.
struct Stored {
    plan: RunPlan,
    rows: Vec<TrialRow>,
}

impl Stored {
    fn read(folder: &Path, from: &str) -> Result<Self, ExperimentError> {
        let (plan, mut rows) = peek(folder)?;
        for row in rows.iter_mut().filter(|_| !from.is_empty()) {
            row.trace = format!("{from}/{}", row.trace);
        }
        Ok(Self { plan, rows })
    }

    /// The last run below `folder/name`.
    fn below(folder: &Path, name: &str) -> Result<Option<Self>, ExperimentError> {
        let Some(path) = existing(&folder.join(name)) else { return Ok(None) };
        let run = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::read(&path, &format!("{name}/{run}")).map(Some)
    }

    fn planned(&self) -> impl Iterator<Item = PlannedTrial> {
        self.plan.trials.iter().map(|trial| PlannedTrial {
            trial: trial.trial.clone(),
            task: trial.task.clone(),
            key: ArmKey { role: trial.role, model: trial.model.clone(), arm: trial.arm.clone() },
            seed: trial.seed,
        })
    }
}

/// The report of the experiment in a folder, as far as it has come.
pub fn report(folder: &Path) -> Result<Report, ExperimentError> {
    let missing = || ExperimentError::Missing(folder.to_owned());
    let definition = Definition::read(folder)?.ok_or_else(missing)?;
    let learning = Stored::below(folder, LEARNING)?;
    let measured = Stored::below(folder, MEASURE)?;
    let first = measured.as_ref().or(learning.as_ref()).ok_or_else(missing)?;
    let lessons = match (&learning, &definition.book) {
        (Some(run), BookPlan::Learned { epochs, .. }) => {
            let place = folder.join(LEARNING).join(run.plan.run.as_str());
            Some(lesson::summary(folder, (&place, &run.rows), *epochs)?)
        }
        (Some(_) | None, BookPlan::Learned { .. } | BookPlan::Given { .. }) => None,
    };
    let hygiene = Hygiene::read(folder)
        .map_err(|source| ExperimentError::Read { path: folder.join(HYGIENE_FILE), source })?;
    let registered = Prereg::read(&folder.join(PREREG_FILE))?;
    let rows: Vec<TrialRow> = learning.iter().chain(&measured).flat_map(|run| run.rows.clone()).collect();
    let planned: Vec<PlannedTrial> = measured.iter().flat_map(Stored::planned).collect();
    let title = match &definition.book {
        BookPlan::Learned { teacher, .. } => {
            format!("{} and a book learned from {teacher}", definition.student)
        }
        BookPlan::Given { .. } => format!("{} and a given book", definition.student),
    };
    Ok(build(&ReportInput {
        run: first.plan.run.clone(),
        title,
        started_at: Some(learning.as_ref().unwrap_or(first).plan.planned_at),
        contrasts: contrasts(&rows, &fixed(&definition, registered.as_ref())),
        rows: &rows,
        planned: &planned,
        strata: definition.strata.clone(),
        unvaried: definition.unvaried.clone(),
        eligible: measured.iter().flat_map(|run| eligible(&definition, run)).collect(),
        learning: lessons,
        registration: registered.map(|found| registration(&found, &definition)),
        facts: facts(&definition, measured.as_ref()),
        notes: hygiene
            .iter()
            .flat_map(Hygiene::warnings)
            .chain(notes(&definition, learning.as_ref(), measured.as_ref()))
            .collect(),
        hygiene,
        mixed: Mixed::Refuse,
    }))
}

/// What was fixed before the run: as it was registered, or else as it was defined.
fn fixed(definition: &Definition, registered: Option<&Prereg>) -> Fixed {
    let base = registered.map_or(definition, |found| &found.definition);
    Fixed {
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

/// On how many of the test templates each arm is run.
fn eligible(definition: &Definition, run: &Stored) -> Vec<Eligibility> {
    let of = definition.test.values().collect::<BTreeSet<_>>().len();
    let on = |arm: &String| {
        let student = run.plan.trials.iter().filter(|trial| trial.role == Role::Student && trial.arm == *arm);
        student.map(|trial| &trial.template).collect::<BTreeSet<_>>().len()
    };
    definition.arms.iter().map(|arm| Eligibility { arm: arm.clone(), templates: on(arm), of }).collect()
}

fn facts(definition: &Definition, measured: Option<&Stored>) -> BTreeMap<String, String> {
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

fn notes(definition: &Definition, learning: Option<&Stored>, measured: Option<&Stored>) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(definition.book, BookPlan::Learned { .. }) {
        let pulled = |run: &Stored| run.rows.iter().any(|row| !row.skills_viewed.is_empty());
        if !learning.is_some_and(pulled) {
            notes.push("no skill was requested while learning".to_owned());
        }
        let planned = learning.map_or(0, |run| run.plan.trials.len());
        let done = learning.map_or(0, |run| crate::rows::trials(&run.rows).len());
        if done < planned {
            notes.push(format!("learning is not finished: {done} of {planned} attempts were made"));
        }
    }
    if measured.is_none() {
        notes.push("nothing has been measured yet".to_owned());
    }
    notes
}

/// The report of finished or unfinished runs, with rows of different versions compared only if that is allowed. Links to traces start in `out`, where the report will lie.
pub fn runs(folders: &[PathBuf], out: &Path, mixed: Mixed) -> Result<Report, ExperimentError> {
    let mut stored = Vec::new();
    for folder in folders {
        stored.push(Stored::read(folder, &way(out, folder)?)?);
    }
    let rows: Vec<TrialRow> = stored.iter().flat_map(|run| run.rows.clone()).collect();
    let planned: Vec<PlannedTrial> = stored.iter().flat_map(Stored::planned).collect();
    let Some(first) = stored.iter().min_by_key(|run| run.plan.planned_at) else {
        return Err(ExperimentError::Missing(out.to_owned()));
    };
    let names = |of: fn(&Stored) -> String| -> String {
        let names: BTreeSet<String> = stored.iter().map(of).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let models: BTreeSet<&str> =
        stored.iter().flat_map(|run| &run.plan.models).map(|one| one.model.as_str()).collect();
    let suite = names(|run| run.plan.suite.clone());
    Ok(build(&ReportInput {
        run: first.plan.run.clone(),
        title: format!("{} on {suite}", models.into_iter().collect::<Vec<_>>().join(", ")),
        started_at: Some(first.plan.planned_at),
        contrasts: default_contrasts(&rows),
        rows: &rows,
        planned: &planned,
        strata: BTreeMap::new(),
        unvaried: Vec::new(),
        eligible: Vec::new(),
        learning: None,
        registration: None,
        hygiene: None,
        mixed,
        facts: BTreeMap::from([
            ("command".to_owned(), names(|run| run.plan.command.join(" "))),
            ("program".to_owned(), names(|run| run.plan.program.clone())),
            ("runs".to_owned(), names(|run| run.plan.run.to_string())),
            ("suite".to_owned(), suite),
        ]),
        notes: Vec::new(),
    }))
}

/// The way from one folder to another, with `/`; nothing if they are the same.
fn way(from: &Path, to: &Path) -> Result<String, ExperimentError> {
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
