//! Python functions over Playwright, translated as far as the language goes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use apprentice_functions::{PlaywrightError, PlaywrightFunction, SYNTAX_PROGRAM, Source};
use apprentice_protocol::FunctionEnd;
use serde_json::json;

use crate::driver::{drive, seen};

const LIBRARY: &str = r#"
import re

async def add_guest(page, name: str, seats: int = 2, message=None):
    """
    Adds a guest to the list.

    Longer words that nobody needs.

    Args:
        page: The page.
        name (str): The guest's full name.
        seats (int): Number of seats.

    Usage Log:
    - It worked once.
    """
    import asyncio
    await page.goto(f"/guests?of={name}")
    await page.get_by_role("link", name=re.compile("Add guest")).click()
    form = page.get_by_role("form", name="Guest", exact=True)
    await form.get_by_label("Name").fill(name)
    await form.get_by_label("Seats", exact=True).fill(f"{seats}")
    if message:
        await form.get_by_label("Note").fill(f"\ue604 {message}, {name}")
    await page.keyboard.press("Control+Enter")
    await page.wait_for_load_state("networkidle")
    await asyncio.sleep(2)
    print("done")
    await page.get_by_text("Saving").wait_for(state="hidden")
    shown = await page.get_by_text("Saved").text_content()
    return shown


async def zoom(page, title: str, layers: list[str], whole: bool):
    """Looks closer.

    Args:
        title: What must be there.
    """
    opened = await page.get_by_role("link", name="Map").count()
    if opened == 0:
        print("no map")
        return None
    elif whole and "old" not in title:
        await page.locator("button:has-text('Whole')").click()
    else:
        await page.click('text="Part"')
    most = 3
    for _ in range(most):
        if await page.get_by_role("button", name="Zoom in").count() > 0:
            await page.get_by_role("button", name="Zoom in").click(timeout=200)
        else:
            break
    for layer in layers:
        await page.get_by_label(layer).check()
    if await page.get_by_role("heading", name=title).count() == 0:
        raise Exception("not there")


async def first_rows(page, count: int):
    """Reads rows."""
    await page.goto("https://shop.example/rows")
    rows = []
    for row in await page.query_selector_all("tr.row"):
        rows.append(await row.inner_text())
    await page.get_by_role("button", name="More").first.click()
    return rows


async def guesses(page, filters, address, pairs: list[tuple]):
    """Decides by values of which nothing is known."""
    if filters:
        await page.get_by_label("Filter").fill(filters)
    await page.goto(address)
    await page.get_by_role("button", name="Go", pressed=True).click()
    await page.get_by_role("button", name="Go").click(button="middle")
    await page.locator("div > a").click()
    try:
        await page.get_by_role("button", name="Go").click()
    except Exception:
        pass


async def read_title(page, unused):
    title = await page.get_by_role("heading").inner_text()
    return {"title": title}


async def go_home(page, unused):
    """Goes home."""
    await page.get_by_role("link", name="Home").click()
"#;

fn translate(text: &str, base: Option<&str>) -> Result<Vec<PlaywrightFunction>, PlaywrightError> {
    let mut python = Command::new("python3")
        .args(["-I", "-S", "-c", SYNTAX_PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    python.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("is read");
    apprentice_functions::translate(&python.wait_with_output().expect("ends").stdout, base)
}

fn of<'a>(all: &'a [PlaywrightFunction], name: &str) -> &'a PlaywrightFunction {
    all.iter().find(|one| one.name == name).expect("a function")
}

fn source(name: &str) -> String {
    let all = translate(LIBRARY, Some("https://party.example/")).expect("reads");
    of(&all, name).translated.clone().unwrap_or_else(|reasons| panic!("{reasons:?}"))
}

#[test]
fn steps_are_translated_and_keep_every_rule() {
    let expected = r#"/// Adds a guest to the list.
/// - name (text): The guest's full name.
/// - seats (number): Number of seats.
/// - message (text): message (an empty text for none)
/// Example: add_guest("some text", 2, "some text")
fn add_guest(page, name, seats, message) {
    page.goto("https://party.example" + "/guests?of=" + name);
    page.get_by_role("link", "*Add guest*").click();
    let form = page.get_by_role("form", "Guest");
    form.get_by_label("*Name*").fill(name);
    form.get_by_label("Seats").fill("" + seats);
    if message != "" {
        form.get_by_label("*Note*").fill("@ " + message + ", " + name);
    }
    page.press("ctrl+enter");
    expect(page.get_by_text("*Saving*")).to_be_hidden();
    let shown = page.get_by_text("*Saved*").text();
    return shown;
}
"#;
    assert_eq!(source("add_guest"), expected.replace('@', "\u{e604}"));
    assert!(Source::read(&source("add_guest"), &[]).is_ok());
}

