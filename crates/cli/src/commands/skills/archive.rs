//! Reads packages from zip archives, such as `.skill` files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use apprentice_skillbook::package::Package;
use zip::ZipArchive;

use super::package_files::{MOST_BYTES, MOST_FILES, is_passed_over, is_skill_file};
use crate::failure::{Failure, Kind};

/// Returns the packages in an archive, sorted by path. A package at the top level gets the archive's name. Links are
/// skipped; an entry whose path leaves the archive is an error.
pub(super) fn read_archive(place: &Path) -> Result<Vec<(PathBuf, Package)>, Failure> {
    let files = unpacked(place)?;
    let holds_skill = |path: &&PathBuf| path.file_name().is_some_and(|name| is_skill_file(Path::new(name)));
    let roots: BTreeSet<&Path> = files.keys().filter(holds_skill).filter_map(|path| path.parent()).collect();
    let outermost = |root: &&&Path| !root.ancestors().skip(1).any(|above| roots.contains(above));
    let stem = place.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let package = |root: &Path| {
        let own = files.iter().filter_map(|(path, bytes)| {
            Some((path.strip_prefix(root).ok()?.to_string_lossy().into_owned(), bytes.clone()))
        });
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        Package { name: name.unwrap_or_else(|| stem.clone()), files: own.collect() }
    };
    Ok(roots.iter().filter(outermost).map(|root| (place.join(root), package(root))).collect())
}

fn unpacked(place: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
    let told =
        |why: &dyn std::fmt::Display| Failure::say(Kind::Config, format!("{}: {why}", place.display()));
    let file = apprentice_files::open(place).map_err(|error| told(&error))?;
    let mut archive = ZipArchive::new(file)
        .map_err(|error| told(&error).hint("give a folder, a SKILL.md, or a zip archive (`.skill`)"))?;
    let (mut files, mut left) = (BTreeMap::new(), MOST_BYTES);
    for place in 0..archive.len() {
        let entry = archive.by_index(place).map_err(|error| told(&error))?;
        let name = entry.name().map_err(|error| told(&error))?.into_owned();
        let Some(path) = entry.enclosed_name() else {
            return Err(told(&format_args!("the path of entry {name:?} leaves the archive")));
        };
        if !entry.is_file() || path.iter().any(|part| is_passed_over(Path::new(part))) {
            continue;
        }
        // The size in an entry's header may be false.
        let mut bytes = Vec::new();
        let read = entry.take(left + 1).read_to_end(&mut bytes);
        let read = read.map_err(|error| told(&format_args!("{name}: {error}")))?;
        let held = u64::try_from(read).unwrap_or(u64::MAX);
        if held > left || files.len() >= MOST_FILES {
            return Err(told(&format_args!(
                "an archive may contain at most {MOST_FILES} files and {MOST_BYTES} bytes"
            )));
        }
        left -= held;
        files.insert(path, bytes);
    }
    Ok(files)
}
