//! Logs of Inspect (version 2, JSON): one file per role, model and arm, with a sample per trial. `inspect view` opens them,
//! and `inspect log convert` packs them.

use std::collections::BTreeMap;

use apprentice_protocol::{StopReason, Verdict};
use apprentice_runs::row::TrialRow;
use serde_json::{Map, Value, json};

use super::{EpisodeError, readable, shown};
use crate::conversation::{Answer, Conversation, Entry, FunctionCall, Part};
use crate::episode::Episode;
use crate::folder::{FolderError, ListFile, OutFile, OutFolder};
use crate::names::file_name;
use crate::request::ExportRequest;
use apprentice_runs::PlanHead;
use apprentice_trace::Blobs;

/// The name of the score.
const SCORER: &str = "checks";

/// The logs under way.
pub(crate) struct Logs<'a> {
    request: &'a ExportRequest,
    plan: &'a PlanHead,
    /// The last attempt of each trial: the one that a log holds.
    last: BTreeMap<String, u32>,
    logs: BTreeMap<String, Log>,
}

/// One log. Its samples are written to a file of their own first, as its results stand before them.
struct Log {
    /// Its name. Inspect finds logs in JSON by their names: a time, a task and an id.
    file: String,
    samples: OutFile,
    path: String,
    first: TrialRow,
    count: usize,
    completed: usize,
    score: f64,
    input: u64,
    output: u64,
    cached: u64,
    cost: Option<f64>,
    ids: Vec<String>,
    epochs: u32,
    began: jiff::Timestamp,
    ended: jiff::Timestamp,
}

impl<'a> Logs<'a> {
    pub(super) fn new(request: &'a ExportRequest, plan: &'a PlanHead, rows: &[&TrialRow]) -> Self {
        let mut last = BTreeMap::new();
        for row in rows {
            let attempt = last.entry(row.trial.to_string()).or_insert(row.attempt);
            *attempt = row.attempt.max(*attempt);
        }
        Self { request, plan, last, logs: BTreeMap::new() }
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let row = episode.row;
        if self.last.get(row.trial.as_str()).is_some_and(|last| *last != row.attempt) {
            return Err(EpisodeError::Unfit(
                "a log of Inspect has one attempt per sample: a later one counts",
            ));
        }
        let conversation = readable(episode, blobs, &self.request.selection)?;
        let sample = sample(episode, &conversation, out, blobs)?;
        let name = file_name(&format!("{}-{}-{}", row.role.as_str(), row.model.replace('/', "-"), row.arm));
        if !self.logs.contains_key(&name) {
            self.logs.insert(name.clone(), Log::begin(&name, episode, out)?);
        }
        let Some(log) = self.logs.get_mut(&name) else { return Err(EpisodeError::Unfit("the log is gone")) };
        log.add(episode)?;
        out.put(&mut log.samples, &sample, blobs)?;
        Ok(log.file.clone())
    }

    pub(super) fn finish(self, out: &mut OutFolder) -> Result<(), FolderError> {
        let Self { request, plan, logs, .. } = self;
        for log in logs.into_values() {
            let head = log.head(request, plan);
            log.samples.end()?;
            out.json_with_list(&log.file, &head, &ListFile { field: "samples", path: &log.path })?;
        }
        Ok(())
    }
}

impl Log {
    fn begin(name: &str, episode: &Episode<'_>, out: &OutFolder) -> Result<Self, FolderError> {
        let path = format!("{name}.samples");
        let began = episode.began.strftime("%Y-%m-%dT%H-%M-%S+00-00");
        let task = file_name(&format!("{}_{}", name.replace('_', "-"), episode.row.trial));
        Ok(Self {
            file: format!("{began}_{task}.json"),
            samples: out.create(&path)?,
            path,
            first: episode.row.clone(),
            count: 0,
            completed: 0,
            score: 0.0,
            input: 0,
            output: 0,
            cached: 0,
            cost: None,
            ids: Vec::new(),
            epochs: 1,
            began: episode.began,
            ended: episode.ended,
        })
    }

