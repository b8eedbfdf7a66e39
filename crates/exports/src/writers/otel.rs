//! OpenTelemetry spans by the semantic conventions for generative AI, as OTLP in JSON: one line per attempt, as the OTLP
//! file exporter writes and a collector's `otlpjsonfile` receiver reads. A run is one trace. Texts of messages are left out.

use apprentice_runs::row::TrialRow;
use apprentice_trace::hex;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::EpisodeError;
use crate::conversation::function;
use crate::episode::{Act, Episode, Turn};
use crate::folder::{FolderError, OutFile, OutFolder};
use crate::request::ExportRequest;
use crate::select::StepRange;
use apprentice_runs::PlanHead;

/// The version of the conventions that the names are from.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";
const FILE: &str = "traces.jsonl";
const INTERNAL: u32 = 1;
const CLIENT: u32 = 3;

/// The spans under way.
pub(crate) struct Spans<'a> {
    file: OutFile,
    run: &'a PlanHead,
    program: &'a str,
    steps: StepRange,
    /// The whole run, from its first attempt to its last.
    times: Option<Times>,
}

#[derive(Clone, Copy)]
struct Times {
    began: Timestamp,
    ended: Timestamp,
}

/// A span without its ids.
struct Span {
    name: String,
    kind: u32,
    times: Times,
    attributes: Vec<Value>,
    events: Vec<Value>,
    failed: bool,
}

impl<'a> Spans<'a> {
    pub(super) fn begin(
        request: &'a ExportRequest,
        run: &'a PlanHead,
        rows: &[&TrialRow],
        out: &OutFolder,
    ) -> Result<Self, FolderError> {
        let ended = |row: &TrialRow| {
            let wall = std::time::Duration::try_from_secs_f64(row.wall_s).unwrap_or_default();
            row.started_at.saturating_add(wall).unwrap_or(row.started_at)
        };
        let began = rows.iter().map(|row| row.started_at).min();
        let last = rows.iter().map(|row| ended(row)).max();
        let times = began.zip(last).map(|(began, ended)| Times { began, ended });
        let mut spans = Self {
            file: out.create(FILE)?,
            run,
            program: &request.program,
            steps: request.selection.steps,
            times,
        };
        if let Some(times) = spans.times {
            let span = Span {
                name: format!("invoke_workflow {}", run.suite),
                kind: INTERNAL,
                times,
                attributes: vec![
                    text("gen_ai.operation.name", "invoke_workflow"),
                    text("gen_ai.workflow.name", &run.suite),
                    text("apprentice.run", &run.run),
                ],
                events: Vec::new(),
                failed: false,
            };
            let root = span.record(&spans.trace(), &span_id(&run.run), None);
            spans.write(&[root], out)?;
        }
        Ok(spans)
    }

    fn trace(&self) -> String {
        hex(&Sha256::digest(&self.run.run))[..32].to_owned()
    }

    fn write(&mut self, spans: &[Value], out: &OutFolder) -> Result<(), FolderError> {
        let line = json!({ "resourceSpans": [{
            "resource": { "attributes": [
                text("service.name", "apprentice"), text("service.version", self.program),
            ] },
            "scopeSpans": [{
                "scope": { "name": "apprentice", "version": self.program }, "spans": spans, "schemaUrl": SCHEMA_URL,
            }],
            "schemaUrl": SCHEMA_URL,
        }] });
        out.line(&mut self.file, &line)
    }

    pub(super) fn add(&mut self, episode: &Episode<'_>, out: &OutFolder) -> Result<String, EpisodeError> {
        let row = episode.row;
        let trace = self.trace();
        let name = format!("{}/{}/{}", row.run, row.trial, row.attempt);
        let agent = span_id(&name);
        let mut spans = vec![attempt(episode).record(&trace, &agent, Some(&span_id(&self.run.run)))];
        for (place, turn) in
            episode.turns.iter().enumerate().filter(|(_, turn)| self.steps.contains(turn.step))
        {
            let chat = chat(row, turn).record(&trace, &span_id(&format!("{name}/{place}")), Some(&agent));
            spans.push(chat);
            for (number, act) in turn.acts.iter().enumerate() {
                let id = span_id(&format!("{name}/{place}/act/{number}"));
                spans.push(action(act).record(&trace, &id, Some(&agent)));
            }
            for (number, span) in tools(turn).into_iter().enumerate() {
                let id = span_id(&format!("{name}/{place}/tool/{number}"));
                spans.push(span.record(&trace, &id, Some(&agent)));
            }
        }
        self.write(&spans, out)?;
        Ok(FILE.to_owned())
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.file.end()
    }
}

impl Span {
    fn record(self, trace: &str, id: &str, parent: Option<&str>) -> Value {
        let Self { name, kind, times, attributes, events, failed } = self;
        let mut span = json!({
            "traceId": trace, "spanId": id, "name": name, "kind": kind,
            "startTimeUnixNano": nanoseconds(times.began), "endTimeUnixNano": nanoseconds(times.ended.max(times.began)),
            "attributes": attributes, "events": events, "status": { "code": if failed { 2 } else { 0 } },
        });
        if let Some(parent) = parent {
            span["parentSpanId"] = parent.into();
        }
        span
    }
}

