//! Properties of the store: committed data survives a crash after any byte, whatever was written.

use std::fs;

use apprentice_skillbook::{At, Change, OpId, Snapshot};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::Config;

use crate::deeds::{act, deed};
use crate::shelf::{Shelf, create, id, text, tree, write};

proptest! {
    #![proptest_config(Config::with_cases(24))]

    #[test]
    fn what_is_written_reads_back_at_every_moment(deeds in proptest::collection::vec(deed(), 1..14)) {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let mut hashes = Vec::new();
        for deed in &deeds {
            act(&mut gateway, deed);
            hashes.push((gateway.state().last, gateway.snapshot().content_hash()));
        }
        drop(gateway);
        let now = shelf.snapshot();
        prop_assert!(now.pending().is_empty() && now.problems().is_empty());
        for (moment, hash) in hashes {
            let then = Snapshot::open(shelf.path(), At::Operation(moment)).expect("opens");
            prop_assert_eq!(then.content_hash(), hash);
        }
        let before = tree(shelf.path());
        drop(shelf.open());
        prop_assert_eq!(tree(shelf.path()), before);
    }
}

#[test]
fn a_log_cut_at_any_byte_gives_the_committed_prefix() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let (mut gateway, _) = shelf.open();
    write(&mut gateway, Change::SkillAnnotated { skill: id("gimp/a"), note: "seen".into() })
        .expect("written");
    drop(gateway);
    let log = fs::read(shelf.path().join(".meta/ops.jsonl")).expect("a log");
    let state_at = |lines: usize| {
        Snapshot::open(shelf.path(), At::Operation(OpId(u64::try_from(lines).expect("fits")))).expect("opens")
    };
    for cut in 0..=log.len() {
        let lines = log[..cut].iter().filter(|byte| **byte == b'\n').count();
        let reader = Shelf::new();
        fs::create_dir_all(reader.path().join(".meta")).expect("a folder");
        fs::write(reader.path().join(".meta/ops.jsonl"), &log[..cut]).expect("writes");
        let seen = Snapshot::open(reader.path(), At::Operation(OpId(u64::MAX))).expect("opens");
        assert_eq!(seen.content_hash(), state_at(lines).content_hash(), "cut at {cut}");
        // A writer syncs at every opening, so it tries the borders and every 40th byte.
        let border = [0, 1].iter().any(|past| log.get(cut.wrapping_sub(*past)) == Some(&b'\n'));
        if !border && cut % 40 != 0 {
            continue;
        }
        let crashed = Shelf::new();
        fs::create_dir_all(crashed.path().join(".meta")).expect("a folder");
        fs::write(crashed.path().join(".meta/ops.jsonl"), &log[..cut]).expect("writes");
        // Pages as a crash right after the last committed line leaves them.
        let done = state_at(lines.saturating_sub(1));
        for skill in done.skills() {
            crashed.edit(&format!("{}.md", skill.id), &skill.page().render());
        }
        let (gateway, opened) = crashed.open();
        assert_eq!(gateway.snapshot().content_hash(), state_at(lines).content_hash(), "cut at {cut}");
        assert_eq!(opened.recorded, [""; 0], "cut at {cut}: nothing is taken for a person's edit");
        drop(gateway);
        let kept = fs::read(crashed.path().join(".meta/ops.jsonl")).expect("a log");
        assert_eq!(kept.iter().filter(|byte| **byte == b'\n').count(), lines);
        assert!(log.starts_with(&kept), "cut at {cut}: the torn line is gone from the log");
    }
}

#[test]
fn a_torn_line_is_moved_aside_and_work_goes_on() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let log = shelf.path().join(".meta/ops.jsonl");
    let mut bytes = fs::read(&log).expect("a log");
    let whole = bytes.len();
    bytes.extend_from_slice(br#"{"v":1,"id":"o2","ti"#);
    fs::write(&log, bytes).expect("writes");
    assert_eq!(shelf.snapshot().skills().count(), 1, "a reader passes over it");
    assert!(shelf.snapshot().has_torn_line());
    let (mut gateway, opened) = shelf.open();
    assert_eq!(opened.set_aside, Some(format!(".meta/ops.torn-{whole}")));
    assert!(!shelf.snapshot().has_torn_line());
    create(&mut gateway, "gimp/b", "beta");
    assert_eq!(gateway.state().last, OpId(2));
    let aside = fs::read_to_string(shelf.path().join(format!(".meta/ops.torn-{whole}"))).expect("kept");
    assert!(aside.starts_with("{\"v\":1"));
}

#[test]
fn an_unknown_operation_is_kept_and_a_broken_line_is_named() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let log = shelf.path().join(".meta/ops.jsonl");
    let mut text = fs::read_to_string(&log).expect("a log");
    let later = r#"{"v":9,"id":"o2","time":"1970-01-01T00:00:00Z","actor":"human","op":"skill.sung","data":{"b": 1,"a":2}}"#;
    text.push_str(later);
    text.push_str("\nnot json\n");
    fs::write(&log, &text).expect("writes");
    let (mut gateway, opened) = shelf.open();
    let told: Vec<&str> = opened.problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("line 2: \"skill.sung\" is an operation of a later version"), "{told:?}");
    assert!(told[1].starts_with("line 3: not an operation"), "{told:?}");
    create(&mut gateway, "gimp/b", "beta");
    assert_eq!(gateway.state().last, OpId(3));
    assert!(fs::read_to_string(&log).expect("a log").starts_with(&text), "nothing is rewritten");
}

#[test]
fn an_unfinished_write_is_completed_from_the_log() {
    let shelf = Shelf::with(&[("gimp/a", "alpha"), ("gimp/b", "beta")]);
    let before = tree(shelf.path());
    let (mut gateway, _) = shelf.open();
    let merged =
        Change::SkillMerged { source: id("gimp/a"), target: id("gimp/b"), text: text("d", "s", "g") };
    write(&mut gateway, merged).expect("written");
    drop(gateway);
    let after = tree(shelf.path());
    // The log got the operation, the pages did not.
    for (path, bytes) in before.iter().filter(|(path, _)| *path != ".meta/ops.jsonl") {
        fs::write(shelf.path().join(path), bytes).expect("writes");
    }
    fs::remove_file(shelf.path().join(".meta/cache/applied")).expect("removes");
    let (_, opened) = shelf.open();
    assert_eq!(opened.completed, ["gimp/b.md", "gimp/a.md"]);
    assert_eq!(tree(shelf.path()), after);
}

#[test]
fn an_operation_that_stands_there_twice_acts_once_and_is_named() {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let note = Change::SkillAnnotated { skill: id("gimp/a"), note: "[unclear] which menu".into() };
    write(&mut gateway, note).expect("written");
    drop(gateway);
    let log = shelf.path().join(".meta/ops.jsonl");
    let text = fs::read_to_string(&log).expect("a log");
    let before = shelf.snapshot();
    let last = text.lines().last().expect("a line");
    fs::write(&log, format!("{text}{last}\n")).expect("writes");
    let book = shelf.snapshot();
    assert_eq!(book.content_hash(), before.content_hash(), "the note counts once");
    assert_eq!(book.problems()[0].what, "line 3: o2 is repeated; it counts once");
    let other = last.replace("which menu", "which dialog");
    fs::write(&log, format!("{text}{other}\n")).expect("writes");
    let book = shelf.snapshot();
    assert_eq!(book.problems()[0].what, "line 3: o2 is the id of two operations; both are applied");
    assert_eq!(book.state().skills[&id("gimp/a")].notes.len(), 2, "nothing is lost");
}
