//! The port for text embeddings.

use crate::PortFuture;

/// Why texts could not be embedded.
#[derive(Debug, thiserror::Error)]
#[error("embedding failed: {0}")]
pub struct EmbedError(pub String);

/// Turns texts into vectors of one length.
pub trait Embedder: Send + Sync {
    /// A name that changes when vectors stop being comparable.
    fn name(&self) -> &str;
    /// One vector per text, in order.
    fn embed<'a>(&'a self, texts: &'a [String]) -> PortFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
