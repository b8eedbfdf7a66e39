//! A run by hand: two attempts at one task, one of which read a skill, with a hostile page in both.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// What a page, a model and a task say.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)><b>x</b>";

pub(crate) struct Sample(TempDir);

impl Sample {
    pub(crate) fn new() -> Self {
        let sample = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(sample.folder().join("blobs")).expect("a folder");
        let trials = json!([{ "trial": "t1", "arm": "pull" }, { "trial": "t2", "arm": "none" }]);
        let plan = json!({ "schema": "apprentice.run/1", "run": "R1", "suite": "shop", "trials": trials });
        fs::write(sample.folder().join("run.json"), plan.to_string()).expect("written");
        let rows = [sample.attempt("t1", "pull", "pass", true), sample.attempt("t2", "none", "fail", false)];
        fs::write(sample.folder().join("trials.jsonl"), rows.concat()).expect("written");
        sample
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().join("run")
    }

    /// Appends bytes to a file of the run.
    pub(crate) fn append(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        let old = fs::read_to_string(&path).expect("text");
        fs::write(path, old + text).expect("written");
    }

    pub(crate) fn blob(&self, bytes: &[u8], extension: &str) -> String {
        let hash = apprentice_trace::hex(&Sha256::digest(bytes));
        fs::write(self.folder().join(format!("blobs/{hash}.{extension}")), bytes).expect("written");
        hash
    }

    fn attempt(&self, trial: &str, arm: &str, verdict: &str, reads: bool) -> String {
        let folder = format!("trials/buy-{trial}/attempt-01");
        fs::create_dir_all(self.folder().join(&folder)).expect("a folder");
        let start =
            self.blob(b"window \"Shop\"\n button \"Buy\" @60,20 #n7\n button \"Menu\" @9,9 #n8", "txt");
        let end =
            self.blob(b"window \"Shop\"\n button \"Paid\" @60,20 #n7\n button \"Menu\" @9,9 #n8", "txt");
        let picture = self.blob(b"not really a picture", "png");
        let see = |outline: &str| {
            json!({ "title": HOSTILE, "focused": null, "screenshot": picture, "outline": outline, "took_ms": 1,
                "view": { "region": { "x": 0, "y": 0, "width": 200, "height": 100 }, "image": { "width": 200, "height": 100 },
                    "space": "image_pixels" } })
        };
        let reply = |calls: Value| {
            json!({ "raw": [], "say": [HOSTILE], "calls": calls, "usage": { "input": 100, "output": 10, "cached": 0 },
                "timing": { "working_ms": 40, "waiting_ms": 10 }, "cost_usd": 0.5, "provider_model": null, "request_bytes": 1 })
        };
        let mut events = vec![
            json!({ "kind": "started", "data": { "version": 1, "program": "0.0.0",
                "brief": { "id": "buy", "instruction": HOSTILE, "limits": { "world_steps": 9, "turns": 9, "tokens": null,
                    "cost_usd": null, "working_s": 60, "repeats": 5 } },
                "world": { "environment": "scene", "screen": { "width": 200, "height": 100 } },
                "model": { "name": "m", "consumer": "m", "space": "image_pixels", "images": "as_is", "outline": true,
                    "history": { "window": { "images": 2 } }, "tools": "fixed", "max_output_tokens": 9 },
                "prompt_hash": "p" } }),
            json!({ "kind": "observed", "step": "s1", "data": see(&start) }),
        ];
        if reads {
            events.extend([
                json!({ "kind": "model.replied", "step": "s1", "data": reply(json!([{ "id": "c0", "call": "tool",
                    "name": "skill_view", "arguments": { "skill": "shop/buy" } }])) }),
                json!({ "kind": "tool.called", "step": "s1", "data": { "call": "c0", "name": "skill_view", "is_error": false,
                    "took_ms": 2 } }),
                json!({ "kind": "skill", "step": "s1", "data": { "happening": "skill.viewed", "skill": "shop/buy",
                    "version": 1, "text": HOSTILE, "delivered_chars": 9 } }),
            ]);
        }
        events.extend([
            json!({ "kind": "model.replied", "step": "s2", "data": reply(json!([{ "id": "c1", "call": "world", "actions": [] }])) }),
            json!({ "kind": "action", "step": "s2", "data": { "call": "c1", "index": 0,
                "asked": { "do": "click", "at": { "point": { "x": 50.0, "y": 25.0 } }, "button": "left", "count": 1 },
                "sent": { "do": "click", "at": { "point": { "x": 50, "y": 25 } }, "button": "left", "count": 1 },
                "target_role": "button", "target_name": "Buy", "outcome": { "outcome": "done" } } }),
            json!({ "kind": "observed", "step": "s2", "data": see(&end) }),
            json!({ "kind": "stopped", "data": { "reason": "done", "void": null, "detail": "", "spent": { "world_steps": 1,
                "turns": 2, "tokens": { "input": 1, "output": 1, "cached": 0 }, "cost_usd": 1.0, "working_ms": 9 } } }),
            json!({ "kind": "judged", "data": { "verdict": verdict, "score": if verdict == "pass" { 1.0 } else { 0.0 },
                "explanation": HOSTILE, "checks": [] } }),
        ]);
        let mut text = String::new();
        for (number, event) in (1..).zip(&mut events) {
            let fields = event.as_object_mut().expect("an object");
            fields.insert("v".into(), 1.into());
            fields.insert("id".into(), format!("e{number}").into());
            fields.insert("wall".into(), "2026-11-20T10:15:00Z".into());
            fields.insert("mono_us".into(), (number * 100_000).into());
            text.push_str(&event.to_string());
            text.push('\n');
        }
        fs::write(self.folder().join(&folder).join("events.jsonl"), text).expect("written");
        row(trial, arm, verdict, reads)
    }
}

fn row(trial: &str, arm: &str, verdict: &str, reads: bool) -> String {
    let folder = format!("trials/buy-{trial}/attempt-01");
    let skills = if reads { vec!["shop/buy"] } else { vec![] };
    let row = json!({
        "schema": "apprentice.trial/1", "run": "R1", "trial": trial, "suite": "shop", "role": "solo", "task": "buy",
        "template": "buy", "suite_hash": "h", "arm": arm, "seed": 0, "attempt": 1, "model": "m", "verdict": verdict,
        "score": if verdict == "pass" { 1.0 } else { 0.0 }, "world_steps": 1, "turns": 2,
        "tokens": { "input": 1, "output": 1, "cached": 0 }, "delivered_tokens": 0, "cost_usd": 1.0, "wall_s": 1.0,
        "working_s": 1.0, "stop_reason": "done", "void_cause": null, "skills_viewed": skills, "order": u32::from(!reads),
        "started_at": "2026-11-20T10:15:00Z", "prompt_hash": "p", "isolation": "memory", "trace": folder,
    });
    format!("{row}\n")
}
