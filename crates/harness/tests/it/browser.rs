//! Browser worlds: real pages in a real Chromium in a cell, by the environment's own actions.

use std::time::Duration;

use apprentice_protocol::{
    Button, Chord, Clock, Command, History, NodeRef, ScreenPoint, State, TabAction, Target, TreeBudget,
    TruncationCause, Want, WorldErrorKind,
};
use apprentice_sandbox::SystemClock;

use crate::desk::{Act, Desk, HOME, SCREEN, click, key, select};
use crate::desktop::pause;

#[tokio::test]
async fn a_form_is_filled_in_by_reference() {
    let mut desk = Desk::open().await;
    desk.show(
        "form",
        "<label>Name <input id=n></label> <label>Note <textarea id=a></textarea></label>
         <label>Size <select id=s><option>Small<option>Large<option disabled>Huge</select></label>
         <label><input id=c type=checkbox> Agree</label> <input id=r aria-label=Fixed readonly value=7>
         <button onclick='document.title=[n.value,a.value.replace(/\\n/,`/`),s.value,c.checked].join(`|`)'>Send</button>",
    )
    .await;
    let name = desk.node("textbox", "Name").await;
    assert!(name.is(State::Editable) && name.bounds.is_some(), "{name:?}");
    desk.delivered(click(&name.id)).await;
    assert!(desk.node("textbox", "Name").await.is(State::Focused));
    desk.type_text("Zoë 中文 😀").await;
    desk.key("ctrl+a").await;
    desk.key("ctrl+c").await;
    desk.key("end").await;
    desk.key("ctrl+v").await;
    assert_eq!(desk.node("textbox", "Name").await.value.as_deref(), Some("Zoë 中文 😀Zoë 中文 😀"));
    desk.type_text("\tfirst\nsecond").await;
    let size = desk.node("combobox", "Size").await.id;
    desk.delivered(select(&size, "large")).await;
    assert!(desk.refused(select(&size, "Medium")).await.contains("\"Small\", \"Large\", \"Huge\""));
    assert!(desk.refused(select(&size, "Huge")).await.contains("disabled"));
    assert!(desk.refused(select(&name.id, "Large")).await.contains("no native list box"));
    assert!(desk.refused(click(&size)).await.contains("select"));
    desk.click("checkbox", "Agree").await;
    assert!(desk.node("checkbox", "Agree").await.is(State::Checked));
    desk.click("button", "Send").await;
    assert_eq!(desk.title().await, "Zoë 中文 😀Zoë 中文 😀|first/second|Large|true");
    let small = desk.node("option", "Small").await.id;
    desk.delivered(click(&small)).await;
    assert_eq!(desk.node("combobox", "Size").await.value.as_deref(), Some("Small"));
    desk.close().await;
}

#[tokio::test]
async fn a_disabled_element_is_not_clicked_until_it_is_enabled() {
    let mut desk = Desk::open().await;
    desk.show(
        "disabled",
        "<fieldset id=f disabled><button onclick='document.title=`sent`'>Send</button></fieldset>
         <div role=button aria-disabled=true>Later</div> <button onclick='f.disabled=false'>Agree</button>",
    )
    .await;
    let send = desk.node("button", "Send").await;
    let later = desk.node("button", "Later").await.id;
    let centre = send.bounds.and_then(|bounds| bounds.centre()).expect("a place");
    let at = |target| Act::Click { at: target, button: Button::Left, count: 1, hold: None };
    assert!(desk.refused(click(&send.id)).await.contains("is disabled"));
    assert!(desk.refused(click(&later)).await.contains("is disabled"));
    assert!(desk.refused(at(Target::Point(centre))).await.contains("is disabled"));
    desk.delivered(Act::Move { to: Target::Ref(send.id.clone()) }).await;
    desk.click("button", "Agree").await;
    desk.delivered(click(&send.id)).await;
    assert_eq!(desk.title().await, "sent");
    desk.close().await;
}

