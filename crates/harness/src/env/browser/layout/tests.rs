//! What shows of a page's boxes.

use std::collections::HashMap;

use apprentice_cdp::domain::dom::Snapshot;
use serde_json::json;

use super::{Area, FrameOwner, Layout, Placement, Window, WindowSize};

const TAB: Area = Area { left: 0.0, top: 0.0, right: 800.0, bottom: 600.0 };

/// A document of nodes: parent, styles (overflow of both ways, position), bounds.
fn snapshot(nodes: &[(i64, [&str; 2], [f64; 4])]) -> Snapshot {
    let mut strings: Vec<String> = vec!["frame".into()];
    let mut text = |text: &str| {
        strings.push(text.to_owned());
        strings.len() - 1
    };
    let styles: Vec<Vec<usize>> = nodes
        .iter()
        .map(|(_, [overflow, position], _)| vec![text(overflow), text(overflow), text(position)])
        .collect();
    let parents: Vec<i64> = nodes.iter().map(|(parent, ..)| *parent).collect();
    let bounds: Vec<[f64; 4]> = nodes.iter().map(|(.., bounds)| *bounds).collect();
    serde_json::from_value(json!({
        "documents": [{
            "frameId": 0,
            "nodes": { "backendNodeId": (0..nodes.len()).collect::<Vec<_>>(), "parentIndex": parents },
            "layout": { "nodeIndex": (0..nodes.len()).collect::<Vec<_>>(), "bounds": bounds, "styles": styles },
        }],
        "strings": strings,
    }))
    .expect("a snapshot")
}

fn layout(nodes: &[(i64, [&str; 2], [f64; 4])]) -> Layout {
    let window = Window { place: Placement::TAB, shown: TAB, is_frame: false };
    Layout::of(&snapshot(nodes), window, &HashMap::new())
}

#[test]
fn what_scrolls_cuts_what_it_holds_and_the_window_does_not_hide() {
    let plain = ["visible", "static"];
    let found = layout(&[
        (-1, plain, [0.0, 0.0, 800.0, 600.0]),
        (0, plain, [0.0, 0.0, 800.0, 2000.0]),
        (1, plain, [0.0, 0.0, 800.0, 2000.0]),
        // A list that scrolls, with an item in view, one half in view and one out of it.
        (2, ["auto", "static"], [0.0, 100.0, 200.0, 100.0]),
        (3, plain, [0.0, 110.0, 200.0, 20.0]),
        (3, plain, [0.0, 190.0, 200.0, 20.0]),
        (3, plain, [0.0, 300.0, 200.0, 20.0]),
        // What is placed by itself is not cut by it.
        (3, ["visible", "fixed"], [0.0, 400.0, 50.0, 20.0]),
        (3, ["visible", "absolute"], [0.0, 500.0, 50.0, 20.0]),
        (2, plain, [0.0, 1500.0, 50.0, 20.0]),
    ]);
    let rect = |node: i64| found.boxes[&node].rect();
    assert_eq!((rect(5).y, rect(5).height), (190, 10), "its visible part");
    let hidden: Vec<i64> = (0..10).filter(|node| found.hidden.contains(node)).collect();
    assert_eq!(hidden, [6]);
    assert_eq!(rect(9).y, 1500, "below the window");
    let order = &found.order["frame"];
    assert_eq!(order.on_screen, [0, 1, 2, 3, 4, 5, 7, 8]);
    assert_eq!(order.others, [9, 6], "what follows comes first");
}

#[test]
fn a_frames_document_is_placed_by_what_its_owner_shows_and_its_own_size() {
    let corners = [100.0, 50.0, 400.0, 50.0, 400.0, 200.0, 100.0, 200.0];
    let size = WindowSize { width: 600.0, height: 300.0 };
    let half = Placement::TAB.within(&corners, size);
    let inner = half.area(Area::new(200.0, 100.0, 100.0, 20.0));
    assert_eq!(inner, Area { left: 200.0, top: 100.0, right: 250.0, bottom: 110.0 });
    // The owner stands half beyond the right edge of the tab.
    let mut layout = Layout::default();
    layout.boxes.insert(1, Area::new(700.0, 50.0, 300.0, 150.0));
    let window = Window { place: Placement::TAB, shown: TAB, is_frame: false };
    let corners = [700.0, 50.0, 1000.0, 50.0, 1000.0, 200.0, 700.0, 200.0];
    let inner = layout.frame_window(window, &FrameOwner { node: 1, corners: corners.into() }, size);
    assert_eq!(inner.shown, Area { left: 700.0, top: 50.0, right: 800.0, bottom: 200.0 });
}
