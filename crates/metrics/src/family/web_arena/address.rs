//! `url_match`: compares the address of the page at the end with reference addresses.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use crate::readers::url::Url;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error};

/// The only rule: the reference's host and path are part of the page's, and its query is, too.
const RULE: &str = "GOLD in PRED";

/// An address as the rule compares it: host and path, and the values of each field of its query.
struct Compared {
    base: String,
    query: BTreeMap<String, Vec<String>>,
}

impl Compared {
    fn of(address: &str) -> Self {
        let url = Url::parse(address.trim_end_matches('/'));
        let mut query: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in fields(&url.query) {
            query.entry(name).or_default().push(value);
        }
        Self { base: format!("{}{}", url.host, url.path), query }
    }
}

/// Takes a query apart like `urllib.parse.parse_qs`: fields without a value are left out.
fn fields(query: &str) -> impl Iterator<Item = (String, String)> {
    let plain = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter_map(|field| field.split_once('='));
    pairs.filter(|(_, value)| !value.is_empty()).map(move |(name, value)| (plain(name), plain(value)))
}

/// Compares the page's address with all references, of which one must stand in it. Each field of any reference's query
/// must have one of the references' values.
pub(crate) fn url_match(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rule = case.rules()?.get("url_note");
    if rule.is_some_and(|rule| rule != RULE) {
        return Err(task_error(format!("unknown rule for addresses in \"url_note\"; known is {RULE:?}")));
    }
    let references = case.rule_str("reference_url")?;
    let address = match case.value()? {
        Ok(found) => found.as_str().unwrap_or_default(),
        Err(absent) => return Ok(absent),
    };
    let found = Compared::of(address);
    let wanted: Vec<Compared> = references.split(" |OR| ").map(Compared::of).collect();
    if wanted.iter().any(|one| one.base.is_empty()) && !case.reproduces_bugs() {
        return Err(task_error("\"reference_url\" names no page, so that every address would pass"));
    }
    let mut queries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, values) in wanted.iter().flat_map(|one| &one.query) {
        queries.entry(name).or_default().extend(values.iter().map(String::as_str));
    }
    let has =
        |name: &str, value: &str| found.query.get(name).is_some_and(|own| own.iter().any(|one| one == value));
    let lacking = queries.iter().find(|(name, values)| !values.iter().any(|value| has(name, value)));
    let complaint = if !wanted.iter().any(|one| found.base.contains(&one.base)) {
        Some(format!("the address is {}, expected {}", quote(address), quote(references)))
    } else {
        lacking
            .map(|(name, _)| format!("the address {} has another value of {}", quote(address), quote(name)))
    };
    Ok(Score::unless(complaint.as_slice(), "the address is as a reference"))
}
