//! Stored results that were altered: each alteration is found and named, of a run alone, of an experiment, and of a bundle whose
//! list was made anew.

use std::fs;
use std::path::{Path, PathBuf};

use apprentice_evaluator::verify::{Claim, Verification, verify, verify_folder};
use apprentice_runs::bundle::{UnpackLimits, pack};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::experiment::copied;

/// What a test alters: the measured run, and the experiment around it.
pub(crate) struct Stored {
    pub(crate) experiment: PathBuf,
    pub(crate) run: PathBuf,
}

impl Stored {
    pub(crate) fn rows(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.run.join("trials.jsonl")).expect("rows");
        text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    }

    pub(crate) fn write_rows(&self, rows: &[Value]) {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(self.run.join("trials.jsonl"), text).expect("written");
    }

    /// The place of the first row that failed.
    fn failed(&self) -> usize {
        self.rows().iter().position(|row| row["verdict"] == "fail").expect("a failed trial")
    }

    /// Sets fields of the first row that failed.
    pub(crate) fn set(&self, fields: &[(&str, Value)]) {
        let (mut rows, at) = (self.rows(), self.failed());
        for (field, value) in fields {
            rows[at][*field] = value.clone();
        }
        self.write_rows(&rows);
    }

    pub(crate) fn attempt(&self) -> PathBuf {
        self.run.join(self.rows()[self.failed()]["trace"].as_str().expect("a trace"))
    }

    fn edit(path: &Path, from: &str, to: &str) {
        let text = fs::read_to_string(path).expect("reads");
        assert!(text.contains(from), "{from:?} in {}", path.display());
        fs::write(path, text.replacen(from, to, 1)).expect("writes");
    }

    fn edit_events(&self, from: &str, to: &str) {
        Self::edit(&self.attempt().join("events.jsonl"), from, to);
    }

    /// Takes the first event of a kind out of the trace of the first row that failed.
    fn drop_event(&self, kind: &str) {
        let path = self.attempt().join("events.jsonl");
        let text = fs::read_to_string(&path).expect("reads");
        let at =
            text.lines().position(|line| line.contains(&format!("\"kind\":\"{kind}\""))).expect("an event");
        let kept: String = text
            .lines()
            .enumerate()
            .filter(|(line, _)| *line != at)
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        fs::write(path, kept).expect("writes");
    }

    fn blob(&self, extension: &str) -> PathBuf {
        let blobs = fs::read_dir(self.run.join("blobs")).expect("blobs").flatten().map(|entry| entry.path());
        let mut blobs: Vec<PathBuf> =
            blobs.filter(|path| path.extension().is_some_and(|end| end == extension)).collect();
        blobs.sort();
        blobs.remove(0)
    }
}

/// An alteration, the claim that it breaks, and a part of what is said of it.
type Case = (&'static str, fn(&Stored), Claim, &'static str);

