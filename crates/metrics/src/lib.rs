//! Metrics of task checks, under OSWorld's names and with upstream's semantics: each computes a score from evidence.
//!
//! A metric needs no world, no clock and no network: what only a program or a model can read from a file is part of the
//! evidence. Where upstream raises an exception instead of scoring, a metric returns [`MetricError::Raised`]; [`Compat`]
//! decides whether that counts as a score of zero or as no score.

#![warn(clippy::missing_errors_doc)]

mod comparison;
mod evidence;
mod family;
mod python;
mod readers;
mod scoring;

pub use evidence::{
    AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict, DOCUMENT_READER,
    EVIDENCE_SCHEMA, Evidence, EvidenceError, EvidenceItem, EvidenceValue, FileRef, MEDIA_READER, Reading,
    ReadingContent, ReadingKind, TEXT_READER, test_function, test_subject, tested_files, write_synced,
};
pub use family::{
    ArgumentKind, METRICS, MediumLocation, Metric, MetricFamily, SYNTHETIC_TREE, SlideMedium, compute,
    files_to_read, grey_thumbnail, kind_to_read, last_row, medium_in_slide, named,
};
pub use readers::{Url, query_database, read_json, same_url};
pub use scoring::{Compat, CompatProbe, MetricError, MetricInput, Score, is_truthy};
