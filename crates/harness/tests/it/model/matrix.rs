//! What can go wrong with a server, row by row, and how an attempt ends by it: every trouble of the wire for every
//! adapter, each in a whole attempt of the real loop.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::agent::{self, AttemptInput, AttemptResult};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::http::{Endpoint, Timeouts, Transport};
use apprentice_models::middleware::{Budgeted, Ledger, RetryPolicy, Retrying};
use apprentice_models::options::CallOptions;
use apprentice_models::price::{Price, Tariff};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{
    ChatModel, Clock, Environment, EnvironmentKind, EnvironmentSource, Guidance, Header, Limits, Size,
    StopReason, TaskBrief, TaskId, VoidCause, WorldSpec,
};
use apprentice_trace::{Recorder, Redactor};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::adapters::{ALL, Adapter, RETRIES};
use super::{PLANTED, within};
use crate::bench::editor;
use crate::server::{Server, Speak};

type Stop = Result<StopReason, VoidCause>;

const WRITTEN: &str = "<function=finish><parameter=finish>done</parameter></function>";

/// What a model says in its provider's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// It calls `finish`.
    Done,
    /// The provider refuses, with status 200.
    Refusal,
    /// Neither a word nor a call.
    Nothing,
    /// Words, ended for a reason that nobody knows.
    UnknownEnding,
    /// A whole turn, in whose words a call of `finish` stands.
    WrittenCall,
    /// A block of a kind that nobody knows, beside a call of `finish`.
    UnknownBlock,
    /// A call of `finish` whose arguments are none.
    WrongArguments,
    /// An overload, with status 200.
    ErrorInside,
}

/// The body of a response in which the provider's model says this.
fn says(adapter: Adapter, said: Said) -> String {
    match adapter {
        Adapter::Anthropic => messages(said),
        Adapter::OpenAi => responses(said),
        Adapter::Gemini => interactions(said),
        Adapter::Compat => completions(said),
    }
    .to_string()
}

/// A way to servers with deadlines that a test can wait for.
fn hasty() -> Transport {
    let (idle, whole) = (Duration::from_secs(1), Duration::from_secs(2));
    within(Timeouts { connect: Duration::from_secs(5), first_byte: whole, idle, whole })
}

fn messages(said: Said) -> Value {
    let finish = json!({ "type": "tool_use", "id": "t1", "name": "finish", "input": { "finish": "done" } });
    let (content, stop) = match said {
        Said::Done => (json!([finish]), "tool_use"),
        Said::Refusal => (json!([]), "refusal"),
        Said::Nothing => (json!([]), "end_turn"),
        Said::UnknownEnding => (json!([{ "type": "text", "text": "x" }]), "from_later"),
        Said::WrittenCall => (json!([{ "type": "text", "text": WRITTEN }]), "end_turn"),
        Said::UnknownBlock => (json!([{ "type": "from_later", "x": 1 }, finish]), "tool_use"),
        Said::WrongArguments => {
            (json!([{ "type": "tool_use", "id": "t1", "name": "finish", "input": 7 }]), "tool_use")
        }
        Said::ErrorInside => {
            return json!({ "type": "error", "error": { "type": "overloaded_error", "message": "x" } });
        }
    };
    json!({ "content": content, "stop_reason": stop, "usage": {} })
}

fn responses(said: Said) -> Value {
    let call = |arguments: &str| json!({ "type": "function_call", "call_id": "c1", "name": "finish", "arguments": arguments });
    let finish = call("{\"finish\":\"done\"}");
    let words = |part: Value| json!({ "type": "message", "role": "assistant", "content": [part] });
    let output = match said {
        Said::Done => json!([finish]),
        Said::Refusal => json!([words(json!({ "type": "refusal", "refusal": "no" }))]),
        Said::Nothing => json!([]),
        Said::UnknownEnding => {
            return json!({ "status": "incomplete", "incomplete_details": { "reason": "from_later" },
                "output": [words(json!({ "type": "output_text", "text": "x" }))] });
        }
        Said::WrittenCall => json!([words(json!({ "type": "output_text", "text": WRITTEN }))]),
        Said::UnknownBlock => json!([{ "type": "from_later", "x": 1 }, finish]),
        Said::WrongArguments => json!([call("{\"finish\":")]),
        Said::ErrorInside => {
            return json!({ "status": "failed", "output": [], "error": { "code": "server_error", "message": "x" } });
        }
    };
    json!({ "status": "completed", "output": output, "usage": {} })
}

