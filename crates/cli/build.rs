//! Packs the built-in suites into one archive, which the program carries and unpacks where no checkout is at hand.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script gets the target and its output folder by the environment"
)]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system != "linux" {
        return Err(io::Error::other(format!(
            "worlds are Linux namespaces, so that the program does not build for {system}: run it in the container of \
             deploy/container or in a Linux virtual machine; see docs/install.md"
        )));
    }
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", suites.display());
    let place = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let file = File::create(PathBuf::from(place).join("tasks.tar.gz"))?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    add(&mut archive, &suites, Path::new("tasks"))?;
    archive.into_inner()?.finish()?.sync_all()
}

/// Adds the files of a folder, in the order of their names and without times or owners: equal files make equal archives.
fn add(archive: &mut tar::Builder<impl io::Write>, folder: &Path, name: &Path) -> io::Result<()> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    for entry in names {
        let (path, name) = (folder.join(&entry), name.join(&entry));
        if path.is_dir() {
            add(archive, &path, &name)?;
            continue;
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(fs::metadata(&path)?.len());
        header.set_mode(0o644);
        archive.append_data(&mut header, &name, File::open(&path)?)?;
    }
    Ok(())
}
