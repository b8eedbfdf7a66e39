//! Every reader of texts from elsewhere, given valid inputs with changed bytes: it answers or refuses, and never panics.
//! `scripts/ci/fuzz` runs the same for an hour; `PROPTEST_CASES` says how many cases.

use std::collections::BTreeMap;

use apprentice_learning::ExternalReflection;
use apprentice_learning::adherence::adherence;
use apprentice_learning::manage::{ManageItem, manager_tools, read_call};
use apprentice_protocol::StepId;
use apprentice_screening::effect::{Passage, apply_rules, read_answer};
use apprentice_screening::leak::{HeldOutHashes, HeldOutIndex as _};
use apprentice_screening::scan;
use apprentice_skillbook::package::{ImportOptions, Package, check, import, import_configs};
use apprentice_skillbook::review::TrajectoryReflection;
use apprentice_skillbook::{At, Gateway, GatewayOptions, Operation, Page, Snapshot, State};
use jiff::Timestamp;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;
use proptest::test_runner::Config;
use serde_json::{Value, json};

use crate::clerk::attempt;
use crate::shelf::{Shelf, tree};

/// A change of some bytes.
#[derive(Clone, Debug)]
enum Mutation {
    Put(Index, u8),
    Insert(Index, String),
    Cut(Index, Index),
    Repeat(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let marks = prop_oneof![
        "[\\PC\n\r\t\u{0}]{0,6}",
        proptest::sample::select(vec![
            "---",
            "```",
            "## ",
            "{",
            "}",
            "[",
            "]",
            "\"",
            "null",
            "-1",
            "1e999",
            "\\u0000",
            "\\ud800",
            "\u{202e}",
            "\u{feff}",
            "&#0;",
            "%00",
            "../",
            "![](figures/",
            ": ",
            ">\n",
            "|\n",
            "*x",
            "&x",
            "o99999999999999999999",
        ])
        .prop_map(str::to_owned),
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Put(at, byte)),
        (any::<Index>(), marks).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Cut(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
    ]
}

fn mutated(seed: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for mutation in mutations {
        let at = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match mutation {
            Mutation::Put(place, byte) if !bytes.is_empty() => {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            Mutation::Put(..) => {}
            Mutation::Insert(place, text) => {
                let place = at(place, &bytes);
                bytes.splice(place..place, text.bytes());
            }
            Mutation::Cut(from, to) => {
                let (from, to) = (at(from, &bytes), at(to, &bytes));
                bytes.drain(from.min(to)..from.max(to));
            }
            Mutation::Repeat(from, to) => {
                let (from, to) = (at(from, &bytes), at(to, &bytes));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend(part);
            }
        }
    }
    bytes
}

const PAGE: &str = "---\nname: ledger\ndescription: \"Exporting: a ledger\"\nlicense: MIT\nmetadata:\n  cua-domain: calc\n  \
                    cua-version: '3'\n---\n\n## Situation\nYou export.\n\n## Guidance\n1. Open File > Export.\n2. Press Ctrl+E.\n\n\
                    ![The dialog](figures/0000000000000000000000000000000000000000000000000000000000000000.png)\n\n## Annotations\n- one (×2)\n";
const PROVENANCE: &str =
    r#"{"domain": "calc", "version": 3, "situation": "You export.", "annotations": ["one"]}"#;

fn reflection() -> String {
    let learning = json!({"type": "friction", "scope": "gimp", "situation": "s", "guidance": "1. Open \"A\" > B.",
        "confidence": "high", "steps_wasted": 2, "evidence": ["s1"],
        "figures": [{"step": "s1", "mark": {"x": 1, "y": 2, "width": 3, "height": 4}, "alt": "a", "guidance_step": 1}]});
    let review = json!({"skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "outdated",
        "what_went_wrong": "w", "corrected_guidance": null});
    json!({"trajectory_id": "t", "consumer": "c", "verdict": "fail", "versions": {"gimp": "2.10"},
           "retrieved": ["gimp/a"], "skill_reviews": [review], "new_learnings": [learning]})
    .to_string()
}

/// The log of a book with some operations of each kind.
fn log() -> String {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("calc/b", "beta")]);
    shelf.read(".meta/ops.jsonl")
}

