//! Metrics of URLs, tabs, browser profiles and desktop shortcuts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::comparison::value;
use crate::python::Pattern;
use crate::readers::url::{self, Url};
use crate::scoring::{MetricError, MetricInput, Score, quote, show, task_error, texts, upstream_error};

/// Maximum number of combinations of a rule's alternatives.
const COMBINATIONS: usize = 10_000;

/// Returns the URL of a tab, which is a string or an object with a `url`.
fn address<'a>(case: &MetricInput<'a>) -> Result<Result<&'a str, Score>, MetricError> {
    Ok(match case.value()? {
        Ok(Value::String(url)) if url.is_empty() => Err(Score::none("the URL is empty")),
        Ok(Value::String(url)) => Ok(url),
        Ok(other) => match other.get("url").and_then(Value::as_str) {
            Some(url) => Ok(url),
            None => Err(Score::none(format!("{} is not a URL", show(other)))),
        },
        Err(mark) => Err(mark),
    })
}

fn told(passed: bool, found: &str, wanted: &str) -> Score {
    let word = if passed { "equal to" } else { "expected" };
    Score::of(passed, format!("the URL is {}, {word} {}", quote(found), quote(wanted)))
}

pub(super) fn active_tab(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    compared(case, url::same)
}

pub(super) fn active_tab_without_query(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let bare = |text: &str| Url { query: String::new(), ..Url::parse(text) }.write();
    compared(case, |wanted, found| bare(found) == bare(wanted))
}

/// Compares a tab's URL with the expected one.
fn compared(case: &MetricInput<'_>, same: impl Fn(&str, &str) -> bool) -> Result<Score, MetricError> {
    let found = match address(case)? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    if case.rule("type")? != "url" {
        return Ok(Score::none(format!("tabs cannot be compared by {}", case.rule("type")?)));
    }
    let wanted = case.rule_str("url")?;
    Ok(told(same(wanted, found), found, wanted))
}

/// Passes if every pattern matches the URL.
pub(super) fn url_pattern(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match address(case)? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let patterns = match case.rule("expected")? {
        // Upstream iterates over a string character by character.
        Value::String(one) if !case.reproduces_bugs() => vec![one.clone()],
        Value::String(letters) => letters.chars().map(String::from).collect(),
        _ => texts(case.rules()?, "expected")?.into_iter().map(str::to_owned).collect(),
    };
    for (at, source) in patterns.iter().enumerate() {
        if !Pattern::new(source)?.is_in(found)? {
            let count = patterns.len();
            return Ok(Score::none(format!(
                "{} does not match pattern {} of {count}: {source:?}",
                quote(found),
                at + 1
            )));
        }
    }
    Ok(Score::full(format!("{} matches", quote(found))))
}

pub(super) fn search_query(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pattern = case.rule("expect")?.get("pattern").and_then(Value::as_str);
    let pattern = pattern.ok_or_else(|| task_error("rule \"expect\" has no pattern"))?;
    let found = match case.value()? {
        Ok(found) if !crate::scoring::is_truthy(found) => return Ok(Score::none("no tab is active")),
        Ok(found) => {
            found.get("url").and_then(Value::as_str).ok_or_else(|| upstream_error("the result has no URL"))?
        }
        Err(mark) => return Ok(mark),
    };
    let fits = Pattern::new(pattern)?.is_in(found)?;
    let word = if fits { "matches" } else { "does not match" };
    Ok(Score::of(fits, format!("{} {word} {pattern:?}", quote(found))))
}

pub(super) fn tabs(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let tabs = match case.value()? {
        Ok(tabs) => tabs.as_array().map(Vec::as_slice).unwrap_or_default(),
        Err(mark) => return Ok(mark),
    };
    if tabs.is_empty() {
        return Ok(Score::none("no tab is open"));
    }
    if case.rule("type")? != "url" {
        return Ok(Score::none(format!("tabs cannot be compared by {}", case.rule("type")?)));
    }
    let wanted = texts(case.rules()?, "urls")?;
    let found: Vec<&str> = tabs.iter().filter_map(|tab| tab.get("url")?.as_str()).collect();
    let mut complaints: Vec<String> = wanted
        .iter()
        .filter(|wanted| !found.iter().any(|found| url::same(wanted, found)))
        .map(|wanted| format!("{} is not open", quote(wanted)))
        .collect();
    if found.len() != wanted.len() {
        complaints.push(format!("{} tabs are open instead of {}", found.len(), wanted.len()));
    }
    if !complaints.is_empty() {
        complaints.push(format!("open are {}", show(&found.into())));
    }
    Ok(Score::unless(&complaints, "every expected tab is open"))
}

