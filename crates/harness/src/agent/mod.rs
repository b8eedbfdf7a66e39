//! The agent loop: one task, one world, one model, one trace.
