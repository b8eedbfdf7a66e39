//! The output of a getter, and the failures that every getter shares.

use apprentice_metrics::EvidenceValue;
use serde_json::Value;

use crate::check::collect_context::CollectError;

/// The output of one getter.
pub(crate) struct GetterOutput {
    pub(crate) found: EvidenceValue,
    pub(crate) command: Option<String>,
    pub(crate) code: Option<i32>,
    pub(crate) errors: Option<String>,
}

impl GetterOutput {
    /// What a getter found without a command.
    pub(super) fn found(found: EvidenceValue) -> Self {
        Self { found, command: None, code: None, errors: None }
    }

    pub(super) fn value(value: impl Into<Value>) -> Self {
        Self::found(EvidenceValue::Value { value: value.into() })
    }

    pub(in crate::check) fn absent(why: impl Into<String>) -> Self {
        Self::found(EvidenceValue::Absent { why: why.into() })
    }

    pub(super) fn of(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// Returns a required string of a getter's parameters.
pub(super) fn required_str<'a>(spec: &'a Value, getter: &str, field: &str) -> Result<&'a str, CollectError> {
    spec.get(field).and_then(Value::as_str).ok_or_else(|| CollectError::Parameters {
        getter: getter.to_owned(),
        problem: format!("the string {field:?} is required"),
    })
}

/// Returns the failure of a getter whose machine failed.
pub(super) fn machine_error(getter: &str) -> impl FnOnce(apprentice_protocol::MachineError) -> CollectError {
    let getter = getter.to_owned();
    move |source| CollectError::Machine { getter, source }
}
