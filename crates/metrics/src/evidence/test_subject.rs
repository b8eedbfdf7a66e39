//! What the outcome of a test suite is kept under in the evidence.

use apprentice_protocol::BlobHash;
use apprentice_trace::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::evidence::FileRef;

/// The function that a suite is called by where the option is not given.
const FUNCTION: &str = "test";

/// Returns the hash under which the outcome is kept: of the names and contents of all files, and the function.
pub fn subject(files: &[&FileRef], suite: &FileRef, options: &Map<String, Value>) -> BlobHash {
    let mut all = Sha256::new();
    for file in files.iter().copied().chain([suite]) {
        all.update(format!("{}\0{}\0", file.name, file.hash));
    }
    all.update(function(options));
    BlobHash::new(hex(&all.finalize()))
}

/// Returns the name of the suite's function.
pub fn function(options: &Map<String, Value>) -> &str {
    options.get("test_function_name").and_then(Value::as_str).unwrap_or(FUNCTION)
}
