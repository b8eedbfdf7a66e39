//! Traces on disk: written whole, read whatever their age.

use std::path::Path;
use std::sync::Arc;

use apprentice_protocol::VirtualClock;
use apprentice_protocol::{Content, EventKind, EventSink, SinkError, StepId, StopReason};
use apprentice_trace::{Recorder, Redactor, Trace, blob_path};

fn recorder(folder: &Path, secrets: &[&str]) -> Recorder {
    let redactor = Redactor::new(secrets.iter().copied()).expect("builds");
    let clock = Arc::new(VirtualClock::default());
    Recorder::create(folder, &folder.join("blobs"), clock, Arc::new(redactor)).expect("records")
}

#[test]
fn a_trace_of_version_1_can_be_read_for_ever() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/trace-v1.jsonl");
    let trace = Trace::read(&path).expect("reads");
    let mut kinds: Vec<&str> = Vec::new();
    let text = std::fs::read_to_string(&path).expect("reads");
    for (line, event) in text.lines().zip(&trace.events) {
        assert_eq!(event.to_line().expect("writes"), line, "a line is written as it was read");
        let start = line.find(r#""kind":""#).expect("a kind") + 8;
        kinds.push(&line[start..start + line[start..].find('"').expect("its end")]);
    }
    for kind in EventKind::NAMES {
        assert!(kinds.contains(kind), "the golden trace has no {kind}");
    }
    assert_eq!(trace.header().map(|header| header.version), Some(1));
    assert_eq!(trace.stopped().map(|(reason, void, _)| (reason, void)), Some((Some(StopReason::Done), None)));
    assert!(trace.events.iter().any(|event| matches!(event.kind, EventKind::Unknown { .. })));
}

#[test]
fn secrets_reach_neither_lines_nor_text_blobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = recorder(folder.path(), &["opensesame"]);
    let content = vec![Content::text("say opensesame")];
    recorder.emit(Some(StepId(1)), EventKind::Notice { content }).expect("records");
    let hash = recorder.keep(b"{\"key\":\"opensesame\"}", "json").expect("keeps");
    recorder.sync().expect("syncs");
    let line = std::fs::read_to_string(folder.path().join("events.jsonl")).expect("reads");
    assert!(line.contains("say [redacted]") && !line.contains("opensesame"), "{line}");
    let blob = std::fs::read(blob_path(&folder.path().join("blobs"), &hash, "json")).expect("reads");
    assert_eq!(blob, b"{\"key\":\"[redacted]\"}");
}

#[test]
fn the_same_bytes_are_kept_once_and_a_trace_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut first = recorder(folder.path(), &[]);
    let one = first.keep(b"picture", "png").expect("keeps");
    let two = first.keep(b"picture", "png").expect("keeps");
    assert_eq!(one, two);
    assert_eq!(std::fs::read_dir(folder.path().join("blobs")).expect("a folder").count(), 1);
    let clock = Arc::new(VirtualClock::default());
    let redactor = Arc::new(Redactor::new([]).expect("builds"));
    let again = Recorder::create(folder.path(), &folder.path().join("blobs"), clock, redactor);
    assert!(matches!(again, Err(SinkError::Io(_))), "an attempt's trace is written once");
}
