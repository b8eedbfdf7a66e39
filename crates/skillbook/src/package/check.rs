//! Checks a package against the Agent Skills format and against good practice beyond it.

use unicode_normalization::UnicodeNormalization as _;

use super::evals::{EVALS_FILE, EvalsError, LeftOutEval, read_evals};
use super::frontmatter::{Field, Frontmatter};
use super::{DESCRIPTION_CAP, NAME_CAP, Package, PackageFinding, SKILL_FILE};

const FIELDS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
const MAX_COMPATIBILITY_CHARS: usize = 500;
const MAX_LINES: usize = 500;
const MAX_BYTES: usize = 100_000;

/// Checks a package. The package is valid if no finding is an error.
pub fn check(package: &Package) -> Vec<PackageFinding> {
    let Some((path, bytes)) = package.skill_file() else {
        return vec![PackageFinding::error("no_skill_file", "the folder has no SKILL.md")];
    };
    let mut findings = Vec::new();
    if path != SKILL_FILE {
        findings.push(PackageFinding::warning("lower_case_file", "the file should be named SKILL.md"));
    }
    match Frontmatter::read(bytes) {
        Err(fatal) => findings.push(fatal),
        Ok(head) => {
            findings.extend(head.findings.iter().cloned());
            fields(&head, &mut findings);
            name(&head, &package.name, &mut findings);
            description(&head, &mut findings);
            compatibility(&head, &mut findings);
            body(&head, bytes.len(), &mut findings);
        }
    }
    evaluations(package, &mut findings);
    findings.sort_by(|a, b| (a.level, a.line, a.code).cmp(&(b.level, b.line, b.code)));
    findings
}

/// What of the package's evaluations could not be carried out. The format forbids none of it, and a package need not have any.
fn evaluations(package: &Package, findings: &mut Vec<PackageFinding>) {
    let warning = |code, what: String| PackageFinding {
        path: EVALS_FILE.to_owned(),
        ..PackageFinding::warning(code, what)
    };
    let found = match read_evals(package) {
        Err(EvalsError::Missing) => return,
        Err(error) => return findings.push(warning("evals_not_read", error.to_string())),
        Ok(found) => found,
    };
    findings.extend(found.left_out.into_iter().map(|LeftOutEval { id, why }| {
        warning("eval_left_out", format!("evaluation {id} cannot be measured: {why}"))
    }));
    findings.extend(found.remarks.into_iter().map(|told| warning("evals_in_part", told)));
}

fn fields(head: &Frontmatter, findings: &mut Vec<PackageFinding>) {
    for (key, _) in head.fields.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str())) {
        let what = format!("the field {key:?} is not one of {}; put it under metadata", FIELDS.join(", "));
        findings.push(PackageFinding::error("unexpected_field", what));
    }
    for (key, value) in head.fields.iter().filter(|(key, _)| key == "metadata" || key == "allowed-tools") {
        let expected = match (key.as_str(), value) {
            ("metadata", Field::List(_)) => "a map of texts",
            ("allowed-tools", Field::List(_) | Field::Map(_)) => "one text, with blanks between the tools",
            _ => continue,
        };
        findings.push(PackageFinding::warning("unusual_value", format!("{key} should be {expected}")));
    }
}

/// Normalizes a name for comparison (NFKC): compatible characters become equal.
pub(super) fn normal(name: &str) -> String {
    name.trim().nfkc().collect()
}

fn name(head: &Frontmatter, folder: &str, findings: &mut Vec<PackageFinding>) {
    let mut error = |code, what: String| findings.push(PackageFinding::error(code, what));
    let name = match head.field("name") {
        None => return error("no_name", "the field name is missing".to_owned()),
        Some(Field::Text(text)) if !text.trim().is_empty() => normal(text),
        Some(_) => return error("no_name", "the field name must be a text".to_owned()),
    };
    let length = name.chars().count();
    if length > NAME_CAP {
        error("name_too_long", format!("the name has {length} characters; at most {NAME_CAP} fit"));
    }
    if name != name.to_lowercase() {
        error("name_case", format!("the name {name:?} must be in lower case"));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        error("name_hyphens", format!("hyphens stand single and inside a name, not as in {name:?}"));
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        error("name_characters", format!("a name has letters, digits and hyphens only, not as in {name:?}"));
    }
    if normal(folder) != name {
        error("name_folder", format!("the folder is named {folder:?} and the skill {name:?}"));
    }
    if !name.is_ascii() {
        findings.push(PackageFinding::warning("name_not_ascii", "some readers take ASCII names only"));
    }
}

fn description(head: &Frontmatter, findings: &mut Vec<PackageFinding>) {
    let mut error = |code, what: String| findings.push(PackageFinding::error(code, what));
    let text = match head.field("description") {
        None => return error("no_description", "the field description is missing".to_owned()),
        Some(Field::Text(text)) if !text.trim().is_empty() => text,
        Some(_) => return error("no_description", "the field description must be a text".to_owned()),
    };
    let length = text.chars().count();
    if length > DESCRIPTION_CAP {
        error(
            "description_too_long",
            format!("the description has {length} characters; at most {DESCRIPTION_CAP} fit"),
        );
    }
    if text.contains(['<', '>']) {
        let what = "some readers refuse \"<\" and \">\" in the description";
        findings.push(PackageFinding::warning("angle_brackets", what));
    }
}

fn compatibility(head: &Frontmatter, findings: &mut Vec<PackageFinding>) {
    match head.field("compatibility") {
        None => {}
        Some(Field::Text(text)) if text.chars().count() > MAX_COMPATIBILITY_CHARS => {
            let what = format!("compatibility has more than {MAX_COMPATIBILITY_CHARS} characters");
            findings.push(PackageFinding::error("compatibility_too_long", what));
        }
        Some(Field::Text(text)) if text.trim().is_empty() => {
            let what = "compatibility is empty; leave it out";
            findings.push(PackageFinding::warning("compatibility_empty", what));
        }
        Some(Field::Text(_)) => {}
        Some(Field::List(_) | Field::Map(_)) => {
            let what = "compatibility must be a text";
            findings.push(PackageFinding::error("compatibility_no_text", what));
        }
    }
}

fn body(head: &Frontmatter, bytes: usize, findings: &mut Vec<PackageFinding>) {
    let mut advise = |code, what: &str| findings.push(PackageFinding::warning(code, what));
    if head.body.is_empty() {
        advise("empty_body", "the body is empty; nobody learns what to do");
        return;
    }
    if bytes > MAX_BYTES || head.body.lines().count() > MAX_LINES {
        advise("long_body", "the body is long; move details into files beside it");
    }
    if !head.body.lines().any(|line| line.starts_with('#')) {
        advise("no_headings", "headings make a skill easier to read in parts");
    }
    if head.body.contains("TODO") || head.body.contains("FIXME") {
        advise("unfinished", "the body holds a note of unfinished work");
    }
}
