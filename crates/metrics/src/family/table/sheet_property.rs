//! Rules about sheet properties: panes, zoom, rows, columns, validation, filters and sparklines.

use roxmltree::{Document, Node};
use serde_json::{Map, Value, json};

use super::comparison::{Difference, SheetRef, TableComparison, names};
use crate::comparison::value;
use crate::readers::{cell_ref, xml};
use crate::scoring::{MetricError, show, task_error, upstream_error};

/// Reads from a sheet's XML; `None` if the sheet does not exist.
fn within<T>(
    sheet: &SheetRef<'_, '_>,
    read: impl FnOnce(&Document<'_>) -> T,
) -> Result<Option<T>, MetricError> {
    let Some(listed) = sheet.listed() else { return Ok(None) };
    let text = sheet.book.sheet_text(listed).map_err(upstream_error)?;
    Ok(Some(read(&xml::read(&text).map_err(upstream_error)?)))
}

fn number(node: Node<'_, '_>, name: &str) -> Value {
    node.attribute(name).and_then(|text| text.parse::<f64>().ok()).map_or(Value::Null, Value::from)
}

fn text(node: Node<'_, '_>, name: &str) -> Value {
    node.attribute(name).map_or(Value::Null, Value::from)
}

fn view<'d>(document: &'d Document<'d>) -> Option<Node<'d, 'd>> {
    let views = xml::child(document.root_element(), "sheetViews")?;
    xml::child(views, "sheetView")
}

/// Compares frozen panes. Upstream's last release compares the first scrollable cell, which changes as the user
/// scrolls; the fixed mode compares the number of frozen rows and columns.
pub(super) fn freeze(books: &TableComparison<'_, '_>, rule: &Value) -> Result<Difference, MetricError> {
    let exact = books.case.reproduces_bugs();
    let read = |sheet: &SheetRef<'_, '_>| {
        within(sheet, |document| {
            let pane = view(document).and_then(|view| xml::child(view, "pane"));
            pane.map_or(Value::Null, |pane| {
                if exact {
                    text(pane, "topLeftCell")
                } else {
                    json!([text(pane, "state"), number(pane, "xSplit"), number(pane, "ySplit")])
                }
            })
        })
    };
    let (found, wanted) = (books.sheet(rule, "sheet_idx0")?, books.sheet(rule, "sheet_idx1")?);
    let (Some(have), Some(want)) = (read(&found)?, read(&wanted)?) else {
        return Ok(Some(if found.listed().is_none() { found.missing() } else { wanted.missing() }));
    };
    Ok((!value::equal(&have, &want)).then(|| format!("found pane {}, expected {}", show(&have), show(&want))))
}

pub(super) fn zoom(books: &TableComparison<'_, '_>, rule: &Value) -> Result<Difference, MetricError> {
    let sheet = books.sheet(rule, "sheet_idx")?;
    let scale =
        within(&sheet, |document| view(document).map_or(Value::Null, |view| number(view, "zoomScale")))?;
    let Some(scale) = scale else { return Ok(Some(sheet.missing())) };
    let scale = if crate::scoring::is_truthy(&scale) { scale } else { 100.0.into() };
    let fits = value::fits(&scale, rule)?;
    Ok((!fits).then(|| format!("the zoom is {scale} %, expected {} {}", rule["method"], rule["ref"])))
}

pub(super) fn validation(books: &TableComparison<'_, '_>, rule: &Value) -> Result<Difference, MetricError> {
    let sheet = books.sheet(rule, "sheet_idx")?;
    let wanted = rule.get("dv_props").and_then(Value::as_array);
    let wanted = wanted.ok_or_else(|| task_error("data_validation needs the list \"dv_props\""))?;
    let found = within(&sheet, |document| {
        let list = xml::child(document.root_element(), "dataValidations");
        list.into_iter()
            .flat_map(|list| xml::children(list, "dataValidation"))
            .map(validator)
            .collect::<Vec<_>>()
    })?;
    let Some(found) = found else { return Ok(Some(sheet.missing())) };
    if found.len() < wanted.len() {
        return Ok(Some(format!("found {} validations, expected {}", found.len(), wanted.len())));
    }
    for validator in &found {
        let mut fits = false;
        for wanted in wanted.iter().filter_map(Value::as_object) {
            let mut all = true;
            for (name, rule) in wanted {
                let property =
                    validator.get(name).ok_or_else(|| task_error(format!("validations have no {name:?}")))?;
                all = all && value::fits(property, rule)?;
            }
            fits = fits || all;
        }
        if !fits {
            return Ok(Some(format!(
                "validation {} matches none of {}",
                show(validator),
                show(&wanted.clone().into())
            )));
        }
    }
    Ok(None)
}

