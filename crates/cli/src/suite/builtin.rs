//! The built-in suites (`tasks/…`), which the program carries: unpacked once where no checkout is at hand.

use std::io;
use std::path::{Path, PathBuf};

use apprentice_trace::hex;
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

/// The folder `tasks` of the source, as a compressed archive.
const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tasks.tar.gz"));

/// Returns the folder that holds `tasks`, below `state`. Unpacks the suites where they do not stand yet; their folder is
/// named by the hash of the archive, so that each version of the program finds its own.
pub(crate) fn unpacked(state: &Path) -> io::Result<PathBuf> {
    let place = state.join("suites").join(hex(&Sha256::digest(ARCHIVE)[..8]));
    if place.is_dir() {
        return Ok(place);
    }
    let above = state.join("suites");
    std::fs::create_dir_all(&above)?;
    let fresh = tempfile::Builder::new().prefix("unpacking-").tempdir_in(&above)?;
    tar::Archive::new(GzDecoder::new(ARCHIVE)).unpack(fresh.path())?;
    // A folder appears whole or not at all; if another process was faster, the folders are equal.
    match std::fs::rename(fresh.path(), &place) {
        Ok(()) => drop(fresh.keep()),
        Err(_) if place.is_dir() => {}
        Err(error) => return Err(error),
    }
    Ok(place)
}