pub(super) fn bookmarks(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let roots = match case.value()? {
        Ok(roots) if crate::scoring::is_truthy(roots) => roots,
        Ok(_) => return Ok(Score::none("there are no bookmarks")),
        Err(mark) => return Ok(mark),
    };
    let bar = roots.pointer("/bookmark_bar/children").and_then(Value::as_array);
    let bar = bar.ok_or_else(|| upstream_error("the bookmarks have no bar"))?;
    let named = |list: &[Value], kind: &str, field: &str| -> BTreeSet<String> {
        let of_kind = list.iter().filter(|one| one.get("type").and_then(Value::as_str) == Some(kind));
        of_kind.filter_map(|one| one.get(field)?.as_str()).map(str::to_owned).collect()
    };
    let wanted = |name: &str| -> Result<BTreeSet<String>, MetricError> {
        Ok(texts(case.rules()?, name)?.into_iter().map(str::to_owned).collect())
    };
    match case.rule("type")?.as_str() {
        Some("bookmark_bar_folders_names") => {
            Ok(same_set(&named(bar, "folder", "name"), &wanted("names")?, "folders of the bookmark bar"))
        }
        Some("bookmark_bar_websites_urls") => {
            Ok(same_set(&named(bar, "url", "url"), &wanted("urls")?, "URLs on the bookmark bar"))
        }
        Some("liked_authors_websites_urls") => {
            let folder = bar.iter().find(|one| one["type"] == "folder" && one["name"] == "Liked Authors");
            let Some(folder) = folder else { return Ok(Score::none("there is no folder \"Liked Authors\"")) };
            let children = folder["children"].as_array().map(Vec::as_slice).unwrap_or_default();
            one_of_each(&named(children, "url", "url"), case.rule("urls")?)
        }
        _ => Err(task_error(
            "rule \"type\" must be bookmark_bar_folders_names, bookmark_bar_websites_urls or liked_authors_websites_urls",
        )),
    }
}

fn same_set(found: &BTreeSet<String>, wanted: &BTreeSet<String>, what: &str) -> Score {
    let mut complaints: Vec<String> =
        wanted.difference(found).map(|one| format!("{} is missing", quote(one))).collect();
    complaints.extend(found.difference(wanted).map(|one| format!("{} is unexpected", quote(one))));
    if !complaints.is_empty() {
        complaints.insert(0, what.to_owned());
    }
    Score::unless(&complaints, &format!("{what} are as expected"))
}

