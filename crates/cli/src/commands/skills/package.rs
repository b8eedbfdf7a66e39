//! Validates, exports and imports Agent Skills packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{Clock as _, SkillId, counted};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::package;
use apprentice_skillbook::package::evals::read_evals;
use apprentice_skillbook::package::{
    ImportOptions, Imported, Level, Package, PackageFinding, SKILL_FILE, agents_md, check,
    read_and_import_configs,
};
use apprentice_skillbook::shipped;
use apprentice_skillbook::{At, Snapshot};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::archive::read_archive;
use super::package_files::{MOST_BYTES, MOST_FILES, is_passed_over, is_skill_file};
use super::skillweaver;
use super::{open, write};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal, wire};

/// Name prefix of the shipped packages that apply to any task.
const NOTES: &str = "interaction-";
const DEPTH: usize = 5;
const MOST_FOLDERS: usize = 2000;

/// Validates a skillbook, a package, or a folder or archive of packages; exit code 3 if it is invalid.
///
/// A package that brings evaluations is told how many `skills measure` can carry out, and why not the others.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The folder or archive [default: the skillbook].
    folder: Option<PathBuf>,
}

/// Imports Agent Skills packages.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A package, or a folder or zip archive (`.skill`) of packages; with `--from skill-configs` a JSON file. Not used
    /// with `--from shipped`, which copies the shipped notes into the skillbook.
    #[arg(required_unless_present = "from")]
    place: Option<PathBuf>,
    /// The format of the input.
    #[arg(long, value_enum, default_value = "packages")]
    from: ImportFormat,
    /// Domain of packages that do not name one.
    #[arg(long, default_value = "general")]
    domain: String,
    /// The address of the site that relative addresses of `--from skillweaver` begin with.
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// Import packages although following them would make an agent run code, send data or the like. Without it they are
    /// named with the sentences, and not imported.
    #[arg(long)]
    accept_effects: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ImportFormat {
    /// Folders with a `SKILL.md`.
    Packages,
    /// A JSON object `{name: {desc, usage, tool_list, active}}`.
    SkillConfigs,
    /// The section of an `AGENTS.md` that `skills export --as agents-md` wrote.
    AgentsMd,
    /// The skills shipped with the program.
    Shipped,
    /// A folder of SkillWeaver's Python functions over Playwright (`*_code.py`). Those that can be translated become
    /// functions, each with a skill of its own; the others are named with the reasons.
    Skillweaver,
}

/// The output of `skills validate --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Validation<'a> {
    schema: &'static str,
    /// `book` or `packages`.
    kind: &'static str,
    valid: bool,
    results: &'a [Checked],
}

/// The output of `skills import --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct ImportReport<'a> {
    schema: &'static str,
    packages: &'a [Imported],
    /// The skillbook's hash afterwards.
    content_hash: String,
}

/// A skillbook or a package, and what was found in it.
#[derive(Serialize, JsonSchema)]
struct Checked {
    path: String,
    valid: bool,
    /// Evaluations that `skills measure` can carry out; absent where the package brings none.
    #[serde(skip_serializing_if = "Option::is_none")]
    evaluations: Option<usize>,
    findings: Vec<PackageFinding>,
}

pub(super) fn validate(arguments: &Validate, book: &Path, as_json: bool) -> Result<(), Failure> {
    let folder = arguments.folder.as_deref().unwrap_or(book);
    if !folder.exists() {
        return Err(Failure::say(Kind::Config, format!("{}: no such folder", folder.display())));
    }
    let looks_like_book = folder.join(".meta/ops.jsonl").is_file() || folder.join("DOMAINS.md").is_file();
    let mut packages = Vec::new();
    if !looks_like_book {
        packages = packages_at(folder)?;
    }
    if packages.is_empty() && !folder.is_dir() {
        return Err(none_in(folder));
    }
    let (kind, results) = if packages.is_empty() {
        ("book", vec![book_of(folder)?])
    } else {
        let one = |(path, package): (PathBuf, Package)| {
            let findings = check(&package);
            let valid = findings.iter().all(|finding| finding.level != Level::Error);
            let evaluations = read_evals(&package).ok().map(|found| found.evals.len());
            Checked { path: path.display().to_string(), valid, evaluations, findings }
        };
        ("packages", packages.into_iter().map(one).collect())
    };
    let valid = results.iter().all(|result| result.valid);
    if as_json {
        let schema = "apprentice.skills.validate/1";
        terminal::json(&Validation { schema, kind, valid, results: &results })?;
    } else {
        results.iter().for_each(print_result);
    }
    match valid {
        true => Ok(()),
        false => Err(Failure::say(Kind::Config, format!("{}: not valid", folder.display()))),
    }
}

