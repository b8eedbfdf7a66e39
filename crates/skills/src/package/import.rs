//! Imports packages into a book: parsed leniently, checked by the gateway like any other write, and stored unchanged.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::check::{check, normal};
use super::frontmatter::Frontmatter;
use super::{PROVENANCE_FILE, PROVENANCE_SCHEMA, Package, PackageFinding, SKILL_FILE};
use crate::book::{
    Actor, Applied, AttachedPackage, Change, FileText, Gateway, NewDomain, Origin, Page, SkillText,
    WriteRefusal, WriteRequest, hash, reading,
};
use crate::words::clip_line;

/// The gateway's cap, less the space for the line that points to the complete text.
const GUIDANCE_CAP: usize = 10_000;
const SITUATION_CAP: usize = 1400;
const LINE_CAP: usize = 160;
const MORE: &str = "\n\n(The whole text is in the package's SKILL.md.)";

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Timestamp of the operations.
    pub time: Timestamp,
    /// Domain of packages that name none.
    pub domain: String,
}

/// The result of importing one package.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// A skill as its package describes it.
struct PackageSkill {
    skill: SkillId,
    domain: NewDomain,
    text: SkillText,
    annotations: Vec<String>,
    tools: BTreeMap<String, Vec<String>>,
    active: bool,
}

/// Imports one package. Lists format errors as findings. Refuses a package without readable frontmatter or description,
/// or with content that no book may contain; the import of other packages continues.
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
    match draft(package, options) {
        Ok(draft) => take(gateway, package, draft, options, &mut imported)?,
        Err(why) => imported.refused = Some(why),
    }
    Ok(imported)
}

/// Imports skills from a table `{name: {desc, usage, tool_list, active}}`.
pub fn import_configs(
    gateway: &mut Gateway,
    text: &str,
    options: &ImportOptions,
) -> Result<Vec<Imported>, ConfigsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: BTreeMap<String, SkillConfig> = serde_json::from_str(text).map_err(ConfigsError::Json)?;
    let mut all = Vec::new();
    for (key, config) in table {
        let mut imported = Imported {
            package: key.clone(),
            skill: None,
            written: false,
            refused: None,
            findings: Vec::new(),
        };
        let name = config.name.clone().unwrap_or(key);
        let bytes = serde_json::to_vec_pretty(&config).map_err(ConfigsError::Json)?;
        let package = Package { name: name.clone(), files: [("skill-config.json".to_owned(), bytes)].into() };
        match config.draft(&name, options) {
            Ok(draft) => take(gateway, &package, draft, options, &mut imported)?,
            Err(why) => imported.refused = Some(why),
        }
        all.push(imported);
    }
    Ok(all)
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
        let skill = named(&options.domain, name)?;
        Ok(PackageSkill {
            domain: opened(skill.domain(), None),
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
    if let Err((code, why)) = gateway.inspect_files(Actor::Human, &package.files) {
        imported.refused = Some(format!("{code}: {why}"));
        return Ok(());
    }
    let PackageSkill { skill, domain, text, annotations, tools, active } = draft;
    if let Some(known) = gateway.state().skills.get(&skill) {
        let same = known.text == text;
        imported.refused = (!same).then(|| format!("exists: the book contains {skill} with another text"));
        return Ok(());
    }
    let new = (!gateway.state().domains.contains_key(&domain.domain)).then_some(domain);
    let change = Change::SkillCreated {
        skill: skill.clone(),
        text,
        annotations,
        origin: Origin::Imported,
        domain: new,
    };
    let request = |change| WriteRequest::of(Actor::Human, options.time, change);
    match gateway.apply(request(change)) {
        Ok(Applied::Written(_) | Applied::Proposed(_) | Applied::AlreadyThere(_)) => imported.written = true,
        Err(WriteRefusal::Refused { code, why }) => {
            imported.refused = Some(format!("{code}: {why}"));
            return Ok(());
        }
        Err(failed @ WriteRefusal::Book(_)) => return Err(failed),
    }
    let files = gateway.keep_files(Actor::Human, &package.files)?;
    let view = gateway.state().skills.get(&skill).map(|skill| skill.view()).unwrap_or_default();
    let attached = AttachedPackage {
        name: package.name.clone(),
        files,
        view_hash: hash(view.as_bytes()),
        tools,
        active,
    };
    gateway.apply(request(Change::PackageAttached { skill, package: attached }))?;
    Ok(())
}

/// Returns a finding for every binary file.
fn binaries(package: &Package) -> Vec<PackageFinding> {
    let binary = |(path, bytes): (&String, &Vec<u8>)| match reading(bytes) {
        FileText::Text(_) => None,
        FileText::Binary(_) => {
            let what = format!("{path} is a binary file: only the printable strings in it were scanned");
            Some(PackageFinding { path: path.clone(), ..PackageFinding::warning("binary_file", what) })
        }
    };
    package.files.iter().filter_map(binary).collect()
}

/// Returns the skill id, domain and texts that a package describes. `domain` applies to packages that name none.
pub(crate) fn described(package: &Package, domain: &str) -> Result<(SkillId, NewDomain, SkillText), String> {
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: domain.to_owned() };
    draft(package, &options).map(|draft| (draft.skill, draft.domain, draft.text))
}

