//! Recall of the search: how often it finds the skill that a request means, in words other than the skill's own, among
//! a thousand other skills. Two sets of requests share hardly a word with their skills: `tuned`, which the list of
//! related words was written for, and `fresh`, which it was not. The third set contains the instructions of OSWorld's
//! tasks, as people wrote them. The required minimum is the recall of words alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_skillbook::{Actor, At, Change, OPERATION_VERSION, OpId, Operation, Origin, Snapshot};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::clerk::run;
use crate::shelf::{id, text};

const DISTRACTORS: usize = 1000;
const TUNED: &str = include_str!("recall/tuned.txt");
const FRESH: &str = include_str!("recall/fresh.txt");
const OSWORLD: &str = include_str!("recall/osworld.txt");

struct Pair {
    skill: &'static str,
    parts: [&'static str; 3],
    asked: &'static str,
}

fn pairs(text: &'static str) -> Vec<Pair> {
    let read = |line: &'static str| {
        let parts: Vec<&str> = line.split('|').collect();
        let [skill, description, situation, guidance, asked] = parts[..] else {
            panic!("five parts: {line}")
        };
        Pair { skill, parts: [description, situation, guidance], asked }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(read).collect()
}

/// Skills about things of the same programs, in similar words.
fn distractor(number: usize) -> (String, [String; 3]) {
    const APPS: [&str; 8] =
        ["gimp", "libreoffice-calc", "libreoffice-writer", "chromium", "thunar", "mousepad", "os", "vs-code"];
    const DEEDS: [&str; 10] = [
        "Setting",
        "Showing",
        "Copying",
        "Printing",
        "Sorting",
        "Locking",
        "Sharing",
        "Comparing",
        "Checking",
        "Resetting",
    ];
    const THINGS: [&str; 25] = [
        "ruler units",
        "toolbar icons",
        "recent documents",
        "status line",
        "measurement of angles",
        "thumbnail cache",
        "document properties",
        "keyboard layout hints",
        "template gallery",
        "backup copies",
        "signature lines",
        "colour profile",
        "page preview",
        "macro library",
        "spelling dictionary",
        "window borders",
        "sound theme",
        "network drives",
        "sample points",
        "gradient editor",
        "tool presets",
        "image metadata",
        "sheet outline",
        "field names",
        "tab order",
    ];
    const WHERE: [&str; 5] = ["View", "Edit", "Tools", "Window", "Options"];
    let (app, deed) = (APPS[number % 8], DEEDS[(number / 8) % 10]);
    let thing = THINGS[(number / 80 + number) % 25];
    let place = WHERE[number % 5];
    let parts = [
        format!("{deed} {thing}"),
        format!("The {thing} should be different when work number {number} begins."),
        format!(
            "1. Open {place} > {thing}. 2. Use the entry for {} and confirm with OK.",
            deed.to_lowercase()
        ),
    ];
    (format!("{app}/{}-{number}", deed.to_lowercase()), parts)
}

/// Builds a book whose skills exist only in the log. Writing them one by one would sync each of them.
fn book(folder: &TempDir, pairs: &[Pair]) -> Snapshot {
    let distractors: Vec<(String, [String; 3])> = (0..DISTRACTORS).map(distractor).collect();
    let others =
        distractors.iter().map(|(skill, parts)| (skill.as_str(), parts.each_ref().map(String::as_str)));
    let mut log = String::new();
    for (number, (skill, [description, situation, guidance])) in
        (1..).zip(others.chain(pairs.iter().map(|pair| (pair.skill, pair.parts))))
    {
        let change = Change::SkillCreated {
            skill: id(skill),
            text: text(description, situation, guidance),
            annotations: Vec::new(),
            origin: Origin::Authored,
            domain: None,
        };
        let operation = Operation {
            version: OPERATION_VERSION,
            id: OpId(number),
            time: Timestamp::UNIX_EPOCH,
            actor: Actor::Human,
            cause: None,
            accepts: None,
            seen: Default::default(),
            citation: Default::default(),
            files: Vec::new(),
            change,
        };
        log.push_str(&(operation.to_line().expect("a line") + "\n"));
    }
    fs::create_dir_all(folder.path().join(".meta")).expect("a folder");
    fs::write(folder.path().join(".meta/ops.jsonl"), log).expect("writes");
    let book = Snapshot::open(folder.path(), At::Operation(OpId(u64::MAX))).expect("opens");
    assert_eq!(book.skills().count(), DISTRACTORS + pairs.len(), "every name is there once");
    book
}

/// Returns the share of requests whose skill is among the first three hits, and the failed requests.
fn recall(book: &Snapshot, pairs: &[Pair], ask: impl Fn(&Pair) -> String) -> (f64, Vec<&'static str>) {
    let found = |pair: &&Pair| run(book.find(&ask(pair), 3)).hits.iter().any(|hit| hit.id == id(pair.skill));
    let missed: Vec<&str> = pairs.iter().filter(|pair| !found(pair)).map(|pair| pair.asked).collect();
    let all = u32::try_from(pairs.len()).expect("few");
    (1.0 - f64::from(u32::try_from(missed.len()).expect("few")) / f64::from(all), missed)
}

/// Searches as a trial does: the request and the program that it is about.
fn with_app(pair: &Pair) -> String {
    format!("{} {}", pair.asked, pair.skill.split('/').next().unwrap_or_default())
}

/// Returns the instructions of OSWorld's tasks, if a folder of them is available.
fn instruction(root: &Path, task: &str) -> Option<String> {
    let folders = fs::read_dir(root.join("examples")).ok()?;
    let file =
        folders.flatten().map(|folder| folder.path().join(format!("{task}.json"))).find(|path| path.exists());
    let task: serde_json::Value = serde_json::from_slice(&fs::read(file?).ok()?).ok()?;
    Some(task["instruction"].as_str()?.to_owned())
}

#[test]
fn a_request_in_other_words_finds_its_skill_among_a_thousand() {
    let (tuned, fresh) = (pairs(TUNED), pairs(FRESH));
    assert!(tuned.len() >= 200 && fresh.len() >= 50, "{} {}", tuned.len(), fresh.len());
    let folder = TempDir::new().expect("a folder");
    let all: Vec<Pair> = [TUNED, FRESH].into_iter().flat_map(pairs).collect();
    let book = book(&folder, &all);
    for (name, pairs, floor) in [("tuned", &tuned, 0.90), ("fresh", &fresh, 0.69)] {
        let (share, missed) = recall(&book, pairs, with_app);
        let (bare, _) = recall(&book, pairs, |pair| pair.asked.to_owned());
        println!("{name}: recall@3 {share:.3} with the program's name, {bare:.3} without");
        assert!(share >= floor, "{name}: {share:.3}, missed {missed:#?}");
    }
    let book = book.with_embedding(Some(Arc::new(EmbeddingModel::builtin())));
    for (name, pairs, floor) in [("tuned", &tuned, 0.91), ("fresh", &fresh, 0.80)] {
        let (share, missed) = recall(&book, pairs, with_app);
        let (bare, _) = recall(&book, pairs, |pair| pair.asked.to_owned());
        println!("{name}, with the built-in vectors: {share:.3} with the program's name, {bare:.3} without");
        assert!(share >= floor, "{name}: {share:.3}, missed {}", missed.len());
    }
}

#[test]
fn an_instruction_as_people_write_it_finds_its_skill_among_a_thousand() {
    #[expect(clippy::disallowed_methods, reason = "the data set's place is given by the environment")]
    let Some(root) = std::env::var_os("APPRENTICE_OSWORLD").map(PathBuf::from) else {
        println!("skipped: OSWorld's instructions, as APPRENTICE_OSWORLD is not set");
        return;
    };
    let real = pairs(OSWORLD);
    let folder = TempDir::new().expect("a folder");
    let all: Vec<Pair> = [TUNED, FRESH, OSWORLD].into_iter().flat_map(pairs).collect();
    let book = book(&folder, &all);
    let asked =
        |pair: &Pair| instruction(&root, pair.asked).unwrap_or_else(|| panic!("no task {}", pair.asked));
    let (bare, _) = recall(&book, &real, asked);
    let (share, missed) = recall(&book, &real, |pair| {
        format!("{} {}", asked(pair), pair.skill.split('/').next().unwrap_or_default())
    });
    println!("OSWorld: recall@3 {share:.3} with the program's name, {bare:.3} without");
    assert!(share >= 0.95, "{share:.3}, missed {missed:#?}");
    let book = book.with_embedding(Some(Arc::new(EmbeddingModel::builtin())));
    let (share, missed) = recall(&book, &real, |pair| {
        format!("{} {}", asked(pair), pair.skill.split('/').next().unwrap_or_default())
    });
    println!("OSWorld, with the built-in vectors: recall@3 {share:.3} with the program's name");
    assert!(share >= 0.95, "{share:.3}, missed {}", missed.len());
}
