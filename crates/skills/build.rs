//! Packs the word lists and vectors that the program carries; they are half as large so.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The packed files and what they hold, below `src`.
const PACKED: [(&str, &[&str]); 4] = [
    ("lexicon.zz", &["effect/lexicon.txt"]),
    ("near.zz", &["near.txt"]),
    ("pieces.zz", &["word_vectors/pieces.txt"]),
    (
        "vectors.zz",
        &["word_vectors/vectors-1.bin", "word_vectors/vectors-2.bin", "word_vectors/vectors-3.bin"],
    ),
];

fn main() -> io::Result<()> {
    let place = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    println!("cargo::rerun-if-changed=build.rs");
    for (name, parts) in PACKED {
        let file = File::create(PathBuf::from(&place).join(name))?;
        let mut packed = ZlibEncoder::new(file, Compression::best());
        for part in parts {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(part);
            println!("cargo::rerun-if-changed={}", path.display());
            packed.write_all(&fs::read(path)?)?;
        }
        packed.finish()?.sync_all()?;
    }
    Ok(())
}
