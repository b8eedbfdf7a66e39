//! The content hash of the skillbook.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 as hex.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
