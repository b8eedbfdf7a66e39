//! The port for leak checks: whether a text repeats what only a sealed task knows. The index is made
//! outside, from hashes; this crate never sees a test task.

/// Finds sealed material in a text.
pub trait LeakIndex: Send + Sync {
    /// What kind of material the text repeats, in words without the material itself.
    fn find(&self, text: &str) -> Option<String>;
}

/// An index over nothing, for books that no sealed task stands against.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSealedTasks;

impl LeakIndex for NoSealedTasks {
    fn find(&self, _text: &str) -> Option<String> {
        None
    }
}
