//! What a model is told of office programs and GIMP: views that are true, small, and say what was there before.

use apprentice_harness::agent::ViewTexts;
use apprentice_protocol::{Observation, Size, State, TreeBudget, View, World};

use crate::cell::state;
use crate::desktop::{click, close, deliver, id, key, text, until_within};
use crate::trees::{CALC, GIMP, WRITER};

/// A world, and the texts about its elements as a model got them.
struct Reader {
    world: World,
    texts: ViewTexts,
}

impl Reader {
    fn of(world: World) -> Self {
        Self { world, texts: ViewTexts::default() }
    }

    /// Waits until something shows, and tells of it.
    async fn told(&mut self, what: &str, holds: impl Fn(&Observation) -> bool) -> (Observation, String) {
        let seen = until_within(&mut self.world, TreeBudget::default(), what, holds).await;
        let tree = seen.tree.as_ref().expect("a tree");
        let text = self.texts.next(tree, &View::whole(Size::new(1280, 800)));
        (seen, text)
    }

    async fn press(&mut self, chord: &str) {
        deliver(&mut self.world, key(chord)).await;
    }
}

fn has(role: &'static str, name: &'static str, value: &'static str) -> impl Fn(&Observation) -> bool {
    move |seen| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| {
            node.role.as_str() == role
                && node.name.contains(name)
                && node.value.as_deref().unwrap_or_default().contains(value)
                && !node.is(State::Hidden)
        })
    }
}

fn is_in_front(title: &'static str) -> impl Fn(&Observation) -> bool {
    move |seen| seen.title().contains(title)
}

fn written(path: &'static str) -> impl Fn(&Observation) -> bool {
    move |seen| {
        seen.remarks
            .iter()
            .any(|remark| remark == &format!("The file {path} was written since the last view."))
    }
}

#[tokio::test]
async fn a_sheet_tells_its_part_on_the_screen_its_formulas_and_what_is_typed() {
    let state = state();
    let Some(world) = CALC.stand(state.path()).await else { return };
    let mut reader = Reader::of(world);
    reader.press("ctrl+Home").await;
    let (seen, first) = reader.told("the last row on the screen", has("cell", "A3", "item 3")).await;
    // The list names the last row that the tree holds, and the tree holds each that the screen shows.
    let table = seen.tree.as_ref().expect("a tree").nodes.iter().find(|node| node.role.as_str() == "table");
    let bottom =
        table.and_then(|table| table.bounds).map(|bounds| bounds.y + bounds.height).expect("a table");
    let rows = seen.tree.iter().flat_map(|tree| &tree.nodes).filter(|node| node.role.as_str() == "cell");
    let lowest = rows.filter_map(|cell| Some((cell.bounds?.y + cell.bounds?.height, &cell.name))).max();
    let (edge, last) = lowest.expect("cells");
    assert!(edge + 20 > bottom, "{last} ends at {edge}, and the sheet at {bottom}");
    let row: u32 = last.trim_start_matches(char::is_alphabetic).parse().expect("a row");
    assert!(
        first.contains("[on the screen: A1 to") && first.contains(&format!("rows 13 to {row};")),
        "{first}"
    );

    deliver(&mut reader.world, text("=B1*2")).await;
    let (_, typing) = reader.told("what is typed", has("paragraph", "", "=B1*2")).await;
    assert!(typing.contains("\"Input line\" = \"=B1*2\"") && typing.contains("(was \"item 1\")"), "{typing}");
    assert!(!typing.contains("empty") && !typing.contains("\"B1\""), "no cell was emptied: {typing}");
    reader.press("Return").await;
    reader.press("Up").await;
    let (_, entered) = reader.told("the result", has("cell", "A1", "6")).await;
    assert!(entered.contains("cell \"A1\" = \"6\" formula \"=B1*2\""), "{entered}");
    assert!(entered.chars().count() < 700, "{entered}");

    reader.press("ctrl+space").await;
    let (_, column) = reader.told("the selection", has("textbox", "", "A1:A")).await;
    assert!(column.contains("[selected: A1 to A") && !column.contains("[selected]"), "{column}");
    close(reader.world).await;
}