    /// Counts an attempt and separates its sample from the one before.
    fn add(&mut self, episode: &Episode<'_>) -> Result<(), FolderError> {
        let row = episode.row;
        if self.count > 0 {
            self.samples.raw(",\n")?;
        }
        self.count += 1;
        if row.verdict != Verdict::Void {
            self.completed += 1;
            self.score += row.score;
        }
        self.input += row.tokens.input;
        self.output += row.tokens.output;
        self.cached += row.tokens.cached;
        self.cost = row.cost_usd.map_or(self.cost, |cost| Some(self.cost.unwrap_or_default() + cost));
        if !self.ids.iter().any(|id| id == row.task.as_str()) {
            self.ids.push(row.task.to_string());
        }
        self.epochs = self.epochs.max(row.seed + 1);
        self.began = self.began.min(episode.began);
        self.ended = self.ended.max(episode.ended);
        Ok(())
    }

    /// The log without its samples.
    fn head(&self, request: &ExportRequest, plan: &PlanHead) -> Value {
        let row = &self.first;
        let id = format!("{}-{}-{}", plan.run, row.role.as_str(), row.arm);
        let mut usage = Map::new();
        usage.insert(row.model.clone(), self.usage());
        json!({
            "version": 2,
            "status": "success",
            "eval": {
                "eval_id": id, "run_id": plan.run, "created": self.began.to_string(), "task": plan.suite,
                "task_id": id, "task_version": 0, "task_attribs": {}, "task_args": { "arm": row.arm },
                "dataset": {
                    "name": plan.suite, "samples": self.ids.len(), "sample_ids": self.ids, "shuffled": true,
                },
                "model": row.model, "model_args": {}, "config": { "epochs": self.epochs },
                "packages": { "apprentice": request.program },
                "metadata": {
                    "arm": row.arm, "role": row.role, "skillbook_hash": row.skillbook_hash,
                    "suite_hash": plan.suite_hash, "split_hash": plan.split_hash, "prompt_hash": plan.prompt_hash,
                },
            },
            "plan": { "name": "plan", "steps": [], "config": {} },
            "results": {
                "total_samples": self.count, "completed_samples": self.completed,
                "scores": [{
                    "name": SCORER, "scorer": SCORER, "params": {},
                    "scored_samples": self.completed, "unscored_samples": self.count - self.completed,
                    "metrics": self.metrics(),
                }],
            },
            "stats": {
                "started_at": self.began.to_string(), "completed_at": self.ended.to_string(), "model_usage": usage,
            },
        })
    }

    fn metrics(&self) -> Value {
        #[expect(clippy::cast_precision_loss, reason = "a number of attempts")]
        let count = self.completed as f64;
        match self.completed {
            0 => json!({}),
            _ => json!({ "mean": { "name": "mean", "value": self.score / count, "params": {} } }),
        }
    }

    fn usage(&self) -> Value {
        json!({
            "input_tokens": self.input, "output_tokens": self.output, "total_tokens": self.input + self.output,
            "input_tokens_cache_read": self.cached, "total_cost": self.cost,
        })
    }
}

