//! What building a request costs, by adapter and by the length of the conversation, pictures encoded already. Each
//! number is the median of 21; per step it must not grow.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may panic")]

use std::sync::Arc;

use apprentice_models::anthropic::{Anthropic, AnthropicConfig, ApiVersion, ModelDefaults};
use apprentice_models::compat::{Compat, CompatConfig, StudentProfile};
use apprentice_models::gemini::Gemini;
use apprentice_models::hosted::HostedConfig;
use apprentice_models::http::{Endpoint, Timeouts, Transport};
use apprentice_models::openai::OpenAi;
use apprentice_models::options::CallOptions;
use apprentice_models::safety::SafetyPolicy;
use apprentice_protocol::{
    Action, ActionOutcome, BlobHash, Call, CallBody, CallId, CallResult, ChatRequest, Clock, Content, Image,
    ImageBytes, MediaType, Message, RawContent, Size, WorldTool,
};
use apprentice_sandbox::SystemClock;
use apprentice_trace::Redactor;

/// Bytes of one screenshot of a desktop at 1280 by 720, as PNG.
const PICTURE_BYTES: usize = 120_000;
const ROUNDS: usize = 21;
/// So many of the last steps hold a picture of that size; older ones are as small as they get, so that what is measured
/// is the conversation and not the copying of a hundred megabytes.
const PICTURES: usize = 50;
const SMALL_BYTES: usize = 60;

fn picture(step: usize, length: usize) -> Content {
    let mut state = step as u64 + 1;
    let bytes: Vec<u8> = (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        })
        .collect();
    let bytes = ImageBytes(Arc::from(bytes));
    let hash = BlobHash::new(format!("{length:032}{step:032}"));
    Content::Image { image: Image { hash, size: Size::new(1280, 720), media: MediaType::Png, bytes } }
}

/// A conversation of so many steps, with one click each.
fn conversation(steps: usize, block: &dyn Fn(&str) -> String) -> ChatRequest {
    let mut messages = vec![Message::User { content: vec![Content::text("Do it.")] }];
    for step in 0..steps {
        let id = format!("call_{step}");
        let raw = RawContent { blocks: vec![block(&id)] };
        let body = CallBody::World { actions: vec![Action::Screenshot] };
        let id = CallId::new(id);
        messages.push(Message::Assistant {
            raw,
            say: Vec::new(),
            calls: vec![Call { id: id.clone(), body }],
        });
        let length = if step + PICTURES >= steps { PICTURE_BYTES } else { SMALL_BYTES };
        let content = vec![Content::text("Screen now."), picture(step, length)];
        let per_action = vec![ActionOutcome::Done { text: None }];
        let results = vec![CallResult { id, per_action, content, is_error: false }];
        messages.push(Message::Results { results, notices: Vec::new() });
    }
    ChatRequest {
        system: "Work.".into(),
        messages,
        world: Some(WorldTool { browser: false, display: Size::new(1280, 720) }),
        max_output_tokens: 9000,
        ..ChatRequest::default()
    }
}

fn measure(name: &str, block: &dyn Fn(&str) -> String, build: &dyn Fn(&ChatRequest) -> usize) {
    let clock = SystemClock::default();
    for steps in [10, 50, 100, 1000] {
        let request = conversation(steps, block);
        // The first request encodes the pictures.
        let bytes = build(&request);
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let begun = clock.mono();
                assert_eq!(build(&request), bytes);
                (clock.mono() - begun).as_secs_f64() * 1000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let median = times[ROUNDS / 2];
        println!("{name:10} {steps:5} steps {:8.1} KB {median:8.3} ms", bytes as f64 / 1000.0);
    }
}

fn endpoint() -> Endpoint {
    Endpoint::new("http://127.0.0.1:9", None)
}

fn hosted(model: &str) -> HostedConfig {
    let (model, safety, calls) = (model.to_owned(), SafetyPolicy::Refuse, CallOptions::default());
    HostedConfig { model, endpoint: endpoint(), effort: None, safety, tariff: None, calls }
}

fn main() {
    let redactor = Arc::new(Redactor::new([]).expect("builds"));
    let clock = Arc::new(SystemClock::default());
    let transport = Transport::new(clock, redactor, Timeouts::default()).expect("a client");
    let length = |body: Result<Vec<u8>, apprentice_protocol::ModelError>| body.expect("writes").len();

    let anthropic = Anthropic::new(
        AnthropicConfig {
            model: "claude-sonnet-5-5".into(),
            endpoint: endpoint(),
            version: ApiVersion::default(),
            facts: ModelDefaults::of("claude-sonnet-5-5").expect("a known family"),
            effort: None,
            forget_above: None,
            tariff: None,
            page_scripts: false,
            calls: CallOptions::default(),
        },
        transport.clone(),
    );
    let block = |id: &str| {
        format!(
            r#"{{"type":"tool_use","id":"{id}","name":"screenshot","toolset_name":"computer","input":{{}}}}"#
        )
    };
    measure("anthropic", &block, &|request| length(anthropic.body(request)));

    let openai = OpenAi::new(hosted("gpt-6.1-sol"), transport.clone());
    let block = |id: &str| {
        format!(
            r#"{{"type":"computer_call","id":"cu","call_id":"{id}","status":"completed","pending_safety_checks":[],"actions":[{{"type":"screenshot"}}]}}"#
        )
    };
    measure("openai", &block, &|request| length(openai.body(request)));

    let gemini = Gemini::new(hosted("gemini-3.8-flash"), transport.clone());
    let block = |id: &str| {
        format!(r#"{{"type":"function_call","id":"{id}","name":"take_screenshot","arguments":{{}}}}"#)
    };
    measure("gemini", &block, &|request| length(gemini.body(request)));

    let student = StudentProfile::load("generic").expect("is sound");
    let config = CompatConfig {
        model: "m".into(),
        endpoint: endpoint(),
        student,
        tariff: None,
        effort: None,
        calls: CallOptions::default(),
        adaptation: std::sync::Arc::default(),
    };
    let compat = Compat::new(config, transport);
    let block = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"computer","arguments":"{{\"action\":\"screenshot\"}}"}}}}]}}"#
        )
    };
    measure("compat", &block, &|request| length(compat.body(request)));
}
