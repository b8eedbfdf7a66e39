//! Imports packages into a book: parsed leniently, checked by the gateway like any other write, and stored unchanged.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::check::check;
use super::function_files::{PackageFunction, read_functions};
use super::parse::{PackageSkill, draft, new_domain, skill_id, texts};
use super::{Package, PackageFinding};
use crate::{
    Actor, Applied, AttachedPackage, Change, FileText, Gateway, Origin, WriteRefusal, WriteRequest,
    check_png, figure_path, figure_refs, function_path, hash, is_function_file, reading,
};

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Timestamp of the operations.
    pub time: Timestamp,
    /// Domain of packages that name none.
    pub domain: String,
    /// True if a person has seen what following the packages would do, and takes them all the same.
    pub accept_effects: bool,
}

/// The result of importing one package.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Imported {
    /// Name of the package's folder.
    pub package: String,
    /// The skill that the package became, or that already existed.
    pub skill: Option<SkillId>,
    /// Whether the book changed.
    pub written: bool,
    /// Reason for refusing the package, as `code: why`.
    pub refused: Option<String>,
    /// Errors and warnings about the package.
    pub findings: Vec<PackageFinding>,
}

/// Has the gateway's readers read the page and the files of a package, then imports it.
///
/// # Errors
///
/// As [`import`].
pub async fn read_and_import(
    gateway: &mut Gateway,
    package: &Package,
    options: &ImportOptions,
) -> Result<Imported, WriteRefusal> {
    if let Ok(draft) = draft(package, &options.domain) {
        let skill = draft.skill.clone();
        gateway.read_change(&creation(gateway, draft)).await;
        gateway.read_files(&files_beside_functions(package)).await;
        for function in read_functions(&package.files).0 {
            gateway.read_change(&written(&skill, function)).await;
        }
    }
    import(gateway, package, options)
}

/// Imports one package. Lists format errors as findings. Refuses a package without readable frontmatter or description,
/// or with content that no book may contain; the import of other packages continues.
///
/// # Errors
///
/// The book cannot be read or written. A package that is refused is no error: the reason is in [`Imported::refused`].
pub fn import(
    gateway: &mut Gateway,
    package: &Package,
    options: &ImportOptions,
) -> Result<Imported, WriteRefusal> {
    let mut imported = Imported {
        package: package.name.clone(),
        skill: None,
        written: false,
        refused: None,
        findings: check(package),
    };
    match draft(package, &options.domain) {
        Ok(draft) => take(gateway, package, draft, options, &mut imported)?,
        Err(why) => imported.refused = Some(why),
    }
    Ok(imported)
}

/// Imports skills from a table `{name: {desc, usage, tool_list, active}}`.
///
/// # Errors
///
/// The text is no such table, or the book cannot be written.
pub fn import_configs(
    gateway: &mut Gateway,
    text: &str,
    options: &ImportOptions,
) -> Result<Vec<Imported>, ConfigsError> {
    let listed = listed_skills(text, options)?;
    let imported = listed.into_iter().map(|skill| import_listed(gateway, skill, options));
    imported.collect::<Result<_, WriteRefusal>>().map_err(ConfigsError::Book)
}

/// Has the gateway's readers read each text of such a table, then imports it.
///
/// # Errors
///
/// As [`import_configs`].
pub async fn read_and_import_configs(
    gateway: &mut Gateway,
    text: &str,
    options: &ImportOptions,
) -> Result<Vec<Imported>, ConfigsError> {
    let mut all = Vec::new();
    for skill in listed_skills(text, options)? {
        if let Ok(draft) = &skill.draft {
            gateway.read_change(&creation(gateway, draft.clone())).await;
            gateway.read_files(&skill.package.files).await;
        }
        all.push(import_listed(gateway, skill, options)?);
    }
    Ok(all)
}

/// A skill of a table.
struct ListedSkill {
    key: String,
    package: Package,
    /// The skill, or the reason why the entry is none.
    draft: Result<PackageSkill, String>,
}

