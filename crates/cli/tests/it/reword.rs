//! A second generator of guidance, for the proofs: it says what a page says in other words, in sentences in
//! place of numbered paths, and the last thing first. It knows English verbs and the marks of a path, and
//! nothing of how the pages came to be.

use regex::Regex;

/// Other words for what is done.
const OTHERWISE: &[(&str, &str)] = &[
    (r"\bthe entry that the task asks for\b", "the one that is wanted"),
    (r"\bwhat the task asks for\b", "whatever is wanted"),
    (r"\bas the task asks\b", "the way it is wanted"),
    (r"\bthe value that the task names\b", "the wanted value"),
    (r"\bwhat the task is about\b", "the thing in question"),
    (r"\bif the task is about all of it\b", "when all of it is meant"),
    (r"\b(?i:right-click)\b", "use the secondary mouse button on"),
    (r"\b(?i:select)\b", "mark"),
    (r"\b(?i:open)\b", "go to"),
    (r"\b(?i:choose)\b", "pick"),
    (r"\b(?i:tick)\b", "check"),
    (r"\b(?i:set)\b", "adjust"),
    (r"\b(?i:type)\b", "enter"),
    (r"\b(?i:press)\b", "click"),
];

/// Says the guidance of a page otherwise.
pub(crate) fn reword(guidance: &str) -> String {
    let marker = Regex::new(r"^\s*(?:\d+[.)]|[-*])\s*").expect("a pattern");
    let steps: Vec<String> = guidance
        .lines()
        .map(|line| marker.replace(line, "").trim().trim_end_matches('.').to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let told: Vec<String> = steps.iter().map(|step| sentence(step)).collect();
    match told.as_slice() {
        [] => String::new(),
        [only] => format!("{}.", upper(only)),
        [first, rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(|step| format!("After that, {step}.")).collect();
            format!("{}. {}", upper(first), rest.join(" "))
        }
    }
}

/// One step as part of a sentence.
fn sentence(step: &str) -> String {
    let listed = Regex::new(r"^(.*?)\s*\(there are: (.*)\)(.*)$").expect("a pattern");
    let (deed, list) = match listed.captures(step) {
        Some(parts) => (format!("{}{}", &parts[1], &parts[3]), Some(parts[2].to_owned())),
        None => (step.to_owned(), None),
    };
    let path = Regex::new(r"^(?i:open|choose|go to)\s+(.+ > .+)$").expect("a pattern");
    let deed = match path.captures(&deed) {
        Some(parts) => way(&parts[1]),
        None => outside_quotes(&deed),
    };
    match list {
        // What stands there is said before what is done.
        Some(list) => format!("of {list}, {deed}"),
        None => deed,
    }
}

/// A path as a sentence, its end first.
fn way(path: &str) -> String {
    let legs: Vec<&str> = path.split(" > ").map(str::trim).collect();
    match legs.as_slice() {
        [menu, entry] => format!("go to {entry} in the {menu} menu"),
        [menu, entry, place] => format!("go to {entry} in the {menu} menu and turn to {place} there"),
        [menu, inner @ .., last] => {
            format!("in the {menu} menu go to {} and turn to {last} there", inner.join(", then to "))
        }
        [] | [_] => path.to_owned(),
    }
}

/// Labels in quotation marks stay as they are; the words around them change.
fn outside_quotes(text: &str) -> String {
    let parts = text.split('"').enumerate().map(|(place, part)| {
        if place % 2 == 1 {
            return format!("\"{part}\"");
        }
        OTHERWISE.iter().fold(part.to_owned(), |text, (from, to)| {
            Regex::new(from).expect("a pattern").replace_all(&text, *to).into_owned()
        })
    });
    parts.collect()
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[test]
fn the_same_is_said_in_other_words() {
    let guidance = "1. Open Oven > Racks > Upper.\n2. Set what the task asks for (there are: Bread, Cake).\n3. \
                    Press \"Open door\".";
    assert_eq!(
        reword(guidance),
        "Go to Racks in the Oven menu and turn to Upper there. After that, of Bread, Cake, adjust whatever is \
         wanted. After that, click \"Open door\"."
    );
}
