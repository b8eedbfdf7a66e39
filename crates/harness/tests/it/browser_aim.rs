//! What is hit is what was meant: in frames, behind what covers them, in reused rows, and where a thing has no box of its own.

use apprentice_harness::agent::view_text;
use apprentice_protocol::{Button, Command, FieldValue, NodeRef, ScreenPoint, Target, View};

use crate::desk::{Act, Desk, HOME, SCREEN, click};

fn named(nodes: &[apprentice_protocol::UiNode], role: &str, name: &str) -> Vec<NodeRef> {
    let found = nodes.iter().filter(|node| node.role.as_str() == role && node.name == name);
    found.map(|node| node.id.clone()).collect()
}

/// A site of these pages, which is reached by two names, so that frames get a process of their own.
async fn serve(desk: &mut Desk, pages: &[(&str, &str)]) {
    for (name, body) in pages {
        let html = format!("<!doctype html><meta charset=utf-8>{body}");
        desk.machine.write(&format!("{HOME}/site/{name}.html"), html.as_bytes()).await.expect("written");
    }
    let server = Command::new(["/run/supervisor", "web", "8080", "/home/user/site"]);
    let mut server = desk.machine.spawn(&server).await.expect("a server");
    assert_eq!(server.read().await.expect("its word"), b"ready\n");
    // It lives as long as the desk.
    std::mem::forget(server);
}

const INNER: &str =
    "<div style='height:90px'></div><button onclick='parent.postMessage(`pressed`,`*`)'>Press</button>
    <label>Field <input oninput='parent.postMessage(this.value,`*`)'></label>
    <select aria-label=List onchange='parent.postMessage(this.value,`*`)'><option>one<option>two</select>
    <div style='height:900px'></div><button onclick='parent.postMessage(`deep`,`*`)'>Deep</button>";
const HEARS: &str = "<script>onmessage=e=>document.title=e.data</script>";

#[tokio::test]
async fn elements_of_scaled_zoomed_and_turned_frames_are_hit_where_they_are_drawn() {
    let mut desk = Desk::open().await;
    let frame = |style: &str, host: &str| {
        format!(
            "<title>outer</title><p>words</p><div style='{style}'><iframe src='{host}inner.html' style='width:600px;height:300px;border:5px solid;margin-left:70px'></iframe></div>{HEARS}"
        )
    };
    let styles =
        ["zoom:.8", "zoom:1.5", "transform:scale(.5);transform-origin:0 0", "transform:rotate(12deg)"];
    let mut pages: Vec<(String, String)> = vec![("inner".into(), INNER.into())];
    for (number, style) in styles.iter().enumerate() {
        pages.push((format!("same{number}"), frame(style, "")));
        pages.push((format!("far{number}"), frame(style, "http://127.0.0.1:8080/")));
    }
    let pages: Vec<(&str, &str)> = pages.iter().map(|(name, body)| (name.as_str(), body.as_str())).collect();
    serve(&mut desk, &pages).await;
    for (name, _) in &pages[1..] {
        desk.delivered(Act::Navigate { url: format!("localhost:8080/{name}.html") }).await;
        for (button, told) in [("Press", "pressed"), ("Deep", "deep")] {
            desk.click("button", button).await;
            assert_eq!(desk.title().await, told, "{name}");
        }
        // By its place, as it is listed.
        let list = desk.node("combobox", "List").await.id;
        desk.delivered(Act::ScrollTo { at: Target::Ref(list) }).await;
        let place =
            desk.node("textbox", "Field").await.bounds.and_then(|bounds| bounds.centre()).expect("a place");
        desk.delivered(Act::Fill { at: Target::Point(place), value: FieldValue::Text(format!("by {name}")) })
            .await;
        assert_eq!(desk.title().await, format!("by {name}"));
    }
    desk.close().await;
}

