//! The charts of a sheet, keyed by the source cells of their series.

use roxmltree::Node;
use serde_json::{Map, Value, json};

use super::comparison::{SheetRef, names};
use crate::readers::xml;
use crate::scoring::{MetricError, task_error, upstream_error};

pub(super) fn charts(sheet: &SheetRef<'_, '_>, rule: &Value) -> Result<Value, MetricError> {
    let wanted = names(rule, "chart_props")?;
    let Some(listed) = sheet.listed() else { return Ok(json!({})) };
    let book = sheet.book;
    let mut found = Map::new();
    let of_kind = |path: &str, kind: &'static str| -> Result<Vec<(String, String)>, MetricError> {
        let relations = book.relations(path).map_err(upstream_error)?;
        Ok(relations
            .into_iter()
            .filter(|(_, known, _)| known == kind)
            .map(|(id, _, path)| (id, path))
            .collect())
    };
    for (_, drawing) in of_kind(&listed.path, "drawing")? {
        let anchors = book.part(&drawing).map_err(upstream_error)?.unwrap_or_default();
        let anchors = xml::read(&anchors).map_err(upstream_error)?;
        let places = of_kind(&drawing, "chart")?;
        // In display order, which is that of the drawing.
        for anchor in anchors.root_element().children().filter(Node::is_element) {
            let frame =
                anchor.descendants().find(|node| node.is_element() && node.tag_name().name() == "chart");
            let id = frame.and_then(|frame| frame.attributes().find(|one| one.name() == "id"));
            let Some((_, path)) = id.and_then(|id| places.iter().find(|(known, _)| known == id.value()))
            else {
                continue;
            };
            let text = book.part(path).map_err(upstream_error)?.unwrap_or_default();
            let document = xml::read(&text).map_err(upstream_error)?;
            let (series, about) = describe(document.root_element(), anchor, &wanted)?;
            found.insert(series, about);
        }
    }
    Ok(Value::Object(found))
}

/// Returns the source cells of a chart's series, and the requested properties.
fn describe(
    root: Node<'_, '_>,
    anchor: Node<'_, '_>,
    wanted: &[&str],
) -> Result<(String, Value), MetricError> {
    let broken = || upstream_error("a chart has no plot");
    let chart = xml::child(root, "chart").ok_or_else(broken)?;
    let area = xml::child(chart, "plotArea").ok_or_else(broken)?;
    let is_plot = |node: &Node<'_, '_>| node.is_element() && node.tag_name().name().ends_with("Chart");
    let plot = area.children().find(is_plot).ok_or_else(broken)?;
    let kind = plot.tag_name().name();
    let mut series = Vec::new();
    for one in xml::children(plot, "ser") {
        let source = |name: &str, references: &[&str]| {
            let data = xml::child(one, name);
            let reference = data.and_then(|data| references.iter().find_map(|kind| xml::child(data, kind)));
            reference
                .and_then(|reference| xml::child(reference, "f"))
                .and_then(|f| f.text())
                .unwrap_or_default()
                .to_owned()
        };
        series.push(format!("{},{}", source("val", &["numRef"]), source("cat", &["numRef", "strRef"])));
    }
    let mut about = Map::new();
    for name in wanted {
        let property = match *name {
            "type" => kind.into(),
            "title" => title(xml::child(chart, "title")),
            "legend" => xml::child(chart, "legend")
                .map_or(Value::Null, |legend| value(legend, "legendPos").unwrap_or("r").into()),
            "direction" if kind.starts_with("bar") => value(plot, "barDir").unwrap_or("col").into(),
            "direction" => return Err(upstream_error(format!("a {kind} has no direction"))),
            // openpyxl does not read sizes and returns its defaults.
            "width" => 15.into(),
            "height" => 7.5.into(),
            "anchor" => place(anchor)?,
            "xtitle" => axis_title(area, plot, &["catAx", "dateAx"], 0),
            "ytitle" => axis_title(area, plot, &["valAx"], 1),
            "ztitle" => axis_title(area, plot, &["serAx"], 2),
            other => return Err(task_error(format!("charts have no property {other:?}"))),
        };
        about.insert((*name).to_owned(), property);
    }
    Ok((series.join(";"), Value::Object(about)))
}

fn value<'d>(node: Node<'d, '_>, name: &str) -> Option<&'d str> {
    xml::child(node, name).and_then(|child| child.attribute("val"))
}

/// Returns the first run of a title's first paragraph.
fn title(node: Option<Node<'_, '_>>) -> Value {
    let text = || {
        let rich = xml::child(xml::child(node?, "tx")?, "rich")?;
        xml::child(xml::child(xml::child(rich, "p")?, "r")?, "t")?.text()
    };
    text().map_or(Value::Null, Value::from)
}

/// Returns the title of a plot's axis, found by kind, or by position where the kinds are ambiguous.
fn axis_title(area: Node<'_, '_>, plot: Node<'_, '_>, kinds: &[&str], place: usize) -> Value {
    let ids: Vec<&str> = xml::children(plot, "axId").filter_map(|id| id.attribute("val")).collect();
    let axis = |id: &str| {
        area.children().find(|node| {
            node.is_element() && node.tag_name().name().ends_with("Ax") && value(*node, "axId") == Some(id)
        })
    };
    let by_place = matches!(plot.tag_name().name(), "scatterChart" | "bubbleChart");
    let found = if by_place {
        ids.get(place).and_then(|id| axis(id))
    } else {
        ids.iter().filter_map(|id| axis(id)).find(|axis| kinds.contains(&axis.tag_name().name()))
    };
    found.map_or(Value::Null, |axis| title(xml::child(axis, "title")))
}

/// Returns a chart's cell anchor. As upstream, it has the last row in place of the first one.
fn place(anchor: Node<'_, '_>) -> Result<Value, MetricError> {
    if anchor.tag_name().name() != "twoCellAnchor" {
        return Err(upstream_error("the chart has no two-cell anchor"));
    }
    let part = |end: &str, name: &str| {
        let node = xml::child(anchor, end).and_then(|end| xml::child(end, name));
        node.and_then(|node| node.text()?.parse::<i64>().ok())
    };
    let row = part("to", "row");
    Ok(json!([anchor.attribute("editAs"), part("from", "col"), row, part("to", "col"), row]))
}