/// Passes if the set has exactly one alternative of each entry, and no other member.
fn one_of_each(found: &BTreeSet<String>, places: &Value) -> Result<Score, MetricError> {
    let bad = || task_error("rule \"urls\" must be a list of strings or of lists of strings");
    let mut combinations: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    for place in places.as_array().ok_or_else(bad)? {
        let alternatives = match place {
            Value::String(one) => vec![one.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(bad()),
        };
        if combinations.len() * alternatives.len() > COMBINATIONS {
            return Err(task_error(format!("rule \"urls\" asks for more than {COMBINATIONS} combinations")));
        }
        let with = |set: &BTreeSet<String>, one: &str| set.iter().cloned().chain([one.to_owned()]).collect();
        combinations = combinations
            .iter()
            .flat_map(|set| alternatives.iter().map(move |one| with(set, one)).collect::<Vec<_>>())
            .collect();
    }
    Ok(Score::of(
        combinations.contains(found),
        format!("found {found:?}, expected one of each of {}", show(places)),
    ))
}

/// Names of one extension over time.
const RENAMED_EXTENSION: &[&str] = &["Zoom Chrome Extension", "Zoom for Google Chrome"];

pub(super) fn extensions(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = match case.value()? {
        Ok(found) => found.as_array().map(Vec::as_slice).unwrap_or_default(),
        Err(mark) => return Ok(mark),
    };
    if found.is_empty() {
        return Ok(Score::none("no extension is installed"));
    }
    let wanted = texts(case.rules()?, "expected")?;
    // Upstream accepts both names since 2026.
    let is_one = |name: &str, wanted: &str| {
        name == wanted
            || !case.reproduces_bugs()
                && RENAMED_EXTENSION.contains(&name)
                && RENAMED_EXTENSION.contains(&wanted)
    };
    let missing: Vec<String> = wanted
        .iter()
        .filter(|wanted| !found.iter().filter_map(Value::as_str).any(|one| is_one(one, wanted)))
        .map(|wanted| format!("extension {} is missing", quote(wanted)))
        .collect();
    Ok(Score::unless(&missing, "every expected extension is installed"))
}

/// Returns the strings in one column of a table.
fn column(rows: &Value, at: usize) -> Result<Vec<&str>, MetricError> {
    let rows = rows.as_array().ok_or_else(|| upstream_error("the result is not a list of rows"))?;
    let cell = |row: &'_ Value| row.get(at).cloned();
    if rows.iter().any(|row| cell(row).is_none()) {
        return Err(upstream_error(format!("a row has no column {at}")));
    }
    Ok(rows.iter().filter_map(|row| row.get(at)?.as_str()).collect())
}

pub(super) fn cookies_deleted(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    if case.rule("type")? != "domains" {
        return Err(task_error("rule \"type\" must be domains"));
    }
    let hosts = column(case.require_value()?, 1)?;
    let mut complaints = Vec::new();
    for domain in texts(case.rules()?, "domains")? {
        if let Some(host) = hosts.iter().find(|host| url::same(domain, host)) {
            complaints.push(format!("a cookie of {} exists", quote(host)));
        }
    }
    Ok(Score::unless(&complaints, "no cookie of these domains exists"))
}

pub(super) fn history_deleted(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    if case.rule("type")? != "keywords" {
        return Err(task_error("rule \"type\" must be keywords"));
    }
    let visited = column(case.require_value()?, 0)?;
    let mut complaints = Vec::new();
    for word in texts(case.rules()?, "keywords")? {
        if let Some(address) = visited.iter().find(|address| address.contains(word)) {
            complaints.push(format!("{} is in the history", quote(address)));
        }
    }
    Ok(Score::unless(&complaints, "the history holds none of the keywords"))
}

pub(super) fn experiments(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    if case.rule("type")? != "names" {
        return Err(task_error("rule \"type\" must be names"));
    }
    let list = case.require_value()?.as_array().ok_or_else(|| upstream_error("the result is not a list"))?;
    let names = list.iter().filter_map(Value::as_str).map(|one| one.split('@').next().unwrap_or(one));
    let found = Value::from(names.collect::<Vec<_>>());
    let wanted = case.rule("names")?;
    Ok(Score::of(
        value::equal(&found, wanted),
        format!("enabled are {}, expected {}", show(&found), show(wanted)),
    ))
}

pub(super) fn font_size(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let found = case.require_value()?.get("default_font_size");
    let found = found.ok_or_else(|| upstream_error("no default font size is stored"))?;
    let passed = match case.rule("type")?.as_str() {
        Some("value") => value::equal(found, case.rule("value")?),
        Some("range") => {
            let between = value::order(case.rule("min")?, found).zip(value::order(found, case.rule("max")?));
            let (low, high) =
                between.ok_or_else(|| upstream_error(format!("{} is not a size", show(found))))?;
            low.is_lt() && high.is_lt()
        }
        _ => return Err(task_error("rule \"type\" must be value or range")),
    };
    Ok(Score::of(passed, format!("the font size is {found}, expected {}", show(case.rules()?))))
}

pub(super) fn shortcut(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let starters = case
        .require_value()?
        .as_object()
        .ok_or_else(|| upstream_error("the result is not a set of shortcuts"))?;
    let (key, wanted) = match case.rule("type")?.as_str() {
        Some("name") => ("Name=", case.rule_str("name")?),
        Some("exec") => ("Exec=", case.rule_str("exec")?),
        _ => return Err(task_error("rule \"type\" must be name or exec")),
    };
    let texts = || starters.values().filter_map(Value::as_str);
    let line = format!("{key}{wanted}\n");
    let found: Vec<&str> =
        texts().flat_map(|text| text.lines().filter_map(|line| line.strip_prefix(key))).collect();
    // Since 2026 upstream accepts a value that contains the expected one or is contained in it, with names in any
    // case.
    let fold = |text: &str| if key == "Name=" { text.to_lowercase() } else { text.to_owned() };
    let folded = fold(wanted);
    let like = |found: &&str| {
        let found = fold(found.trim());
        !found.is_empty() && (found.contains(&folded) || folded.contains(&found))
    };
    let loose = !case.reproduces_bugs() && found.iter().any(like);
    let passed = loose || texts().any(|text| text.contains(&line));
    Ok(Score::of(passed, format!("expected {key}{wanted}, the desktop has {}", show(&found.into()))))
}

pub(super) fn in_cart(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let content = case.require_value()?.get("content").and_then(Value::as_str);
    let content = content.ok_or_else(|| upstream_error("the page has no content"))?;
    let missing: Vec<String> = texts(case.rules()?, "items")?
        .into_iter()
        .filter(|item| !content.contains(item))
        .map(|item| format!("{} is not in the cart", quote(item)))
        .collect();
    Ok(Score::unless(&missing, "everything is in the cart"))
}
