//! Forms, files and readings of real pages in a real Chromium. The effect is read from the page's own events.

use apprentice_harness::agent::view_text;
use apprentice_protocol::{Command, FieldValue, NodeRef, State, Target, View};

use crate::desk::{Act, Desk, HOME, SCREEN, select};

/// A script that makes the last two events of fields the page's title.
const TELLS: &str = "<script>
    let told = [];
    const tell = (e) => {
        const field = e.composedPath()[0];
        const value = field.type === 'checkbox' || field.type === 'radio' ? field.value + '=' + field.checked
            : field.multiple ? [...field.selectedOptions].map(one => one.value).join('+')
            : 'value' in field ? field.value : field.innerText;
        told = [...told, e.type + ' ' + (field.id || field.parentNode.id) + ' ' + value].slice(-2);
        document.title = told.join(' | ');
    };
    addEventListener('input', tell); addEventListener('change', tell);
</script>";

fn fill(node: &NodeRef, value: &FieldValue) -> Act {
    Act::Fill { at: Target::Ref(node.clone()), value: value.clone() }
}

fn text(value: &str) -> FieldValue {
    FieldValue::Text(value.into())
}

impl Desk {
    async fn fill(&mut self, role: &str, name: &str, value: FieldValue) -> String {
        let node = self.node(role, name).await.id;
        self.delivered(fill(&node, &value)).await
    }

    async fn wont_fill(&mut self, role: &str, name: &str, value: FieldValue) -> String {
        let node = self.node(role, name).await;
        let before = self.title().await;
        let why = self.refused(fill(&node.id, &value)).await;
        assert_eq!(self.title().await, before, "nothing was told to the page: {why}");
        let after = self.node(role, name).await;
        assert_eq!(after.value, node.value, "the value is as it was: {why}");
        assert_eq!(after.is(State::Checked), node.is(State::Checked), "{why}");
        why
    }
}

#[tokio::test]
async fn fields_of_every_kind_are_filled_with_the_events_of_an_input() {
    let mut desk = Desk::open().await;
    let body = "<label>Name <input id=n></label> <label>Note <textarea id=a></textarea></label>
         <label>Count <input id=k type=number min=0 max=9></label> <label>Pass <input id=p type=password></label>
         <label>Mail <input id=m type=email></label> <label>Find <input id=f type=search></label>
         <label>Day <input id=d type=date max=2026-12-31></label> <label>Time <input id=t type=time></label>
         <label>Moment <input id=o type=datetime-local></label> <label>Month <input id=h type=month></label>
         <label>Color <input id=c type=color></label> <label>Level <input id=r type=range min=10 max=20></label>
         <label>Size <select id=s><option value=1>Small<option value=2>Large</select></label>
         <label>Many <select id=y multiple><option value=a>Ant<option value=b selected>Bee<option value=c>Cat</select></label>
         <label><input id=x type=checkbox value=ok> Agree</label>
         <label><input id=r1 name=g type=radio value=one> First</label> <label><input id=r2 name=g type=radio value=two> Second</label>
         <div id=e contenteditable role=textbox aria-label=Editor>old <b>words</b></div>";
    desk.show("kinds", &format!("{body}{TELLS}")).await;
    let several = FieldValue::Several(vec!["Ant".into(), "c".into()]);
    for (role, name, value, expected) in [
        ("textbox", "Name", text("Zoë 中文"), "input n Zoë 中文 | change n Zoë 中文"),
        ("textbox", "Note", text("one\ntwo"), "input a one two | change a one two"),
        ("spinbutton", "Count", text("7"), "input k 7 | change k 7"),
        ("textbox", "Pass", text("s3cret"), "input p s3cret | change p s3cret"),
        ("textbox", "Mail", text("a@b.example"), "input m a@b.example | change m a@b.example"),
        ("searchbox", "Find", text("rake"), "input f rake | change f rake"),
        ("textbox", "Day", text("2026-05-01"), "input d 2026-05-01 | change d 2026-05-01"),
        ("spinbutton", "Time", text("09:30"), "input t 09:30 | change t 09:30"),
        (
            "textbox",
            "Moment",
            text("2026-05-01T09:30"),
            "input o 2026-05-01T09:30 | change o 2026-05-01T09:30",
        ),
        ("textbox", "Month", text("2026-05"), "input h 2026-05 | change h 2026-05"),
        ("button", "Color", text("#00FF7f"), "input c #00ff7f | change c #00ff7f"),
        ("slider", "Level", text("17"), "input r 17 | change r 17"),
        ("combobox", "Size", text("large"), "input s 2 | change s 2"),
        ("combobox", "Size", text("1"), "input s 1 | change s 1"),
        ("listbox", "Many", several, "input y a+c | change y a+c"),
        ("checkbox", "Agree", FieldValue::Checked(true), "input x ok=true | change x ok=true"),
        ("checkbox", "Agree", text("off"), "input x ok=false | change x ok=false"),
        ("radio", "Second", FieldValue::Checked(true), "input r2 two=true | change r2 two=true"),
        ("radio", "Second", text("First"), "input r1 one=true | change r1 one=true"),
        ("textbox", "Editor", text("new text"), "change r1 one=true | input e new text"),
    ] {
        let told = desk.fill(role, name, value.clone()).await;
        assert_eq!(told, "", "{name} {value:?}");
        assert_eq!(desk.title().await, expected, "{name} {value:?}");
    }
    let told = desk.fill("textbox", "Mail", text("nobody")).await;
    assert!(told.contains("the page says: Please include an '@'"), "{told}");
    let told = desk.fill("textbox", "Day", text("2027-01-01")).await;
    assert!(told.contains("the page says:"), "{told}");
    desk.close().await;
}

