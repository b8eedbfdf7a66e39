//! Finds the file of a suite in a folder, and the folder that its paths are relative to.

use std::fs;
use std::path::{Path, PathBuf};

use super::foreign;
use super::suite_error::SuiteError;

/// The suite file name that lets a folder be loaded under the folder's own name.
pub const SUITE_FILE: &str = "suite.json";

/// The base folder of a suite or of a single task, given by its folder or file.
pub fn root_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let in_suite = folder.parent().filter(|above| above.file_name().is_some_and(|name| name == "examples"));
    in_suite.and_then(Path::parent).unwrap_or(folder).to_owned()
}

/// Suites that an error names.
const MAX_NAMED: usize = 5;

/// Returns suite files in the folders of a folder, and in theirs.
fn suites_below(folder: &Path) -> Vec<String> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort_unstable();
        folders.truncate(200);
        folders
    };
    let near = folders(folder);
    let far: Vec<PathBuf> = near.iter().flat_map(|folder| folders(folder)).collect();
    let holds = |folder: &PathBuf| {
        let own = folder.join(SUITE_FILE);
        let of_osworld = folder.join("test_all.json");
        [own, of_osworld].into_iter().find(|file| file.is_file())
    };
    near.iter().chain(&far).filter_map(holds).take(MAX_NAMED).map(|file| file.display().to_string()).collect()
}

/// Returns the one suite file of a folder. The error says what is there instead.
pub(super) fn find_suite_file(folder: &Path) -> Result<PathBuf, SuiteError> {
    let own = folder.join(SUITE_FILE);
    if own.is_file() {
        return Ok(own);
    }
    let refused = |source| SuiteError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("test_") && name.ends_with(".json") {
            found.push(name);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [only] => Ok(folder.join(only)),
        [] => {
            let below = suites_below(folder);
            let found = match below.as_slice() {
                [] => "neither suite.json nor test_*.json".to_owned(),
                some => format!("no suite file; suites lie below it: {}", some.join(", ")),
            };
            let folder = folder.to_owned();
            Err(match foreign::of_folder(&folder) {
                Some(what) => SuiteError::Foreign { path: folder, what },
                None => SuiteError::NoSuite { folder, found },
            })
        }
        many => Err(SuiteError::NoSuite { folder: folder.to_owned(), found: many.join(" and ") }),
    }
}
