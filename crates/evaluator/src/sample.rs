//! Rows made in memory, for the tests of this crate.

use apprentice_protocol::Verdict;
use apprentice_runs::row::TrialRow;
use serde_json::json;

/// A student's first attempt.
pub(crate) fn row(arm: &str, template: &str, task: &str, seed: u32, verdict: Verdict) -> TrialRow {
    let row = json!({
        "schema": "apprentice.trial/1", "run": "20261120T101500Z-x7k2", "trial": format!("{arm}-{task}-{seed}"),
        "suite": "starter", "role": "student", "task": task, "template": template, "suite_hash": "5uite",
        "arm": arm, "seed": seed, "attempt": 1, "model": "builtin/novice", "verdict": verdict,
        "score": if verdict == Verdict::Pass { 1.0 } else { 0.0 },
        "world_steps": 6, "turns": 8, "tokens": { "input": 9000, "output": 400, "cached": 0 },
        "delivered_tokens": 0, "cost_usd": null, "wall_s": 4.5, "working_s": 4.0,
        "stop_reason": (verdict != Verdict::Void).then_some("done"),
        "void_cause": (verdict == Verdict::Void).then_some("world_lost"), "skills_viewed": [], "order": seed,
        "started_at": "2026-11-20T10:15:00Z", "prompt_hash": "pr0mpt", "provider_model": null,
        "isolation": "memory", "admit": null, "trace": "trials/x",
    });
    serde_json::from_value(row).expect("a row")
}