fn listed_skills(text: &str, options: &ImportOptions) -> Result<Vec<ListedSkill>, ConfigsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: BTreeMap<String, SkillConfig> = serde_json::from_str(text).map_err(ConfigsError::Json)?;
    let listed = table.into_iter().map(|(key, config)| {
        let name = config.name.clone().unwrap_or_else(|| key.clone());
        let bytes = serde_json::to_vec_pretty(&config).map_err(ConfigsError::Json)?;
        let files = [("skill-config.json".to_owned(), bytes)].into();
        let draft = config.draft(&name, options);
        Ok(ListedSkill { key, package: Package { name, files }, draft })
    });
    listed.collect()
}

fn import_listed(
    gateway: &mut Gateway,
    listed: ListedSkill,
    options: &ImportOptions,
) -> Result<Imported, WriteRefusal> {
    let mut imported =
        Imported { package: listed.key, skill: None, written: false, refused: None, findings: Vec::new() };
    match listed.draft {
        Ok(draft) => take(gateway, &listed.package, draft, options, &mut imported)?,
        Err(why) => imported.refused = Some(why),
    }
    Ok(imported)
}

/// The reason why a table of skills could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ConfigsError {
    /// The text is not such a table.
    #[error("not a table of {{name: {{desc, usage, tool_list, active}}}}")]
    Json(#[source] serde_json::Error),
    /// Writing the book failed.
    #[error(transparent)]
    Book(#[from] WriteRefusal),
}

#[derive(serde::Deserialize, Serialize)]
struct SkillConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, alias = "description")]
    desc: String,
    #[serde(default)]
    usage: String,
    #[serde(default)]
    active: bool,
    #[serde(default)]
    tool_list: BTreeMap<String, Vec<String>>,
}

impl SkillConfig {
    fn draft(&self, name: &str, options: &ImportOptions) -> Result<PackageSkill, String> {
        if self.desc.trim().is_empty() {
            return Err("no_description: desc is missing".to_owned());
        }
        let skill = skill_id(&options.domain, name)?;
        Ok(PackageSkill {
            domain: new_domain(skill.domain(), None),
            text: texts(&self.desc, &self.desc, if self.usage.is_empty() { &self.desc } else { &self.usage }),
            skill,
            annotations: Vec::new(),
            tools: self.tool_list.clone(),
            active: self.active,
        })
    }
}

