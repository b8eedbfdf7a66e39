//! Packs the page's script and style. The script's parts are in the order in which later ones use earlier ones; one file is one
//! request.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

/// The packed files and what they hold, below `src`.
const PACKED: [(&str, &[&str]); 2] = [
    (
        "viewer.js.zz",
        &[
            "assets/dom.js",
            "assets/source.js",
            "assets/grid.js",
            "assets/screen.js",
            "assets/attempt.js",
            "assets/compare.js",
            "assets/book.js",
            "assets/live.js",
            "assets/main.js",
        ],
    ),
    ("viewer.css.zz", &["assets/viewer.css"]),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/assets");
    pack_all(&PACKED, std::env::var_os("OUT_DIR"))
}
