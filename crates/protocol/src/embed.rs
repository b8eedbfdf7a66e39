//! The port for text embeddings.

use serde::{Deserialize, Serialize};

use crate::PortFuture;

/// Why texts could not be embedded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("embedding failed: {0}")]
pub struct EmbedError(pub String);

/// The side of a search that a text stands on: many models embed the two in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What is looked for.
    Query,
    /// What is found.
    Passage,
}

/// Turns texts into vectors of one length.
pub trait Embedder: Send + Sync {
    /// A name that changes when vectors stop being comparable.
    fn name(&self) -> &str;
    /// One vector per text, in order.
    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> PortFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
