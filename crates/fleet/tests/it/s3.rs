//! A real S3 server, which `scripts/fleet-servers` installs: moto's.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use apprentice_fleet::{ArtifactError, Artifacts};
use apprentice_protocol::{Clock as _, Why};
use apprentice_sandbox::SystemClock;

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
            panic!("{}: {error}; scripts/fleet-servers installs it", program.display())
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
