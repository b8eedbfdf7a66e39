//! A run of a queue as a folder: rows are there at once, and of traces and pictures only what was asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::read_run;
use apprentice_fleet::{Artifacts, Claimant, FetchError, Leaving, OnDemand, RunRecord, StoreSettings};
use apprentice_protocol::{Clock as _, RunId, VoidCause, Why};
use apprentice_runs::row::TrialRow;
use apprentice_sandbox::SystemClock;
use apprentice_trace::FileSource as _;
use tempfile::TempDir;
use tokio::runtime::Handle;

use crate::postgres::artifacts_in;
use crate::queue::{Fixture, LEASE, OVER, fixture};
use crate::scene::{self, EXPERIMENT};

/// No wait of these tests is longer.
const DEADLINE: Duration = Duration::from_secs(60);

struct Place {
    fixture: Fixture,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        Self { fixture: fixture(3).await, folder: tempfile::tempdir().expect("a folder") }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn artifacts(&self) -> Artifacts {
        Artifacts::open(&artifacts_in(&self.store()), &StoreSettings::default()).expect("opens")
    }

    async fn add(&self, experiment: Option<&str>) {
        let record = RunRecord {
            artifacts: artifacts_in(&self.store()),
            experiment: experiment.map(str::to_owned),
            ..self.fixture.record()
        };
        assert!(self.fixture.queue.add(&self.fixture.plan, &record, &|_| vec![]).await.expect("adds"));
    }

    /// Delivers an attempt with a trace, a picture and a text. Returns its row, and the hashes of the two.
    async fn deliver(&self, number: u32) -> (TrialRow, [String; 2]) {
        let one = self.fixture.claim("w", LEASE).await.expect("a trial");
        let (row, artifacts) = (self.fixture.row(&one, None), self.artifacts());
        let blobs = [format!("picture {number}"), format!("outline {number}")];
        let mut files = BTreeMap::new();
        let made = self.folder.path().join("made");
        std::fs::create_dir_all(&made).expect("a folder");
        let mut add = |path: String, content: &str| {
            let file = made.join(format!("{number}-{}", files.len()));
            std::fs::write(&file, content).expect("writes");
            files.insert(path, file);
        };
        let mut hashes = Vec::new();
        for (blob, extension) in blobs.iter().zip(["png", "txt"]) {
            let hash = artifacts.put(blob.as_bytes().to_vec()).await.expect("stores");
            add(format!("blobs/{hash}.{extension}"), blob);
            hashes.push(hash);
        }
        add(format!("{}/events.jsonl", row.trace), &format!("events {number}"));
        add(format!("{}/evidence/evidence.json", row.trace), "{}");
        let list = artifacts.put_named(&files).await.expect("stores");
        self.fixture.queue.deliver("w", &row, Some(&list)).await.expect("delivers");
        (row, hashes.try_into().expect("two"))
    }

    async fn opened(&self, id: &str) -> Result<Arc<OnDemand>, FetchError> {
        let (queue, root, id) =
            (self.fixture.server.queue().await, self.folder.path().join("seen"), RunId::new(id));
        let runtime = Handle::current();
        let opened = tokio::task::spawn_blocking(move || OnDemand::open(queue, &id, &root, runtime));
        opened.await.expect("runs").map(Arc::new)
    }
}

async fn brought(seen: &Arc<OnDemand>, path: PathBuf) -> std::io::Result<()> {
    let seen = Arc::clone(seen);
    tokio::task::spawn_blocking(move || seen.bring(&path)).await.expect("runs")
}