fn validator(node: Node<'_, '_>) -> Value {
    let flag = |name: &str| xml::is_on(node.attribute(name));
    let formula =
        |name: &str| xml::child(node, name).and_then(|child| child.text()).map_or(Value::Null, Value::from);
    let range = text(node, "sqref");
    json!({
        "ranges": range, "cells": range, "sqref": range,
        "type": text(node, "type"), "validation_type": text(node, "type"),
        "formula1": formula("formula1"), "formula2": formula("formula2"),
        "operator": text(node, "operator"),
        "allowBlank": flag("allowBlank"), "allow_blank": flag("allowBlank"),
        "showDropDown": flag("showDropDown"), "hide_drop_down": flag("showDropDown"),
        "showInputMessage": flag("showInputMessage"), "showErrorMessage": flag("showErrorMessage"),
        "error": text(node, "error"), "errorTitle": text(node, "errorTitle"), "errorStyle": text(node, "errorStyle"),
        "prompt": text(node, "prompt"), "promptTitle": text(node, "promptTitle"), "imeMode": text(node, "imeMode"),
    })
}

pub(super) fn rows(sheet: &SheetRef<'_, '_>, rule: &Value) -> Result<Value, MetricError> {
    let wanted = names(rule, "props")?;
    let property = |row: Node<'_, '_>, name: &str| {
        Ok(match name {
            "hidden" | "collapsed" => xml::is_on(row.attribute(name)).into(),
            "height" | "ht" => number(row, "ht"),
            "outlineLevel" | "outline_level" => number(row, "outlineLevel"),
            "customHeight" => row.has_attribute("ht").into(),
            other => return Err(task_error(format!("rows have no property {other:?}"))),
        })
    };
    let found = within(sheet, |document| {
        let data = xml::child(document.root_element(), "sheetData");
        let (mut found, mut at) = (Map::new(), 0_u32);
        for row in data.into_iter().flat_map(|data| xml::children(data, "row")) {
            at = row.attribute("r").and_then(|text| text.parse().ok()).unwrap_or(at.saturating_add(1));
            // A row without attributes of its own has no properties.
            if row.attributes().all(|one| one.namespace().is_some() || matches!(one.name(), "r" | "spans")) {
                continue;
            }
            found.insert(format!("row {at}"), read_all(&wanted, |name| property(row, name))?);
        }
        Ok(Value::Object(found))
    })?;
    found.unwrap_or_else(|| Ok(json!({})))
}

pub(super) fn columns(sheet: &SheetRef<'_, '_>, rule: &Value) -> Result<Value, MetricError> {
    let wanted = names(rule, "props")?;
    let property = |column: Node<'_, '_>, name: &str| {
        Ok(match name {
            "hidden" | "collapsed" => xml::is_on(column.attribute(name)).into(),
            "auto_size" | "bestFit" => xml::is_on(column.attribute("bestFit")).into(),
            "width" if !column.has_attribute("width") => 13.0.into(),
            "width" | "min" | "max" => number(column, name),
            other => return Err(task_error(format!("columns have no property {other:?}"))),
        })
    };
    let found = within(sheet, |document| {
        let list = xml::child(document.root_element(), "cols");
        let mut found = Map::new();
        for column in list.into_iter().flat_map(|list| xml::children(list, "col")) {
            let at = column.attribute("min").and_then(|text| text.parse().ok()).unwrap_or(1);
            let name = format!("column {}", cell_ref::letters(at));
            found.insert(name, read_all(&wanted, |name| property(column, name))?);
        }
        Ok(Value::Object(found))
    })?;
    found.unwrap_or_else(|| Ok(json!({})))
}

