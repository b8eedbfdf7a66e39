//! Reviews in batches, against servers that keep the state of each batch as the vendors describe it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice_models::anthropic::{Anthropic, AnthropicConfig, ApiVersion, ModelDefaults};
use apprentice_models::batch::{BatchJournal, BatchOptions, BatchService, Batched};
use apprentice_models::hosted::HostedConfig;
use apprentice_models::http::{Endpoint, Secret};
use apprentice_models::middleware::RetryPolicy;
use apprentice_models::openai::OpenAi;
use apprentice_models::options::CallOptions;
use apprentice_models::price::{Price, Tariff};
use apprentice_models::safety::SafetyPolicy;
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_protocol::{
    ChatModel as _, ChatReply, ChatRequest, Clock as _, Content, Message, ModelError, ModelErrorKind,
    NamedSchema, Purpose, Retry, VirtualClock,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::PLANTED;
use crate::server::{Heard, Server, Speak};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Anthropic,
    OpenAi,
}

const BOTH: [Vendor; 2] = [Vendor::Anthropic, Vendor::OpenAi];

/// The requests of each batch, in order: the key, and the words of the request.
type Batches = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// A vendor's server: batches end after so many questions about their state.
struct Office {
    vendor: Vendor,
    server: Server,
    batches: Batches,
    /// The marks that batches were sent under, as the vendor keeps them.
    marks: Arc<Mutex<Vec<Value>>>,
}

/// What becomes of a request, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Expired,
    Refused,
    Missing,
}

fn fate(words: &str) -> Fate {
    match words {
        _ if words.contains("expires") => Fate::Expired,
        _ if words.contains("is refused") => Fate::Refused,
        _ if words.contains("is missing") => Fate::Missing,
        _ => Fate::Answered,
    }
}

