//! A task's known-good actions as a model.
