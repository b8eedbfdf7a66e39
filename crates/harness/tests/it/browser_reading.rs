//! Files, readings, scripts, held keys and elements that change, on real pages in a real Chromium.

use apprentice_harness::env::browser::PageScripts;
use apprentice_protocol::{Chord, Command, NodeRef, PageReading, ScreenPoint, State, Target, UiTree};

use crate::desk::{Act, Desk, HOME, click};

fn upload(node: &NodeRef, files: &[&str]) -> Act {
    Act::Upload {
        at: Target::Ref(node.clone()),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
    }
}

fn read(what: PageReading) -> Act {
    Act::Read { what }
}

fn script(source: &str) -> Act {
    Act::Script { source: source.into() }
}

#[tokio::test]
async fn files_of_the_home_reach_the_page_by_input_label_and_button() {
    let mut desk = Desk::open().await;
    for (name, text) in [("a.txt", "alpha"), ("b.txt", "beta"), ("p.png", "picture")] {
        desk.machine.write(&format!("{HOME}/{name}"), text.as_bytes()).await.expect("written");
    }
    let shell = "mkdir -p folder && ln -s /etc/hostname out.txt && ln -s a.txt in.txt";
    desk.machine.run(&Command::shell(shell)).await.expect("ran");
    desk.show(
        "files",
        "<input type=file aria-label=One> <input type=file multiple accept='image/*,.txt' aria-label=Many>
         <input type=file disabled aria-label=Off> <input type=file accept=.png aria-label=Pictures>
         <input id=hid type=file style='display:none'><button id=b onclick='hid.click()'>Choose</button><button>Idle</button>
         <script>for (const one of document.querySelectorAll('input')) one.onchange = async () => {
           const texts = await Promise.all([...one.files].map(file => new Promise(done => {
             const reader = new FileReader(); reader.onload = () => done(file.name + '=' + reader.result); reader.readAsText(file); })));
           document.title = texts.join(' ') };</script>",
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let id = |name: &str| {
        let node = tree.nodes.iter().find(|node| node.name.contains(name) && node.role.as_str() == "button");
        node.unwrap_or_else(|| panic!("{name} in {tree:#?}")).id.clone()
    };
    let (one, many) = (id("One"), id("Many"));
    assert_eq!(desk.delivered(upload(&one, &["a.txt"])).await, "");
    assert_eq!(desk.title().await, "a.txt=alpha");
    desk.delivered(upload(&many, &["~/b.txt", &format!("{HOME}/p.png")])).await;
    assert_eq!(desk.title().await, "b.txt=beta p.png=picture");
    desk.delivered(upload(&id("Choose"), &["in.txt"])).await;
    assert_eq!(desk.title().await, "a.txt=alpha", "through the chooser that the button opens");
    let told = desk.delivered(upload(&id("Pictures"), &["b.txt"])).await;
    assert!(told.contains("the kind \".png\", which [\"b.txt\"] are not"), "{told}");
    assert_eq!(desk.title().await, "b.txt=beta");
    for (node, files, reason) in [
        (&one, vec!["a.txt", "b.txt"], "exactly one path"),
        (&one, vec!["nowhere.txt"], "no file nowhere.txt"),
        (&one, vec!["/etc/hostname"], "not in the home folder"),
        (&one, vec!["out.txt"], "not in the home folder"),
        (&one, vec!["../../etc/hostname"], "not in the home folder"),
        (&one, vec!["folder"], "is no file"),
        (&one, vec![], "from one to 20 paths"),
        (&id("Off"), vec!["a.txt"], "is disabled"),
        (&id("Idle"), vec!["a.txt"], "opened no file chooser"),
    ] {
        let why = desk.refused(upload(node, &files)).await;
        assert!(why.contains(reason), "{files:?}: {why}");
    }
    assert_eq!(desk.title().await, "b.txt=beta", "what was refused changed nothing");
    desk.close().await;
}

#[tokio::test]
async fn the_text_of_a_page_is_read_with_its_frames_and_without_what_is_hidden() {
    let mut desk = Desk::open().await;
    desk.machine
        .write(&format!("{HOME}/inner.html"), b"<!doctype html><p>Inside a frame</p>")
        .await
        .expect("written");
    desk.show(
        "words",
        "<h1>Garden   tools</h1><p>Buy a <b>rake</b>,
           or two.</p><table><tr><td>Rake<td>9</table><p style='visibility:hidden'>unseen</p><p style='display:none'>gone</p>
         <input type=password value=hunter2><div style='height:3000px'></div><pre>a\n  b</pre><div id=host></div><iframe src=inner.html></iframe>
         <script>host.attachShadow({mode:'closed'}).innerHTML='<p>In the shadow</p>'</script>",
    )
    .await;
    let text = desk.delivered(read(PageReading::Text)).await;
    let expected = format!(
        "Garden tools\nBuy a rake, or two.\nRake 9\na\n  b\nIn the shadow\n\n[frame file://{HOME}/inner.html]\nInside a frame"
    );
    assert_eq!(text, expected);
    desk.close().await;
}

#[tokio::test]
async fn the_console_and_the_requests_of_a_page_are_read() {
    let mut desk = Desk::open().await;
    desk.show(
        "log",
        "<script>console.log('begun', {a: 1}, 7); console.error('bad thing'); setTimeout(() => { throw new Error('late') });
         fetch('http://localhost:4999/data').catch(() => document.title = 'asked');</script>",
    )
    .await;
    let console = desk.delivered(read(PageReading::Console)).await;
    for line in ["log: begun Object 7", "error: bad thing", "uncaught: Error: late"] {
        assert!(console.lines().any(|one| one.starts_with(line)), "{line}: {console}");
    }
    assert_eq!(desk.delivered(read(PageReading::Console)).await, console, "reading it again tells it again");
    let requests = desk.delivered(read(PageReading::Network)).await;
    assert!(
        requests.contains("GET http://localhost:4999/data: failed: net::ERR_CONNECTION_REFUSED"),
        "{requests}"
    );
    assert!(requests.contains(&format!("GET file://{HOME}/log.html: ")), "{requests}");
    desk.close().await;
}

#[tokio::test]
async fn scripts_are_off_until_the_setting_and_bounded_in_time_and_size() {
    let mut desk = Desk::open().await;
    let why = desk.refused(script("document.title = 'changed'")).await;
    assert!(why.contains("`page_scripts = \"on\"`"), "{why}");
    assert_ne!(desk.title().await, "changed");
    desk.close().await;
    let mut desk = Desk::open_with(PageScripts::On).await;
    desk.show(
        "run",
        "<p id=p>text</p><meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">",
    )
    .await;
    for (source, expected) in [
        ("const one = 1; one + 1", "2"),
        ("document.title = 'changed'", "changed"),
        ("document.getElementById('p')", "<p id=\"p\">text</p>"),
        ("({ a: [1, 'x'] })", "{\n \"a\": [\n  1,\n  \"x\"\n ]\n}"),
        ("new Promise(done => setTimeout(() => done('late'), 50))", "late"),
        ("undefined", "undefined"),
    ] {
        assert_eq!(desk.delivered(script(source)).await, expected, "{source}");
    }
    assert_eq!(desk.title().await, "changed");
    let long = desk.delivered(script("'x'.repeat(50000)")).await;
    assert!(long.ends_with("\n[30000 more characters]") && long.len() < 20_100, "{}", long.len());
    assert!(desk.refused(script("nothing.here")).await.contains("nothing is not defined"));
    for endless in
        ["while (true);", "new Promise(() => {})", "new Promise(() => setTimeout(() => { while (true); }))"]
    {
        assert!(desk.refused(script(endless)).await.contains("did not end within 10 s"), "{endless}");
    }
    assert_eq!(desk.title().await, "changed", "the page lives on");
    desk.close().await;
}

#[tokio::test]
async fn what_has_become_of_an_element_is_told_and_a_moving_one_is_waited_for() {
    let mut desk = Desk::open().await;
    desk.show(
        "changes",
        "<style>@keyframes slide{from{left:0}to{left:600px}} @keyframes round{from{left:0}to{left:900px}}
         button{position:relative} .slide{animation:slide .8s linear} .round{animation:round 2s linear infinite alternate}</style>
         <div id=list><button>Row</button></div><button onclick='list.innerHTML=`<button>Row</button>`'>Again</button>
         <button onclick='list.innerHTML=`<button>Row</button><button>Row</button>`'>Twice</button>
         <button onclick='list.innerHTML=``'>Clear</button>
         <div><button id=s onclick='document.title=`hit ${Math.round(s.getBoundingClientRect().left)}`'>Slides</button></div>
         <button onclick='s.className=`slide`'>Start</button>
         <div><button class=round>Turns</button></div>
         <div style='height:2000px'></div><p id=far>Far below</p><script>onscroll=()=>document.title='scrolled'</script>",
    )
    .await;
    let row = desk.node("button", "Row").await.id;
    desk.click("button", "Again").await;
    let again = desk.node("button", "Row").await.id;
    let why = desk.refused(click(&row)).await;
    assert_eq!(why, format!("element {row} is gone; the button \"Row\" that is here now is #{again}"));
    desk.click("button", "Twice").await;
    assert!(desk.refused(click(&row)).await.contains("there are 2 now: #"));
    desk.click("button", "Clear").await;
    assert!(desk.refused(click(&row)).await.contains("none like it is here"));
    let slides = desk.node("button", "Slides").await.id;
    let rest = desk.node("button", "Slides").await.bounds.expect("shown").x;
    let begin = desk.node("button", "Turns").await.id;
    assert!(desk.refused(click(&begin)).await.contains("does not stand still"));
    // It slides when the click comes, and is waited for.
    desk.click("button", "Start").await;
    desk.delivered(click(&slides)).await;
    assert_eq!(desk.title().await, format!("hit {rest}"));
    let far = desk.node("text", "Far below").await.id;
    desk.delivered(Act::ScrollTo { at: Target::Ref(far) }).await;
    assert_eq!(desk.title().await, "scrolled");
    desk.close().await;
}

#[tokio::test]
async fn keys_stay_down_until_they_are_released() {
    let mut desk = Desk::open().await;
    desk.show(
        "keys",
        "<p style='height:300px'>page</p><script>let told=[]; const tell=(what)=>{told.push(what);document.title=told.join(' ')};
         onkeydown=e=>tell('down:'+e.key+e.shiftKey);onkeyup=e=>tell('up:'+e.key+e.shiftKey);onclick=e=>tell('click'+e.shiftKey)</script>",
    )
    .await;
    let keys = |text: &str| Chord::parse(text).expect("a chord");
    desk.delivered(Act::KeyDown { keys: keys("shift") }).await;
    desk.key("a").await;
    let at = Target::Point(ScreenPoint::new(50, 50));
    desk.delivered(Act::Click { at, button: apprentice_protocol::Button::Left, count: 1, hold: None }).await;
    desk.delivered(Act::KeyUp { keys: keys("shift") }).await;
    desk.key("b").await;
    let expected = "down:Shifttrue down:Atrue up:Atrue clicktrue up:Shiftfalse down:bfalse up:bfalse";
    assert_eq!(desk.title().await, expected);
    desk.close().await;
}

#[tokio::test]
async fn the_visible_part_of_a_long_text_follows_the_scrolling() {
    let mut desk = Desk::open().await;
    let lines: String = (1..=400).map(|line| format!("line {line} of a long text\n")).collect();
    desk.show(
        "long",
        &format!("<textarea aria-label=Notes rows=10 cols=40>{lines}</textarea><pre>{lines}</pre>"),
    )
    .await;
    let field = desk.node("textbox", "Notes").await;
    let part = field.visible.expect("told");
    assert!(part.text.starts_with("line 1 of") && part.line == 1 && part.lines == 401, "{part:?}");
    assert!((9..=11).contains(&part.last_line()), "ten rows show: {part:?}");
    let text = |tree: &UiTree| {
        // The field has a text inside, too, which the page does not show by itself.
        let texts = tree.nodes.iter().filter(|node| node.role.as_str() == "text" && node.name.len() > 400);
        texts.filter_map(|node| node.visible.clone()).next_back()
    };
    let tree = desk.look().await.tree.expect("a tree");
    let top = text(&tree).expect("told");
    assert!(top.line == 1 && top.last_line() < 100, "{top:?}");
    desk.delivered(click(&field.id)).await;
    desk.key("ctrl+End").await;
    let part = desk.node("textbox", "Notes").await.visible.expect("told");
    assert!(part.line > 380 && part.text.contains("line 400 of"), "{part:?}");
    let at = Target::Point(ScreenPoint::new(600, 700));
    desk.delivered(Act::Scroll { at: Some(at), dx: 0, dy: 10 }).await;
    let tree = desk.look().await.tree.expect("a tree");
    let below = text(&tree).expect("told");
    assert!(below.line > top.line && below.line < 380, "{below:?}");
    desk.close().await;
}

#[tokio::test]
async fn the_field_in_use_says_where_its_caret_stands_or_what_is_selected() {
    let mut desk = Desk::open().await;
    desk.show(
        "carets",
        "<label>Name <input value='Zoë 😀 Ott'></label> <label>Note <textarea>one\ntwo words\n</textarea></label>
         <label>Secret <input type=password value=abcdef></label> <label>Count <input type=number value=12></label>
         <label>Empty <input></label> <div contenteditable role=textbox aria-label=Rich><b>a</b> fine<br>text</div>
         <iframe srcdoc='<label>Inner <input value=inside></label>'></iframe>",
    )
    .await;
    for (name, keys, told) in [
        ("Name", "home", "caret: column 1: |Zoë 😀 Ott"),
        ("Name", "end", "caret: at the end"),
        ("Name", "home right right right right right", "caret: column 6: Zoë 😀|\u{20}Ott"),
        ("Name", "ctrl+a", "selected text: Zoë 😀 Ott, from: column 1"),
        ("Note", "ctrl+home down right", "caret: line 2 column 2: t|wo words"),
        ("Note", "shift+end", "selected text: wo words, from: line 2 column 2"),
        ("Note", "ctrl+end", "caret: line 3 column 1: |"),
        ("Secret", "ctrl+a", ""),
        ("Count", "end", ""),
        ("Empty", "end", ""),
        ("Rich", "ctrl+home", ""),
        ("Rich", "ctrl+a", "selected text: a fine\ntext"),
        ("Inner", "end", "caret: at the end"),
    ] {
        let role = if name == "Count" { "spinbutton" } else { "textbox" };
        let field = desk.node(role, name).await;
        if !field.is(State::Focused) {
            desk.delivered(click(&field.id)).await;
        }
        for chord in keys.split(' ') {
            desk.key(chord).await;
        }
        let tree = desk.look().await.tree.expect("a tree");
        let with_details = tree.nodes.iter().filter(|node| !node.details.is_empty());
        let found: Vec<String> = with_details
            .flat_map(|node| node.details.iter().map(|one| format!("{}: {}", one.kind.word(), one.text)))
            .collect();
        assert_eq!(found.join(", "), told, "{name} after {keys}");
    }
    desk.close().await;
}
