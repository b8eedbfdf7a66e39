//! What is on the screen of a page is in the list that a model gets, before anything that is not.

use apprentice_harness::agent::{ViewTexts, view_text};
use apprentice_protocol::{FieldValue, State, Target, TruncationCause, View};

use crate::desk::{Act, Desk, SCREEN, key};

impl Desk {
    async fn list(&mut self) -> String {
        let tree = self.look().await.tree.expect("a tree");
        view_text(None, &tree, &View::whole(SCREEN))
    }
}

#[tokio::test]
async fn the_options_of_closed_lists_are_counted_and_a_form_is_listed_whole() {
    let mut desk = Desk::open().await;
    let options: String = (0..249).map(|number| format!("<option>Land of number {number}")).collect();
    desk.show(
        "form",
        &format!(
            "<h1>Checkout</h1><label>Name <input></label> <label>Country <select>{options}</select></label>
             <label>Size <select><option>Small<option>Large</select></label> <label>Mail <input></label>
             <label><input type=checkbox> I accept</label> <button>Place order</button>"
        ),
    )
    .await;
    let list = desk.list().await;
    assert!(list.contains("[249 options, from \"Land of number 0\" to \"Land of number 248\""), "{list}");
    assert!(list.contains("[options: Small | Large]"), "{list}");
    for part in
        ["heading \"Checkout\"", "textbox \"Mail\"", "checkbox \"I accept\"", "button \"Place order\""]
    {
        assert!(list.contains(part), "{part} in {list}");
    }
    assert!(!list.contains("off the screen") && !list.contains("do not fit"), "{list}");
    assert!(list.chars().count() < 900, "{list}");
    desk.close().await;
}

fn table(rows: usize) -> String {
    let row = |number: usize| {
        format!(
            "<tr><td>{}<td>Customer {number}<td>{} EUR<td><button>Cancel</button> <a href='#o{number}'>Open</a>",
            1000 + number,
            number * 13
        )
    };
    (1..=rows).map(row).collect()
}

#[tokio::test]
async fn rows_on_the_screen_are_listed_and_their_buttons_say_whose_they_are() {
    let mut desk = Desk::open().await;
    desk.show("table", &format!("<h1>Orders</h1><table>{}</table><p>the end", table(100))).await;
    let list = desk.list().await;
    assert!(list.contains("\"1020\"") && list.contains("button \"Cancel\" of \"1020\""), "{list}");
    assert!(
        list.contains("[off the screen and not listed: ") && list.contains("find or page_text"),
        "{list}"
    );
    let mut views = ViewTexts::default();
    let view = View::whole(SCREEN);
    views.next(&desk.look().await.tree.expect("a tree"), &view);
    desk.delivered(key("End")).await;
    let changed = views.next(&desk.look().await.tree.expect("a tree"), &view);
    assert!(changed.contains("\"1100\"") && changed.contains("button \"Cancel\" of \"1100\""), "{changed}");
    assert!(changed.matches("(off the screen)").count() < 90, "{changed}");
    let again = desk.list().await;
    assert!(again.contains("\"1099\"") && again.contains(" above"), "{again}");
    desk.close().await;
}

#[tokio::test]
async fn of_a_page_of_many_thousand_elements_the_screen_is_listed() {
    let mut desk = Desk::open().await;
    desk.show("big", &format!("<table>{}</table><p>the end", table(900))).await;
    for (chord, shown) in [("Home", "1005"), ("End", "1899")] {
        desk.delivered(key(chord)).await;
        let tree = desk.look().await.tree.expect("a tree");
        assert!(tree.truncated.is_some_and(|why| why != TruncationCause::Depth), "{:?}", tree.truncated);
        assert!(tree.nodes.len() > 100, "{}", tree.nodes.len());
        let list = view_text(None, &tree, &View::whole(SCREEN));
        assert!(list.contains(&format!("button \"Cancel\" of {shown:?}")), "{chord}: {list}");
    }
    desk.close().await;
}

