//! A run in a queue is read without fetching it: watched while it goes on, graded, exported and asked afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::fleet::Place;
use crate::place::await_some;

/// A viewer that ends with this value.
struct Viewer {
    process: Child,
    url: String,
}

impl Viewer {
    fn of(place: &Place, run: &str) -> Self {
        let mut command = place.command(&format!("view queue:{run} --json"));
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("an output");
        // Several lines make the object.
        let mut reading = BufReader::new(output);
        while serde_json::from_str::<Value>(&line).is_err() {
            assert!(reading.read_line(&mut line).expect("reads") > 0, "the viewer ended: {line}");
        }
        let said: Value = serde_json::from_str(&line).expect("JSON");
        Self { process, url: said["url"].as_str().expect("an address").to_owned() }
    }

    /// The body of an answer, and whether it is one of success.
    fn asked(&self, path: &str) -> (bool, Vec<u8>) {
        let (host, base) =
            self.url.strip_prefix("http://").and_then(|url| url.split_once('/')).expect("a URL");
        let mut stream = TcpStream::connect(host).expect("connects");
        write!(stream, "GET /{base}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .expect("asks");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("reads");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        (answer.starts_with(b"HTTP/1.1 200"), answer.split_off(end))
    }

    fn document(&self, path: &str) -> Value {
        let (found, body) = self.asked(&format!("api/{path}"));
        assert!(found, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Ends when all that waits is done.
fn worked(place: &Place) {
    place.succeeds("worker --until-done --name w");
}

#[test]
fn a_run_is_read_where_it_is() {
    let place = Place::new();
    let store = place.home.path().join("artifacts");
    let run = place
        .succeeds(&format!("submit suite --model baseline/solution --artifacts file://{}", store.display()));
    let viewer = Viewer::of(&place, &run);
    let grid = viewer.document("grid");
    assert_eq!((&grid["rows"], &grid["problems"]), (&json!([]), &json!([])), "nothing is done yet");
    worked(&place);
    // What was looked up less than two seconds ago is shown; then all.
    let rows = await_some("the rows while the viewer serves", || {
        let rows = viewer.document("grid")["rows"].clone();
        rows.as_array().is_some_and(|rows| rows.len() == 6).then_some(rows)
    });
    let trial = rows[0]["trial"].as_str().expect("an id");
    let attempt = viewer.document(&format!("attempt/~/{trial}/1"));
    assert_eq!(
        (&attempt["problems"], &attempt["judged"]["verdict"]),
        (&json!([]), &json!("pass")),
        "{attempt}"
    );
    assert!(!attempt["evidence"].as_array().expect("evidence").is_empty());
    let step = viewer.document(&format!("step/~/{trial}/1/0"));
    assert_eq!(step["problems"], json!([]), "{step}");
    assert!(step["outline"].as_str().is_some_and(|text| text.contains("checkbox")), "{step}");
    assert!(!viewer.asked("api/attempt/~/none/1").0);

    let fetched = place.succeeds(&format!("fetch {run} --out fetched"));
    let same = |line: &str, rest: &str| {
        let answers = [format!("queue:{run}"), fetched.clone()]
            .map(|of| place.succeeds(&format!("{line} {of} {rest}")));
        assert_eq!(answers[0], answers[1], "{line}");
        answers[0].clone()
    };
    assert!(same("grade", "--json").contains("\"same\": 6"));
    same("view", &format!("--trial {trial}"));
    let count = "select(count(*))from(events)";
    assert_ne!(same("sql --json", count), "");
    let report = |of: &str| {
        let report: Value =
            serde_json::from_str(&place.succeeds(&format!("report {of} --json"))).expect("JSON");
        (report["roles"].clone(), report["trials"].clone(), report["run"].clone())
    };
    assert_eq!(report(&format!("queue:{run}")), report(&fetched));
    for (of, out) in [(format!("queue:{run}"), "a"), (fetched, "b")] {
        place.succeeds(&format!("export {of} --format openai --out {out}"));
        place.succeeds(&format!("view {of} --export {out}.html"));
        place.succeeds(&format!("view {of} --trial {trial} --html {out}-trial.html"));
    }
    let here =
        |name: &str| fs::read(place.home.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(here("a/index.jsonl"), here("b/index.jsonl"));
    assert_eq!(here("a-trial.html"), here("b-trial.html"));
    assert!(!runs_below(place.home.path()), "nothing was fetched into `runs`");

    // What is not there, and a store that is gone, are told.
    place.fails("view queue:none", 4);
    let said = place.fails(&format!("report queue:{run}"), 2);
    assert!(said.contains("--out"), "{said}");
    fs::remove_dir_all(store.join("objects")).expect("removes");
    let said = place.fails(&format!("grade queue:{run}"), 21);
    assert!(said.contains("artifacts"), "{said}");
}

#[test]
fn a_bundle_is_made_of_what_a_queue_has() {
    let place = Place::new();
    let home = place.home.path();
    let store = home.join("artifacts");
    let run = place
        .succeeds(&format!("submit suite --model baseline/solution --artifacts file://{}", store.display()));
    let bundle = format!("bundle queue:{run}");
    let said = String::from_utf8(place.run(&bundle).stderr).expect("text");
    assert!(said.contains("6 trials open"), "{said}");
    worked(&place);
    place.succeeds(&bundle);
    let made = |name: &str| fs::read(home.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let bundled = made(&format!("{run}.tar.gz"));
    let said = place.succeeds(&format!("verify {run}.tar.gz"));
    assert!(said.contains("6 verdicts follow from the evidence") && said.ends_with("\nverified"), "{said}");
    let fetched = place.succeeds(&format!("fetch {run} --out fetched"));
    place.succeeds(&format!("bundle {fetched} --out of-folder.tar.gz"));
    assert!(bundled == made("of-folder.tar.gz"), "the bundle of the queue is that of the fetched folder");

    // What cannot be brought whole makes no bundle, and leaves nothing behind.
    let before = names(home);
    place.fails("bundle queue:none", 4);
    let said = place.fails(&format!("{bundle} --out nowhere/b.tar.gz"), 21);
    assert!(said.contains("nowhere"), "{said}");
    let damaged = largest(&store.join("objects"));
    fs::write(&damaged, "other content").expect("writes");
    let said = place.fails(&format!("{bundle} --out b.tar.gz"), 21);
    let name = damaged.file_name().and_then(|name| name.to_str()).expect("a hash");
    assert!(said.contains(name), "{said}");
    assert_eq!(names(home), before);
}

fn names(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

/// The largest file two folders deep.
fn largest(folder: &Path) -> PathBuf {
    let files = names(folder).iter().flat_map(|folder| names(folder)).collect::<Vec<_>>();
    let size = |path: &PathBuf| fs::metadata(path).expect("a file").len();
    files.into_iter().max_by_key(size).expect("a file")
}

fn runs_below(home: &Path) -> bool {
    home.join("runs").exists()
}