#[tokio::test]
async fn a_saved_sheet_is_told_and_what_was_behind_the_question_is_not_listed_again() {
    let state = state();
    let Some(world) = CALC.stand(state.path()).await else { return };
    let mut reader = Reader::of(world);
    reader.press("ctrl+Home").await;
    deliver(&mut reader.world, text("4711\n")).await;
    let (seen, first) = reader.told("what was typed", has("cell", "A1", "4711")).await;
    assert!(seen.remarks.iter().all(|remark| !remark.contains("written")), "{:?}", seen.remarks);
    reader.press("ctrl+s").await;
    let (_, question) = reader.told("the question", is_in_front("Confirm File Format")).await;
    assert!(question.contains("[not in front: its ") && !question.contains("\"Bold\""), "{question}");
    reader.press("Return").await;
    let (seen, back) = reader.told("the file", written("/home/user/list.csv")).await;
    assert_eq!(seen.title(), "list.csv - LibreOffice Calc");
    assert!(back.contains("- alert \"Question\"") && back.contains("[in front again: "), "{back}");
    assert!(back.chars().count() * 3 < first.chars().count(), "only what changed: {back}");
    close(reader.world).await;
}

#[tokio::test]
async fn a_letter_tells_its_bold_words_and_a_dialog_takes_nothing_away() {
    let state = state();
    let Some(world) = WRITER.stand(state.path()).await else { return };
    let mut reader = Reader::of(world);
    reader.press("ctrl+Home").await;
    reader.told("the letter", has("paragraph", "", "Paragraph 1 tells")).await;
    for chord in ["ctrl+Right", "ctrl+shift+Right", "ctrl+shift+Right", "ctrl+b"] {
        reader.press(chord).await;
    }
    let is_bold = |seen: &Observation| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| node.details.iter().any(|detail| detail.text == "1 tells"))
    };
    let (_, bold) = reader.told("bold words", is_bold).await;
    let expected = "= \"Paragraph 1 tells of this and that.\" bold \"1 tells\" selected text \"1 tells ";
    assert!(bold.contains(expected) && bold.contains("(was without bold, "), "{bold}");
    reader.press("End").await;
    let (_, end) = reader.told("no selection", has("button", "Cut", "")).await;
    assert!(end.contains("\"Cut\" [disabled]"), "{end}");
    reader.press("ctrl+h").await;
    let (_, dialog) = reader.told("the dialog", is_in_front("Find and Replace")).await;
    assert!(!dialog.contains("\n- "), "nothing is gone: {dialog}");
    assert!(dialog.contains("more elements of this window are not listed: they are behind"), "{dialog}");
    reader.press("Escape").await;
    let (_, closed) = reader.told("the letter", is_in_front("letter.txt")).await;
    assert!(closed.contains("- dialog \"Find and Replace\"") && !closed.contains("\"Cut\""), "{closed}");
    close(reader.world).await;
}

#[tokio::test]
async fn a_menu_of_an_older_toolkit_that_was_closed_again_is_told_as_closed() {
    let state = state();
    let Some(world) = GIMP.stand(state.path()).await else { return };
    let mut reader = Reader::of(world);
    let (seen, _) = reader.told("the window", has("menuitem", "File", "")).await;
    deliver(&mut reader.world, click(id(&seen, "menuitem", "File"))).await;
    let (_, open) = reader.told("the menu", has("menuitem", "Quit", "")).await;
    assert!(open.contains("expanded") && open.contains("\"Quit\""), "{open}");
    reader.press("Escape").await;
    let is_closed = |seen: &Observation| !has("menuitem", "Quit", "")(seen);
    let (seen, closed) = reader.told("the closed menu", is_closed).await;
    assert!(
        closed.contains("\"File\"") && closed.contains("(was ") && closed.contains("items of a closed menu"),
        "{closed}"
    );
    let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
    assert!(!nodes.any(|node| node.role.as_str() == "menuitem" && node.is(State::Expanded)));
    close(reader.world).await;
}
