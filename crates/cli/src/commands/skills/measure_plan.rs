//! Prepares measurements of skills: which packages, which evaluations, the book with the skill, and the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::run::ModelSource as _;
use apprentice_guidance::INCLUDED_BUDGET;
use apprentice_measure::{
    Drawing, MEASURED_SKILL_SCHEMA, MeasuredSkill, Offer, ScreeningResult, lend_suite, task_id,
};
use apprentice_protocol::{Clock as _, TaskId};
use apprentice_results::stats::MIN_TEMPLATES;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::package::evals::{
    EVALS_FILE, EVALS_FOLDER, EvalCheck, EvalsError, LeftOutEval, SkillEval, SkillEvals, read_evals,
};
use apprentice_skillbook::package::{self, ImportOptions, Package};
use apprentice_skillbook::{Snapshot, hash};
use apprentice_tasks::suite::Suite;

use super::package::packages_at;
use super::{open, write};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::wire;

/// The folder with the book that holds the skill.
const LENT: &str = "lent";
/// The folder of a package with its certificates.
pub(super) const CERTIFICATES: &str = "certificates/";

/// What is to be measured: a package, or a book.
pub(super) enum Subject {
    /// A package.
    Package(Package),
    /// A book, by its folder.
    Book(PathBuf),
}

/// A measurement that is ready to run.
pub(super) struct Prepared {
    /// The name of its folder.
    pub(super) name: String,
    /// The book with the skill.
    pub(super) book: Snapshot,
    /// The suite.
    pub(super) suite: Suite,
    /// The suite of evaluations that only ask whether the skill is read.
    pub(super) triggers: Option<Suite>,
    /// What is measured.
    pub(super) skill: MeasuredSkill,
    /// Whether its folder was not there before.
    pub(super) is_new: bool,
}

/// What a measurement is prepared with.
pub(super) struct Preparing<'a> {
    /// The models of the settings.
    pub(super) models: &'a Models,
    /// A suite in place of the packages' own evaluations.
    pub(super) suite: Option<&'a Suite>,
    /// Whether a person takes packages that would make an agent run code, send data or the like.
    pub(super) accept_effects: bool,
    /// Whether the worlds are cells without a network, in which effects reach nobody.
    pub(super) is_sealed: bool,
    /// How the model gets the skill.
    pub(super) offer: Offer,
}

/// Finds what is to be measured at a place.
pub(super) fn subjects(place: &Path) -> Result<Vec<Subject>, Failure> {
    if !place.exists() {
        return Err(Failure::say(
            Kind::Config,
            format!("{}: there is no such file or folder", place.display()),
        ));
    }
    if place.join(".meta/ops.jsonl").is_file() || place.join("DOMAINS.md").is_file() {
        return Ok(vec![Subject::Book(place.to_owned())]);
    }
    let packages: Vec<Subject> =
        packages_at(place)?.into_iter().map(|(_, package)| Subject::Package(package)).collect();
    match packages.is_empty() {
        true => Err(Failure::say(
            Kind::NothingMatched,
            format!("{}: found neither a folder with a SKILL.md nor a skillbook", place.display()),
        )),
        false => Ok(packages),
    }
}

impl Subject {
    /// Its name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Package(package) => package.name.clone(),
            Self::Book(folder) => {
                let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
                absolute.file_name().map_or_else(|| "book".into(), |name| name.to_string_lossy().into_owned())
            }
        }
    }

    /// Prepares its measurement below a folder.
    pub(super) fn prepare(&self, folder: &Path, with: &Preparing<'_>) -> Result<Prepared, Failure> {
        match self {
            Self::Package(package) => prepare_package(package, folder, with),
            Self::Book(place) => {
                let Some(suite) = with.suite else {
                    let told = "a skillbook brings no evaluations";
                    return Err(
                        Failure::say(Kind::Usage, told).hint("name tasks to measure it on: --suite DIR")
                    );
                };
                let book = open(place)?.clean().kind(Kind::Config)?;
                let screening = ScreeningResult::AsWritten;
                let origin = Origin { package: None, screening, remarks: BTreeSet::new() };
                let remarks = offer_remarks(with.offer, &book, &BTreeMap::new());
                on_suite(self.name(), book, Origin { remarks, ..origin }, suite, folder)
            }
        }
    }
}