#[tokio::test]
async fn what_a_field_cannot_take_is_refused_and_changes_nothing() {
    let mut desk = Desk::open().await;
    let body = "<label>Count <input id=k type=number value=3></label> <label>Level <input id=r type=range min=10 max=20 step=5></label>
         <label>Day <input id=d type=date value=2026-01-02></label> <label>Color <input id=c type=color></label>
         <label>Short <input id=n maxlength=3></label> <label>Fixed <input id=q readonly value=7></label>
         <fieldset disabled><label>Off <input id=u></label></fieldset>
         <label>Size <select id=s><option>Small<option disabled>Huge</select></label>
         <label><input id=x type=checkbox> Agree</label> <label><input id=r1 name=g type=radio checked> First</label>
         <label><input id=r2 name=g type=radio> Second</label> <button id=b>Go</button> <input type=file id=z aria-label=Files>
         <label>Stubborn <input id=w type=checkbox onclick='event.preventDefault()'></label>";
    desk.show("wont", &format!("{body}{TELLS}")).await;
    for (role, name, value, reason) in [
        ("spinbutton", "Count", text("many"), "does not take \"many\": it takes a number"),
        ("slider", "Level", text("31"), "it takes a number from 10 to 20 in steps of 5"),
        ("textbox", "Day", text("1 May"), "a date as YYYY-MM-DD"),
        ("button", "Color", text("red"), "a color as #rrggbb"),
        ("textbox", "Short", text("four"), "at most 3 characters"),
        ("textbox", "Fixed", text("8"), "read-only"),
        ("textbox", "Off", text("x"), "is disabled"),
        ("combobox", "Size", text("Medium"), "the options are [\"Small\", \"Huge\"]"),
        ("combobox", "Size", text("Huge"), "is disabled"),
        ("combobox", "Size", FieldValue::Several(vec!["Small".into(), "Huge".into()]), "exactly one option"),
        ("checkbox", "Agree", text("perhaps"), "give true or false"),
        ("radio", "First", FieldValue::Checked(false), "the options are [\"First\", \"Second\"]"),
        ("radio", "First", text("Third"), "the options are [\"First\", \"Second\"]"),
        ("button", "Go", text("x"), "is a <button> and takes no value"),
        ("textbox", "Short", FieldValue::Checked(true), "takes a text"),
        ("checkbox", "Stubborn", FieldValue::Checked(true), "did not take it: it holds \"off\" now"),
    ] {
        let why = desk.wont_fill(role, name, value).await;
        assert!(why.contains(reason), "{name}: {why}");
    }
    desk.close().await;
}