#[tokio::test]
async fn references_survive_new_looks_and_die_with_their_node() {
    let mut desk = Desk::open().await;
    desk.show(
        "refs",
        "<button id=keep onclick='more.innerHTML=`<button>Third</button><button>Second</button>`'>First</button>
         <div id=more><button>Second</button></div>",
    )
    .await;
    let first = desk.node("button", "First").await.id;
    let second = desk.node("button", "Second").await.id;
    desk.delivered(click(&first)).await;
    assert_eq!(desk.node("button", "First").await.id, first, "it survives");
    let again = desk.node("button", "Second").await.id;
    assert_ne!(again, second, "another node, though it looks the same");
    assert!(desk.refused(click(&second)).await.contains("is gone"));
    let known: Vec<NodeRef> =
        desk.look().await.tree.expect("a tree").nodes.into_iter().map(|node| node.id).collect();
    desk.delivered(Act::History { go: History::Reload }).await;
    let fresh = desk.look().await.tree.expect("a tree");
    assert!(fresh.nodes.iter().all(|node| !known.contains(&node.id)), "a new document has new nodes");
    assert!(desk.refused(click(&first)).await.contains("is gone"));
    assert!(desk.refused(click(&NodeRef("n99999".into()))).await.contains("never was"));
    desk.close().await;
}

#[tokio::test]
async fn frames_and_shadow_roots_are_seen_and_reached() {
    let mut desk = Desk::open().await;
    desk.machine
        .write(
            &format!("{HOME}/inner.html"),
            b"<body style='height:2000px'><div style='height:900px'></div><button onclick='this.textContent=`done`'>Deep</button>
              <iframe srcdoc='<button onclick=\"this.textContent=`deeper done`\">Deeper</button>'></iframe>",
        )
        .await
        .expect("written");
    desk.show(
        "outer",
        "<div style='height:1500px'>far down</div><iframe src=inner.html style='margin:40px;width:500px;height:300px'></iframe>
         <div id=host></div><script>host.attachShadow({mode:'closed'}).innerHTML =
           '<button onclick=\"this.textContent=`shadow done`\">Shadow</button>'</script>",
    )
    .await;
    for (name, done) in [("Deep", "done"), ("Deeper", "deeper done"), ("Shadow", "shadow done")] {
        desk.click("button", name).await;
        let node = desk.node("button", done).await;
        assert!(
            node.bounds.is_some_and(|bounds| bounds.y < 800 && bounds.y > 0),
            "scrolled into view: {node:?}"
        );
    }
    desk.close().await;
}

#[tokio::test]
async fn frames_of_other_processes_are_part_of_the_page() {
    let mut desk = Desk::open().await;
    let outer = "<!doctype html><title>outer</title><div style='height:1200px'></div>
        <iframe src='http://127.0.0.1:8080/inner.html' style='margin:30px;width:600px;height:200px'></iframe>";
    let inner = "<!doctype html><div style='height:700px'></div><label>Field <input></label>
        <button onclick='alert(document.querySelector(`input`).value)'>Say</button>
        <select aria-label=List><option>a<option>b</select>";
    for (name, text) in [("outer", outer), ("inner", inner)] {
        desk.machine.write(&format!("{HOME}/site/{name}.html"), text.as_bytes()).await.expect("written");
    }
    let server = Command::new(["/run/supervisor", "web", "8080", "/home/user/site"]);
    let mut server = desk.machine.spawn(&server).await.expect("a server");
    assert_eq!(server.read().await.expect("its word"), b"ready\n");
    // Another site than the frame's address, so that the browser gives the frame a process of its own.
    desk.delivered(Act::Navigate { url: "localhost:8080/outer.html".into() }).await;
    let field = desk.node("textbox", "Field").await.id;
    desk.delivered(click(&field)).await;
    desk.type_text("över").await;
    let field = desk.node("textbox", "Field").await;
    assert_eq!(field.value.as_deref(), Some("över"));
    // Both in one view: typing scrolls to the field, across processes.
    let tree = desk.look().await.tree.expect("a tree");
    let place = |role: &str| tree.nodes.iter().find(|node| node.role.as_str() == role).expect("there").bounds;
    let (frame, field) =
        (place("iframe").expect("shown"), place("textbox").and_then(|bounds| bounds.centre()));
    assert!(frame.contains(field.expect("shown")), "{frame:?} {field:?}");
    let list = desk.node("combobox", "List").await.id;
    desk.delivered(select(&list, "b")).await;
    assert_eq!(desk.node("combobox", "List").await.value.as_deref(), Some("b"));
    assert!(desk.click("button", "Say").await.contains("alert: \"över\""));
    desk.delivered(Act::Dialog { accept: true, text: None }).await;
    desk.delivered(Act::Navigate { url: "about:blank".into() }).await;
    assert!(desk.refused(click(&list)).await.contains("is gone"));
    desk.close().await;
}

