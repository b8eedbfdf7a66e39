//! Reads the body of a response piece by piece, within the time between two pieces and the size of a whole.

use std::time::Duration;

use tokio::time::timeout;

/// Limit on the bytes of a response.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Why the next piece cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PieceError {
    /// The time between two pieces is over.
    #[error("nothing came in time")]
    Idle,
    /// The response is too large.
    #[error("the response is larger than {} MB", MAX_RESPONSE_BYTES >> 20)]
    TooLarge,
    /// The connection failed.
    #[error("the connection failed")]
    Lost(#[source] reqwest::Error),
}

/// The body of a response while it comes.
pub(super) struct Pieces {
    response: reqwest::Response,
    idle: Duration,
    read: usize,
}

impl Pieces {
    /// `idle` is the limit between two pieces.
    pub(super) fn new(response: reqwest::Response, idle: Duration) -> Self {
        Self { response, idle, read: 0 }
    }

    /// Waits for the next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, PieceError> {
        let piece = timeout(self.idle, self.response.chunk()).await;
        let piece = piece.map_err(|_| PieceError::Idle)?.map_err(PieceError::Lost)?;
        self.read += piece.as_ref().map_or(0, |piece| piece.len());
        if self.read > MAX_RESPONSE_BYTES {
            return Err(PieceError::TooLarge);
        }
        Ok(piece)
    }

    /// Reads to the end.
    pub(super) async fn rest(mut self) -> Result<Vec<u8>, PieceError> {
        let mut body = Vec::new();
        while let Some(piece) = self.next().await? {
            body.extend_from_slice(piece.as_ref());
        }
        Ok(body)
    }
}