/// Alterations of a run.
const OF_A_RUN: [Case; 29] = [
    (
        "failed row dropped",
        |at| {
            let mut rows = at.rows();
            rows.remove(at.failed());
            at.write_rows(&rows);
        },
        Claim::Plan,
        "it has no row",
    ),
    (
        "failed row dropped with its folder",
        |at| {
            let (mut rows, failed) = (at.rows(), at.failed());
            fs::remove_dir_all(at.attempt()).expect("removed");
            rows.remove(failed);
            at.write_rows(&rows);
        },
        Claim::Plan,
        "it has no row",
    ),
    (
        "failed row made void",
        |at| {
            at.set(&[
                ("verdict", json!("void")),
                ("score", json!(0.0)),
                ("stop_reason", Value::Null),
                ("void_cause", json!("world_lost")),
            ]);
        },
        Claim::Traces,
        "verdict: the row says \"void\", its trace \"fail\"",
    ),
    (
        "failed row made void, the judgement taken out",
        |at| {
            at.drop_event("judged");
            at.set(&[
                ("verdict", json!("void")),
                ("stop_reason", Value::Null),
                ("void_cause", json!("world_lost")),
            ]);
        },
        Claim::Traces,
        "where e",
    ),
    (
        "failed row made void, the trace removed",
        |at| {
            fs::remove_dir_all(at.attempt()).expect("removed");
            at.set(&[
                ("verdict", json!("void")),
                ("stop_reason", Value::Null),
                ("void_cause", json!("interrupted")),
                ("world_steps", json!(0)),
            ]);
        },
        Claim::Traces,
        "nothing shows why it is void",
    ),
    (
        "failed row made passed",
        |at| at.set(&[("verdict", json!("pass")), ("score", json!(1.0))]),
        Claim::Grades,
        "graded again: Fail",
    ),
    (
        "model",
        |at| at.set(&[("model", json!("builtin/better"))]),
        Claim::Rows,
        "model: the row says \"builtin/better\"",
    ),
    ("arm", |at| at.set(&[("arm", json!("masked"))]), Claim::Rows, "arm: the row says \"masked\""),
    ("seed", |at| at.set(&[("seed", json!(9))]), Claim::Rows, "seed: the row says 9"),
    ("role", |at| at.set(&[("role", json!("teacher"))]), Claim::Rows, "role: the row says"),
    ("split", |at| at.set(&[("split", json!("dev"))]), Claim::Rows, "split: the row says \"dev\""),
    ("steps", |at| at.set(&[("world_steps", json!(77))]), Claim::Traces, "world_steps: the row says 77"),
    ("turns", |at| at.set(&[("turns", json!(77))]), Claim::Traces, "turns: the row says 77"),
    (
        "tokens",
        |at| at.set(&[("tokens", json!({ "input": 1, "output": 1, "cached": 0 }))]),
        Claim::Traces,
        "tokens: the row says",
    ),
    ("cost", |at| at.set(&[("cost_usd", json!(0.001))]), Claim::Traces, "cost_usd: the row says 0.001"),
    (
        "stop reason",
        |at| at.set(&[("stop_reason", json!("step_limit"))]),
        Claim::Traces,
        "stop_reason: the row says",
    ),
    (
        "isolation",
        |at| at.set(&[("isolation", json!("plain"))]),
        Claim::Traces,
        "isolation: the row says \"plain\"",
    ),
    (
        "person's acts",
        |at| at.set(&[("person_acts", json!(3))]),
        Claim::Traces,
        "person_acts: the row says 3",
    ),
    (
        "skills viewed",
        |at| at.set(&[("skills_viewed", json!(["general/unseen"]))]),
        Claim::Traces,
        "skills_viewed: the row says",
    ),
    (
        "times",
        |at| at.set(&[("started_at", json!("2031-01-01T00:00:00Z"))]),
        Claim::Traces,
        "started_at: the row says",
    ),
    (
        "a row twice",
        |at| {
            let mut rows = at.rows();
            rows.push(rows[0].clone());
            at.write_rows(&rows);
        },
        Claim::Rows,
        "repeats an earlier row",
    ),
    (
        "a row of no planned trial",
        |at| {
            let mut rows = at.rows();
            let mut more = rows[0].clone();
            more["trial"] = json!("0123456789ab");
            rows.push(more);
            at.write_rows(&rows);
        },
        Claim::Rows,
        "the plan has no such trial",
    ),
    (
        "the plan's model",
        |at| {
            let path = at.run.join("run.json");
            let text = fs::read_to_string(&path).expect("reads").replace("builtin/novice", "builtin/better");
            fs::write(path, text).expect("writes");
        },
        Claim::Plan,
        "is not the id of task",
    ),
    (
        "all traces removed",
        |at| {
            for row in at.rows() {
                fs::remove_file(at.run.join(row["trace"].as_str().expect("a trace")).join("events.jsonl"))
                    .expect("removed");
            }
        },
        Claim::Traces,
        "its trace is missing",
    ),
    (
        "the trace's verdict",
        |at| at.edit_events("\"verdict\":\"fail\"", "\"verdict\":\"pass\""),
        Claim::Traces,
        "verdict: the row says",
    ),
    (
        "the trace's model",
        |at| at.edit_events("builtin/novice", "builtin/better"),
        Claim::Traces,
        "model: the row says",
    ),
    ("a reply taken out", |at| at.drop_event("model.replied"), Claim::Traces, "turns: the row says"),
    (
        "another text under a blob's name",
        |at| fs::write(at.blob("txt"), "another").expect("writes"),
        Claim::Blobs,
        "another hash than its name",
    ),
    (
        "a blob removed",
        |at| fs::remove_file(at.blob("json")).expect("removed"),
        Claim::Blobs,
        "which is missing",
    ),
];

