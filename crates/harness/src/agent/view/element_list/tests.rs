//! What a model gets of a tree, and of a change.

use std::collections::BTreeSet;

use apprentice_protocol::{Rect, Size, State, UiNode, UiTree, View};

use super::ElementList;
use crate::agent::view::element_changes;

/// A tree from lines: indentation, role, name, value, states, and y or `-` without a place; separated by `;`.
fn tree(lines: &str) -> UiTree {
    let mut above: Vec<(usize, u32)> = Vec::new();
    let mut nodes = Vec::new();
    for (index, line) in (0u32..).zip(lines.lines().filter(|line| !line.trim().is_empty())) {
        let depth = line.len() - line.trim_start().len();
        above.retain(|(other, _)| *other < depth);
        let parent = above.last().map(|(_, index)| *index);
        above.push((depth, index));
        let fields: Vec<&str> = line.trim().split(';').collect();
        let field = |place: usize| fields.get(place).copied().unwrap_or_default();
        let state = |word: &str| match word {
            "focused" => State::Focused,
            "active" => State::Active,
            "collapsed" => State::Collapsed,
            "disabled" => State::Disabled,
            "modal" => State::Modal,
            "selected" => State::Selected,
            "hidden" => State::Hidden,
            "checked" => State::Checked,
            "unchecked" => State::Unchecked,
            other => panic!("{other}"),
        };
        let number: i32 = field(4).parse().unwrap_or(10);
        nodes.push(UiNode {
            value: Some(field(2).to_owned()).filter(|value| !value.is_empty()),
            states: field(3).split(',').filter(|word| !word.is_empty()).map(state).collect::<BTreeSet<_>>(),
            bounds: (field(4) != "-").then(|| Rect::new(10, number, 20, 10)),
            ..UiNode::new(format!("n{index}"), parent, field(0), field(1))
        });
    }
    UiTree { nodes, truncated: None }
}

fn list(lines: &str) -> ElementList {
    ElementList::of(&tree(lines), &View::whole(Size::new(800, 600)))
}

const SHEET: &str = "
application;sheet
 window;a.csv;;active
  menubar
   menuitem;File;;collapsed
   menuitem;Edit;;collapsed
  rootpane;a.csv
   menubar
    menuitem;File;;collapsed
    menuitem;Edit;;collapsed
   toolbar;Standard
    button;Save
    separator;
    button;Undo;;disabled
   group;Font Name
    textbox;;Sans
   table;Sheet1
    cell;A1;Name;focused;20
    cell;B1;Sum;;20
    cell;C1;;;20
    cell;A2;Ott;;30
    cell;B2;7;;30
    cell;C2;;;30
   status
    text;;Saved
 window;Help
  text;Long text
application;other
 window;Notes
  button;Close
";

fn wide_sheet() -> String {
    let row = |number: usize| {
        format!(
            "    cell;A{number};v{number};;{}\n    cell;B{number};;;{}\n",
            (number + 1) * 10,
            (number + 1) * 10
        )
    };
    let rows: String = (3..60).map(row).collect();
    SHEET.replace("   status\n", &format!("{rows}   status\n"))
}

