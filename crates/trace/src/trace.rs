//! Reads a trace back. A torn last line and unknown event kinds are kept, and are not errors.

use std::path::{Path, PathBuf};

use apprentice_protocol::{
    EVENT_VERSION, Event, EventError, EventId, EventKind, Header, ResourceUsage, StopReason, VoidCause,
};

/// The events of one attempt, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The events in the order in which they were written.
    pub events: Vec<Event>,
    /// The last line, when a killed process left it without a line break.
    pub torn: Option<String>,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace {}", path.display())]
    Read {
        /// Path of the trace.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// A whole line is not an event.
    #[error("{}:{line}: not an event", path.display())]
    Line {
        /// Path of the trace.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The error of the parser.
        #[source]
        source: EventError,
    },
}

impl Trace {
    /// Reads an `events.jsonl`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or with the line that is no event.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let bytes = apprentice_files::read(path)
            .map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
        Self::parse(&bytes).map_err(|(line, source)| TraceError::Line { path: path.to_owned(), line, source })
    }

    /// Parses the bytes of an `events.jsonl`. An error carries its line number, from 1.
    ///
    /// # Errors
    ///
    /// Returns the number of the line that is no event, and why it is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, (usize, EventError)> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let torn = (whole < bytes.len()).then(|| String::from_utf8_lossy(&bytes[whole..]).into_owned());
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let events = lines.map(|(index, line)| read_line(line).map_err(|error| (index + 1, error)));
        Ok(Self { events: events.collect::<Result<_, _>>()?, torn })
    }

    /// Returns the header, which is the first event of every attempt.
    pub fn header(&self) -> Option<&Header> {
        self.events.iter().find_map(|event| match &event.kind {
            EventKind::Started(header) => Some(header.as_ref()),
            _ => None,
        })
    }

    /// Returns how the attempt ended, or `None` when the trace has no `stopped` event.
    pub fn stopped(&self) -> Option<(Option<StopReason>, Option<VoidCause>, &ResourceUsage)> {
        self.events.iter().find_map(|event| match &event.kind {
            EventKind::Stopped { reason, void, spent, .. } => Some((*reason, *void, spent)),
            _ => None,
        })
    }
}

/// A kind whose data a later version changed is kept, like a kind that it added.
fn read_line(line: &str) -> Result<Event, EventError> {
    #[derive(serde::Deserialize)]
    struct Later {
        v: u32,
        id: EventId,
        wall: jiff::Timestamp,
        mono_us: u64,
        #[serde(default)]
        step: Option<apprentice_protocol::StepId>,
        kind: String,
        data: Box<serde_json::value::RawValue>,
    }
    match Event::from_line(line) {
        Err(error @ EventError::Data { .. }) => match serde_json::from_str::<Later>(line) {
            Ok(later) if later.v > EVENT_VERSION => Ok(Event {
                version: later.v,
                id: later.id,
                wall: later.wall,
                mono_us: later.mono_us,
                step: later.step,
                kind: EventKind::Unknown { kind: later.kind, data: later.data.get().to_owned() },
            }),
            Ok(_) | Err(_) => Err(error),
        },
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::EventKind;

    use super::Trace;

    const NOTICE: &str = r#"{"v":1,"id":"e1","wall":"1970-01-01T00:00:00Z","mono_us":0,"kind":"notice","data":{"content":[]}}"#;

    #[test]
    fn a_torn_last_line_is_set_aside_wherever_it_is_torn() {
        for end in 0..NOTICE.len() {
            let bytes = format!("{NOTICE}\n{}", &NOTICE[..end]);
            let trace = Trace::parse(bytes.as_bytes()).expect("reads");
            assert_eq!(trace.events.len(), 1);
            assert_eq!(trace.torn.as_deref().unwrap_or_default(), &NOTICE[..end]);
        }
    }

    #[test]
    fn what_a_later_version_changed_is_kept_and_our_own_mistakes_are_named() {
        let later = NOTICE.replace(r#""v":1"#, r#""v":2"#).replace(r#"{"content":[]}"#, r#"{"parts":7}"#);
        let trace = Trace::parse(format!("{later}\n").as_bytes()).expect("reads");
        assert!(matches!(&trace.events[0].kind, EventKind::Unknown { kind, .. } if kind == "notice"));
        let broken = NOTICE.replace(r#"{"content":[]}"#, r#"{"parts":7}"#);
        let (line, error) = Trace::parse(format!("{NOTICE}\n{broken}\n").as_bytes()).expect_err("is broken");
        assert_eq!(
            (line, error.to_string().as_str()),
            (2, "event e1 of kind \"notice\" does not have that kind's data")
        );
    }
}
