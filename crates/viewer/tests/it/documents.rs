//! The documents of whole, damaged and hostile runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use apprentice_trace::FileSource;
use apprentice_viewer::{Document, ExportError, ExportLimits, Library, LibraryError, write_page};
use serde_json::Value;

use crate::sample::{HOSTILE, Sample};

fn library(sample: &Sample) -> Library {
    Library::open(&sample.folder()).expect("opens")
}

fn json(library: &Library, path: &str) -> Value {
    match library.document(path).unwrap_or_else(|error| panic!("{path}: {error}")) {
        Document::Json(text) => serde_json::from_str(&text).expect("JSON"),
        Document::Picture { .. } => panic!("{path} is a picture"),
    }
}

#[test]
fn the_first_page_reads_rows_and_no_trace() {
    let sample = Sample::new();
    fs::remove_dir_all(sample.folder().join("trials")).expect("removed");
    let grid = json(&library(&sample), "grid");
    let rows = grid["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["arm"], &rows[0]["verdict"], &rows[0]["why"]),
        (&"pull".into(), &"pass".into(), &"done".into())
    );
    assert_eq!(rows[0]["skills"], serde_json::json!(["shop/buy"]));
}

#[test]
fn an_attempt_shows_steps_with_times_marks_skills_and_changes() {
    let sample = Sample::new();
    let library = library(&sample);
    let attempt = json(&library, "attempt/~/t1/1");
    let turns = attempt["turns"].as_array().expect("turns");
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["skills"][0]["skill"], "shop/buy");
    assert_eq!(turns[0]["tools"][0]["name"], "skill_view");
    assert_eq!(turns[1]["acts"][0]["marks"], serde_json::json!([{ "x": 25.0, "y": 25.0 }]));
    assert_eq!((&turns[0]["time"]["model"], &turns[0]["time"]["waiting"]), (&40.into(), &10.into()));
    assert_eq!(attempt["judged"]["explanation"], HOSTILE);
    let step = json(&library, "step/~/t1/1/1");
    let changes: Vec<String> = step["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|line| {
            format!("{}{}", line["sign"].as_str().expect("a sign"), line["text"].as_str().expect("a text"))
        })
        .collect();
    assert_eq!(changes[1..3], ["- button \"Buy\" @60,20 #n7", "+ button \"Paid\" @60,20 #n7"]);
    assert_eq!(step["has_sent"], false);
}