#[test]
fn a_list_holds_what_can_be_used_and_counts_the_rest() {
    insta::assert_snapshot!(list(&wide_sheet()).write(4000), @r#"
    window "a.csv" [active] #n1
      menubar #n2
        menuitem: "File" #n3 | "Edit" #n4
      toolbar "Standard" #n9
        button: "Save" #n10 | "Undo" [disabled] #n12
      textbox "Font Name" = "Sans" #n14
      table "Sheet1" #n15
        [on the screen: A1 to B59; not listed: rows 13 to 59; select a row near them, or scroll, to list them] [59 empty cells are not listed]
        cell: "A1" = "Name" [focused] #n16 | "B1" = "Sum" #n17
        cell: "A2" = "Ott" #n19 | "B2" = "7" #n20
        cell "A3" = "v3" #n22
        cell "A4" = "v4" #n24
        cell "A5" = "v5" #n26
        cell "A6" = "v6" #n28
        cell "A7" = "v7" #n30
        cell "A8" = "v8" #n32
        cell "A9" = "v9" #n34
        cell "A10" = "v10" #n36
        cell "A11" = "v11" #n38
        cell "A12" = "v12" #n40
      status #n136
        text = "Saved" #n137
    window "Help" #n138
      text "Long text" #n139
    window "Notes" #n141
      [not in front: its 1 element is listed once it is]
    "#);
}

#[test]
fn each_window_of_a_program_keeps_its_menu_bar_and_no_window_has_it_twice() {
    let bar = "  menubar\n   menuitem;File;;collapsed\n   menuitem;Edit;;collapsed\n";
    let text = format!("\napplication;editor\n window;a.txt;;active\n{bar}{bar} window;b.txt\n{bar}");
    insta::assert_snapshot!(list(&text).write(4000), @r#"
    window "a.txt" [active] #n1
      menubar #n2
        menuitem: "File" #n3 | "Edit" #n4
    window "b.txt" #n8
      menubar #n9
        menuitem: "File" #n10 | "Edit" #n11
    "#);
    // What is said to be listed later is what is listed then: the bar with its two items.
    let modal = text.replace("window;b.txt", "dialog;Sure?;;active,modal").replace("a.txt;;active", "a.txt");
    assert!(list(&modal).write(4000).contains("[not in front: its 3 elements are listed once it is]"));
}

#[test]
fn a_modal_dialog_hides_what_it_blocks() {
    let text = "
application;sheet
 window;a.csv
  button;Save
 dialog;Save changes?;;active,modal
  text;Save changes?
  button;Discard
  button;Cancel
";
    insta::assert_snapshot!(list(text).write(4000), @r#"
    window "a.csv" #n1
      [not in front: its 1 element is listed once it is]
    dialog "Save changes?" [active, modal] #n3
      button: "Discard" #n5 | "Cancel" #n6
    "#);
}

#[test]
fn a_modal_message_box_hides_what_it_blocks() {
    let text = "
application;editor
 window;a.txt
  button;Save
 alert;Question;;active,modal
  text;Move the documents?
  button;Yes
";
    insta::assert_snapshot!(list(text).write(4000), @r#"
    window "a.txt" #n1
      [not in front: its 1 element is listed once it is]
    alert "Question" [active, modal] #n3
      text "Move the documents?" #n4
      button "Yes" #n5
    "#);
}

#[test]
fn what_lies_behind_a_dialog_that_does_not_block_is_counted() {
    let text = "
application;sheet
 window;a.gnumeric;;;5
  button;Save;;;5
  button;Bold;;;100
 dialog;Fill Series;;active;100
  textbox;Start value;;;100
";
    insta::assert_snapshot!(list(text).write(4000), @r#"
    window "a.gnumeric" #n1
      [1 more elements of this window are not listed: they are behind "Fill Series" or disabled]
      button "Save" #n2
    dialog "Fill Series" [active] #n4
      textbox "Start value" #n5
    "#);
}

#[test]
fn a_list_with_check_boxes_keeps_its_rows_together() {
    let row = |number: usize| {
        let state = if number.is_multiple_of(2) { "checked" } else { "unchecked" };
        format!("   checkbox;p{number};;{state};{0}\n   cell;p{number};;;{0}\n", number * 10)
    };
    let rows = |count: usize| -> String { (1..=count).map(row).collect() };
    let of = |count| list(&format!("\n window;Plugins;;active\n  treegrid;\n{}", rows(count))).write(9000);
    let few = of(20);
    assert!(few.contains("checkbox \"p20\" [checked]") && !few.contains("not listed"), "{few}");
    let many = of(40);
    assert!(many.contains("checkbox \"p12\" [checked]") && !many.contains("checkbox \"p13\""), "{many}");
    assert!(
        many.contains("[not listed: 28 more rows on the screen, from \"p13\" to \"p40\"; select a row"),
        "{many}"
    );
}

#[test]
fn what_matters_least_goes_first_when_the_room_is_small() {
    let whole = list(&wide_sheet());
    let text = whole.write(420);
    assert!(text.chars().count() <= 420, "{text}");
    assert!(text.contains("menuitem: \"File\"") && !text.contains("\"A2\""), "{text}");
    assert!(text.trim_end().ends_with("do not fit: close or scroll something to see them]"), "{text}");
}

#[test]
fn after_the_first_view_only_changes_are_told() {
    let before = list(SHEET);
    let after = SHEET
        .replace("cell;A1;Name;focused", "cell;A1;Name;")
        .replace("A2;Ott;", "A2;Ott;focused")
        .replace("Saved", "Modified");
    let check = |after: &str| element_changes::write(&before, &list(after).after(&before));
    assert_eq!(check(SHEET).as_deref(), Some("[nothing: every element is as it was]\n"));
    insta::assert_snapshot!(check(&after).expect("few changes"), @r#"
    in status #n22:
    ~   text = "Modified" #n23 (was "Saved")
    focus: cell "A2" = "Ott" #n19
    "#);
    assert_eq!(
        check("application;new\n window;Other;;active\n  button;Go"),
        None,
        "another screen is told as a whole"
    );
}

#[test]
fn a_closed_dialog_is_named_before_other_elements_that_are_gone() {
    let buttons =
        |range: std::ops::Range<u32>| range.map(|number| format!("  button;b{number}\n")).collect::<String>();
    let stays = format!("\napplication;a\n window;w;;active\n{}", buttons(0..60));
    let before = format!("{stays}{} dialog;Sort\n  button;OK\n", buttons(60..75));
    let before = list(&before);
    let changes = element_changes::write(&before, &list(&stays).after(&before)).expect("few changes");
    assert!(changes.starts_with("- dialog \"Sort\" #n77, button \"b60\" #n62,"), "{changes}");
    assert!(changes.contains(", and 5 more"), "{changes}");
}

#[test]
fn what_a_list_holds_out_of_view_is_counted_with_the_way_to_it() {
    let row = |number: usize, y: &str| format!("    cell;key {number};;;{y}\n");
    let rows: String = (1..=3)
        .map(|number| row(number, &(number * 10).to_string()))
        .chain((4..=20).map(|number| row(number, "-")))
        .collect();
    let text =
        format!("\napplication;editor\n window;Keys;;active\n  scrollpane\n   table;Shortcuts\n{rows}");
    let listed = list(&text).write(4000);
    let note = r#"[out of view below: 17 more cells, from "key 4" to "key 20"; scroll the list to see them]"#;
    assert!(listed.contains(note), "{listed}");
    assert!(listed.contains("\"key 3\"") && !listed.contains("\"key 5\""), "{listed}");
    // A column that does not show is nothing to scroll to.
    let hidden =
        "\napplication;files\n window;Files;;active\n  table;Files\n   cell;one;;;10\n   cell;00:16;;;-\n";
    assert!(!list(hidden).write(4000).contains("out of view"));
}

#[test]
fn what_is_left_out_for_a_dialog_is_neither_gone_nor_told_again_when_the_dialog_closes() {
    let window = |rest: &str| {
        let y = |number: u32| if number < 4 { 100 } else { 5 };
        let buttons: String =
            (1..=12).map(|number| format!("  button;b{number};;;{}\n", y(number))).collect();
        format!(
            "\napplication;a\n window;Letter;;{rest};90\n{buttons}  button;Cut;;disabled;5\n  button;Save;;;5\n"
        )
    };
    let (before, alone) = (window(""), window("active"));
    let dialog = format!("{before} dialog;Find;;active;100\n  textbox;Text;;focused;100\n");
    let first = list(&alone);
    let second = list(&dialog).after(&first);
    insta::assert_snapshot!(element_changes::write(&first, &second).expect("few changes"), @r#"
    ~ window "Letter" #n1 (was active)
    ~ [4 more elements of this window are not listed: they are behind "Find" or disabled]
    + dialog "Find" [active] #n16
    + textbox "Text" [focused] #n17
    "#);
    // One of those that were not listed says something else meanwhile.
    let third = list(&alone.replace("b3;;", "b3;on;")).after(&second);
    insta::assert_snapshot!(element_changes::write(&second, &third).expect("few changes"), @r#"
    ~ window "Letter" [active] #n1 (was not active)
    ~   [in front again: all else in it is as last listed]
    ~ button "b3" = "on" #n4 (was empty)
    - dialog "Find" #n16, and 1 more
    focus: no element
    "#);
}

#[test]
fn a_change_says_what_was_there_before() {
    let before = "
application;a
 window;w;;active;1
  button;Undo;;disabled
  button;Bold;;
  checkbox;Case;;unchecked
  textbox;Name;A1
  textbox;Text;A sentence that is far too long to be told once more
  status;Ready
  button;1
  button;2
  button;3
  button;4
  slider;Size;3;;50
";
    let after = before
        .replace("Undo;;disabled", "Undo;;")
        .replace("Bold;;", "Bold;;checked")
        .replace("Case;;unchecked", "Case;;checked")
        .replace("Name;A1", "Name;")
        .replace("once more", "twice")
        .replace(";;50", ";;70");
    let before = list(before);
    insta::assert_snapshot!(element_changes::write(&before, &list(&after).after(&before)).expect("few"), @r#"
    in window "w" #n1:
    ~ button: "Undo" #n2 (was disabled) | "Bold" [checked] #n3 (was not checked)
    ~ checkbox "Case" [checked] #n4 (was unchecked)
    ~ textbox "Name" #n5 (was "A1")
    ~ textbox "Text" = "A sentence that is far too long to be told twice" #n6 ("once more" became "twice")
    ~ slider "Size" = "3" @20,75 #n12 (was elsewhere)
    "#);
}

#[test]
fn a_selection_of_many_is_one_sentence_and_one_with_gaps_stays_with_its_cells() {
    let sheet = |selected: &dyn Fn(usize, usize) -> bool| -> String {
        let cell = |row: usize, column: usize| {
            let letter = ["A", "B", "C"][column];
            let state = if selected(row, column) { "selected" } else { "" };
            format!("   cell;{letter}{row};v{row};{state};{}\n", row * 10)
        };
        let cells: String = (1..=40).flat_map(|row| (0..3).map(move |column| cell(row, column))).collect();
        format!("\napplication;calc\n window;w;;active\n  table;Sheet1\n{cells}")
    };
    let column = list(&sheet(&|_, column| column == 1)).write(9000);
    assert!(
        column.contains("[selected: B1 to B40] [on the screen: A1 to C40; not listed: rows 13 to 39;"),
        "{column}"
    );
    assert!(!column.contains("[selected]") && column.contains("\"A40\""), "its ends are listed: {column}");
    let gaps = list(&sheet(&|row, column| column == 1 && row % 2 == 0 && row < 13)).write(9000);
    assert_eq!(gaps.matches("[selected]").count(), 6, "{gaps}");
    let text = "\napplication;writer\n window;w;;active\n  document;d\n";
    let lines = |range: std::ops::RangeInclusive<u32>, state: &str| -> String {
        range.map(|line| format!("   paragraph;;line {line};{state}\n")).collect()
    };
    let all = list(&format!("{text}{}", lines(1..=9, "selected"))).write(9000);
    assert!(all.contains("[selected: all of the 9]") && !all.contains("[selected]"), "{all}");
    let some = list(&format!("{text}{}{}", lines(1..=5, "selected"), lines(6..=9, ""))).write(9000);
    assert!(some.contains("[selected: 5, from \"line 1\" to \"line 5\"]"), "{some}");
}

#[test]
fn a_cell_that_was_emptied_is_told_and_a_text_that_went_is_gone() {
    let sheet = wide_sheet();
    let before = list(&sheet);
    let after = |text: &str| list(text).after(&before);
    let emptied =
        element_changes::write(&before, &after(&sheet.replace("A2;Ott;", "A2;;"))).expect("few changes");
    assert_eq!(emptied, "~ empty now: cell \"A2\" #n19\n");
    let silent =
        element_changes::write(&before, &after(&sheet.replace("text;;Saved", "text;;"))).expect("few");
    assert!(silent.starts_with("- status #n"), "{silent}");
}

#[test]
fn a_window_without_a_name_is_listed_for_what_it_holds_or_if_it_is_in_front() {
    let windows = "
application;Chromium
 window;Prices;;active
  button;Reload
 window
 window
  button;Restore
";
    let told = list(windows).write(10_000);
    assert_eq!(told.matches("window").count(), 2, "{told}");
    assert!(told.contains("Restore"), "{told}");
    let alone = list("application;draw\n window;;;active").write(10_000);
    assert!(alone.contains("window [active]"), "{alone}");
}
