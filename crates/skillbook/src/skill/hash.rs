//! The content hash of the skillbook.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 as hex.
pub fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
