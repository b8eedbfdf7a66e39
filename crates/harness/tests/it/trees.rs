//! Interface trees of real programs: what a person sees stands in them, and a look costs little.
#![expect(clippy::print_stdout, reason = "numbers, and what is skipped, are said")]

use std::path::Path;

use apprentice_protocol::{
    Clock, Command, HiddenNodes, Observation, Size, State, TreeBudget, UiNode, UiTree, Want, World,
};
use apprentice_sandbox::SystemClock;

use crate::cell::{shell, state};
use crate::desktop::{click, close, deliver, id, key, open, open_on, text, until_within};

/// How often a look is timed.
const LOOKS: usize = 20;

pub(crate) fn is_installed(program: &str) -> bool {
    ["/usr/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(program).is_file())
}

/// A program with something in it.
pub(crate) struct Scene {
    name: &'static str,
    prepare: &'static str,
    argv: &'static [&'static str],
    title: &'static str,
    /// Text that its tree holds once it is ready.
    shows: &'static str,
}

pub(crate) const CALC: Scene = Scene {
    name: "calc",
    prepare: "i=1; while [ $i -le 60 ]; do echo \"item $i,$((i * 3)),$((i * i)),note $i\"; i=$((i + 1)); done >list.csv",
    argv: &["localc", "--norestore", "--nologo", "--infilter=CSV:44,34,76,1", "list.csv"],
    title: "list.csv",
    shows: "item 7",
};
pub(crate) const WRITER: Scene = Scene {
    name: "writer",
    prepare: "i=1; while [ $i -le 80 ]; do echo \"Paragraph $i tells of this and that.\"; i=$((i + 1)); done >letter.txt",
    argv: &["lowriter", "--norestore", "--nologo", "letter.txt"],
    title: "letter.txt",
    shows: "Paragraph 7 tells",
};
const THUNAR: Scene = Scene {
    name: "thunar with 1000 files",
    prepare: "mkdir -p many && cd many && i=1000; while [ $i -lt 2000 ]; do : >file-$i.txt; i=$((i + 1)); done; \
              xfconf-query -c thunar -n -t string -p /default-view -s ThunarDetailsView",
    argv: &["thunar", "/home/user/many"],
    title: "many",
    shows: "file-1007.txt",
};
const FEATHERPAD: Scene = Scene {
    name: "featherpad",
    prepare: "i=1; while [ $i -le 300 ]; do echo \"line $i\"; i=$((i + 1)); done >lines.txt",
    argv: &["featherpad", "lines.txt"],
    title: "lines.txt",
    shows: "line 7",
};
const EDITOR: Scene = Scene {
    name: "mousepad",
    prepare: "echo a line >page.txt",
    argv: &["mousepad", "page.txt"],
    title: "page.txt",
    shows: "a line",
};
const PAGE: Scene = Scene {
    name: "a table on a page",
    prepare: "echo '<title>Stock</title><table border=1><tr><th>Tool<th>Number<th>Sale\
              <tr><td>rake<td>Only <input aria-label=Count value=7> left<td>of 9 <button>Sell</button></table>' \
              >stock.html",
    argv: &["chromium", "--no-first-run", "--force-renderer-accessibility", "stock.html"],
    title: "Stock",
    shows: "rake",
};
pub(crate) const GIMP: Scene =
    Scene { name: "gimp", prepare: "", argv: &["gimp", "--no-splash"], title: "GNU Image", shows: "File" };

impl Scene {
    /// Starts it in a world; none if the program is not installed.
    pub(crate) async fn stand(&self, state: &Path) -> Option<World> {
        self.stand_in(open(state).await).await
    }

    /// Starts it in this world.
    async fn stand_in(&self, mut world: World) -> Option<World> {
        if !is_installed(self.argv[0]) {
            println!("skipped: {} is not installed", self.argv[0]);
            close(world).await;
            return None;
        }
        shell(&*world.machine, if self.prepare.is_empty() { "true" } else { self.prepare }).await;
        world.machine.launch(&Command::new(self.argv.iter().copied())).await.expect("launched");
        self.settled(&mut world).await;
        Some(world)
    }

    async fn settled(&self, world: &mut World) -> Observation {
        let ready = |seen: &Observation| {
            seen.windows.iter().any(|window| window.title.contains(self.title))
                && seen.tree.as_ref().is_some_and(|tree| says(tree, self.shows))
        };
        until(world, self.name, ready).await
    }
}