fn take(
    gateway: &mut Gateway,
    package: &Package,
    draft: PackageSkill,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), WriteRefusal> {
    imported.skill = Some(draft.skill.clone());
    imported.findings.extend(binaries(package));
    let (skill, tools, active) = (draft.skill.clone(), draft.tools.clone(), draft.active);
    let refused = |(code, why): (&'static str, String)| format!("{code}: {why}");
    let checked = gateway
        .inspect_files(Actor::Human, &package.files)
        .and_then(|()| check_figures(package, &draft.text.guidance));
    if let Err(fault) = checked {
        imported.refused = Some(refused(fault));
        return Ok(());
    }
    if let Some(known) = gateway.state().skills.get(&skill) {
        if known.text != draft.text {
            imported.refused = Some(format!("exists: the book contains {skill} with another text"));
            return Ok(());
        }
        // A function that was not taken over before may be now. Those that are there stay as they are.
        let (mut functions, broken) = read_functions(&package.files);
        functions.retain(|function| !known.functions.contains_key(&function.name));
        imported.findings.extend(broken);
        return add_functions(gateway, &skill, functions, options, imported);
    }
    let request = |change| of_person(options, change);
    let texts = files_beside_functions(package);
    let file = gateway.assess_files(&texts).filter(|_| !options.accept_effects);
    if let Some((path, assessment)) = file {
        imported.refused = Some(format!("effects: {path}: {}", assessment.in_words()));
        return Ok(());
    }
    match gateway.apply(request(creation(gateway, draft))) {
        Ok(Applied::Written(_) | Applied::Proposed(_) | Applied::AlreadyThere(_)) => imported.written = true,
        Err(WriteRefusal::Refused { code, why }) => {
            imported.refused = Some(refused((code, why)));
            return Ok(());
        }
        Err(failed @ WriteRefusal::Book(_)) => return Err(failed),
    }
    // Functions are kept as such, and come back into the package when it goes out.
    let files = gateway.keep_files(Actor::Human, &texts)?;
    let view = gateway.state().skills.get(&skill).map(|skill| skill.view()).unwrap_or_default();
    let view_hash = hash(view.as_bytes());
    let attached = AttachedPackage { name: package.name.clone(), files, view_hash, tools, active };
    gateway.apply(request(Change::PackageAttached { skill: skill.clone(), package: attached }))?;
    let (functions, broken) = read_functions(&package.files);
    imported.findings.extend(broken);
    add_functions(gateway, &skill, functions, options, imported)
}

/// Writes the functions of a package to its skill. What cannot be taken over is a finding, and keeps nothing else out.
fn add_functions(
    gateway: &mut Gateway,
    skill: &SkillId,
    functions: Vec<PackageFunction>,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), WriteRefusal> {
    for function in functions {
        let path = function_path(&function.name);
        match gateway.apply(of_person(options, written(skill, function))) {
            Ok(Applied::Written(_)) => imported.written = true,
            Ok(_) => {}
            Err(WriteRefusal::Refused { code, why }) => {
                let what = format!("{path} is not taken over: {code}: {why}");
                imported
                    .findings
                    .push(PackageFinding { path, ..PackageFinding::warning("function_refused", what) });
            }
            Err(failed @ WriteRefusal::Book(_)) => return Err(failed),
        }
    }
    Ok(())
}

/// Returns the files of a package that are judged as texts. A function is judged as one when it is written: its calls are
/// no sentences.
fn files_beside_functions(package: &Package) -> BTreeMap<String, Vec<u8>> {
    let others = package.files.iter().filter(|(path, _)| !is_function_file(path));
    others.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

fn written(skill: &SkillId, function: PackageFunction) -> Change {
    let PackageFunction { name, source } = function;
    Change::FunctionWritten { skill: skill.clone(), function: name, source, references: Vec::new() }
}

/// The request of the person who imports.
fn of_person(options: &ImportOptions, change: Change) -> WriteRequest {
    WriteRequest {
        effects_accepted: options.accept_effects,
        ..WriteRequest::of(Actor::Human, options.time, change)
    }
}

/// Returns the change that creates a package's skill.
fn creation(gateway: &Gateway, draft: PackageSkill) -> Change {
    let PackageSkill { skill, domain, text, annotations, .. } = draft;
    let domain = (!gateway.state().domains.contains_key(&domain.domain)).then_some(domain);
    Change::SkillCreated { skill, text, annotations, origin: Origin::Imported, domain }
}

/// Checks the figures that a package's text points at: each is there, is the picture of its name, and fits.
fn check_figures(package: &Package, guidance: &str) -> Result<(), (&'static str, String)> {
    for figure in figure_refs(guidance) {
        let path = figure_path(&figure.sha256);
        let Some(bytes) = package.files.get(&path) else {
            return Err(("missing_figure", format!("the package has no file {path}")));
        };
        if hash(bytes) != figure.sha256 {
            return Err(("figure_reference", format!("{path} is not named by the hash of its content")));
        }
        check_png(bytes).map_err(|(code, why)| (code, format!("{path}: {why}")))?;
    }
    Ok(())
}

/// Returns a finding for every binary file that is no figure.
fn binaries(package: &Package) -> Vec<PackageFinding> {
    let binary = |(path, bytes): (&String, &Vec<u8>)| match reading(bytes) {
        FileText::Text(_) => None,
        FileText::Binary(_) if path.starts_with("figures/") && check_png(bytes).is_ok() => None,
        FileText::Binary(_) => {
            let what = format!("{path} is a binary file: only the printable strings in it were scanned");
            Some(PackageFinding { path: path.clone(), ..PackageFinding::warning("binary_file", what) })
        }
    };
    package.files.iter().filter_map(binary).collect()
}