fn attempt(episode: &Episode<'_>) -> Span {
    let row = episode.row;
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", "apprentice"),
        text("gen_ai.agent.version", &episode.header.program),
        text("gen_ai.conversation.id", &format!("{}/{}/{}", row.run, row.trial, row.attempt)),
        text("gen_ai.provider.name", provider(&row.model)),
        text("gen_ai.request.model", &row.model),
        whole("gen_ai.usage.input_tokens", row.tokens.input),
        whole("gen_ai.usage.output_tokens", row.tokens.output),
        whole("gen_ai.usage.cache_read.input_tokens", row.tokens.cached),
        text("apprentice.task", row.task.as_str()),
        text("apprentice.template", &row.template),
        text("apprentice.arm", &row.arm),
        whole("apprentice.seed", u64::from(row.seed)),
        text("apprentice.verdict", &word(&row.verdict)),
    ];
    attributes.extend(row.cost_usd.map(|cost| number("apprentice.cost_usd", cost)));
    if let Some(void) = &episode.void {
        attributes.push(text("error.type", &word(void)));
    }
    let skills = row.skills_viewed.iter().map(|skill| json!({ "stringValue": skill }));
    let skills: Vec<Value> = skills.collect();
    if !skills.is_empty() {
        attributes
            .push(json!({ "key": "apprentice.skills", "value": { "arrayValue": { "values": skills } } }));
    }
    let judged = episode.judged.as_ref().map(|judged| {
        json!({
            "timeUnixNano": nanoseconds(episode.ended), "name": "gen_ai.evaluation.result",
            "attributes": [
                text("gen_ai.evaluation.name", "checks"),
                number("gen_ai.evaluation.score.value", judged.score),
                text("gen_ai.evaluation.score.label", &word(&judged.verdict)),
                text("gen_ai.evaluation.explanation", &judged.explanation),
            ],
        })
    });
    Span {
        name: "invoke_agent apprentice".to_owned(),
        kind: INTERNAL,
        times: Times { began: episode.began, ended: episode.ended },
        attributes,
        events: judged.into_iter().collect(),
        failed: episode.void.is_some(),
    }
}

fn chat(row: &TrialRow, turn: &Turn) -> Span {
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", provider(&row.model)),
        text("gen_ai.request.model", &row.model),
        whole("gen_ai.usage.input_tokens", turn.usage.input),
        whole("gen_ai.usage.output_tokens", turn.usage.output),
        whole("gen_ai.usage.cache_read.input_tokens", turn.usage.cached),
        whole("apprentice.step", u64::from(turn.step)),
        whole("apprentice.waiting_ms", turn.timing.waiting_ms),
    ];
    attributes.extend(turn.provider_model.as_deref().map(|model| text("gen_ai.response.model", model)));
    attributes.extend(turn.cost_usd.map(|cost| number("apprentice.cost_usd", cost)));
    Span {
        name: format!("chat {}", row.model),
        kind: CLIENT,
        times: Times { began: turn.asked, ended: turn.replied },
        attributes,
        events: Vec::new(),
        failed: false,
    }
}

fn action(act: &Act) -> Span {
    let record = &act.record;
    let asked = serde_json::to_value(&record.asked).unwrap_or_default();
    let failed = !matches!(record.outcome, apprentice_protocol::ActionOutcome::Done { .. });
    let mut attributes = tool_attributes(asked["do"].as_str().unwrap_or("act"), record.call.as_str());
    attributes.push(text("gen_ai.tool.call.arguments", &asked.to_string()));
    if let Some(point) = record.point {
        attributes.push(signed("apprentice.screen.x", point.x));
        attributes.push(signed("apprentice.screen.y", point.y));
    }
    attributes.extend(record.target_name.as_deref().map(|name| text("apprentice.target.name", name)));
    Span {
        name: format!("execute_tool {}", asked["do"].as_str().unwrap_or("act")),
        kind: INTERNAL,
        times: Times { began: act.began, ended: act.ended },
        attributes,
        events: Vec::new(),
        failed,
    }
}

fn tools(turn: &Turn) -> Vec<Span> {
    let calls: Vec<_> = turn.calls.iter().filter_map(function).collect();
    let spans = turn.tools.iter().map(|run| {
        let mut attributes = tool_attributes(&run.name, &run.call);
        let arguments = calls.iter().find(|call| call.id == run.call).map(|call| call.arguments.to_string());
        attributes
            .extend(arguments.as_deref().map(|arguments| text("gen_ai.tool.call.arguments", arguments)));
        let took = i64::try_from(run.took_ms).unwrap_or_default().min(86_400_000);
        let began = run.ended - jiff::SignedDuration::from_millis(took);
        Span {
            name: format!("execute_tool {}", run.name),
            kind: INTERNAL,
            times: Times { began, ended: run.ended },
            attributes,
            events: Vec::new(),
            failed: run.is_error,
        }
    });
    spans.collect()
}

fn tool_attributes(name: &str, call: &str) -> Vec<Value> {
    vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", name),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", call),
    ]
}

/// The name of a provider in the conventions, from a model's name of the form `provider/name`.
fn provider(model: &str) -> &str {
    match model.split('/').next().unwrap_or(model) {
        "gemini" => "gcp.gemini",
        "bedrock" => "aws.bedrock",
        other => other,
    }
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap_or_default().as_str().unwrap_or("unknown").to_owned()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn whole(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn signed(key: &str, value: i32) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn number(key: &str, value: f64) -> Value {
    json!({ "key": key, "value": { "doubleValue": value } })
}

fn nanoseconds(time: Timestamp) -> String {
    time.as_nanosecond().max(0).to_string()
}

fn span_id(name: &str) -> String {
    hex(&Sha256::digest(name))[..16].to_owned()
}