impl Vendor {
    /// Reads the requests of a batch.
    fn requests(self, heard: &Heard) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().expect("text").to_owned();
        match self {
            Self::Anthropic => {
                let body = heard.json();
                let all = body["requests"].as_array().expect("requests").clone();
                keep(&heard.json(), "anthropic.batch.0.batchrequest");
                all.iter()
                    .map(|one| (word(&one["custom_id"]), word(&one["params"]["system"][0]["text"])))
                    .collect()
            }
            Self::OpenAi => {
                let kind = heard.header("content-type").expect("a kind");
                assert!(kind.starts_with("multipart/form-data; boundary="), "{kind}");
                let body = String::from_utf8(heard.body.clone()).expect("UTF-8");
                assert!(body.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{body}");
                let lines = body.lines().filter(|line| line.starts_with('{'));
                let all: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("JSON")).collect();
                keep(&all[0], "openai.batch.0.batchentry");
                all.iter().map(|one| (word(&one["custom_id"]), word(&one["body"]["instructions"]))).collect()
            }
        }
    }

    /// Returns the description of a batch that is at work, or has ended in this way.
    fn description(self, id: usize, how: &str) -> Value {
        let ended = !matches!(how, "in_progress");
        let told = match self {
            Self::Anthropic => json!({
                "id": format!("msgbatch_{id}"), "type": "message_batch", "processing_status": how,
                "request_counts": { "processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0 },
                "created_at": "2026-11-23T10:00:00Z", "expires_at": "2026-11-24T10:00:00Z",
                "ended_at": ended.then_some("2026-11-23T10:30:00Z"), "archived_at": null, "cancel_initiated_at": null,
                "results_url": ended.then(|| "https://elsewhere.example/results".to_owned()),
            }),
            Self::OpenAi => json!({
                "id": format!("batch_{id}"), "object": "batch", "endpoint": "/v1/responses", "status": how,
                "completion_window": "24h", "created_at": 1, "input_file_id": format!("file-in-{id}"),
                "output_file_id": (ended && how != "failed").then(|| format!("file-out-{id}")),
                "error_file_id": (ended && how != "failed").then(|| format!("file-err-{id}")),
                "errors": (how == "failed").then(|| json!({ "object": "list", "data": [
                    { "code": "token_limit_exceeded", "message": "Enqueued token limit reached" } ] })),
                "request_counts": { "total": 1, "completed": 1, "failed": 0 },
            }),
        };
        keep(&told, &format!("{}.batch.0.batchreply", format!("{self:?}").to_lowercase()));
        told
    }

    /// Returns the line of an answer file for a request, and whether it stands in the file of errors.
    fn line(self, (key, words): &(String, String)) -> Option<(Value, bool)> {
        let line = match (self, fate(words)) {
            (_, Fate::Missing) => return None,
            (Self::Anthropic, Fate::Answered) => json!({ "type": "succeeded", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
                "stop_sequence": null, "content": [{ "type": "text", "text": words }],
                "usage": { "input_tokens": 1000, "output_tokens": 100 },
            } }),
            (Self::Anthropic, Fate::Expired) => json!({ "type": "expired" }),
            (Self::Anthropic, Fate::Refused) => json!({ "type": "errored", "error": { "type": "error",
                "request_id": null, "error": { "type": "invalid_request_error", "message": format!("no {PLANTED}") } } }),
            (Self::OpenAi, Fate::Answered) => json!({ "status_code": 200, "request_id": "r", "body": {
                "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-x", "error": null,
                "output": [{ "type": "message", "id": "m", "role": "assistant", "status": "completed",
                    "content": [{ "type": "output_text", "text": words, "annotations": [] }] }],
                "usage": { "input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100 },
            } }),
            (Self::OpenAi, Fate::Refused) => json!({ "status_code": 400, "request_id": "r",
                "body": { "error": { "code": "invalid_value", "message": format!("no {PLANTED}") } } }),
            (Self::OpenAi, Fate::Expired) => {
                let error =
                    json!({ "code": "batch_expired", "message": "This request could not be executed." });
                return Some((
                    json!({ "id": "b", "custom_id": key, "response": null, "error": error }),
                    true,
                ));
            }
        };
        if self == Self::Anthropic {
            let line = json!({ "custom_id": key, "result": line });
            keep(&line, &format!("anthropic.batch.{:?}.batchline", fate(words)));
            return Some((line, false));
        }
        Some((
            json!({ "id": "b", "custom_id": key, "response": line, "error": null }),
            fate(words) == Fate::Refused,
        ))
    }
}

impl Vendor {
    /// A batch of so many requests in the list of batches, which are marked as they were sent.
    fn listed(self, place: usize, requests: usize, marks: &[Value]) -> Value {
        let mut told = self.description(place + 1, "in_progress");
        match self {
            Self::Anthropic => told["request_counts"] = json!({ "processing": requests }),
            Self::OpenAi => told["metadata"] = marks[place].clone(),
        }
        told
    }
}

/// Keeps a body for the conformance check.
fn keep(body: &Value, name: &str) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.json")), body.to_string()).expect("writes");
}