fn prepare_package(package: &Package, folder: &Path, with: &Preparing<'_>) -> Result<Prepared, Failure> {
    let mut found = evals_of(package, with)?;
    let screened = book_of(package, &folder.join(LENT), with)?;
    let digest = package_digest(package);
    let remarks = offer_remarks(with.offer, &screened.0, &package.files);
    if let Some(suite) = with.suite {
        let origin = Origin { package: Some(digest), screening: screened.1, remarks };
        return on_suite(package.name.clone(), screened.0, origin, suite, folder);
    }
    let (book, screening) = screened;
    if with.models.judge().is_none() {
        without_judge(&mut found.evals, &mut found.left_out, &mut found.remarks);
    }
    if package.files.keys().any(|path| path.starts_with("scripts/")) {
        found.remarks.insert(
            "the scripts of the package can be read by the agent, and are not installed for it".to_owned(),
        );
    }
    found.remarks.extend(remarks);
    let (measured, asked): (Vec<SkillEval>, Vec<SkillEval>) =
        found.evals.into_iter().partition(|eval| !eval.checks.is_empty());
    let asked = without_needless(with.offer, asked, &mut found.left_out);
    if measured.is_empty() {
        return Err(nothing_left(&package.name, &found.left_out));
    }
    let skills: BTreeSet<_> = book.skills().map(|skill| skill.id.clone()).collect();
    let Some(skill) = skills.first() else {
        return Err(Failure::say(Kind::Bug, format!("{}: no skill was imported", package.name)));
    };
    let drawn = |evals: &[SkillEval], name: &str| -> Result<Suite, Failure> {
        drawn_at(&folder.join(name), |place| {
            Drawing { package, skill, evals }.write(place).kind(Kind::Environment)
        })
    };
    let suite = drawn(&measured, "evaluations")?;
    let triggers = if asked.is_empty() { None } else { Some(drawn(&asked, "triggers-evaluations")?) };
    let wanted = measured.iter().chain(&asked);
    let should_trigger =
        wanted.filter_map(|eval| Some((TaskId::new(task_id(eval)), eval.should_trigger?))).collect();
    let evals = package.files.iter().filter(|(path, _)| path.starts_with(EVALS_FOLDER));
    let skill = MeasuredSkill {
        schema: MEASURED_SKILL_SCHEMA.to_owned(),
        name: package.name.clone(),
        skills,
        package: Some(digest),
        tasks: format!("{EVALS_FILE} of the package"),
        tasks_hash: self::digest(evals),
        left_out: BTreeMap::new(),
        remarks: found.remarks,
        screening,
        should_trigger,
    };
    let skill = skill.leaving_out(&found.left_out);
    Ok(Prepared { name: package.name.clone(), book, suite, triggers, skill, is_new: false })
}

/// Leaves out the evaluations that only ask whether a skill is read where its text stands in the prompt.
fn without_needless(offer: Offer, asked: Vec<SkillEval>, left_out: &mut Vec<LeftOutEval>) -> Vec<SkillEval> {
    if offer == Offer::Read {
        return asked;
    }
    let why = "it asks whether the skill is read, and the text stands in the prompt";
    left_out.extend(asked.into_iter().map(|eval| LeftOutEval { id: eval.id, why: why.to_owned() }));
    Vec::new()
}

/// What a package brings of evaluations; nothing is read where a suite is named.
fn evals_of(package: &Package, with: &Preparing<'_>) -> Result<SkillEvals, Failure> {
    if with.suite.is_some() {
        return Ok(SkillEvals::default());
    }
    read_evals(package).map_err(|error| {
        let is_missing = matches!(error, EvalsError::Missing | EvalsError::Foreign { .. });
        let failure = Failure::say(Kind::Config, format!("{}: {error}", package.name));
        let failure = if is_missing { failure.hint(first_evals()) } else { failure };
        failure.hint("or measure it on the tasks of a suite: --suite DIR")
    })
}

