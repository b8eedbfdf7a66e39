//! Widgets of real libraries, at their newest versions, on pages of our own (`tests/widgets`): whether a list shows them, whether an
//! act reaches them, and whether the answer is true. `scripts/conformance/widgets` fetches and bundles them.
#![expect(clippy::disallowed_methods, reason = "a lane of its own, which names its pages")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use apprentice_harness::agent::view_text;
use apprentice_protocol::{Button, Chord, Delivery, FieldValue, Target, View};

use crate::desk::{Act, Desk, HOME, SCREEN, key, select};

/// What is done, in the order of a case.
enum Step {
    Click(&'static str, &'static str),
    Type(&'static str),
    Key(&'static str),
    Fill(&'static str, &'static str, &'static str),
    Turn(&'static str, &'static str),
    Select(&'static str, &'static str, &'static str),
    /// From one element to another.
    Drag(&'static str, &'static str),
    Double(&'static str, &'static str),
}

use Step::{Click, Double, Drag, Fill, Key, Select, Turn, Type};

/// A widget: its page and name, the element that a list must show first, what is done, and what the page holds then.
type Case = (&'static str, &'static str, (&'static str, &'static str), &'static [Step], &'static str);

const MUI: &[Case] = &[
    (
        "mui",
        "MUI DatePicker",
        ("spinbutton", "Month"),
        &[Click("spinbutton", "Month"), Type("05172027")],
        r#""day":"2027-05-17""#,
    ),
    (
        "mui",
        "MUI TimePicker",
        ("spinbutton", "Hours"),
        &[Click("spinbutton", "Hours"), Type("1045AM")],
        r#""hour":"10:45""#,
    ),
    (
        "mui",
        "MUI Autocomplete",
        ("combobox", "Fruit"),
        &[Click("combobox", "Fruit"), Type("che"), Click("option", "Cherry")],
        r#""fruit":"Cherry""#,
    ),
    ("mui", "MUI Slider", ("slider", "Volume"), &[Fill("slider", "Volume", "45")], r#""volume":45"#),
    (
        "mui",
        "MUI Slider by keys",
        ("slider", "Volume"),
        &[Click("slider", "Volume"), Key("Right"), Key("Right")],
        r#""volume":32"#,
    ),
    (
        "mui",
        "MUI Select",
        ("combobox", "Size"),
        &[Click("combobox", "Size"), Click("option", "Medium")],
        r#""size":"medium""#,
    ),
    ("mui", "MUI Switch", ("switch", "Wifi"), &[Turn("switch", "Wifi")], r#""wifi":true"#),
    ("mui", "MUI Checkbox", ("checkbox", "Terms"), &[Click("checkbox", "Terms")], r#""terms":true"#),
    ("mui", "MUI Rating", ("radio", "4 Stars"), &[Click("radio", "4 Stars")], r#""stars":4"#),
    (
        "mui",
        "MUI multiline field",
        ("textbox", "Note"),
        &[Fill("textbox", "Note", "one\ntwo")],
        r#""note":"one\ntwo""#,
    ),
];
const HEADLESS: &[Case] = &[
    (
        "headless",
        "Radix Select",
        ("combobox", "Fruit"),
        &[Click("combobox", "Fruit"), Click("option", "Grape")],
        r#""fruit":"Grape""#,
    ),
    (
        "headless",
        "Radix menu",
        ("button", "Options"),
        &[Click("button", "Options"), Click("menuitem", "Rename")],
        r#""done":"rename""#,
    ),
    (
        "headless",
        "Radix submenu",
        ("button", "Options"),
        &[Click("button", "Options"), Click("menuitem", "More"), Click("menuitem", "Archive")],
        r#""done":"archive""#,
    ),
    (
        "headless",
        "Headless UI Listbox",
        ("button", "Person"),
        &[Click("button", "Person"), Click("option", "Cleo")],
        r#""person":"Cleo""#,
    ),
    (
        "headless",
        "Headless UI Combobox",
        ("combobox", "Helper"),
        &[Click("combobox", "Helper"), Type("bo"), Click("option", "Bob")],
        r#""helper":"Bob""#,
    ),
    ("headless", "Headless UI Switch", ("switch", "Dark"), &[Click("switch", "Dark")], r#""dark":true"#),
];
const REACT: &[Case] = &[
    (
        "react",
        "React field",
        ("textbox", "Name"),
        &[Fill("textbox", "Name", "Ann Lee")],
        r#""name":"Ann Lee""#,
    ),
    (
        "react",
        "React field by keys",
        ("textbox", "Name"),
        &[Click("textbox", "Name"), Type("Böb")],
        r#""name":"Böb""#,
    ),
    (
        "react",
        "React select",
        ("combobox", "Tier"),
        &[Select("combobox", "Tier", "Gold")],
        r#""tier":"gold""#,
    ),
    ("react", "React check box", ("checkbox", "Agree"), &[Click("checkbox", "Agree")], r#""agreed":true"#),
    (
        "react",
        "react-select",
        ("combobox", "City"),
        &[Click("combobox", "City"), Type("pa"), Click("option", "Paris")],
        r#""city":"paris""#,
    ),
    (
        "react",
        "react-select of several",
        ("combobox", "Stops"),
        &[Click("combobox", "Stops"), Type("ro\n"), Type("os\n")],
        r#""stops":["rome","oslo"]"#,
    ),
    (
        "react",
        "react-otp-input",
        ("textbox", "Please enter OTP character 1"),
        &[Click("textbox", "Please enter OTP character 1"), Type("482913")],
        r#""code":"482913""#,
    ),
    ("react", "input-otp", ("textbox", "Pin"), &[Click("textbox", "Pin"), Type("7351")], r#""pin":"7351""#),
    (
        "react",
        "cmdk",
        ("button", "Commands"),
        &[Click("button", "Commands"), Type("ren"), Key("Return")],
        r#""command":"Rename branch""#,
    ),
    ("react", "react-window", ("button", "Open item 2"), &[Click("button", "Open item 2")], r#""item":2"#),
];
const FIELDS: &[Case] = &[
    (
        "fields",
        "Select2",
        ("combobox", "France"),
        &[Click("combobox", "France"), Type("ger\n")],
        r#""country":"de""#,
    ),
    (
        "fields",
        "flatpickr",
        ("textbox", "Arrival"),
        &[Click("textbox", "Arrival"), Type("2027-05-17\n")],
        r#""arrival":"2027-05-17""#,
    ),
    (
        "fields",
        "flatpickr with a time",
        ("textbox", "Meeting"),
        &[Click("textbox", "Meeting"), Type("2027-05-17 10:45\n")],
        r#""meeting":"2027-05-17 10:45""#,
    ),
    (
        "fields",
        "noUiSlider",
        ("slider", "Least"),
        &[Click("slider", "Least"), Key("Right"), Key("Right")],
        r#""budget":["30.00""#,
    ),
    (
        "fields",
        "noUiSlider, filled",
        ("slider", "Most"),
        &[Fill("slider", "Most", "55")],
        r#""budget":["20.00","55.00"]"#,
    ),
    (
        "fields",
        "Tom Select",
        ("combobox", "Team"),
        &[Click("combobox", "Team"), Type("gre\n")],
        r#""team":"g""#,
    ),
    (
        "fields",
        "IMask",
        ("textbox", "Phone"),
        &[Click("textbox", "Phone"), Type("5551234567")],
        r#""phone":"15551234567""#,
    ),
    (
        "fields",
        "Cleave",
        ("textbox", "Card"),
        &[Click("textbox", "Card"), Type("4111111111111111")],
        r#""card":"4111111111111111""#,
    ),
    (
        "fields",
        "typeahead-standalone",
        ("textbox", "Fruit"),
        &[Click("textbox", "Fruit"), Type("apr"), Key("Down"), Key("Return")],
        r#""fruit":"Apricot""#,
    ),
    (
        "fields",
        "Vue field",
        ("textbox", "Mail"),
        &[Fill("textbox", "Mail", "a@b.example")],
        r#""mail":"a@b.example""#,
    ),
    ("fields", "Vue check box", ("checkbox", "Loud"), &[Click("checkbox", "Loud")], r#""loud":true"#),
];
const EDITORS: &[Case] = &[
    (
        "codemirror",
        "CodeMirror, filled",
        ("textbox", ""),
        &[Fill("textbox", "", "if (x) {\n  y();\n}")],
        r#""text":"if (x) {\n\u0020\u0020y();\n}""#,
    ),
    (
        "codemirror",
        "CodeMirror, typed",
        ("textbox", ""),
        &[Click("textbox", ""), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    ("tiptap", "TipTap, filled", ("textbox", ""), &[Fill("textbox", "", "one\ntwo")], r#""text":"one\ntwo""#),
    (
        "tiptap",
        "TipTap, typed",
        ("textbox", ""),
        &[Click("textbox", ""), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    ("quill", "Quill, filled", ("textbox", ""), &[Fill("textbox", "", "one\ntwo")], r#""text":"one\ntwo""#),
    (
        "quill",
        "Quill, typed",
        ("textbox", ""),
        &[Click("textbox", ""), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "slate",
        "Slate, filled",
        ("textbox", "Body"),
        &[Fill("textbox", "Body", "one\ntwo")],
        r#""text":"one\ntwo""#,
    ),
    (
        "slate",
        "Slate, typed",
        ("textbox", "Body"),
        &[Click("textbox", "Body"), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "draft",
        "Draft.js, filled",
        ("textbox", "Body"),
        &[Fill("textbox", "Body", "one\ntwo")],
        r#""text":"one\ntwo""#,
    ),
    (
        "draft",
        "Draft.js, typed",
        ("textbox", "Body"),
        &[Click("textbox", "Body"), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "lexical",
        "Lexical, filled",
        ("textbox", ""),
        &[Fill("textbox", "", "one\ntwo")],
        r#""text":"one\ntwo""#,
    ),
    (
        "lexical",
        "Lexical, typed",
        ("textbox", ""),
        &[Click("textbox", ""), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "tinymce",
        "TinyMCE, filled",
        ("textbox", ""),
        &[Fill("textbox", "", "one\ntwo")],
        r#""text":"one\ntwo""#,
    ),
    (
        "tinymce",
        "TinyMCE, typed",
        ("textbox", ""),
        &[Click("textbox", ""), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "monaco",
        "Monaco, typed",
        ("textbox", "Body"),
        &[Click("textbox", "Body"), Key("ctrl+End"), Type(" more")],
        r#""text":"old text more""#,
    ),
    (
        "monaco",
        "Monaco, filled",
        ("textbox", "Body"),
        &[Fill("textbox", "Body", "if (x) {\n  y();\n}")],
        r#""text":"if (x) {\n\u0020\u0020y();\n}""#,
    ),
    (
        "monaco",
        "Monaco, replaced",
        ("textbox", "Body"),
        &[Click("textbox", "Body"), Key("ctrl+a"), Type("new")],
        r#""text":"new""#,
    ),
];
const GRIDS: &[Case] = &[
    (
        "aggrid",
        "AG Grid, a cell typed over",
        ("cell", "Person 3"),
        &[Click("cell", "Person 3"), Type("New\n")],
        r#""changed":["3 New false"]"#,
    ),
    (
        "aggrid",
        "AG Grid, a cell by double click",
        ("cell", "Person 4"),
        &[Double("cell", "Person 4"), Key("ctrl+a"), Type("Four\n")],
        r#""changed":["4 Four false"]"#,
    ),
    (
        "handsontable",
        "Handsontable",
        ("cell", "Ben"),
        &[Click("cell", "Ben"), Type("Bea\n")],
        r#""data":["Ann",1,"Bea",2"#,
    ),
    (
        "moving",
        "dnd-kit with a delay",
        ("button", "One"),
        &[Drag("One", "Three")],
        r#""order":"TwoThreeOne""#,
    ),
    ("moving", "SortableJS, native", ("text", "N1"), &[Drag("N1", "N3")], r#""native":"N2N3N1""#),
    ("moving", "SortableJS, its own", ("text", "F1"), &[Drag("F1", "F3")], r#""own":"F2F3F1""#),
    (
        "moving",
        "jQuery UI Autocomplete",
        ("textbox", "Tag"),
        &[Click("textbox", "Tag"), Type("be"), Click("text", "beech")],
        r#""tag":"beech""#,
    ),
    (
        "moving",
        "jQuery UI Datepicker",
        ("textbox", "Day"),
        &[Click("textbox", "Day"), Type("05/17/2027\n")],
        r#""day":"05/17/2027""#,
    ),
    (
        "moving",
        "xterm.js",
        ("textbox", "Terminal input"),
        &[Click("textbox", "Terminal input"), Type("ls -l\n")],
        r#""sent":"ls -l\r""#,
    ),
];

/// The page of a widget: several share a bundle.
fn html(page: &str) -> String {
    let bundle = match page {
        "codemirror" | "tiptap" | "quill" | "slate" | "draft" | "lexical" => "editors",
        "aggrid" | "handsontable" => "grids",
        other => other,
    };
    format!(
        "<!doctype html><meta charset=utf-8><title>{page}</title><link rel=stylesheet href={bundle}.css>
         <h1>{page}</h1><div id=app></div><script src={bundle}.js data-kind={page}></script>"
    )
}

/// Copies the bundles into a desk's home.
async fn copy(desk: &Desk, from: &Path) {
    for entry in std::fs::read_dir(from).expect("the bundles").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = std::fs::read(entry.path()).expect("a bundle");
        desk.machine.write(&format!("{HOME}/widgets/{name}"), &bytes).await.expect("written");
    }
}

/// The reference of the first element of a role whose name holds a text, with its place.
async fn find(desk: &mut Desk, role: &str, name: &str) -> Option<apprentice_protocol::UiNode> {
    let tree = desk.look().await.tree.expect("a tree");
    let fits = |node: &&apprentice_protocol::UiNode| {
        (role.is_empty() || node.role.as_str() == role)
            && (node.name == name
                || (name.is_empty() && node.bounds.is_some())
                || node.name.starts_with(name))
    };
    tree.nodes.iter().find(fits).cloned()
}

/// Does one step, and returns why it was refused, if it was.
async fn act(desk: &mut Desk, step: &Step) -> Option<String> {
    let (role, name) = match step {
        Click(role, name) | Double(role, name) | Turn(role, name) => (*role, *name),
        Fill(role, name, _) | Select(role, name, _) => (*role, *name),
        Drag(from, _) => ("", *from),
        Type(_) | Key(_) => ("", ""),
    };
    let node = match step {
        Type(_) | Key(_) => None,
        _ => match find(desk, role, name).await {
            Some(node) => Some(node),
            None => return Some(format!("no {role} {name:?} is listed")),
        },
    };
    let at = || Target::Ref(node.as_ref().expect("found").id.clone());
    let action = match step {
        Click(..) => Act::Click { at: at(), button: Button::Left, count: 1, hold: None },
        Double(..) => Act::Click { at: at(), button: Button::Left, count: 2, hold: None },
        Turn(..) => Act::Fill { at: at(), value: FieldValue::Checked(true) },
        Fill(_, _, value) => Act::Fill { at: at(), value: FieldValue::Text((*value).into()) },
        Select(_, _, option) => select(&node.as_ref().expect("found").id, option),
        Type(text) => Act::Type { text: (*text).into() },
        Key(chord) => key(Chord::parse(chord).expect("a chord").to_string().as_str()),
        Drag(_, to) => {
            let centre = |node: &apprentice_protocol::UiNode| node.bounds.and_then(|bounds| bounds.centre());
            let to = find(desk, "", to).await.and_then(|node| centre(&node));
            let (Some(from), Some(to)) = (node.as_ref().and_then(centre), to) else {
                return Some("has no place".into());
            };
            Act::Drag {
                path: vec![from, apprentice_protocol::ScreenPoint::new(to.x, to.y + 8)],
                button: Button::Left,
            }
        }
    };
    match desk.act(action).await.delivery {
        Delivery::Delivered => None,
        Delivery::Refused { problem } => Some(problem),
    }
}

#[tokio::test]
#[ignore = "needs the bundles of scripts/conformance/widgets"]
async fn widgets_of_real_libraries_are_seen_used_and_answered_for() {
    let Some(from) = std::env::var_os("APPRENTICE_WIDGETS").map(PathBuf::from) else {
        panic!("run scripts/conformance/widgets");
    };
    let mut desk = Desk::open().await;
    copy(&desk, &from).await;
    let (mut table, mut right, mut count) = (String::new(), [0; 3], 0);
    for (page, name, (role, label), steps, expected) in
        [MUI, HEADLESS, REACT, FIELDS, EDITORS, GRIDS].concat()
    {
        count += 1;
        desk.machine
            .write(&format!("{HOME}/widgets/{page}.html"), html(page).as_bytes())
            .await
            .expect("written");
        desk.delivered(Act::Navigate { url: format!("file://{HOME}/widgets/{page}.html") }).await;
        let tree = desk.look().await.tree.expect("a tree");
        let list = view_text(None, &tree, &View::whole(SCREEN));
        let seen = list
            .lines()
            .any(|line| line.contains(role) && line.contains(label) && !line.contains("(off the screen)"));
        let mut refused = None;
        for step in steps {
            refused = act(&mut desk, step).await;
            if refused.is_some() {
                break;
            }
        }
        // The page writes its title every 50 ms.
        let mut title = desk.title().await;
        for _ in 0..5 {
            if title.contains(expected) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(60)).await;
            title = desk.title().await;
        }
        let acted = title.contains(expected);
        let answered = acted == refused.is_none();
        for (slot, is_right) in right.iter_mut().zip([seen, acted, answered]) {
            *slot += usize::from(is_right);
        }
        let word = |is_right: bool| if is_right { "yes" } else { "NO" };
        let why =
            refused.unwrap_or_else(|| if acted { String::new() } else { format!("the page holds {title}") });
        let _ = writeln!(table, "| {name} | {} | {} | {} | {why} |", word(seen), word(acted), word(answered));
    }
    println!("| widget | seen | acted | answered | |\n|---|---|---|---|---|\n{table}");
    println!(
        "{} of {} right: seen {}, acted {}, answered {}",
        right.iter().sum::<usize>(),
        count * 3,
        right[0],
        right[1],
        right[2]
    );
    desk.close().await;
    assert!(right.iter().sum::<usize>() * 36 >= count * 3 * 35, "at least 35 of 36");
}
