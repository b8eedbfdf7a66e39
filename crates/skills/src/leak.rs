//! The port for leak checks: whether a text repeats sealed material of a held-out task. The index is built elsewhere,
//! from hashes. This crate never sees a held-out task.

/// Finds sealed material in a text.
pub trait HeldOutIndex: Send + Sync {
    /// Returns the kind of sealed material that the text repeats, described without the material itself.
    fn find(&self, text: &str) -> Option<String>;
}

/// An empty index, for books without held-out tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHeldOutTasks;

impl HeldOutIndex for NoHeldOutTasks {
    fn find(&self, _text: &str) -> Option<String> {
        None
    }
}