/// Looks, as an agent does, until something holds.
async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    until_within(world, TreeBudget::default(), what, holds).await
}

/// Whether some element that shows has this text as its name or in its value.
fn says(tree: &UiTree, text: &str) -> bool {
    let mut shown = tree.nodes.iter().filter(|node| !node.is(State::Hidden));
    shown.any(|node| {
        node.name.contains(text) || node.value.as_deref().is_some_and(|value| value.contains(text))
    })
}

fn shows(text: &'static str) -> impl Fn(&Observation) -> bool {
    move |seen| seen.tree.as_ref().is_some_and(|tree| says(tree, text))
}

#[tokio::test]
async fn a_spreadsheets_cells_are_read_and_clicked() {
    let state = state();
    let Some(mut world) = CALC.stand(state.path()).await else { return };
    let seen = CALC.settled(&mut world).await;
    assert!(!shows("Save As")(&seen), "items of closed menus do not show");
    for cell in ["note 7", "item 20", "361"] {
        assert!(shows(cell)(&seen), "{cell}");
    }
    deliver(&mut world, click(id(&seen, "cell", "B3"))).await;
    deliver(&mut world, text("4711\n")).await;
    let cell = |seen: &Observation| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| node.name == "B3" && node.value.as_deref() == Some("4711"))
    };
    until(&mut world, "the cell that was typed into", cell).await;
    // What lies further down is seen once it is on the screen.
    deliver(&mut world, key("ctrl+end")).await;
    until(&mut world, "the last row", shows("item 60")).await;
    close(world).await;
}

/// Looks of an agent, one of which must say what a tree says of which each node is asked. Programs may go on between the
/// two, and what was wrongly taken for unchanged stays wrong however often one looks.
async fn agrees(world: &mut World, after: &str) {
    let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
    let lines = |tree: &UiTree| -> Vec<String> {
        // What nobody lists is added to a view alone, and moves the numbers of parents.
        let told = tree.nodes.iter().zip(tree.depths()).filter(|(node, _)| node.role.as_str() != "canvas");
        told.map(|(node, depth)| format!("{depth} {:?}", UiNode { parent: None, ..node.clone() })).collect()
    };
    let (mut stale, mut now) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let seen = world.environment.observe(want).await.expect("the world stands").tree.expect("a tree");
        let whole = world.machine.tree(&TreeBudget::default()).await.expect("a tree");
        let (seen, whole) = (lines(&seen), lines(&whole));
        if seen == whole {
            return;
        }
        stale = seen.iter().filter(|line| !whole.contains(line)).cloned().collect();
        now = whole.into_iter().filter(|line| !seen.contains(line)).collect();
    }
    panic!("after {after}, a view says what is no longer so: {stale:#?} instead of {now:#?}");
}

#[tokio::test]
async fn a_sheet_of_a_large_screen_is_read_whole_and_not_asked_again() {
    let state = state();
    let world = open_on(state.path(), Size::new(1920, 1080)).await;
    let Some(mut world) = CALC.stand_in(world).await else { return };
    for (number, act) in
        [key("ctrl+Home"), key("Down"), text("4711\n"), key("alt+Right")].into_iter().enumerate()
    {
        deliver(&mut world, act.clone()).await;
        agrees(&mut world, &format!("act {number}, {act:?}")).await;
    }
    let whole = world.machine.tree(&TreeBudget::default()).await.expect("a tree");
    let cells = whole.nodes.iter().filter(|node| node.role.as_str() == "cell").count();
    assert!(cells > 1000 && whole.truncated.is_none(), "{cells} cells, {:?}", whole.truncated);
    close(world).await;
}

