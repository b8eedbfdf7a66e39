//! The pivot tables of a sheet, keyed by their source cells.

use std::collections::BTreeSet;

use roxmltree::Node;
use serde_json::{Map, Value, json};

use super::comparison::{SheetRef, names};
use crate::readers::{cell_ref, xml};
use crate::scoring::{MetricError, upstream_error};

/// An item of a field: whether it is hidden, and its index.
type Item = (Option<bool>, i64);

pub(super) fn pivots(sheet: &SheetRef<'_, '_>, rule: &Value) -> Result<Value, MetricError> {
    let wanted = names(rule, "pivot_props")?;
    let Some(listed) = sheet.listed() else { return Ok(json!({})) };
    let mut found = Map::new();
    for (_, _, path) in sheet
        .book
        .relations(&listed.path)
        .map_err(upstream_error)?
        .into_iter()
        .filter(|(_, kind, _)| kind == "pivotTable")
    {
        let text = sheet.book.part(&path).map_err(upstream_error)?.unwrap_or_default();
        let document = xml::read(&text).map_err(upstream_error)?;
        let table = document.root_element();
        let cache = table.attribute("cacheId").and_then(|id| sheet.book.caches.get(id));
        let cache = cache.ok_or_else(|| upstream_error("a pivot table has no cache"))?;
        let cache = sheet.book.part(cache).map_err(upstream_error)?.unwrap_or_default();
        let cache = xml::read(&cache).map_err(upstream_error)?;
        let fields = Fields::read(table);
        found.insert(source(cache.root_element(), &fields)?, describe(table, &fields, &wanted));
    }
    Ok(Value::Object(found))
}

/// The fields with items, and the number of fields without items before and after them.
struct Fields {
    items: Vec<Vec<Item>>,
    before: i64,
    behind: i64,
}

impl Fields {
    fn read(table: Node<'_, '_>) -> Self {
        let item = |node: Node<'_, '_>| {
            let at = node.attribute("x")?.parse().ok()?;
            Some((node.attribute("h").map(|flag| xml::is_on(Some(flag))), at))
        };
        let fields =
            xml::child(table, "pivotFields").into_iter().flat_map(|list| xml::children(list, "pivotField"));
        let all: Vec<Vec<Item>> = fields
            .map(|field| {
                let items =
                    xml::child(field, "items").into_iter().flat_map(|list| xml::children(list, "item"));
                items.filter_map(item).collect()
            })
            .collect();
        let count = |iterator: &mut dyn Iterator<Item = &Vec<Item>>| {
            i64::try_from(iterator.take_while(|items| items.is_empty()).count()).unwrap_or(0)
        };
        let before = count(&mut all.iter());
        let some = all.iter().any(|items| !items.is_empty());
        let behind = if some { count(&mut all.iter().rev()) } else { 0 };
        let items = all.into_iter().skip_while(Vec::is_empty).collect::<Vec<_>>();
        let kept = items.len() - usize::try_from(behind).unwrap_or(0).min(items.len());
        Self { items: items.into_iter().take(kept).collect(), before, behind }
    }
}

/// Returns the source cells without the columns at either end that have no items.
fn source(cache: Node<'_, '_>, fields: &Fields) -> Result<String, MetricError> {
    let source = xml::child(cache, "cacheSource");
    let kind = source.and_then(|source| source.attribute("type")).unwrap_or_default();
    let sheet = source.and_then(|source| xml::child(source, "worksheetSource"));
    let cells = sheet.and_then(|sheet| sheet.attribute("ref")?.split_once(':'));
    let cells = cells.and_then(|(from, to)| cell_ref::place(from).zip(cell_ref::place(to)));
    let (from, to) = cells.ok_or_else(|| upstream_error("a pivot table has no source cells"))?;
    let (left, right) = (i64::from(from.column) + fields.before, i64::from(to.column) - fields.behind);
    let name = sheet.and_then(|sheet| sheet.attribute("sheet")).unwrap_or("None");
    Ok(format!("{kind};({}, {left}):({}, {right});{name}", from.row, to.row))
}

fn describe(table: Node<'_, '_>, fields: &Fields, wanted: &[&str]) -> Value {
    let asked = |name: &str| wanted.contains(&name);
    let mut about = Map::new();
    let flag =
        |name: &str, default: bool| table.attribute(name).map_or(default, |flag| xml::is_on(Some(flag)));
    for (name, attribute, default) in [
        ("show_total", "visualTotals", true),
        ("show_empty_row", "showEmptyRow", false),
        ("show_empty_col", "showEmptyCol", false),
        ("show_headers", "showHeaders", true),
    ] {
        if asked(name) {
            about.insert(name.into(), flag(attribute, default).into());
        }
    }
    if asked("name") {
        about.insert("name".into(), table.attribute("name").into());
    }
    if asked("location") {
        let place = xml::child(table, "location");
        let all = place.into_iter().flat_map(|place| place.attributes());
        about.insert(
            "location".into(),
            all.map(|one| (one.name().to_owned(), Value::from(one.value()))).collect(),
        );
    }
    if asked("filter") || asked("selection") {
        let in_order = asked("ordered");
        let items = fields
            .items
            .iter()
            .map(|items| if in_order { json!(items) } else { json!(items.iter().collect::<BTreeSet<&_>>()) });
        about.insert("selection".into(), items.collect());
    }
    let numbers = |list: &str, entry: &str, attribute: &str| -> Vec<i64> {
        let entries = xml::child(table, list).into_iter().flat_map(|list| xml::children(list, entry));
        entries
            .map(|node| node.attribute(attribute).and_then(|text| text.parse().ok()).unwrap_or(0))
            .collect()
    };
    if asked("filter") {
        let pages: BTreeSet<i64> = numbers("pageFields", "pageField", "fld").into_iter().collect();
        about.insert("filter_fields".into(), json!(pages));
    }
    for (name, list) in [("col_fields", "colFields"), ("row_fields", "rowFields")] {
        if asked(name) {
            let places = numbers(list, "field", "x").into_iter().map(|at| at.saturating_sub(fields.before));
            about.insert(name.into(), places.collect());
        }
    }
    if asked("data_fields") {
        about.insert("data_fields".into(), sums(table, fields, asked("data_fields_name")));
    }
    Value::Object(about)
}

/// Returns the data fields as `field;name;aggregation;display`, with the name only if requested.
fn sums(table: Node<'_, '_>, fields: &Fields, named: bool) -> Value {
    let entries =
        xml::child(table, "dataFields").into_iter().flat_map(|list| xml::children(list, "dataField"));
    let entry = |node: Node<'_, '_>| {
        let at: i64 = node.attribute("fld").and_then(|text| text.parse().ok()).unwrap_or(0);
        let name = node.attribute("name").filter(|_| named).unwrap_or_default();
        let sum = node.attribute("subtotal").unwrap_or("sum");
        let shown = node.attribute("showDataAs").unwrap_or("normal");
        Value::from(format!("{};{name};{sum};{shown}", at.saturating_sub(fields.before)))
    };
    entries.map(entry).collect()
}
