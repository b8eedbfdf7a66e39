//! Checks a function before the book takes it: its source passes every static check and hides no words to the
//! agent. Synthesis asks the same before it proposes one.

use apprentice_functions::{Source, SourceConstant, Violation};
use apprentice_screening::effect::Passage;
use apprentice_screening::{Finding, scan};

use super::record::Skill;

/// Most functions of one skill that are in use.
const MAX_FUNCTIONS: usize = 12;
/// Where a package holds functions, and how their files end.
const FOLDER: &str = "functions/";
const ENDING: &str = ".fn";

/// Returns the path of a function in its package.
pub(crate) fn function_path(name: &str) -> String {
    format!("{FOLDER}{name}{ENDING}")
}

/// Returns whether a path of a package is that of a function.
pub(crate) fn is_function_file(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|name| name.ends_with(ENDING) && !name.contains('/'))
}

/// Reads a function by every static check: of the language, and of what a book may hold.
///
/// # Errors
///
/// Every violation, with its line and remedy.
pub fn check_function(text: &str, constants: &[SourceConstant]) -> Result<Source, Vec<Violation>> {
    let mut found: Vec<Violation> =
        (1..).zip(text.lines()).filter_map(|(line, written)| hidden(line, written)).collect();
    // An instruction may run over several lines.
    if found.is_empty() {
        found.extend(hidden(1, &comment(text)));
    }
    match Source::read(text, constants) {
        Ok(source) if found.is_empty() => Ok(source),
        Ok(_) => Err(found),
        Err(violations) => Err(violations.into_iter().chain(found).collect()),
    }
}

fn hidden(line: u32, text: &str) -> Option<Violation> {
    let (problem, remedy) = match scan(text)? {
        Finding::Secret => ("it holds what looks like a secret", "make it an argument"),
        Finding::Injection => {
            ("it speaks to the agent about its instructions", "say only what the function does")
        }
        Finding::Address => return None,
    };
    Some(Violation { line, problem: problem.to_owned(), remedy: remedy.to_owned() })
}

/// Returns the words of the comments.
fn comment(text: &str) -> String {
    text.lines()
        .filter_map(comment_of)
        .map(|comment| comment.trim_start_matches('/').trim())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns what a line says behind two slashes, which may also stand in a text: in an address, for example.
fn comment_of(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some('"' | '\''), '\\') => {
                letters.next();
            }
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '/') if line[at..].starts_with("//") => return Some(&line[at + 2..]),
            _ => {}
        }
    }
    None
}

/// Returns the text of a function as it is judged: the words that an agent reads, and what the code does.
pub(crate) fn passages(source: &str) -> Vec<Passage> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    vec![Passage::new("comment", &comment(source)), Passage::code("code", &code.join("\n"))]
}

/// Checks a function that is to be written.
pub(crate) fn written(skill: &Skill, name: &str, source: &str) -> Result<(), (&'static str, String)> {
    let read = check_function(source, &[]).map_err(|found| {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        ("function", found.join("\n"))
    })?;
    if read.signature().name != name {
        return Err(("function", format!("the source defines {}, not {name}", read.signature().name)));
    }
    let mut in_use = skill.functions.iter().filter(|(_, function)| function.retired.is_none());
    let existing = in_use.clone().find(|(existing, _)| *existing == name);
    if existing.is_some_and(|(_, existing)| existing.source == source) {
        return Err(("no_change", format!("{} has this function already", skill.id)));
    }
    if existing.is_none() && in_use.nth(MAX_FUNCTIONS - 1).is_some() {
        return Err(("too_many", format!("{} has {MAX_FUNCTIONS} functions already; retire one", skill.id)));
    }
    Ok(())
}

/// Checks that a skill has a function, in this version where one is given.
pub(crate) fn check_version(
    skill: &Skill,
    name: &str,
    version: Option<u32>,
) -> Result<(), (&'static str, String)> {
    let Some(function) = skill.functions.get(name) else {
        let names: Vec<&str> = skill.functions.keys().map(String::as_str).collect();
        let hint = apprentice_protocol::did_you_mean(name, names);
        return Err(("unknown_function", format!("{} has no function {name}{hint}", skill.id)));
    };
    match version.filter(|version| *version != function.version) {
        Some(version) => {
            Err(("other_version", format!("{name} is at version {}, not {version}", function.version)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_behind_slashes_that_stand_in_no_text() {
        for (line, expected) in [
            ("/// Opens it.", Some("/ Opens it.")),
            ("    page.goto(\"https://a.example/\"); // the shop", Some(" the shop")),
            ("    page.goto(\"https://a.example/\");", None),
            (r#"    page.fill("a \" // b");"#, None),
            (r#"    let quote = '"'; // said"#, Some(" said")),
            ("    let path = `C:\\`; // said", Some(" said")),
            ("    let half = 4 / 2;", None),
        ] {
            assert_eq!(comment_of(line), expected, "{line}");
        }
    }
}
