//! Rows in memory, for the tests of this crate.

use apprentice_protocol::{Isolation, RunId, StopReason, TaskId, TrialId, Usage, Verdict, VoidCause};
use apprentice_runs::row::{ROW_SCHEMA, Role, TrialRow};
use jiff::Timestamp;

/// A first attempt of a student.
pub(crate) fn row(arm: &str, template: &str, task: &str, seed: u32, verdict: Verdict) -> TrialRow {
    let passed = verdict == Verdict::Pass;
    TrialRow {
        schema: ROW_SCHEMA.into(),
        run: RunId::new("20261120T101500Z-x7k2"),
        trial: TrialId::new(format!("{arm}-{task}-{seed}")),
        suite: "starter".into(),
        role: Role::Student,
        task: TaskId::new(task),
        template: template.into(),
        suite_hash: "5uite".into(),
        split: None,
        arm: arm.into(),
        seed,
        attempt: 1,
        model: "builtin/novice".into(),
        skillbook_hash: None,
        verdict,
        score: if passed { 1.0 } else { 0.0 },
        world_steps: if passed { 6 } else { 12 },
        turns: 8,
        person_acts: 0,
        judge: None,
        tokens: Usage { input: 9000, output: 400, cached: 0 },
        delivered_tokens: 0,
        cost_usd: None,
        cost_estimated: false,
        wall_s: 4.5,
        working_s: 4.0,
        model_s: 3.0,
        stop_reason: (verdict != Verdict::Void).then_some(StopReason::Done),
        void_cause: (verdict == Verdict::Void).then_some(VoidCause::WorldLost),
        skills_viewed: Vec::new(),
        order: seed,
        started_at: Timestamp::UNIX_EPOCH,
        prompt_hash: "pr0mpt".into(),
        provider_model: None,
        isolation: Isolation::Memory,
        admit: None,
        trace: format!("trials/{task}-{arm}-{seed}/attempt-01"),
        extra: std::collections::BTreeMap::new(),
    }
}
