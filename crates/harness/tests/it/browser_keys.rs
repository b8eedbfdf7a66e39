//! Keys in pages: what a keyboard does is done, whatever listens. The effect is read from the page's own state.

use std::time::Duration;

use apprentice_protocol::Clock;
use apprentice_sandbox::SystemClock;

use crate::desk::{Act, Desk, click, key};

impl Desk {
    async fn text_of(&mut self, label: &str) -> String {
        let node = self.node("textbox", label).await;
        node.value.unwrap_or_default()
    }

    async fn types(&mut self, text: &str) -> String {
        self.delivered(Act::Type { text: text.into() }).await
    }
}

#[tokio::test]
async fn typing_is_heard_by_whatever_listens_to_keys() {
    let mut desk = Desk::open().await;
    desk.show(
        "listeners",
        "<div id=code></div> <label>Find <input id=f></label><ul id=r></ul> <label>Digits <input id=d></label>
         <label>Country <select id=c><option>Austria<option>Brazil<option>Germany</select></label>
         <label>Day <input type=date id=day></label> <label>At <input type=time id=at></label>
         <label>Area <textarea id=t></textarea></label>
         <script>
         for (let i = 0; i < 6; i++) {
            const box = document.createElement('input');
            box.maxLength = 1; box.setAttribute('aria-label', 'Digit ' + (i + 1));
            // One moves on at once, one in a task, one in a frame.
            const on = () => box.nextElementSibling && box.nextElementSibling.focus();
            box.oninput = () => [on, () => setTimeout(on), () => requestAnimationFrame(on)][i % 3]();
            code.append(box);
         }
         f.onkeyup = () => { r.innerHTML = ['alpha', 'beta'].filter(x => x.startsWith(f.value)).map(x => `<li>${x}`).join(''); };
         d.onkeydown = e => { if (e.key.length === 1 && !/\\d/.test(e.key)) e.preventDefault(); };
         const log = []; t.onkeydown = e => log.push(e.key + (e.shiftKey ? '^' : ''));
         addEventListener('click', () => { document.title = [[...code.children].map(x => x.value || '_').join(''), r.innerText, d.value,
            c.value, day.value, at.value, log.join(' ')].join('|'); });
         </script><button>Tell</button>",
    )
    .await;
    desk.click("textbox", "Digit 1").await;
    desk.types("482913").await;
    desk.click("textbox", "Find").await;
    desk.types("be").await;
    desk.click("textbox", "Digits").await;
    desk.types("12ab34").await;
    desk.key("Tab").await;
    desk.types("Germany").await;
    desk.key("Tab").await;
    desk.types("05172027").await;
    desk.key("Tab").await;
    desk.key("Tab").await;
    desk.types("1045AM").await;
    desk.click("textbox", "Area").await;
    desk.types("Hé!\n中").await;
    desk.click("button", "Tell").await;
    assert_eq!(
        desk.title().await,
        "482913|beta|1234|Germany|2027-05-17|10:45|Shift^ H^ é Shift^ !^ Enter",
        "as by a keyboard"
    );
    assert_eq!(desk.text_of("Area").await, "Hé!\n中");
    desk.close().await;
}

#[tokio::test]
async fn a_long_text_arrives_in_its_order() {
    let mut desk = Desk::open().await;
    desk.show("long", "<textarea aria-label=Area rows=20 cols=80></textarea>").await;
    desk.click("textbox", "Area").await;
    let text: String = (1..=90).map(|number| format!("{number} Ab, ")).collect();
    desk.types(&text).await;
    assert_eq!(desk.text_of("Area").await, text);
    desk.close().await;
}

#[tokio::test]
async fn typing_is_never_refused_by_a_guess() {
    let mut desk = Desk::open().await;
    desk.show(
        "guesses",
        "<h1 id=g>_</h1> <div id=host></div> <div id=ed tabindex=0 role=group aria-label=Board style='width:90px;height:40px'><canvas width=80 height=30></canvas></div>
         <div id=ec tabindex=0 role=group aria-label=Paper style='width:90px;height:40px'>paper</div>
         <input readonly aria-label=Fixed value=7> <button id=b>Plain</button>
         <script>
         let word = '', board = '';
         document.onkeydown = e => { if (e.target === document.body && e.key.length === 1) g.textContent = word += e.key; };
         ed.onkeydown = e => { if (e.key.length === 1) board += e.key; document.title = board; };
         host.attachShadow({mode: 'closed'}).innerHTML = '<label>Mail <input oninput=\"document.title=this.value\"></label>';
         const context = new EditContext(); ec.editContext = context;
         context.ontextupdate = () => { document.title = context.text; };
         </script>",
    )
    .await;
    let told = desk.types("Crane").await;
    assert!(told.contains("no field had the focus"), "{told}");
    desk.node("heading", "Crane").await;
    for (role, name, text) in
        [("textbox", "Mail", "me@x.y"), ("group", "Board", "Hello"), ("group", "Paper", "Words")]
    {
        desk.click(role, name).await;
        assert_eq!(desk.types(text).await, "", "{name}: nothing is certain");
        assert_eq!(desk.title().await, text, "{name}");
    }
    desk.click("textbox", "Fixed").await;
    assert!(desk.types("8").await.contains("a read-only field had the focus"));
    desk.click("button", "Plain").await;
    assert!(desk.types("x").await.contains("a button had the focus"));
    desk.close().await;
}