fn interactions(said: Said) -> Value {
    let call = |arguments: Value| json!({ "type": "function_call", "id": "f1", "name": "finish", "arguments": arguments });
    let finish = call(json!({ "finish": "done" }));
    let words =
        |text: &str| json!([{ "type": "model_output", "content": [{ "type": "text", "text": text }] }]);
    let (status, steps) = match said {
        Said::Done => ("requires_action", json!([finish])),
        Said::Nothing => ("completed", json!([])),
        Said::UnknownEnding => ("incomplete", words("x")),
        Said::WrittenCall => ("completed", words(WRITTEN)),
        Said::UnknownBlock => ("requires_action", json!([{ "type": "from_later", "x": 1 }, finish])),
        Said::WrongArguments => ("requires_action", json!([call(json!(7))])),
        Said::Refusal | Said::ErrorInside => {
            let code = if said == Said::Refusal { "PROHIBITED_CONTENT" } else { "UNAVAILABLE" };
            return json!({ "status": "failed", "steps": [], "errors": [{ "code": code, "message": "x" }] });
        }
    };
    json!({ "status": status, "steps": steps, "usage": {} })
}

fn completions(said: Said) -> Value {
    let call = |arguments: &str| json!([{ "id": "c1", "type": "function", "function": { "name": "finish", "arguments": arguments } }]);
    let finish = call("{\"finish\":\"done\"}");
    let (message, reason) = match said {
        Said::Done => (json!({ "content": null, "tool_calls": finish }), "tool_calls"),
        Said::Refusal => (json!({ "content": null, "refusal": "no" }), "stop"),
        Said::Nothing => (json!({ "content": "" }), "stop"),
        Said::UnknownEnding => (json!({ "content": "x" }), "from_later"),
        Said::WrittenCall => (json!({ "content": WRITTEN }), "stop"),
        Said::UnknownBlock => {
            (json!({ "content": [{ "type": "from_later" }], "tool_calls": finish }), "tool_calls")
        }
        Said::WrongArguments => {
            (json!({ "content": null, "tool_calls": call("{\"finish\":") }), "tool_calls")
        }
        Said::ErrorInside => return json!({ "error": { "code": "server_error", "message": "x" } }),
    };
    json!({ "choices": [{ "message": message, "finish_reason": reason }] })
}

/// How an attempt with this model ends.
pub(crate) async fn attempt(model: &dyn ChatModel) -> AttemptResult {
    let (kind, screen) = (EnvironmentKind::Scene, Size::new(640, 400));
    let world = WorldSpec { scene: Some(editor()), ..WorldSpec::new(kind, screen) };
    let mut opened = SceneSource::default().open(&world).await.expect("opens");
    attempt_in(model, opened.environment.as_mut(), kind, screen).await
}

/// How an attempt with this model in this world ends.
pub(super) async fn attempt_in(
    model: &dyn ChatModel,
    world: &mut dyn Environment,
    environment: EnvironmentKind,
    screen: Size,
) -> AttemptResult {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(VirtualClock::default());
    let redactor = Arc::new(Redactor::new([PLANTED]).expect("builds"));
    let blobs = folder.path().join("blobs");
    let mut recorder = Recorder::create(folder.path(), &blobs, clock.clone(), redactor).expect("records");
    let brief = TaskBrief {
        id: TaskId::new("notes"),
        instruction: "Save the note.".into(),
        limits: Limits { world_steps: 100, turns: 100, ..Limits::default() },
    };
    let header = Header {
        version: 1,
        program: "test".into(),
        brief: brief.clone(),
        world: WorldSpec::new(environment, screen),
        model: model.profile().clone(),
        seed: None,
        prompt_hash: agent::prompt_hash(),
    };
    let attempt = AttemptInput {
        brief: &brief,
        model,
        guidance: &Guidance::default(),
        tools: &[],
        clock: clock.as_ref(),
        header,
        seed: Some(7),
        cancel: CancellationToken::new(),
    };
    let ended = agent::run(attempt, world, &mut recorder).await;
    recorder.sync().expect("syncs");
    let trace = std::fs::read_to_string(folder.path().join("events.jsonl")).expect("a trace");
    assert!(!trace.contains(PLANTED), "a key stands in a trace");
    assert_eq!(trace.matches("\"kind\":\"stopped\"").count(), 1, "exactly one end");
    ended
}

/// Lives an attempt with a server that answers its requests so, counted from 0.
async fn check(
    (adapter, row, transport): (Adapter, &str, &Transport),
    speak: impl Fn(usize) -> Speak + Send + Sync + 'static,
    (expected, requests): (Stop, usize),
) {
    let server = Server::start(move |_, number| speak(number)).await;
    let ended = attempt(&*adapter.model(&server.base, transport.clone(), None)).await;
    assert_eq!(ended.stop, expected, "{adapter:?}, {row}: {}", ended.detail);
    assert_eq!(server.heard().len(), requests, "{adapter:?}, {row}");
    assert!(!ended.detail.contains(PLANTED), "{adapter:?}, {row}: {}", ended.detail);
}

