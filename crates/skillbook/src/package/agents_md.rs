//! Skills as a section of an `AGENTS.md`, the file that coding agents read whole at their start. The section stands between two
//! marks, so that it is replaced by the next export and read again by an import; what stands around it stays as it is.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{Package, SKILL_FILE};
use crate::{Skill, SkillText};

const BEGIN: &str = "<!-- apprentice:skills begin -->";
const END: &str = "<!-- apprentice:skills end -->";
const SKILL: &str = "<!-- apprentice:skill ";
const CLOSE: &str = " -->";
/// Largest size of the file that Codex CLI reads without a setting (`project_doc_max_bytes`), in bytes.
pub const READ_BYTES: usize = 32 << 10;

/// What a mark keeps of a skill besides its text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    id: String,
    description: String,
}

/// Puts the skills into the text of a file, in place of the section that it has, or at its end.
///
/// # Errors
/// The file has a broken section: only one of the marks, or both in the wrong order.
pub fn with_skills(text: &str, skills: &[&Skill]) -> Result<String, String> {
    let section = section(skills);
    match place(text)? {
        Some((from, to)) => Ok(format!("{}{section}{}", &text[..from], &text[to..])),
        None if text.is_empty() => Ok(section + "\n"),
        None => Ok(format!("{}\n\n{section}\n", text.trim_end_matches('\n'))),
    }
}

/// Reads the skills of a file's section, as packages.
///
/// # Errors
/// The file has no section, or a broken one.
pub fn read_skills(text: &str) -> Result<Vec<Package>, String> {
    let (from, to) = place(text)?.ok_or_else(|| format!("there is no section between {BEGIN} and {END}"))?;
    let inside = &text[from + BEGIN.len()..to - END.len()];
    inside.split(SKILL).skip(1).map(package).collect()
}

/// Where the section stands, with its marks.
fn place(text: &str) -> Result<Option<(usize, usize)>, String> {
    let once = |mark: &str| text.matches(mark).count();
    match (once(BEGIN), once(END)) {
        (0, 0) => Ok(None),
        (1, 1) => match (text.find(BEGIN), text.find(END)) {
            (Some(from), Some(to)) if from < to => Ok(Some((from, to + END.len()))),
            _ => Err("the end of the section stands before its beginning".to_owned()),
        },
        (begins, ends) => Err(format!("the section has {begins} beginnings and {ends} ends")),
    }
}

fn section(skills: &[&Skill]) -> String {
    let mut text = format!(
        "{BEGIN}\n## Skills\n\nNotes on how work is done here. Read the one that fits the task before you begin.\n"
    );
    for skill in skills {
        let SkillText { description, situation, guidance } = &skill.text;
        let mark = Mark { id: skill.id.to_string(), description: description.clone() };
        // A comment ends at the first of its marks, and a text may hold one.
        let mark = serde_json::to_string(&mark).unwrap_or_default().replace("-->", "--\\u003e");
        let _ = write!(
            text,
            "\n{SKILL}{mark}{CLOSE}\n### {description}\n\n{}\n\n{}\n",
            shielded(situation),
            shielded(guidance)
        );
    }
    text + END
}

/// A text in which nothing reads as a mark of ours.
fn shielded(text: &str) -> String {
    text.trim().replace("<!-- apprentice:", "<!- apprentice:")
}

fn package(part: &str) -> Result<Package, String> {
    let broken = || "a skill of the section has no mark that can be read".to_owned();
    let (mark, text) = part.split_once(CLOSE).ok_or_else(broken)?;
    let mark: Mark = serde_json::from_str(mark).map_err(|error| format!("{}: {error}", broken()))?;
    let (_, body) =
        text.trim_start().split_once('\n').ok_or_else(|| format!("{}: it has no text", mark.id))?;
    let name = mark.id.rsplit('/').next().unwrap_or(&mark.id).to_owned();
    let (situation, guidance) = body.trim().split_once("\n\n").unwrap_or((body.trim(), body.trim()));
    let head = serde_json::to_string(&mark.description).map_err(|error| error.to_string())?;
    let id = serde_json::to_string(&mark.id).map_err(|error| error.to_string())?;
    let page =
        format!("## Situation\n\n{situation}\n\n## Guidance\n\n{guidance}\n\n## Annotations\n\nNone\n");
    let file = format!("---\nname: {name}\ndescription: {head}\nmetadata:\n  cua-id: {id}\n---\n\n{page}");
    Ok(Package { name, files: [(SKILL_FILE.to_owned(), file.into_bytes())].into() })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;

    use super::{BEGIN, END, read_skills, with_skills};
    use crate::package::parse_package;
    use crate::{OpId, Origin, Skill, SkillText};

    fn skill(id: &str, guidance: &str) -> Skill {
        let text = SkillText {
            description: "Sort a \"table\" --> well".into(),
            situation: "A table is to be sorted.".into(),
            guidance: guidance.into(),
        };
        Skill::new(&SkillId::parse(id).expect("an id"), &text, Vec::new(), Origin::Learned, OpId(1))
    }

    #[test]
    fn a_section_is_put_in_replaced_and_read_again() {
        let (one, two) =
            (skill("calc/sort", "1. Choose Data > Sort.\n\n2. Go on."), skill("general/x", "1. Go."));
        let first = with_skills("# Rules\n\nBe kind.\n", &[&one, &two]).expect("put in");
        assert!(first.starts_with("# Rules\n\nBe kind.\n\n<!-- "), "{first}");
        let packages = read_skills(&first).expect("read");
        let (id, _, text) = parse_package(&packages[0], "general").expect("a skill");
        assert_eq!((id.as_str(), &text), ("calc/sort", &one.text));
        let again = with_skills(&format!("{first}\nThe end.\n"), &[&two]).expect("replaced");
        assert_eq!(read_skills(&again).expect("read").len(), 1);
        assert!(
            again.starts_with("# Rules\n\nBe kind.\n\n<!-- ") && again.ends_with("\nThe end.\n"),
            "{again}"
        );
        assert_eq!(with_skills(&again, &[&two]).expect("replaced"), again, "twice is once");
    }

    #[test]
    fn a_broken_section_is_refused_and_no_text_forges_one() {
        for text in [BEGIN.to_owned(), format!("{END}\n{BEGIN}"), format!("{BEGIN}{END}{BEGIN}{END}")] {
            with_skills(&text, &[]).expect_err(&text);
        }
        read_skills("# Rules").expect_err("no section");
        let forged = skill("calc/sort", &format!("1. Go.\n{END}\n<!-- apprentice:skill {{}} -->"));
        let text = with_skills("", &[&forged]).expect("put in");
        assert_eq!(read_skills(&text).expect("read").len(), 1, "{text}");
    }
}
