//! Paths that hold no run, in every command that reads one: what they are is said in the same words everywhere.

use std::fs;
use std::os::unix::net::UnixListener;

use crate::experiment::{bench, garden};
use crate::place::Place;

/// A command, and what it reads in the words of its error.
struct Reader {
    before: &'static [&'static str],
    after: &'static [&'static str],
    wanted: &'static str,
}

const READERS: [Reader; 11] = [
    Reader { before: &["report"], after: &[], wanted: "a run, an experiment or a file of rows" },
    Reader { before: &["grade"], after: &[], wanted: "a run" },
    Reader { before: &["sql"], after: &["select 1"], wanted: "a run" },
    Reader { before: &["resume"], after: &[], wanted: "a run or an experiment" },
    Reader { before: &["export", "--format", "csv", "--out", "x"], after: &[], wanted: "a run" },
    Reader { before: &["bundle"], after: &["--out", "x.tar.gz"], wanted: "a run or an experiment" },
    Reader {
        before: &["learn", "--suite", "garden", "--skillbook", "book"],
        after: &[],
        wanted: "a run or an attempt of `apprentice do`",
    },
    Reader { before: &["compare"], after: &["run"], wanted: "a run or a file of rows" },
    Reader {
        before: &["view", "--json"],
        after: &[],
        wanted: "a run, an experiment, a bundle or a folder of runs",
    },
    Reader { before: &["verify"], after: &[], wanted: "a run, an experiment or a bundle" },
    Reader {
        before: &["fork", "0", "--at", "1", "--model", "builtin/novice", "--run"],
        after: &[],
        wanted: "a run, an experiment or a folder of runs",
    },
];

/// The first line of a command's error about `path`.
fn refusal(place: &Place, reader: &Reader, path: &str) -> String {
    let command: Vec<&str> = reader.before.iter().chain([&path]).chain(reader.after).copied().collect();
    let output = place.output(&command);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{command:?}: {told}");
    assert!(output.stdout.is_empty(), "{command:?}");
    told.lines()
        .find(|line| line.starts_with("error: "))
        .unwrap_or_else(|| panic!("{command:?}: {told}"))
        .to_owned()
}

#[test]
fn every_command_says_the_same_of_a_wrong_place() {
    let place = garden();
    fs::create_dir(place.path("empty")).expect("a folder");
    fs::write(place.path("file.txt"), "text").expect("written");
    fs::create_dir_all(place.path("other/inner")).expect("a folder");
    let _socket = UnixListener::bind(place.path("socket")).expect("a socket");
    let give = "give the folder that `apprentice run` or `apprentice bench` printed";
    let cases = [
        ("empty", "is an empty folder", give),
        ("file.txt", "is a file", give),
        ("other", "is a folder that holds no run", give),
        ("socket", "is a pipe, a socket or a device", give),
        ("garden", "is a suite of tasks", "`apprentice run garden` makes a run of it"),
        ("book", "is a skillbook", give),
    ];
    for reader in &READERS {
        let wanted = reader.wanted;
        for (path, is, remedy) in cases {
            let expected = format!("error: {path} {is}, not {wanted}; {remedy}");
            assert_eq!(refusal(&place, reader, path), expected);
        }
        let expected = format!("error: missing does not exist; give {wanted}");
        assert_eq!(refusal(&place, reader, "missing"), expected);
        assert!(
            !place.path("missing").exists() && !place.path("x").exists() && !place.path("x.tar.gz").exists()
        );
    }
}

#[test]
fn where_a_run_is_wanted_an_experiment_and_a_folder_of_runs_name_one() {
    let place = garden();
    let benched = place.output(&bench(&[]));
    assert_eq!(benched.status.code(), Some(0), "{}", String::from_utf8_lossy(&benched.stderr));
    let runs = fs::read_dir(place.path("out/measure")).expect("runs");
    let run = runs.flatten().next().expect("a run").file_name().to_string_lossy().into_owned();
    let attempt = place.path("out/measure").join(&run).join("trials");
    let trial = fs::read_dir(&attempt).expect("trials").flatten().next().expect("a trial");
    let attempt = trial.path().join("attempt-01").to_string_lossy().into_owned();
    for reader in READERS.iter().filter(|reader| !reader.wanted.contains("experiment")) {
        let wanted = reader.wanted;
        let cases = [
            (
                "out",
                format!("is an experiment, not {wanted}; give one of its runs, such as out/measure/{run}"),
            ),
            ("out/measure", format!("is a folder that holds one run, not {wanted}; give out/measure/{run}")),
        ];
        for (path, expected) in cases {
            assert_eq!(refusal(&place, reader, path), format!("error: {path} {expected}"));
        }
        let told = refusal(&place, reader, &attempt);
        assert!(
            told.contains(&format!("is the folder of one attempt, not {wanted}; give its run, ")),
            "{told}"
        );
    }
}