#[tokio::test]
async fn what_cannot_be_clicked_is_refused_with_its_reason() {
    let mut desk = Desk::open().await;
    desk.show(
        "cover",
        "<button id=b>Below</button><button style='visibility:hidden' aria-hidden=false>Unseen</button>
         <div id=veil style='position:fixed;inset:0;background:#fff8'>veil</div>",
    )
    .await;
    let below = desk.node("button", "Below").await.id;
    let why = desk.refused(click(&below)).await;
    assert!(why.contains("covered by <div \"veil\">"), "{why}");
    let outside = Act::Move { to: Target::Point(ScreenPoint::new(1280, 5)) };
    assert!(desk.refused(outside).await.contains("outside the page of 1280 by 800"));
    let short = Act::Drag { path: vec![ScreenPoint::new(1, 1)], button: Button::Left };
    assert!(desk.refused(short).await.contains("two points"));
    desk.close().await;
}

#[tokio::test]
async fn dialogs_block_until_they_are_answered() {
    let mut desk = Desk::open().await;
    desk.show(
        "dialogs",
        "<button onclick='alert(`hi`);document.title=`alerted`'>Alert</button>
         <button onclick='document.title=confirm(`sure?`)'>Confirm</button>
         <button onclick='document.title=prompt(`who?`,`nobody`)'>Prompt</button><input aria-label=Field>
         <button onclick='onbeforeunload=e=>e.preventDefault()'>Guard</button>",
    )
    .await;
    let accept = |text: Option<&str>| Act::Dialog { accept: true, text: text.map(str::to_owned) };
    assert!(desk.refused(accept(None)).await.contains("no page dialog"));
    assert!(desk.click("button", "Alert").await.contains("alert: \"hi\""));
    let blocked =
        desk.environment.observe(Want { screenshot: true, tree: Some(TreeBudget::default()) }).await;
    let blocked = blocked.expect("the world holds");
    assert_eq!(blocked.dialog.as_deref(), Some("alert: \"hi\""));
    assert_eq!(blocked.tree.expect("a tree").nodes[0].role.as_str(), "alertdialog");
    assert!(desk.refused(Act::Type { text: "x".into() }).await.contains("answer it first"));
    desk.delivered(accept(None)).await;
    assert_eq!(desk.title().await, "alerted");
    desk.click("button", "Confirm").await;
    desk.delivered(Act::Dialog { accept: false, text: None }).await;
    assert_eq!(desk.title().await, "false");
    assert!(desk.click("button", "Prompt").await.contains("it starts with \"nobody\""));
    desk.delivered(accept(Some("me"))).await;
    assert_eq!(desk.title().await, "me");
    desk.click("button", "Prompt").await;
    desk.delivered(accept(None)).await;
    assert_eq!(desk.title().await, "nobody");
    desk.click("button", "Guard").await;
    let told = desk.delivered(Act::Navigate { url: "about:blank".into() }).await;
    assert!(told.contains("beforeunload"), "{told}");
    desk.delivered(Act::Dialog { accept: false, text: None }).await;
    assert!(desk.look().await.tabs[0].url.ends_with("dialogs.html"), "it stayed");
    desk.delivered(Act::Navigate { url: "about:blank".into() }).await;
    desk.delivered(accept(None)).await;
    assert_eq!(desk.look().await.tabs[0].url, "about:blank");
    desk.close().await;
}