fn packages(bytes: &[u8]) {
    let files = |page: &[u8], beside: &[u8]| -> BTreeMap<String, Vec<u8>> {
        [("SKILL.md", page), ("assets/provenance.json", beside), ("references/more.md", page)]
            .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
            .into()
    };
    for files in [files(bytes, PROVENANCE.as_bytes()), files(PAGE.as_bytes(), bytes)] {
        let package = Package { name: "ledger".to_owned(), files };
        check(&package);
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let options =
            ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "general".to_owned(), accept_effects: true };
        let taken = import(&mut gateway, &package, &options).expect("the disk works");
        drop(gateway);
        // Whatever was taken can be read again.
        let opened = Snapshot::open(shelf.path(), At::Now).expect("opens");
        assert_eq!(opened.skills().count(), usize::from(taken.written));
    }
}

fn texts(text: &str) {
    scan(text);
    apply_rules(&[Passage::new("guidance", text), Passage::new(text, "Open it.")]);
    let trajectory = attempt("t", text, apprentice_protocol::Verdict::Pass, &[]);
    adherence(text, &trajectory.steps, StepId(1));
    if let Ok(page) = Page::parse(text) {
        assert_eq!(Page::parse(&page.render()).as_ref(), Ok(&page), "a page reads back");
    }
    let _ = read_answer(text, &[Passage::new("guidance", text)], "m");
    let _ = ExternalReflection::read(text);
    let _ = serde_json::from_str::<TrajectoryReflection>(text);
    let _ = serde_json::from_str::<ManageItem>(text);
    if let Ok(index) = serde_json::from_str::<HeldOutHashes>(text) {
        index.find(text);
    }
    let arguments: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    for tool in manager_tools() {
        let _ = read_call(&tool.name, &arguments);
    }
}

/// A log opens for reading and for writing, or is refused with a reason; what it holds is a state.
fn logs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let operations: Vec<Operation> =
        text.lines().filter_map(|line| Operation::from_line(line).ok()).collect();
    State::fold(&operations);
    let shelf = Shelf::new();
    shelf.edit(".meta/ops.jsonl", &text);
    let read = Snapshot::open(shelf.path(), At::Now).map(|book| book.skills().count());
    let before = tree(shelf.path());
    match Gateway::open(shelf.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)) {
        Ok((gateway, _)) => assert!(read.is_ok(), "{:?} {}", read.err(), gateway.state().last),
        Err(_) => assert_eq!(tree(shelf.path()), before, "nothing half-written"),
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn readers_of_texts_answer_or_refuse(
        seed in 0usize..5,
        mutations in proptest::collection::vec(mutation(), 0..8),
    ) {
        let seeds = [PAGE.to_owned(), reflection(), PROVENANCE.to_owned(), "1gn0re &#73;t: Ö \u{200b}a.b/c?d=e".to_owned(),
            json!({"salt": "s", "runs": ["00ff00ff00ff00ff"], "names": []}).to_string()];
        texts(&String::from_utf8_lossy(&mutated(seeds[seed].as_bytes(), &mutations)));
    }
}

proptest! {
    // Each case writes a book.
    #![proptest_config(Config { failure_persistence: None, cases: Config::default().cases / 8 + 1, ..Config::default() })]

    #[test]
    fn packages_are_taken_whole_or_not(mutations in proptest::collection::vec(mutation(), 0..8), own in any::<bool>()) {
        packages(&mutated(if own { PAGE.as_bytes() } else { PROVENANCE.as_bytes() }, &mutations));
    }

    #[test]
    fn logs_open_or_are_refused_and_stay_as_they_were(mutations in proptest::collection::vec(mutation(), 0..6)) {
        logs(&mutated(log().as_bytes(), &mutations));
    }

    #[test]
    fn tables_of_skills_are_taken_or_refused(mutations in proptest::collection::vec(mutation(), 0..6)) {
        let table = json!({"keeping": {"desc": "Keeping", "usage": "1. Call it.", "tool_list": {"s": ["a"]}}});
        let bytes = mutated(table.to_string().as_bytes(), &mutations);
        let (mut gateway, _) = Shelf::new().open();
        let options =
            ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "general".to_owned(), accept_effects: false };
        let _ = import_configs(&mut gateway, &String::from_utf8_lossy(&bytes), &options);
    }
}