fn status(status: u16, headers: &[(&'static str, &str)], body: impl std::fmt::Display) -> Speak {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Speak::Answer(status, headers, format!("{body}"))
}

fn busy(code: u16, headers: &[(&'static str, &str)]) -> Speak {
    status(code, headers, json!({ "error": { "message": format!("key {PLANTED} is busy") } }))
}

/// What may pass by itself, and what it means when it does not.
fn passing(adapter: Adapter) -> Vec<(&'static str, Speak, VoidCause)> {
    let (unavailable, protocol) = (VoidCause::ModelUnavailable, VoidCause::ModelProtocol);
    let done = says(adapter, Said::Done);
    let cut = done[..done.len() / 2].to_owned();
    vec![
        ("429 in milliseconds", busy(429, &[("retry-after-ms", "1234")]), unavailable),
        ("429 in seconds", busy(429, &[("retry-after", "3")]), unavailable),
        ("429 by date", busy(429, &[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")]), unavailable),
        ("429 without a word", busy(429, &[]), unavailable),
        ("500", busy(500, &[]), unavailable),
        ("529", busy(529, &[]), unavailable),
        ("a reset in the body", Speak::Torn(done.len(), cut.clone()), unavailable),
        ("silence", Speak::Silent, unavailable),
        ("silence in the body", Speak::Stalled(done.len(), cut.clone()), unavailable),
        ("a cut answer", Speak::ok(cut), protocol),
        ("HTML", Speak::ok("<html><body>502 Bad Gateway</body></html>"), protocol),
        ("an empty body", Speak::ok(""), protocol),
        ("another API's JSON", Speak::ok("[1, 2]"), protocol),
        ("an error inside a 200", Speak::ok(says(adapter, Said::ErrorInside)), unavailable),
    ]
}

#[tokio::test]
async fn passing_trouble_passes_and_lasting_trouble_is_void() {
    let transport = &hasty();
    let for_ever = RETRIES as usize + 1;
    let rows =
        ALL.into_iter().flat_map(|adapter| passing(adapter).into_iter().map(move |row| (adapter, row)));
    let lived = rows.map(|(adapter, (row, speak, cause))| {
        let (first, then) = (speak.clone(), Speak::ok(says(adapter, Said::Done)));
        let once = move |number| if number == 0 { first.clone() } else { then.clone() };
        async move {
            check((adapter, row, transport), once, (Ok(StopReason::Done), 2)).await;
            check((adapter, row, transport), move |_| speak.clone(), (Err(cause), for_ever)).await;
        }
    });
    // Some beside each other, as silence takes its time.
    stream::iter(lived).buffer_unordered(8).collect::<Vec<()>>().await;
}

#[tokio::test]
async fn some_answers_are_final() {
    let code = |code: &str| json!({ "error": { "code": code, "type": code, "status": code } });
    let transport = &hasty();
    for adapter in ALL {
        for (row, speak, expected) in [
            ("a wrong key", busy(401, &[]), Err(VoidCause::ModelUnavailable)),
            ("an unknown model", busy(404, &[]), Err(VoidCause::ModelUnavailable)),
            (
                "a spending limit",
                status(429, &[], code("insufficient_quota")),
                Err(VoidCause::ModelUnavailable),
            ),
            ("a wait of an hour", busy(429, &[("retry-after", "3600")]), Err(VoidCause::ModelUnavailable)),
            ("told not to try", busy(500, &[("x-should-retry", "false")]), Err(VoidCause::ModelUnavailable)),
            ("a wrong request", busy(400, &[]), Err(VoidCause::RequestRefused)),
            (
                "a context that the first request fills",
                status(400, &[], code("context_length_exceeded")),
                Err(VoidCause::RequestRefused),
            ),
            ("too large a request", status(413, &[], ""), Err(VoidCause::RequestRefused)),
        ] {
            check((adapter, row, transport), move |_| speak.clone(), (expected, 1)).await;
        }
    }
}

#[tokio::test]
async fn what_a_model_says_is_judged() {
    let transport = &hasty();
    for adapter in ALL {
        for (said, expected, requests) in [
            (Said::Done, StopReason::Done, 1),
            (Said::Refusal, StopReason::Refused, 1),
            (Said::Nothing, StopReason::InvalidOutput, 3),
            (Said::UnknownEnding, StopReason::InvalidOutput, 3),
            (Said::UnknownBlock, StopReason::Done, 1),
            match adapter {
                // A provider with a place of its own for calls could not be answered.
                Adapter::Anthropic | Adapter::OpenAi | Adapter::Gemini => {
                    (Said::WrittenCall, StopReason::InvalidOutput, 3)
                }
                Adapter::Compat => (Said::WrittenCall, StopReason::Done, 1),
            },
            match adapter {
                // A text that is no JSON, or JSON that is no such call: the one cannot be read, the other is answered.
                Adapter::OpenAi | Adapter::Compat => (Said::WrongArguments, StopReason::InvalidOutput, 3),
                Adapter::Anthropic | Adapter::Gemini => (Said::WrongArguments, StopReason::Loop, 5),
            },
        ] {
            let body = says(adapter, said);
            let row = format!("{said:?}");
            check((adapter, &row, transport), move |_| Speak::ok(&body), (Ok(expected), requests)).await;
        }
    }
}

#[tokio::test]
async fn a_turn_without_an_end_of_its_own_is_not_one() {
    let transport = &hasty();
    for (adapter, body) in [
        (Adapter::OpenAi, json!({ "status": "from_later", "output": [] })),
        (Adapter::Gemini, json!({ "status": "from_later", "steps": [] })),
        (Adapter::Compat, json!({ "choices": [] })),
        (Adapter::Anthropic, json!({ "content": [{ "type": "tool_use", "name": "finish", "input": {} }] })),
    ] {
        let body = body.to_string();
        let row = (adapter, "an answer without what was promised", transport);
        check(row, move |_| Speak::ok(&body), (Err(VoidCause::ModelProtocol), 3)).await;
    }
}

#[tokio::test]
async fn a_call_that_a_cap_forbids_is_never_sent() {
    let transport = &hasty();
    for adapter in ALL {
        let body = says(adapter, Said::Done);
        let server = Server::start(move |_, _| Speak::ok(&body)).await;
        let tariff = Tariff::Tokens(Price { input: 1.0, output: 50.0, ..Price::default() });
        let capped = |cap: f64, tariff: Option<Tariff>| {
            let clock = Arc::new(VirtualClock::default());
            let ledger = Arc::new(Ledger::new("trial", Some(cap)));
            Budgeted::new(
                Boxed(adapter.model(&server.base, transport.clone(), tariff.clone())),
                vec![ledger],
                tariff,
                0,
                clock,
            )
        };
        let ended = attempt(&capped(1e-6, Some(tariff.clone()))).await;
        assert_eq!(ended.stop, Ok(StopReason::TrialCostLimit), "{adapter:?}: {}", ended.detail);
        let ended = attempt(&capped(9.0, None)).await;
        assert_eq!(ended.stop, Ok(StopReason::TrialCostLimit), "a model without a price: {}", ended.detail);
        assert!(server.heard().is_empty(), "{adapter:?}");
        let ended = attempt(&capped(9.0, Some(tariff))).await;
        assert_eq!(ended.stop, Ok(StopReason::Done), "{adapter:?}: {}", ended.detail);
    }
}

/// A model behind a pointer.
struct Boxed(Box<dyn ChatModel>);

impl ChatModel for Boxed {
    fn profile(&self) -> &apprentice_protocol::ModelProfile {
        self.0.profile()
    }

    fn reply<'a>(
        &'a self,
        request: &'a apprentice_protocol::ChatRequest,
    ) -> apprentice_protocol::BoxFuture<
        'a,
        Result<apprentice_protocol::ChatReply, apprentice_protocol::ModelError>,
    > {
        self.0.reply(request)
    }
}

/// How long is waited before the second try, by our clock.
#[tokio::test]
async fn a_server_is_given_the_time_that_it_asks_for() {
    for (row, headers, least, most) in [
        ("in milliseconds", &[("retry-after-ms", "1234")][..], 1234, 1234),
        ("in seconds", &[("retry-after", "3")], 3000, 3000),
        ("by date", &[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")], 9000, 10_000),
        ("without a word", &[], 375, 500),
    ] {
        let (busy, done) = (busy(429, headers), Speak::ok(says(Adapter::Compat, Said::Done)));
        let server =
            Server::start(move |_, number| if number == 0 { busy.clone() } else { done.clone() }).await;
        let clock = Arc::new(VirtualClock::default());
        let config = CompatConfig {
            model: "m".into(),
            endpoint: Endpoint::new(&server.base, None),
            student: StudentProfile::load("generic").expect("is sound"),
            tariff: None,
            effort: None,
            calls: CallOptions::default(),
            adaptation: std::sync::Arc::default(),
        };
        let model = Compat::new(config, super::transport());
        let model = Retrying::new(model, clock.clone(), RetryPolicy::default());
        let reply = model.reply(&apprentice_protocol::ChatRequest::default()).await.expect("answers");
        let waited = u64::try_from(clock.mono().as_millis()).expect("short");
        assert!((least..=most).contains(&waited), "{row}: {waited}");
        assert_eq!(reply.timing.waiting_ms, waited, "{row}: waiting is booked apart");
    }
}