#[test]
fn two_attempts_part_where_one_reads_the_skill() {
    let sample = Sample::new();
    let found = json(&library(&sample), "compare/~/t1/1/~/t2/1");
    assert_eq!(found["parting"], 0);
    let rows = found["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "{rows:?}");
    let same = json(&library(&sample), "compare/~/t1/1/~/t1/1");
    assert_eq!(same["parting"], Value::Null);
}

#[test]
fn what_is_damaged_is_told_and_the_rest_is_shown() {
    let sample = Sample::new();
    sample.append("trials.jsonl", "{\"schema\":\"appren");
    sample.append("trials/buy-t1/attempt-01/events.jsonl", "{\"v\":1,\"id\":");
    let library = library(&sample);
    let grid = json(&library, "grid");
    assert!(grid["problems"][0].as_str().expect("a problem").contains("cut off"), "{grid}");
    assert_eq!(grid["rows"].as_array().expect("rows").len(), 2);
    let attempt = json(&library, "attempt/~/t1/1");
    assert!(attempt["problems"][0].as_str().expect("a problem").contains("cut off"));
    assert_eq!(attempt["turns"].as_array().expect("turns").len(), 2);
    // A foreign file under a blob's name is not shown as the recorded one.
    let picture = sample.blob(b"not really a picture", "png");
    let path = format!("picture/~/{picture}.png");
    assert!(matches!(library.document(&path), Ok(Document::Picture { .. })));
    fs::write(sample.folder().join(format!("blobs/{picture}.png")), b"another").expect("written");
    let why = library.document(&path).expect_err("is foreign").to_string();
    assert!(why.contains("not the recorded one"), "{why}");
    for entry in fs::read_dir(sample.folder().join("blobs")).expect("a folder") {
        fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    let step = json(&library, "step/~/t1/1/1");
    assert!(step["problems"][0].as_str().expect("a problem").contains("missing"), "{step}");
}

#[test]
fn an_exported_page_of_rows_that_cannot_be_read_says_so() {
    let sample = Sample::new();
    sample.append("trials.jsonl", "{\"schema\":7}\n");
    let file = sample.folder().with_file_name("page.html");
    let written = write_page(&library(&sample), None, &file, ExportLimits::default()).expect("writes");
    assert_eq!((written.attempts, written.unreadable), (0, 1), "nothing is left out in silence");
}

#[test]
fn paths_and_rows_lead_nowhere_else() {
    let sample = Sample::new();
    fs::write(sample.folder().with_file_name("secret.png"), b"x").expect("written");
    let library = library(&sample);
    for path in [
        "",
        "nothing",
        "attempt/~/t9/1",
        "attempt/~/t1/x",
        "attempt/..%2F/t1/1",
        "step/~/t1/1/99",
        "picture/~/..%2F..%2Fsecret.png",
        "picture/~/x.svg",
        "book/..",
        "skill/book/x",
        "attempt/~/t1/4294967296",
    ] {
        assert!(library.document(path).is_err(), "{path}");
    }
    let rows = fs::read_to_string(sample.folder().join("trials.jsonl")).expect("text");
    let rows = rows.replace("trials/buy-t1/attempt-01", "../../elsewhere");
    fs::write(sample.folder().join("trials.jsonl"), rows).expect("written");
    let why = library.document("attempt/~/t1/1").expect_err("leads out").to_string();
    assert!(why.contains("not inside the run"), "{why}");
}

#[test]
fn an_exported_page_holds_hostile_words_as_data_alone() {
    let sample = Sample::new();
    let library = library(&sample);
    let file = sample.folder().with_file_name("page.html");
    let written = write_page(&library, None, &file, ExportLimits::default()).expect("written");
    assert_eq!((written.attempts, written.pictures, written.unreadable), (2, 1, 0));
    let html = fs::read_to_string(&file).expect("text");
    assert_eq!(written.bytes, html.len() as u64);
    assert!(!html.contains("<img src=x"), "no text of the run is markup");
    assert_eq!(html.matches("</script>").count(), 2, "the documents and the program");
    assert!(html.contains("default-src 'none'; script-src 'sha256-"));
    let hosts = html.matches("https://").count() + html.matches("http://").count();
    assert_eq!(hosts, html.matches("http://www.w3.org/2000/svg").count(), "a namespace is the only address");
    let one = write_page(&library, Some("t2"), &file, ExportLimits::default()).expect("written");
    assert_eq!(one.attempts, 1);
    assert!(matches!(
        write_page(&library, Some("t9"), &file, ExportLimits::default()),
        Err(ExportError::NoTrial(_))
    ));
    let small = ExportLimits { max_bytes: 100 };
    assert!(matches!(write_page(&library, None, &file, small), Err(ExportError::TooLarge(100))));
    assert!(
        fs::read_to_string(&file).expect("text").len() > 1000,
        "a refused export leaves the page that was there"
    );
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(Library::open(folder.path()), Err(LibraryError::Other(_))));
    assert!(matches!(Library::open(&folder.path().join("absent")), Err(LibraryError::Other(_))));
}

/// Brings files from a folder, and keeps what was asked for.
#[derive(Debug)]
struct Elsewhere {
    from: PathBuf,
    to: PathBuf,
    asked: Mutex<Vec<String>>,
}

impl FileSource for Elsewhere {
    fn refresh(&self) -> io::Result<()> {
        fs::copy(self.from.join("trials.jsonl"), self.to.join("trials.jsonl")).map(drop)
    }

    fn bring(&self, path: &Path) -> io::Result<()> {
        let inside = path.strip_prefix(self.to.canonicalize()?).map_err(io::Error::other)?;
        let from = self.from.join(inside);
        self.asked.lock().expect("a lock").push(inside.display().to_string());
        match from.is_dir() {
            true => {
                fs::create_dir_all(path)?;
                fs::copy(from.join("events.jsonl"), path.join("events.jsonl")).map(drop)
            }
            false => {
                fs::create_dir_all(path.parent().expect("a folder"))?;
                fs::copy(from, path).map(drop)
            }
        }
    }
}

#[test]
fn of_a_run_that_lies_elsewhere_only_what_is_shown_is_brought() {
    let (sample, here) = (Sample::new(), tempfile::tempdir().expect("a folder"));
    let (from, to) = (sample.folder(), here.path().to_owned());
    fs::copy(from.join("run.json"), to.join("run.json")).expect("copies");
    let source = Arc::new(Elsewhere { from: from.clone(), to: to.clone(), asked: Mutex::default() });
    let library = Library::open_from(&to, Some(source.clone())).expect("opens");
    assert_eq!(json(&library, "grid")["rows"].as_array().expect("rows").len(), 2);
    let asked = || std::mem::take(&mut *source.asked.lock().expect("a lock"));
    assert!(asked().is_empty());
    let here = self::library(&sample);
    let attempt = json(&library, "attempt/~/t1/1");
    assert_eq!(attempt, json(&here, "attempt/~/t1/1"));
    let brought = asked();
    assert!(
        !brought.is_empty() && brought.iter().all(|path| path == "trials/buy-t1/attempt-01"),
        "{brought:?}"
    );
    assert_eq!(json(&library, "step/~/t1/1/1"), json(&here, "step/~/t1/1/1"));
    let picture = attempt["turns"][0]["before"]["screenshot"].as_str().expect("a picture").to_owned();
    assert!(!asked().contains(&format!("blobs/{picture}.png")));
    let path = format!("picture/~/{picture}.png");
    assert_eq!(library.document(&path).expect("brought"), here.document(&path).expect("a picture"));
    assert_eq!(asked(), [format!("blobs/{picture}.png")]);

    // What cannot be looked up now is told, beside what is known.
    fs::remove_file(from.join("trials.jsonl")).expect("removes");
    let grid = json(&library, "grid");
    assert_eq!(
        (grid["rows"].as_array().expect("rows").len(), grid["problems"].as_array().expect("words").len()),
        (2, 1)
    );
}

#[test]
fn runs_that_came_since_are_found() {
    let sample = Sample::new();
    let library = Library::open(sample.folder().parent().expect("a folder")).expect("opens");
    assert_eq!(json(&library, "grid")["runs"].as_array().expect("runs").len(), 1);
    let other = sample.folder().with_file_name("other");
    fs::create_dir(&other).expect("a folder");
    for file in ["run.json", "trials.jsonl"] {
        fs::copy(sample.folder().join(file), other.join(file)).expect("copies");
    }
    assert_eq!(json(&library, "grid")["runs"].as_array().expect("runs").len(), 2);
}
