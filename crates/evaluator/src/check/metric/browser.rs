//! Metrics of browser profiles, addresses and desktop starters.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Case, Fault, Mark, pattern, show, texts};

pub(super) fn font_size(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(found) => found,
        Err(mark) => return Ok(mark),
    };
    let Some(size) = found.get("default_font_size").and_then(Value::as_f64) else {
        return Ok(Mark::none("no default font size is stored"));
    };
    let number = |name: &str| -> Result<f64, Fault> {
        case.rule(name)?.as_f64().ok_or_else(|| Fault(format!("rule {name:?} must be a number")))
    };
    let passed = match case.rule("type")?.as_str() {
        Some("value") => size == number("value")?,
        Some("range") => number("min")? < size && size < number("max")?,
        _ => return Err(Fault("rule \"type\" must be value or range".into())),
    };
    Ok(Mark::of(passed, format!("the font size is {size}")))
}

pub(super) fn bookmarks(case: &Case<'_>) -> Result<Mark, Fault> {
    let roots = match case.value()? {
        Ok(roots) => roots,
        Err(mark) => return Ok(mark),
    };
    let bar = roots.pointer("/bookmark_bar/children").and_then(Value::as_array);
    let bar = bar.map(Vec::as_slice).unwrap_or_default();
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
            Ok(same_set(&named(bar, "url", "url"), &wanted("urls")?, "addresses on the bookmark bar"))
        }
        Some("liked_authors_websites_urls") => {
            let folder = bar.iter().find(|one| one["type"] == "folder" && one["name"] == "Liked Authors");
            let Some(folder) = folder else { return Ok(Mark::none("there is no folder \"Liked Authors\"")) };
            let children = folder["children"].as_array().map(Vec::as_slice).unwrap_or_default();
            one_of_each(&named(children, "url", "url"), case.rule("urls")?)
        }
        other => Err(Fault(format!("bookmark rule type {other:?} is not supported"))),
    }
}

fn same_set(found: &BTreeSet<String>, wanted: &BTreeSet<String>, what: &str) -> Mark {
    Mark::of(found == wanted, format!("{what}: found {found:?}, expected {wanted:?}"))
}

/// Each wanted place lists its alternatives; the set must hold exactly one of each.
fn one_of_each(found: &BTreeSet<String>, places: &Value) -> Result<Mark, Fault> {
    let wrong = || Fault("rule \"urls\" must be a list of lists".into());
    let places = places.as_array().ok_or_else(wrong)?;
    let mut combinations: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    for place in places {
        let alternatives = match place {
            Value::String(one) => vec![one.as_str()],
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(wrong()),
        };
        combinations = combinations
            .iter()
            .flat_map(|set| {
                alternatives.iter().map(move |one| set.iter().cloned().chain([(*one).to_owned()]).collect())
            })
            .collect();
    }
    Ok(Mark::of(combinations.contains(found), format!("found {found:?}")))
}

/// Every pattern must be found in the address.
pub(super) fn url_pattern(case: &Case<'_>) -> Result<Mark, Fault> {
    let found = match case.value()? {
        Ok(Value::String(url)) => url.as_str(),
        Ok(other) => other
            .get("url")
            .and_then(Value::as_str)
            .ok_or_else(|| Fault("the result is no address".into()))?,
        Err(mark) => return Ok(mark),
    };
    for source in texts(case.rules()?, "expected")? {
        if !pattern(source)?.is_match(found) {
            return Ok(Mark::none(format!("{found:?} does not fit {source:?}")));
        }
    }
    Ok(Mark::full(format!("{found:?} fits")))
}

pub(super) fn shortcut(case: &Case<'_>) -> Result<Mark, Fault> {
    let starters = match case.value()? {
        Ok(starters) => starters,
        Err(mark) => return Ok(mark),
    };
    let wanted = case.rule("name")?.as_str().unwrap_or_default();
    let loose = match case.rule("type")?.as_str() {
        Some("name") => false,
        Some("exec" | "url" | "id") => return Err(Fault("only shortcuts by name are supported".into())),
        _ => true,
    };
    let names: Vec<String> = starters
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter_map(Value::as_str)
        .flat_map(|text| text.lines().filter_map(|line| line.strip_prefix("Name=")))
        .map(str::to_owned)
        .collect();
    let (low, lower) = (wanted.to_lowercase(), |name: &String| name.to_lowercase());
    let fits =
        |name: &String| name == wanted || loose && (lower(name).contains(&low) || low.contains(&lower(name)));
    Ok(Mark::of(names.iter().any(fits), format!("starters: {}", show(&names.clone().into()))))
}
