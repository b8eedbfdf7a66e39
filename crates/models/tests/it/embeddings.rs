//! Vectors from a server: what is asked, what is taken, what is refused, and what is not asked twice.

use std::fs;
use std::sync::Arc;

use apprentice_models::embeddings::{Cached, EmbeddingMiddleware, Embeddings, EmbeddingsConfig, Sides};
use apprentice_models::http::{Endpoint, Secret};
use apprentice_models::middleware::{Ledger, RecordedVectors, Recording, ReplayedVectors, RetryPolicy};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{Embedder, Side};
use apprentice_trace::Redactor;
use serde_json::{Value, json};

use super::{PLANTED, transport};
use crate::server::{Heard, Server, Speak};

fn config(base: &str) -> EmbeddingsConfig {
    EmbeddingsConfig {
        model: "small".into(),
        endpoint: Endpoint::new(&format!("{base}/v1/"), Some(Secret::new(PLANTED))),
        dimensions: None,
        batch: 2,
        prefix: Sides::default(),
        input_type: Sides::default(),
        usd_per_million: Some(1.0),
    }
}

fn embedder(config: EmbeddingsConfig, ledger: &Arc<Ledger>) -> Embeddings {
    let patience = RetryPolicy { retries: 2, ..RetryPolicy::default() };
    let around = EmbeddingMiddleware {
        clock: Arc::new(VirtualClock::default()),
        patience,
        ledgers: vec![Arc::clone(ledger)],
    };
    Embeddings::new(config, transport(), around)
}

