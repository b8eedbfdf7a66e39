//! The guidance of a measured trial. The arm `inline` gets the text that the arm `pull` retrieved in the matching trial.

use std::path::Path;

use apprentice_protocol::{EventKind, SkillEventKind, Verdict};
use apprentice_trace::Trace;

use crate::arms::guidance::{ArmGuidance, TrialHelp};
use crate::arms::{ArmError, GuidanceProvider};
use crate::run::TrialSpec;
use apprentice_results::arm::Arm;
use apprentice_runs::layout::{EVENTS_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows;

/// Builds the guidance of one trial of the run in `run`.
pub(super) fn trial_guidance(
    provider: &GuidanceProvider,
    run: &Path,
    trial: &TrialSpec,
) -> Result<ArmGuidance, ArmError> {
    match TrialHelp::of_arm(&trial.arm)? {
        TrialHelp::Aided(Arm::Inline) => provider.inline(&trial.task, &retrieved_text(run, trial)?),
        TrialHelp::Unaided | TrialHelp::Aided(_) | TrialHelp::AidedWithout(_) => {
            provider.guidance_for(&trial.model, &trial.arm, &trial.task, trial.seed)
        }
    }
}

/// Reads the guidance text that the same model retrieved in the matching trial of the arm `pull`, which runs first.
/// The text is empty when that trial was judged and its model retrieved nothing.
fn retrieved_text(run: &Path, trial: &TrialSpec) -> Result<String, ArmError> {
    let read = rows::read(&run.join(ROWS_FILE))?;
    let same = |row: &&TrialRow| {
        row.arm == Arm::Pull.as_str()
            && (row.role, &row.model, &row.task, row.seed)
                == (trial.role, &trial.model, &trial.task, trial.seed)
    };
    let row = read.rows.iter().rfind(same).filter(|row| row.verdict != Verdict::Void);
    let row = row.ok_or_else(|| ArmError::NothingRetrieved { task: trial.task.clone(), seed: trial.seed })?;
    let path = run.join(&row.trace).join(EVENTS_FILE);
    let trace = Trace::read(&path)?;
    if trace.torn.is_some() || trace.stopped().is_none() {
        return Err(ArmError::IncompleteTrace(path));
    }
    let texts = trace.events.iter().filter_map(|event| match &event.kind {
        EventKind::Skill(skill) if skill.happening == SkillEventKind::Viewed => skill.text.as_deref(),
        _ => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use apprentice_protocol::{TaskId, TrialId, Verdict};
    use apprentice_runs::row::{Role, TrialRow};
    use apprentice_skillbook::Snapshot;
    use apprentice_tasks::suite::Suite;
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::trial_guidance;
    use crate::arms::guidance::ArmGuidance;
    use crate::arms::{ArmError, GuidanceProvider};
    use crate::run::TrialSpec;
    use crate::sample::row;

    fn provider() -> GuidanceProvider {
        let task = json!({
            "id": "save", "instruction": "Save the file.",
            "evaluator": { "func": "check_json", "result": { "type": "vm_file", "path": "/x", "dest": "x" },
                "expected": { "type": "rule", "rules": { "expect": [] } } },
            "apprentice": { "environment": "scene", "template": "save" },
        });
        let tasks = vec![serde_json::from_value(task).expect("a task")];
        let suite = Suite { name: "starter".into(), root: ".".into(), hash: "5uite".into(), tasks };
        GuidanceProvider::new(Arc::new(suite), Snapshot::empty(), None)
    }

    fn guidance_of(run: &Path, arm: &str) -> Result<ArmGuidance, ArmError> {
        let trial = TrialSpec {
            trial: TrialId::new("t"),
            order: 0,
            task: TaskId::new("save"),
            template: "save".into(),
            split: None,
            role: Role::Student,
            model: "builtin/novice".into(),
            arm: arm.into(),
            seed: 0,
        };
        trial_guidance(&provider(), run, &trial)
    }

    fn event(kind: &str, data: &Value) -> String {
        let line = json!({ "v": 1, "id": "e1", "wall": "2026-11-20T10:15:00Z", "mono_us": 1, "kind": kind, "data": data });
        format!("{line}\n")
    }

    /// A run whose only row is one trial of `pull`, with the text of its trace if there is one.
    fn run_with(verdict: Verdict, trace: Option<&str>) -> TempDir {
        let folder = TempDir::new().expect("a folder");
        let row = TrialRow { trace: "trials/x".into(), ..row("pull", "save", "save", 0, verdict) };
        let line = serde_json::to_string(&row).expect("writes") + "\n";
        fs::write(folder.path().join("trials.jsonl"), line).expect("writes");
        fs::create_dir_all(folder.path().join("trials/x")).expect("a folder");
        if let Some(trace) = trace {
            fs::write(folder.path().join("trials/x/events.jsonl"), trace).expect("writes");
        }
        folder
    }

    #[test]
    fn arms_without_help_read_nothing_and_an_unknown_arm_is_an_error() {
        let nowhere = Path::new("/nonexistent");
        for arm in ["none", "more-steps", "try-2"] {
            let guidance = guidance_of(nowhere, arm).expect("needs no help");
            assert!(guidance.guidance.tools.is_empty() && guidance.skillbook_hash.is_none(), "{arm}");
        }
        assert!(!guidance_of(nowhere, "pull").expect("guidance").guidance.tools.is_empty());
        assert!(matches!(guidance_of(nowhere, "pul"), Err(ArmError::Unknown(_))));
        assert!(matches!(guidance_of(nowhere, "placebo-inert"), Err(ArmError::NoGuidance { .. })));
    }

    #[test]
    fn inline_is_an_error_unless_what_pull_retrieved_can_be_read() {
        let viewed =
            event("skill", &json!({ "happening": "skill.viewed", "skill": "a/b", "text": "Press Save." }));
        let spent = json!({ "reason": "done", "void": null, "detail": "", "spent": {
            "world_steps": 1, "turns": 1, "tokens": { "input": 0, "output": 0, "cached": 0 }, "cost_usd": 0.0, "working_ms": 0 } });
        let stopped = event("stopped", &spent);
        let inline = |run: &TempDir| guidance_of(run.path(), "inline");
        let whole = inline(&run_with(Verdict::Pass, Some(&format!("{viewed}{stopped}")))).expect("guidance");
        assert!(whole.guidance.opening.as_str().contains("Press Save."));
        let nothing = inline(&run_with(Verdict::Fail, Some(&stopped))).expect("pull retrieved nothing");
        assert!(nothing.guidance.opening.as_str().is_empty() && nothing.skillbook_hash.is_some());

        let empty = TempDir::new().expect("a folder");
        assert!(matches!(inline(&empty), Err(ArmError::RetrievedRows(_))));
        fs::write(empty.path().join("trials.jsonl"), "").expect("writes");
        assert!(matches!(inline(&empty), Err(ArmError::NothingRetrieved { .. })));
        let void = run_with(Verdict::Void, Some(&format!("{viewed}{stopped}")));
        assert!(matches!(inline(&void), Err(ArmError::NothingRetrieved { .. })));
        assert!(matches!(inline(&run_with(Verdict::Pass, None)), Err(ArmError::RetrievedTrace(_))));
        let broken = run_with(Verdict::Pass, Some("{}\n"));
        assert!(matches!(inline(&broken), Err(ArmError::RetrievedTrace(_))));
        for cut in [viewed.clone(), format!("{viewed}{}", stopped.trim_end())] {
            let error = inline(&run_with(Verdict::Pass, Some(&cut))).err().expect("is incomplete");
            assert!(matches!(error, ArmError::IncompleteTrace(_)), "{error}");
        }
    }
}
