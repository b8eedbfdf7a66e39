//! Getters that parse the URL of the active tab.

use apprentice_metrics::EvidenceValue;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::accessibility;
use super::output::GetterOutput;
use crate::check::collect_context::{CollectContext, CollectError};

/// Returns selected parameters of the URL's query.
pub(super) async fn query_parameters(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let look = accessibility::active_url(spec, context).await?;
    let EvidenceValue::Value { value: Value::String(url) } = &look.found else { return Ok(look) };
    let parts = parts(url, spec);
    Ok(GetterOutput::value(parts).of(url.clone()))
}

fn parts(url: &str, spec: &Value) -> Map<String, Value> {
    let query = url.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let pairs: Vec<(String, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (plain(key), plain(value)))
        .collect();
    let keys =
        spec.get("parse_keys").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let renamed = spec.get("replace").and_then(Value::as_object);
    let split = spec.get("split_list").is_some_and(apprentice_metrics::is_truthy);
    let mut found = Map::new();
    for key in keys {
        let value =
            pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str()).unwrap_or_default();
        let name = renamed.and_then(|renamed| renamed.get(key)?.as_str()).unwrap_or(key);
        let value = if split { value.split(',').map(Value::from).collect() } else { Value::from(value) };
        found.insert(name.to_owned(), value);
    }
    found
}

/// Decodes plus signs and percent escapes of a query part.
fn plain(text: &str) -> String {
    decoded(&text.replace('+', " "))
}

/// Decodes percent escapes.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns one slash-separated part of the URL.
pub(super) async fn url_part(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let look = accessibility::active_url(spec, context).await?;
    let EvidenceValue::Value { value: Value::String(url) } = &look.found else { return Ok(look) };
    let index = spec.get("partIndex");
    let index = index.and_then(|index| index.as_u64().or_else(|| index.as_str()?.trim().parse().ok()));
    let part = index.and_then(|index| url.split('/').nth(usize::try_from(index).ok()?));
    let Some(part) = part else {
        return Ok(GetterOutput::absent(format!("{url} has no part of that index")).of(url.clone()));
    };
    let bare = spec.get("needDeleteId").is_some_and(apprentice_metrics::is_truthy);
    let part = if bare { part.split('?').next().unwrap_or(part) } else { part };
    let look = match (spec.get("returnType").and_then(Value::as_str), spec.get("key").and_then(Value::as_str))
    {
        (Some("string"), _) => GetterOutput::value(part),
        (Some("json"), Some(key)) => GetterOutput::value(Map::from_iter([(key.to_owned(), part.into())])),
        _ => GetterOutput::absent("`returnType` must be string or json"),
    };
    Ok(look.of(url.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parts;

    #[test]
    fn a_query_is_taken_apart() {
        let spec = json!({"parse_keys": ["a", "b", "none"], "replace": {"b": "bee"}});
        let found = parts("https://h.org/x?a=1%2C2&b=two+words&b=3&c=#f", &spec);
        assert_eq!(Value::Object(found), json!({"a": "1,2", "bee": "two words", "none": ""}));
        let found = parts("https://h.org/x?a=1,2", &json!({"parse_keys": ["a"], "split_list": true}));
        assert_eq!(Value::Object(found), json!({"a": ["1", "2"]}));
    }
}
