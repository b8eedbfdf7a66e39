//! Collects evidence from a machine. Every getter of a check runs, including those that a short circuit in grading
//! would skip.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{Clock, Machine, MachineError, VoidCause};
use apprentice_trace::Redactor;
use serde_json::Value;

use super::evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, EvidenceItem};
use super::getter;
use super::list_shape::is_empty_spec;
use super::metric::Compat;
use crate::setup::Mirror;
use crate::suite::task::{CheckSpec, OneOrMany};

/// Inputs and destinations of one collection.
#[derive(Clone, Copy)]
pub struct CollectContext<'a> {
    /// The machine that the attempt ran on.
    pub machine: &'a dyn Machine,
    /// The run's clock.
    pub clock: &'a dyn Clock,
    /// The end of the attempt on this clock. The evidence must contain everything done before it.
    pub ended: Duration,
    /// The folder in which setup steps saved their output.
    pub cache_dir: &'a Path,
    /// The attempt's evidence folder, which `collect` writes.
    pub folder: &'a Path,
    /// Removes known secrets before evidence is saved and judged.
    pub redactor: &'a Redactor,
    /// The suite's folder, the root of its own files.
    pub suite_root: &'a Path,
    /// The source of downloaded files; `None` without `--mirror`.
    pub mirror: Option<&'a Mirror>,
    /// Whether upstream's known bugs are fixed or reproduced.
    pub compat: Compat,
}

/// A failed collection. It makes the attempt void and is never counted against the model.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// This harness has no getter of that name.
    #[error("getter {0:?} is not supported, so there is no evidence to judge")]
    UnknownGetter(String),
    /// A getter's parameters are invalid.
    #[error("getter {getter:?}: {problem}")]
    Parameters {
        /// The getter's name.
        getter: String,
        /// The problem with the parameters.
        problem: String,
    },
    /// A prerequisite, such as a file saved by setup, is missing.
    #[error("getter {getter:?} needs {what}")]
    Missing {
        /// The getter's name.
        getter: String,
        /// The missing prerequisite.
        what: String,
    },
    /// The machine rejected the request or was lost.
    #[error("getter {getter:?}")]
    Machine {
        /// The getter's name.
        getter: String,
        /// The machine's error.
        #[source]
        source: MachineError,
    },
    /// The evidence cannot be saved.
    #[error("the evidence cannot be saved")]
    Save(#[from] EvidenceError),
}

impl CollectError {
    /// Returns the void cause that this error gives the attempt.
    pub fn void_cause(&self) -> VoidCause {
        match self {
            Self::Machine { source: MachineError::Lost(_), .. } => VoidCause::WorldLost,
            Self::Machine { source: MachineError::MissingProgram(_), .. } => VoidCause::MissingProgram,
            Self::Save(EvidenceError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::StorageFull =>
            {
                VoidCause::DiskFull
            }
            Self::UnknownGetter(_)
            | Self::Parameters { .. }
            | Self::Missing { .. }
            | Self::Machine { .. } => VoidCause::EvidenceMissing,
            Self::Save(_) => VoidCause::Internal,
        }
    }
}

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
