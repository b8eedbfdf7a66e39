//! Holds no code: its manifest turns on the features of shared dependencies, so that `cargo test -p CRATE` after a build
//! of the workspace compiles that crate alone.