/// What somebody writes who has a skill and no evaluations yet.
fn first_evals() -> String {
    format!(
        "write into {EVALS_FILE} of the package what people ask for and what must hold then, {MIN_TEMPLATES} of them or more:\n\
         \x20 [{{\"prompt\": \"How many orders are in orders.csv?\", \"files\": [\"evals/files/orders.csv\"],\n\
         \x20   \"expectations\": [\"The answer is 3\"]}},\n\
         \x20  {{\"prompt\": \"Make a list of the late orders.\", \"expectations\": [{{\"type\": \"file_exists\", \"path\": \"late.txt\"}}]}}]"
    )
}

/// Measures what no model has to judge, and names what is left out.
fn without_judge(
    evals: &mut Vec<SkillEval>,
    left_out: &mut Vec<LeftOutEval>,
    remarks: &mut BTreeSet<String>,
) {
    evals.retain_mut(|eval| {
        if !eval.needs_judge() {
            return true;
        }
        eval.checks.retain(EvalCheck::is_of_state);
        let is_left = !eval.checks.is_empty() || eval.should_trigger.is_some();
        if is_left {
            remarks
                .insert("statements are not judged, because no model is named for it (--judge)".to_owned());
        } else {
            let why = "a model must judge its expectations, and none is named (--judge)".to_owned();
            left_out.push(LeftOutEval { id: eval.id.clone(), why });
        }
        is_left
    });
}

/// The first reason stands in the error itself, since a folder of packages shows no more of each.
fn nothing_left(name: &str, left_out: &[LeftOutEval]) -> Failure {
    let mut told = left_out.iter().map(|LeftOutEval { id, why }| format!("evaluation {id}: {why}"));
    let first = told.next().unwrap_or_else(|| "it has none".to_owned());
    let failure =
        Failure::say(Kind::Config, format!("{name}: none of its evaluations can be measured: {first}"));
    told.take(9).fold(failure, |failure, hint| failure.hint(hint))
}

/// Where a measured book comes from.
struct Origin {
    /// The digest of its package; `None` for a book.
    package: Option<String>,
    screening: ScreeningResult,
    remarks: BTreeSet<String>,
}

/// What a text in the prompt lacks: its end, where it is too long, and the files of its package.
fn offer_remarks(offer: Offer, book: &Snapshot, files: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut remarks = BTreeSet::new();
    if offer == Offer::Read {
        return remarks;
    }
    let (length, most) =
        (book.skills().map(|skill| skill.view().chars().count()).sum::<usize>(), INCLUDED_BUDGET.0);
    if length > most {
        remarks.insert(format!("its text has {length} characters, and a prompt takes {most} of them"));
    }
    let beside = |path: &&String| {
        !path.starts_with(EVALS_FOLDER) && !path.starts_with(CERTIFICATES) && *path != "SKILL.md"
    };
    let beside = files.keys().filter(beside).count();
    if beside > 0 {
        remarks.insert(format!(
            "{beside} files of the package cannot be read, since its text alone stands in the prompt"
        ));
    }
    remarks
}

/// The measurement of a book on a copy of a suite.
fn on_suite(
    name: String,
    book: Snapshot,
    origin: Origin,
    suite: &Suite,
    folder: &Path,
) -> Result<Prepared, Failure> {
    let skills: BTreeSet<_> = book.skills().map(|skill| skill.id.clone()).collect();
    if skills.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, format!("{name} contains no skills")));
    }
    let copied = drawn_at(&folder.join(&suite.name), |place| {
        lend_suite(suite, &skills, place).kind(Kind::Environment)
    })?;
    let skill = MeasuredSkill {
        schema: MEASURED_SKILL_SCHEMA.to_owned(),
        name: name.clone(),
        skills,
        package: origin.package,
        tasks: format!("the suite {}", suite.name),
        tasks_hash: suite.hash.clone(),
        left_out: BTreeMap::new(),
        remarks: origin.remarks,
        screening: origin.screening,
        should_trigger: BTreeMap::new(),
    };
    Ok(Prepared { name, book, suite: copied, triggers: None, skill, is_new: false })
}

