//! Collects evidence from a world. Every part is collected, also what a short circuit would not look at.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{Clock, Machine, MachineError, VoidCause};
use apprentice_trace::Redactor;
use serde_json::Value;

use super::evidence::{EVIDENCE_SCHEMA, Evidence, EvidenceError, Piece};
use super::form::is_nothing;
use super::getter;
use super::metric::Compat;
use crate::setup::Mirror;
use crate::suite::task::{CheckSpec, OneOrMany};

/// What evidence is collected from and into.
#[derive(Clone, Copy)]
pub struct CollectContext<'a> {
    /// The world.
    pub machine: &'a dyn Machine,
    /// Time.
    pub clock: &'a dyn Clock,
    /// When the attempt ended, by this clock: what was done before is to be in what is looked at.
    pub ended: Duration,
    /// Where setup kept its output.
    pub cache_dir: &'a Path,
    /// The attempt's evidence folder.
    pub folder: &'a Path,
    /// Stands before what is kept and judged.
    pub redactor: &'a Redactor,
    /// The suite's folder: where its own files are taken from.
    pub suite_root: &'a Path,
    /// Where fetched files come from.
    pub mirror: Option<&'a Mirror>,
    /// How the suite's known faults are read.
    pub compat: Compat,
}

/// Why evidence could not be collected: never the model's failure.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The getter is not known here.
    #[error("getter {0:?} is not supported, so there is no evidence to judge")]
    UnknownGetter(String),
    /// A getter's parameters do not fit.
    #[error("getter {getter:?}: {problem}")]
    Parameters {
        /// Which.
        getter: String,
        /// What is wrong.
        problem: String,
    },
    /// Something that must be there, such as a file that setup keeps, is not.
    #[error("getter {getter:?} needs {what}")]
    Missing {
        /// Which.
        getter: String,
        /// What is missing.
        what: String,
    },
    /// The world refused or was lost.
    #[error("getter {getter:?}")]
    Machine {
        /// Which.
        getter: String,
        /// Why.
        #[source]
        source: MachineError,
    },
    /// The evidence cannot be kept.
    #[error("the evidence cannot be kept")]
    Keep(#[from] EvidenceError),
}

impl CollectError {
    /// The cause under which the attempt becomes void.
    pub fn void_cause(&self) -> VoidCause {
        match self {
            Self::Machine { source: MachineError::Lost(_), .. } => VoidCause::WorldLost,
            Self::Machine { source: MachineError::MissingProgram(_), .. } => VoidCause::MissingProgram,
            Self::Keep(EvidenceError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::StorageFull =>
            {
                VoidCause::DiskFull
            }
            Self::UnknownGetter(_)
            | Self::Parameters { .. }
            | Self::Missing { .. }
            | Self::Machine { .. } => VoidCause::EvidenceMissing,
            Self::Keep(_) => VoidCause::Internal,
        }
    }
}

/// Collects what a check looks at, and keeps it in the evidence folder.
pub async fn collect(spec: &CheckSpec, context: &CollectContext<'_>) -> Result<Evidence, CollectError> {
    let mut evidence =
        Evidence { schema: EVIDENCE_SCHEMA.to_owned(), results: Vec::new(), expected: Vec::new() };
    if !spec.is_infeasible() {
        for getter in spec.result.iter().flat_map(OneOrMany::iter) {
            evidence.results.push(get(getter, context).await?);
        }
        for getter in spec.expected.iter().flat_map(OneOrMany::iter) {
            let piece = if is_nothing(getter) { None } else { Some(get(getter, context).await?) };
            evidence.expected.push(piece);
        }
    }
    evidence.redact(context.redactor);
    evidence.save(context.folder)?;
    Ok(evidence)
}

async fn get(spec: &Value, context: &CollectContext<'_>) -> Result<Piece, CollectError> {
    let name = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let begun = context.clock.mono();
    let look = getter::look(name, spec, context).await?;
    let took = context.clock.mono().saturating_sub(begun);
    Ok(Piece {
        getter: name.to_owned(),
        command: look.command,
        code: look.code,
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        found: look.found,
    })
}