fn read_all(
    names: &[&str],
    property: impl Fn(&str) -> Result<Value, MetricError>,
) -> Result<Value, MetricError> {
    let pairs = names.iter().map(|name| Ok(((*name).to_owned(), property(name)?)));
    Ok(Value::Object(pairs.collect::<Result<Map<_, _>, MetricError>>()?))
}

pub(super) fn filter(sheet: &SheetRef<'_, '_>) -> Result<Value, MetricError> {
    let found = within(sheet, |document| {
        let Some(filter) = xml::child(document.root_element(), "autoFilter") else {
            return json!({"ref": null, "filter_column": []});
        };
        let mut columns: Vec<Value> = xml::children(filter, "filterColumn").map(filter_column).collect();
        columns.sort_by(|a, b| value::order(&a["col_id"], &b["col_id"]).unwrap_or(std::cmp::Ordering::Equal));
        let mut all = json!({"ref": text(filter, "ref"), "filter_column": columns});
        if let Some(state) = xml::child(filter, "sortState") {
            let condition = |node: Node<'_, '_>| {
                json!({
                    "descending": xml::is_on(node.attribute("descending")), "key": text(node, "sortBy"),
                    "ref": text(node, "ref"), "custom_list": text(node, "customList"), "dxf_id": number(node, "dxfId"),
                    "icon": node.attribute("iconSet").unwrap_or("3Arrows"), "iconid": number(node, "iconId"),
                })
            };
            all["sort_state"] = json!({
                "sort": xml::is_on(state.attribute("columnSort")), "case": xml::is_on(state.attribute("caseSensitive")),
                "method": text(state, "sortMethod"), "ref": text(state, "ref"),
                "condition": xml::children(state, "sortCondition").map(condition).collect::<Vec<_>>(),
            });
        }
        all
    })?;
    Ok(found.unwrap_or_else(|| json!({})))
}

fn filter_column(node: Node<'_, '_>) -> Value {
    let mut column = json!({
        "col_id": number(node, "colId"),
        "hidden_button": xml::is_on(node.attribute("hiddenButton")),
        "show_button": node.attribute("showButton").is_none_or(|flag| xml::is_on(Some(flag))),
    });
    // The filters are sets: their order does not matter.
    let sorted = |mut list: Vec<Value>| {
        list.sort_by_key(Value::to_string);
        list.dedup();
        Value::Array(list)
    };
    if let Some(filters) = xml::child(node, "filters") {
        column["filters_blank"] = xml::is_on(filters.attribute("blank")).into();
        column["filters"] = sorted(xml::children(filters, "filter").map(|one| text(one, "val")).collect());
    }
    if let Some(custom) = xml::child(node, "customFilters") {
        column["custom_filters_op"] = xml::is_on(custom.attribute("and")).into();
        let one = |node: Node<'_, '_>| json!([node.attribute("operator"), node.attribute("val")]);
        column["custom_filters"] = sorted(xml::children(custom, "customFilter").map(one).collect());
    }
    column
}

/// Returns the sparklines of a sheet by cell. Upstream derives the file from `sheetId`.
pub(super) fn sparklines(sheet: &SheetRef<'_, '_>) -> Result<Value, MetricError> {
    let listed = sheet.listed().ok_or_else(|| upstream_error(sheet.missing()))?;
    let path = format!("xl/worksheets/sheet{}.xml", listed.id);
    let text = sheet
        .book
        .part(&path)
        .map_err(upstream_error)?
        .ok_or_else(|| upstream_error(format!("there is no {path}")))?;
    let document = xml::read(&text).map_err(upstream_error)?;
    let pairs = document.descendants().filter(|node| node.tag_name().name() == "sparkline").map(|node| {
        let part =
            |name: &str| xml::child(node, name).and_then(|child| child.text()).unwrap_or_default().trim();
        (part("sqref").to_owned(), Value::from(part("f")))
    });
    Ok(Value::Object(pairs.collect()))
}