impl Office {
    /// Batches end as `how` at the question of this number, from 0; before it they are at work.
    async fn open(vendor: Vendor, ends_at: usize, how: &'static str) -> Self {
        let batches = Batches::default();
        let marks: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (kept, kept_marks, asked) = (Arc::clone(&batches), Arc::clone(&marks), Mutex::new(0));
        let server = Server::start(move |heard, _| {
            let mut batches = kept.lock().expect("unpoisoned");
            let number = |path: &str| -> usize {
                let digits: String = path.chars().filter(char::is_ascii_digit).collect();
                digits.trim_start_matches('1').parse().unwrap_or(1)
            };
            let path = heard.path.strip_prefix("/v1").unwrap_or(&heard.path).to_owned();
            let file = |of_errors: bool| -> String {
                let batch: Vec<_> = batches[number(&path) - 1].iter().rev().cloned().collect();
                let lines = batch.iter().filter_map(|one| vendor.line(one));
                let lines = lines.filter(|(_, is_error)| *is_error == of_errors);
                lines.map(|(line, _)| format!("{line}\n")).collect()
            };
            match path.as_str() {
                list if list.contains("batches?limit=") => {
                    let marks = kept_marks.lock().expect("unpoisoned");
                    let all: Vec<Value> = batches
                        .iter()
                        .enumerate()
                        .map(|(place, requests)| vendor.listed(place, requests.len(), &marks))
                        .rev()
                        .collect();
                    Speak::ok(json!({ "object": "list", "data": all, "has_more": false }))
                }
                "/messages/batches" | "/files" => {
                    batches.push(vendor.requests(heard));
                    match vendor {
                        Vendor::Anthropic => Speak::ok(vendor.description(batches.len(), "in_progress")),
                        Vendor::OpenAi => {
                            Speak::ok(json!({ "id": format!("file-in-{}", batches.len()), "object": "file" }))
                        }
                    }
                }
                "/batches" => {
                    let body = heard.json();
                    assert_eq!(body["input_file_id"], format!("file-in-{}", batches.len()));
                    keep(&body, "openai.batch.0.batchrequest");
                    kept_marks.lock().expect("unpoisoned").push(body["metadata"].clone());
                    Speak::ok(vendor.description(batches.len(), "in_progress"))
                }
                results if results.ends_with("/results") || results.contains("file-out") => {
                    Speak::ok(file(false))
                }
                errors if errors.contains("file-err") => Speak::ok(file(true)),
                state if state.contains("batches/") => {
                    let mut asked = asked.lock().expect("unpoisoned");
                    *asked += 1;
                    let how = if *asked > ends_at { how } else { "in_progress" };
                    Speak::ok(vendor.description(number(state), how))
                }
                other => panic!("nobody asks for {other}"),
            }
        })
        .await;
        Self { vendor, server, batches, marks }
    }

    fn service(&self) -> Arc<dyn BatchService> {
        let tariff = Some(Tariff::Tokens(Price { input: 1.0, output: 5.0, ..Price::default() }));
        let key = Some(Secret::new(PLANTED));
        match self.vendor {
            Vendor::Anthropic => {
                let model = "claude-sonnet-5-5".to_owned();
                let facts = ModelDefaults::of(&model).expect("a known family");
                Arc::new(Anthropic::new(
                    AnthropicConfig {
                        model,
                        endpoint: Endpoint::new(&self.server.base, key),
                        version: ApiVersion::default(),
                        facts,
                        effort: None,
                        page_scripts: false,
                        forget_above: None,
                        tariff,
                        calls: CallOptions::default(),
                    },
                    super::transport(),
                ))
            }
            Vendor::OpenAi => Arc::new(OpenAi::new(
                HostedConfig {
                    model: "gpt-6.1-sol".into(),
                    endpoint: Endpoint::new(&format!("{}/v1", self.server.base), key),
                    effort: None,
                    safety: SafetyPolicy::Refuse,
                    tariff,
                    calls: CallOptions::default(),
                },
                super::transport(),
            )),
        }
    }

    /// A process that reviews, with the journal in this folder.
    fn process(&self, folder: &Path) -> Batched {
        let clock = Arc::new(VirtualClock::default());
        let reply = ScriptedReply { say: Some("at once".into()), ..ScriptedReply::default() };
        let direct = Arc::new(Scripted::new(vec![reply; 3]).expect("a script").in_order());
        let journal = BatchJournal::open(&folder.join("journal.jsonl"), clock.now()).expect("a journal");
        let retry = RetryPolicy { retries: 1, ..RetryPolicy::default() };
        let options = BatchOptions { retry, deadline: Duration::from_secs(600) };
        Batched::new(self.service(), direct, journal, clock, options)
    }

    /// The number of requests in each batch so far.
    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().expect("unpoisoned").iter().map(Vec::len).collect()
    }
}

fn review(words: &str) -> ChatRequest {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
        "additionalProperties": false });
    ChatRequest {
        purpose: Purpose::Reflect,
        system: words.to_owned(),
        messages: vec![Message::User { content: vec![Content::text("Grüße\nüber zwei Zeilen")] }],
        schema: Some(NamedSchema { name: "r".into(), schema }),
        max_output_tokens: 9000,
        ..ChatRequest::default()
    }
}

