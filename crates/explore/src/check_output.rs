//! What the check of a practised task found in the worlds of a run, read from their evidence, and whether it gives a reason to
//! doubt the check. What is shaped like a key is left out, too: a model reads it.

use std::path::Path;

use apprentice_learning::practice::{CheckDoubt, CheckOutput, PracticeTask, StateCheck, StateCheckKind};
use apprentice_runs::layout::EVIDENCE_FOLDER;
use apprentice_runs::row::TrialRow;
use apprentice_tasks::check::{Evidence, EvidenceItem, EvidenceValue};
use apprentice_tasks::variation::drawn_values;
use apprentice_trace::Redactor;

use super::error::ExploreError;
use super::practice_suite::PracticeSuite;
use apprentice_evaluator::learn::OwnAttempt;
use apprentice_evaluator::trial_identity::trajectory_id;

/// Returns what the check of a task found in each of these worlds of a run. They must have been judged.
pub(super) fn check_outputs<'r>(
    task: &PracticeTask,
    practice: &PracticeSuite,
    run: &Path,
    rows: impl Iterator<Item = &'r TrialRow>,
    redactor: &Redactor,
) -> Result<Vec<CheckOutput>, ExploreError> {
    let Some(check) = &task.check else { return Ok(Vec::new()) };
    let of = |row| {
        let found = match check.kind {
            StateCheckKind::File | StateCheckKind::Command => of_command(run, row)?,
            StateCheckKind::View => of_view(run, row)?,
        };
        let drawn = match practice.suite.tasks.first() {
            Some(own) => drawn_values(own, &practice.suite.name, row.seed)?,
            None => std::collections::BTreeMap::new(),
        };
        let values = task.values.iter().filter_map(|value| {
            let text = drawn.get(&value.name)?.as_str()?;
            Some((value.name.clone(), text.to_owned()))
        });
        Ok(CheckOutput { values: values.collect(), ..without_keys(found, redactor) }.bounded())
    };
    rows.map(of).collect()
}

fn of_command(run: &Path, row: &TrialRow) -> Result<CheckOutput, ExploreError> {
    let evidence = Evidence::load(&run.join(&row.trace).join(EVIDENCE_FOLDER))?;
    Ok(evidence.results.into_iter().next().map(of_item).unwrap_or_default())
}

fn of_item(item: EvidenceItem) -> CheckOutput {
    let errors = item.errors.unwrap_or_default();
    let (output, errors) = match item.found {
        EvidenceValue::Value { value } => {
            (value.as_str().map_or_else(|| value.to_string(), str::to_owned), errors)
        }
        EvidenceValue::Absent { why } => (String::new(), why),
        EvidenceValue::Files { .. } => (String::new(), errors),
    };
    CheckOutput { code: item.code, output, errors, ..CheckOutput::default() }
}

fn without_keys(found: CheckOutput, redactor: &Redactor) -> CheckOutput {
    let without = |text: &str| redactor.apply(text).into_owned();
    CheckOutput { output: without(&found.output), errors: without(&found.errors), ..found }
}

/// The elements that the attempt saw last.
fn of_view(run: &Path, row: &TrialRow) -> Result<CheckOutput, ExploreError> {
    let attempt = OwnAttempt::in_run(run, &row.trace, trajectory_id(row))?;
    let elements = attempt.material().views.pop().map(|view| view.elements).unwrap_or_default();
    Ok(CheckOutput { output: elements.join("\n"), ..CheckOutput::default() })
}

/// Returns the reason to doubt a check after it was asked in untouched worlds. It may well fail there, but not by an error of
/// its command; a file may be missing.
pub(super) fn doubt(check: &StateCheck, passes: bool, found: &[CheckOutput]) -> Option<CheckDoubt> {
    let fails = |one: &CheckOutput| match one.code {
        None => true,
        Some(0) => false,
        Some(_) => !one.errors.is_empty(),
    };
    match check.kind {
        _ if passes => Some(CheckDoubt::PassesUntouched),
        StateCheckKind::Command if found.iter().any(fails) => Some(CheckDoubt::CommandFails),
        StateCheckKind::Command | StateCheckKind::File | StateCheckKind::View => None,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_learning::practice::{CheckDoubt, CheckOutput, StateCheck, StateCheckKind};
    use apprentice_tasks::check::{Evidence, EvidenceItem};
    use apprentice_trace::Redactor;
    use serde_json::json;

    use super::{doubt, of_item, without_keys};

    #[test]
    fn a_check_is_doubted_where_it_passes_untouched_or_its_command_fails() {
        let check = |kind| StateCheck { kind, path: None, command: Vec::new(), contains: "x".into() };
        let found =
            |code, errors: &str| [CheckOutput { code, errors: errors.to_owned(), ..CheckOutput::default() }];
        let (file, command) = (check(StateCheckKind::File), check(StateCheckKind::Command));
        for (check, passes, found, expected) in [
            (&command, true, found(Some(0), ""), Some(CheckDoubt::PassesUntouched)),
            (&file, true, found(Some(0), ""), Some(CheckDoubt::PassesUntouched)),
            (&command, false, found(Some(0), "a warning"), None),
            (&command, false, found(Some(1), ""), None),
            (&command, false, found(Some(127), "sh: 1: setings: not found"), Some(CheckDoubt::CommandFails)),
            (&command, false, found(None, "there is no program setings"), Some(CheckDoubt::CommandFails)),
            // A file that the task is to make.
            (&file, false, found(Some(1), "cat: /home/user/a: No such file"), None),
        ] {
            assert_eq!(doubt(check, passes, &found), expected, "{found:?}");
        }
    }

    #[test]
    fn a_proposer_reads_the_errors_of_a_command_and_no_secret() {
        let (secret, shape) = ("a-key-that-was-planted", format!("sk-{}", "x".repeat(30)));
        let said = format!("{secret} and {shape}");
        let item = json!({ "getter": "vm_command_line", "code": 2, "took_ms": 1, "errors": said,
            "found": "value", "value": format!("out: {said}") });
        let evidence = json!({ "schema": "apprentice.evidence/1", "results": [item], "expected": [] });
        let mut evidence: Evidence = serde_json::from_value(evidence).expect("evidence");
        let redactor = Redactor::new([secret]).expect("builds");
        evidence.redact(&redactor);
        let kept = EvidenceItem::clone(&evidence.results[0]);
        assert_eq!(kept.errors, Some(format!("[redacted] and {shape}")), "evidence loses known secrets");
        let found = without_keys(of_item(kept), &redactor);
        assert_eq!((found.code, found.errors.as_str()), (Some(2), "[redacted] and [redacted]"));
        assert_eq!(found.output, "out: [redacted] and [redacted]");
    }
}
