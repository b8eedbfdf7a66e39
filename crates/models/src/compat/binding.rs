//! What an open value of a step stands for, where the task names one of the listed elements and no other.
//!
//! Qwen2.5-Coder 1.5B clicked the first address of a list where the step was `click <address>` and the task began with the
//! second one. Names are compared here instead, and the model copies what it is told.

use std::collections::{BTreeMap, BTreeSet};

use super::listed::Listed;

/// Names of fewer characters stand in most tasks.
const MIN_NAME_CHARS: usize = 3;
/// Acts whose object may be an open value.
const PRESSES: [&str; 3] = ["click", "double_click", "right_click"];
/// Stands between a label that each row has and what the row is about.
const IN_ROW: &str = " in row <";

/// Returns a step with the element that the task names in place of its open value; unchanged where it names none or several.
pub(super) fn bound(step: &str, task: &str, listed: &[Listed]) -> String {
    let named = in_row(step, task, listed).or_else(|| pressed(step, task, listed));
    let named = named.or_else(|| chosen(step, task, listed)).or_else(|| written(step, task, listed));
    named.unwrap_or_else(|| step.to_owned())
}

/// `click <address>`: the listed name that stands in the task. Of names within each other it is the longest.
fn pressed(step: &str, task: &str, listed: &[Listed]) -> Option<String> {
    let (act, value) = step.split_once(' ')?;
    let is_open = value.starts_with('<') && value.ends_with('>');
    if !is_open || !PRESSES.contains(&act) {
        return None;
    }
    let names = listed.iter().map(Listed::name).filter(|name| is_proper(name, task));
    let name = only_named(names, task, MIN_NAME_CHARS)?;
    Some(format!("{act} \"{name}\""))
}

/// Whether a task holds a name as a name. `Article` is none in "This article", nor is `Add` in "Add two members.", which are words
/// of any task: it stands there in the same letters, and does not begin a sentence if it is one word.
fn is_proper(name: &str, task: &str) -> bool {
    if !name.chars().all(char::is_alphabetic) {
        return true;
    }
    let mut places = task.match_indices(name).map(|(at, _)| &task[..at]);
    places.any(|before| !matches!(before.trim_end().chars().next_back(), None | Some('.' | '!' | '?' | ':')))
}

/// `select "Limit" <number>`: the option that stands in the task. What a page types into is a list box for some.
fn chosen(step: &str, task: &str, listed: &[Listed]) -> Option<String> {
    let field = field_of(step, "select ").or_else(|| field_of(step, "type_into "))?;
    let boxes = listed.iter().filter(|element| element.name() == field);
    let option = only_named(boxes.flat_map(Listed::options), task, 1)?;
    Some(format!("select \"{field}\" \"{option}\""))
}

/// `type_into "New name" <new name>`: the one quotation of the task that is no name in the list. Such a model typed again what
/// the field held already.
fn written(step: &str, task: &str, listed: &[Listed]) -> Option<String> {
    let field = field_of(step, "type_into ")?;
    let quoted: BTreeSet<&str> =
        task.split('"').skip(1).step_by(2).filter(|text| !text.trim().is_empty()).collect();
    // A quotation mark without its other half makes quotations of what stands between them.
    if task.matches('"').count() % 2 == 1 {
        return None;
    }
    let mut fresh = quoted.into_iter().filter(|text| listed.iter().all(|element| element.name() != *text));
    match (fresh.next(), fresh.next()) {
        (Some(text), None) => Some(format!("type_into \"{field}\" \"{text}\"")),
        _ => None,
    }
}

/// The texts that a task names as such, to be written somewhere: what it quotes and the list does not hold, else its addresses, each
/// alone and all of them on lines of their own.
pub(super) fn named_texts(task: &str, listed: &[Listed]) -> Vec<String> {
    let quoted = task.split('"').skip(1).step_by(2).map(str::trim).filter(|text| !text.is_empty());
    let is_fresh = |text: &&str| listed.iter().all(|element| element.name() != *text);
    let mut found: Vec<String> = Vec::new();
    if task.matches('"').count().is_multiple_of(2) {
        found.extend(quoted.filter(is_fresh).map(str::to_owned));
    }
    if found.is_empty() {
        let words = task.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        found.extend(words.filter(|word| word.contains('@')).map(str::to_owned));
        if found.len() > 1 {
            found.insert(0, found.join("\n"));
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|text| seen.insert(text.clone()));
    found
}

/// The field of a step whose text is open.
fn field_of<'a>(step: &'a str, act: &str) -> Option<&'a str> {
    let (field, open) = step.strip_prefix(act)?.strip_prefix('"')?.split_once("\" <")?;
    open.ends_with('>').then_some(field)
}

/// The one of some texts that stands in the task by whole words; the longest where they stand within each other.
fn only_named<'a>(texts: impl Iterator<Item = &'a str>, task: &str, least_chars: usize) -> Option<&'a str> {
    let task = spaced(task);
    let named = texts.filter(|text| text.chars().count() >= least_chars);
    let named = named.filter(|text| !spaced(text).trim().is_empty() && task.contains(&spaced(text)));
    let named: BTreeSet<&str> = named.collect();
    let longest = *named.iter().max_by_key(|text| text.chars().count())?;
    named.iter().all(|text| spaced(longest).contains(&spaced(text))).then_some(longest)
}

