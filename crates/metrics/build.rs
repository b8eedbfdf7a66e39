//! Packs the list of public suffixes.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

/// The packed files and what they hold, below `src`.
const PACKED: [(&str, &[&str]); 1] = [("public_suffixes.zz", &["readers/public_suffixes.txt"])];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/readers/public_suffixes.txt");
    pack_all(&PACKED, std::env::var_os("OUT_DIR"))
}
