//! The port for text embeddings.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;

/// An error of an embedding request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("embedding failed: {0}")]
pub struct EmbedError(pub String);

/// The role of a text in a search; many models embed queries and passages differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The search query.
    Query,
    /// A text to be found.
    Passage,
}

/// Converts texts to vectors of a fixed length.
pub trait Embedder: Send + Sync {
    /// Identifies the vector space; a change means that old vectors are no longer comparable.
    fn name(&self) -> &str;
    /// Returns one vector per text, in order.
    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
