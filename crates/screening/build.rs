//! Packs the lexicon that the program carries; it is half as large so.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/effect/lexicon.txt");
    pack_all(&[("lexicon.zz", &["effect/lexicon.txt"])], std::env::var_os("OUT_DIR"))
}
