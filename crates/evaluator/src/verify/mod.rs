//! Verifies stored results and believes none of them: every row is compared with its plan and its trace, grades are made again from
//! the evidence, the report and its pages from the rows, and files with their names. Needs no environment, model, network or suite.

mod attempt;
mod blobs;
mod finding;
mod pages;
mod plan;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_results::compare::MixedVersions;
use apprentice_runs::bundle::{
    BundleError, Manifest, UnpackLimits, files, hash_of, manifest, stays_inside, unpack,
};
use apprentice_runs::layout::{PLAN_FILE, REPORT_HTML, REPORT_JSON, REPORT_MARKDOWN};
use apprentice_runs::rows::{Rows, RowsError};
use apprentice_runs::{OpenError, Wanted, WrongPlace, check, read_plan, read_rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::{self, Definition, ExperimentError};
use crate::grading::grade::{GradeComparison, GradeError, GradeReport, grade};
use crate::run::RunPlan;
use attempt::Attempt;
use finding::Findings;

pub use finding::{CheckedClaim, Claim, Contradiction};

/// What no record repeats, so that nobody can check it.
const NOT_RECORDED: [&str; 7] = [
    "working times, and the exact wall times",
    "the tokens of guidance that was delivered",
    "what a model took that compared answers",
    "the caps of an arm, and a drift that was accepted",
    "the instructions of tasks: the suite's hash names them",
    "which of two arms an attempt is of, where both lend skills",
    "that the models and the worlds were the ones that traces name",
];

/// Schema name of the verification result.
pub const VERIFY_SCHEMA: &str = "apprentice.verify/1";

/// The result of verifying a bundle or a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// [`VERIFY_SCHEMA`].
    pub schema: String,
    /// The version of the program that packed the bundle; `None` for a folder.
    pub packed_by: Option<String>,
    /// Number of files whose hash matches the manifest; 0 for a folder, which has no manifest.
    pub files: usize,
    /// Files that are missing, changed, or absent from the manifest.
    pub changed: Vec<String>,
    /// The claims that were checked, with the number of comparisons.
    pub claims: Vec<CheckedClaim>,
    /// Records that contradict each other, and what is missing.
    pub contradictions: Vec<Contradiction>,
    /// What nothing could be compared with.
    pub unchecked: Vec<String>,
    /// The regraded runs, keyed by path.
    pub runs: BTreeMap<String, GradeReport>,
    /// Differences between the stored and the recomputed report; `None` without a report.
    pub report_differs: Option<Vec<Difference>>,
    /// Whether every check passed.
    pub holds: bool,
}

/// A value of the report that does not follow from the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The value's location, as a JSON pointer.
    pub at: String,
    /// The value in the stored report, shortened.
    pub stored: String,
    /// The recomputed value, shortened.
    pub computed: String,
    /// Whether only the wording of a sentence differs and its numbers agree, as between program versions.
    pub wording: bool,
}