#[tokio::test]
async fn conditions_and_loops_run_as_in_python() {
    let function = Source::read(&source("zoom"), &[]).expect("keeps the rules");
    let arguments = json!({ "title": "Town", "layers": ["Roads", "Rivers"], "whole": true });
    let world = |acts: usize, _: u32| match acts {
        // The button for a closer look goes after two clicks of the three that are allowed.
        3.. => seen(&[
            (0, "link", "Map"),
            (0, "checkbox", "Roads"),
            (0, "checkbox", "Rivers"),
            (0, "heading", "Old Town"),
        ]),
        _ => seen(&[(0, "link", "Map"), (0, "button", "Whole map"), (0, "button", "Zoom in")]),
    };
    let driven = drive(&function, &arguments, world).await;
    assert_eq!(driven.end, FunctionEnd::Returned { value: json!(null) });
    assert_eq!(driven.acts.len(), 5, "whole, twice closer, two layers: {:?}", driven.acts);
    let none = drive(&function, &arguments, |_, _| seen(&[(0, "link", "List")])).await;
    assert_eq!((none.acts.len(), none.end), (0, FunctionEnd::Returned { value: json!(null) }));
    let other = json!({ "title": "old Town", "layers": [], "whole": true });
    let missing = |acts: usize, _: u32| match acts {
        0 => seen(&[(0, "link", "Map"), (0, "text", "Part")]),
        _ => seen(&[(0, "link", "Map")]),
    };
    let stopped = drive(&function, &other, missing).await;
    assert!(stopped.reason().contains("no element matches get_by_role(\"heading\""), "{}", stopped.reason());
}

#[test]
fn what_the_language_lacks_is_named_with_its_line() {
    let all = translate(LIBRARY, None).expect("reads");
    let reasons = |name: &str| {
        let reasons = of(&all, name).translated.clone().expect_err("left out");
        reasons.iter().map(|one| format!("line {}: {}\n", one.line, one.reason)).collect::<String>()
    };
    assert!(
        reasons("add_guest").contains("line 19: an address without its site"),
        "{}",
        reasons("add_guest")
    );
    let rows = reasons("first_rows");
    for words in
        ["line 65: `for` over what is no list of texts", "line 67: `.first`", "`append` is not translated"]
    {
        assert!(rows.contains(words), "{rows}");
    }
    let guesses = reasons("guesses");
    for words in [
        "line 71: the kind of pairs",
        "line 73: a condition whose kind of value is not known",
        "line 75: an address that may be relative",
        "line 76: `get_by_role` with `pressed`",
        "line 77: a click of the middle button",
        "line 78: a selector of the page's markup",
        "line 79: `try` is not translated",
    ] {
        assert!(guesses.contains(words), "{words}: {guesses}");
    }
    assert!(reasons("go_home").contains("the parameter unused is not used"), "a rule of every function");
    assert!(reasons("read_title").contains("dictionary is not translated"));
    for (text, line) in [("x = (\ndef broken(page):\n", 1), ("\u{0}\u{1} not python at all ((((", 0)] {
        let refused = translate(text, None).expect_err("not Python").to_string();
        assert!(refused.starts_with(&format!("line {line}: not Python: ")), "{refused}");
    }
}

