//! The operations of a book: every change ever made, each as one line of the log, which is the source of truth. Parsing
//! has two stages: the envelope first, then the data according to its name. Operations of a later version are preserved
//! unchanged.

use apprentice_protocol::Versions;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::change::Change;
use super::citation::Citation;
use crate::skill::model::{Actor, Cause, FileChange, OpId};

/// Version of the line format.
pub const OPERATION_VERSION: u32 = 1;

/// One operation of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Version of the line format.
    pub version: u32,
    /// Id of the operation.
    pub id: OpId,
    /// Time of the operation, given by the caller.
    pub time: Timestamp,
    /// Author of the operation.
    pub actor: Actor,
    /// Cause of the operation.
    pub cause: Option<Cause>,
    /// The proposal that a person accepted with this operation.
    pub accepts: Option<OpId>,
    /// Program versions that the writer observed, as far as they are relevant to the change.
    pub seen: Versions,
    /// The reports and steps that the writer cites for the change.
    pub citation: Citation,
    /// Files that the operation writes.
    pub files: Vec<FileChange>,
    /// The change.
    pub change: Change,
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    v: u32,
    id: OpId,
    time: Timestamp,
    actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepts: Option<OpId>,
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    seen: Versions,
    #[serde(default, skip_serializing_if = "Citation::is_empty")]
    citation: Citation,
    op: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileChange>,
}

#[derive(Serialize, Deserialize)]
struct Tagged {
    op: String,
    #[serde(default)]
    data: Option<Box<RawValue>>,
}

impl Operation {
    /// Returns the operation as one compact JSON line, without the line break.
    ///
    /// # Errors
    ///
    /// A record that JSON cannot express. No operation of this version is one.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let tagged = match &self.change {
            Change::Unknown { op, data } => {
                Tagged { op: op.clone(), data: Some(RawValue::from_string(data.clone())?) }
            }
            known => serde_json::from_str(&serde_json::to_string(known)?)?,
        };
        serde_json::to_string(&Envelope {
            v: self.version,
            id: self.id,
            time: self.time,
            actor: self.actor,
            cause: self.cause.clone(),
            accepts: self.accepts,
            seen: self.seen.clone(),
            citation: self.citation.clone(),
            op: tagged.op.as_str().into(),
            data: tagged.data.as_deref(),
            files: self.files.clone(),
        })
    }

    /// Parses one line.
    ///
    /// # Errors
    ///
    /// The line is no JSON object, or lacks a field that every operation has.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let envelope: Envelope<'_> = serde_json::from_str(line)?;
        let name = envelope.op.as_ref();
        let data = envelope.data.map_or("null", RawValue::get);
        let change = if Change::NAMES.contains(&name) {
            let text = if data == "null" {
                format!(r#"{{"op":"{name}"}}"#)
            } else {
                format!(r#"{{"op":"{name}","data":{data}}}"#)
            };
            serde_json::from_str(&text)?
        } else {
            Change::Unknown { op: name.to_owned(), data: data.to_owned() }
        };
        let Envelope { v: version, id, time, actor, cause, accepts, seen, citation, files, .. } = envelope;
        Ok(Self { version, id, time, actor, cause, accepts, seen, citation, files, change })
    }
}
