//! Metrics of URLs, tabs, browser profiles and desktop shortcuts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::python::Pattern;
use super::url::{self, Url};
use super::{Case, Fault, Mark, quote, raised, show, texts, value, wrong};

/// Maximum number of combinations of a rule's alternatives.
const COMBINATIONS: usize = 10_000;

/// Returns the URL of a tab, which is a string or an object with a `url`.
fn address<'a>(case: &Case<'a>) -> Result<Result<&'a str, Mark>, Fault> {
    Ok(match case.value()? {
        Ok(Value::String(url)) if url.is_empty() => Err(Mark::none("the URL is empty")),
        Ok(Value::String(url)) => Ok(url),
        Ok(other) => match other.get("url").and_then(Value::as_str) {
            Some(url) => Ok(url),
            None => Err(Mark::none(format!("{} is not a URL", show(other)))),
        },
        Err(mark) => Err(mark),
    })
}

fn told(passed: bool, found: &str, wanted: &str) -> Mark {
    let word = if passed { "equal to" } else { "expected" };
    Mark::of(passed, format!("the URL is {}, {word} {}", quote(found), quote(wanted)))
}

pub(super) fn active_tab(case: &Case<'_>) -> Result<Mark, Fault> {
    compared(case, url::same)
}

pub(super) fn active_tab_without_query(case: &Case<'_>) -> Result<Mark, Fault> {
    let bare = |text: &str| Url { query: String::new(), ..Url::parse(text) }.write();
    compared(case, |wanted, found| bare(found) == bare(wanted))
}

/// Compares a tab's URL with the expected one.
fn compared(case: &Case<'_>, same: impl Fn(&str, &str) -> bool) -> Result<Mark, Fault> {
    let found = match address(case)? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    if case.rule("type")? != "url" {
        return Ok(Mark::none(format!("tabs cannot be compared by {}", case.rule("type")?)));
    }
    let wanted = case.rule_text("url")?;
    Ok(told(same(wanted, found), found, wanted))
}

/// Passes if every pattern matches the URL.
pub(super) fn url_pattern(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match address(case)? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let patterns = match case.rule("expected")? {
        // Upstream iterates over a string character by character.
        Value::String(one) if !case.is_exact() => vec![one.clone()],
        Value::String(letters) => letters.chars().map(String::from).collect(),
        _ => texts(case.rules()?, "expected")?.into_iter().map(str::to_owned).collect(),
    };
    for (at, source) in patterns.iter().enumerate() {
        if !Pattern::new(source)?.is_in(found)? {
            let count = patterns.len();
            return Ok(Mark::none(format!(
                "{} does not match pattern {} of {count}: {source:?}",
                quote(found),
                at + 1
            )));
        }
    }
    Ok(Mark::full(format!("{} matches", quote(found))))
}

pub(super) fn search_query(case: &Case<'_>) -> Result<Mark, Fault> {
    let pattern = case.rule("expect")?.get("pattern").and_then(Value::as_str);
    let pattern = pattern.ok_or_else(|| wrong("rule \"expect\" has no pattern"))?;
    let found = match case.value()? {
        Ok(found) if !crate::setup::is_true(found) => return Ok(Mark::none("no tab is active")),
        Ok(found) => {
            found.get("url").and_then(Value::as_str).ok_or_else(|| raised("the result has no URL"))?
        }
        Err(mark) => return Ok(mark),
    };
    let fits = Pattern::new(pattern)?.is_in(found)?;
    let word = if fits { "matches" } else { "does not match" };
    Ok(Mark::of(fits, format!("{} {word} {pattern:?}", quote(found))))
}