#[tokio::test]
async fn tabs_and_history_are_actions() {
    let mut desk = Desk::open().await;
    desk.show("two", "second").await;
    desk.show("one", "<a href=two.html target=_blank>New</a> <a href=two.html>Same</a>").await;
    assert!(desk.click("link", "New").await.contains("tab t2 is in front now"));
    assert_eq!(desk.title().await, "two");
    desk.delivered(Act::Tab { tab: TabAction::Switch { id: "t1".into() } }).await;
    assert_eq!(desk.title().await, "one");
    let link = desk.node("link", "New").await.id;
    let hold = Some(Chord::parse("ctrl").expect("a chord"));
    desk.delivered(Act::Click { at: Target::Ref(link), button: Button::Left, count: 1, hold }).await;
    let seen = desk.look().await;
    assert_eq!(seen.tabs.len(), 3);
    assert_eq!(seen.title(), "one", "a control click opens behind");
    desk.delivered(Act::Tab { tab: TabAction::Close { id: "t1".into() } }).await;
    assert_eq!(desk.title().await, "two");
    assert!(desk.refused(Act::Tab { tab: TabAction::Close { id: "t1".into() } }).await.contains("t2, t3"));
    desk.key("ctrl+w").await;
    assert!(desk.refused(key("ctrl+w")).await.contains("last tab"));
    desk.delivered(Act::Tab { tab: TabAction::Open { url: Some(format!("file://{HOME}/one.html")) } }).await;
    desk.click("link", "Same").await;
    assert_eq!(desk.title().await, "two");
    desk.delivered(Act::History { go: History::Back }).await;
    assert_eq!(desk.title().await, "one");
    desk.key("alt+right").await;
    assert_eq!(desk.title().await, "two");
    assert!(desk.refused(Act::History { go: History::Forward }).await.contains("no later page"));
    desk.close().await;
}

#[tokio::test]
async fn a_pop_up_is_a_tab_that_is_told_and_closes_itself() {
    let mut desk = Desk::open().await;
    let pop_up = "<button onclick='opener.postMessage(`chosen`,`*`);window.close()'>Choose</button>";
    desk.show("small", pop_up).await;
    let open = "window.open(`small.html`,`small`,`width=300,height=200`)";
    let heard = "<script>onmessage=e=>document.title=e.data</script>";
    desk.show("large", &format!("<button onclick='{open}'>Ask</button>{heard}")).await;
    let told = desk.click("button", "Ask").await;
    assert!(told.contains("tab t2 is in front now"), "{told}");
    assert_eq!(desk.title().await, "small");
    let told = desk.click("button", "Choose").await;
    let mut seen = desk.look().await;
    // A browser closes a window in its own time.
    for _ in 0..50 {
        if seen.tabs.len() == 1 {
            break;
        }
        pause(100).await;
        seen = desk.look().await;
    }
    assert_eq!((seen.title(), seen.tabs.len()), ("chosen", 1), "{told}: {:?}", seen.tabs);
    desk.close().await;
}

#[tokio::test]
async fn addresses_that_do_not_open_are_refused_with_the_reason() {
    let mut desk = Desk::open().await;
    for (url, reason) in [
        ("javascript:alert(1)", "cannot be opened"),
        ("two words", "spaces"),
        ("file:///nowhere.html", "ERR_FILE_NOT_FOUND"),
        ("http://localhost:4999/", "ERR_CONNECTION_REFUSED"),
        ("http://example.invalid/", "ERR_"),
    ] {
        let why = desk.refused(Act::Navigate { url: url.into() }).await;
        assert!(why.contains(reason), "{url}: {why}");
    }
    desk.delivered(Act::Navigate { url: "chrome://version".into() }).await;
    assert_eq!(desk.title().await, "About Version");
    desk.close().await;
}

