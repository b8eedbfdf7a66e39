//! Packs the word lists and vectors that the program carries; they are half as large so.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

/// The packed files and what they hold, below `src`.
const PACKED: [(&str, &[&str]); 3] = [
    ("near.zz", &["near.txt"]),
    ("pieces.zz", &["word_vectors/pieces.txt"]),
    (
        "vectors.zz",
        &["word_vectors/vectors-1.bin", "word_vectors/vectors-2.bin", "word_vectors/vectors-3.bin"],
    ),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/near.txt");
    println!("cargo::rerun-if-changed=src/word_vectors");
    pack_all(&PACKED, std::env::var_os("OUT_DIR"))
}