fn draft(package: &Package, options: &ImportOptions) -> Result<PackageSkill, String> {
    let (_, bytes) = package.skill_file().ok_or(format!("no_skill_file: there is no {SKILL_FILE}"))?;
    let head = Frontmatter::read(bytes).map_err(|finding| format!("{}: {}", finding.code, finding.what))?;
    let description = ["description", "summary", "desc"].iter().find_map(|key| head.text(key));
    let description =
        description.filter(|text| !text.is_empty()).ok_or("no_description: there is no description")?;
    let ours = provenance(package);
    let own = |pointer: &str| ours.as_ref().and_then(|ours| ours.pointer(pointer)).and_then(Value::as_str);
    let page = Page::parse(&(head.body.clone() + "\n")).ok();
    let id = own("/id").or(head.metadata("cua-id"));
    let skill = match id.and_then(|id| SkillId::parse(id).ok()) {
        Some(skill) => skill,
        None => {
            let domain = head.metadata("cua-domain").unwrap_or(&options.domain);
            let name = head.text("name").filter(|name| !name.is_empty()).unwrap_or(&package.name);
            named(domain, name)?
        }
    };
    let line = own("/text/description").unwrap_or(description);
    let (text, annotations) = match page {
        Some(page) => (texts(line, &page.situation, &page.guidance), page.annotations),
        None if head.body.is_empty() => (texts(line, description, description), Vec::new()),
        None => (texts(line, description, &head.body), Vec::new()),
    };
    Ok(PackageSkill {
        domain: opened(skill.domain(), own("/domain/description")),
        skill,
        text,
        annotations,
        tools: BTreeMap::new(),
        active: false,
    })
}

fn provenance(package: &Package) -> Option<Value> {
    let value: Value = serde_json::from_slice(package.files.get(PROVENANCE_FILE)?).ok()?;
    (value["schema"] == PROVENANCE_SCHEMA).then_some(value)
}

/// Makes a skill id from a foreign name.
fn named(domain: &str, name: &str) -> Result<SkillId, String> {
    let lower = normal(name).to_lowercase();
    let slug: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let slug = slug.join("-");
    let slug = match slug.strip_prefix(&format!("{domain}-")) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ if slug.is_empty() => format!("skill-{:.8}", hash(name.as_bytes())),
        _ => slug,
    };
    let cut: String = slug.chars().take(64).collect();
    SkillId::parse(&format!("{domain}/{}", cut.trim_end_matches('-')))
        .map_err(|error| format!("bad_name: {error}"))
}

fn opened(domain: &str, description: Option<&str>) -> NewDomain {
    let description = description.filter(|text| !text.is_empty());
    NewDomain {
        domain: domain.to_owned(),
        description: description.map_or_else(|| format!("Skills on {domain}."), str::to_owned),
    }
}

/// Makes texts fit the rules of a book: a one-line description, no page headings, within the caps.
fn texts(description: &str, situation: &str, guidance: &str) -> SkillText {
    let demoted = |text: &str| {
        let lines = text.lines().map(|line| match line.starts_with("## ") || line == "##" {
            true => format!("#{line}"),
            false => line.to_owned(),
        });
        lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n").trim().to_owned()
    };
    let cut = |text: String, cap: usize, mark: &str| {
        if text.chars().count() <= cap {
            return text;
        }
        text.chars().take(cap).collect::<String>().trim_end().to_owned() + mark
    };
    let flat = description.split_whitespace().collect::<Vec<_>>().join(" ");
    SkillText {
        description: clip_line(&flat, LINE_CAP),
        situation: cut(demoted(situation), SITUATION_CAP, " …"),
        guidance: cut(demoted(guidance), GUIDANCE_CAP, MORE),
    }
}
