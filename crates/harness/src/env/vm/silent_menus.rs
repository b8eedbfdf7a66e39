//! Items of open menus that the server lists without a place, because their toolkit (GTK 2) does not say that they show. Pure.

use std::collections::HashMap;

use apprentice_protocol::Rect;
use roxmltree::{Document, Node, NodeId};
use serde::Deserialize;

use super::document::{is, shows_below};

/// Prints the items on the machine.
pub(super) const SCRIPT: &str = include_str!("menus.py");

/// An item of an open menu: its program's name, its path of indexes in the program, its name, and its place.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct MenuItem(String, Vec<usize>, String, (i32, i32, i32, i32));

/// Whether the window in front has a menu bar with menus of which nothing shows: one of them may be open all the same.
pub(super) fn may_be_open(document: &Document<'_>) -> bool {
    let bars = document.descendants().filter(|node| node.tag_name().name() == "menu-bar");
    bars.filter(|bar| bar.ancestors().any(|above| is(above, "active"))).any(|bar| {
        let mut menus =
            bar.children().filter(|menu| menu.children().any(|item| item.is_element())).peekable();
        menus.peek().is_some() && menus.all(|menu| !shows_below(menu, 0))
    })
}

/// The places of those items that the document lists, where it lists them under the same name.
pub(super) fn places(document: &Document<'_>, items: &[MenuItem]) -> HashMap<NodeId, Rect> {
    let programs = || document.root_element().children().filter(Node::is_element);
    let find = |MenuItem(program, path, name, (x, y, width, height)): &MenuItem| {
        let below = |top: Node<'_, '_>| {
            let mut at = Some(top);
            for index in path {
                at = at.and_then(|node| node.children().filter(Node::is_element).nth(*index));
            }
            at.filter(|item| item.attribute("name") == Some(name)).map(|item| item.id())
        };
        let named = programs().filter(|top| top.attribute("name") == Some(program));
        let found = named.filter_map(below).next()?;
        Some((found, Rect::new(*x, *y, *width, *height)))
    };
    items.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Rect;
    use roxmltree::Document;

    use super::{MenuItem, may_be_open, places};

    fn gimp(frame: &str, item: &str) -> String {
        let space = "https://accessibility.ubuntu.example.org/ns/state";
        format!(
            "<desktop-frame xmlns:st='{space}'><application name='panel'/><application name='gimp'><frame name='A' {frame}><menu-bar>\
             <menu name='File'/><menu name='Image' st:showing='true'>text<menu-item name='Flip' {item}/></menu>\
             </menu-bar></frame></application></desktop-frame>"
        )
    }

    #[test]
    fn a_menu_that_is_open_without_saying_what_shows_is_asked_about() {
        for (frame, item, expected) in [
            ("st:active='true'", "", true),
            ("", "", false),
            ("st:active='true'", "st:showing='true'", false),
        ] {
            let text = gimp(frame, item);
            assert_eq!(may_be_open(&Document::parse(&text).expect("xml")), expected, "{text}");
        }
    }

    #[test]
    fn an_item_has_its_place_where_the_document_lists_it() {
        let text = gimp("", "");
        let document = Document::parse(&text).expect("xml");
        let item = |program: &str, path: &[usize], name: &str| {
            let json = serde_json::json!([program, path, name, [10, 20, 30, 40]]);
            serde_json::from_value::<MenuItem>(json).expect("an item")
        };
        let found = places(&document, &[item("gimp", &[0, 0, 1, 0], "Flip")]);
        let named = found
            .iter()
            .map(|(id, place)| (document.get_node(*id).and_then(|node| node.attribute("name")), *place));
        assert_eq!(named.collect::<Vec<_>>(), [(Some("Flip"), Rect::new(10, 20, 30, 40))]);
        for gone in [
            item("gimp", &[0, 0, 1, 0], "Rotate"),
            item("gimp", &[0, 0, 2, 0], "Flip"),
            item("inkscape", &[0], "A"),
        ] {
            assert!(places(&document, std::slice::from_ref(&gone)).is_empty(), "{gone:?}");
        }
    }
}