#[tokio::test]
async fn a_capital_letter_is_pressed_with_shift_and_missing_chords_say_so() {
    let mut desk = Desk::open().await;
    desk.show(
        "chords",
        "<input aria-label=Field><script>
         onkeydown = e => { document.title = e.key + e.shiftKey; if (e.ctrlKey && e.key === 's') e.preventDefault(); };</script>",
    )
    .await;
    desk.click("textbox", "Field").await;
    for (chord, title) in [("H", "Htrue"), ("h", "hfalse"), ("?", "?true"), ("shift+h", "Htrue")] {
        assert_eq!(desk.delivered(key(chord)).await, "");
        assert_eq!(desk.title().await, title, "{chord}");
    }
    assert_eq!(desk.text_of("Field").await, "Hh?H");
    assert_eq!(desk.delivered(key("ctrl+s")).await, "", "the page took it");
    for chord in ["ctrl+f", "ctrl+plus", "ctrl+p", "F12", "ctrl+shift+t"] {
        let told = desk.delivered(key(chord)).await;
        assert!(told.contains("this browser"), "{chord}: {told}");
    }
    desk.key("ctrl+t").await;
    assert!(desk.refused(key("ctrl+5")).await.contains("2 are open"));
    desk.key("ctrl+1").await;
    assert!(desk.look().await.tabs[0].active);
    desk.close().await;
}

#[tokio::test]
#[ignore = "a measurement"]
async fn how_long_four_hundred_characters_take() {
    let clock = SystemClock::new();
    let mut desk = Desk::open().await;
    desk.show("long", "<textarea aria-label=Area rows=20 cols=80></textarea>").await;
    let area = desk.node("textbox", "Area").await.id;
    let text: String = "The quick brown fox jumps over the lazy dog. ".repeat(9).chars().take(400).collect();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..5 {
        desk.delivered(click(&area)).await;
        desk.key("ctrl+a").await;
        let begun = clock.mono();
        desk.delivered(Act::Type { text: text.clone() }).await;
        times.push(clock.mono() - begun);
        assert_eq!(desk.text_of("Area").await, text);
    }
    times.sort();
    println!("400 characters, settled: {times:?}");
    desk.close().await;
}

#[tokio::test]
async fn suggestions_that_come_a_moment_after_typing_are_in_the_view() {
    let mut desk = Desk::open().await;
    desk.show(
        "later",
        "<label>Find <input id=f></label> <label>Late <input id=l></label><ul id=r></ul>
         <script>
         const show = (what) => { r.innerHTML = `<li>${what}`; };
         let plain; f.oninput = () => { clearTimeout(plain); plain = setTimeout(() => show('plain ' + f.value), 300); };
         // As lodash does: one timer, which sets itself again for what is left.
         let timer, last; const due = () => { const left = 250 - (performance.now() - last); if (left > 0) timer = setTimeout(due, left); else { timer = 0; show('lodash ' + l.value); } };
         l.oninput = () => { last = performance.now(); timer = timer || setTimeout(due, 250); };
         </script>",
    )
    .await;
    for (field, said) in [("Find", "plain be"), ("Late", "lodash be")] {
        desk.click("textbox", field).await;
        desk.types("be").await;
        let tree = desk.look().await.tree.expect("a tree");
        assert!(tree.nodes.iter().any(|node| node.name.contains(said)), "{said}: {tree:#?}");
    }
    desk.close().await;
}

#[tokio::test]
async fn what_ends_a_text_takes_what_the_page_found_for_it() {
    let mut desk = Desk::open().await;
    desk.show(
        "search",
        "<title>search</title><input id=q autofocus><script>
         const all = ['Red', 'Green', 'Blue'];
         let found = 'Red', timer;
         q.oninput = () => {
           clearTimeout(timer);
           timer = setTimeout(() => { found = all.find(one => one.toLowerCase().startsWith(q.value)); }, 300);
         };
         q.onkeydown = (e) => { if (e.key === 'Enter') document.title = found; };
         </script>",
    )
    .await;
    desk.type_text("gre\n").await;
    assert_eq!(desk.title().await, "Green");
    desk.close().await;
}
