//! Collects evidence from a machine. Every getter of a check runs, including those that a short circuit in grading
//! would skip.

use serde_json::Value;

use super::collect_context::{CollectContext, CollectError};
use super::evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceItem};
use super::getter;
use super::list_shape::is_empty_spec;
use crate::suite::task::{CheckSpec, OneOrMany};

/// Runs every getter of a check and saves the results in the evidence folder.
pub async fn collect(spec: &CheckSpec, context: &CollectContext<'_>) -> Result<Evidence, CollectError> {
    let mut evidence =
        Evidence { schema: EVIDENCE_SCHEMA.to_owned(), results: Vec::new(), expected: Vec::new() };
    if !spec.is_infeasible() {
        for getter in spec.result.iter().flat_map(OneOrMany::iter) {
            evidence.results.push(get(getter, context).await?);
        }
        for getter in spec.expected.iter().flat_map(OneOrMany::iter) {
            let piece = if is_empty_spec(getter) { None } else { Some(get(getter, context).await?) };
            evidence.expected.push(piece);
        }
    }
    evidence.redact(context.redactor);
    evidence.save(context.folder)?;
    Ok(evidence)
}

async fn get(spec: &Value, context: &CollectContext<'_>) -> Result<EvidenceItem, CollectError> {
    let name = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let begun = context.clock.mono();
    let look = getter::look(name, spec, context).await?;
    let took = context.clock.mono().saturating_sub(begun);
    Ok(EvidenceItem {
        getter: name.to_owned(),
        command: look.command,
        code: look.code,
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        found: look.found,
    })
}