pub(super) fn tabs(case: &Case<'_>) -> Result<Mark, Fault> {
    let tabs = match case.value()? {
        Ok(tabs) => tabs.as_array().map(Vec::as_slice).unwrap_or_default(),
        Err(mark) => return Ok(mark),
    };
    if tabs.is_empty() {
        return Ok(Mark::none("no tab is open"));
    }
    if case.rule("type")? != "url" {
        return Ok(Mark::none(format!("tabs cannot be compared by {}", case.rule("type")?)));
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
    Ok(Mark::unless(&complaints, "every expected tab is open"))
}

pub(super) fn bookmarks(case: &Case<'_>) -> Result<Mark, Fault> {
    let roots = match case.value()? {
        Ok(roots) if crate::setup::is_true(roots) => roots,
        Ok(_) => return Ok(Mark::none("there are no bookmarks")),
        Err(mark) => return Ok(mark),
    };
    let bar = roots.pointer("/bookmark_bar/children").and_then(Value::as_array);
    let bar = bar.ok_or_else(|| raised("the bookmarks have no bar"))?;
    let named = |list: &[Value], kind: &str, field: &str| -> BTreeSet<String> {
        let of_kind = list.iter().filter(|one| one.get("type").and_then(Value::as_str) == Some(kind));
        of_kind.filter_map(|one| one.get(field)?.as_str()).map(str::to_owned).collect()
    };
    let wanted = |name: &str| -> Result<BTreeSet<String>, Fault> {
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
            let Some(folder) = folder else { return Ok(Mark::none("there is no folder \"Liked Authors\"")) };
            let children = folder["children"].as_array().map(Vec::as_slice).unwrap_or_default();
            one_of_each(&named(children, "url", "url"), case.rule("urls")?)
        }
        _ => Err(wrong(
            "rule \"type\" must be bookmark_bar_folders_names, bookmark_bar_websites_urls or liked_authors_websites_urls",
        )),
    }
}

fn same_set(found: &BTreeSet<String>, wanted: &BTreeSet<String>, what: &str) -> Mark {
    let mut complaints: Vec<String> =
        wanted.difference(found).map(|one| format!("{} is missing", quote(one))).collect();
    complaints.extend(found.difference(wanted).map(|one| format!("{} is unexpected", quote(one))));
    if !complaints.is_empty() {
        complaints.insert(0, what.to_owned());
    }
    Mark::unless(&complaints, &format!("{what} are as expected"))
}

/// Passes if the set has exactly one alternative of each entry, and no other member.
fn one_of_each(found: &BTreeSet<String>, places: &Value) -> Result<Mark, Fault> {
    let bad = || wrong("rule \"urls\" must be a list of strings or of lists of strings");
    let mut combinations: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    for place in places.as_array().ok_or_else(bad)? {
        let alternatives = match place {
            Value::String(one) => vec![one.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(bad()),
        };
        if combinations.len() * alternatives.len() > COMBINATIONS {
            return Err(wrong(format!("rule \"urls\" asks for more than {COMBINATIONS} combinations")));
        }
        let with = |set: &BTreeSet<String>, one: &str| set.iter().cloned().chain([one.to_owned()]).collect();
        combinations = combinations
            .iter()
            .flat_map(|set| alternatives.iter().map(move |one| with(set, one)).collect::<Vec<_>>())
            .collect();
    }
    Ok(Mark::of(
        combinations.contains(found),
        format!("found {found:?}, expected one of each of {}", show(places)),
    ))
}

/// Names of one extension over time.
const RENAMED: &[&str] = &["Zoom Chrome Extension", "Zoom for Google Chrome"];

pub(super) fn extensions(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(found) => found.as_array().map(Vec::as_slice).unwrap_or_default(),
        Err(mark) => return Ok(mark),
    };
    if found.is_empty() {
        return Ok(Mark::none("no extension is installed"));
    }
    let wanted = texts(case.rules()?, "expected")?;
    // Upstream accepts both names since 2026.
    let is_one = |name: &str, wanted: &str| {
        name == wanted || !case.is_exact() && RENAMED.contains(&name) && RENAMED.contains(&wanted)
    };
    let missing: Vec<String> = wanted
        .iter()
        .filter(|wanted| !found.iter().filter_map(Value::as_str).any(|one| is_one(one, wanted)))
        .map(|wanted| format!("extension {} is missing", quote(wanted)))
        .collect();
    Ok(Mark::unless(&missing, "every expected extension is installed"))
}

