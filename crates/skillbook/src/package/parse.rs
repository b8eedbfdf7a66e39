//! Parses a package leniently as a skill: its id, its domain and its texts, made to fit the rules of a book.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use apprentice_wording::clip_line;
use serde_json::Value;

use super::check::normal;
use super::frontmatter::Frontmatter;
use super::{PROVENANCE_FILE, PROVENANCE_SCHEMA, Package, SKILL_FILE};
use crate::{NewDomain, Page, SkillText, hash, is_own_heading};

/// The gateway's cap, less the space for the line that points to the complete text.
const GUIDANCE_CAP: usize = 10_000;
const SITUATION_CAP: usize = 1400;
const LINE_CAP: usize = 160;
const MORE: &str = "\n\n(The whole text is in the package's SKILL.md.)";

/// A skill as its package describes it.
#[derive(Clone)]
pub(super) struct PackageSkill {
    pub(super) skill: SkillId,
    pub(super) domain: NewDomain,
    pub(super) text: SkillText,
    pub(super) annotations: Vec<String>,
    pub(super) tools: BTreeMap<String, Vec<String>>,
    pub(super) active: bool,
}

/// Returns the skill id, domain and texts that a package describes. `domain` applies to packages that name none.
///
/// # Errors
///
/// A code and the reason, as one text: the package has no skill file, no description, or no usable name.
pub fn parse_package(package: &Package, domain: &str) -> Result<(SkillId, NewDomain, SkillText), String> {
    draft(package, domain).map(|draft| (draft.skill, draft.domain, draft.text))
}

/// Returns the skill that a package describes. `domain` applies to packages that name none.
pub(super) fn draft(package: &Package, domain: &str) -> Result<PackageSkill, String> {
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
            let domain = head.metadata("cua-domain").unwrap_or(domain);
            let name = head.text("name").filter(|name| !name.is_empty()).unwrap_or(&package.name);
            skill_id(domain, name)?
        }
    };
    let line = own("/text/description").unwrap_or(description);
    let (text, annotations) = match page {
        Some(page) => (page_texts(line, &page.situation, &page.guidance), page.annotations),
        None if head.body.is_empty() => (texts(line, description, description), Vec::new()),
        None => (texts(line, description, &head.body), Vec::new()),
    };
    Ok(PackageSkill {
        domain: new_domain(skill.domain(), own("/domain/description")),
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
pub(super) fn skill_id(domain: &str, name: &str) -> Result<SkillId, String> {
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

/// Returns the domain of a package. A domain without a description gets a plain one.
pub(super) fn new_domain(domain: &str, description: Option<&str>) -> NewDomain {
    let description = description.filter(|text| !text.is_empty());
    NewDomain {
        domain: domain.to_owned(),
        description: description.map_or_else(|| format!("Skills on {domain}."), str::to_owned),
    }
}

/// Makes texts fit the rules of a book: a one-line description, no page headings, within the caps.
pub(super) fn texts(description: &str, situation: &str, guidance: &str) -> SkillText {
    let is_heading = |line: &str| line.starts_with("## ") || line == "##" || is_own_heading(line);
    let demoted =
        |line: &str| if is_heading(line) { format!("#{}", line.trim_start()) } else { line.to_owned() };
    fitted(description, &lines_of(situation, demoted), &lines_of(guidance, demoted))
}

/// Makes the texts of a page fit the caps of a book. Its further headings stay.
fn page_texts(description: &str, situation: &str, guidance: &str) -> SkillText {
    fitted(description, &lines_of(situation, str::to_owned), &lines_of(guidance, str::to_owned))
}

fn lines_of(text: &str, of: impl Fn(&str) -> String) -> String {
    let lines = text.lines().map(|line| of(line).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn fitted(description: &str, situation: &str, guidance: &str) -> SkillText {
    let cut = |text: &str, cap: usize, mark: &str| {
        if text.chars().count() <= cap {
            return text.to_owned();
        }
        text.chars().take(cap).collect::<String>().trim_end().to_owned() + mark
    };
    let flat = description.split_whitespace().collect::<Vec<_>>().join(" ");
    SkillText {
        description: clip_line(&flat, LINE_CAP),
        situation: cut(situation, SITUATION_CAP, " …"),
        guidance: cut(guidance, GUIDANCE_CAP, MORE),
    }
}

#[cfg(test)]
mod tests {
    use super::skill_id;

    #[test]
    fn a_foreign_name_is_cut_to_the_64_characters_that_an_id_may_have() {
        let slug = |name: &str| skill_id("gimp", name).map(|id| id.slug().to_owned());
        assert_eq!(slug(&"n".repeat(64)), Ok("n".repeat(64)));
        assert_eq!(slug(&"n".repeat(65)), Ok("n".repeat(64)));
        assert_eq!(
            slug(&format!("{} more", "n".repeat(63))),
            Ok("n".repeat(63)),
            "no hyphen stays at its end"
        );
    }
}
