//! Metrics of the settings of GIMP and LibreOffice.

use roxmltree::Document;
use serde_json::Value;

use crate::python;
use crate::readers::xml;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, texts, upstream_error};

const REGISTRY: &str = "http://openoffice.org/2001/registry";

/// Passes if a line of GIMP's settings starts with the key and ends with the value.
pub(super) fn gimp_status(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule_str("value")?;
    let key: Vec<&str> = match case.rule("key")? {
        Value::String(key) => vec![key],
        Value::Array(list) if list.len() == 2 => list.iter().filter_map(Value::as_str).collect(),
        // Upstream never matches a longer or shorter key.
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(task_error("rule \"key\" must be a string or a list of two"));
        }
    };
    let text = match case.file()? {
        Ok(file) => python::text(file)?,
        Err(mark) => return Ok(mark),
    };
    let mut found = None;
    for line in python::file_lines(&text).filter(|line| !line.starts_with('#') && *line != "\n") {
        let inner = line.trim().trim_start_matches('(').trim_end_matches([')', '\n']);
        let words: Vec<&str> = inner.split_whitespace().collect();
        let (Some(_), Some(last)) = (words.first(), words.last()) else {
            return Err(upstream_error("a line is blank"));
        };
        if words.starts_with(&key) {
            if *last == wanted {
                return Ok(Score::full(format!("{} is {wanted}", key.join(" "))));
            }
            found = Some((*last).to_owned());
        }
    }
    let told = found.map_or_else(|| "is absent".to_owned(), |found| format!("is {}", quote(&found)));
    Ok(Score::none(format!("{} {told}, expected {}", key.join(" "), quote(wanted))))
}

/// Returns all values of a property of LibreOffice's registry, in file order.
fn property<'d>(document: &'d Document<'_>, path: &str, name: &str) -> Vec<&'d str> {
    let items = document.descendants().filter(|node| node.attribute((REGISTRY, "path")) == Some(path));
    let properties = items.flat_map(|item| {
        item.descendants()
            .filter(|node| node.has_tag_name("prop") && node.attribute((REGISTRY, "name")) == Some(name))
    });
    properties.filter_map(|prop| xml::child(prop, "value")).map(xml::text).collect()
}

fn told(name: &str, found: Option<&str>, wanted: &str) -> Score {
    let same = found == Some(wanted);
    match found {
        Some(found) => Score::of(same, format!("{name} is {}, expected {}", quote(found), quote(wanted))),
        None => Score::none(format!("{name} is absent, expected {}", quote(wanted))),
    }
}

pub(super) fn default_font(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule_str("font_name")?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let text = xml::decode(&file.bytes);
    let found = text.as_deref().map_err(Clone::clone).and_then(xml::read).map(|document| {
        property(&document, "/org.openoffice.Office.Writer/DefaultFont", "Standard").pop().map(str::to_owned)
    });
    Ok(match found {
        Ok(found) => told("the default font", found.as_deref(), wanted),
        Err(why) => Score::none(why),
    })
}

pub(super) fn presenter_console(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    let text = match xml::decode(&file.bytes) {
        Ok(text) => text,
        Err(why) => return Ok(Score::none(why)),
    };
    let document = match xml::read(&text) {
        Ok(document) => document,
        Err(why) => return Ok(Score::none(why)),
    };
    let found = property(&document, "/org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen");
    let first = found.first().map(|value| value.to_lowercase());
    Ok(told("EnablePresenterScreen", first.as_deref(), "false"))
}

pub(super) fn saving_time(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("minutes")?;
    let wanted = wanted.as_f64().ok_or_else(|| task_error("rule \"minutes\" must be a number"))?;
    let file = case.require_file()?;
    let text = xml::decode(&file.bytes).map_err(upstream_error)?;
    let document = match xml::read(&text) {
        Ok(document) => document,
        Err(why) => return Ok(Score::none(why)),
    };
    let found = property(&document, "/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall");
    let Some(last) = found.last() else { return Ok(Score::none("AutoSaveTimeIntervall is absent")) };
    let minutes =
        python::int(last).ok_or_else(|| upstream_error(format!("{} is not a number", quote(last))))?;
    let same = i32::try_from(minutes).map(f64::from).ok() == Some(wanted);
    Ok(Score::of(same, format!("documents are saved every {minutes} minutes, expected {wanted}")))
}

/// Passes if the system locale, or else LibreOffice's own, matches one of the patterns.
pub(super) fn locale(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let patterns = texts(case.rules()?, "locale_set")?;
    let file = case.require_file()?;
    let text = xml::decode(&file.bytes).map_err(upstream_error)?;
    let document = xml::read(&text).map_err(upstream_error)?;
    let value = |name: &str| {
        let at_path = |node: &roxmltree::Node<'_, '_>| {
            node.attribute((REGISTRY, "path")).is_some_and(|path| path.ends_with("L10N"))
        };
        let items = document.descendants().filter(at_path);
        let named = |node: &roxmltree::Node<'_, '_>| node.attribute((REGISTRY, "name")) == Some(name);
        let props = items.flat_map(|item| item.children()).filter(named);
        props.filter_map(|prop| xml::child(prop, "value")).map(xml::text).next()
    };
    let found = value("ooSetupSystemLocale").or_else(|| value("ooLocale"));
    let found = found.ok_or_else(|| upstream_error("no locale is stored"))?;
    let fits = patterns.iter().any(|pattern| matches_glob(pattern, found));
    Ok(Score::of(fits, format!("the locale is {}, expected one of {patterns:?}", quote(found))))
}

/// Matches a text against a shell pattern with `*` and `?`.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for c in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match c {
                '*' => fits[at] || at > 0 && next[at - 1],
                '?' => at > 0 && fits[at - 1],
                c => at > 0 && fits[at - 1] && text[at - 1] == c,
            };
        }
        fits = next;
    }
    fits[text.len()]
}