fn free() -> Arc<Ledger> {
    Arc::new(Ledger::new("run", None))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A vector of the text's length and one, the last text first, as a server may order them.
fn lengths(heard: &Heard) -> Speak {
    let body = heard.json();
    let input = body["input"].as_array().expect("a list");
    let one = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": [text.as_str().expect("text").len(), 1] });
    let data: Vec<Value> = input.iter().enumerate().rev().map(one).collect();
    Speak::ok(json!({ "object": "list", "data": data, "usage": { "total_tokens": 1000 } }))
}

#[tokio::test]
async fn texts_go_in_batches_as_their_side_wants_them_and_come_back_in_order() {
    let server = Server::start(|heard, _| lengths(heard)).await;
    let sides = |query: &str, passage: &str| Sides { query: query.to_owned(), passage: passage.to_owned() };
    let config = EmbeddingsConfig {
        dimensions: Some(2),
        prefix: sides("q: ", ""),
        input_type: sides("query", ""),
        ..config(&server.base)
    };
    let ledger = free();
    let model = embedder(config.clone(), &ledger);
    let vectors = model.embed(Side::Passage, &texts(&["a", "bbb", "cc"])).await.expect("vectors");
    assert_eq!(vectors, [[1.0, 1.0], [3.0, 1.0], [2.0, 1.0]]);
    let asked = model.embed(Side::Query, &texts(&["a"])).await.expect("vectors");
    assert_eq!(asked, [[4.0, 1.0]]);
    let heard = server.heard();
    assert_eq!(heard.len(), 3, "two batches and one");
    assert_eq!(
        (heard[0].path.as_str(), heard[0].header("authorization")),
        ("/v1/embeddings", Some(format!("Bearer {PLANTED}").as_str()))
    );
    let common = json!({ "model": "small", "encoding_format": "float", "dimensions": 2 });
    let body = |extra: Value| {
        let mut body = common.clone();
        body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        body
    };
    assert_eq!(heard[0].json(), body(json!({ "input": ["a", "bbb"] })));
    assert_eq!(heard[2].json(), body(json!({ "input": ["q: a"], "input_type": "query" })));
    assert!((ledger.spent() - 0.003).abs() < 1e-9, "three calls of a thousand tokens");
    let plain = embedder(EmbeddingsConfig { prefix: Sides::default(), ..config }, &ledger);
    assert_ne!(plain.name(), model.name(), "other prefixes make other vectors");
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_and_a_cap_holds_before_the_call() {
    let server = Server::start(|heard, number| match number {
        0 => Speak::Answer(503, Vec::new(), "busy".into()),
        _ => lengths(heard),
    })
    .await;
    let model = embedder(config(&server.base), &free());
    assert_eq!(model.embed(Side::Query, &texts(&["aa"])).await.expect("vectors"), [[2.0, 1.0]]);
    assert_eq!(server.heard().len(), 2);
    let capped = Arc::new(Ledger::new("run", Some(0.000_001)));
    let refused = embedder(config(&server.base), &capped).embed(Side::Query, &texts(&["aa bb cc dd"])).await;
    assert!(refused.expect_err("too dear").to_string().contains("this call may cost"));
    assert_eq!(server.heard().len(), 2, "nothing was sent");
}

#[tokio::test]
async fn nonsense_is_an_error_in_words_without_the_key() {
    let one = |index: usize, embedding: Value| json!({ "index": index, "embedding": embedding });
    let cases: Vec<(Speak, &str)> = vec![
        (Speak::ok(json!({ "data": [one(0, json!([1]))] })), "1 vectors for 2 texts"),
        (
            Speak::ok(json!({ "data": [one(0, json!([1])), one(0, json!([1]))] })),
            "no single vector for text 0",
        ),
        (
            Speak::ok(json!({ "data": [one(0, json!([1])), one(7, json!([1]))] })),
            "no single vector for text 7",
        ),
        (Speak::ok(json!({ "data": [one(0, json!([1])), one(1, json!([1, 2]))] })), "1 and of 2 dimensions"),
        (Speak::ok(json!({ "data": [one(0, json!([0, 0])), one(1, json!([1, 2]))] })), "is empty"),
        (
            Speak::ok(json!({ "data": [one(0, json!([1e300])), one(1, json!([1]))] })),
            "text 0 contains a value that is not a number",
        ),
        (
            Speak::ok(json!({ "data": [one(0, json!("AAAA")), one(1, json!("AAAA"))] })),
            "does not match its API",
        ),
        (Speak::ok("<html>hello</html>"), "does not match its API"),
        (Speak::ok(json!({ "error": { "message": format!("bad key {PLANTED}") } })), "an error inside"),
        (Speak::Answer(401, Vec::new(), format!("no such key: {PLANTED}")), "check the key"),
        (Speak::Answer(404, Vec::new(), "{}".into()), "check the model's name and the base URL"),
        (Speak::Torn(900, "{".into()), "was not reached"),
    ];
    for (speak, expected) in cases {
        let server = Server::start(move |_, _| speak.clone()).await;
        let answer = embedder(config(&server.base), &free()).embed(Side::Passage, &texts(&["a", "b"])).await;
        let told = answer.expect_err(expected).to_string();
        assert!(told.contains(expected) && !told.contains(PLANTED), "{expected:?} in {told:?}");
    }
    let short = EmbeddingsConfig { dimensions: Some(9), ..config("http://127.0.0.1:1") };
    let told = embedder(short, &free()).embed(Side::Query, &texts(&["a"])).await.expect_err("nobody there");
    assert!(told.to_string().contains("was not reached"), "{told}");
}

#[tokio::test]
async fn a_text_is_embedded_once_for_all_processes_and_a_torn_record_is_written_over() {
    let server = Server::start(|heard, _| lengths(heard)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Cached::new(embedder(config(&server.base), &free()), folder.path(), "here").expect("opens");
    let first = open();
    first.embed(Side::Passage, &texts(&["a", "bb", "a"])).await.expect("vectors");
    first.embed(Side::Query, &texts(&["a"])).await.expect("vectors");
    assert_eq!(server.heard().len(), 2, "a text that comes twice is asked once; a query is no passage");
    let again = open().embed(Side::Passage, &texts(&["bb", "a"])).await.expect("vectors");
    assert_eq!((again, server.heard().len()), (vec![vec![2.0, 1.0], vec![1.0, 1.0]], 2));

    let file =
        fs::read_dir(folder.path()).expect("a folder").next().expect("a file").expect("an entry").path();
    let whole = fs::read(&file).expect("reads");
    for cut in (0..whole.len()).step_by(5) {
        fs::write(&file, &whole[..cut]).expect("writes");
        let kept = open().embed(Side::Passage, &texts(&["ccc"])).await.expect("vectors");
        assert_eq!(kept, [[3.0, 1.0]], "cut at {cut}");
        let asked = server.heard().len();
        assert_eq!(open().embed(Side::Passage, &texts(&["ccc"])).await.expect("vectors"), [[3.0, 1.0]]);
        assert_eq!(server.heard().len(), asked, "cut at {cut}: what was written is read again");
    }
    let elsewhere =
        Cached::new(embedder(config(&server.base), &free()), folder.path(), "there").expect("opens");
    let asked = server.heard().len();
    elsewhere.embed(Side::Passage, &texts(&["a"])).await.expect("vectors");
    assert_eq!(server.heard().len(), asked + 1, "another place may mean another model");
}

#[tokio::test]
async fn recorded_vectors_are_played_without_a_server_and_hold_no_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tape.jsonl");
    let asked = texts(&["a secret wish", "bb"]);
    let recorded = {
        let server = Server::start(|heard, _| lengths(heard)).await;
        let tape =
            Arc::new(Recording::create(&path, Redactor::new([PLANTED]).expect("builds")).expect("begins"));
        let model = RecordedVectors::new(embedder(config(&server.base), &free()), tape);
        model.embed(Side::Query, &asked).await.expect("vectors")
    };
    assert!(!fs::read_to_string(&path).expect("reads").contains("secret wish"));
    let played = ReplayedVectors::load(&path).expect("loads");
    let backwards: Vec<String> = asked.iter().rev().cloned().collect();
    let again = played.embed(Side::Query, &backwards).await.expect("vectors");
    assert_eq!(
        (played.name(), again[1].clone(), again[0].clone()),
        ("small", recorded[0].clone(), recorded[1].clone())
    );
    let told = played.embed(Side::Passage, &asked).await.expect_err("another side").to_string();
    assert!(told.contains("no vector of \"a secret wish\""), "{told}");
}