/// Returns the strings in one column of a table.
fn column(rows: &Value, at: usize) -> Result<Vec<&str>, Fault> {
    let rows = rows.as_array().ok_or_else(|| raised("the result is not a list of rows"))?;
    let cell = |row: &'_ Value| row.get(at).cloned();
    if rows.iter().any(|row| cell(row).is_none()) {
        return Err(raised(format!("a row has no column {at}")));
    }
    Ok(rows.iter().filter_map(|row| row.get(at)?.as_str()).collect())
}

pub(super) fn cookies_deleted(case: &Case<'_>) -> Result<Mark, Fault> {
    if case.rule("type")? != "domains" {
        return Err(wrong("rule \"type\" must be domains"));
    }
    let hosts = column(case.need_value()?, 1)?;
    let mut complaints = Vec::new();
    for domain in texts(case.rules()?, "domains")? {
        if let Some(host) = hosts.iter().find(|host| url::same(domain, host)) {
            complaints.push(format!("a cookie of {} exists", quote(host)));
        }
    }
    Ok(Mark::unless(&complaints, "no cookie of these domains exists"))
}

pub(super) fn history_deleted(case: &Case<'_>) -> Result<Mark, Fault> {
    if case.rule("type")? != "keywords" {
        return Err(wrong("rule \"type\" must be keywords"));
    }
    let visited = column(case.need_value()?, 0)?;
    let mut complaints = Vec::new();
    for word in texts(case.rules()?, "keywords")? {
        if let Some(address) = visited.iter().find(|address| address.contains(word)) {
            complaints.push(format!("{} is in the history", quote(address)));
        }
    }
    Ok(Mark::unless(&complaints, "the history holds none of the keywords"))
}

pub(super) fn experiments(case: &Case<'_>) -> Result<Mark, Fault> {
    if case.rule("type")? != "names" {
        return Err(wrong("rule \"type\" must be names"));
    }
    let list = case.need_value()?.as_array().ok_or_else(|| raised("the result is not a list"))?;
    let names = list.iter().filter_map(Value::as_str).map(|one| one.split('@').next().unwrap_or(one));
    let found = Value::from(names.collect::<Vec<_>>());
    let wanted = case.rule("names")?;
    Ok(Mark::of(
        value::equal(&found, wanted),
        format!("enabled are {}, expected {}", show(&found), show(wanted)),
    ))
}

pub(super) fn font_size(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = case.need_value()?.get("default_font_size");
    let found = found.ok_or_else(|| raised("no default font size is stored"))?;
    let passed = match case.rule("type")?.as_str() {
        Some("value") => value::equal(found, case.rule("value")?),
        Some("range") => {
            let between = value::order(case.rule("min")?, found).zip(value::order(found, case.rule("max")?));
            let (low, high) = between.ok_or_else(|| raised(format!("{} is not a size", show(found))))?;
            low.is_lt() && high.is_lt()
        }
        _ => return Err(wrong("rule \"type\" must be value or range")),
    };
    Ok(Mark::of(passed, format!("the font size is {found}, expected {}", show(case.rules()?))))
}

pub(super) fn shortcut(case: &Case<'_>) -> Result<Mark, Fault> {
    let starters =
        case.need_value()?.as_object().ok_or_else(|| raised("the result is not a set of shortcuts"))?;
    let (key, wanted) = match case.rule("type")?.as_str() {
        Some("name") => ("Name=", case.rule_text("name")?),
        Some("exec") => ("Exec=", case.rule_text("exec")?),
        _ => return Err(wrong("rule \"type\" must be name or exec")),
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
    let loose = !case.is_exact() && found.iter().any(like);
    let passed = loose || texts().any(|text| text.contains(&line));
    Ok(Mark::of(passed, format!("expected {key}{wanted}, the desktop has {}", show(&found.into()))))
}

pub(super) fn in_cart(case: &Case<'_>) -> Result<Mark, Fault> {
    let content = case.need_value()?.get("content").and_then(Value::as_str);
    let content = content.ok_or_else(|| raised("the page has no content"))?;
    let missing: Vec<String> = texts(case.rules()?, "items")?
        .into_iter()
        .filter(|item| !content.contains(item))
        .map(|item| format!("{} is not in the cart", quote(item)))
        .collect();
    Ok(Mark::unless(&missing, "everything is in the cart"))
}