#[tokio::test]
async fn fields_in_frames_and_shadow_roots_are_filled_and_a_watching_page_notices() {
    let mut desk = Desk::open().await;
    let inner = format!("<!doctype html><label>Inner <input id=i></label><div contenteditable role=textbox aria-label=Paper id=e></div>{TELLS}
        <script>addEventListener('change', () => parent.postMessage(document.title, '*'));
        addEventListener('input', () => parent.postMessage(document.title, '*'))</script>");
    let outer = format!("<!doctype html><title>outer</title><div id=host></div><iframe src=inner.html></iframe>
        <iframe src='http://127.0.0.1:8080/far.html'></iframe><label>Masked <input id=v></label>
        <label>Watched <input id=w></label><p id=heard></p>
        <script>host.attachShadow({{mode:'closed'}}).innerHTML = '<label>Deep <input id=deep></label>';
        onmessage = (e) => {{ document.title = 'frame: ' + e.data }};
        v.oninput = () => {{ v.value = v.value.replace(/(...)/g, '$1-') }};
        // As frameworks do: the element's own property is replaced, to tell its own writes from a person's.
        const real = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value'); let known = '';
        Object.defineProperty(w, 'value', {{ get() {{ return real.get.call(w) }}, set(text) {{ known = text; real.set.call(w, text) }} }});
        w.oninput = () => {{ if (real.get.call(w) !== known) heard.textContent = 'noticed ' + real.get.call(w) }};
        </script>{TELLS}");
    for (name, page) in [("outer", &outer), ("inner", &inner), ("far", &inner)] {
        desk.machine.write(&format!("{HOME}/site/{name}.html"), page.as_bytes()).await.expect("written");
    }
    let server = Command::new(["/run/supervisor", "web", "8080", "/home/user/site"]);
    let mut server = desk.machine.spawn(&server).await.expect("a server");
    assert_eq!(server.read().await.expect("its word"), b"ready\n");
    desk.delivered(Act::Navigate { url: "localhost:8080/outer.html".into() }).await;
    let tree = desk.look().await.tree.expect("a tree");
    let named = |name: &str| {
        let found = tree.nodes.iter().filter(|node| node.name == name && node.role.as_str() == "textbox");
        found.map(|node| node.id.clone()).collect::<Vec<_>>()
    };
    let inner = named("Inner");
    assert_eq!(inner.len(), 2, "one in a frame of the same process, one in another");
    for (number, node) in inner.iter().enumerate() {
        desk.delivered(fill(node, &text(&format!("text {number}")))).await;
        assert_eq!(desk.title().await, format!("frame: input i text {number} | change i text {number}"));
    }
    for (number, node) in named("Paper").iter().enumerate() {
        desk.delivered(fill(node, &text(&format!("words {number}")))).await;
        let title = desk.title().await;
        assert!(title.ends_with(&format!("input e words {number}")), "{title}");
    }
    desk.delivered(fill(&named("Deep")[0], &text("down"))).await;
    assert_eq!(desk.node("textbox", "Deep").await.value.as_deref(), Some("down"));
    let told = desk.fill("textbox", "Masked", text("abcdef")).await;
    assert_eq!(told, "the page made \"abc-def-\" of it");
    desk.fill("textbox", "Watched", text("seen")).await;
    desk.node("text", "noticed seen").await;
    desk.close().await;
}

#[tokio::test]
async fn what_a_page_puts_back_is_typed_or_said_to_be_as_it_was() {
    let mut desk = Desk::open().await;
    desk.show(
        "kept",
        "<label>Size <select id=s onchange='if (!event.isTrusted) s.value = `a`'><option value=a>Small<option value=b>Large</select></label>
         <label>Fixed <select id=f onchange='f.value = `a`'><option value=a>Small<option value=b>Large</select></label>
         <label>Name <input id=n value=old oninput='if (!event.isTrusted) n.value = `old`'></label>
         <label>Firm <input id=m value=old oninput='m.value = `old`'></label>",
    )
    .await;
    let choose = |node: NodeRef| crate::desk::select(&node, "Large");
    let size = desk.node("combobox", "Size").await.id;
    desk.delivered(choose(size)).await;
    assert_eq!(desk.node("combobox", "Size").await.value.as_deref(), Some("Large"));
    let fixed = desk.node("combobox", "Fixed").await.id;
    let why = desk.refused(choose(fixed)).await;
    assert!(why.contains("the list still shows \"Small\""), "{why}");
    desk.fill("textbox", "Name", text("new one")).await;
    assert_eq!(desk.node("textbox", "Name").await.value.as_deref(), Some("new one"));
    let firm = desk.node("textbox", "Firm").await.id;
    let why = desk.refused(fill(&firm, &text("new"))).await;
    assert!(why.contains("did not take it: it holds \"old\" now"), "{why}");
    desk.close().await;
}

#[tokio::test]
async fn files_reach_inputs_that_were_never_attached_and_the_file_picker() {
    let mut desk = Desk::open().await;
    desk.machine.write(&format!("{HOME}/n.txt"), b"hello").await.expect("written");
    desk.show(
        "pickers",
        "<button id=a>Detached</button> <button id=b>Picker</button>
         <script>
         a.onclick = () => { const i = document.createElement('input'); i.type = 'file';
            i.onchange = () => { document.title = 'detached ' + i.files[0].name; }; i.click(); };
         b.onclick = async () => { const [handle] = await showOpenFilePicker(); const file = await handle.getFile();
            document.title = `picker ${handle.name} ${file.size}`; };
         </script>",
    )
    .await;
    for (name, expected) in [("Detached", "detached n.txt"), ("Picker", "picker n.txt 5")] {
        let node = desk.node("button", name).await.id;
        desk.delivered(Act::Upload { at: Target::Ref(node), files: vec!["n.txt".into()] }).await;
        assert_eq!(desk.title().await, expected);
    }
    desk.close().await;
}

#[tokio::test]
async fn editors_that_keep_a_text_of_their_own_hear_of_a_fill() {
    let mut desk = Desk::open().await;
    // Each draws what it keeps: what only changes the page is undone by its next drawing.
    desk.show(
        "own",
        "<title>own</title><div id=a contenteditable aria-label=Pasted>old</div><div id=b contenteditable aria-label=Inserted>old</div>
         <div id=c contenteditable aria-label=Plain>old</div>
         <script>
         const editor = (at, event, read) => {
           let kept = 'old', all = false;
           document.addEventListener('selectionchange', () => setTimeout(() => { all = getSelection().toString() === at.innerText; }, 100));
           const draw = () => { at.innerText = kept; document.title = kept; };
           at.addEventListener(event, (e) => { e.preventDefault(); kept = all ? read(e) : kept + read(e); draw(); });
           return draw;
         };
         const draws = [editor(a, 'paste', (e) => e.clipboardData.getData('text/plain')), editor(b, 'beforeinput', (e) => e.data)];
         c.oninput = () => { document.title = c.innerText; };
         </script><button onclick='draws.forEach((draw) => draw())'>Draw</button>",
    )
    .await;
    for name in ["Pasted", "Inserted", "Plain"] {
        let text = format!("one of {name}\ntwo");
        desk.fill("textbox", name, FieldValue::Text(text)).await;
        assert_eq!(desk.title().await, format!("one of {name} two"));
    }
    desk.click("button", "Draw").await;
    let tree = desk.look().await.tree.expect("a tree");
    let value =
        |name: &str| tree.nodes.iter().find(|node| node.name == name).and_then(|node| node.value.clone());
    assert_eq!(value("Pasted").as_deref(), Some("one of Pasted\ntwo"), "{tree:#?}");
    desk.fill("textbox", "Plain", FieldValue::Text(String::new())).await;
    let emptied = desk.node("textbox", "Plain").await;
    assert_eq!(emptied.value.as_deref().map(str::trim), Some(""), "{emptied:?}");
    desk.close().await;
}

#[tokio::test]
async fn what_draws_its_text_itself_is_filled_by_what_is_pasted() {
    let mut desk = Desk::open().await;
    desk.show(
        "context",
        "<title>context</title><canvas id=a tabindex=0 role=textbox aria-label=Drawn width=300 height=40></canvas>
         <canvas id=b tabindex=0 role=textbox aria-label=Deaf width=300 height=40></canvas>
         <script>
         a.editContext = new EditContext();
         b.editContext = new EditContext();
         let kept = 'old', all = false;
         a.onkeydown = (e) => { if (e.ctrlKey && e.key === 'a') { e.preventDefault(); all = true; } };
         a.onpaste = (e) => {
           e.preventDefault();
           const text = e.clipboardData.getData('text/plain');
           kept = all ? text : kept + text;
           // The line of the caret.
           a.editContext.updateText(0, a.editContext.text.length, kept.split('\\n').pop());
           document.title = kept;
         };
         b.onkeydown = b.onpaste = (e) => e.preventDefault();
         </script>",
    )
    .await;
    desk.fill("textbox", "Drawn", FieldValue::Text("one {\n  two\n}".into())).await;
    assert_eq!(desk.title().await, "one { two }");
    let why = desk.wont_fill("textbox", "Deaf", FieldValue::Text("words".into())).await;
    assert!(why.contains("did not take it"), "{why}");
    desk.close().await;
}

#[tokio::test]
async fn what_a_page_writes_to_a_picked_file_is_downloaded() {
    let mut desk = Desk::open().await;
    desk.show(
        "saver",
        "<button id=a>Save</button>
         <script>
         a.onclick = async () => {
            const handle = await showSaveFilePicker({ suggestedName: 'notes.txt' });
            const stream = await handle.createWritable();
            await stream.write('hello ');
            await stream.write(new Blob(['world']));
            await stream.write({ type: 'write', position: 0, data: 'H' });
            await stream.close();
            document.title = `saved ${handle.name} ${(await handle.getFile()).size}`;
         };
         </script>",
    )
    .await;
    let told = desk.click("button", "Save").await;
    assert!(told.contains("downloaded \"notes.txt\" (11 bytes)"), "{told}");
    assert_eq!(desk.title().await, "saved notes.txt 11");
    let written = desk.machine.read(&format!("{HOME}/Downloads/notes.txt")).await.expect("a file");
    assert_eq!(written, b"Hello world");
    desk.close().await;
}

#[tokio::test]
async fn what_a_field_suggests_is_told_and_chosen() {
    let mut desk = Desk::open().await;
    desk.show(
        "suggested",
        "<label>Town <input id=t list=towns></label> <label>Other <input list=towns></label>
         <datalist id=towns><option value=Oslo><option>Paris</option><option value=QTO label=Quito></datalist>
         <label>Empty <input list=none></label>
         <script>t.onchange = () => { document.title = t.value; };</script>",
    )
    .await;
    let tree = desk.look().await.tree.expect("a tree");
    let list = view_text(None, &tree, &View::whole(SCREEN));
    assert!(list.contains("[options: Oslo | Paris | QTO]"), "{list}");
    let town = desk.node("combobox", "Town").await.id;
    for (option, expected) in [("paris", "Paris"), ("Quito", "QTO")] {
        desk.delivered(select(&town, option)).await;
        assert_eq!(desk.title().await, expected);
    }
    desk.click("option", "Oslo").await;
    assert_eq!(desk.title().await, "Oslo");
    let why = desk.refused(select(&town, "Rome")).await;
    assert!(why.contains("the options are [\"Oslo\", \"Paris\", \"QTO\"]"), "{why}");
    desk.close().await;
}

#[tokio::test]
async fn a_drawn_slider_is_moved_to_a_number() {
    let mut desk = Desk::open().await;
    desk.show(
        "slider",
        "<title>slider</title><div id=s role=slider tabindex=0 aria-label=Volume aria-valuemin=0 aria-valuemax=100 aria-valuenow=30 style='width:200px;height:20px;background:#ccc'></div>
         <div id=d role=slider tabindex=0 aria-label=Stuck aria-valuemin=0 aria-valuemax=10 aria-valuenow=3 style='width:200px;height:20px;background:#ccc'></div>
         <script>s.onkeydown = (e) => {
           const step = { ArrowRight: 5, ArrowLeft: -5 }[e.key] || 0;
           s.ariaValueNow = Math.max(0, Math.min(100, Number(s.ariaValueNow) + step));
           document.title = 'volume ' + s.ariaValueNow;
         };</script>",
    )
    .await;
    for value in ["80", "5"] {
        desk.fill("slider", "Volume", FieldValue::Text(value.into())).await;
        assert_eq!(desk.title().await, format!("volume {value}"));
    }
    let volume = desk.node("slider", "Volume").await.id;
    let value = FieldValue::Text("42".into());
    let why = desk.refused(Act::Fill { at: Target::Ref(volume), value }).await;
    assert!(why.contains("did not take 42: it stands at 40, and a key moves it by 5"), "{why}");
    let why = desk.wont_fill("slider", "Volume", FieldValue::Text("101".into())).await;
    assert!(why.contains("it takes a number from 0 to 100"), "{why}");
    let why = desk.wont_fill("slider", "Stuck", FieldValue::Text("5".into())).await;
    assert!(why.contains("did not take 5: it stands at 3"), "{why}");
    desk.close().await;
}