fn print_result(result: &Checked) {
    terminal::line(format_args!("{}: {}", result.path, if result.valid { "valid" } else { "not valid" }));
    if let Some(count) = result.evaluations {
        terminal::line(format_args!("  {} can be measured", counted(count, "evaluation")));
    }
    for finding in &result.findings {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let level = format!("{:?}", finding.level).to_lowercase();
        terminal::line(format_args!("  {level} {}{line}: {} ({})", finding.path, finding.what, finding.code));
    }
}

fn book_of(folder: &Path) -> Result<Checked, Failure> {
    let book = Snapshot::open(folder, At::Now).kind(Kind::Config)?;
    let problem = |problem: &apprentice_skillbook::Problem| PackageFinding {
        level: Level::Error,
        code: "unreadable",
        what: problem.what.clone(),
        path: problem.path.clone(),
        line: None,
    };
    let mut findings: Vec<PackageFinding> = book.problems().iter().map(problem).collect();
    findings.extend(book.pending().iter().map(|path| PackageFinding {
        level: Level::Warning,
        code: "not_recorded",
        what: "changed by hand; `apprentice skills sync` records it".to_owned(),
        path: path.clone(),
        line: None,
    }));
    findings.extend(book.has_torn_line().then(|| PackageFinding {
        level: Level::Warning,
        code: "cut_off",
        what:
            "ends with an incomplete line that was never committed; the next write moves it aside".to_owned(),
        path: ".meta/ops.jsonl".to_owned(),
        line: None,
    }));
    let path = folder.display().to_string();
    Ok(Checked { path, valid: book.problems().is_empty(), evaluations: None, findings })
}

pub(super) fn import(arguments: &Import, book: &Path, as_json: bool, config: &Config) -> Result<(), Failure> {
    let place = arguments.place.as_deref();
    if !SkillId::is_slug(&arguments.domain) {
        return Err(Failure::say(Kind::Usage, format!("{:?} is not a valid domain", arguments.domain)));
    }
    let options = ImportOptions {
        time: SystemClock::default().now(),
        domain: arguments.domain.clone(),
        // What is shipped is part of the program.
        accept_effects: arguments.accept_effects || matches!(arguments.from, ImportFormat::Shipped),
    };
    let mut results = Vec::new();
    let named = || place.ok_or_else(|| Failure::say(Kind::Usage, "give the file or folder to import"));
    match arguments.from {
        ImportFormat::Shipped => {
            let mut gateway = write(book)?;
            for package in shipped::packages().iter().filter(|package| package.name.starts_with(NOTES)) {
                results.push(package::import(&mut gateway, package, &options).kind(Kind::Config)?);
            }
        }
        ImportFormat::SkillConfigs => {
            let place = named()?;
            let text = apprentice_files::read_to_string(place)
                .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", place.display())))?;
            let models = wire::models(config, Arc::new(SystemClock::default()))?;
            let mut gateway = write(book)?;
            gateway.set_readers(models.named_safety_readers()?);
            let imported = read_and_import_configs(&mut gateway, &text, &options);
            results = wire::runtime()?.block_on(async { imported.await.kind(Kind::Config) })?;
        }
        ImportFormat::Packages | ImportFormat::AgentsMd | ImportFormat::Skillweaver => {
            results = import_packages(arguments, named()?, book, &options, config)?;
        }
    }
    report(&results, &open(book)?, as_json)
}