fn sample(
    episode: &Episode<'_>,
    conversation: &Conversation,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<Value, FolderError> {
    let row = episode.row;
    let (messages, last) = messages(episode, conversation, out, blobs)?;
    let usage = json!({
        "input_tokens": row.tokens.input, "output_tokens": row.tokens.output,
        "total_tokens": row.tokens.input + row.tokens.output, "input_tokens_cache_read": row.tokens.cached,
        "total_cost": row.cost_usd,
    });
    let mut by_model = Map::new();
    by_model.insert(row.model.clone(), usage.clone());
    let choices: Vec<Value> =
        last.into_iter().map(|message| json!({ "message": message, "stop_reason": "stop" })).collect();
    let mut sample = json!({
        "id": row.task, "epoch": row.seed + 1, "input": episode.header.brief.instruction, "target": "",
        "messages": messages,
        "output": { "model": row.model, "choices": choices, "usage": usage },
        "scores": {},
        "metadata": {
            "trial": row.trial, "attempt": row.attempt, "template": row.template, "split": row.split,
            "arm": row.arm, "seed": row.seed, "verdict": row.verdict, "stop_reason": episode.stop,
            "skills_viewed": row.skills_viewed, "world_steps": row.world_steps,
            "coordinate_space": episode.header.model.space,
        },
        "store": {}, "events": [], "model_usage": by_model, "attachments": {},
        "started_at": episode.began.to_string(), "completed_at": episode.ended.to_string(),
        "total_time": row.wall_s, "working_time": row.working_s,
        "uuid": format!("{}-{}-{}", row.run, row.trial, row.attempt),
    });
    judgement(&mut sample, episode);
    Ok(sample)
}

/// Adds the score, or the error of a void attempt, and the limit that ended the attempt.
fn judgement(sample: &mut Value, episode: &Episode<'_>) {
    let row = episode.row;
    if row.verdict == Verdict::Void {
        let cause = serde_json::to_value(row.void_cause).unwrap_or_default();
        let message = format!("void: {}", cause.as_str().unwrap_or("unknown"));
        sample["error"] = json!({ "message": message, "traceback": "", "traceback_ansi": "" });
    } else {
        let explanation = episode.judged.as_ref().map(|judged| judged.explanation.as_str());
        sample["scores"][SCORER] = json!({ "value": row.score, "explanation": explanation });
    }
    let limits = episode.header.brief.limits;
    let limit = match episode.stop {
        Some(StopReason::StepLimit) => Some(json!({ "type": "turn", "limit": limits.world_steps })),
        Some(StopReason::TokenLimit) => {
            limits.tokens.map(|tokens| json!({ "type": "token", "limit": tokens }))
        }
        Some(StopReason::TrialCostLimit) => {
            limits.cost_usd.map(|cost| json!({ "type": "cost", "limit": cost }))
        }
        Some(StopReason::WorkingTimeLimit) => Some(json!({ "type": "working", "limit": limits.working_s })),
        Some(StopReason::ContextFull) => Some(json!({ "type": "context", "limit": 0 })),
        _ => None,
    };
    if let Some(limit) = limit {
        sample["limit"] = limit;
    }
}

/// The messages, and the model's last one.
fn messages(
    episode: &Episode<'_>,
    conversation: &Conversation,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<(Vec<Value>, Option<Value>), FolderError> {
    let (mut messages, mut last) = (Vec::new(), None);
    messages.extend(conversation.system.iter().map(|text| json!({ "role": "system", "content": text })));
    for entry in &conversation.entries {
        match entry {
            Entry::User(parts) => {
                messages.push(json!({ "role": "user", "content": content(parts, out, blobs)? }));
            }
            Entry::Assistant { text, calls, .. } => {
                let calls: Vec<Value> = calls.iter().map(call).collect();
                let message = json!({
                    "role": "assistant", "content": text, "tool_calls": calls, "source": "generate",
                    "model": episode.row.model,
                });
                last = Some(message.clone());
                messages.push(message);
            }
            Entry::Answers { answers, below } => {
                for answer in answers {
                    messages.push(tool(answer, out, blobs)?);
                }
                if !below.is_empty() {
                    messages.push(json!({ "role": "user", "content": content(below, out, blobs)? }));
                }
            }
        }
    }
    Ok((messages, last))
}

fn call(call: &FunctionCall) -> Value {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        other => json!({ "value": other }),
    };
    json!({ "id": call.id, "function": call.name, "arguments": arguments, "type": "function" })
}

fn tool(answer: &Answer, out: &mut OutFolder, blobs: &Blobs) -> Result<Value, FolderError> {
    let parts = std::iter::once(Part::Text(answer.text.clone()));
    let parts: Vec<Part> = parts.chain(answer.pictures.iter().cloned().map(Part::Picture)).collect();
    let mut message = json!({
        "role": "tool", "tool_call_id": answer.call, "content": content(&parts, out, blobs)?,
    });
    if !answer.name.is_empty() {
        message["function"] = answer.name.clone().into();
    }
    if answer.is_error {
        message["error"] = json!({ "type": "unknown", "message": answer.text });
    }
    Ok(message)
}

fn content(parts: &[Part], out: &mut OutFolder, blobs: &Blobs) -> Result<Vec<Value>, FolderError> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => found.push(json!({ "type": "text", "text": text })),
            Part::Picture(picture) => match shown(picture, out, blobs)? {
                Ok(image) => found
                    .extend(image.map(|image| json!({ "type": "image", "image": image, "detail": "auto" }))),
                Err(why) => found.push(json!({ "type": "text", "text": why })),
            },
        }
    }
    Ok(found)
}
