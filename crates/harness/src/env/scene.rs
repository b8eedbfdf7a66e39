//! An in-memory world of pages and controls.