/// Alterations of what is beside the runs of an experiment.
const OF_AN_EXPERIMENT: [Case; 5] = [
    (
        "report.json",
        |at| Stored::edit(&at.experiment.join("report.json"), "\"passed\": 3", "\"passed\": 4"),
        Claim::Report,
        "the report says 4, the rows 3",
    ),
    (
        "a number of report.html",
        |at| change_a_number(&at.experiment.join("report.html")),
        Claim::Pages,
        "made again from the rows",
    ),
    (
        "a number of report.md",
        |at| change_a_number(&at.experiment.join("report.md")),
        Claim::Pages,
        "made again from the rows",
    ),
    (
        "report.json removed, and report.html changed",
        |at| {
            fs::remove_file(at.experiment.join("report.json")).expect("removed");
            change_a_number(&at.experiment.join("report.html"));
        },
        Claim::Pages,
        "made again from the rows",
    ),
    (
        "the definition's suite",
        |at| Stored::edit(&at.experiment.join("experiment.json"), "\"c4af7\"", "\"other\""),
        Claim::Plan,
        "suite hash: it is not that of the experiment's definition",
    ),
];

/// Changes the last number of a file.
fn change_a_number(path: &Path) {
    let mut text = fs::read_to_string(path).expect("reads").into_bytes();
    let at = text.iter().rposition(u8::is_ascii_digit).expect("a number");
    text[at] = if text[at] == b'9' { b'8' } else { b'9' };
    fs::write(path, text).expect("writes");
}

fn names(found: &Verification, claim: Claim, part: &str) -> bool {
    !found.holds && found.contradictions.iter().any(|one| one.claim == claim && one.problem.contains(part))
}

async fn stored() -> (TempDir, Stored) {
    let (folder, run) = copied().await;
    let stored = Stored { experiment: folder.path().to_owned(), run };
    (folder, stored)
}

#[tokio::test]
async fn an_unaltered_run_and_its_experiment_hold_and_say_what_was_not_checked() {
    let (_folder, stored) = stored().await;
    for place in [&stored.run, &stored.experiment] {
        let found = verify_folder(place).expect("verifies");
        assert!(found.holds, "{:#?}", found.contradictions);
        assert!(found.unchecked.iter().any(|what| what.contains("working times")), "{:?}", found.unchecked);
        let claims: Vec<Claim> = found.claims.iter().map(|one| one.claim).collect();
        assert!(
            [Claim::Plan, Claim::Rows, Claim::Traces, Claim::Grades, Claim::Blobs]
                .iter()
                .all(|one| claims.contains(one))
        );
    }
}

#[tokio::test]
async fn every_alteration_of_a_run_is_found_in_its_folder() {
    let mut missed = Vec::new();
    for (name, alter, claim, part) in OF_A_RUN {
        let (_folder, stored) = stored().await;
        alter(&stored);
        let found = verify_folder(&stored.run).expect("verifies");
        if !names(&found, claim, part) {
            missed.push(format!("{name}: {:#?}", found.contradictions));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test]
async fn every_alteration_is_found_in_a_bundle_whose_list_was_made_anew() {
    let mut missed = Vec::new();
    for (name, alter, claim, part) in OF_A_RUN.into_iter().chain(OF_AN_EXPERIMENT) {
        let (_folder, stored) = stored().await;
        alter(&stored);
        let place = TempDir::new().expect("a folder");
        let (bundle, scratch) = (place.path().join("b.tar.gz"), place.path().join("scratch"));
        fs::create_dir(&scratch).expect("a folder");
        pack(&stored.experiment, &bundle, "0.0.0").expect("packs");
        let found = verify(&bundle, &scratch, UnpackLimits::default()).expect("verifies");
        if !names(&found, claim, part) {
            missed.push(format!("{name}: {:#?}", found.contradictions));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test]
async fn a_bundle_that_was_unpacked_is_compared_with_its_list() {
    let (_folder, stored) = stored().await;
    let place = TempDir::new().expect("a folder");
    let (bundle, folder) = (place.path().join("b.tar.gz"), place.path().join("folder"));
    pack(&stored.run, &bundle, "0.0.0").expect("packs");
    let archive = fs::File::open(&bundle).expect("the bundle");
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&folder).expect("unpacked");
    let found = verify_folder(&folder).expect("verifies");
    assert!(found.holds && found.files > 0, "{:#?}", found.contradictions);
    fs::write(folder.join("more.txt"), "more").expect("written");
    let found = verify_folder(&folder).expect("verifies");
    assert!(names(&found, Claim::Files, "more.txt is not in the manifest"), "{:#?}", found.contradictions);
    fs::remove_file(folder.join("more.txt")).expect("removed");
    pack(&folder, &bundle, "0.0.0").expect("an unpacked bundle is packed again, with one list");
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).expect("a folder");
    assert!(verify(&bundle, &scratch, UnpackLimits::default()).expect("verifies").holds);
}