#[tokio::test]
async fn what_scrolls_away_within_a_page_is_not_said_to_be_on_the_screen() {
    let mut desk = Desk::open().await;
    let posts: String =
        (1..=60).map(|number| format!("<p><a href='#p{number}'>Post {number}</a></p>")).collect();
    desk.show(
        "pane",
        &format!(
            "<h1>Feed</h1><div id=pane style='height:300px;overflow:auto'>{posts}</div><button>Below</button>"
        ),
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let of = |name: &str| tree.nodes.iter().find(|node| node.name == name).expect("read").bounds;
    assert!(of("Post 2").is_some() && of("Post 40").is_none(), "{:?}", of("Post 40"));
    let list = desk.list().await;
    assert!(list.find("button \"Below\"").is_some() && list.contains("\"Post 3\""), "{list}");
    let line = list.lines().find(|line| line.contains("\"Post 40\""));
    assert!(line.is_none_or(|line| line.contains("off the screen")), "{line:?}");
    // Without a place, the wheel turns over what scrolls.
    desk.delivered(Act::Scroll { at: None, dx: 0, dy: 5 }).await;
    let tree = desk.look().await.tree.expect("a tree");
    assert!(tree.nodes.iter().any(|node| node.name == "Post 15" && node.bounds.is_some()));
    desk.close().await;
}

#[tokio::test]
async fn nameless_things_that_hear_clicks_are_listed_and_areas_that_draw_are_named() {
    let mut desk = Desk::open().await;
    desk.show(
        "icons",
        "<style>.i{width:30px;height:30px;background:#36c;display:inline-block}</style><title>icons</title>
         <div class=i onclick='document.title=`div`'></div> <span class=i id=l></span> <div class=i title='Delete row' onclick='document.title=`title`'></div>
         <div onclick='document.title=`card`'>Plain card</div> <canvas width=300 height=100></canvas>
         <p><span onclick='0' style='cursor:col-resize;display:inline-block;width:6px;height:30px'></span></p>
         <script>l.addEventListener('click', () => { document.title = 'listener'; });</script>",
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let bare: Vec<_> = tree.nodes.iter().filter(|node| node.role.as_str() == "clickable").collect();
    let names: Vec<&str> = bare.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["", "", "Delete row"], "{tree:#?}");
    let list = desk.list().await;
    assert!(list.contains("clickable \"Delete row\" @"), "{list}");
    assert!(list.contains("canvas @") && list.contains("300 by 100"), "{list}");
    for (index, told) in [(0, "div"), (1, "listener"), (2, "title")] {
        desk.delivered(crate::desk::click(&bare[index].id)).await;
        assert_eq!(desk.title().await, told);
    }
    assert!(!tree.nodes.iter().any(|node| node.is(State::Hidden)));
    desk.close().await;
}

#[tokio::test]
async fn what_is_edited_in_place_is_a_field_whatever_its_page_calls_it() {
    let mut desk = Desk::open().await;
    desk.show(
        "edited",
        "<div contenteditable oninput='document.title=this.innerText'><p>Old words</p></div>
         <iframe srcdoc='<body contenteditable>Within</body>'></iframe>",
    )
    .await;
    let list = desk.list().await;
    assert!(list.contains("textbox = \"Old words\"") && list.contains("textbox = \"Within\""), "{list}");
    let field = desk.node("textbox", "").await.id;
    let value = FieldValue::Text("New words".into());
    desk.delivered(Act::Fill { at: Target::Ref(field), value }).await;
    assert_eq!(desk.title().await, "New words");
    desk.close().await;
}

#[tokio::test]
async fn rows_that_are_named_by_their_cells_list_the_cells() {
    let mut desk = Desk::open().await;
    let row = |name: &str, count: u32| {
        format!(
            "<div role=row style='display:flex'><div role=gridcell tabindex=-1 onclick='document.title=`{name}`'>{name}</div><div role=gridcell tabindex=-1>{count}</div></div>"
        )
    };
    let rows: String = [("Ann", 1), ("Ben", 2), ("Cleo", 3)].map(|(name, count)| row(name, count)).concat();
    desk.show("grid", &format!("<div role=treegrid><div role=rowgroup>{rows}</div></div>")).await;
    let tree = desk.look().await.tree.expect("a tree");
    assert!(tree.nodes.iter().any(|node| node.role.as_str() == "row" && node.name == "Ben 2"), "{tree:#?}");
    let list = desk.list().await;
    for cell in ["\"Ann\" #", "\"Ben\" #", "\"2\" #", "\"Cleo\" #"] {
        assert!(list.contains(cell), "{cell} in {list}");
    }
    assert!(list.chars().count() < 250, "{list}");
    desk.click("cell", "Ben").await;
    assert_eq!(desk.title().await, "Ben");
    desk.close().await;
}

#[tokio::test]
async fn what_an_editor_draws_for_its_hidden_field_is_what_the_field_shows() {
    let mut desk = Desk::open().await;
    desk.show(
        "drawn",
        "<div style='position:relative;width:300px;height:80px;overflow:hidden;font:14px monospace'>
         <textarea aria-label=Body style='position:absolute;left:-9999px;width:0;height:0;padding:0;border:0'></textarea>
         <div aria-hidden=true>
           <div style='position:absolute;top:40px;left:30px'>let b = 2;</div><div style='position:absolute;top:40px'>2</div>
           <div style='position:absolute;top:20px;left:30px'>let <b>a</b> = 1;</div><div style='position:absolute;top:20px'>1</div>
           <div style='position:absolute;top:400px'>below</div></div></div>",
    )
    .await;
    let list = desk.list().await;
    assert!(list.contains(r#"textbox "Body" = "1  let a = 1;\n2  let b = 2;""#), "{list}");
    desk.close().await;
}
