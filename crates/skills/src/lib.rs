//! Learns from traces: the skillbook, retrieval, reflection, curation.
//!
//! Touches the file system below the book's folder and nothing else: no network, no processes, no clock.

pub mod lend;
pub mod manage;
pub mod reflect;
