//! The reasons for which two sets of trials cannot be compared.

use apprentice_protocol::TaskId;

/// The reason two sets cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side has no rows.
    #[error("side {side} has no rows: check the file and its selection")]
    Empty {
        /// `a` or `b`.
        side: &'static str,
    },
    /// A side mixes several arms, roles or models.
    #[error("side {side} contains more than one {field} ({found}): select one, for example {field}={first}")]
    NotUniform {
        /// `a` or `b`.
        side: &'static str,
        /// The field with several values.
        field: &'static str,
        /// The values, comma-separated.
        found: String,
        /// The first of them, for the hint.
        first: String,
    },
    /// One side has two trials of the same task and seed.
    #[error("side {side} contains two trials of task {task} with seed {seed}: compare one run at a time")]
    DuplicateTrial {
        /// `a` or `b`.
        side: &'static str,
        /// The task.
        task: TaskId,
        /// The seed.
        seed: u32,
    },
    /// The rows come from different versions.
    #[error(
        "{what} differ ({found}), so the numbers are not comparable; pass --allow-mixed to compare them anyway"
    )]
    MixedVersions {
        /// The kind of version that differs.
        what: String,
        /// The versions found.
        found: String,
    },
}
