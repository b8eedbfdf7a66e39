//! Packs the words that the program carries; they are half as large so.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/effect/lexicon.txt");
    println!("cargo::rerun-if-changed=src/effect/orders.txt");
    pack_all(
        &[("lexicon.zz", &["effect/lexicon.txt"]), ("orders.zz", &["effect/orders.txt"])],
        std::env::var_os("OUT_DIR"),
    )
}