#[tokio::test]
async fn what_a_view_does_not_ask_again_is_as_it_was_in_a_spreadsheet() {
    let state = state();
    let Some(mut world) = CALC.stand(state.path()).await else { return };
    let acts = [
        // A formula elsewhere changes with the cell that is typed into.
        key("ctrl+Home"),
        text("\t\t\t\t=B2*2\n"),
        key("ctrl+Home"),
        key("Down"),
        key("Right"),
        text("4711\n"),
        // Rows go and come back.
        key("shift+space"),
        key("ctrl+minus"),
        key("ctrl+z"),
        key("ctrl+z"),
        key("ctrl+y"),
        // Another part of the sheet, wider columns, an attribute that a button shows.
        key("Page_Down"),
        key("ctrl+b"),
        key("alt+Right"),
        key("ctrl+End"),
        key("ctrl+Home"),
        // A new sheet, and back.
        key("shift+F11"),
        key("Return"),
        text("elsewhere\n"),
        key("ctrl+Page_Up"),
        key("ctrl+Page_Down"),
        // A window that stands before the cells, and changes those behind it.
        key("ctrl+Page_Up"),
        key("ctrl+h"),
        text("item"),
        key("Tab"),
        key("Escape"),
        key("alt+o"),
        key("Escape"),
        key("Escape"),
    ];
    for (number, act) in acts.into_iter().enumerate() {
        deliver(&mut world, act.clone()).await;
        agrees(&mut world, &format!("act {number}, {act:?}")).await;
    }
    close(world).await;
}

#[tokio::test]
async fn a_letters_paragraphs_tell_their_text() {
    let state = state();
    let Some(mut world) = WRITER.stand(state.path()).await else { return };
    deliver(&mut world, key("ctrl+home")).await;
    deliver(&mut world, text("Dear reader, ")).await;
    until(&mut world, "what was typed", shows("Dear reader, Paragraph 1 tells")).await;
    deliver(&mut world, key("ctrl+end")).await;
    until(&mut world, "the end", shows("Paragraph 80 tells")).await;
    close(world).await;
}

#[tokio::test]
async fn of_a_long_list_the_rows_on_the_screen_are_read() {
    let state = state();
    let Some(mut world) = THUNAR.stand(state.path()).await else { return };
    let seen = THUNAR.settled(&mut world).await;
    assert!(!shows("file-1999.txt")(&seen), "what is far below is not on the screen");
    let nodes = seen.tree.as_ref().map_or(0, |tree| tree.nodes.len());
    assert!(nodes < 1000, "{nodes} elements");
    let far = id(&seen, "cell", "file-1003.txt");
    deliver(&mut world, click(far.clone())).await;
    deliver(&mut world, key("end")).await;
    let seen = until(&mut world, "the end of the list", shows("file-1999.txt")).await;
    assert!(!shows("file-1000.txt")(&seen));
    // A reference to a row that is out of view brings it back.
    deliver(&mut world, click(far)).await;
    let selected = |seen: &Observation| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| node.name == "file-1003.txt" && node.is(State::Selected) && node.bounds.is_some())
    };
    until(&mut world, "the row that was out of view", selected).await;
    close(world).await;
}

#[tokio::test]
async fn what_stands_in_the_cells_of_a_page_is_read() {
    let state = state();
    let Some(mut world) = PAGE.stand(state.path()).await else { return };
    let seen = until(&mut world, "the button in a cell", shows("Sell")).await;
    deliver(&mut world, click(id(&seen, "textbox", "Count"))).await;
    deliver(&mut world, key("ctrl+a")).await;
    deliver(&mut world, text("12")).await;
    let typed = |seen: &Observation| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.any(|node| node.name == "Count" && node.value.as_deref() == Some("12"))
    };
    until(&mut world, "what was typed into a cell", typed).await;
    close(world).await;
}

#[tokio::test]
async fn menus_of_an_older_toolkit_are_read_while_they_are_open() {
    let state = state();
    let Some(mut world) = GIMP.stand(state.path()).await else { return };
    let seen = GIMP.settled(&mut world).await;
    assert!(!shows("Quit")(&seen), "a closed menu's items do not show");
    deliver(&mut world, click(id(&seen, "menuitem", "File"))).await;
    let seen = until(&mut world, "the open menu", shows("Quit")).await;
    deliver(&mut world, click(id(&seen, "menuitem", "Create"))).await;
    until(&mut world, "the open submenu", shows("From Clipboard")).await;
    close(world).await;
}

#[tokio::test]
async fn what_does_not_show_is_read_where_it_is_asked_for() {
    let state = state();
    let Some(mut world) = EDITOR.stand(state.path()).await else { return };
    let seen = EDITOR.settled(&mut world).await;
    assert!(!seen.tree.as_ref().is_some_and(|tree| says(tree, "Save As...")));
    let budget = TreeBudget { hidden: HiddenNodes::Read, ..TreeBudget::default() };
    let tree = world.machine.tree(&budget).await.expect("a tree");
    let item = tree.nodes.iter().find(|node| node.name == "Save As...");
    assert!(item.is_some_and(|item| item.is(State::Hidden)), "the item of a closed menu");
    close(world).await;
}

