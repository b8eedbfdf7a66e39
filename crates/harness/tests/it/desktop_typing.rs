//! Typed text on a desktop, read back byte for byte from what programs of four toolkits saved or say; and a browser there in
//! two windows and after its crash.

use std::time::Duration;

use apprentice_protocol::{Command, Observation, TreeBudget, World};

use crate::cell::{shell, state};
use crate::desktop::{deliver, key, launch, open, pause, text, until_within};
use crate::trees::is_installed;

/// ASCII, accents, other scripts, characters of two surrogates, tabs and line breaks. Lines begin with capitals, and nothing
/// stands in it that a text processor corrects.
const TYPED: &str = "Plain words, (brackets) [and] {more} <signs> ~`|\\^_=+;:!?@#$%&*/ 0123456789\n\
    ÄÖÜ äöü ß é ñ ¿ ¡ € £ «ça»\tŁódź Ελλάδα Привет\n日本語 中文 한국어\tעברית\n\
    😀🚀 𝄞\nEnd\n";

async fn until(world: &mut World, what: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    until_within(world, TreeBudget::default(), what, holds).await
}

fn titled(title: &str) -> impl Fn(&Observation) -> bool {
    move |seen| seen.windows.iter().any(|window| window.active && window.title.contains(title))
}

/// Reads a file until it holds something and has come to rest.
async fn saved(world: &World, path: &str) -> String {
    let mut last = Vec::new();
    for _ in 0..150 {
        let now = world.machine.read(path).await.unwrap_or_default();
        if !now.is_empty() && now == last {
            break;
        }
        last = now;
        pause(100).await;
    }
    String::from_utf8(last).expect("UTF-8").trim_start_matches('\u{feff}').to_owned()
}

#[tokio::test]
async fn a_terminal_of_x_gets_what_is_typed_byte_for_byte() {
    if !is_installed("xterm") {
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    let command =
        ["xterm", "-u8", "-T", "terminal", "-e", "sh", "-c", "cat > typed.txt; mv typed.txt done.txt"];
    world.machine.launch(&Command::new(command)).await.expect("launched");
    until(&mut world, "the terminal", titled("terminal")).await;
    deliver(&mut world, text(TYPED)).await;
    deliver(&mut world, key("ctrl+d")).await;
    assert_eq!(saved(&world, "done.txt").await, TYPED);
    world.environment.close(Duration::from_secs(10)).await.expect("closes");
}

#[tokio::test]
async fn a_text_processor_gets_what_is_typed_byte_for_byte() {
    if !is_installed("lowriter") {
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("letter.txt", b"").await.expect("written");
    let command = ["lowriter", "--norestore", "--nologo", "letter.txt"];
    world.machine.launch(&Command::new(command)).await.expect("launched");
    until(&mut world, "the letter", titled("letter.txt")).await;
    deliver(&mut world, text(TYPED)).await;
    deliver(&mut world, key("ctrl+s")).await;
    until(&mut world, "the question of the format", titled("Confirm File Format")).await;
    deliver(&mut world, key("Return")).await;
    assert_eq!(saved(&world, "letter.txt").await.trim_end(), TYPED.trim_end());
    world.environment.close(Duration::from_secs(10)).await.expect("closes");
}

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Begun</title>
    <textarea id=field autofocus style='width:100%;height:80vh'></textarea>
    <script>
        const expected = EXPECTED, field = document.getElementById('field');
        const missing = () => [...expected].filter((one) => !field.value.includes(one)).join('');
        const other = () => [...expected].findIndex((one, index) => one !== [...field.value][index]);
        const tell = () => document.title =
            field.value === expected ? 'All arrived' : 'So far ' + field.value.length + ' without ' + missing() + ', other from ' + other();
        field.oninput = tell;
        field.onkeydown = (e) => {
            if (e.key !== 'Tab') return;
            e.preventDefault();
            field.setRangeText('\\t', field.selectionStart, field.selectionEnd, 'end');
            tell();
        };
    </script>";

#[tokio::test]
async fn a_browser_on_a_desktop_gets_every_character_in_two_windows_and_after_its_crash() {
    let state = state();
    let mut world = open(state.path()).await;
    let page = PAGE.replace("EXPECTED", &serde_json::Value::from(TYPED).to_string());
    world.machine.write("typing.html", page.as_bytes()).await.expect("written");
    let command = Command::new(["chromium", "--no-first-run", "--new-window", "typing.html"]);
    let begun = async |world: &mut World| {
        world.machine.launch(&command).await.expect("launched");
        until(world, "the page", titled("Begun")).await;
    };
    begun(&mut world).await;
    deliver(&mut world, text(TYPED)).await;
    until(&mut world, "the text", titled("All arrived")).await;
    // A second window of the same browser has the focus of its own.
    begun(&mut world).await;
    let windows = until(&mut world, "two windows", |seen| seen.windows.len() == 2).await.windows;
    assert_eq!(
        windows.iter().filter(|window| window.title.contains("All arrived")).count(),
        1,
        "{windows:?}"
    );
    deliver(&mut world, text("Second")).await;
    until(&mut world, "what the second window got", titled("So far 6 ")).await;
    // The world outlives its browser, which starts anew.
    shell(&*world.machine, "pkill -9 -f '[c]hromium'; while pgrep -f '[c]hromium' >/dev/null; do :; done")
        .await;
    until(&mut world, "no window", |seen| seen.windows.is_empty()).await;
    begun(&mut world).await;
    deliver(&mut world, text("Third time")).await;
    until(&mut world, "what the new browser got", titled("So far 10 ")).await;
    world.environment.close(Duration::from_secs(10)).await.expect("closes");
}

#[tokio::test]
async fn a_calculator_gets_each_key_although_its_buttons_are_pressed_for_a_while() {
    if !is_installed("galculator") {
        return;
    }
    let state = state();
    let mut world = open(state.path()).await;
    launch(&mut world, &["galculator"], "galculator").await;
    // 1410 where the second minus is lost.
    deliver(&mut world, text("37-89+14-62=")).await;
    let shows = |seen: &Observation, result: &str| {
        let tree = seen.tree.iter().flat_map(|tree| &tree.nodes);
        tree.filter_map(|node| node.value.as_ref()).any(|value| value.trim() == result)
    };
    until(&mut world, "the result", |seen| shows(seen, "-100")).await;
    world.environment.close(Duration::from_secs(10)).await.expect("closes");
}