#[tokio::test]
async fn the_pointer_drags_scrolls_and_holds() {
    let mut desk = Desk::open().await;
    desk.show(
        "pointer",
        "<style>body{margin:0}div{position:absolute;width:100px;height:100px}</style>
         <div id=a draggable=true style='left:0;top:0;background:red'>item</div>
         <div id=b style='left:300px;top:0;background:blue'>target</div>
         <canvas id=c style='position:absolute;left:0;top:200px' width=600 height=200></canvas>
         <input id=s type=range min=0 max=100 value=0 style='position:absolute;left:0;top:450px;width:500px'>
         <p style='position:absolute;top:4000px'>bottom</p>
         <script>b.ondragover=e=>e.preventDefault();b.ondrop=()=>document.title='dropped';
         let moves=0;c.onmousedown=()=>moves=0;c.onmousemove=e=>{if(e.buttons==1)moves++};
         c.onmouseup=()=>document.title='drew '+(moves>3);s.onchange=()=>document.title='range '+s.value;
         onscroll=()=>document.title='at '+Math.round(scrollY);onkeydown=e=>document.title=e.key+e.repeat</script>",
    )
    .await;
    let drag = |path: &[(i32, i32)]| Act::Drag {
        path: path.iter().map(|(x, y)| ScreenPoint::new(*x, *y)).collect(),
        button: Button::Left,
    };
    desk.delivered(drag(&[(50, 50), (350, 50)])).await;
    assert_eq!(desk.title().await, "dropped");
    desk.delivered(drag(&[(50, 300), (200, 300), (300, 350)])).await;
    assert_eq!(desk.title().await, "drew true");
    desk.delivered(drag(&[(10, 460), (600, 460)])).await;
    assert_eq!(desk.title().await, "range 100");
    desk.delivered(Act::Scroll { at: Some(Target::Point(ScreenPoint::new(50, 300))), dx: 0, dy: 3 }).await;
    assert_eq!(desk.title().await, "at 300");
    desk.key("F2").await;
    assert_eq!(desk.title().await, "F2false");
    desk.close().await;
}

#[tokio::test]
async fn downloads_and_file_choosers_are_told() {
    let mut desk = Desk::open().await;
    desk.show(
        "files",
        "<a download=report.txt href='data:text/plain,hello'>Save</a>
         <input type=file aria-label=Upload onchange='document.title=this.files[0].name'>",
    )
    .await;
    let told = desk.click("link", "Save").await;
    assert!(told.contains("downloaded \"report.txt\" (5 bytes)"), "{told}");
    let kept = desk.machine.read(&format!("{HOME}/Downloads/report.txt")).await.expect("kept");
    assert_eq!(kept, b"hello");
    let upload = desk.look().await.tree.expect("a tree");
    let upload = upload.nodes.iter().find(|node| node.name.contains("Upload")).expect("an input").id.clone();
    assert!(desk.delivered(click(&upload)).await.contains("type its full path"));
    let why = desk.refused(Act::Type { text: "/nowhere".into() }).await;
    assert!(why.contains("no file /nowhere"), "{why}");
    desk.delivered(click(&upload)).await;
    desk.type_text(&format!("{HOME}/Downloads/report.txt\n")).await;
    assert_eq!(desk.title().await, "report.txt");
    desk.close().await;
}

#[tokio::test]
async fn a_page_that_is_still_coming_is_waited_for() {
    let mut desk = Desk::open().await;
    desk.show(
        "slow",
        "<button onclick='setTimeout(()=>late.textContent=`almost`,20);setTimeout(()=>late.innerHTML=`<a href=#>Late</a>`,45)'>Go</button>
         <p id=late>",
    )
    .await;
    desk.click("button", "Go").await;
    desk.node("link", "Late").await;
    desk.close().await;
}