/// Prints medians of what a look costs at full programs; run by name, with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_looks_at_full_programs_cost() {
    let clock = SystemClock::new();
    for scene in [CALC, WRITER, THUNAR, FEATHERPAD, GIMP] {
        let state = state();
        println!("{}", scene.name);
        let Some(world) = scene.stand(state.path()).await else { continue };
        let mut times = Vec::new();
        let mut tree = UiTree::default();
        for _ in 0..LOOKS {
            let begun = clock.mono();
            tree = world.machine.tree(&TreeBudget::default()).await.expect("a tree");
            times.push(clock.mono() - begun);
        }
        times.sort();
        let shown = tree.nodes.iter().filter(|node| !node.is(State::Hidden)).count();
        println!(
            "{}: {:?} (slowest {:?}), {} elements, {shown} of them showing, {:?}",
            scene.name,
            times.get(times.len() / 2).copied().unwrap_or_default(),
            times.last().copied().unwrap_or_default(),
            tree.nodes.len(),
            tree.truncated
        );
        close(world).await;
    }
}

/// A reading of the bus by its own library, in the form of the suite's server.
const READER: &str = include_str!("../../../cli/tests/machine/server.py");

/// A document's elements in order: depth, tag, attributes, and the text before the first child.
type Element = (usize, String, std::collections::BTreeMap<String, String>, String);

fn elements(document: &str) -> Vec<Element> {
    let document = roxmltree::Document::parse(document).expect("XML");
    let told = document.descendants().filter(roxmltree::Node::is_element).map(|node| {
        let attributes = node.attributes().map(|attribute| {
            let kind = attribute.namespace().and_then(|space| space.rsplit('/').next()).unwrap_or_default();
            (format!("{kind}:{}", attribute.name()), attribute.value().to_owned())
        });
        let text = node.text().unwrap_or_default().to_owned();
        (node.ancestors().count(), node.tag_name().name().to_owned(), attributes.collect(), text)
    });
    told.collect()
}

#[tokio::test]
async fn a_document_says_of_every_element_what_the_bus_own_library_says() {
    for scene in [EDITOR, PAGE] {
        let state = state();
        let Some(world) = scene.stand(state.path()).await else { continue };
        let machine = &*world.machine;
        let asked = Command::shell("python3 -c 'import gi; gi.require_version(\"Atspi\", \"2.0\")'");
        if machine.run(&asked).await.map_or(1, |output| output.code) != 0 {
            println!("skipped: python3-gi or gir1.2-atspi-2.0 is not installed");
            return close(world).await;
        }
        machine.write("/tmp/reader.py", READER.as_bytes()).await.expect("written");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // Both are read one after the other, and a program may change meanwhile.
        for _ in 0..5 {
            let document = machine.tree_document().await.expect("read").expect("a document");
            let read = shell(machine, "python3 /tmp/reader.py tree").await;
            (ours, theirs) = (elements(&document), elements(&read));
            // The one thing that is told in another way.
            for (_, tag, attributes, _) in &mut theirs {
                if let Some(name) =
                    attributes.get_mut(":name").filter(|_| tag == "application" || tag == "frame")
                {
                    *name = name.replace("Chromium", "Google Chrome");
                }
            }
            if ours == theirs {
                break;
            }
        }
        let differs = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!(differs, None, "{}", scene.name);
        assert_eq!(ours.len(), theirs.len(), "{}", scene.name);
        assert!(ours.len() > 30, "{}: {} elements", scene.name, ours.len());
        println!("{}: {} elements are told alike", scene.name, ours.len());
        close(world).await;
    }
}

#[tokio::test]
async fn a_key_that_opens_a_window_is_never_said_to_change_nothing() {
    let state = state();
    let Some(mut world) = EDITOR.stand(state.path()).await else { return };
    for chord in ["ctrl+o", "escape", "ctrl+o", "escape"] {
        deliver(&mut world, key(chord)).await;
        let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
        let seen = world.environment.observe(want).await.expect("a view");
        let opened = seen.windows.iter().any(|window| window.title.contains("Open"));
        assert!(!(opened == (chord == "ctrl+o") && seen.nothing_drawn), "{chord}");
    }
    close(world).await;
}
