//! Collects evidence from a machine. Every getter of a check runs, including those that a short circuit in grading
//! would skip.

use apprentice_metrics::{
    EVIDENCE_SCHEMA, Evidence, EvidenceItem, EvidenceValue, Reading, ReadingKind, files_to_read, named,
    tested_files,
};
use apprentice_protocol::{BoxFuture, Machine, MachineError};
use serde_json::{Map, Value};

use super::collect_context::{CollectContext, CollectError};
use super::getter;
use super::getter::GetterOutput;
use super::list_shape::is_empty_spec;
use super::reading;
use crate::task::{CheckSpec, OneOrMany};

/// Runs every getter of a check and saves the results in the evidence folder.
/// The future is boxed: crates that await it would each compile all of it again.
///
/// # Errors
///
/// Fails if a getter is unknown, is used wrongly or needs what the world does not offer, if the world fails, or if the evidence
/// cannot be saved. That a file is missing is evidence, and no error.
pub fn collect<'a>(
    spec: &'a CheckSpec,
    context: &'a CollectContext<'_>,
) -> BoxFuture<'a, Result<Evidence, CollectError>> {
    Box::pin(async move {
        let mut evidence = Evidence {
            schema: EVIDENCE_SCHEMA.to_owned(),
            results: Vec::new(),
            expected: Vec::new(),
            readings: Vec::new(),
            judgements: Vec::new(),
        };
        if !spec.is_infeasible() {
            for getter in spec.result.iter().flat_map(OneOrMany::iter) {
                evidence.results.push(get(getter, context).await?);
            }
            for getter in spec.expected.iter().flat_map(OneOrMany::iter) {
                let piece = if is_empty_spec(getter) { None } else { Some(get(getter, context).await?) };
                evidence.expected.push(piece);
            }
        }
        evidence.readings = readings(spec, &evidence, context.machine).await?;
        evidence.redact(context.redactor);
        evidence.save(context.folder)?;
        Ok(evidence)
    })
}

async fn get(spec: &Value, context: &CollectContext<'_>) -> Result<EvidenceItem, CollectError> {
    let name = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let begun = context.clock.mono();
    let look = match getter::look(name, spec, context).await {
        // What the machine does not give is a state of it, mostly of the model's making: a folder of too many names, a page that
        // does not answer. A machine that is lost gives another error.
        Err(CollectError::Machine { source: source @ MachineError::Refused { .. }, .. }) => {
            GetterOutput::absent(source.to_string())
        }
        look => look?,
    };
    let took = context.clock.mono().saturating_sub(begun);
    Ok(EvidenceItem {
        getter: name.to_owned(),
        command: look.command,
        code: look.code,
        errors: look.errors,
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        found: look.found,
    })
}

/// Reads the files that the metrics want read by a program, each once.
fn readings<'a>(
    spec: &'a CheckSpec,
    evidence: &'a Evidence,
    machine: &'a dyn Machine,
) -> BoxFuture<'a, Result<Vec<Reading>, CollectError>> {
    Box::pin(async move {
        let mut readings: Vec<Reading> = Vec::new();
        let names: Vec<&String> = spec.func.iter().collect();
        for (at, name) in names.into_iter().enumerate() {
            let Some(metric) = named(name) else { continue };
            let found = evidence.results.get(at).map(|piece| &piece.found);
            let wanted = evidence.expected.get(at).and_then(Option::as_ref).map(|piece| &piece.found);
            if metric.reading() == Some(ReadingKind::TestSuite) {
                let outcome = test_outcome(spec.options(at), found, wanted, machine).await;
                let getter = format!("the tests of {name}");
                readings.extend(outcome.map_err(|source| CollectError::Machine { getter, source })?);
                continue;
            }
            for (kind, file) in files_to_read(metric, [found, wanted], spec.options(at)) {
                if readings.iter().any(|one| one.kind == kind && one.of == file.hash) {
                    continue;
                }
                let taken = reading::take(kind, &file).await;
                let failed = |source| CollectError::Reading { metric: name.clone(), source };
                readings.push(taken.map_err(failed)?);
            }
        }
        Ok(readings)
    })
}

/// Runs a metric's test suite in the world; there is none without a suite or a result.
async fn test_outcome(
    options: Option<&Map<String, Value>>,
    found: Option<&EvidenceValue>,
    wanted: Option<&EvidenceValue>,
    machine: &dyn Machine,
) -> Result<Option<Reading>, MachineError> {
    let suite = wanted.and_then(|wanted| wanted.files().first()).and_then(Option::as_ref);
    let (Some(found), Some(suite)) = (found, suite) else { return Ok(None) };
    let none = Map::new();
    let files = tested_files(found, wanted);
    reading::run_test_suite(machine, &files, suite, options.unwrap_or(&none)).await.map(Some)
}