#[test]
fn texts_are_as_python_reads_them() {
    let text = r#"
async def add(page, note: str):
    """Adds a note."""
    await page.get_by_label('A "b"' ' c', exact=True).fill(rf"\d {note}" '!')
    await page.get_by_text("half \ud800").click()
    await page.get_by_text(f"{note:>3}").click()
"#;
    let all = translate(text, None).expect("reads");
    let reasons = of(&all, "add").translated.clone().expect_err("left out");
    let told: Vec<(usize, &str)> = reasons.iter().map(|one| (one.line, one.reason.as_str())).collect();
    assert_eq!(told, [(5, "a text with half of a character"), (6, "only names can stand in a text")]);
    let kept = text.lines().take(4).collect::<Vec<_>>().join("\n");
    let all = translate(&kept, None).expect("reads");
    let source = of(&all, "add").translated.clone().expect("translated");
    assert!(source.contains(r#"page.get_by_label("A \"b\" c").fill("\\d " + note + "!");"#), "{source}");
}

#[test]
fn the_parser_ends_by_itself_although_its_input_does_not() {
    let hurried = SYNTAX_PROGRAM.replace("SECONDS = 1 << 30, 20", "SECONDS = 1 << 30, 1");
    assert_ne!(hurried, SYNTAX_PROGRAM);
    let mut python = Command::new("python3")
        .args(["-I", "-S", "-c", hurried.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("python3 starts");
    let open = python.stdin.take();
    assert!(!python.wait().expect("ends").success());
    drop(open);
}

#[test]
fn what_is_nested_without_end_is_left_out_or_refused() {
    let deep = |inner: String| format!("def f(page):\n    \"\"\"Does it.\"\"\"\n{inner}");
    let calls = deep(format!("    page{}\n", ".locator('a')".repeat(200)));
    let blocks = deep(
        (1..60).map(|depth| format!("{}if page.x():\n", "    ".repeat(depth))).collect::<String>()
            + "    ".repeat(60).as_str()
            + "pass\n",
    );
    for text in [calls, blocks] {
        let all = translate(&text, None).expect("reads");
        let reasons = of(&all, "f").translated.clone().expect_err("left out");
        assert!(reasons.iter().any(|one| one.reason.contains(" deep")), "{reasons:?}");
    }
    let brackets = deep(format!("    page.x({}1{})\n", "(".repeat(5000), ")".repeat(5000)));
    let all = translate(&brackets, None).expect("reads");
    let reasons = of(&all, "f").translated.clone().expect_err("left out");
    assert!(reasons[0].reason.starts_with("not Python: "), "{reasons:?}");
}

/// Returns the names of the functions that are Python, and the line and name of each that is not.
fn parted(text: &str) -> (Vec<String>, Vec<(usize, String)>) {
    let (mut sound, mut broken) = (Vec::new(), Vec::new());
    for PlaywrightFunction { name, translated, .. } in translate(text, None).expect("reads") {
        match translated {
            Err(reasons) if reasons[0].reason.starts_with("not Python: ") => {
                broken.push((reasons[0].line, name));
            }
            Ok(_) | Err(_) => sound.push(name),
        }
    }
    (sound, broken)
}

#[test]
fn a_function_that_is_not_python_leaves_the_others_as_they_are() {
    let good = |name: &str| format!("def {name}(page):\n    page.get_by_label(\"{name}\").click()\n\n");
    let with = |middle: &str| format!("{}{middle}\n{}", good("first"), good("last"));
    let both = || vec!["first".to_owned(), "last".to_owned()];
    let cases = [
        ("def open(page:\n    return 1\n", 4, "open"),
        ("async def empty(page):\n", 6, "empty"),
        ("@one\n@two\ndef odd(page):\n    page.x(\n", 7, "odd"),
        ("def odd(page):\n  page.x()\n page.y()\n", 6, "odd"),
        ("def odd(page):\n    \"\"\"Such as\ndef odd(page):\n    \"\"\"\n    page.x(\n", 8, "odd"),
        ("class Odd:\n    x = = 1\n", 5, "Odd"),
    ];
    for (broken, line, name) in cases {
        assert_eq!(parted(&with(broken)), (both(), vec![(line, name.to_owned())]), "{broken}");
    }
    let two = format!("{}def empty(page):\n", with("def open(page:\n"));
    assert_eq!(parted(&two), (both(), vec![(4, "open".to_owned()), (9, "empty".to_owned())]));
}

#[test]
fn what_is_wrong_outside_of_functions_is_refused_with_its_file() {
    let good = "def first(page):\n    page.get_by_label(\"a\").click()\n";
    // A stray quote joins functions to a text: what would be left is not what was written.
    let stray =
        format!("def odd(page):\n    x = \"\"\"\n{good}def b(page):\n    \"\"\"Doc.\"\"\"\n    pass\n");
    let odd = "def odd(page):\n    x = = 1\n";
    let many = odd.repeat(21);
    for (text, line) in [(format!("x = = 1\n{good}"), 1), (stray, 6), (many.clone(), 2)] {
        let told = translate(&text, None);
        assert!(matches!(told, Err(PlaywrightError::NotPython { line: at, .. }) if at == line), "{told:?}");
    }
    assert_eq!(parted(&many[odd.len()..]).1.len(), 20);
}