#[tokio::test]
async fn budgets_bound_the_tree_and_the_machine_sees_what_the_agent_sees() {
    let mut desk = Desk::open().await;
    desk.show("big", &"<div><button>x</button></div>".repeat(300)).await;
    let budget = TreeBudget { nodes: 50, ..TreeBudget::default() };
    let tree = desk.machine.tree(&budget).await.expect("a tree");
    assert_eq!((tree.nodes.len(), tree.truncated), (50, Some(TruncationCause::Nodes)));
    let whole = desk.look().await.tree.expect("a tree");
    assert_eq!(whole.nodes[..50], tree.nodes[..], "one set of references");
    assert_eq!(whole.truncated, None);
    let picture = desk.machine.screenshot().await.expect("a picture");
    assert_eq!(picture.size, SCREEN);
    let count = Command::shell("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -cx -- '--no-sandbo[x]'");
    let sandbox = desk.machine.run(&count).await;
    assert_eq!(sandbox.expect("ran").stdout_text().trim(), "0", "the browser's own sandbox is on");
    desk.close().await;
}

#[tokio::test]
async fn settings_stand_in_the_profile_when_it_is_read() {
    let mut desk = Desk::open().await;
    desk.delivered(Act::Navigate { url: "chrome://settings/downloads".into() }).await;
    let toggle = loop {
        let tree = desk.look().await.tree.expect("a tree");
        let name = "Ask where to save each file before downloading";
        let found = tree.nodes.iter().find(|node| node.name == name && node.is(State::Unchecked));
        if let Some(node) = found {
            break node.id.clone();
        }
    };
    desk.delivered(click(&toggle)).await;
    let path = format!("{HOME}/.config/chromium/Default/Preferences");
    let preferences = desk.machine.read(&path).await.expect("preferences");
    let preferences: serde_json::Value = serde_json::from_slice(&preferences).expect("JSON");
    assert_eq!(preferences["download"]["prompt_for_download"], true, "{}", preferences["download"]);
    desk.close().await;
}

#[tokio::test]
async fn a_killed_browser_and_a_crashed_page_are_lost_worlds() {
    for (what, kill) in
        [("browser", "kill -9 $(pgrep -o chromium)"), ("page", "kill -9 $(pgrep -f -- --type=renderer)")]
    {
        let mut desk = Desk::open().await;
        desk.show("doomed", "<button>x</button>").await;
        let button = desk.node("button", "x").await.id;
        desk.machine.run(&Command::shell(kill)).await.expect("ran");
        let error = desk.lost(click(&button)).await;
        assert_eq!(error.fault, WorldErrorKind::Lost, "{what}: {error}");
        desk.close().await;
    }
}

#[tokio::test]
#[ignore = "a measurement"]
async fn how_long_things_take() {
    let clock = SystemClock::new();
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (mut open, mut close) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = clock.mono();
        let desk = Desk::open().await;
        open.push(clock.mono() - start);
        let start = clock.mono();
        desk.close().await;
        close.push(clock.mono() - start);
    }
    println!("open {:?}, close {:?}", median(open), median(close));
    let mut desk = Desk::open().await;
    let body =
        (0..100).map(|n| format!("<p><a href='#{n}'>Link {n}</a> <button>Button {n}</button> text {n}</p>"));
    desk.show("bench", &body.collect::<String>()).await;
    let button = click(&desk.node("button", "Button 5").await.id);
    let (mut picture, mut tree, mut act, mut look) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut nodes = 0;
    for _ in 0..20 {
        let start = clock.mono();
        desk.machine.screenshot().await.expect("a picture");
        picture.push(clock.mono() - start);
        let start = clock.mono();
        nodes = desk.machine.tree(&TreeBudget::default()).await.expect("a tree").nodes.len();
        tree.push(clock.mono() - start);
        let start = clock.mono();
        desk.delivered(button.clone()).await;
        act.push(clock.mono() - start);
        let start = clock.mono();
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        desk.environment.observe(want).await.expect("the world holds");
        look.push(clock.mono() - start);
    }
    println!("picture {:?}, tree of {nodes} nodes {:?}", median(picture), median(tree));
    println!("click by reference until calm {:?}, observation {:?}", median(act), median(look));
    desk.close().await;
}

