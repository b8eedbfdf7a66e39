//! What is asked again after a drawing.

use std::collections::HashMap;

use apprentice_protocol::Rect;
use atspi::{Role as BusRole, State as BusState, StateSet};

use super::{Program, Recall, TreeMemory, Walked};
use crate::supervisor::cells::{CellRange, Cells, PlacedCell};
use crate::supervisor::node::Address;
use crate::supervisor::node_reading::Read;
use crate::wire::DrawnSince;

const SCREEN: Rect = Rect::new(0, 0, 1000, 800);

fn address(path: &str) -> Address {
    Address { name: ":1.3".into(), path: path.into() }
}

fn read(role: BusRole, value: &str, bounds: Rect) -> Read {
    let states: StateSet = [BusState::Showing, BusState::Visible].iter().collect();
    let value = Some(value.to_owned()).filter(|value| !value.is_empty());
    let (name, children) = (String::new(), Vec::new());
    Read {
        name,
        role,
        states,
        bounds: Some(bounds),
        value,
        visible: None,
        details: Vec::new(),
        children,
        cells: None,
    }
}

/// A window with a button, a label, a list that hangs out of it, and a table with two cells.
fn memory(change: impl Fn(&str, &mut Read)) -> TreeMemory {
    let mut table = read(BusRole::Table, "", Rect::new(0, 100, 200, 100));
    let placed = |column, path: &str| PlacedCell { row: 0, column, address: address(path) };
    table.cells = Some(Cells {
        range: CellRange { top: 0, left: 0, bottom: 0, right: 1 },
        found: vec![placed(0, "full"), placed(1, "empty")],
    });
    let mut nodes = [
        ("window", None, read(BusRole::Frame, "", Rect::new(0, 0, 400, 300))),
        ("button", Some(0), read(BusRole::Button, "", Rect::new(10, 10, 20, 20))),
        ("label", Some(0), read(BusRole::Label, "", Rect::new(60, 10, 50, 20))),
        ("list", Some(0), read(BusRole::List, "", Rect::new(300, 250, 50, 500))),
        ("table", Some(0), table),
        ("full", Some(4), read(BusRole::TableCell, "7", Rect::new(0, 100, 100, 50))),
        ("empty", Some(4), read(BusRole::TableCell, "", Rect::new(100, 100, 150, 50))),
    ];
    nodes.iter_mut().for_each(|(path, _, read)| change(path, read));
    let addresses: Vec<Address> = nodes.iter().map(|(path, _, _)| address(path)).collect();
    let walked: Vec<Option<Walked<'_>>> = nodes
        .iter()
        .zip(&addresses)
        .map(|((_, parent, read), address)| {
            Some(Walked { address, read, parent: *parent, lower: 0, hidden: false, whole: true })
        })
        .collect();
    TreeMemory::of(&walked, SCREEN, HashMap::from([(":1.3".to_owned(), Program::of("soffice", "gtk", None))]))
}

/// What is known of each element: `=` all of it, `t` all but its text, `?` nothing.
fn recalled(memory: &TreeMemory, changed: &[Rect], touched: &[Rect]) -> String {
    let since = DrawnSince { changed: changed.to_vec(), touched: touched.to_vec() };
    let unchanged = memory.unchanged(&since);
    let nodes = ["window", "button", "label", "list", "table", "full", "empty"];
    let sign = |path: &&str| match unchanged.recall(&address(path)) {
        Some(Recall::Whole(_)) => '=',
        Some(Recall::AllButText(_)) => 't',
        None => '?',
    };
    nodes.iter().map(sign).collect()
}

#[test]
fn only_what_was_drawn_or_may_change_unseen_is_asked_again() {
    let plain = memory(|_, _| {});
    let everything = [SCREEN];
    assert_eq!(recalled(&plain, &[], &[]), "?==?===", "windows, and what hangs out of its place");
    assert_eq!(recalled(&plain, &everything, &everything), "???????");
    assert_eq!(recalled(&plain, &[], &everything), "?=??=t=", "texts may change where they are cut off");
    assert_eq!(recalled(&plain, &[Rect::new(0, 0, 12, 12)], &[]), "??=?===");
    assert_eq!(
        recalled(&plain, &[Rect::new(240, 140, 4, 4)], &[]),
        "?==?===",
        "the table hides that part of a cell"
    );
    let change = |state: BusState| {
        memory(move |path, read| {
            if path == "empty" {
                read.states.insert(state);
            }
        })
    };
    assert_eq!(recalled(&change(BusState::Focused), &[], &[]), "?==?==?");
    let hidden = memory(|path, read| {
        if path == "button" {
            read.bounds = None;
        }
    });
    assert_eq!(recalled(&hidden, &[], &[]), "??=?===", "what does not show may change unseen");
}

#[test]
fn a_sheet_that_was_drawn_may_have_been_scrolled() {
    let memory = memory(|_, _| {});
    let known = |changed: &[Rect], touched: &[Rect]| {
        let since = DrawnSince { changed: changed.to_vec(), touched: touched.to_vec() };
        let cells = memory.unchanged(&since).cells(&address("table")).expect("a table");
        (cells.same, cells.cells.len())
    };
    assert_eq!(known(&[], &[]), (true, 2));
    assert_eq!(known(&[], &[SCREEN]), (false, 2));
    assert_eq!(known(&[Rect::new(0, 100, 10, 10)], &[]), (false, 1));
}

#[test]
fn what_moved_takes_its_children_along_and_other_programs_are_not_remembered() {
    let memory = memory(|_, _| {});
    let since = DrawnSince::default();
    let unchanged = memory.unchanged(&since);
    let at = |x: i32| read(BusRole::Frame, "", Rect::new(x, 0, 400, 300));
    assert!(!unchanged.moved(&address("window"), &at(0)));
    assert!(unchanged.moved(&address("window"), &at(5)));
    assert!(unchanged.moved(&address("another"), &at(0)));
    let (button, place) = (address("button"), read(BusRole::Button, "", Rect::new(0, 0, 9, 9)));
    let walked =
        [Some(Walked { address: &button, read: &place, parent: None, lower: 0, hidden: false, whole: true })];
    let other = TreeMemory::of(
        &walked,
        SCREEN,
        HashMap::from([(":1.3".to_owned(), Program::of("thunar", "gtk", None))]),
    );
    assert!(other.unchanged(&since).recall(&button).is_none());
}

#[test]
fn the_text_of_a_cell_is_known_while_another_is_edited() {
    let memory = memory(|_, read| {
        read.states.insert(BusState::Editable);
    });
    let since = DrawnSince::default();
    let unchanged = memory.unchanged(&since);
    let silent = || read(BusRole::TableCell, "", Rect::new(0, 100, 100, 50));
    let text = |path: &str, told: Read| unchanged.with_known_text(&address(path), told).value;
    assert_eq!(text("full", silent()).as_deref(), Some("7"), "it cannot be edited now");
    assert_eq!(text("made anew", silent()).as_deref(), Some("7"), "another object stands for it");
    let mut emptied = silent();
    emptied.states.insert(BusState::Editable);
    assert_eq!(text("full", emptied), None, "it was emptied");
    assert_eq!(text("full", read(BusRole::TableCell, "8", Rect::new(0, 100, 100, 50))).as_deref(), Some("8"));
    assert_eq!(text("full", read(BusRole::TableCell, "", Rect::new(0, 150, 100, 50))), None, "another cell");
}