async fn ask(model: &Batched, words: &[&str]) -> Vec<Result<ChatReply, ModelError>> {
    let requests: Vec<ChatRequest> = words.iter().map(|words| review(words)).collect();
    join_all(requests.iter().map(|request| model.reply(request))).await
}

fn said(reply: &Result<ChatReply, ModelError>) -> &str {
    &reply.as_ref().expect("an answer").say[0]
}

#[tokio::test]
async fn reviews_that_are_asked_together_share_a_batch_and_are_paid_once() {
    for vendor in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let office =
            Office::open(vendor, 3, if vendor == Vendor::Anthropic { "ended" } else { "completed" }).await;
        let model = office.process(folder.path());
        let words = ["first", "second", "third"];
        let replies = ask(&model, &words).await;
        assert_eq!(replies.iter().map(said).collect::<Vec<_>>(), words, "{vendor:?}");
        assert_eq!(office.sizes(), [3], "{vendor:?}");
        let cost = |reply: &Result<ChatReply, ModelError>| reply.as_ref().expect("an answer").cost_usd;
        assert!((cost(&replies[0]).expect("a price") - 0.0015).abs() < 1e-9, "{vendor:?}");
        let waited = replies[0].as_ref().expect("an answer").timing;
        assert!(waited.working_ms == 0 && waited.waiting_ms >= 37_000, "{vendor:?}: {waited:?}");
        let again = ask(&model, &["second"]).await;
        assert_eq!((said(&again[0]), cost(&again[0])), ("second", Some(0.0)), "{vendor:?}");
        assert_eq!(office.sizes(), [3], "{vendor:?}");
    }
}

#[tokio::test]
async fn a_batch_that_was_sent_is_taken_up_by_the_next_process() {
    for vendor in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let how = if vendor == Vendor::Anthropic { "ended" } else { "completed" };
        let office = Office::open(vendor, 14, how).await;
        let killed = office.process(folder.path());
        let late = ask(&killed, &["first", "second"]).await;
        let told = late[0].as_ref().expect_err("the deadline is over").to_string();
        assert!(told.contains("has not ended within 0.16") && told.contains("repeat the command"), "{told}");
        drop(killed);
        let next = office.process(folder.path());
        // It asks in another order.
        let replies = ask(&next, &["second", "first"]).await;
        assert_eq!(replies.iter().map(said).collect::<Vec<_>>(), ["second", "first"], "{vendor:?}");
        assert_eq!(office.sizes(), [2], "{vendor:?}: nothing is sent twice");
        let third = office.process(folder.path());
        let replies = ask(&third, &["first", "new"]).await;
        assert_eq!(replies.iter().map(said).collect::<Vec<_>>(), ["first", "new"], "{vendor:?}");
        assert_eq!(replies[0].as_ref().expect("an answer").cost_usd, Some(0.0), "{vendor:?}: booked before");
        assert_eq!(office.sizes(), [2, 1], "{vendor:?}");
        third.close().expect("writes");
        let fourth = office.process(folder.path());
        ask(&fourth, &["first", "second"]).await;
        assert_eq!(office.sizes(), [2, 1, 1], "{vendor:?}: what a finished command used is asked anew");
    }
}

#[tokio::test]
async fn requests_without_an_answer_are_told_and_sent_anew_by_the_next_process() {
    for vendor in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let how = if vendor == Vendor::Anthropic { "ended" } else { "expired" };
        let office = Office::open(vendor, 0, how).await;
        let words = ["good", "this expires", "this is refused", "this is missing"];
        let model = office.process(folder.path());
        let replies = ask(&model, &words).await;
        assert_eq!(said(&replies[0]), "good", "{vendor:?}");
        let expired = if vendor == Vendor::Anthropic { "expired" } else { "batch_expired" };
        for (reply, part) in replies[1..].iter().zip([expired, "no [", "without an answer"]) {
            let error = reply.as_ref().expect_err("no answer");
            assert_eq!(error.retry, Retry::Never, "{vendor:?}: {error}");
            assert!(
                error.message.contains(part) && error.message.contains("ended as"),
                "{vendor:?}: {error}"
            );
            assert!(!error.message.contains(PLANTED), "{error}");
        }
        assert!(ask(&model, &["this expires"]).await[0].is_err(), "the same process does not wait again");
        assert_eq!(office.sizes(), [4], "{vendor:?}");
        let next = office.process(folder.path());
        assert_eq!(said(&ask(&next, &words).await[0]), "good", "{vendor:?}");
        assert_eq!(office.sizes(), [4, 3], "{vendor:?}");
    }
}