/// `click "Actions" in row <patient>`: the row of such an element that shares most words with the task.
fn in_row(step: &str, task: &str, listed: &[Listed]) -> Option<String> {
    let (before, _) = step.split_once(IN_ROW)?;
    let name = before.split('"').nth(1)?;
    let rows: BTreeSet<&str> =
        listed.iter().filter(|element| element.name() == name).filter_map(Listed::row).collect();
    let task = words(task);
    let mut holders: BTreeMap<String, usize> = BTreeMap::new();
    for word in rows.iter().flat_map(|row| words(row)) {
        *holders.entry(word).or_default() += 1;
    }
    let telling = |row: &str| {
        let own = words(row).into_iter();
        own.filter(|word| task.contains(word) && holders.get(word).is_some_and(|rows_with| *rows_with == 1))
            .count()
    };
    let counts: Vec<(usize, &str)> = rows.iter().map(|row| (telling(row), *row)).collect();
    let most = counts.iter().map(|(count, _)| *count).max().filter(|count| *count > 0)?;
    let mut best = counts.iter().filter(|(count, _)| *count == most);
    match (best.next(), best.next()) {
        (Some((_, row)), None) => Some(format!("{before} in row \"{row}\"")),
        _ => None,
    }
}

/// The words of a text, in small letters.
fn words(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= MIN_NAME_CHARS);
    words.map(str::to_lowercase).collect()
}

/// A text as words between single spaces, so that one text stands in another by whole words alone.
fn spaced(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.map(str::to_lowercase).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::listed::Listed;
    use super::bound;

    fn listed(lines: &[&str]) -> Vec<Listed> {
        lines.iter().map(|line| Listed::read(line).expect("an element")).collect()
    }

    #[test]
    fn an_open_value_is_the_one_listed_name_that_the_task_holds() {
        let list = listed(&[
            "#n1 Add (button)",
            "#n2 ben@example.org (button)",
            "#n3 eva@example.org (button)",
            "#n4 The Lamp (link)",
            "#n5 The Lamp Maker (link)",
            "#n6 OK (button)",
            "#n7 Limit (combobox) = \"2\" [options: 2 | 20 | any number]",
        ]);
        let asked = |step: &str, task: &str| bound(step, task, &list);
        assert_eq!(asked("click <address>", "Eva@example.org is tired."), "click \"eva@example.org\"");
        assert_eq!(asked("click <group>", "Put it under Add."), "click \"Add\"");
        assert_eq!(asked("click <title>", "Keep \"The Lamp Maker\"."), "click \"The Lamp Maker\"");
        assert_eq!(asked("click <title>", "Keep \"The Lamp\", ok?"), "click \"The Lamp\"");
        assert_eq!(
            asked("type_into \"Name\" <name>", "\"The Lamp\" is called \"Sea\" now."),
            "type_into \"Name\" \"Sea\""
        );
        assert_eq!(asked("select \"Limit\" <number>", "Allow 20 at once."), "select \"Limit\" \"20\"");
        assert_eq!(asked("type_into \"Limit\" <number>", "Allow 20 at once."), "select \"Limit\" \"20\"");
        for (step, task) in [
            ("click <address>", "Both ben@example.org and eva@example.org"),
            ("click <address>", "Somebody is tired."),
            ("click <address>", "The lamps"),
            ("click <address>", "Somebody comes to the add of ok."),
            ("click <address>", "Add somebody."),
            ("click \"Add\"", "eva@example.org"),
            ("type_into \"Name\" <name>", "The Lamp"),
            ("type_into \"Name\" <name>", "\"The Lamp\" is read"),
            ("type_into \"Name\" <name>", "\"Sea\" or \"Lake\""),
            ("type_into \"Name\" <name>", "A 5\" screen for \"Sea\""),
            ("select \"Limit\" <number>", "Allow 2 or 20 at once."),
            ("select \"Limit\" <number>", "Allow more."),
            ("key ctrl+s", "The Lamp"),
        ] {
            assert_eq!(asked(step, task), step);
        }
    }

    #[test]
    fn an_open_row_is_the_one_that_shares_most_words_with_the_task() {
        let list = listed(&[
            "#n1 Actions (button, row 09:00 Tom Hale check)",
            "#n2 Actions (button, row 10:00 Ada Hale check)",
            "#n3 Details (button, row Ada Brook)",
        ]);
        let step = "click \"Actions\" in row <patient>";
        let asked = |task: &str| bound(step, task, &list);
        assert_eq!(asked("Check Ada Hale's time."), "click \"Actions\" in row \"10:00 Ada Hale check\"");
        assert_eq!(asked("Move Hale's check."), step, "both rows hold these words");
        assert_eq!(asked("Tom and Ada swap."), step);
        assert_eq!(bound(step, "Tom Hale", &[]), step);
    }
}
