//! A real S3 server, which `scripts/fleet/servers` installs: moto's.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use apprentice_fleet::{ArtifactError, Artifacts};
use apprentice_protocol::{Clock as _, Why};
use apprentice_sandbox::SystemClock;
use sha2::{Digest as _, Sha256};

use crate::child::store_settings;
use crate::gate::{Gate, Passage};

/// What moto takes for a signature: it looks whether there is one.
const SIGNED: &str =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A running server with the bucket `fleet`. It ends with this value.
pub(crate) struct Store {
    process: Child,
    pub(crate) gate: Gate,
}

impl Store {
    /// Starts a server behind a gate.
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fleet-servers/bin/moto_server");
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port").port();
        let process = Command::new(&program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = process.unwrap_or_else(|error| {
            panic!("{}: {error}; scripts/fleet/servers installs it", program.display())
        });
        let store = Self { process, gate: Gate::open(port).await };
        let clock = SystemClock::default();
        let begun = clock.mono();
        let client = reqwest::Client::new();
        // It answers once it has started.
        loop {
            let made = client.put(format!("{}/fleet", store.gate.url())).send().await;
            if made.is_ok_and(|answer| answer.status().is_success()) {
                return store;
            }
            assert!(
                clock.mono().saturating_sub(begun) < Duration::from_secs(60),
                "the S3 server does not start"
            );
            clock.pause(Duration::from_millis(100), Why::PollFloor).await;
        }
    }

    /// The artifacts in its bucket.
    pub(crate) fn artifacts(&self) -> Artifacts {
        Artifacts::open("s3://fleet/some/place", &store_settings(&self.gate.url())).expect("opens")
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn artifacts_survive_a_store_that_is_slow_cut_off_or_failing_and_damage_is_told() {
    let store = Store::start().await;
    let artifacts = store.artifacts();
    artifacts.check("worker").await.expect("writes and reads");
    let large = vec![7_u8; 3 << 20];
    let hash = artifacts.put(large.clone()).await.expect("stores");
    assert_eq!(artifacts.put(large.clone()).await.expect("stores again"), hash);
    assert_eq!(artifacts.get(&hash).await.expect("reads"), large);

    let clock = SystemClock::default();
    for (number, passage) in
        [Passage::Failing, Passage::Cut, Passage::Stalled, Passage::Slow(Duration::from_millis(700))]
            .into_iter()
            .enumerate()
    {
        store.gate.set(passage);
        let again = store.artifacts();
        let content = format!("content {number}").into_bytes();
        let (stored, ()) = tokio::join!(again.put(content.clone()), async {
            clock.pause(Duration::from_millis(900), Why::TaskStep).await;
            store.gate.set(Passage::Open);
        });
        let hash = stored.unwrap_or_else(|error| panic!("{passage:?}: {error:?}"));
        assert_eq!(artifacts.get(&hash).await.expect("reads"), content, "{passage:?}");
    }

    // What was changed in the store is told by its hash.
    let place = format!("{}/fleet/some/place/objects/{}/{hash}", store.gate.url(), &hash[..2]);
    let changed = reqwest::Client::new()
        .put(place)
        .header("Authorization", SIGNED)
        .body("changed")
        .send()
        .await
        .expect("writes");
    let status = changed.status();
    assert!(status.is_success(), "{status}: {}", changed.text().await.unwrap_or_default());
    let error = artifacts.get(&hash).await.expect_err("is damaged");
    assert!(matches!(&error, ArtifactError::Foreign { hash: told, .. } if *told == hash), "{error}");
    artifacts.put(large.clone()).await.expect("stores");
    assert_eq!(artifacts.get(&hash).await.expect("is whole again"), large);

    // A bucket that is not there, and a store that stays away, are told before anything is done.
    let none = Artifacts::open("s3://nobody/place", &store_settings(&store.gate.url())).expect("opens");
    let error = none.check("worker").await.expect_err("no such bucket");
    assert!(error.to_string().contains("s3://nobody/place"), "{error}");
    store.gate.set(Passage::Cut);
    let mut settings = store_settings(&store.gate.url());
    settings.patience = Some(Duration::from_secs(1));
    let away = Artifacts::open("s3://fleet/place", &settings).expect("opens");
    assert!(away.check("worker").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_comes_in_parts_and_is_whole_however_the_store_behaves() {
    let (store, folder) = (Store::start().await, tempfile::tempdir().expect("a folder"));
    let artifacts = store.artifacts();
    // Two whole parts and one of a byte, each of other bytes.
    let large: Vec<u8> = (0..(16 << 20) + 1_u32).map(|at| u8::try_from(at % 251).expect("a byte")).collect();
    let file = folder.path().join("large");
    std::fs::write(&file, &large).expect("writes");
    store.gate.set(Passage::Slow(Duration::from_millis(50)));
    let hash = artifacts.put_file(&file).await.expect("stores");
    assert_eq!(hash, apprentice_trace::hex(&Sha256::digest(&large)));
    store.gate.set(Passage::Open);
    assert_eq!(artifacts.get(&hash).await.expect("reads"), large);
    assert_eq!(artifacts.put_file(&file).await.expect("is there already"), hash);
    let whole = reqwest::Client::new()
        .head(format!("{}/fleet/some/place/objects/{}/{hash}", store.gate.url(), &hash[..2]))
        .header("Authorization", SIGNED)
        .send()
        .await
        .expect("answers");
    let tag = whole.headers()["etag"].to_str().expect("text").trim_matches('"').to_owned();
    assert!(tag.ends_with("-3"), "three parts: {tag}");

    // A store that fails in the midst of it leaves no artifact, and the next try stores it.
    std::fs::write(&file, large.iter().rev().copied().collect::<Vec<u8>>()).expect("writes");
    let mut settings = store_settings(&store.gate.url());
    settings.patience = Some(Duration::from_secs(1));
    let hasty = Artifacts::open("s3://fleet/some/place", &settings).expect("opens");
    store.gate.set(Passage::Cut);
    assert!(matches!(hasty.put_file(&file).await, Err(ArtifactError::Store { .. })));
    store.gate.set(Passage::Open);
    let hash = hasty.put_file(&file).await.expect("stores");
    assert_eq!(artifacts.get(&hash).await.expect("reads").len(), large.len());

    // The same over a folder.
    let shared = folder.path().join("shared");
    let local = Artifacts::open(&format!("file://{}", shared.display()), &store_settings("")).expect("opens");
    let hash = local.put_file(&file).await.expect("stores");
    assert_eq!(local.get(&hash).await.expect("reads").len(), large.len());
}