/// Imports the packages of a place, or a library as packages, past the readers of the book.
fn import_packages(
    arguments: &Import,
    place: &Path,
    book: &Path,
    options: &ImportOptions,
    config: &Config,
) -> Result<Vec<Imported>, Failure> {
    let mut results = Vec::new();
    let packages = match arguments.from {
        ImportFormat::Skillweaver => {
            let library = skillweaver::read(place, arguments.base.as_deref())?;
            results.extend(library.left_out);
            library.packages
        }
        ImportFormat::AgentsMd => {
            let failed = |error: &dyn std::fmt::Display| {
                Failure::say(Kind::Config, format!("{}: {error}", place.display()))
            };
            let text = apprentice_files::read_to_string(place).map_err(|error| failed(&error))?;
            agents_md::read_skills(&text).map_err(|why| failed(&why))?
        }
        _ => packages_at(place)?.into_iter().map(|(_, package)| package).collect(),
    };
    if packages.is_empty() && results.is_empty() {
        return Err(none_in(place));
    }
    let models = wire::models(config, Arc::new(SystemClock::default()))?;
    let runtime = wire::runtime()?;
    let mut gateway = write(book)?;
    gateway.set_readers(models.named_safety_readers()?);
    for package in packages {
        let imported = package::read_and_import(&mut gateway, &package, options);
        results.push(runtime.block_on(async { imported.await.kind(Kind::Config) })?);
    }
    Ok(results)
}

fn report(results: &[Imported], book: &Snapshot, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let (schema, content_hash) = ("apprentice.skills.import/1", book.content_hash());
        terminal::json(&ImportReport { schema, packages: results, content_hash })?;
    } else {
        let taken = results.iter().filter(|one| one.refused.is_none()).count();
        if results.len() > 1 {
            terminal::line(format_args!("{taken} of {} taken over", results.len()));
        }
        for one in results {
            let skill = one.skill.as_ref().map(ToString::to_string).unwrap_or_default();
            match &one.refused {
                Some(why) => terminal::line(format_args!("{}: refused, {why}", one.package)),
                None if one.written => terminal::line(format_args!("{}: {skill}", one.package)),
                None => terminal::line(format_args!("{}: {skill} already exists", one.package)),
            }
            for finding in &one.findings {
                terminal::line(format_args!("  {} ({})", finding.what, finding.code));
            }
        }
    }
    match results.iter().all(|one| one.refused.is_some()) {
        true => Err(Failure::say(Kind::Config, "no package could be imported")),
        false => Ok(()),
    }
}

fn none_in(place: &Path) -> Failure {
    Failure::say(Kind::NothingMatched, format!("{}: found no folder with a {SKILL_FILE}", place.display()))
}

/// Returns the packages of a folder or an archive, or the package of a skill file.
pub(super) fn packages_at(place: &Path) -> Result<Vec<(PathBuf, Package)>, Failure> {
    let above = || place.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match place.is_file() {
        true if is_skill_file(place) => read_packages(above(), 0),
        true => read_archive(place),
        false => read_packages(place, 0),
    }
}

/// Returns the packages in a folder and its subfolders, sorted by path. Links are not followed.
fn read_packages(folder: &Path, depth: usize) -> Result<Vec<(PathBuf, Package)>, Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", folder.display()));
    if [SKILL_FILE, "skill.md"].iter().any(|name| folder.join(name).is_file()) {
        let absolute = fs::canonicalize(folder).map_err(failed)?;
        let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut files = BTreeMap::new();
        read_files(folder, folder, &mut files)?;
        return Ok(vec![(folder.to_owned(), Package { name, files })]);
    }
    let mut packages = Vec::new();
    if depth >= DEPTH {
        return Ok(packages);
    }
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && !path.is_symlink())
        .filter(|path| !is_passed_over(path))
        .collect();
    folders.sort_unstable();
    folders.truncate(MOST_FOLDERS);
    for below in folders {
        packages.extend(read_packages(&below, depth + 1)?);
    }
    Ok(packages)
}

fn read_files(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), Failure> {
    let failed = |path: &Path, error| Failure::say(Kind::Config, format!("{}: {error}", path.display()));
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        let kind = fs::symlink_metadata(&path).map_err(|error| failed(&path, error))?;
        if is_passed_over(&path) || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            read_files(root, &path, files)?;
            continue;
        }
        let held: u64 = files.values().map(|bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX)).sum();
        if files.len() >= MOST_FILES || held + kind.len() > MOST_BYTES {
            let what = format!(
                "{}: a package may contain at most {MOST_FILES} files and {MOST_BYTES} bytes",
                root.display()
            );
            return Err(Failure::say(Kind::Config, what));
        }
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        files.insert(name, apprentice_files::read(&path).map_err(|error| failed(&path, error))?);
    }
    Ok(())
}