#[tokio::test]
async fn a_batch_that_is_refused_as_a_whole_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let office = Office::open(Vendor::OpenAi, 0, "failed").await;
    let model = office.process(folder.path());
    let told = ask(&model, &["first"]).await.remove(0).expect_err("no answer");
    assert_eq!(told.fault, ModelErrorKind::Unavailable);
    assert!(told.message.contains("Enqueued token limit reached"), "{told}");
    ask(&office.process(folder.path()), &["first"]).await;
    assert_eq!(office.sizes(), [1, 1], "it is sent anew");
}

#[tokio::test]
async fn only_reviews_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let office = Office::open(Vendor::Anthropic, 0, "ended").await;
    let model = office.process(folder.path());
    let with = |purpose| ChatRequest { purpose, ..review("x") };
    let refused = model.reply(&with(Purpose::Act)).await.expect_err("is refused");
    assert!(refused.message.contains("cannot wait for a batch"), "{refused}");
    let direct = model.reply(&with(Purpose::Manage)).await;
    assert_eq!(said(&direct), "at once");
    assert!(office.sizes().is_empty());
}

/// Removes what a process that was killed between sending a batch and noting its id has not written.
fn forget_the_id(folder: &Path) {
    let path = folder.join("journal.jsonl");
    let text = std::fs::read_to_string(&path).expect("a journal");
    let kept: String =
        text.lines().filter(|line| line.contains("\"sending\"")).map(|line| format!("{line}\n")).collect();
    assert!(!kept.is_empty() && kept.len() < text.len(), "{text}");
    std::fs::write(&path, kept).expect("written");
}

#[tokio::test]
async fn a_batch_whose_id_was_not_heard_is_found_and_not_paid_twice() {
    for vendor in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let office =
            Office::open(vendor, 0, if vendor == Vendor::OpenAi { "completed" } else { "ended" }).await;
        let process = office.process(folder.path());
        assert!(ask(&process, &["one", "two"]).await.iter().all(Result::is_ok), "{vendor:?}");
        drop(process);
        forget_the_id(folder.path());
        // Another process asks for the same, and for more.
        let process = office.process(folder.path());
        let replies = ask(&process, &["one", "two", "three"]).await;
        assert_eq!(replies.iter().map(said).collect::<Vec<_>>(), ["one", "two", "three"], "{vendor:?}");
        assert_eq!(office.sizes(), [2, 1], "{vendor:?}: what was sent is not sent again");
        if vendor == Vendor::OpenAi {
            let marks = office.marks.lock().expect("unpoisoned");
            assert!(
                marks[0]["apprentice_requests"].as_str().is_some_and(|mark| mark.len() == 32),
                "{marks:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_batch_that_the_provider_does_not_have_is_sent() {
    for vendor in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let office =
            Office::open(vendor, 0, if vendor == Vendor::OpenAi { "completed" } else { "ended" }).await;
        let process = office.process(folder.path());
        ask(&process, &["one", "two"]).await;
        drop(process);
        forget_the_id(folder.path());
        office.batches.lock().expect("unpoisoned").clear();
        office.marks.lock().expect("unpoisoned").clear();
        let process = office.process(folder.path());
        assert!(ask(&process, &["one", "two"]).await.iter().all(Result::is_ok), "{vendor:?}");
        assert_eq!(office.sizes(), [2], "{vendor:?}");
    }
}