/// Has a suite written, or finds the same one of an earlier start.
fn drawn_at(place: &Path, write: impl Fn(&Path) -> Result<(), Failure>) -> Result<Suite, Failure> {
    if !place.exists() {
        write(place)?;
        return crate::suite::load(place);
    }
    let found = crate::suite::load(place)?;
    let scratch = tempfile::tempdir().kind(Kind::Environment)?;
    let again = scratch.path().join(&found.name);
    write(&again)?;
    match crate::suite::load(&again)?.hash == found.hash {
        true => Ok(found),
        false => {
            let told = format!(
                "{}: a measurement of another package, or of an earlier state of it",
                place.display()
            );
            Err(Failure::say(Kind::Config, told).hint("choose another folder with --out"))
        }
    }
}

/// The book with the skill of a package, past the readers and rules of every book. Its evaluations stay outside.
fn book_of(
    package: &Package,
    folder: &Path,
    with: &Preparing<'_>,
) -> Result<(Snapshot, ScreeningResult), Failure> {
    let mut lent = package.clone();
    lent.files.retain(|path, _| !path.starts_with(EVALS_FOLDER) && !path.starts_with(CERTIFICATES));
    let mut gateway = write(folder)?;
    gateway.set_readers(with.models.named_safety_readers()?);
    let options = |accept_effects| ImportOptions {
        time: SystemClock::default().now(),
        domain: "general".to_owned(),
        accept_effects,
    };
    let runtime = wire::runtime()?;
    let mut import = |accept: bool| {
        let options = options(accept);
        let imported = package::read_and_import(&mut gateway, &lent, &options);
        runtime.block_on(async { imported.await.kind(Kind::Config) })
    };
    let mut imported = import(false)?;
    let mut screening = ScreeningResult::Passed;
    if let Some(why) = imported.refused.clone() {
        let is_effect = why.starts_with("effects");
        if !is_effect || !(with.accept_effects || with.is_sealed) {
            let failure = Failure::say(Kind::Config, format!("{}: refused, {why}", package.name));
            return Err(match is_effect {
                true => {
                    failure.hint("these worlds have a network or are no cells; to measure it all the same: --accept-effects")
                }
                false => failure,
            });
        }
        screening = ScreeningResult::Effects { found: why };
        imported = import(true)?;
        if let Some(why) = imported.refused {
            return Err(Failure::say(Kind::Config, format!("{}: refused, {why}", package.name)));
        }
    }
    drop(gateway);
    Ok((open(folder)?.clean().kind(Kind::Config)?, screening))
}

/// The digest of a package: of its files without certificates, which lie beside the skill and are no part of it.
pub(super) fn package_digest(package: &Package) -> String {
    digest(package.files.iter().filter(|(path, _)| !path.starts_with(CERTIFICATES)))
}

/// SHA-256 over files: their paths, lengths and contents.
fn digest<'a>(files: impl Iterator<Item = (&'a String, &'a Vec<u8>)>) -> String {
    let mut all = Vec::new();
    for (path, bytes) in files {
        all.extend_from_slice(format!("{path}\0{}\0", bytes.len()).as_bytes());
        all.extend_from_slice(bytes);
    }
    hash(&all)
}

/// Where the files of a measurement lie: a folder, or one that is removed after a dry run.
pub(super) enum Ground {
    /// The folder of the measurement.
    Kept(PathBuf),
    /// A folder for a dry run.
    Scratch(Arc<tempfile::TempDir>),
}

impl Ground {
    /// Its path.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Scratch(folder) => folder.path(),
        }
    }
}