#[tokio::test]
async fn chromiums_own_sandbox_is_on_inside_a_cell() {
    let mut desk = Desk::open().await;
    desk.delivered(Act::Navigate { url: "chrome://sandbox".into() }).await;
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let seen = desk.environment.observe(want).await.expect("seen");
    let tree = serde_json::to_string(&seen.tree).expect("a tree");
    assert!(tree.contains("You are adequately sandboxed"), "{tree}");
    // Each page's process: under filters of its own on top of the cell's, in namespaces that the cell's programs lack.
    let renderers = "for pid in $(pgrep -f -- '^/.* --type=renderer'); do \
        awk '/^NSpid/ { spaces = NF - 1 } /^Seccomp_filters/ { print spaces, $2 }' /proc/$pid/status; done; \
        awk '/^Seccomp_filters/ { print 1, $2 }' /proc/self/status";
    let output = desk.machine.run(&Command::shell(renderers)).await.expect("runs").stdout_text();
    let counts: Vec<(u32, u32)> = output
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(spaces, filters)| (spaces.parse().expect("a number"), filters.parse().expect("a number")))
        .collect();
    let [renderers @ .., (_, own)] = counts.as_slice() else { panic!("no processes: {output}") };
    assert!(!renderers.is_empty(), "{output}");
    assert!(renderers.iter().all(|(spaces, filters)| *spaces > 1 && filters > own), "{output}");
}

#[tokio::test]
async fn held_keys_side_buttons_and_rare_keys_reach_the_page() {
    let mut desk = Desk::open().await;
    desk.show("before", "<p>before</p>").await;
    desk.show(
        "held",
        "<style>body{margin:0;height:3000px}</style><script>let told=[];
         const tell=what=>{told.push(what);document.title=told.join(' ')};
         onmousedown=e=>tell('down'+e.ctrlKey+e.shiftKey);onwheel=e=>{e.preventDefault();tell('wheel'+e.shiftKey)};
         addEventListener('wheel',e=>e.preventDefault(),{passive:false});
         onclick=e=>tell('click'+e.ctrlKey);onkeydown=e=>{if(e.key.length>2&&e.key<'G')return;tell(e.code)}</script>",
    )
    .await;
    let at = |x, y| Target::Point(ScreenPoint::new(x, y));
    let keys = |text: &str| Chord::parse(text).expect("a chord");
    desk.delivered(Act::Move { to: at(300, 300) }).await;
    let told = desk.act(Act::Cursor).await;
    assert_eq!(told.pointer, Some(ScreenPoint::new(300, 300)));
    let hold = |text: &str, actions| Act::Hold { keys: keys(text), actions };
    let button = Button::Left;
    desk.delivered(hold("ctrl", vec![Act::Press { at: None, button }, Act::Release { at: None, button }]))
        .await;
    desk.delivered(hold("shift", vec![Act::Scroll { at: Some(at(300, 300)), dx: 0, dy: 1 }])).await;
    let path = vec![ScreenPoint::new(300, 300), ScreenPoint::new(350, 320)];
    desk.delivered(hold("shift", vec![Act::Drag { path, button }])).await;
    desk.key("minus").await;
    desk.key("KP_Add").await;
    let title = desk.title().await;
    for expected in ["downtruefalse", "clicktrue", "wheeltrue", "downfalsetrue", "Minus", "NumpadAdd"] {
        assert!(title.split(' ').any(|word| word == expected), "{expected} is not in {title:?}");
    }
    desk.delivered(Act::Click { at: at(300, 300), button: Button::Back, count: 1, hold: None }).await;
    assert_eq!(desk.title().await, "before");
    desk.close().await;
}
