//! Packs the templates of reports.
#![expect(clippy::disallowed_methods, reason = "a build script gets its output folder by the environment")]

use std::io;

use apprentice_packed::pack_all;

/// The packed files and what they hold, below `src`.
const PACKED: [(&str, &[&str]); 5] = [
    ("page.css.zz", &["report/page.css"]),
    ("page.html.zz", &["report/page.html"]),
    ("page.md.zz", &["report/page.md"]),
    ("trace.css.zz", &["report/trace.css"]),
    ("trace.html.zz", &["report/trace.html"]),
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/report");
    pack_all(&PACKED, std::env::var_os("OUT_DIR"))
}