/// The reason a bundle or a folder could not be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The bundle cannot be unpacked, or a file cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The path holds neither a run nor an experiment.
    #[error(transparent)]
    Other(#[from] WrongPlace),
    /// A row refers to a path outside its run.
    #[error("{}: a row's trace {trace:?} is outside the run", run.display())]
    OutsideRun {
        /// The run's folder.
        run: PathBuf,
        /// The row's trace path.
        trace: String,
    },
    /// A plan cannot be read.
    #[error(transparent)]
    Plan(#[from] OpenError),
    /// Rows cannot be read.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A run cannot be regraded.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// The report cannot be recomputed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// Verifies a bundle: unpacks it into `scratch` and checks every file, row, grade, number and page.
///
/// # Errors
/// The bundle cannot be unpacked, or what it holds cannot be read at all.
pub fn verify(bundle: &Path, scratch: &Path, caps: UnpackLimits) -> Result<Verification, VerifyError> {
    let list = unpack(bundle, scratch, caps)?;
    verified(scratch, Some(&list))
}

/// Verifies the folder of a run, an experiment or an unpacked bundle.
///
/// # Errors
/// The folder holds something else, or cannot be read at all.
pub fn verify_folder(folder: &Path) -> Result<Verification, VerifyError> {
    check(folder, Wanted::RunOrExperiment)?;
    verified(folder, manifest(folder)?.as_ref())
}

fn verified(folder: &Path, list: Option<&Manifest>) -> Result<Verification, VerifyError> {
    check(folder, Wanted::RunOrExperiment)?;
    let mut found = Findings::default();
    let there = files(folder)?;
    let (changed, whole) = list.map(|list| compare_list(folder, list, &there)).unwrap_or_default();
    found.count(Claim::Files, whole);
    changed.iter().for_each(|problem| found.add(Claim::Files, "bundle", problem));
    if list.is_none() {
        found.leave("files: a folder has no list of them");
    }
    let is_experiment = Definition::read(folder).map_err(ExperimentError::from)?.is_some();
    let mut runs = BTreeMap::new();
    for name in there.iter().filter_map(|path| run_of(path)) {
        let run = StoredFiles::read(name, folder.join(name))?;
        if let Some(definition) = run.definition(folder)? {
            plan::compare_definition(name, &run.plan, &definition, &mut found);
        }
        runs.insert(name.to_owned(), run.compare(list, &mut found)?);
    }
    if runs.is_empty() {
        found.add(Claim::Plan, "experiment", "it has no run");
    }
    let report_differs = compare_report(folder, is_experiment, &mut found)?;
    NOT_RECORDED.iter().for_each(|what| found.leave(*what));
    let (claims, unchecked) = found.claims();
    let differs = report_differs.iter().flatten().any(|place| !place.wording);
    Ok(Verification {
        schema: VERIFY_SCHEMA.into(),
        packed_by: list.map(|list| list.program.clone()),
        files: whole,
        changed,
        holds: found.contradictions.is_empty() && !differs,
        claims,
        contradictions: found.contradictions,
        unchecked,
        runs,
        report_differs,
    })
}

/// The folder of the run whose plan a path is, relative to what is verified.
fn run_of(path: &str) -> Option<&str> {
    match path.strip_suffix(PLAN_FILE)? {
        "" => Some(""),
        above => above.strip_suffix('/'),
    }
}

/// Compares files with a bundle's list. Returns what differs, and the number of files that do not.
fn compare_list(folder: &Path, list: &Manifest, there: &[String]) -> (Vec<String>, usize) {
    let stray = there.iter().filter(|path| !list.files.contains_key(*path));
    let mut changed: Vec<String> = stray.map(|path| format!("{path} is not in the manifest")).collect();
    let mut whole = 0;
    for (path, expected) in &list.files {
        match stays_inside(Path::new(path)).then(|| hash_of(&folder.join(path))) {
            Some(Ok(found)) if found == *expected => whole += 1,
            Some(Ok(_)) => changed.push(format!("{path} was changed")),
            Some(Err(_)) | None => changed.push(format!("{path} is missing")),
        }
    }
    (changed, whole)
}

/// A run whose records are compared.
struct StoredFiles<'a> {
    name: &'a str,
    folder: PathBuf,
    plan: RunPlan,
    read: Rows,
}

impl<'a> StoredFiles<'a> {
    fn read(name: &'a str, folder: PathBuf) -> Result<Self, VerifyError> {
        let (plan, read) = (read_plan(&folder)?, read_rows(&folder)?);
        match read.rows.iter().find(|row| !stays_inside(Path::new(&row.trace))) {
            Some(row) => Err(VerifyError::OutsideRun { trace: row.trace.clone(), run: folder }),
            None => Ok(Self { name, folder, plan, read }),
        }
    }

    /// The definition of the experiment, or of the replicate, whose run it is.
    fn definition(&self, root: &Path) -> Result<Option<Definition>, VerifyError> {
        let above = self.folder.ancestors().nth(2).filter(|above| above.starts_with(root));
        let read = above.map(Definition::read).transpose().map_err(ExperimentError::from)?;
        Ok(read.flatten())
    }

    fn compare(&self, list: Option<&Manifest>, found: &mut Findings) -> Result<GradeReport, VerifyError> {
        plan::compare(self.name, &self.plan, &self.read, found);
        let mut named = BTreeSet::new();
        let mut last: BTreeMap<_, u32> = BTreeMap::new();
        for row in &self.read.rows {
            let latest = last.entry(&row.trial).or_default();
            *latest = row.attempt.max(*latest);
        }
        for row in &self.read.rows {
            let is_last = last.get(&row.trial) == Some(&row.attempt);
            let place = plan::place(self.name, row);
            let attempt = Attempt { place: &place, run: &self.folder, plan: &self.plan, row, is_last };
            if let Some(trace) = attempt.compare(found) {
                named.extend(blobs::named(&trace).into_iter().map(|hash| (hash, place.clone())));
            }
        }
        self.compare_folders(found);
        blobs::compare(self.name, &self.folder, list, found);
        blobs::find(self.name, &self.folder, named, list, found);
        self.compare_grades(found)
    }

    /// An attempt's folder without a row is what is left of a row that was taken out.
    fn compare_folders(&self, found: &mut Findings) {
        let rows: BTreeSet<PathBuf> = self.read.rows.iter().map(|row| self.folder.join(&row.trace)).collect();
        let below = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut folders: Vec<PathBuf> =
                entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
            folders.sort_unstable();
            folders
        };
        let trials = below(&self.folder.join(apprentice_runs::layout::TRIALS_FOLDER));
        for attempt in trials.iter().flat_map(|trial| below(trial)).filter(|folder| !rows.contains(folder)) {
            let inside = attempt.strip_prefix(&self.folder).unwrap_or(&attempt).display().to_string();
            found.add(Claim::Rows, &plan::within(self.name, &inside), "the attempt has a folder and no row");
        }
    }

    /// Grades every attempt again. What differs is told by the grade report, too.
    fn compare_grades(&self, found: &mut Findings) -> Result<GradeReport, VerifyError> {
        let graded = grade(&self.folder, None)?;
        // Attempts are graded in the order of their rows.
        for (one, row) in graded.attempts.iter().zip(&self.read.rows) {
            let place = plan::place(self.name, row);
            match one.outcome {
                GradeComparison::Same => found.count(Claim::Grades, 1),
                GradeComparison::Unjudged => found.leave("void attempts that ended before a check"),
                GradeComparison::Differs => {
                    let again = one
                        .graded
                        .map_or_else(String::new, |again| format!("{:?} {}", again.verdict, again.score));
                    found.add(Claim::Grades, &place, format!("graded again: {again}: {}", one.explanation));
                }
                GradeComparison::Missing => found.add(Claim::Grades, &place, one.explanation.clone()),
            }
        }
        Ok(graded)
    }
}

/// Makes the report and its pages again, and compares them. `None` where no report is stored.
fn compare_report(
    folder: &Path,
    is_experiment: bool,
    found: &mut Findings,
) -> Result<Option<Vec<Difference>>, VerifyError> {
    let stored = folder.join(REPORT_JSON);
    let pages = [REPORT_HTML, REPORT_MARKDOWN].map(|page| folder.join(page));
    if !stored.is_file() && !pages.iter().any(|page| page.is_file()) {
        found.leave("a report: none is stored");
        return Ok(None);
    }
    let again = match is_experiment {
        true => experiment::report(folder)?,
        false => experiment::runs(&[PathBuf::from(folder)], folder, MixedVersions::Refuse)?,
    };
    pages::compare(&pages, &again, found)?;
    if !stored.is_file() {
        found.leave("report.json: it is not stored");
        return Ok(None);
    }
    found.count(Claim::Report, report::values(&stored));
    let differs = report::differences(&stored, &again)?;
    for one in differs.iter().filter(|one| !one.wording) {
        found.add(
            Claim::Report,
            one.at.as_str(),
            format!("the report says {}, the rows {}", one.stored, one.computed),
        );
    }
    Ok(Some(differs))
}