/// Looks again until a run in the folder has so many rows.
async fn rows(seen: &Arc<OnDemand>, run: &Path, wanted: usize) -> Vec<TrialRow> {
    let clock = SystemClock::default();
    let begun = clock.mono();
    loop {
        let again = Arc::clone(seen);
        tokio::task::spawn_blocking(move || again.refresh()).await.expect("runs").expect("looks");
        match read_run(run) {
            Ok((_, rows)) if rows.len() >= wanted => return rows,
            found => assert!(clock.mono().saturating_sub(begun) < DEADLINE, "{wanted} rows: {found:?}"),
        }
        clock.pause(Duration::from_millis(100), Why::PollFloor).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_run_only_what_is_read_is_brought_and_new_rows_appear() {
    let place = Place::new().await;
    place.add(None).await;
    let (first, [picture, outline]) = place.deliver(1).await;
    let (second, [damaged, _]) = place.deliver(2).await;
    let id = place.fixture.plan.run.to_string();
    let seen = place.opened(&id).await.expect("opens");
    let run = seen.folder().to_owned();
    let (plan, found) = read_run(&run).expect("a run");
    assert_eq!((plan, found), (place.fixture.plan.clone(), vec![first.clone(), second.clone()]));
    assert!(!run.join("trials").exists() && !run.join("blobs").exists());

    brought(&seen, run.join(&first.trace)).await.expect("brings");
    let text = |path: PathBuf| std::fs::read_to_string(path).ok();
    assert_eq!(text(run.join(&first.trace).join("events.jsonl")).as_deref(), Some("events 1"));
    assert!(run.join(&first.trace).join("evidence/evidence.json").exists());
    assert!(!run.join("blobs").exists() && !run.join(&second.trace).exists());
    let blob = |hash: &str, extension: &str| run.join(format!("blobs/{hash}.{extension}"));
    brought(&seen, blob(&picture, "png")).await.expect("brings");
    assert_eq!(text(blob(&picture, "png")).as_deref(), Some("picture 1"));
    assert!(!blob(&outline, "txt").exists());

    // What nobody has stays missing; what was changed in the store is told, and not taken.
    brought(&seen, blob(&"0".repeat(64), "png")).await.expect("is no error");
    brought(&seen, run.join("trials/none/attempt-01")).await.expect("is no error");
    brought(&seen, PathBuf::from("/etc/passwd")).await.expect("is no error");
    std::fs::write(place.store().join("objects").join(&damaged[..2]).join(&damaged), "x").expect("writes");
    let error = brought(&seen, blob(&damaged, "png")).await.expect_err("is damaged").to_string();
    assert!(error.contains(&damaged) && !blob(&damaged, "png").exists(), "{error}");

    // A result, a lost attempt, and one at its trial.
    let (third, _) = place.deliver(3).await;
    place.fixture.claim("lost", OVER).await.expect("a trial");
    place.fixture.queue.expire().await.expect("expires");
    let found = rows(&seen, &run, 4).await;
    assert_eq!(found[2], third);
    assert_eq!(found[3].void_cause, Some(VoidCause::Interrupted));
    assert!(matches!(place.opened("none").await, Err(FetchError::NoRun(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_experiment_shows_its_last_copy_and_the_rows_of_runs_that_go_on() {
    let place = Place::new().await;
    let id = EXPERIMENT;
    let record = scene::experiment(&place.fixture.plan, artifacts_in(&place.store()));
    assert!(place.fixture.queue.add_experiment(&record).await.expect("adds"));
    let seen = place.opened(id).await.expect("opens");
    let by = Claimant { worker: "leader", build: &record.build, offers: &[], unfit: &[] };
    let leadership = place.fixture.queue.lead(&by, LEASE).await.expect("asks").expect("leads");
    let run = format!("measure/{}", place.fixture.plan.run);
    let plan = serde_json::to_vec(&place.fixture.plan).expect("text");
    let copy = async |rows: &str, book: &str| {
        let artifacts = place.artifacts();
        let mut files = BTreeMap::new();
        let contents = [
            (format!("{run}/run.json"), plan.clone()),
            (format!("{run}/trials.jsonl"), rows.as_bytes().to_vec()),
            ("skillbook/page.md".to_owned(), book.as_bytes().to_vec()),
            ("learning/l/trials/t-1/attempt-01/events.jsonl".to_owned(), b"learned".to_vec()),
        ];
        for (number, (path, content)) in contents.into_iter().enumerate() {
            let file = place.folder.path().join(format!("copied-{number}"));
            std::fs::write(&file, content).expect("writes");
            files.insert(path, file);
        }
        let list = artifacts.put_named(&files).await.expect("stores");
        assert!(place.fixture.queue.keep_copy(&leadership, &list).await.expect("keeps"));
    };
    copy("", "first").await;
    let folder = seen.folder().to_owned();
    assert_eq!(rows(&seen, &folder.join(&run), 0).await, [], "the copy is seen before the run begins");
    place.add(Some(id)).await;
    let (row, _) = place.deliver(1).await;
    assert_eq!(rows(&seen, &folder.join(&run), 1).await, std::slice::from_ref(&row));
    let text = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap_or_default();
    assert_eq!(text("skillbook/page.md"), "first");

    // A copy with older rows than the database has does not hide those.
    copy("", "second").await;
    let (second, _) = place.deliver(2).await;
    assert_eq!(rows(&seen, &folder.join(&run), 2).await, [row.clone(), second]);
    assert_eq!(text("skillbook/page.md"), "second");
    let learned = "learning/l/trials/t-1/attempt-01";
    assert!(!folder.join(learned).exists());
    for attempt in [learned.to_owned(), format!("{run}/{}", row.trace)] {
        brought(&seen, folder.join(&attempt)).await.expect("brings");
        assert!(!text(&format!("{attempt}/events.jsonl")).is_empty(), "{attempt}");
    }
    place.fixture.queue.leave_experiment(&leadership, &Leaving::Done).await.expect("leaves");
}