#[tokio::test]
async fn what_covers_a_frame_is_named() {
    let mut desk = Desk::open().await;
    let page = |host: &str| {
        format!(
            "<title>outer</title><iframe src='{host}inner.html' style='width:600px;height:300px'></iframe>
            <div id=veil style='position:fixed;inset:0;background:#0006'>We use cookies</div>{HEARS}"
        )
    };
    serve(&mut desk, &[("inner", INNER), ("same", &page("")), ("far", &page("http://127.0.0.1:8080/"))])
        .await;
    for name in ["same", "far"] {
        desk.delivered(Act::Navigate { url: format!("localhost:8080/{name}.html") }).await;
        let button = desk.node("button", "Press").await.id;
        let why = desk.refused(click(&button)).await;
        assert!(why.contains("is covered by <div \"veil\">"), "{name}: {why}");
        assert_eq!(desk.title().await, "outer");
    }
    desk.close().await;
}

#[tokio::test]
async fn fields_are_filled_and_chosen_by_point_wherever_they_are() {
    let mut desk = Desk::open().await;
    let page = format!("<title>outer</title><div id=host></div><iframe src='http://127.0.0.1:8080/inner.html' style='width:600px;height:300px'></iframe>
        <script>host.attachShadow({{mode:'closed'}}).innerHTML = '<label>Shadow <input oninput=\"document.title=this.value\"></label>';</script>{HEARS}");
    serve(&mut desk, &[("inner", INNER), ("outer", &page)]).await;
    desk.delivered(Act::Navigate { url: "localhost:8080/outer.html".into() }).await;
    let tree = desk.look().await.tree.expect("a tree");
    let place = |role: &str, name: &str| -> ScreenPoint {
        let id = &named(&tree.nodes, role, name)[0];
        tree.get(id).and_then(|node| node.bounds).and_then(|bounds| bounds.centre()).expect("a place")
    };
    for name in ["Field", "Shadow"] {
        let at = Target::Point(place("textbox", name));
        desk.delivered(Act::Fill { at, value: FieldValue::Text(format!("in {name}")) }).await;
        assert_eq!(desk.title().await, format!("in {name}"));
    }
    let at = Target::Point(place("combobox", "List"));
    desk.delivered(Act::Select { at, option: "two".into() }).await;
    assert_eq!(desk.title().await, "two");
    desk.close().await;
}

#[tokio::test]
async fn a_reference_names_a_thing_and_not_the_node_that_showed_it() {
    let mut desk = Desk::open().await;
    desk.show(
        "reused",
        "<button onclick='people.unshift(`Eve`);draw()'>Add</button><ul id=a></ul><div id=b></div>
         <script>
         let people = ['Ann', 'Ben', 'Cid'];
         // As a framework draws a list without keys: nodes stay, and show others.
         const put = (holder, tag, each) => {
            while (holder.children.length < people.length) holder.append(document.createElement(tag));
            while (holder.children.length > people.length) holder.lastChild.remove();
            people.forEach((who, i) => each(holder.children[i], who));
         };
         const remove = (who) => { people = people.filter(one => one !== who); document.title = 'deleted ' + who; draw(); };
         const row = (name) => (node, who) => {
            if (!node.firstChild) { node.append(document.createElement('span'), document.createElement('button')); }
            node.children[0].textContent = who;
            node.children[1].textContent = name(who);
            node.children[1].onclick = () => remove(who);
         };
         const draw = () => { put(a, 'li', row(who => 'Delete ' + who)); put(b, 'div', row(() => 'Remove')); };
         draw();
         </script>",
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let ben = named(&tree.nodes, "button", "Delete Ben")[0].clone();
    let second = named(&tree.nodes, "button", "Remove")[1].clone();
    let add = named(&tree.nodes, "button", "Add")[0].clone();
    desk.delivered(click(&add)).await;
    let why = desk.refused(click(&ben)).await;
    assert!(why.contains("shows button \"Delete Ann\" now, where it showed button \"Delete Ben\""), "{why}");
    let there = named(&desk.look().await.tree.expect("a tree").nodes, "button", "Delete Ben")[0].clone();
    assert!(why.contains(&format!("is #{there} now")), "{why}");
    assert_eq!(desk.title().await, "reused", "nothing was deleted");
    // The names are the same here: the row tells.
    desk.delivered(Act::Navigate { url: format!("file://{HOME}/reused.html") }).await;
    let tree = desk.look().await.tree.expect("a tree");
    let again = named(&tree.nodes, "button", "Remove")[1].clone();
    assert_ne!(second, again, "a new document");
    desk.delivered(click(&named(&tree.nodes, "button", "Add")[0])).await;
    let why = desk.refused(click(&again)).await;
    assert!(why.contains("Ann") && why.contains("of \"Ben\""), "{why}");
    assert_eq!(desk.title().await, "reused", "nothing was deleted");
    // What the model was told is what it now means.
    desk.delivered(click(&again)).await;
    assert_eq!(desk.title().await, "deleted Ann");
    desk.close().await;
}

#[tokio::test]
async fn what_has_no_box_of_its_own_is_clicked_where_it_is_drawn() {
    let mut desk = Desk::open().await;
    desk.show(
        "boxless",
        "<style>.sr{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip:rect(0,0,0,0)}
          label span{display:inline-block;width:40px;height:20px;background:#ccc}</style><title>boxless</title>
         <p><a href='#' style='display:contents' onclick='document.title=`contents`;return false'><b>Contents link</b></a>
         <p><a href='#' onclick='document.title=`zero`;return false'><span style='position:absolute;width:120px;background:#eef'>Zero link</span></a><br>
         <p><button style='display:contents' onclick='document.title=`button`'>Contents button</button>
         <p><img usemap='#m' width=200 height=60 alt=Map src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='200' height='60'/>\">
         <map name=m><area shape=rect coords='0,0,100,60' href='#' alt='Red side' onclick='document.title=`red`;return false'>
           <area shape=circle coords='150,30,20' href='#' alt='Blue side' onclick='document.title=`blue`;return false'></map>
         <p><label><input type=checkbox style='opacity:0;width:0;height:0' onchange='document.title=`zero size `+this.checked'><span></span> Zero size</label>
         <p><label><input type=checkbox style='position:absolute;left:-9999px' onchange='document.title=`far `+this.checked'><span></span> Far off</label>
         <p><input class=sr type=radio name=r id=r1 onchange='document.title=`ship`'><label for=r1>Ship</label>
         <p><button style='pointer-events:none' onclick='document.title=`through`'>Through</button>
         <p style='position:relative;height:60px'><button style='width:300px;height:40px' onclick='document.title=`beside`'>Beside</button>
           <span style='position:absolute;left:100px;top:0;width:100px;height:50px;background:red'>stamp</span>",
    )
    .await;
    for (role, name, told) in [
        ("link", "Contents link", "contents"),
        ("link", "Zero link", "zero"),
        ("button", "Contents button", "button"),
        ("link", "Red side", "red"),
        ("link", "Blue side", "blue"),
        ("checkbox", "Zero size", "zero size true"),
        ("checkbox", "Far off", "far true"),
        ("radio", "Ship", "ship"),
        ("button", "Beside", "beside"),
    ] {
        desk.click(role, name).await;
        assert_eq!(desk.title().await, told, "{name}");
    }
    let through = desk.node("button", "Through").await.id;
    let why = desk.refused(click(&through)).await;
    assert!(why.contains("pointer-events: none"), "{why}");
    let at = Act::Click { at: Target::Ref(through), button: Button::Left, count: 2, hold: None };
    desk.refused(at).await;
    desk.close().await;
}

#[tokio::test]
async fn a_drag_waits_for_a_page_that_wants_a_press_to_be_held() {
    let mut desk = Desk::open().await;
    desk.show(
        "held",
        "<style>body{margin:0}</style><title>held</title><div id=a style='width:100px;height:100px;background:red'></div>
         <script>
         let armed = 0, timer;
         a.onpointerdown = () => { timer = setTimeout(() => { armed = 1; }, 250); };
         onpointermove = () => { if (!armed) clearTimeout(timer); };
         onpointerup = (e) => { document.title = armed ? `dropped ${e.clientX}` : 'nothing'; armed = 0; };
         </script>",
    )
    .await;
    let path = vec![ScreenPoint::new(50, 50), ScreenPoint::new(350, 50)];
    desk.delivered(Act::Drag { path, button: Button::Left }).await;
    assert_eq!(desk.title().await, "dropped 350");
    desk.close().await;
}

#[tokio::test]
async fn a_drawn_field_whose_input_is_never_drawn_is_seen_and_used_where_it_is_drawn() {
    let mut desk = Desk::open().await;
    desk.show(
        "undrawn",
        "<style>.box{width:200px;height:40px;border:1px solid;position:relative;overflow:hidden}
          .far{position:absolute;left:-9999px} .none{position:absolute;width:0;height:0;padding:0;border:0;opacity:0}
          .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}</style>
         <a href='#end' class=far>Skip</a>
         <div class=box onclick='this.lastChild.focus()'>Red<input class=far aria-label=Team oninput='document.title=`team `+this.value'></div>
         <div class=box onclick='this.lastChild.focus()'><canvas width=150 height=30></canvas><textarea class=none aria-label=Terminal oninput='document.title=`terminal `+this.value'></textarea></div>
         <div class=box style='width:20px;height:20px;background:red' onmousedown='setTimeout(() => this.lastChild.focus())'><input type=range class=sr aria-label=Volume oninput='document.title=`volume `+this.value'></div>
         <div class=box><button onclick='document.title=`other`'>Other</button><input class=far aria-label=Beside></div>
         <p><a href='#end' style='display:contents'><b>Contents</b></a>",
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let list = view_text(None, &tree, &View::whole(SCREEN));
    let line = |name: &str| list.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    for name in ["\"Team\"", "\"Terminal\"", "\"Contents\""] {
        assert!(!line(name).is_empty() && !line(name).contains("(off the screen)"), "{name} in {list}");
    }
    for name in ["\"Skip\"", "\"Beside\""] {
        assert!(line(name).contains("(off the screen)"), "{name} in {list}");
    }
    desk.click("textbox", "Team").await;
    desk.type_text("green").await;
    assert_eq!(desk.title().await, "team green");
    desk.click("textbox", "Terminal").await;
    desk.type_text("ls").await;
    assert_eq!(desk.title().await, "terminal ls");
    desk.click("slider", "Volume").await;
    desk.key("Right").await;
    assert_eq!(desk.title().await, "volume 51");
    let beside = desk.node("textbox", "Beside").await.id;
    desk.refused(click(&beside)).await;
    assert_eq!(desk.title().await, "volume 51", "the other one was not clicked");
    desk.close().await;
}

#[tokio::test]
async fn a_drag_of_the_browser_rests_where_it_ends() {
    let mut desk = Desk::open().await;
    // As lists that are sorted do: after a change, the page is deaf for a moment.
    desk.show(
        "sorted",
        "<style>body{margin:0} li{height:40px}</style><title>sorted</title><ul id=list style='margin:0'><li draggable=true id=a>A<li id=b>B<li id=c>C</ul>
         <script>
         let deaf = false;
         list.ondragover = (e) => {
           e.preventDefault();
           if (deaf || e.target === a || e.target === list) return;
           e.target.after(a);
           deaf = true;
           setTimeout(() => { deaf = false; }, 30);
         };
         list.ondrop = () => { document.title = list.innerText.replace(/\\s/g, ''); };
         </script>",
    )
    .await;
    let path = vec![ScreenPoint::new(100, 20), ScreenPoint::new(100, 110)];
    desk.delivered(Act::Drag { path, button: Button::Left }).await;
    assert_eq!(desk.title().await, "BCA");
    desk.close().await;
}
